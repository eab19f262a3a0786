//! Documents of every format with random damage, archives inside and out: each conversion returns, and always the
//! same.

use std::time::Duration;

use crate::common::{DOCX, EPUB, ODP, ODS, ODT, PPTX, XLSX, office, unzip, zip};
use attache_convert::{ConvertError, Converted, Limits, Unit, convert};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Archives: a file, its type, and the parts that matter.
const ARCHIVES: [(&str, &str, &[&str]); 12] = [
    (
        "libreoffice.docx",
        DOCX,
        &["word/document.xml", "word/numbering.xml", "word/styles.xml", "word/_rels/document.xml.rels"],
    ),
    ("python-docx.docx", DOCX, &["word/document.xml", "word/comments.xml", "_rels/.rels"]),
    (
        "libreoffice.xlsx",
        XLSX,
        &["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/styles.xml"],
    ),
    (
        "xlsxwriter.xlsx",
        XLSX,
        &["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/_rels/workbook.xml.rels"],
    ),
    ("shown/margins.xlsx", XLSX, &["xl/worksheets/sheet1.xml", "xl/styles.xml"]),
    ("shown/button.xlsx", XLSX, &["xl/drawings/vmlDrawing1.vml"]),
    ("shown/margins.ods", ODS, &["styles.xml"]),
    ("libreoffice.pptx", PPTX, &["ppt/presentation.xml", "ppt/slides/slide1.xml", "ppt/slides/slide2.xml"]),
    ("libreoffice.odt", ODT, &["content.xml", "styles.xml"]),
    ("libreoffice.ods", ODS, &["content.xml"]),
    ("libreoffice.odp", ODP, &["content.xml"]),
    (
        "ebooklib.epub",
        EPUB,
        &[
            "EPUB/content.opf",
            "EPUB/one.xhtml",
            "EPUB/deep/two.xhtml",
            "EPUB/nav.xhtml",
            "META-INF/container.xml",
        ],
    ),
];

/// Documents that are no archives.
const FILES: [(&str, &str); 4] = [
    ("libreoffice.rtf", "application/rtf"),
    ("libreoffice.html", "text/html"),
    ("python.eml", "message/rfc822"),
    ("office.fodt", "text/html"),
];

/// Text in no file, for the formats that need none.
const TEXTS: [(&str, &str); 4] = [
    ("text/csv", "name;amount\n\"Desk; oak\";\"4,50\"\nChair;2\nTable;3\n"),
    ("application/json", "{\"a\": [1, 2.50, {\"b\": \"gr\\u00f6\\u00dfe\"}], \"c\": null, \"d\": [[], {}]}"),
    ("application/x-ndjson", "{\"a\": 1}\n{\"b\": [2]}\n"),
    ("text/plain", "Straße, größer; Zażółć gęślą jaźń; 請求書の合計金額\n"),
];

/// Things that mean something to a reader of one of the formats.
const TOKENS: [&str; 24] = [
    "<w:p>",
    "</w:p>",
    "<w:tbl><w:tr><w:tc>",
    "</w:tbl>",
    "<w:txbxContent>",
    "<text:p>",
    "</text:note>",
    "<table:table-cell table:number-columns-repeated='99999999'>",
    "r=\"XFD1048576\"",
    "t=\"s\"",
    "<v>-1</v>",
    "&x;",
    "&#0;",
    "<![CDATA[",
    "<!--",
    "99999999999999999999",
    "\\'",
    "\\u-1?",
    "{\\*\\footnote",
    "\\cell\\row",
    "\r\n\r\n--",
    "Content-Type: multipart/mixed; boundary=\"",
    "\0",
    "\u{fffd}",
];

#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Insert(Index, usize),
    Remove(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        6 => (at(), any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        6 => (at(), 0..TOKENS.len()).prop_map(|(at, token)| Damage::Insert(at, token)),
        3 => (at(), 1..200_usize).prop_map(|(at, len)| Damage::Remove(at, len)),
        3 => (at(), 1..200_usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
        1 => at().prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    let span = |at: usize, wanted: usize| at..len.min(at + wanted);
    match damage {
        Damage::Flip(at, bits) => bytes[at.index(len)] ^= bits,
        Damage::Insert(at, token) => {
            bytes.splice(span(at.index(len), 0), TOKENS[*token].bytes());
        }
        Damage::Remove(at, wanted) => {
            bytes.drain(span(at.index(len), *wanted));
        }
        Damage::Repeat(at, wanted) => {
            let again = bytes[span(at.index(len), *wanted)].to_vec();
            bytes.splice(span(at.index(len), 0), again);
        }
        Damage::Cut(at) => bytes.truncate(at.index(len)),
    }
}

/// Converts twice, and checks what holds for every text.
fn check(media: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits::new().with_max_time(Duration::from_secs(30)).with_max_decoded_bytes(4 << 20);
    let read = || convert(media, bytes.to_vec().into(), &limits);
    let first: Result<Converted, ConvertError> = read();
    let bad = matches!(first, Err(ConvertError::TimedOut { .. } | ConvertError::Busy | ConvertError::Failed));
    prop_assert!(!bad, "{first:?}");
    prop_assert_eq!(&read(), &first);
    if let Ok(converted) = first {
        prop_assert!(converted.starts.is_sorted() && converted.starts.len() <= converted.units);
        prop_assert!(converted.starts.is_empty() == (converted.unit == Unit::Whole));
        for start in &converted.starts {
            prop_assert!(converted.text.get(*start..).is_some_and(|text| text.starts_with('[')));
        }
        prop_assert!(!converted.text.contains('\0'));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_parts_end_in_a_text_or_an_error(
        archive in 0..ARCHIVES.len(),
        part in any::<Index>(),
        damages in vec(damage(), 1..12),
    ) {
        let (name, media, parts) = ARCHIVES[archive];
        let wanted = parts[part.index(parts.len())];
        let mut files = unzip(&office(name));
        let (_, content) = files.iter_mut().find(|(name, _)| name == wanted).expect(wanted);
        for damage in &damages {
            apply(content, damage);
        }
        let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
        check(media, &zip(&files))?;
    }

    #[test]
    fn damaged_archives_end_in_a_text_or_an_error(
        archive in 0..ARCHIVES.len(),
        declared in any::<bool>(),
        damages in vec(damage(), 1..6),
    ) {
        let (name, media, _) = ARCHIVES[archive];
        let mut bytes = office(name).to_vec();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        check(if declared { media } else { "application/octet-stream" }, &bytes)?;
    }

    #[test]
    fn damaged_files_end_in_a_text_or_an_error(file in 0..FILES.len(), damages in vec(damage(), 1..12)) {
        let (name, media) = FILES[file];
        let mut bytes = office(name).to_vec();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        check(media, &bytes)?;
    }

    #[test]
    fn damaged_texts_end_in_a_text_or_an_error(text in 0..TEXTS.len(), damages in vec(damage(), 1..12)) {
        let (media, text) = TEXTS[text];
        let mut bytes = text.repeat(20).into_bytes();
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        check(media, &bytes)?;
    }

    #[test]
    fn noise_ends_in_a_text_or_an_error(noise in vec(any::<u8>(), 1..2000)) {
        for (_, media, _) in ARCHIVES {
            prop_assert!(convert(media, noise.clone().into(), &Limits::new()).is_err());
        }
        for media in ["application/rtf", "text/html", "message/rfc822", "text/csv", "application/json", "text/plain"] {
            check(media, &noise)?;
        }
        check("application/rtf", &[b"{\\rtf1 ".as_slice(), &noise].concat())?;
        check("message/rfc822", &[b"From: a@b.c\n".as_slice(), &noise].concat())?;
    }
}
