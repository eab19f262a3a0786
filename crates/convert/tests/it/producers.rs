//! Documents of many producers come out readable, with their tables, scripts and order.

use crate::common::{Builder, PDF, fixture, read, text};
use attache_convert::{ConvertError, Limits, Note, Unit, can_convert, convert};

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

#[track_caller]
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found =
            text[at..].find(part).unwrap_or_else(|| panic!("{part:?} is missing after {at} in:\n{text}"));
        at += found + part.len();
    }
}

#[test]
fn pages_are_marked_and_scripts_of_europe_are_read() {
    let converted = read(fixture("fpdf2-scripts")).unwrap();
    assert_eq!(
        converted.text,
        "[page 1]\nPage one\nZażółć gęślą jaźń: 1 234,50 zł\nΚαλημέρα κόσμε\nСъешь ещё этих мягких булок\n\n\
         [page 2]\nPage two\nnaïve façade – “quoted” … €\nsoft-hyphen and no-break space\n"
    );
    assert_eq!((converted.unit, converted.units, converted.truncated), (Unit::Page, 2, false));
    assert_eq!(converted.notes, []);
}

#[test]
fn columns_of_prose_are_read_one_after_the_other_and_tables_row_by_row() {
    let text = text(fixture("weasyprint-columns"));
    assert_in_order(
        &text,
        &[
            "Offices that fit\n",
            "LEFTSTART The efficient office fits its\nfurniture to its staff. A floor plan that was\n",
            "and bill further drafts by the hour.\n\nThe efficient office",
            "the hour. RIGHTEND\n",
            "First draft | 450.00\nEach further hour | 95.00\nTotal | 545.00\n",
        ],
    );
}

#[test]
fn scripts_that_read_backwards_are_in_reading_order() {
    let text = text(fixture("weasyprint-hebrew"));
    assert_eq!(text, "[page 1]\nשלום עולם\nסכום לתשלום: 1,250.00 EUR עד 17.5.2026\n");
}

#[test]
fn object_streams_small_letters_tables_and_turned_text_are_read() {
    let text = text(fixture("typst-report"));
    assert_has(
        &text,
        &[
            "The office of the affiliate was refitted. Area: 240 m2, CO2 down by 12%.\n",
            "Item | Quantity | Amount\nDesks | 12 | 4,668.00\nChairs | 12 | 2,940.00\n",
            "Draft of 3 May\n",
            "[page 2]\nOutlook\nRent rises to EUR 4,950.00 from July.\n",
        ],
    );
}

#[test]
fn fonts_that_are_drawings_are_read() {
    let text = text(fixture("matplotlib-chart"));
    assert_has(&text, &["Heating by month\n", "Jan | Feb | Mar\n", "Cost in EUR\n"]);
}

#[test]
fn fonts_of_east_asia_that_are_not_embedded_are_read() {
    let text = text(fixture("reportlab-cjk"));
    assert_has(&text, &["請求書 合計 ¥12,500\n", "发票总额：一万二千元\n"]);
}

#[test]
fn composite_fonts_without_a_map_are_read_by_their_collection() {
    assert_eq!(text(fixture("collection-fonts")), "[page 1]\n東京\n東京\n");
}

#[test]
fn a_word_processors_headings_tabs_and_tables_are_read() {
    let text = text(fixture("libreoffice-letter"));
    assert_in_order(
        &text,
        &[
            "Offer 77/2026\n",
            "Valid until | 3 June 2026\n",
            "Desk | 12 | 4,668.00\nLamp | 12 | 478.80\n",
            "总额 5,146.80\n",
        ],
    );
}

#[test]
fn ligatures_are_spelled_out_and_what_a_font_does_not_name_is_counted() {
    let converted = read(fixture("latex-article")).unwrap();
    assert_has(
        &converted.text,
        &[
            "The efficient office fits its furniture to its staff. A floor plan",
            "We offer a flat fee",
            "[page 2]\nSecond page.\n",
        ],
    );
    // The sign of the pound sterling comes from a bitmap font without names.
    assert_has(&converted.text, &["is \u{FFFD} 450"]);
    assert_eq!(converted.notes, [Note::UnreadableCharacters { count: 1 }]);
}

#[test]
fn spaces_made_by_character_spacing_are_seen() {
    let text = text(fixture("ghostscript-expenses"));
    assert_has(
        &text,
        &["Travel expenses\n", "Train to the coast and back.\n", "Ticket | 188.00\nCab | 64.50\n"],
    );
}

#[test]
fn filled_form_fields_are_read() {
    assert_eq!(text(fixture("reportlab-form")), "[page 1]\nName of the applicant | Larkspur Studio\n");
}

#[test]
fn a_scan_has_no_text() {
    let error = read(fixture("reportlab-scan")).unwrap_err();
    assert_eq!(error, ConvertError::NoText { unit: Unit::Page, units: 1, images: true });
    assert_eq!(error.to_string(), "the document holds no text in its 1 page(s), only images");
}

#[test]
fn restricted_documents_are_read_and_locked_ones_are_not() {
    for cipher in ["rc4", "aes128", "aes256", "tables", "tables-rc4"] {
        let text = text(fixture(&format!("encrypted-restricted-{cipher}")));
        assert_eq!(text, "[page 1]\nBalance: EUR 1,200.00\n", "{cipher}");
    }
    for name in ["encrypted-password", "encrypted-password-tables"] {
        let error = read(fixture(name)).unwrap_err();
        assert_eq!(error, ConvertError::Encrypted { reason: "it needs a password" }, "{name}");
    }
}

#[test]
fn restricted_documents_are_read_whatever_the_numbers_of_their_streams() {
    let page = |number| format!("[page {number}]\nPage {number}\n");
    let expected = (1..=5).map(page).collect::<Vec<_>>().join("\n");
    let plain = fixture("encrypted-restricted-pages");
    assert_eq!(text(plain.clone()), expected);

    // A table that points into the number of page's content makes it an object stream.
    let at = |part: &[u8]| plain.windows(part.len()).position(|window| window == part).unwrap();
    let inside = format!("\nxref\n2 1\n{:010} 00000 n \n", at(b"\n12 0 obj") + 2);
    let split = convert(PDF, [&plain[..], inside.as_bytes()].concat().into(), &Limits::new());
    assert!(matches!(split, Err(ConvertError::Encrypted { .. })), "{split:?}");
}

#[test]
fn restricted_documents_that_were_saved_again_are_read() {
    let plain = fixture("encrypted-restricted-tables-rc4");
    let source = String::from_utf8_lossy(&plain).into_owned();
    let between =
        |from: &str, to: &str| source.split(from).nth(1).unwrap().split(to).next().unwrap().to_owned();
    let id = between("/ID [", "]");
    let (first, second) = id.split_once("><").unwrap();
    let before = source.rsplit("startxref").next().unwrap().split_whitespace().next().unwrap().to_owned();
    let saved = |first: &str, second: &str| {
        let trailer = format!(
            "<< /Size {} /Root {} /Encrypt {} /ID [{first}><{second}] /Prev {before} >>",
            between("/Size ", " /"),
            between("/Root ", " /"),
            between("/Encrypt ", " >"),
        );
        let end = format!(
            "xref\n0 1\n0000000000 65535 f \ntrailer\n{trailer}\nstartxref\n{}\n%%EOF\n",
            plain.len()
        );
        read([&plain[..], end.as_bytes()].concat())
    };
    // Its second half changes, and the first one may be written in another way.
    for (first, second) in [(first, second), (first, "00>"), (&*first.to_uppercase(), "11>")] {
        assert_eq!(saved(first, second).unwrap().text, "[page 1]\nBalance: EUR 1,200.00\n");
    }
    assert!(matches!(saved("<00", "00>"), Err(ConvertError::Encrypted { .. })));
}

#[test]
fn the_limits_on_pages_and_output_cut_and_say_so() {
    let bytes = fixture("fpdf2-scripts");
    let one = convert(PDF, bytes.clone(), &Limits::new().with_max_units(1)).unwrap();
    assert!(one.truncated && one.text.contains("[page 1]") && !one.text.contains("[page 2]"));
    assert_eq!(one.notes, [Note::UnitsLeftOut { unit: Unit::Page, read: 1, total: 2 }]);

    let full = read(bytes.clone()).unwrap().text;
    for max in 0..full.len() {
        let cut = match convert(PDF, bytes.clone(), &Limits::new().with_max_output_bytes(max)) {
            Ok(cut) => cut,
            // Nothing but the marker fits.
            Err(error) => panic!("{max}: {error}"),
        };
        assert!(cut.truncated && cut.text.len() <= max, "{max}");
        assert!(full.starts_with(&cut.text), "{max}: {:?}", cut.text);
        assert!(cut.notes.contains(&Note::TextCut { limit: max }), "{max}");
    }
    let exact = convert(PDF, bytes, &Limits::new().with_max_output_bytes(full.len())).unwrap();
    assert!(!exact.truncated);
}

#[test]
fn too_long_a_file_is_refused_before_it_is_read() {
    let bytes = fixture("fpdf2-scripts");
    let limit = bytes.len() - 1;
    let error = convert(PDF, bytes, &Limits::new().with_max_input_bytes(limit)).unwrap_err();
    assert_eq!(error, ConvertError::TooLarge { what: "bytes", limit });
}

#[test]
fn media_types_are_matched_without_case_and_parameters() {
    for known in ["application/pdf", "Application/PDF", " application/pdf ; version=1.7", "application/x-pdf"]
    {
        assert!(can_convert(known), "{known}");
    }
    for unknown in ["", "application/pdfx", "image/png", "pdf"] {
        assert!(!can_convert(unknown), "{unknown}");
        let error = convert(unknown, fixture("fpdf2-scripts"), &Limits::new()).unwrap_err();
        assert_eq!(error, ConvertError::Unsupported { media_type: unknown.to_owned() });
    }
}

#[test]
fn text_that_stands_for_other_text_replaces_it() {
    let content = "BT /F1 12 Tf 72 700 Td (Con) Tj /Span << /ActualText <FEFF0074> >> BDC (x) Tj EMC (rac) Tj \
                   /Span /Props BDC (\\000) Tj EMC ET";
    let pdf =
        Builder::page_with(content, "/Font << /F1 5 0 R >> /Properties << /Props << /ActualText (t) >> >>");
    assert_eq!(text(pdf.finish()), "[page 1]\nContract\n");
}

#[test]
fn forms_are_read_where_they_are_placed() {
    let content = "BT /F1 12 Tf 72 700 Td (Amount) Tj ET q 1 0 0 1 300 700 cm /X1 Do Q";
    let pdf = Builder::page_with(content, "/Font << /F1 5 0 R >> /XObject << /X1 6 0 R >>").stream(
        6,
        "/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F2 5 0 R >> >>",
        b"BT /F2 12 Tf (EUR 95.00) Tj ET",
    );
    assert_eq!(text(pdf.finish()), "[page 1]\nAmount | EUR 95.00\n");
}

#[test]
fn printing_twice_for_bold_reads_once() {
    let content = "BT /F1 12 Tf 72 700 Td (Total) Tj 0.4 0 Td (Total) Tj 0 -40 Td (Total) Tj ET";
    assert_eq!(text(Builder::page(content).finish()), "[page 1]\nTotal\nTotal\n");
}

#[test]
fn a_file_without_its_end_is_recovered_as_far_as_it_goes() {
    let whole = Builder::page("BT /F1 12 Tf 72 700 Td (Total due) Tj ET").finish();
    let end = whole.windows(4).position(|w| w == b"xref").unwrap();
    let converted = read(whole[..end].to_vec()).unwrap();
    assert_eq!(converted.text, "[page 1]\nTotal due\n");
    assert_eq!(converted.notes, [Note::EndsEarly]);
}

#[test]
fn the_order_of_filters_and_their_parameters_are_followed() {
    let content = b"BT /F1 12 Tf 72 700 Td (Filtered) Tj ET";
    let hex: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
    let runs: Vec<u8> =
        content.chunks(100).flat_map(|c| [&[c.len() as u8 - 1], c].concat()).chain([128]).collect();
    let rows: Vec<u8> = content.chunks(13).flat_map(|row| [&[0], row].concat()).collect();
    let cases: [(&str, Vec<u8>); 5] = [
        ("/Filter /FlateDecode", crate::common::deflate(content)),
        ("/Filter /AHx", format!("{hex}>").into_bytes()),
        ("/Filter /RunLengthDecode", runs),
        (
            "/Filter [/ASCIIHexDecode /FlateDecode]",
            crate::common::deflate(content).iter().flat_map(|b| format!("{b:02X} ").into_bytes()).collect(),
        ),
        ("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 13 >>", crate::common::deflate(&rows)),
    ];
    for (entries, data) in cases {
        let pdf = Builder::page("").stream(4, entries, &data).finish();
        assert_eq!(text(pdf), "[page 1]\nFiltered\n", "{entries}");
    }
}
