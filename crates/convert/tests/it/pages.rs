//! PDFs cut to some of their pages.

use crate::common::{Builder, PDF, bomb, fixture, read, text};
use attache_convert::{ConvertError, DocumentConverter, Limits, PdfPages, convert, pdf_pages, transcode};
use attache_core::converter::{ConverterErrorKind, MediaLimits, Transcoded};
use attache_core::{Converter, Document};
use bytes::Bytes;

fn pages(bytes: impl Into<Bytes>, first: usize, last: usize) -> Result<PdfPages, ConvertError> {
    pdf_pages(bytes.into(), first..=last, None, &Limits::new())
}

fn fitted(bytes: impl Into<Bytes>, form: &MediaLimits) -> Transcoded {
    transcode(PDF, bytes.into(), form, &Limits::new()).unwrap()
}

fn form() -> MediaLimits {
    MediaLimits::of([PDF])
}

/// A document of so many pages, each with its number and its own picture, that share a font.
fn numbered(count: u32) -> Vec<u8> {
    let kids: String = (0..count).map(|page| format!("{} 0 R ", 10 + 3 * page)).collect();
    let mut pdf = Builder::new()
        .object(1, "<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>")
        .object(
            2,
            &format!(
                "<< /Type /Pages /Kids [{kids}] /Count {count} /MediaBox [0 0 300 400] /Rotate 90 \
             /Resources << /Font << /F1 5 0 R >> >> >>"
            ),
        )
        .object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
        .object(6, "<< /Type /Outlines /First 7 0 R >>")
        .object(7, "<< /Title (x) /Parent 6 0 R /Dest [10 0 R /Fit] >>");
    for page in 0..count {
        let number = 10 + 3 * page;
        let next = if page + 1 < count { number + 3 } else { 10 };
        pdf = pdf
            .object(
                number,
                &format!(
                    "<< /Type /Page /Parent 2 0 R /Contents {} 0 R /Annots [<< /Type /Annot /Subtype /Link \
                 /Rect [0 0 9 9] /P {number} 0 R /Dest [{next} 0 R /Fit] >>] /Private {} 0 R >>",
                    number + 1,
                    number + 2
                ),
            )
            .stream(
                number + 1,
                "",
                format!("BT /F1 12 Tf 72 300 Td (This is page {}) Tj ET", page + 1).as_bytes(),
            )
            .stream(number + 2, "", &[b'x'; 10_000]);
    }
    pdf.finish()
}

// documents.md 9.2 D18
#[test]
fn a_document_is_cut_to_the_pages_that_are_taken() {
    assert_eq!(fitted(numbered(3), &form().with_max_pages(3)), Transcoded::unchanged().with_pages(3));
    assert_eq!(fitted(numbered(3), &form()), Transcoded::unchanged().with_pages(3));

    let cut = fitted(numbered(200), &form().with_max_pages(100));
    assert_eq!((cut.pages, cut.pages_held), (Some(200), Some(100)));
    assert_eq!(cut.note.as_deref(), Some("only pages 1–100 of 200"));
    let (bytes, media) = cut.content.unwrap();
    assert_eq!(media.essence(), PDF);
    let converted = read(bytes).unwrap();
    assert_eq!(converted.units, 100);
    assert!(converted.text.ends_with("[page 100]\nThis is page 100\n"), "{}", converted.text);
}

#[test]
fn a_document_is_cut_to_the_bytes_that_are_taken() {
    let whole = numbered(50);
    let most = whole.len() / 2;
    let cut = fitted(whole.clone(), &form().with_max_bytes(most as u64));
    let held = cut.pages_held.unwrap();
    let (bytes, _) = cut.content.unwrap();
    assert!((20..26).contains(&held), "{held}");
    assert!(bytes.len() <= most && bytes.len() > most * 4 / 5, "{}", bytes.len());
    assert_eq!(read(bytes).unwrap().units as u64, held);
    // Not even one page fits.
    let result = transcode(PDF, whole.into(), &form().with_max_bytes(5_000), &Limits::new());
    assert_eq!(
        result.unwrap_err().to_string(),
        "the document is too large: more than 5000 bytes in one page alone"
    );
    // Writing anew may be enough: here is much that no page needs.
    let padded =
        Builder::page("BT /F1 12 Tf 72 700 Td (Hello) Tj ET").stream(9, "", &[b'x'; 100_000]).finish();
    let cut = fitted(padded, &form().with_max_bytes(50_000));
    assert_eq!((cut.pages, cut.pages_held), (Some(1), None));
    assert_eq!(cut.note.as_deref(), Some("written anew, without what no page shows"));
    assert_eq!(text(cut.content.unwrap().0), "[page 1]\nHello\n");
}

#[test]
fn any_pages_can_be_had() {
    let taken = pages(numbered(9), 4, 5).unwrap();
    assert_eq!((taken.first, taken.last, taken.total), (4, 5, 9));
    assert_eq!(text(taken.bytes.clone()), "[page 1]\nThis is page 4\n\n[page 2]\nThis is page 5\n");
    // Members that the pages inherit are theirs, and nobody else's pages, pictures or outline came along.
    let source = String::from_utf8_lossy(&taken.bytes).into_owned();
    assert!(source.contains("/Rotate 90") && source.contains("/MediaBox[0 0 300 400 ]"), "{source}");
    assert!(taken.bytes.len() < 25_000 && !source.contains("/Outlines"));
    assert_eq!(source.matches("/Type/Page/").count(), 2);
    assert_eq!(source.matches("/Helvetica").count(), 1);

    let taken = pages(numbered(9), 8, 99).unwrap();
    assert_eq!((taken.first, taken.last, taken.total), (8, 9, 9));
    assert_eq!(pages(numbered(9), 0, 1).unwrap().last, 1);
    for (first, last) in [(10, 12), (5, 4), (0, 0)] {
        let result = pages(numbered(9), first, last);
        assert_eq!(result.unwrap_err().to_string(), "the document is malformed: it has no such pages");
    }
}

#[test]
fn pages_of_every_producer_read_as_before() {
    for name in [
        "collection-fonts",
        "encrypted-restricted-aes128",
        "encrypted-restricted-aes256",
        "encrypted-restricted-pages",
        "encrypted-restricted-rc4",
        "encrypted-restricted-tables",
        "encrypted-restricted-tables-rc4",
        "fpdf2-scripts",
        "ghostscript-expenses",
        "latex-article",
        "libreoffice-letter",
        "matplotlib-chart",
        "reportlab-cjk",
        "reportlab-form",
        "typst-report",
        "weasyprint-columns",
        "weasyprint-hebrew",
    ] {
        let before = read(fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let taken = pages(fixture(name), 1, usize::MAX).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((taken.last, taken.blank.len()), (before.units, 0), "{name}");
        assert_eq!(text(taken.bytes), before.text, "{name}");
    }
}

#[test]
fn a_scan_is_handed_on_page_by_page() {
    let whole = fixture("reportlab-scan");
    let taken = pages(whole.clone(), 1, 1).unwrap();
    // It has no text, but its picture.
    let result = read(taken.bytes.clone());
    assert!(matches!(result, Err(ConvertError::NoText { images: true, .. })), "{result:?}");
    assert!(taken.bytes.len() > whole.len() / 4);
}

#[test]
fn what_needs_a_password_is_an_error() {
    for name in ["encrypted-password", "encrypted-password-tables"] {
        let result = transcode(PDF, fixture(name), &form(), &Limits::new());
        assert_eq!(result.unwrap_err(), ConvertError::Encrypted { reason: "it needs a password" });
        let result = pages(fixture(name), 1, 1);
        assert!(matches!(result, Err(ConvertError::Encrypted { .. })), "{result:?}");
    }
}

#[test]
fn pages_that_cannot_be_read_are_blank_and_said_to_be() {
    let pdf = Builder::page("BT /F1 12 Tf 72 700 Td (Hello) Tj ET")
        .object(2, "<< /Type /Pages /Kids [6 0 R 3 0 R 3 0 R] /Count 3 >>")
        .finish();
    let taken = pages(pdf.clone(), 1, 2).unwrap();
    assert_eq!((taken.total, &taken.blank[..]), (3, &[1][..]));
    let cut = fitted(pdf, &form().with_max_pages(2));
    let note = "only pages 1–2 of 3, 1 of them blank as they could not be read";
    assert_eq!(cut.note.as_deref(), Some(note));
}

#[test]
fn counts_are_not_believed_and_circles_end() {
    let tree = |kids: &str| {
        Builder::page("").object(2, &format!("<< /Type /Pages /Kids [{kids}] /Count 99999 >>")).finish()
    };
    assert_eq!(fitted(tree("3 0 R 2 0 R 1 0 R 3 0 R"), &form()).pages, Some(3));
    assert_eq!(fitted(tree("3 0 R"), &form()).pages, Some(1));
    let result = transcode(PDF, tree("").into(), &form(), &Limits::new());
    assert!(matches!(result, Err(ConvertError::Malformed { .. })), "{result:?}");
}

#[test]
fn what_is_copied_is_not_undone_and_so_cannot_grow() {
    let pdf = Builder::page("").stream(4, "/Filter /FlateDecode", &bomb(1 << 30)).finish();
    let taken = pages(pdf.clone(), 1, 1).unwrap();
    assert!(taken.bytes.len() < pdf.len() + 1_000);
    // Annotations are written with each page; two thousand pages that share two thousand of them are too many.
    let notes = "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (a note) >> ".repeat(2_000);
    let kids: String = (0..2_000).map(|page| format!("{} 0 R ", 100 + page)).collect();
    let mut pdf = Builder::page("")
        .object(2, &format!("<< /Type /Pages /Kids [{kids}] >>"))
        .object(6, &format!("[{notes}]"));
    for number in 100..2_100 {
        pdf = pdf.object(number, "<< /Type /Page /Parent 2 0 R /Annots 6 0 R >>");
    }
    let taken = pages(pdf.finish(), 1, 2_000).unwrap();
    assert!(taken.last < 2_000 && taken.bytes.len() <= 64 << 20, "{} {}", taken.last, taken.bytes.len());
}

#[test]
fn names_strings_and_numbers_are_written_as_they_were() {
    let odd =
        "/A#20B#2f#23#c3 (paren \\( \\) back \\\\ \\r cr \\377) /N [-1.5 .25 2147483647 true null <00ff>]";
    let pdf = Builder::page("BT /F1 12 Tf 72 700 Td (Hello) Tj ET")
        .object(3, &format!(
            "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /Odd << {odd} >> >>"
        ))
        .finish();
    let taken = pages(pdf, 1, 1).unwrap();
    let expected = b"/Odd <</A#20B#2f#23#c3 (paren \\( \\) back \\\\ \\r cr \xff)/N [-1.5 0.25 2147483647 true null (\0\xff) ]>>";
    let found = taken.bytes.windows(expected.len()).any(|window| window == expected);
    assert!(found, "{}", String::from_utf8_lossy(&taken.bytes));
    assert_eq!(convert(PDF, taken.bytes, &Limits::new()).unwrap().text, "[page 1]\nHello\n");
}

#[test]
fn the_converter_takes_pages_out_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let converter = DocumentConverter::default();
    let take = |bytes: Bytes, media_type: &str, first, last| {
        let document = Document::from_bytes(bytes.clone(), media_type);
        runtime.block_on(converter.pages(&document, bytes, first, last))
    };
    let some = take(numbered(9).into(), PDF, 4, 5).unwrap();
    assert_eq!((some.pages, some.pages_held), (Some(9), Some(2)));
    assert_eq!(some.note.as_deref(), Some("pages 4–5 of 9"));
    let all = take(numbered(9).into(), PDF, 1, 99).unwrap();
    assert_eq!((all.pages, all.pages_held), (Some(9), None));
    let locked = take(fixture("encrypted-password"), PDF, 1, 1);
    let locked = locked.unwrap_err();
    assert_eq!(locked.to_string(), "it is encrypted: it needs a password");
    assert_eq!((locked.kind(), locked.is_retryable()), (ConverterErrorKind::Encrypted, false));
    let text = take(Bytes::from_static(b"text"), "text/plain", 1, 1);
    let text = text.unwrap_err();
    assert_eq!(text.to_string(), "no converter reads `text/plain`");
    assert_eq!(text.kind(), ConverterErrorKind::Unsupported);
    let limits = Limits::new().with_max_time(std::time::Duration::ZERO);
    let document = Document::from_bytes(numbered(9), PDF);
    let hasty = DocumentConverter::new(limits);
    let late = runtime.block_on(hasty.pages(&document, document.bytes().unwrap(), 1, 1)).unwrap_err();
    assert_eq!((late.kind(), late.is_retryable()), (ConverterErrorKind::TimedOut, true));
}

#[test]
fn fields_of_forms_keep_their_values_and_their_form() {
    let page = |number: u32, contents: u32, annotations: &str| {
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {contents} 0 R /Annots [{annotations}] \
             /Resources << /Font << /F1 5 0 R >> >> /Number {number} >>"
        )
    };
    let pdf = Builder::new()
        .object(1, "<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [10 0 R] /DR << /Font << /Helv 5 0 R >> >> /DA (/Helv 9 Tf) /XFA (x) >> >>")
        .object(2, "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>")
        .object(3, &page(1, 6, "12 0 R 13 0 R"))
        .object(4, &page(2, 7, "14 0 R"))
        .object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
        .stream(6, "", b"BT /F1 12 Tf 72 700 Td (Rent) Tj ET")
        .stream(7, "", b"BT /F1 12 Tf 72 700 Td (Heating) Tj ET")
        .object(10, "<< /T (lease) /Kids [11 0 R 14 0 R] >>")
        .object(11, "<< /Parent 10 0 R /T (rent) /FT /Tx /V (4,950.00) /DA (/Helv 12 Tf) /Kids [12 0 R] >>")
        .object(12, "<< /Type /Annot /Subtype /Widget /Parent 11 0 R /P 3 0 R /Rect [200 695 400 715] >>")
        .object(13, "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (Check) >>")
        .object(14, "<< /Type /Annot /Subtype /Widget /Parent 10 0 R /FT /Tx /T <FEFF00E9> /V (77.50) /Rect [200 695 400 715] >>")
        .finish();
    assert_eq!(
        text(pdf.clone()),
        "[page 1]\nRent | 4,950.00\n[comment: Check]\n\n[page 2]\nHeating | 77.50\n"
    );

    let first = pages(pdf.clone(), 1, 1).unwrap().bytes;
    assert_eq!(text(first.clone()), "[page 1]\nRent | 4,950.00\n[comment: Check]\n");
    let source = String::from_utf8_lossy(&first).into_owned();
    for part in [
        "/AcroForm<</Fields[",
        "/T(lease.rent)",
        "/FT /Tx",
        "/DA (/Helv 9 Tf)",
        "/DA (/Helv 12 Tf)",
        "/BaseFont /Helvetica",
    ] {
        assert!(source.contains(part), "{part} is missing in {source}");
    }
    assert!(!source.contains("77.50") && !source.contains("/XFA"), "{source}");
    let second = pages(pdf.clone(), 2, 2).unwrap().bytes;
    assert_eq!(text(second.clone()), "[page 1]\nHeating | 77.50\n");
    let name: Vec<u8> = "lease.é".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let name = [&b"/T(\xfe\xff"[..], &name, b")"].concat();
    assert!(second.windows(name.len()).any(|window| window == name));
    // A page that does not fit takes its fields along; pages without fields have no form.
    for limit in 900..2_500 {
        let Ok(cut) = pdf_pages(pdf.clone().into(), 1..=2, Some(limit), &Limits::new()) else { continue };
        assert!(cut.bytes.len() <= limit);
        assert!(text(cut.bytes).starts_with("[page 1]\nRent | 4,950.00\n"));
    }
    let plain = pages(numbered(2), 1, 1).unwrap().bytes;
    assert!(!String::from_utf8_lossy(&plain).contains("AcroForm"));
}
