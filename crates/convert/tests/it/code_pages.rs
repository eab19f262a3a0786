//! Bytes in the charsets of DOS and of the first Macs: RTF, names of entries of archives, workbooks of Excel 95.

use std::io::{Cursor, Write};

use attache_convert::{Converted, Limits, Note, convert};

#[track_caller]
fn read(media: &str, bytes: Vec<u8>) -> Converted {
    convert(media, bytes.into(), &Limits::new()).expect("the document can be read")
}

// The expectations are those of the tables that Unicode publishes (VENDORS/MICSFT/PC and VENDORS/APPLE).
#[test]
fn rtf_is_read_in_the_code_page_that_it_names() {
    for (head, expected) in [
        (r"\pc", "Größe ¢"),
        (r"\pca", "Größe ø"),
        (r"\ansi\ansicpg437", "Größe ¢"),
        (r"\ansi\ansicpg850", "Größe ø"),
        (r"\ansi\ansicpg852", "Größe Ť"),
        (r"\pc\ansicpg865", "Größe ø"),
        (r"\mac\ansicpg10029", "Größe õ"),
        (r"\ansi\deff0{\fonttbl{\f0\fnil\fcharset255 Terminal;}}", "Größe ø"),
        (r"\ansi\deff0{\fonttbl{\f0\fnil\fcharset254 PC;}}", "Größe ¢"),
        (r"\ansi\deff0{\fonttbl{\f0\fnil\fcharset0\cpg437 Terminal;}}", "Größe ¢"),
    ] {
        let body = if head.contains("mac") { r"Gr\'9a\'a7e \'9b" } else { r"Gr\'94\'e1e \'9b" };
        let converted = read("application/rtf", format!(r"{{\rtf1{head} {body}\par}}").into_bytes());
        assert_eq!((converted.text, converted.notes), (format!("{expected}\n"), vec![]), "{head}");
    }
}

#[test]
fn a_code_page_that_is_not_known_is_said_to_be_guessed() {
    let read =
        |text: &str| read("application/rtf", format!(r"{{\rtf1\ansi\ansicpg1361 {text}\par}}").into_bytes());
    assert_eq!(read("plain").notes, []);
    assert_eq!(read(r"\u8364?").notes, []);
    assert_eq!(read(r"caf\'e9").notes, [Note::Charset { charset: "windows-1252" }]);
    let system = |text: &str| format!(r"{{\rtf1\ansi\ansicpg0 {text}\par}}").into_bytes();
    assert_eq!(self::read("application/rtf", system(r"caf\'e9")).notes, []);
}

/// An archive of one stored file, from its parts (APPNOTE, 4.3), with or without its directory.
fn archive(name: &[u8], flags: u16, extra: &[u8], has_directory: bool) -> Vec<u8> {
    let two = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
    let four = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let content = b"hello";
    let common = [
        &two(20)[..],
        &flags.to_le_bytes(),
        &two(0),
        &four(0),
        &rawzip::crc32(content).to_le_bytes(),
        &four(content.len()),
        &four(content.len()),
        &two(name.len()),
        &two(extra.len()),
    ]
    .concat();
    let mut bytes = [b"PK\x03\x04", &common[..], name, extra, content].concat();
    if has_directory {
        let start = bytes.len();
        let rest = [&two(0)[..], &two(0), &two(0), &four(0), &four(0), name, extra].concat();
        bytes.extend([b"PK\x01\x02", &two(20)[..], &common, &rest].concat());
        let len = bytes.len() - start;
        bytes.extend(
            [b"PK\x05\x06", &[0; 4][..], &two(1), &two(1), &four(len), &four(start), &two(0)].concat(),
        );
    }
    bytes
}

#[test]
fn names_of_entries_are_read_in_the_charset_of_archives() {
    let guessed = Note::Charset { charset: "IBM437" };
    let unicode = |of: &[u8]| {
        let field = [&[1][..], &rawzip::crc32(of).to_le_bytes(), "Größe.txt".as_bytes()].concat();
        [&0x7075_u16.to_le_bytes()[..], &u16::try_from(field.len()).unwrap().to_le_bytes(), &field].concat()
    };
    let name = b"Gr\x94\xe1e.txt";
    for (name, flags, extra, is_guess) in [
        (&name[..], 0, vec![], true),
        ("Größe.txt".as_bytes(), 1 << 11, vec![], false),
        // Many programs write UTF-8 and do not say so.
        ("Größe.txt".as_bytes(), 0, vec![], false),
        (name, 0, unicode(name), false),
        // The name was changed since.
        (name, 0, unicode(b"other"), true),
        (b"Gr\xf6\xdfe.txt", 0, unicode(b"Gr\xf6\xdfe.txt"), false),
    ] {
        for has_directory in [true, false] {
            let converted = read("application/zip", archive(name, flags, &extra, has_directory));
            assert_eq!(converted.text, "archive, 1 file:\n- Größe.txt (5 bytes)\n", "{name:x?}");
            assert_eq!(converted.notes.contains(&guessed), is_guess, "{name:x?} {:?}", converted.notes);
        }
    }
    let damaged = read("application/zip", archive(b"Gr\xf6.txt", 1 << 11, &[], true));
    assert_eq!(damaged.text, "archive, 1 file:\n- Gr\u{fffd}.txt (5 bytes)\n");
}

/// A workbook as Excel 95 wrote it: texts of one byte a character, in the code page of a record.
#[test]
fn workbooks_of_excel_95_are_read_in_their_code_page() {
    let record = |id: u16, data: &[u8]| {
        [&id.to_le_bytes()[..], &u16::try_from(data.len()).unwrap().to_le_bytes(), data].concat()
    };
    let begin = |kind: u8| record(0x0809, &[0, 5, kind, 0, 0, 0, 0, 0]);
    let book = |code_page: u16, text: &[u8]| {
        let head = [begin(5), record(0x0042, &code_page.to_le_bytes())].concat();
        let name = [&[u8::try_from(text.len()).unwrap()], text].concat();
        let place = head.len() + 4 + 6 + name.len() + 4;
        let sheet =
            record(0x0085, &[&u32::try_from(place).unwrap().to_le_bytes()[..], &[0, 0], &name].concat());
        let label =
            [&[0, 0, 0, 0, 0, 0][..], &u16::try_from(text.len()).unwrap().to_le_bytes(), text].concat();
        let stream =
            [head, sheet, record(0x000a, &[]), begin(16), record(0x0204, &label), record(0x000a, &[])]
                .concat();
        let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
        file.create_stream("/Book").unwrap().write_all(&stream).unwrap();
        file.into_inner().into_inner()
    };
    for (code_page, bytes, expected) in [
        (1252, &b"Gr\xf6\xdfe"[..], "Größe"),
        (1251, b"\xd6\xe5\xed\xe0", "Цена"),
        (437, b"Gr\x94\xe1e", "Größe"),
        (0x8000, b"Gr\x9a\xa7e", "Größe"),
        (0x8001, b"Gr\xf6\xdfe", "Größe"),
        (932, b"\x93\xfa\x96\x7b", "日本"),
    ] {
        let converted = read("application/vnd.ms-excel", book(code_page, bytes));
        assert_eq!(converted.text, format!("[sheet 1: {expected}]\n1: {expected}\n"), "{code_page}");
    }
}
