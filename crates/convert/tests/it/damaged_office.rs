//! Office files and books that are cut or have lost their directory are read as far as they go, and say so.

use crate::common::{DOCX, EPUB, ODP, ODS, ODT, PPTX, XLSX, office, zip};
use attache_convert::{ConvertError, Converted, Limits, Note, Unit, convert};

fn read(media_type: &str, bytes: &[u8]) -> Result<Converted, ConvertError> {
    convert(media_type, bytes.to_vec().into(), &Limits::new())
}

const FILES: [(&str, &str); 12] = [
    (DOCX, "libreoffice.docx"),
    (DOCX, "python-docx.docx"),
    (XLSX, "libreoffice.xlsx"),
    (XLSX, "openpyxl.xlsx"),
    (XLSX, "drawn.xlsx"),
    (PPTX, "libreoffice.pptx"),
    (PPTX, "python-pptx.pptx"),
    (ODT, "libreoffice.odt"),
    (ODS, "libreoffice.ods"),
    (ODP, "libreoffice.odp"),
    (EPUB, "libreoffice.epub"),
    (EPUB, "ebooklib.epub"),
];

/// Where the directory of an archive begins.
fn directory(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap()
}

#[test]
fn files_without_a_directory_read_as_they_did() {
    for (media_type, name) in FILES {
        let whole = office(name);
        let expected = read(media_type, &whole).unwrap();
        // The same file written with lengths behind the data, as programs do that write to a pipe.
        let files = crate::common::unzip(&whole);
        let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
        let mut broken = whole.to_vec();
        broken[directory(&whole)..][..60].fill(0xff);
        let cut = whole[..directory(&whole)].to_vec();
        let mut piped = zip(&files);
        piped.truncate(directory(&piped));
        for bytes in [cut, piped, broken] {
            for media_type in [media_type, "application/octet-stream"] {
                let found = read(media_type, &bytes).unwrap();
                assert_eq!(found.text, expected.text, "{name} as {media_type}");
                assert!(
                    found.truncated && found.notes.contains(&Note::Recovered),
                    "{name}: {:?}",
                    found.notes
                );
                assert_eq!(found.attachments, expected.attachments, "{name}");
            }
        }
    }
}

#[test]
fn files_that_are_cut_are_read_as_far_as_they_go() {
    let (mut read_some, mut all) = (0, 0);
    for (media_type, name) in FILES {
        let whole = office(name);
        let words = read(media_type, &whole).unwrap().text;
        for part in 1..=20 {
            all += 1;
            match read(media_type, &whole[..whole.len() * part / 21]) {
                Ok(found) => {
                    read_some += 1;
                    assert!(found.truncated && found.notes.contains(&Note::Recovered), "{name} {part}");
                }
                Err(ConvertError::Failed | ConvertError::TimedOut { .. }) => panic!("{name} {part}"),
                Err(_) => {}
            }
        }
        // A file that lost its end has most of its text.
        let found = read(media_type, &whole[..whole.len() * 9 / 10]).unwrap().text;
        let kept = words.lines().filter(|line| found.contains(line)).count();
        println!("{name}: {kept} of {} lines", words.lines().count());
    }
    println!("{read_some} of {all}");
    assert!(2 * read_some > all, "{read_some} of {all}");
}

#[test]
fn sheets_slides_and_chapters_without_their_list_are_found() {
    let without = |name: &str, lost: &[&str]| {
        let files = crate::common::unzip(&office(name));
        let kept: Vec<_> = files
            .iter()
            .filter(|(file, _)| !lost.contains(&file.as_str()))
            .map(|(file, content)| (file.as_str(), content.as_slice()))
            .collect();
        let bytes = zip(&kept);
        bytes[..directory(&bytes)].to_vec()
    };
    let book = ["xl/workbook.xml", "xl/_rels/workbook.xml.rels"];
    for (media_type, name, lost, unit, words) in [
        (XLSX, "libreoffice.xlsx", &book[..], Unit::Sheet, "[sheet 1]\n1: Item | Quantity"),
        (XLSX, "libreoffice.xlsx", &book[1..], Unit::Sheet, "[sheet 1: Budget]\n1: Item | Quantity"),
        (PPTX, "libreoffice.pptx", &["ppt/presentation.xml"], Unit::Slide, "[slide 2]\n# Figures"),
        (PPTX, "libreoffice.pptx", &["ppt/_rels/presentation.xml.rels"], Unit::Slide, "[slide 2]\n# Figures"),
        (EPUB, "ebooklib.epub", &["EPUB/content.opf"], Unit::Chapter, "It was a quiet morning."),
        (EPUB, "ebooklib.epub", &["META-INF/container.xml"], Unit::Chapter, "It was a quiet morning."),
    ] {
        let found = read(media_type, &without(name, lost)).unwrap();
        assert!(found.text.contains(words), "{name} without {lost:?}: {}", found.text);
        assert!(found.notes.contains(&Note::OrderGuessed { unit }), "{:?}", found.notes);
    }
}

#[test]
fn heads_without_end_are_bounded() {
    let mut many = Vec::new();
    for n in 0..60_000_u32 {
        many.extend(b"PK\x03\x04\x14\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x06\0\0\0");
        many.extend(format!("{n:06}").bytes());
    }
    let found = read("application/zip", &many).unwrap();
    assert!(found.notes.contains(&Note::Recovered) && found.notes.contains(&Note::EntriesLeftOut));
    assert!(found.text.starts_with("archive, 50000 files:\n"));
    let error = read("application/zip", b"PK\x03\x04 no archive at all, but long enough to look like one")
        .unwrap_err();
    assert!(matches!(error, ConvertError::Malformed { .. }), "{error}");
}
