//! Fonts that say in odd ways which characters they show.

use crate::common::{Builder, fixture, text};

/// A page that shows these codes in a font of drawings whose glyphs have these names.
fn drawn(differences: &str, codes: &str, map: &str) -> String {
    let pdf = Builder::page_with(
        &format!("BT /F1 12 Tf 72 700 Td <{codes}> Tj ET"),
        "/Font << /F1 6 0 R >>",
    )
    .object(
        6,
        &format!(
            "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] /FirstChar 0 /LastChar 90 \
             /Widths [{}] /CharProcs << >> /Encoding << /Type /Encoding /Differences [{differences}] >> {map} >>",
            "0.6 ".repeat(91)
        ),
    )
    .stream(7, "", b"/CIDInit /ProcSet findresource begin begincmap /CIDSystemInfo << /Registry (A) >> \
        1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <00><FF><0040> endbfrange \
        1 beginbfchar <02> <20AC> endbfchar endcmap");
    text(pdf.finish())
}

#[test]
fn glyphs_named_by_codes_are_read() {
    assert_eq!(drawn("84 /a84 79 /a79 /a80", "544F50", ""), "[page 1]\nTOP\n");
    assert_eq!(drawn("1 /C84 /C79 /C80", "010203", ""), "[page 1]\nTOP\n");
    assert_eq!(drawn("1 /G54 /G4F /G50", "010203", ""), "[page 1]\nTOP\n");
    // Numbers of glyphs are no codes.
    assert_eq!(
        attache_convert::convert(
            crate::common::PDF,
            Builder::page_with("BT /F1 12 Tf 72 700 Td <0102> Tj ET", "/Font << /F1 6 0 R >>")
                .object(
                    6,
                    "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] /FirstChar 0 \
                     /LastChar 3 /Widths [1 1 1 1] /CharProcs << >> /Encoding << /Differences [1 /g36 /g37] >> >>",
                )
                .finish()
                .into(),
            &attache_convert::Limits::new(),
        )
        .unwrap_err()
        .to_string(),
        "the document holds no text in its 1 page(s)"
    );
}

#[test]
fn maps_to_unicode_are_read_however_they_are_put() {
    assert_eq!(drawn("1 /g1 /g2", "011502", "/ToUnicode 7 0 R"), "[page 1]\nAU\u{20AC}\n");
}

#[test]
fn characters_of_embedded_fonts_are_read_without_a_map() {
    for name in ["embedded-no-map", "embedded-identity-map"] {
        assert_eq!(text(fixture(name)), "[page 1]\nZażółć 12,50 €\n", "{name}");
    }
}
