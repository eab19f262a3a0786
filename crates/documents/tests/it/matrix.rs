//! The table of what each model takes where, and what that means for documents: C26.

use attache_core::capability::{Matrix, PlaceCapabilities};
use attache_core::{Document, ModelCapabilities, ResultStatus, ToolSet};
use attache_documents::{Materials, RouteOptions, explain};

use crate::builder::{Chat, csv, doc, outcomes, pdf, png, tree, zip};

fn kinds() -> Vec<Document> {
    vec![
        pdf("pdf.pdf"),
        png("png.png"),
        doc("bmp.bmp", b"BM\0\0\0\0\0\0 pixels", "image/bmp"),
        doc("wav.wav", b"RIFF....WAVE", "audio/wav"),
        doc("mp4.mp4", b"\0\0\0\x18ftypmp42", "video/mp4"),
        csv("csv.csv"),
        zip("zip.zip"),
    ]
}

/// A name that only the pattern itself covers, as far as one can be made up.
fn a_model_of(pattern: &str) -> String {
    pattern.replace('*', "")
}

fn place(place: &PlaceCapabilities) -> String {
    let limits = [
        ("bytes", place.max_bytes),
        ("image bytes", place.max_image_bytes),
        ("count", place.max_count),
        ("pages", place.max_pages),
        ("pixels", place.max_pixels),
    ];
    let limits = limits.into_iter().filter_map(|(name, limit)| Some(format!("{name} {}", limit?)));
    let all: Vec<_> = std::iter::once(place.media.join(" ")).chain(limits).collect();
    all.join(", ")
}

/// The media that the places of a row take, and the fate of a document of each kind in a result, in a failed one and of
/// an author.
fn told(row: &ModelCapabilities) -> String {
    let mut out = String::new();
    for (name, here) in [
        ("user", &row.user),
        ("tool result", &row.tool_result),
        ("failed result", &row.failed_result),
        ("beside result", &row.beside_result),
    ] {
        out.push_str(&format!("  {name}: {}\n", place(here)));
    }
    let files = &row.files;
    let limits = [
        ("bytes", files.max_request_bytes),
        ("files", files.max_files),
        ("pages", files.max_pages),
        ("large images", files.many_images),
    ];
    let limits: Vec<_> =
        limits.iter().filter_map(|(name, limit)| Some(format!("{name} {}", (*limit)?))).collect();
    out.push_str(&format!("  request: {}\n", limits.join(", ")));
    let said = |chat: &Chat| {
        let (tools, options) = (ToolSet::default(), RouteOptions::new());
        let report = explain(&chat.messages, row, &tools, &Materials::new(), &options);
        let words = report.decisions.iter().map(|decision| {
            let name = decision.file_name.as_deref().unwrap_or_default();
            format!("{} {}", name.get(..3).unwrap_or_default(), decision.outcome)
        });
        words.collect::<Vec<_>>().join(", ")
    };
    let ok = Chat::new().user("?").tool(&kinds());
    let failed = [("find", tree(&kinds()))];
    let failed = Chat::new().user("?").calls_with(&failed, |_, result| result.status = ResultStatus::Error);
    let author = Chat::new().author("?", &kinds());
    for (name, chat) in [("result", ok), ("failed", failed), ("author", author)] {
        out.push_str(&format!("  -> {name}: {}\n", said(&chat)));
    }
    out
}

// Rows that say the same stand together.
#[test]
fn what_each_model_takes_where() {
    let matrix = Matrix::bundled();
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for family in matrix.families() {
        let patterns = matrix.patterns(family).into_iter().map(a_model_of);
        for name in std::iter::once("(any other)".to_owned()).chain(patterns) {
            let row = matrix.resolve(family, &name);
            let (said, name) = (told(&row), format!("{family}/{name} ({})", row.row));
            match rows.iter_mut().find(|(known, _)| *known == said) {
                Some((_, names)) => names.push(name),
                None => rows.push((said, vec![name])),
            }
        }
    }
    let rows: Vec<_> =
        rows.into_iter().map(|(said, names)| format!("{}\n{said}", names.join("\n"))).collect();
    insta::assert_snapshot!(rows.join("\n"));
}

// C26, word by word.
#[test]
fn unknown_models_get_what_is_safe() {
    let of = |family: &str, name: &str| {
        let row = Matrix::bundled().resolve(family, name);
        let chat = Chat::new().user("?").tool(&[pdf("a.pdf"), png("b.png"), csv("c.csv")]);
        outcomes(&chat.routed(&row, &Materials::new(), &RouteOptions::new()).unwrap())
    };
    assert_eq!(of("openai-chat", "gpt-4o"), ["synthetic", "synthetic", "text"]);
    assert_eq!(of("openai-responses", "gpt-5"), ["native", "native", "text"]);
    assert_eq!(of("anthropic", "claude-of-the-future"), ["native", "native", "text"]);
    assert_eq!(of("nobody", "knows"), ["note", "note", "text"]);
}
