//! Comments, values of fields and images of PDFs are read, or counted.

use crate::common::{Builder, deflate, read, text};
use attache_convert::Note;

/// A page with a line of text and these annotations, each an object from 10 on.
fn annotated(annotations: &[&str]) -> Vec<u8> {
    annotated_by(annotations).finish()
}

fn annotated_by(annotations: &[&str]) -> Builder {
    let list: String = (0..annotations.len()).map(|at| format!("{} 0 R ", 10 + at)).collect();
    let mut pdf = Builder::new()
        .object(1, "<< /Type /Catalog /Pages 2 0 R >>")
        .object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
        .object(
            3,
            &format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Annots [{list}] \
                 /Resources << /Font << /F1 5 0 R >> >> >>"
            ),
        )
        .stream(4, "", b"BT /F1 12 Tf 72 700 Td (Amount) Tj ET")
        .object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
        .stream(
            6,
            "/Type /XObject /Subtype /Form /BBox [0 0 100 20] /Resources << /Font << /F1 5 0 R >> >>",
            b"BT /F1 12 Tf 2 5 Td (10.00) Tj ET",
        );
    for (at, annotation) in annotations.iter().enumerate() {
        pdf = pdf.object(10 + at as u32, annotation);
    }
    pdf
}

#[test]
fn comments_are_read_with_who_wrote_them() {
    let page = annotated(&[
        "<< /Type /Annot /Subtype /Highlight /Rect [70 690 200 710] /T (Ann) /Contents (Check this\\rtoday) >>",
        "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents <FEFF004F006B> >>",
        "<< /Type /Annot /Subtype /Popup /Rect [0 0 9 9] /Contents (no) >>",
        "<< /Type /Annot /Subtype /Ink /Rect [0 0 9 9] /F 2 /Contents (hidden) >>",
    ]);
    assert_eq!(text(page), "[page 1]\nAmount\n[comment by Ann: Check this / today]\n[comment: Ok]\n");
}

#[test]
fn typed_text_without_an_appearance_stands_where_it_was_typed() {
    let page = annotated(&[
        "<< /Type /Annot /Subtype /FreeText /Rect [200 695 400 715] /DA (/F1 12 Tf) /Contents (see note 4) >>",
    ]);
    assert_eq!(text(page), "[page 1]\nAmount | see note 4\n");
}

#[test]
fn values_of_fields_are_read_whatever_their_appearance() {
    let field = |rest: &str| {
        format!("<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [200 695 400 715] /DA (/F1 12 Tf) {rest} >>")
    };
    // Without an appearance, with a stale one, and with its own.
    for (value, expected) in [
        (field("/V (95.00)"), "Amount | 95.00"),
        (field("/V (95.00) /AP << /N 6 0 R >>"), "Amount | 95.00"),
        (field("/V (10.00) /AP << /N 6 0 R >>"), "Amount | 10.00"),
        (field("/AP << /N 6 0 R >>"), "Amount | 10.00"),
        (field("/Ff 8192 /V (secret)"), "Amount"),
    ] {
        assert_eq!(text(annotated(&[&value])), format!("[page 1]\n{expected}\n"), "{value}");
    }
    // Its kind and value may stand in the field above.
    let widget = "<< /Type /Annot /Subtype /Widget /Parent 11 0 R /Rect [200 695 400 715] >>";
    let list = annotated(&[widget, "<< /FT /Ch /V (Monthly) /T (rate) >>"]);
    let text = text(list);
    assert!(text.starts_with("[page 1]\nAmount | Monthly\n"), "{text}");
}

#[test]
fn values_that_a_script_puts_in_another_way_are_read_as_they_are_shown() {
    let shown = |value: &str, look: &str, script: &str| {
        let field = format!(
            "<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [200 695 400 715] /DA (/F1 12 Tf) /V ({value}) \
             /Parent 11 0 R /AP << /N 12 0 R >> >>"
        );
        let form = "/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 5 0 R >> >>";
        let content = format!("BT /F1 12 Tf 2 5 Td ({look}) Tj ET");
        let parent = format!("<< /T (amount) /AA << {script} >> >>");
        let pdf = annotated_by(&[&field, &parent]).stream(12, form, content.as_bytes());
        text(pdf.finish()).trim_start_matches("[page 1]\nAmount | ").trim_end().to_owned()
    };
    let script = "/F << /S /JavaScript /JS (AFPercent_Format\\(2, 0\\);) >>";
    assert_eq!(shown("0.25", "25.00 %", script), "25.00 %");
    assert_eq!(shown("1234.567", "EUR 1,234.57", script), "EUR 1,234.57");
    assert_eq!(shown("2026-05-17", "17 May 2026", script), "17 May 2026");
    // Made before the value was set; and without a script.
    assert_eq!(shown("95", "10.00", script), "95");
    assert_eq!(shown("95", "0.00", script), "95");
    assert_eq!(shown("1000", "10.00", script), "1000");
    assert_eq!(shown("0.25", "25.00 %", "/K << /S /JavaScript /JS (x) >>"), "0.25");
}

#[test]
fn text_strings_have_their_own_encoding() {
    let field = "<< /Type /Annot /Subtype /FreeText /Rect [200 695 400 715] /Contents (100 \\240 \\204 \\215x\\216) >>";
    assert_eq!(text(annotated(&[field])), "[page 1]\nAmount | 100 € — “x”\n");
    let hyphen =
        "BT /F1 12 Tf 72 700 Td (by) Tj /Span << /ActualText <FEFF00AD> >> BDC (-) Tj EMC (pass) Tj ET";
    assert_eq!(text(Builder::page(hyphen).finish()), "[page 1]\nby-pass\n");
}

// Boxes are drawn by lines, or not at all, as often as by letters.
#[test]
fn boxes_say_if_they_are_ticked() {
    let field =
        |rest: &str| format!("<< /Type /Annot /Subtype /Widget /FT /Btn /Rect [50 698 62 710] {rest} >>");
    for (button, expected) in [
        (field("/V /Yes /AS /Yes"), "☒ | Amount"),
        (field("/V /Yes"), "☒ | Amount"),
        (field("/AS /Off"), "☐ | Amount"),
        (field(""), "☐ | Amount"),
        (field("/Ff 32768 /AS /a"), "◉ | Amount"),
        (field("/Ff 32768 /V /a /AP << /N << /b 6 0 R >> >>"), "○ | Amount"),
        (field("/Ff 65536"), "Amount"),
        (field("/F 2 /AS /Yes"), "Amount"),
        // Its appearance has a mark of its own.
        (field("/AS /Yes /AP << /N << /Yes 6 0 R >> >>"), "10.00 | Amount"),
    ] {
        assert_eq!(text(annotated(&[&button])), format!("[page 1]\n{expected}\n"), "{button}");
    }
}

#[test]
fn images_beside_text_are_counted() {
    let image =
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8";
    let content = "BT /F1 12 Tf 72 700 Td (Text) Tj ET q 9 0 0 9 0 0 cm /I Do Q q /I Do Q";
    let pdf =
        Builder::page_with(content, "/Font << /F1 5 0 R >> /XObject << /I 6 0 R >>").stream(6, image, b"\0");
    let converted = read(pdf.finish()).unwrap();
    assert_eq!(converted.notes, [Note::NotShown { what: "image", count: 2 }]);
}

#[test]
fn nothing_is_said_to_be_missing_where_nothing_is() {
    let content = b"q BT /F1 12 Tf 72 700 Td (Whole) Tj ET Q\n";
    // The last block is not marked as the last one.
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, content).unwrap();
    std::io::Write::flush(&mut encoder).unwrap();
    let open = encoder.get_ref().clone();
    let pdf = |data: &[u8]| Builder::page("").stream(4, "/Filter /FlateDecode", data).finish();
    let converted = read(pdf(&open)).unwrap();
    assert_eq!((converted.text.as_str(), converted.notes.as_slice()), ("[page 1]\nWhole\n", [].as_slice()));
    // A name that the page does not know shows nothing.
    let unknown = Builder::page("BT /F1 12 Tf 72 700 Td (Whole) Tj ET /X9 Do").finish();
    assert_eq!(read(unknown).unwrap().notes, []);
    // Where text is cut, it is said.
    let cut = deflate(&[content.repeat(50), b"BT /F1 9 Tf (A longer text of no use) Tj".to_vec()].concat());
    let converted = read(pdf(&cut[..cut.len() - 9])).unwrap();
    assert!(matches!(converted.notes.as_slice(), [Note::PartsLeftOut { .. }]), "{:?}", converted.notes);
}
