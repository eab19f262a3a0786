//! Documents with damage: what can be read is read, and what cannot is said where it is missing.

use crate::common::{Builder, deflate, read};
use attache_convert::{ConvertError, Note, Unit};

const HELLO: &str = "BT /F1 12 Tf 72 700 Td (Hello) Tj ET";

/// A page whose dictionary has these entries, with `Hello` as object 4.
fn page(entries: &str) -> Builder {
    let page = format!("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> {entries} >>");
    Builder::page(HELLO).object(3, &page)
}

/// The page says `Hello`, and that it is not whole.
#[track_caller]
fn assert_incomplete_hello(pdf: Vec<u8>) {
    let converted = read(pdf).expect("the page can be read");
    assert_eq!(converted.text, "[page 1]\n[parts of this page could not be read]\nHello\n");
    assert!(converted.truncated);
    assert_eq!(converted.notes, [Note::PartsLeftOut { unit: Unit::Page, numbers: vec![1] }]);
}

#[track_caller]
fn assert_whole_hello(pdf: Vec<u8>) {
    let converted = read(pdf).expect("the page can be read");
    assert_eq!((converted.text.as_str(), converted.truncated), ("[page 1]\nHello\n", false));
    assert_eq!(converted.notes, []);
}

#[test]
fn content_that_leads_nowhere_is_said_and_does_not_hide_what_follows() {
    for contents in ["[99 0 R 4 0 R]", "[4 0 R 99 0 R]", "[(x) 4 0 R]", "[5 0 R 4 0 R]", "[4 0 R <<>>stream]"]
    {
        assert_incomplete_hello(page(&format!("/Contents {contents}")).finish());
    }
    for contents in ["[4 0 R]", "[null 4 0 R]", "[6 0 R 4 0 R]"] {
        assert_whole_hello(page(&format!("/Contents {contents}")).object(6, "null").finish());
    }
}

#[test]
fn annotations_that_lead_nowhere_are_said_and_do_not_hide_what_follows() {
    let field = |entries: &str| format!("<< /Subtype /Widget /Rect [0 0 99 99] {entries} >>");
    let with = |annotations: &str, more: &str| {
        page(&format!("/Contents null /Annots {annotations}"))
            .object(6, &field("/AP << /N 7 0 R >>"))
            .stream(7, "/Subtype /Form /BBox [0 0 99 99]", b"BT /F1 12 Tf 9 9 Td (Hello) Tj ET")
            .object(8, more)
            .object(9, "<< /Subtype /Link /Rect [0 0 9 9] >>")
            .finish()
    };
    assert_whole_hello(with("[9 0 R 6 0 R]", "null"));
    assert_whole_hello(with("[8 0 R 6 0 R]", "null"));
    // A box that is not ticked shows nothing.
    assert_whole_hello(with("[8 0 R 6 0 R]", &field("/AS /Off /AP << /N << /Yes 99 0 R >> >>")));
    // An object that the file does not have is null; one that it has and that cannot be read is lost.
    for annotations in ["[99 0 R 6 0 R]", "[6 0 R 99 0 R]"] {
        assert_whole_hello(with(annotations, "null"));
    }
    for annotations in ["[8 0 R 6 0 R]", "[6 0 R 8 0 R]"] {
        assert_incomplete_hello(with(annotations, "<< /Subtype"));
    }
    assert_incomplete_hello(with("[(x) 6 0 R]", "null"));
    for appearance in [
        "/AP << /N 99 0 R >>",
        "/AP 99 0 R",
        "/AP << /N 9 0 R >> /AS /Subtype",
        "/AS /Yes /AP << /N << /Yes 99 0 R >> >>",
    ] {
        assert_incomplete_hello(with("[8 0 R 6 0 R]", &field(appearance)));
    }
    assert_whole_hello(page("/Contents 4 0 R /Annots 99 0 R").finish());
    assert_incomplete_hello(page("/Contents 4 0 R /Annots 6 0 R").object(6, "[ << ").finish());
    // Where the file ends early, it may have had the object.
    let cut = page("/Contents 4 0 R /Annots [99 0 R]").into_bytes();
    let converted = read(cut).unwrap();
    assert_eq!(converted.text, "[page 1]\n[parts of this page could not be read]\nHello\n");
}

#[test]
fn annotations_of_object_streams_are_known_to_be_there() {
    let file = |inside: &[(u32, &str)], annotations: &str| {
        let (entries, data) = crate::common::object_stream(inside);
        let numbers: Vec<u32> = inside.iter().map(|(number, _)| *number).collect();
        page(&format!("/Contents 4 0 R /Annots {annotations}"))
            .stream(40, &format!("/Type /ObjStm {entries}"), &data)
            .finish_with_stream(40, &numbers)
    };
    let link = "<< /Subtype /Link /Rect [0 0 9 9] >>";
    assert_whole_hello(file(&[(6, link)], "[6 0 R 99 0 R]"));
    assert_incomplete_hello(file(&[(6, link), (7, "<< /Subtype")], "[6 0 R 7 0 R]"));
}

#[test]
fn forms_that_lead_nowhere_are_said() {
    let content = format!("/X Do /Y Do {HELLO}");
    for x in ["99 0 R", "5 0 R", "null"] {
        let resources = format!("/Font << /F1 5 0 R >> /XObject << /X {x} /Y 8 0 R >>");
        let pdf = Builder::page_with(&content, &resources).stream(8, "/Subtype /Form /BBox [0 0 9 9]", b"");
        assert_incomplete_hello(pdf.finish());
    }
}

/// Text that deflates to several blocks, with `Hello` at its start.
fn long() -> Vec<u8> {
    let noise: Vec<String> =
        (0..20_000_u32).map(|n| format!("{} w", n.wrapping_mul(2_654_435_761) % 99_991)).collect();
    format!("{HELLO}\n{}", noise.join("\n")).into_bytes()
}

#[test]
fn streams_that_are_cut_or_broken_are_read_so_far_and_that_is_said() {
    let with = |entries: &str, data: &[u8]| page("/Contents 4 0 R").stream(4, entries, data).finish();
    let long = deflate(&long());
    let flate = "/Filter /FlateDecode";
    assert_whole_hello(with(flate, &long));
    assert_incomplete_hello(with(flate, &long[..long.len() / 2]));
    let mut broken = long.clone();
    broken[long.len() / 2..].fill(0xff);
    assert_incomplete_hello(with(flate, &broken));
    // The checksum says nothing about the text.
    assert_whole_hello(with(flate, &long[..long.len() - 4]));

    let hex: String = HELLO.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_whole_hello(with("/Filter /ASCIIHexDecode", format!("{hex}>").as_bytes()));
    for damage in ["", "?", "0a?>"] {
        assert_incomplete_hello(with("/Filter /ASCIIHexDecode", format!("{hex}{damage}").as_bytes()));
    }
    let mut run = vec![u8::try_from(HELLO.len() - 1).unwrap()];
    run.extend_from_slice(HELLO.as_bytes());
    assert_whole_hello(with("/Filter /RunLengthDecode", &[run.as_slice(), &[128]].concat()));
    assert_incomplete_hello(with("/Filter /RunLengthDecode", &run));
    assert_incomplete_hello(with("/Filter /RunLengthDecode", &[run.as_slice(), &[9, b' ']].concat()));

    // With a predictor, the library undoes the filter.
    let rows: Vec<u8> = HELLO.as_bytes().chunks(4).flat_map(|row| [&[0], row].concat()).collect();
    let predicted = "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 4 >>";
    assert_whole_hello(with(predicted, &deflate(&rows)));
    let cut = deflate(&[rows, b"\0    \0    ".repeat(999)].concat());
    assert_incomplete_hello(with(predicted, &cut[..cut.len() - 9]));
}

#[test]
fn forms_that_are_broken_are_said() {
    let content = format!("{HELLO} /X Do");
    for (entries, data) in
        [("/Filter /FlateDecode", [0xff; 9]), ("/Filter /Unknown", [b' '; 9]), ("/Filter 99 0 R", [b' '; 9])]
    {
        let form = format!("/Subtype /Form /BBox [0 0 9 9] {entries}");
        let pdf = Builder::page_with(&content, "/Font << /F1 5 0 R >> /XObject << /X 8 0 R >>");
        assert_incomplete_hello(pdf.stream(8, &form, &data).finish());
    }
}

#[test]
fn content_that_stops_making_sense_is_said() {
    for nonsense in
        ["(never closed", "] BT (gone) Tj ET", "1 m BT (gone) Tj ET", "BT 12 Tj ET", "BT (x) ' (y) \" ET"]
    {
        let pdf = Builder::page(&format!("{HELLO} {nonsense}")).finish();
        let text = read(pdf).expect("the page can be read").text;
        assert!(text.starts_with("[page 1]\n[parts of this page could not be read]\n"), "{nonsense}: {text}");
    }
    // Operators that nobody knows are no damage.
    assert_whole_hello(Builder::page(&format!("{HELLO} 1 2 unknown")).finish());
}

#[test]
fn a_document_of_which_nothing_could_be_read_is_not_said_to_be_empty() {
    for contents in ["/Contents 99 0 R", "/Contents [99 0 R]", "/Annots (x)"] {
        let error = read(page(contents).finish()).unwrap_err();
        assert_eq!(error, ConvertError::NothingRead { unit: Unit::Page, units: 1 }, "{contents}");
        assert_eq!(
            error.to_string(),
            "no text could be read: parts of the document's 1 page(s) are too large or damaged"
        );
    }
    let empty = read(page("/Contents null").finish()).unwrap_err();
    assert_eq!(empty, ConvertError::NoText { unit: Unit::Page, units: 1, images: false });
}

#[test]
fn sound_documents_are_not_said_to_be_damaged() {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut read_some = 0;
    for folder in [format!("{root}/tests/fixtures"), format!("{root}/../../docs/examples/inbox")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "pdf") {
                continue;
            }
            if let Ok(converted) = read(std::fs::read(&path).unwrap()) {
                assert!(!converted.truncated, "{}: {:?}", path.display(), converted.notes);
                read_some += 1;
            }
        }
    }
    assert!(read_some > 12, "{read_some}");
}

/// A document with this page tree below object 2: `HELLO` is page 3, and pages 6 to 8 say `Page 6` and so on.
fn tree(root: &str) -> Builder {
    let mut pdf = Builder::page(HELLO).object(2, &format!("<< /Type /Pages {root} >>"));
    for number in 6..9 {
        let page = "/Type /Page /Resources << /Font << /F1 5 0 R >> >>";
        pdf = pdf.object(number, &format!("<< {page} /Contents {number}0 0 R >>")).stream(
            number * 10,
            "",
            format!("BT /F1 12 Tf 72 700 Td (Page {number}) Tj ET").as_bytes(),
        );
    }
    pdf
}

/// The text of each page, and the pages that are said to be unread.
#[track_caller]
fn pages(pdf: Vec<u8>) -> (Vec<String>, Vec<usize>) {
    let converted = read(pdf).expect("some page can be read");
    let mut pages = Vec::new();
    for (index, page) in converted.text.split("[page ").skip(1).enumerate() {
        let (number, text) = page.split_once("]\n").expect("a marker");
        assert_eq!(number.parse(), Ok(index + 1));
        pages.push(text.trim().replace("[this page could not be read]", "-"));
    }
    assert_eq!(converted.units, pages.len());
    let unread = match converted.notes.as_slice() {
        [] => Vec::new(),
        [Note::Unread { unit: Unit::Page, numbers }] => numbers.clone(),
        notes => panic!("{notes:?}"),
    };
    assert_eq!(converted.truncated, !unread.is_empty());
    (pages, unread)
}

#[test]
fn pages_that_cannot_be_read_keep_their_numbers() {
    // The pages that are read, and the tree that they stand in.
    for (expected, root) in [
        (&["Hello", "-", "Page 6"][..], "/Kids [3 0 R 99 0 R 6 0 R] /Count 3"),
        (&["-", "Hello"], "/Kids [(x) 3 0 R]"),
        (&["-", "Hello", "-", "Page 6"], "/Kids [99 0 R 3 0 R 98 0 R 6 0 R] /Count 4"),
        // The loss is a node with three pages below it.
        (&["Hello", "-", "-", "-", "Page 6"], "/Kids [3 0 R 99 0 R 6 0 R] /Count 5"),
        (&["Hello", "-", "-"], "/Kids [3 0 R << /Type /Pages /Count 2 >>] /Count 3"),
        (&["Hello", "-", "-", "Page 7"], "/Kids [3 0 R << /Type /Pages /Kids 99 0 R /Count 2 >> 7 0 R]"),
        (
            &["Hello", "-", "-", "Page 8"],
            "/Kids [3 0 R << /Tipe /Pages /Kids [6 0 R 7 0 R] /Count 2 >> 8 0 R]",
        ),
        (&["Hello", "Page 6", "-", "Page 7"], "/Kids [<< /Type /Pages /Kids [3 0 R 6 0 R 99 0 R] >> 7 0 R]"),
        (&["Hello", "-", "-"], "/Kids [3 0 R <<>>stream] /Count 3"),
    ] {
        let unread: Vec<usize> = (1..=expected.len()).filter(|n| expected[n - 1] == "-").collect();
        let (found, said) = pages(tree(root).finish());
        assert_eq!(
            (found.as_slice(), said),
            (&*expected.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>(), unread),
            "{root}"
        );
    }
}

#[test]
fn sound_page_trees_have_no_gaps() {
    for (expected, root) in [
        (&["Hello", "Page 6"][..], "/Kids [3 0 R << /Type /Pages /Kids [6 0 R] /Count 1 >>] /Count 2"),
        // A page twice, an empty node, a wrong count.
        (&["Hello", "Hello", "Page 6"], "/Kids [3 0 R 3 0 R 6 0 R] /Count 3"),
        (&["Hello"], "/Kids [<< /Type /Pages /Kids [] /Count 0 >> 3 0 R << /Type /Pages /Count 0 >>]"),
        (&["Hello"], "/Kids [3 0 R] /Count 77"),
        (&["Hello"], "/Kids [3 0 R 2 0 R]"),
    ] {
        assert_eq!(pages(tree(root).finish()).0, expected, "{root}");
    }
}

#[test]
fn pages_without_a_tree_are_said_to_stand_in_no_order() {
    let pdf = tree("/Kids [3 0 R]").object(1, "<< /Type /Catalog /Pages 99 0 R >>").finish();
    let converted = read(pdf).unwrap();
    assert!(converted.text.contains("Hello") && converted.text.contains("Page 8"), "{}", converted.text);
    assert_eq!(converted.notes, [Note::OrderGuessed { unit: Unit::Page }]);
}

#[test]
fn a_document_all_of_whose_pages_are_lost_says_so() {
    let error = read(tree("/Kids [98 0 R 99 0 R]").finish()).unwrap_err();
    assert_eq!(error, ConvertError::NothingRead { unit: Unit::Page, units: 2 });
}
