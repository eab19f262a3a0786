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

/// A line in a simple font, with this map to Unicode as object 7.
fn simple(font: &str, codes: &str, map: &[u8]) -> String {
    let content = format!("BT /F1 12 Tf 72 700 Td {codes} Tj ET");
    let resources = "/Font << /F1 6 0 R /F2 5 0 R >> /ExtGState << /G << /Font [6 0 R 12] >> >>";
    let font =
        format!("<< /Type /Font /FirstChar 0 /LastChar 255 /Widths [{}] {font} >>", "500 ".repeat(256));
    let text = text(Builder::page_with(&content, resources).object(6, &font).stream(7, "", map).finish());
    text.trim_start_matches("[page 1]\n").trim_end().to_owned()
}

#[test]
fn fonts_of_signs_are_read_by_their_names() {
    for name in ["SymbolMT", "Symbol,Bold", "ABCDEF+SymbolMT", "Symbol"] {
        let font = format!("/Subtype /TrueType /BaseFont /{name}");
        assert_eq!(simple(&font, "(10 mg \\261)", b""), "10 µγ ±", "{name}");
    }
    assert_eq!(simple("/Subtype /TrueType /BaseFont /Wingdings-Regular", "(\\374)", b""), "✓");
    assert_eq!(simple("/Subtype /TrueType /BaseFont /ZapfDingbats", "(4)", b""), "✔");
    let map = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange \
        2 beginbfchar <01> <F06D> <02> <F0B7> endbfchar endcmap";
    for (name, expected) in [("ABCDEF+SymbolMT", "µ•"), ("Calibri", "\u{fffd}•")] {
        let font = format!("/Subtype /TrueType /BaseFont /{name} /ToUnicode 7 0 R");
        assert_eq!(simple(&font, "<0102>", map), expected, "{name}");
    }
}

#[test]
fn fonts_that_say_no_encoding_are_read_as_windows_does() {
    let font = "/Subtype /TrueType /BaseFont /ABCDEF+Carlito";
    assert_eq!(simple(font, "<6361668920E9>", b""), "caf‰ é");
    // The names of the others are in the standard encoding.
    assert_eq!(simple("/Subtype /Type1 /BaseFont /Helvetica", "<E9>", b""), "Ø");
    let map = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange \
        1 beginbfchar <E9> <0416> endbfchar endcmap";
    assert_eq!(simple(&format!("{font} /ToUnicode 7 0 R"), "<E9EA>", map), "Жê");
}

#[test]
fn fonts_of_graphics_states_are_taken() {
    let font = "/Subtype /TrueType /BaseFont /SymbolMT";
    assert_eq!(simple(font, "/F2 9 Tf (m) Tj /G gs (m)", b""), "mµ");
}

#[test]
fn accents_that_are_drawn_by_themselves_go_onto_their_letters() {
    let font =
        "/Subtype /Type1 /BaseFont /Helvetica /Encoding << /Differences [1 /dieresis /hungarumlaut] >>";
    let names = "[(Schr) 0 <01> 500 (odinger, M) 20 <01> 520 (uller, Erd) <02> 490 (os)] TJ () ";
    assert_eq!(simple(font, names, b""), "Schrödinger, Müller, Erdős");
}

#[test]
fn letters_that_half_a_letter_is_taken_back_for_are_of_one_word() {
    let font = "/Subtype /Type1 /BaseFont /Helvetica";
    assert_eq!(simple(font, "[(AB) 500 (CD) 800 (EF)] TJ ()", b""), "ABCD EF");
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
