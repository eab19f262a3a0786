//! Figures and citations in the forms in which everyday answers, documents and JSON APIs write them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken expectation is a failed test")]

use attache_citations::{Options, Shown, check};
use attache_core::DocumentId;
use attache_core::citation::{Checked, Citation, FigureState, How, Ignored, Place, Source};

fn source(name: &str) -> Source {
    Source::Document { id: DocumentId::parse(name).unwrap(), name: Some(name.to_owned()) }
}

fn of(text: &str, answer: &str) -> Checked {
    check(answer, &[], &[Shown::text(source("a.txt"), text)], &Options::new())
}

/// The figures that stand nowhere.
fn unsupported(text: &str, answer: &str) -> Vec<String> {
    of(text, answer).unsupported().map(|figure| figure.text.to_string()).collect()
}

fn supported(text: &str, answer: &str) -> bool {
    of(text, answer).figures.iter().all(|figure| matches!(figure.state, FigureState::Supported))
}

fn ignored(answer: &str) -> Vec<(String, Ignored)> {
    let figures = of("A text.", answer).figures;
    let ignored = figures.iter().filter_map(|figure| match figure.state {
        FigureState::Ignored(why) => Some((figure.text.to_string(), why)),
        _ => None,
    });
    ignored.collect()
}

#[test]
fn dates_of_json_are_dates() {
    let result = r#"{"placedAt":"2026-11-23T10:15:00Z"}"#;
    assert!(supported(result, "It was placed on 23 November 2026."));
    assert_eq!(unsupported(result, "It was placed on 24 November 2026."), ["24 November 2026"]);
}

#[test]
fn names_of_columns_and_files_are_no_claims() {
    let table =
        "date,category,net_eur,vat_eur\n2026-03-11,Travel,64.00,12.80\n2026-04-08,Travel,41.50,8.30\n";
    let answer = |net: &str| {
        format!(
            "“2026-03-11,Travel,64.00,12.80”\n“2026-04-08,Travel,41.50,8.30”\n\
             Added up over these 2 rows: net_eur {net}, vat_eur 21.10"
        )
    };
    assert_eq!(unsupported(table, &answer("105.50")), [""; 0]);
    assert_eq!(unsupported(table, &answer("106.50")), ["106.50"]);
    let warranty =
        Source::Document { id: DocumentId::new(), name: Some("warranty-Größe 12.pdf".to_owned()) };
    let shown = [Shown::text(warranty, "The warranty lasts two years.")];
    let unsupported = |answer: &str| check(answer, &[], &shown, &Options::new()).unsupported().count();
    assert_eq!(unsupported("From warranty-Größe 12.pdf: The warranty lasts two years."), 0);
    assert_eq!(unsupported("From warranty-Größe 12.pdf: The warranty lasts 12 years."), 1);
}

#[test]
fn a_row_of_figures_is_many_or_one() {
    assert!(supported("Revenue 412 398 377", "Revenue was 412, then 398, and 377 last."));
    assert!(supported("Revenue 412 398 377", "Revenue: 412 398 377"));
    assert!(supported("In phase 2, 300 units", "In phase 2 300 units"));
    assert!(supported("The rent is 12 500 EUR.", "The rent is 12,500 EUR."));
    assert_eq!(unsupported("Revenue 412 398 377", "Revenue was 399."), ["399"]);
    assert_eq!(unsupported("The rent is 12,500 EUR.", "The rent is 12 600 EUR."), ["12 600 EUR"]);
}

#[test]
fn words_that_end_in_s_name_no_page() {
    for answer in [
        "It's 900 EUR.",
        "It is the landlord's 900.",
        "Acme's 4,500 employees",
        "See page 3, 1,200 units",
        "On page 2. 14 tenants",
        "On page 900 EUR",
    ] {
        assert!(!unsupported("A text.", answer).is_empty(), "{answer}");
    }
    for answer in ["See p. 4.", "(S. 4)", "on pages 3 to 4", "Seiten 3–4", "page 4"] {
        assert_eq!(unsupported("A text.", answer), [""; 0], "{answer}");
    }
}

#[test]
fn an_answer_of_one_number_is_checked() {
    for answer in ["900.", "(4,200)", "900", "900:"] {
        assert_eq!(unsupported("A text.", answer).len(), 1, "{answer}");
    }
    assert_eq!(ignored("1.\n2.\n").len(), 2, "an empty list");
    assert_eq!(ignored("7. The end"), [("7".to_owned(), Ignored::ListNumber)]);
}

#[test]
fn a_figure_in_a_list_counts_no_items_behind_it() {
    assert_eq!(ignored("- Floors: 2\n- Rooms: 5\n- Balconies: 1"), []);
    assert_eq!(ignored("2 points:\n- one\n- two"), [("2".to_owned(), Ignored::Count)]);
    let nested = "- It has 2 kinds:\n  - one\n  - two\n- end";
    assert_eq!(ignored(nested), [("2".to_owned(), Ignored::Count)]);
}

#[test]
fn figures_with_words_behind_cost_no_more_than_their_size() {
    let begun = std::time::Instant::now();
    let size = if cfg!(debug_assertions) { 20_000 } else { 100_000 };
    for text in ["5 per night, ".repeat(size), "租期为12个月租金为3千元".repeat(size)] {
        let _ = of(&text, "It is 7.");
    }
    // A square would take minutes.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn a_provider_s_citation_stays_in_its_source() {
    let one = Shown::text(source("one.pdf"), "[page 1]\nNothing of it.\n");
    let said = "[page 7]\nThe tenant keeps the garden tidy at all times of the year.\n";
    let two = Shown::text(source("two.pdf"), said);
    let quote = "The tenant keeps the gardens tidy at all times of the year.";
    let cited = |source: Source| {
        let native = Citation::new(source, How::Native).with_quote(Some(quote));
        check("So it is.", &[native], &[one.clone(), two.clone()], &Options::new()).citations[0].clone()
    };
    assert_eq!((cited(source("one.pdf")).place, cited(source("one.pdf")).in_document), (None, None));
    assert_eq!(cited(source("two.pdf")).place, Some(Place::Pages(7, 7)));
    let web = cited(Source::Url { url: "https://a.example".into(), title: None });
    assert_eq!((web.place, web.in_document), (None, None));
    let file = cited(Source::Foreign { id: "file-1".into(), title: Some("two.pdf".into()) });
    assert_eq!((file.source, file.place), (source("two.pdf"), Some(Place::Pages(7, 7))));
    let nth = cited(Source::Nth { index: 0, title: None });
    assert_eq!((nth.source, nth.place), (source("two.pdf"), Some(Place::Pages(7, 7))));
}

#[test]
fn pieces_out_of_order_are_no_slips() {
    let text =
        "The tenant pays the rent on the first of a month. The landlord heats the whole house in winter.";
    let answer =
        "“The landlord heats the whole house in winter … The tenant pays the rent on the first of a month”";
    assert_eq!(of(text, answer).citations.len(), 1);
}

#[test]
fn the_same_passage_is_looked_for_once() {
    let native = |at: usize| {
        Citation::new(source("a.txt"), How::Native).with_quote(Some(&format!("rent is {}", at % 2)))
    };
    let native: Vec<Citation> = (0..5000).map(native).collect();
    let shown = [Shown::text(source("a.txt"), "The rent is 1.")];
    let checked = check("So.", &native, &shown, &Options::new());
    assert_eq!(checked.citations.iter().filter(|citation| citation.in_document.is_some()).count(), 2500);
    let native =
        |at: usize| Citation::new(source("a.txt"), How::Native).with_quote(Some(&format!("rent is {at}")));
    let native: Vec<Citation> = (0..300).map(native).collect();
    let checked = check("So.", &native, &shown, &Options::new());
    assert_eq!(checked.citations.len(), 300);
    assert!(checked.notes.iter().any(|note| note.starts_with("44 quoted passages")), "{:?}", checked.notes);
}

#[test]
fn names_are_found_in_other_forms() {
    for (text, answer) in [
        ("In fiscal year 2024 it grew.", "It grew in FY2024."),
        ("Sales of Q4 2024", "Sales of Q4/2024"),
        ("Sales of Q4/2024", "Sales of Q4 2024"),
        ("By 2024 it ends.", "Mid-2024 it ends."),
        ("May 2024", "May-2024"),
        ("May-2024", "May 2024"),
        ("ISO 9001", "ISO9001"),
        ("ISO9001", "ISO 9001"),
        ("100 bps", "100bps"),
        ("100bps", "100 bps"),
    ] {
        assert!(supported(text, answer), "{text} | {answer}: {:?}", of(text, answer).figures);
    }
    assert_eq!(unsupported("ISO 9001", "ISO9002"), ["ISO9002"]);
    assert_eq!(unsupported("In 2024", "In FY2025"), ["FY2025"]);
}

#[test]
fn a_fall_in_words_is_a_negative_figure() {
    assert!(supported("Revenue fell by 5 % in 2026.", "Revenue: -5 %"));
    assert_eq!(unsupported("Revenue rose by 5 % in 2026.", "Revenue: -5 %"), ["-5 %"]);
}

#[test]
fn scripts_without_blanks_have_words() {
    assert!(supported("租期为12个月", "租期是12个月"));
    assert_eq!(unsupported("租期为12个月", "人员有12位"), ["12"]);
}
