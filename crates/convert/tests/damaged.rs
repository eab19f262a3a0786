//! Documents with damage: what can be read is read, and what cannot is said where it is missing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod common;

use attache_convert::{Note, Unit};
use common::{Builder, read};

const HELLO: &str = "BT /F1 12 Tf 72 700 Td (Hello) Tj ET";

/// A page whose dictionary has these entries, with `Hello` as object 4.
fn page(entries: &str) -> Builder {
    let page = format!("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> {entries} >>");
    Builder::page(HELLO).object(3, &page)
}

/// The page says `Hello`, and that it is not whole.
#[track_caller]
fn assert_incomplete_hello(pdf: Vec<u8>) {
    let converted = read(pdf).expect("the page can be read");
    assert_eq!(converted.text, "[page 1]\n[parts of this page could not be read]\nHello\n");
    assert!(converted.truncated);
    assert_eq!(converted.notes, [Note::PartsLeftOut { unit: Unit::Page, numbers: vec![1] }]);
}

#[track_caller]
fn assert_whole_hello(pdf: Vec<u8>) {
    let converted = read(pdf).expect("the page can be read");
    assert_eq!((converted.text.as_str(), converted.truncated), ("[page 1]\nHello\n", false));
    assert_eq!(converted.notes, []);
}

#[test]
fn content_that_leads_nowhere_is_said_and_does_not_hide_what_follows() {
    for contents in ["[99 0 R 4 0 R]", "[4 0 R 99 0 R]", "[(x) 4 0 R]", "[5 0 R 4 0 R]", "[4 0 R <<>>stream]"]
    {
        assert_incomplete_hello(page(&format!("/Contents {contents}")).finish());
    }
    for contents in ["[4 0 R]", "[null 4 0 R]", "[6 0 R 4 0 R]"] {
        assert_whole_hello(page(&format!("/Contents {contents}")).object(6, "null").finish());
    }
}

#[test]
fn annotations_that_lead_nowhere_are_said_and_do_not_hide_what_follows() {
    let field = |entries: &str| format!("<< /Subtype /Widget /Rect [0 0 99 99] {entries} >>");
    let with = |annotations: &str, more: &str| {
        page(&format!("/Contents null /Annots {annotations}"))
            .object(6, &field("/AP << /N 7 0 R >>"))
            .stream(7, "/Subtype /Form /BBox [0 0 99 99]", b"BT /F1 12 Tf 9 9 Td (Hello) Tj ET")
            .object(8, more)
            .object(9, "<< /Subtype /Link /Rect [0 0 9 9] >>")
            .finish()
    };
    assert_whole_hello(with("[9 0 R 6 0 R]", "null"));
    assert_whole_hello(with("[8 0 R 6 0 R]", "null"));
    // A box that is not ticked shows nothing.
    assert_whole_hello(with("[8 0 R 6 0 R]", &field("/AS /Off /AP << /N << /Yes 99 0 R >> >>")));
    for annotations in ["[99 0 R 6 0 R]", "[6 0 R 99 0 R]", "[(x) 6 0 R]"] {
        assert_incomplete_hello(with(annotations, "null"));
    }
    for appearance in [
        "/AP << /N 99 0 R >>",
        "/AP 99 0 R",
        "/AP << /N 9 0 R >> /AS /Subtype",
        "/AS /Yes /AP << /N << /Yes 99 0 R >> >>",
    ] {
        assert_incomplete_hello(with("[8 0 R 6 0 R]", &field(appearance)));
    }
    assert_incomplete_hello(page("/Contents 4 0 R /Annots 99 0 R").finish());
}

#[test]
fn forms_that_lead_nowhere_are_said() {
    let content = format!("/X Do /Y Do {HELLO}");
    for x in ["99 0 R", "5 0 R", "null"] {
        let resources = format!("/Font << /F1 5 0 R >> /XObject << /X {x} /Y 8 0 R >>");
        let pdf = Builder::page_with(&content, &resources).stream(8, "/Subtype /Form /BBox [0 0 9 9]", b"");
        assert_incomplete_hello(pdf.finish());
    }
}
