//! Office files, books, e-mails, pages and tables made to break their reader: each ends in an error or in a text,
//! soon and in little memory.
//!
//! These tests are a process of their own, so that its peak of memory is theirs, and run one after the other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "it/common/mod.rs"]
mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use attache_convert::{ConvertError, Converted, Limits, Note, convert};
use common::{
    DOCX, EPUB, ODP, ODS, ODT, PPTX, XLSX, docx, epub, office, open_document, relations, xlsx, zip,
};

/// How large the inputs are: as large as is taken, where that is not too slow.
const SIZE: usize = if cfg!(debug_assertions) { 1 << 20 } else { 31 << 20 };

/// The bytes that a conversion may take at its peak, its input included.
#[cfg(target_os = "linux")]
const MEMORY: usize = 200 << 20;

/// Held by each test while it runs.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The memory that the process takes at present or has taken at most, in bytes.
#[cfg(target_os = "linux")]
fn memory(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    peak.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Converts under the default limits, and checks what it took.
#[track_caller]
fn survive(name: &str, media: &str, bytes: Vec<u8>) -> Result<Converted, ConvertError> {
    let size = bytes.len();
    // Begins the measurement of the peak anew.
    #[cfg(target_os = "linux")]
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    #[cfg(target_os = "linux")]
    let before = memory("VmRSS") - size.min(memory("VmRSS"));
    let start = Instant::now();
    let result = convert(media, bytes.into(), &Limits::new());
    let took = start.elapsed();
    assert!(took < Limits::new().max_time + Duration::from_secs(5), "{name}: {took:?}");
    #[cfg(target_os = "linux")]
    {
        let peak = memory("VmHWM").saturating_sub(before);
        assert!(peak < MEMORY, "{name}: {} MiB for {size} bytes", peak >> 20);
    }
    assert_ne!(result, Err(ConvertError::Failed), "{name}");
    if let Ok(converted) = &result {
        assert!(converted.text.len() <= Limits::new().max_output_bytes + 1000, "{name}");
    }
    result
}

/// Something that is repeated until it is large.
fn large(start: &str, repeated: &str, end: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SIZE + start.len() + repeated.len() + end.len());
    bytes.extend_from_slice(start.as_bytes());
    while bytes.len() < SIZE {
        bytes.extend_from_slice(repeated.as_bytes());
    }
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

/// A deflated entry that claims and holds a gibibyte of spaces, in an archive with others.
fn bombed(files: &[(&str, &[u8])], bomb: &str) -> Vec<u8> {
    let data = common::bomb(1 << 30);
    // Without the head of zlib.
    let data = &data[2..];
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    let mut count = 0_u16;
    let mut add = |name: &str, method: u16, data: &[u8], len: u32| {
        let offset = u32::try_from(archive.len()).unwrap();
        let mut head = Vec::new();
        for field in [20_u16, 0, method, 0, 0] {
            head.extend(field.to_le_bytes());
        }
        for field in [rawzip::crc32(data), u32::try_from(data.len()).unwrap(), len] {
            head.extend(field.to_le_bytes());
        }
        head.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        head.extend(0_u16.to_le_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(&head);
        archive.extend(name.as_bytes());
        archive.extend(data);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&head);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
        count += 1;
    };
    for (name, content) in files {
        add(name, 0, content, u32::try_from(content.len()).unwrap());
    }
    add(bomb, 8, data, 1 << 30);
    let (at, len) = (archive.len() as u32, directory.len() as u32);
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([len.to_le_bytes(), at.to_le_bytes()].concat());
    archive.extend([0, 0]);
    archive
}

#[test]
fn parts_that_grow_are_left_out() {
    let _alone = alone();
    let (main, own) = (
        relations(&[("r1", "officeDocument", "xl/workbook.xml")]),
        relations(&[("a", "worksheet", "s.xml"), ("b", "sharedStrings", "t.xml")]),
    );
    let book = b"<workbook><sheets><sheet name='One' r:id='a'/></sheets></workbook>";
    let sheet = b"<worksheet><sheetData><row><c t='str'><v>seen</v></c></row></sheetData></worksheet>";
    let parts: [(&str, &[u8]); 4] = [
        ("_rels/.rels", &main),
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", &own),
        ("xl/s.xml", sheet),
    ];
    // Shared texts that nothing needs spoil nothing; a sheet says that it is missing.
    let converted = survive("bomb of shared texts", XLSX, bombed(&parts, "xl/t.xml")).unwrap();
    assert_eq!(converted.text, "[sheet 1: One]\n1: seen\n");
    let result = survive("bomb of a sheet", XLSX, bombed(&parts[..3], "xl/s.xml"));
    assert!(matches!(result, Err(ConvertError::NothingRead { .. })), "{result:?}");

    for (media, files, name) in [
        (DOCX, vec![("word/a.xml", &b""[..]), ("[Content_Types].xml", b"")], "word/document.xml"),
        (ODT, vec![("mimetype", ODT.as_bytes())], "content.xml"),
        (ODS, vec![("mimetype", ODS.as_bytes())], "content.xml"),
        (
            EPUB,
            vec![
                ("META-INF/container.xml", &b"<rootfile full-path='b.opf'/>"[..]),
                ("b.opf", b"<package><item id='a' href='c.html' media-type='text/html'/><itemref idref='a'/></package>"),
            ],
            "c.html",
        ),
    ] {
        let result = survive(name, media, bombed(&files, name));
        assert!(
            matches!(result, Err(ConvertError::NothingRead { .. } | ConvertError::TooLarge { .. })),
            "{media}: {result:?}"
        );
    }
}

#[test]
fn archives_with_endless_or_false_lists_end() {
    let _alone = alone();
    let entries: Vec<String> = (0..60_000).map(|n| format!("{n}")).collect();
    let files: Vec<(&str, &[u8])> = entries.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let converted = survive("many entries", "application/zip", zip(&files)).unwrap();
    assert!(converted.notes.contains(&Note::EntriesLeftOut), "{:?}", converted.notes);

    // Nothing but entries of a directory.
    let mut entry = b"PK\x01\x02".to_vec();
    entry.resize(46, 0);
    let result = survive("a directory alone", "application/zip", {
        let mut bytes = b"PK\x03\x04".to_vec();
        while bytes.len() + entry.len() < SIZE.max(3 << 20) {
            bytes.extend(&entry);
        }
        let len = u32::try_from(bytes.len() - 4).unwrap();
        bytes.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff");
        bytes.extend([len.to_le_bytes(), 4_u32.to_le_bytes()].concat());
        bytes.extend([0, 0]);
        bytes
    });
    assert!(result.is_ok_and(|converted| converted.notes.contains(&Note::EntriesLeftOut)));

    let whole = office("libreoffice.docx");
    for cut in 1..40 {
        let _ = survive("cut", DOCX, whole[..whole.len() * cut / 40].to_vec());
    }
    for (media, bytes) in
        [(DOCX, &b"PK\x03\x04"[..]), (XLSX, b"not at all"), (EPUB, b"PK\x05\x06"), (ODT, &[0; 99])]
    {
        let result = survive("no archive", media, bytes.to_vec());
        assert!(matches!(result, Err(ConvertError::Malformed { .. })), "{result:?}");
    }
    // Archives of the right kind that lack what matters.
    for (media, name) in [(DOCX, "word/x"), (XLSX, "xl/x"), (PPTX, "ppt/x"), (EPUB, "x"), (ODT, "x")] {
        let result = survive("nothing inside", media, zip(&[(name, b"x"), ("[Content_Types].xml", b"")]));
        assert!(matches!(result, Err(ConvertError::Malformed { .. })), "{media}: {result:?}");
    }
}

/// Hostile contents of an XML part, inside elements that a reader follows, one after the other.
fn xml_attacks(open: &str, close: &str, mut each: impl FnMut(&str, Vec<u8>)) {
    let lol: String =
        (0..20).map(|n| format!("<!ENTITY l{} '{}'>", n + 1, format!("&l{n};").repeat(10))).collect();
    let entities = format!(
        "<!DOCTYPE a [<!ENTITY l0 'lol'>{lol}<!ENTITY e SYSTEM 'file:///etc/passwd'>]>{open}&l20;&e;{close}"
    );
    each("deep", [open.as_bytes(), &"<x>".repeat(200_000).into_bytes()].concat());
    each("many elements", large(open, "<x/>", close));
    each("a long text", large(open, "text text ", close));
    each("a long attribute", large(&format!("{open}<x a='"), "a &amp;", &format!("'/>{close}")));
    each("many attributes", large(&format!("{open}<x "), "a='' ", &format!("/>{close}")));
    each("ampersands", large(open, "&", close));
    each("a long comment", large(&format!("{open}<!--"), "-", ""));
    each("ends without begins", large(open, "</x>", ""));
    each("entities", entities.into_bytes());
    each("no XML", vec![0xff; 10_000]);
}

#[test]
fn xml_of_every_format_is_bounded() {
    let _alone = alone();
    let unexpanded = |name: &str, result: &Result<Converted, ConvertError>| {
        if name == "entities" {
            assert_eq!(result.as_ref().unwrap().text, "&l20;&e;\n");
        }
    };
    let document = ("<w:document><w:body><w:p><w:r><w:t>", "</w:t></w:r></w:p></w:body></w:document>");
    xml_attacks(document.0, document.1, |name, attack| {
        let main = relations(&[("r1", "officeDocument", "word/document.xml")]);
        let file = zip(&[("_rels/.rels", &main), ("word/document.xml", &attack)]);
        drop(attack);
        unexpanded(name, &survive(&format!("docx: {name}"), DOCX, file));
    });
    let cell = "<table:table><table:table-row><table:table-cell><text:p>";
    for (format, media, open) in [
        ("odt", ODT, "<office:body><office:text><text:p>"),
        ("ods", ODS, cell),
        ("odp", ODP, "<draw:page><draw:frame><draw:text-box><text:p>"),
    ] {
        xml_attacks(open, "</text:p>", |name, attack| {
            let file = open_document(media, &attack);
            drop(attack);
            let result = survive(&format!("{format}: {name}"), media, file);
            if media == ODT {
                unexpanded(name, &result);
            }
        });
    }
    xml_attacks(
        "<worksheet><sheetData><row><c t='inlineStr'><is><t>",
        "</t></is></c></row>",
        |name, attack| {
            let file = xlsx(&attack, b"<sst/>", "<styleSheet/>");
            drop(attack);
            let _ = survive(&format!("xlsx: {name}"), XLSX, file);
        },
    );
    xml_attacks("<html><body><p>", "</p></body></html>", |name, attack| {
        let _ = survive(&format!("epub: {name}"), EPUB, epub(&[&attack]));
        let _ = survive(&format!("html: {name}"), "text/html", attack);
    });
}

#[test]
fn sheets_of_absurd_size_are_bounded() {
    let _alone = alone();
    let sheet = |rows: &str| {
        format!("<worksheet><dimension ref='A1:XFD1048576'/><sheetData>{rows}</sheetData></worksheet>")
    };
    let read = |rows: &str| survive("sheet", XLSX, xlsx(sheet(rows).as_bytes(), b"<sst/>", ""));
    let corners =
        read("<row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576'><v>2</v></c></row>");
    assert_eq!(corners.unwrap().text, "[sheet 1: One]\n1: 1\n1048576: [column XFD] 2\n");
    let nowhere = read(
        "<row r='99999999999999999999'><c r='ZZZZZZ9'><v>1</v></c><c r='A1' s='99999999999'><v>2</v></c></row>",
    );
    assert!(nowhere.is_ok());
    // Shared texts that are not there.
    let converted = read("<row><c t='s'><v>4294967295</v></c><c t='s'><v>-1</v></c></row>").unwrap();
    assert_eq!(converted.text, "[sheet 1: One]\n1: \u{fffd} | \u{fffd}\n");

    let made = |name: &str, sheet: Vec<u8>, strings: Vec<u8>| {
        let file = xlsx(&sheet, &strings, "");
        drop((sheet, strings));
        let _ = survive(name, XLSX, file);
    };
    let none = || b"<sst/>".to_vec();
    made(
        "one row of cells",
        large("<worksheet><sheetData><row>", "<c><v>1</v></c>", "</row></sheetData></worksheet>"),
        none(),
    );
    made(
        "rows",
        large("<worksheet><sheetData>", "<row><c><v>1</v></c></row>", "</sheetData></worksheet>"),
        none(),
    );
    made("empty rows", large("<worksheet><sheetData>", "<row/>", "</sheetData></worksheet>"), none());
    made("shared texts", b"<worksheet/>".to_vec(), large("<sst>", "<si><t>a</t></si>", "</sst>"));
    made("empty texts", b"<worksheet/>".to_vec(), large("<sst>", "<si/>", "</sst>"));
    let styles =
        String::from_utf8(large("<styleSheet><cellXfs>", "<xf numFmtId='14'/>", "</cellXfs></styleSheet>"))
            .unwrap();
    let _ = survive("styles", XLSX, xlsx(b"<worksheet/>", b"<sst/>", &styles));

    let content = |rows: &str| {
        let content = format!("<table:table table:name='One'>{rows}</table:table>");
        survive("ods", ODS, open_document(ODS, content.as_bytes()))
    };
    let cell = |attributes: &str| {
        format!(
            "<table:table-cell {attributes} office:value-type='string'><text:p>x</text:p></table:table-cell>"
        )
    };
    let wide = cell("table:number-columns-repeated='16384'");
    let row = |cells: &str| {
        format!("<table:table-row table:number-rows-repeated='1048576'>{cells}</table:table-row>")
    };
    let text = content(&row(&wide)).unwrap().text;
    assert_eq!(text, "[sheet 1: One]\n1: x [the same up to column XFD]\n[the same up to row 1048576]\n");
    let _ = content(&row(&cell("table:number-columns-repeated='50'").repeat(2_000)).repeat(20));
    let _ = content(
        &format!("<table:table-row table:number-rows-repeated='50'>{}</table:table-row>", cell(""))
            .repeat(50_000),
    );
}

#[test]
fn slides_lists_and_references_are_bounded() {
    let _alone = alone();
    let main = relations(&[("r1", "officeDocument", "ppt/presentation.xml")]);
    // The same slide again and again, which refers to itself as its notes.
    let own = relations(&[("a", "slide", "slide.xml")]);
    let notes = relations(&[("n", "notesSlide", "slide.xml"), ("m", "diagramData", "slide.xml")]);
    let file = zip(&[
        ("_rels/.rels", &main),
        ("ppt/presentation.xml", &large("<presentation>", "<sldId r:id='a'/>", "</presentation>")),
        ("ppt/_rels/presentation.xml.rels", &own),
        ("ppt/slide.xml", b"<sld><sp><txBody><a:p><a:t>again</a:t></a:p></txBody></sp></sld>"),
        ("ppt/_rels/slide.xml.rels", &notes),
    ]);
    let converted = survive("one slide for all", PPTX, file).unwrap();
    assert!(converted.truncated && converted.units == 20_000, "{}", converted.units);

    let tables = format!("{}<w:p><w:r><w:t>x</w:t></w:r></w:p>", "<w:tbl><w:tr><w:tc>".repeat(160));
    assert!(survive("tables in tables", DOCX, docx(&tables, &[])).is_ok());
    let boxes = format!("{}<w:t>x</w:t>", "<w:p><w:r><w:txbxContent>".repeat(150));
    let _ = survive("boxes in boxes", DOCX, docx(&boxes, &[]));
    let styles: String = (0..5_000)
        .map(|n| format!("<w:style w:styleId='s{n}'><w:basedOn w:val='s{}'/></w:style>", (n + 1) % 5_000))
        .collect();
    let body = "<w:p><w:pPr><w:pStyle w:val='s0'/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>".repeat(5_000);
    assert!(survive("styles in a circle", DOCX, docx(&body, &[("styles", "styles.xml", &styles)])).is_ok());
    let numbering = "<w:abstractNum w:abstractNumId='0'><w:lvl><w:start w:val='4294967295'/><w:numFmt w:val='upperRoman'/>\
                     <w:lvlText w:val='%1%1%1%1%1%1%1%1%1%1%1%1%1%1%1%1%1%9%0%'/></w:lvl></w:abstractNum>\
                     <w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>";
    let body = "<w:p><w:pPr><w:numPr><w:ilvl w:val='99'/><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>\
                <w:p><w:pPr><w:numPr><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>"
        .repeat(50);
    assert!(survive("numbers", DOCX, docx(&body, &[("numbering", "numbering.xml", numbering)])).is_ok());
    let notes = format!(
        "<w:comments>{}</w:comments>",
        (0..3_000)
            .map(|n| format!(
                "<w:comment w:id='{n}'><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:comment>",
                "x".repeat(2_000)
            ))
            .collect::<String>()
    );
    let _ = survive(
        "comments",
        DOCX,
        docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>", &[("comments", "c.xml", &notes)]),
    );
}

#[test]
fn pages_without_end_are_bounded() {
    let _alone = alone();
    for (name, start, repeated) in [
        ("divs", "", "<div>"),
        ("tables", "", "<table><tr><td>x"),
        ("cells", "<table>", "<td colspan=1000 rowspan=1000>x"),
        ("rows", "<table>", "<tr><td>x"),
        ("lists", "", "<ul><li>x"),
        ("tags that do not end", "", "<a "),
        ("attributes", "<p ", "a=b "),
        ("entities", "", "&lt;&notin;&#x41;&nosuch;"),
        ("hidden", "<div hidden>", "<div>x"),
        ("a script that does not end", "<script>", "x < y "),
        ("titles", "", "<title>x</title>"),
        ("pictures", "", "<img alt=x>"),
        ("blank", "<p>x", " \n"),
        ("breaks", "x", "<br>"),
        ("quotes", "", "<q>"),
        ("doctypes", "", "<!doctype x [<!entity a 'b'>]>"),
    ] {
        let _ = survive(&format!("html: {name}"), "text/html", large(start, repeated, "</p>"));
    }
}

#[test]
fn rich_text_without_end_is_bounded() {
    let _alone = alone();
    for (name, repeated) in [
        ("groups", "{"),
        ("groups with words", "{\\b "),
        ("fonts", "{\\fonttbl{\\f1\\fcharset128 x;}}"),
        ("rows", "\\trowd\\cellx1\\cellx2 a\\cell b\\cell\\row "),
        ("cells", "\\cellx99999999999 a\\cell "),
        ("notes in notes", "{\\footnote x"),
        ("characters", "\\u55357?\\'e9"),
        ("words", "\\nosuchword123 "),
        ("binaries", "\\bin99999999999 "),
        ("ends", "}"),
        ("paragraphs", "\\par x"),
    ] {
        let _ = survive(&format!("rtf: {name}"), "application/rtf", large("{\\rtf1 text ", repeated, ""));
    }
}

#[test]
fn e_mails_without_end_are_bounded() {
    let _alone = alone();
    let mixed = "From: a@b.c\nContent-Type: multipart/mixed; boundary=x\n\n";
    for (name, start, repeated) in [
        ("headers", "From: a@b.c\n", "a:\n"),
        ("one header", "From: a@b.c\nSubject: ", " =?utf-8?q?=41?=\n"),
        ("recipients", "From: a@b.c\nTo: ", "a <a@b.c>, "),
        ("parts", mixed, "--x\n"),
        ("attachments", mixed, "--x\nContent-Type: a/b\n\nx\n"),
        ("texts", mixed, "--x\n\nx\n"),
        ("lines that are nearly boundaries", mixed, "--xy\n"),
        ("multiparts in multiparts", "From: a@b.c\n", "Content-Type: multipart/mixed; boundary=x\n\n--x\n"),
        ("messages in messages", "", "From: a@b.c\nContent-Type: message/rfc822\n\n"),
        ("base64", "From: a@b.c\nContent-Transfer-Encoding: base64\n\n", "QUJD\n"),
        ("quoted-printable", "From: a@b.c\nContent-Transfer-Encoding: quoted-printable\n\n", "=\n="),
        ("parameters", "From: a@b.c\nContent-Type: text/plain; ", "a*0*=utf-8''%41; "),
    ] {
        let result = survive(&format!("e-mail: {name}"), "message/rfc822", large(start, repeated, ""));
        if let ("parts" | "attachments" | "texts", Ok(converted)) = (name, &result) {
            assert!(converted.notes.contains(&Note::EntriesLeftOut), "{name}: {:?}", converted.notes);
            assert!(converted.attachments.len() <= 200);
        }
    }
}

#[test]
fn tables_json_and_text_without_end_are_bounded() {
    let _alone = alone();
    for (name, start, repeated) in [
        ("separators", "a", ","),
        ("rows", "", "a,b\n"),
        ("empty rows", "a\n", "\n"),
        ("an open quote", "a,\"", "b,\n"),
        ("quotes", "", "\""),
        ("a quote inside", "x\"", ","),
    ] {
        let _ = survive(&format!("csv: {name}"), "text/csv", large(start, repeated, "\n"));
    }
    for (name, start, repeated, end) in [
        ("deep", "", "[", ""),
        ("items", "[0", ",0", "]"),
        ("lists", "[0", ",[]", "]"),
        ("keys", "{\"a\":0", ",\"a\":0", "}"),
        ("a text", "\"", "\\u00e9", "\""),
        ("escapes", "\"", "\\\\", "\""),
        ("a number", "1", "0", ""),
        ("blank", "[", " ", "]"),
        ("objects", "[0", ",{\"a\":[{\"b\":1}]}", "]"),
    ] {
        let _ = survive(&format!("json: {name}"), "application/json", large(start, repeated, end));
    }
    let _ = survive("json lines", "application/x-ndjson", large("", "{}\n", ""));
    let _ = survive("a line", "text/plain", large("", "x", ""));
    let _ = survive("lines", "text/plain", large("", "\r\n", "x"));
    let latin: Vec<u8> = b"gr\xf6\xdfer ".repeat(SIZE / 7);
    assert!(survive("latin", "text/plain", latin).is_ok());
    let wide: Vec<u8> = "中 a".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>().repeat(SIZE / 6);
    let _ = survive("wide", "text/html", [&b"\xff\xfe"[..], &wide].concat());
}

#[test]
fn time_is_kept_by_every_format() {
    let _alone = alone();
    let limit = Duration::from_nanos(1);
    let rows = large("<worksheet><sheetData>", "<row><c><v>1</v></c></row>", "</sheetData></worksheet>");
    for (media, bytes) in [
        (DOCX, docx(&"<w:p/>".repeat(1_000), &[])),
        (XLSX, xlsx(&rows, b"<sst/>", "")),
        (PPTX, office("libreoffice.pptx").to_vec()),
        (ODT, office("libreoffice.odt").to_vec()),
        (ODS, office("libreoffice.ods").to_vec()),
        (EPUB, office("ebooklib.epub").to_vec()),
        ("text/html", b"<p>x".repeat(10_000)),
        ("application/rtf", [&b"{\\rtf1 "[..], &b"x\\par ".repeat(10_000)].concat()),
        ("message/rfc822", office("python.eml").to_vec()),
        ("text/csv", b"a,b\n".repeat(10_000)),
        ("application/json", b"[1,2]".to_vec()),
        ("text/plain", b"text".to_vec()),
        ("application/zip", zip(&[("a", b"")])),
    ] {
        let result = convert(media, bytes.into(), &Limits::new().with_max_time(limit));
        assert_eq!(result, Err(ConvertError::TimedOut { limit }), "{media}");
    }
}
