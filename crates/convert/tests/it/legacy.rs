//! Documents of Office before 2007 and of Outlook, and what office files show besides their text.

use std::io::Write;

use attache_convert::{ConvertError, Converted, Limits, Note, Unit, convert};
use bytes::Bytes;

use crate::common::office;

fn read(media_type: &str, bytes: impl Into<Bytes>) -> Result<Converted, ConvertError> {
    convert(media_type, bytes.into(), &Limits::new())
}

#[test]
fn an_old_workbook_is_read_sheet_by_sheet() {
    let converted = read("application/vnd.ms-excel", office("legacy.xls")).unwrap();
    let text = &converted.text;
    assert_eq!((converted.unit, converted.units), (Unit::Sheet, 2));
    for line in [
        "[sheet 1: Costs]",
        "1: Item | Due | Amount",
        "2: Rent | 2026-04-17 | 4950",
        "3: Heizung ä | 2026-04-18 | 310.25",
        "4: Wasser 水 | 2026-04-19 | -12.5",
        "6:  |  | TRUE",
        "7:  |  | 5247.75",
        "[sheet 2: Texts]",
        "1: Row 0 кратко",
        "400: Row 399 кратко",
    ] {
        assert!(text.lines().any(|other| other == line), "{line:?} is missing in:\n{}", &text[..800]);
    }
    // Texts that go on from record to record are whole.
    for row in 0..400_usize {
        let rest = if row % 3 == 0 { "кратко".to_owned() } else { "long text ".repeat(12) };
        let line = format!("{}: Row {row} {rest}", row + 1);
        assert!(text.lines().any(|other| other == line.trim_end()), "{line:?}");
    }
    assert_eq!(converted.notes, []);
}

#[test]
fn a_chart_within_an_old_sheet_is_told() {
    let stream = |at: usize| {
        let listed = [&u32::try_from(at).unwrap().to_le_bytes()[..], &[0, 0, 3, 0], b"One"].concat();
        let globals = [record(0x0809, &[0, 6, 5, 0]), record(0x0085, &listed), record(0x000a, &[])].concat();
        let chart = [record(0x0809, &[0, 6, 0x20, 0]), record(0x000a, &[])].concat();
        let number = record(0x0203, &[&[0; 6][..], &1_f64.to_le_bytes()].concat());
        (
            globals.len(),
            [globals, record(0x0809, &[0, 6, 0x10, 0]), number, chart, record(0x000a, &[])].concat(),
        )
    };
    let converted =
        read("application/vnd.ms-excel", message(&[("/Workbook", &stream(stream(0).0).1)])).unwrap();
    assert_eq!(converted.text, "[sheet 1: One]\n1: 1\n");
    assert_eq!(converted.notes, [Note::NotShown { what: "chart", count: 1 }]);

    fn record(id: u16, data: &[u8]) -> Vec<u8> {
        [&id.to_le_bytes()[..], &u16::try_from(data.len()).unwrap().to_le_bytes(), data].concat()
    }
}

#[test]
fn an_old_letter_is_read_with_its_table() {
    let converted = read("application/msword", office("legacy.doc")).unwrap();
    assert_eq!(
        converted.text,
        "Offer 77/2026\nValid until 3 June 2026. Прайс-лист.\n\nDesk | 12 | 4,668.00\nLamp |  | 478.80\n\
         Removal | 1\n\nBehind the table\n"
    );
}

// [MS-DOC] 2.9.131, 2.9.147, 2.9.149 and 2.9.150: kinds of lists with their levels, and lists.
#[test]
fn clauses_and_lists_of_old_letters_are_numbered_and_headings_have_marks() {
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let in_list = |list: u8, level: u8| vec![0x0b, 0x46, list, 0, 0x0a, 0x26, level];
    let (row, heading) = ([0x16, 0x24, 1, 0x17, 0x24, 1], [0x40, 0x26, 0]);
    let paragraphs = [
        ("Term\r", in_list(1, 0)),
        ("Two years\r", in_list(1, 1)),
        ("Renewed \x0cby word\r", in_list(1, 1)),
        ("\x0cScope\r", [&in_list(1, 0)[..], &heading].concat()),
        ("Water\r", in_list(2, 0)),
        ("Desk\x07", [&in_list(1, 1)[..], &row[..3]].concat()),
        ("\x07", row.to_vec()),
        ("Annex\r", in_list(3, 0)),
        ("Out\r", in_list(0, 0)),
    ];
    let (mut page, mut at, mut end) = (vec![0; 512], 1024, 510);
    for (index, (text, properties)) in paragraphs.iter().enumerate() {
        page[4 * index..4 * index + 4].copy_from_slice(&number(at));
        at += text.len();
        // In words, behind the number of words or, if that is zero, another one.
        let words = properties.len().div_ceil(2) + 1;
        end -= 2 * words + 2;
        page[end + 1] = u8::try_from(words).unwrap();
        page[end + 4..end + 4 + properties.len()].copy_from_slice(properties);
        page[4 * (paragraphs.len() + 1) + 13 * index] = u8::try_from(end / 2).unwrap();
    }
    page[4 * paragraphs.len()..4 * paragraphs.len() + 4].copy_from_slice(&number(at));
    page[511] = u8::try_from(paragraphs.len()).unwrap();
    let text = paragraphs.map(|(text, _)| text).concat();

    let kind = |id: u8, is_simple: u8| [&[id][..], &[0; 25], &[is_simple, 0]].concat();
    let level = |format: u8, text: &str| {
        // Its properties of characters stand before its text.
        let head = [&[1, 0, 0, 0, format][..], &[0; 19], &[3, 0, 0, 0], &[9; 3]].concat();
        [head, u16::try_from(text.len()).unwrap().to_le_bytes().to_vec(), wide(text)].concat()
    };
    let levels =
        [level(0, "\0."), level(0, "\0.\u{1}"), level(4, "\u{2})").repeat(7), level(23, "\u{b7}")].concat();
    let list = |id: u8, levels: u8| [&[id][..], &[0; 11], &[levels, 0, 0, 0]].concat();
    let starts_at_5 = [&[0xff; 4][..], &[5, 0, 0, 0], &[0x10, 0, 0, 0]].concat();
    let lists = [number(3).to_vec(), list(7, 0), list(9, 0), list(7, 1), vec![0xff; 8], starts_at_5].concat();
    let bytes = old_letter_with(
        [&[], &[(&text, &[])]],
        [0; 6],
        &[
            (13, [number(1024), number(at), number(5)].concat()),
            (73, [vec![2, 0], kind(7, 0), kind(9, 1)].concat()),
            // It is no part of what stands before it.
            (63, levels),
            (74, lists),
        ],
        &page,
    );
    assert_eq!(
        read("application/msword", bytes).unwrap().text,
        "1. Term\n  1.1 Two years\n  1.2 Renewed\nby word\n\n# 2. Scope\n- Water\n2.1 Desk\n5. Annex\nOut\n"
    );
}

/// A record of a drawing or presentation ([MS-ODRAW] 2.2.1).
fn record(head: u16, id: u16, data: &[u8]) -> Vec<u8> {
    let len = u32::try_from(data.len()).unwrap();
    [&head.to_le_bytes(), &id.to_le_bytes(), &len.to_le_bytes()[..], data].concat()
}

/// A drawing with shapes that draw these words ([MS-ODRAW] 2.3.22.1).
fn drawing(words: &[&str]) -> Vec<u8> {
    let shape = |words: &str| {
        let words = [wide(words), vec![0, 0]].concat();
        let len = u8::try_from(words.len()).unwrap();
        let properties =
            [[0x7f, 0, 1, 0, 0, 0], [0x45, 0x80, 3, 0, 0, 0], [0xc0, 0x80, len, 0, 0, 0]].concat();
        record(15, 0xf004, &record(0x33, 0xf00b, &[properties, vec![1, 2, 3], words].concat()))
    };
    record(15, 0xf002, &words.iter().flat_map(|words| shape(words)).collect::<Vec<u8>>())
}

#[test]
fn words_that_shapes_draw_are_read_from_old_letters_and_presentations() {
    // A byte before a drawing tells those of margins.
    let drawings =
        [record(15, 0xf000, &[7; 20]), vec![0], drawing(&["Sale"]), vec![1], drawing(&["DRAFT", "DRAFT"])];
    let bytes = old_letter_with([&[("Text\r", &[])], &[]], [0; 6], &[(50, drawings.concat())], &[]);
    assert_eq!(read("application/msword", bytes).unwrap().text, "Text\nSale\n[header: DRAFT]\n");

    let slide = record(15, 1006, &record(15, 1036, &drawing(&["Grand opening"])));
    let place = record(0, 1011, &[[1, 0, 0, 0], [0; 4], [0; 4], [0, 1, 0, 0], [0; 4]].concat());
    let document = record(15, 1000, &record(15, 4080, &place));
    let at = u32::try_from(document.len()).unwrap().to_le_bytes();
    let list = record(0, 6002, &[[1, 0, 0x10, 0], at].concat());
    let bytes = message(&[("/PowerPoint Document", &[document, slide, list].concat())]);
    let converted = read("application/vnd.ms-powerpoint", bytes).unwrap();
    assert_eq!(converted.text, "[slide 1]\nGrand opening\n");
}

/// A letter of two pieces, the first of two bytes a character, from runs of text with the properties of their characters,
/// as [MS-DOC] 2.8.5 and 2.9.33 have them.
fn old_letter(pieces: [&[(&str, &[u8])]; 2]) -> Vec<u8> {
    old_letter_with(pieces, [0; 6], &[], &[])
}

/// The same with the lengths of its stories, parts of its tables by their numbers in its head, and page 5, which has the
/// properties of paragraphs.
fn old_letter_with(
    pieces: [&[(&str, &[u8])]; 2],
    stories: [usize; 6],
    parts: &[(usize, Vec<u8>)],
    paragraphs: &[u8],
) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let mut head = vec![0; 1024];
    head[0..4].copy_from_slice(&[0xec, 0xa5, 0xc1, 0x00]);
    head[11] = 0x02;
    let (mut page, mut at, mut run, mut end) = (vec![0; 512], 1024, 0, 510);
    let runs = pieces.concat().len();
    let (mut characters, mut places) = (vec![0], Vec::new());
    for (piece, is_narrow) in pieces.iter().zip([false, true]) {
        places.push(if is_narrow { number((2 * at) | 0x4000_0000) } else { number(at) });
        let first = characters.last().copied().unwrap();
        let mut length = 0;
        for (text, properties) in *piece {
            page[4 * run..4 * run + 4].copy_from_slice(&number(at));
            if !properties.is_empty() {
                end -= (properties.len() + 2) / 2 * 2;
                page[end] = u8::try_from(properties.len()).unwrap();
                page[end + 1..=end + properties.len()].copy_from_slice(properties);
                page[4 * (runs + 1) + run] = u8::try_from(end / 2).unwrap();
            }
            let bytes = if is_narrow { text.as_bytes().to_vec() } else { wide(text) };
            (at, run, length) = (at + bytes.len(), run + 1, length + text.chars().count());
            head.extend(bytes);
        }
        characters.push(first + length);
    }
    page[4 * runs..4 * runs + 4].copy_from_slice(&number(at));
    page[511] = u8::try_from(runs).unwrap();
    head.resize(2048, 0);
    head.extend(page);
    head.extend(paragraphs);
    let list: Vec<u8> = characters.iter().flat_map(|place| number(*place)).collect();
    let list = [list, places.iter().flat_map(|at| [&[0, 0], &at[..], &[0, 0]].concat()).collect()].concat();
    let tables = [vec![2], number(list.len()).to_vec(), list].concat();
    let pages = [number(1024), number(at), number(4)].concat();
    let font = |name: &str| {
        let font = [&[0; 39], &wide(name)[..], &[0, 0]].concat();
        [&[u8::try_from(font.len()).unwrap()], &font[..]].concat()
    };
    let fonts = [vec![2, 0, 0, 0], font("Wingdings"), font("Symbol")].concat();
    head[0x4c..0x64].copy_from_slice(&stories.map(number).concat());
    let mut table = Vec::new();
    for (entry, part) in [(33, tables), (12, pages), (15, fonts)].iter().chain(parts) {
        let at = 0x9a + 8 * entry;
        head[at..at + 8].copy_from_slice(&[number(table.len()), number(part.len())].concat());
        table.extend(part);
    }
    message(&[("/WordDocument", &head), ("/1Table", &table)])
}

#[test]
fn notes_and_comments_of_old_letters_stand_where_the_text_refers_to_them() {
    let numbers =
        |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let author = |name: &str| [&[u8::try_from(name.len()).unwrap(), 0], &wide(name)[..]].concat();
    // Two footnotes, the second of which is referred to by deleted text; a comment, an endnote and a text box.
    let main = "Rent\u{2} is due\u{5} monthly* and\u{2} paid.\r";
    let (notes, margins) = ("\u{2} From July.\r\u{2} No.\r\r", "Draft\rPage 1\rPage 1\r\r");
    let (comments, ends) = ("\u{5}Was the third.\r\r", " See \u{13}REF\u{14}annex\u{15}.\r\r");
    let before = main.find(" and").unwrap();
    let text = [&main[before + 5..], notes, margins, comments, ends, "In a box\r\r"].concat();
    let bytes = old_letter_with(
        [&[(&main[..before + 4], &[]), ("\u{2}", &[0x00, 0x08, 1])], &[(&text, &[])]],
        [main.len(), notes.len(), margins.len(), 0, comments.len(), ends.len()],
        &[
            (2, [numbers(&[4, 26, 99]), vec![0; 4]].concat()),
            (3, numbers(&[0, 13, 18, 19])),
            (4, [numbers(&[12, 99]), vec![0; 20], vec![1, 0], vec![0; 8]].concat()),
            (5, numbers(&[0, 16, 17])),
            (11, numbers(&[0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 13, 13, 20, 21])),
            (36, [author("Ben"), author("Ann Example")].concat()),
            (46, [numbers(&[21, 99]), vec![0; 2]].concat()),
            (47, numbers(&[0, 18, 19])),
        ],
        &[],
    );
    let converted = read("application/msword", bytes).unwrap();
    assert_eq!(
        converted.text,
        "Rent [footnote: From July.] is due [comment by Ann Example: Was the third.] monthly* [endnote: See annex.] and \
         paid.\nIn a box\n[header: Draft]\n[footer: Page 1]\n"
    );
}

#[test]
fn what_an_old_letter_says_no_more_is_left_out() {
    let (deleted, hidden, shown) = ([0x00, 0x08, 1], [0x3c, 0x08, 1], [0x00, 0x08, 0, 0x3c, 0x08, 0x80]);
    let bytes = old_letter([
        &[
            ("Pay within ", &[]),
            ("60\t", &deleted),
            ("30", &[0x01, 0x08, 1]),
            (" days", &shown),
            (" or so", &[&[0x35, 0x08, 1], &hidden[..]].concat()),
            (".", &[]),
            ("\r", &deleted),
            (" größe\r", &[]),
            ("hidden\r", &hidden),
        ],
        &[("Old", &deleted), ("New\r", &[])],
    ]);
    let converted = read("application/msword", bytes).unwrap();
    assert_eq!(converted.text, "Pay within 30 days. größe\nNew\n");
}

// [MS-DOC] 2.9.44: a character that stands for the sign of a font is a parenthesis in the text.
#[test]
fn signs_of_old_letters_are_those_of_their_fonts() {
    let sign = |font: u8, code: u8| [0x55, 0x08, 1, 0x09, 0x6a, font, 0, code, 0xf0];
    let bytes = old_letter([
        &[("Paid ", &[]), ("(", &sign(0, 0xfe)), (" 5 ", &[]), ("((", &sign(1, 0x6d)), ("m (\r", &[])],
        &[("Odd ", &[]), ("(", &sign(0, 0x81)), ("(\r", &[0x00, 0x08, 1])],
    ]);
    let converted = read("application/msword", bytes).unwrap();
    assert_eq!(converted.text, "Paid ☑ 5 µµm (\nOdd \u{fffd}\n");
    assert_eq!(converted.notes, [Note::UnreadableCharacters { count: 1 }]);
}

#[test]
fn equations_of_old_letters_are_read_from_their_fields() {
    let text = "Add \u{13} EQ \\f(1,2) \u{15} cup, see page \u{13} PAGE \u{14}7\u{15}.\r";
    let hidden = ("\u{13} EQ \\f(3,4) \u{15}", &[0x3c_u8, 0x08, 1][..]);
    let bytes = old_letter([&[(text, &[])], &[hidden, ("End\r", &[])]]);
    assert_eq!(read("application/msword", bytes).unwrap().text, "Add 1/2 cup, see page 7.\nEnd\n");
}

#[test]
fn an_old_presentation_is_read_slide_by_slide_with_its_notes() {
    let converted = read("application/vnd.ms-powerpoint", office("legacy.ppt")).unwrap();
    assert_eq!((converted.unit, converted.units), (Unit::Slide, 2));
    let text = &converted.text;
    let mut at = 0;
    for part in [
        "[slide 1]\n",
        "Results of April\n",
        "Sales rose by 4 %\n",
        "[speaker notes]\n",
        "Say more about: Results of April\n",
        "[slide 2]\n",
        "Outlook\n",
        "Цены остаются\n",
        "A box of its own\n",
        "Say more about: Outlook\n",
    ] {
        let found =
            text[at..].find(part).unwrap_or_else(|| panic!("{part:?} is missing after {at} in:\n{text}"));
        at += found;
    }
}

/// A message of Outlook with these streams.
fn message(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = cfb::CompoundFile::create(std::io::Cursor::new(Vec::new())).unwrap();
    for (path, bytes) in streams {
        if let Some((storage, _)) = path.rsplit_once('/').filter(|(storage, _)| !storage.is_empty()) {
            file.create_storage_all(storage).unwrap();
        }
        file.create_stream(path).unwrap().write_all(bytes).unwrap();
    }
    file.flush().unwrap();
    file.into_inner().into_inner()
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_message_of_outlook_is_read_with_its_attachments() {
    let attachment = "/__attach_version1.0_#00000000";
    let bytes = message(&[
        ("/__properties_version1.0", b""),
        ("/__substg1.0_0037001F", &wide("Offer 77")),
        ("/__substg1.0_0C1A001F", &wide("Ann")),
        ("/__substg1.0_5D01001F", &wide("ann@fernwick.example")),
        ("/__substg1.0_0E04001F", &wide("Ben; Cleo")),
        (
            "/__substg1.0_007D001E",
            b"Received: by x\r\nDate: Fri, 17 Apr 2026 09:00:00 +0200\r\nSubject: x\r\n",
        ),
        ("/__substg1.0_1000001F", &wide("Dear Ben,\r\nsee the offer.\r\n")),
        (&format!("{attachment}/__substg1.0_37010102"), b"a,b\n1,2\n"),
        (&format!("{attachment}/__substg1.0_3707001F"), &wide("offer.csv")),
        (&format!("{attachment}/__substg1.0_370E001F"), &wide("text/csv")),
    ]);
    let converted = read("application/vnd.ms-outlook", bytes).unwrap();
    assert_eq!(
        converted.text,
        "From: Ann <ann@fernwick.example>\nTo: Ben; Cleo\nDate: Fri, 17 Apr 2026 09:00:00 +0200\nSubject: Offer 77\n\n\
         Dear Ben,\nsee the offer.\n[attachment 1: offer.csv, text/csv, 8 bytes]\n"
    );
    let [attachment] = converted.attachments.as_slice() else { panic!("{:?}", converted.attachments) };
    assert_eq!(
        (&attachment.bytes[..], attachment.file_name.as_deref()),
        (&b"a,b\n1,2\n"[..], Some("offer.csv"))
    );
}

#[test]
fn a_message_of_outlook_with_a_formatted_body_alone_is_read() {
    let body = br"{\rtf1\ansi\fromhtml1 {\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Dear Ben,\htmlrtf\par}\htmlrtf0{\*\htmltag72 </p>}see the offer.}";
    let len = u32::try_from(body.len()).unwrap().to_le_bytes();
    let stored = [&len[..], &len, b"MELA\0\0\0\0", body].concat();
    let with = |body: &[u8]| {
        message(&[
            ("/__properties_version1.0", b""),
            ("/__substg1.0_0037001F", &wide("Offer")),
            ("/__substg1.0_10090102", body),
        ])
    };
    let converted = read("application/vnd.ms-outlook", with(&stored)).unwrap();
    assert_eq!(converted.text, "Subject: Offer\n\nDear Ben,\nsee the offer.\n");
    let converted = read("application/vnd.ms-outlook", with(b"damaged")).unwrap();
    assert_eq!(converted.notes, [Note::NotShown { what: "formatted body", count: 1 }]);
}

/// A stream of properties: a header, and entries of sixteen bytes.
fn properties(header: usize, entries: &[(u32, u64)]) -> Vec<u8> {
    let mut bytes = vec![0; header];
    for (tag, value) in entries {
        bytes.extend([&tag.to_le_bytes()[..], &6_u32.to_le_bytes(), &value.to_le_bytes()].concat());
    }
    bytes
}

// Drafts, sent messages and attached ones have no header lines of the transport.
#[test]
fn the_date_of_a_message_of_outlook_is_among_its_properties() {
    let (sent, delivered) = (134_208_828_000_000_000, 134_208_828_610_000_000);
    let inner = "/__attach_version1.0_#00000000/__substg1.0_3701000D";
    let bytes = message(&[
        ("/__properties_version1.0", &properties(32, &[(0x0e06_0040, delivered), (0x0039_0040, sent)])),
        ("/__substg1.0_0037001F", &wide("Offer 77")),
        (&format!("{inner}/__properties_version1.0"), &properties(24, &[(0x0e06_0040, delivered)])),
        (&format!("{inner}/__substg1.0_1000001F"), &wide("inside")),
    ]);
    let converted = read("application/vnd.ms-outlook", bytes).unwrap();
    assert_eq!(
        converted.text,
        "Date: 2026-04-17 07:00:00 UTC\nSubject: Offer 77\n\n[attached message 1]\nDate: 2026-04-17 07:01:01 UTC\n\ninside\n"
    );
}

#[test]
fn recipients_have_their_addresses_and_meetings_their_time() {
    let person = |number: usize, kind: u64, name: &str, address: &str| {
        let storage = format!("/__recip_version1.0_#{number:08X}");
        [
            (format!("{storage}/__properties_version1.0"), properties(8, &[(0x0c15_0003, kind)])),
            (format!("{storage}/__substg1.0_3001001F"), wide(name)),
            (format!("{storage}/__substg1.0_39FE001F"), wide(address)),
        ]
    };
    let people = [
        person(0, 1, "Ben", "ben@larkspur.example"),
        person(1, 2, "Cleo", "cleo@larkspur.example"),
        person(2, 1, "dan@larkspur.example", "dan@larkspur.example"),
    ];
    let (start, end) = (134_208_828_000_000_000, 134_208_864_000_000_000);
    let fixed = properties(32, &[(0x0060_0040, start), (0x0061_0040, end)]);
    let (to, subject) = (wide("Ben; dan@larkspur.example"), wide("Review"));
    let mut streams: Vec<(&str, &[u8])> = vec![
        ("/__properties_version1.0", &fixed),
        ("/__substg1.0_0E04001F", &to),
        ("/__substg1.0_0037001F", &subject),
    ];
    streams.extend(people.iter().flatten().map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
    assert_eq!(
        read("application/vnd.ms-outlook", message(&streams)).unwrap().text,
        "To: Ben <ben@larkspur.example>; dan@larkspur.example\nCc: Cleo <cleo@larkspur.example>\n\
         Start: 2026-04-17 07:00:00 UTC\nEnd: 2026-04-17 08:00:00 UTC\nSubject: Review\n"
    );
}

// documents.md 9.2 D21
#[test]
fn a_message_of_outlook_in_a_charset_of_one_byte_is_read_in_its_own() {
    let russian = |text: &str| encoding_rs::WINDOWS_1251.encode(text).0.into_owned();
    let body = "Общая сумма счёта составляет двадцать тысяч рублей.";
    let with = |entries: &[(u32, u64)]| {
        let bytes = message(&[
            ("/__properties_version1.0", &properties(32, entries)),
            ("/__substg1.0_0037001E", &russian("Счёт")),
            ("/__substg1.0_1000001E", &[russian(body), vec![0, 0]].concat()),
        ]);
        read("application/vnd.ms-outlook", bytes).unwrap()
    };
    let text = format!("Subject: Счёт\n\n{body}\n");
    for entry in [(0x3ffd_0003, 1251), (0x3fde_0003, 1251)] {
        let converted = with(&[entry]);
        assert_eq!((&converted.text, converted.notes), (&text, vec![]), "{entry:x?}");
    }
    let converted = with(&[]);
    assert_eq!((converted.text, converted.notes), (text, vec![Note::Charset { charset: "windows-1251" }]));
}

#[test]
fn what_is_embedded_does_not_name_a_compound_file() {
    let bytes = message(&[("/Workbook", b"damaged"), ("/MBD0001/WordDocument", b"")]);
    let error = read("application/octet-stream", bytes).unwrap_err();
    assert_eq!(error, ConvertError::Malformed { reason: "it has no workbook inside" });
}

#[test]
fn charts_and_text_boxes_are_read() {
    let sheets =
        read("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", office("drawn.xlsx"));
    let text = sheets.unwrap().text;
    assert!(text.contains("Approved by the board\n"), "{text}");
    assert!(text.contains("[chart: Costs of April]\n"), "{text}");
    let slides = read(
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        office("drawn.pptx"),
    );
    let converted = slides.unwrap();
    let chart = "[chart: Regions]\n | 2025 | 2026\nNorth | 19.2 | 22.3\nSouth | 21.4 | 28.6\n";
    assert!(converted.text.contains(chart), "{}", converted.text);
    assert!(!converted.notes.contains(&Note::NotShown { what: "chart", count: 1 }));
}

#[test]
fn damaged_old_documents_end_in_a_text_or_an_error() {
    for name in ["legacy.xls", "legacy.doc", "legacy.ppt", "shown/letter.doc", "shown/margins.xls"] {
        let whole = office(name).to_vec();
        let mut state = 0x9e37_79b9_u64;
        for round in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..1 + round % 8 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = usize::try_from(state >> 20).unwrap() % bytes.len();
                bytes[at] = (state >> 8) as u8;
            }
            bytes.truncate(bytes.len() - (round % 5) * 700);
            let result = read("application/octet-stream", bytes);
            assert!(
                !matches!(result, Err(ConvertError::Failed | ConvertError::TimedOut { .. })),
                "{name} {round}"
            );
        }
    }
}
