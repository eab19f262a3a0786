//! The guide's page says what the table says: C38.

use attache_core::MediaType;
use attache_core::capability::{Matrix, PlaceCapabilities};

const PAGE: &str = include_str!("../../../../docs/guide/documents.md");

/// The media that a place takes, in the guide's words.
fn words(place: &PlaceCapabilities) -> String {
    let takes = |media: &str| place.accepts(&MediaType::parse(media).unwrap());
    let known = [
        ("text", place.accepts_text()),
        ("PDF", takes("application/pdf")),
        ("PNG", takes("image/png")),
        ("JPEG", takes("image/jpeg")),
        ("WebP", takes("image/webp")),
        ("GIF", takes("image/gif")),
    ];
    known.iter().filter(|(_, takes)| *takes).map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_page_shows_the_bundled_table() {
    let rows = PAGE.split("| API | user message | tool result | failed result |").nth(1).unwrap();
    let mut checked = 0;
    for line in rows.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [api, user, result, failed] = cells[..] else { panic!("{line}") };
        let family = api.split('`').nth(1).unwrap();
        let row = Matrix::bundled().resolve(family, "(any other)");
        assert_eq!(
            [user, result, failed],
            [&row.user, &row.tool_result, &row.failed_result].map(words),
            "{family}"
        );
        checked += 1;
    }
    assert!(checked >= 4, "{checked} rows");
}

// The tag as the page shows it is the tag that is written.
#[test]
fn the_page_shows_the_label() {
    use attache_core::{Document, DocumentId};
    use attache_documents::{Label, LabelProfile};
    let id = DocumentId::parse("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34").unwrap();
    let lease = Document::stored(id, "main", "application/pdf").with_file_name("lease.pdf");
    let label = Label::new(&lease).of_call(Some("find_contract"), "call_7").render(LabelProfile::Spec);
    assert!(PAGE.contains(&format!("\n{label}\n")), "{label}");
    assert!(PAGE.contains(LabelProfile::Spec.results_preamble()));
}
