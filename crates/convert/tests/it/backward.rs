//! Lines in scripts that are written from right to left, with words of others among them.

use crate::common::{Builder, text};

/// A font whose codes are those of Hebrew in windows-1255, and three for Arabic.
const MAP: &[u8] = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange \
    1 beginbfrange <E0> <FA> <05D0> endbfrange \
    3 beginbfchar <01> <06440627> <02> <0633> <03> <0645> endbfchar endcmap";

/// The codes of words as they stand from left to right: those of Hebrew letters are turned around.
fn standing(words: &str) -> String {
    let code = |c: char| match c {
        'א'..='ת' => u32::from(c) - 0x5d0 + 0xe0,
        c => u32::from(c),
    };
    let word = |word: &str| -> String {
        let is_hebrew = word.contains(|c| ('א'..='ת').contains(&c));
        let codes: Vec<u32> = word.chars().map(code).collect();
        let codes = if is_hebrew { codes.into_iter().rev().collect() } else { codes };
        codes.into_iter().map(|code| format!("{code:02X}")).collect()
    };
    words.split(' ').map(word).collect::<Vec<_>>().join("20")
}

#[track_caller]
fn assert_reads(content: &str, expected: &str) {
    let pdf = Builder::page(content)
        .object(
            5,
            &format!(
                "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R /FirstChar 0 /LastChar 255 \
                 /Widths [{}] >>",
                "500 ".repeat(256)
            ),
        )
        .stream(6, "", MAP);
    assert_eq!(text(pdf.finish()), format!("[page 1]\n{expected}\n"));
}

#[track_caller]
fn assert_line_reads(standing_words: &str, expected: &str) {
    assert_reads(&format!("BT /F1 10 Tf 72 700 Td <{}> Tj ET", standing(standing_words)), expected);
}

#[test]
fn letters_of_one_glyph_are_in_reading_order() {
    assert_reads("BT /F1 10 Tf 72 700 Td <030102> Tj ET", "سلام");
}

#[test]
fn replacement_text_is_in_reading_order() {
    let word = "/Span << /ActualText <FEFF05E905DC05D505DD> >> BDC (xxxx) Tj EMC";
    assert_reads(&format!("BT /F1 10 Tf 72 700 Td {word} ET"), "שלום");
}

#[test]
fn words_of_other_scripts_keep_their_order() {
    assert_line_reads(
        "אחת לשנה Microsoft Office 365 לתוכנת רישיון",
        "רישיון לתוכנת Microsoft Office 365 לשנה אחת",
    );
    assert_line_reads("עד EUR 1,250.00 סכום", "סכום 1,250.00 EUR עד");
    assert_line_reads("לשנה 12 34 מספרים", "מספרים 34 12 לשנה");
    assert_line_reads("they said עולם שלום to all of us", "they said שלום עולם to all of us");
    assert_line_reads("they said עולם 12 שלום to all of us", "they said שלום 12 עולם to all of us");
    // Cells are apart, and each has an order of its own.
    let cells = format!(
        "BT /F1 10 Tf 72 700 Td <{}> Tj 200 0 Td <{}> Tj ET",
        standing("Office 365"),
        standing("רישיון מחיר מספר")
    );
    assert_reads(&cells, "מספר מחיר רישיון | Office 365");
}

#[test]
fn typed_words_are_in_reading_order() {
    let field = "<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [72 690 400 710] /V <FEFF05E905DC05D505DD002005E205D505DC05DD> >>";
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Annots [6 0 R] >>";
    let pdf = Builder::page("").object(3, page).object(6, field);
    assert_eq!(text(pdf.finish()), "[page 1]\nשלום עולם\n");
}
