//! Archives that are more than they seem, whatever document they claim to be.

use super::build::{Zip, noise, patched, stored};
use super::file::HostileFile;

const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const ZIP: &str = "application/zip";

pub(super) const FILES: &[HostileFile] = &[
    HostileFile::new("nested.zip", ZIP, "archives in archives, the innermost a gigabyte", || {
        let mut inner = Zip::default().run("bomb.txt", b'0', 1 << 30).finish();
        for level in 0..10 {
            inner = Zip::default().file(&format!("{level}.zip"), inner).finish();
        }
        inner
    }),
    HostileFile::new("nested.docx", DOCX, "documents in a document, ten deep", || {
        let mut inner = Zip::default().run("word/document.xml", b' ', 1 << 28).finish();
        for _ in 0..10 {
            inner = Zip::default().file("word/embeddings/a.docx", inner).finish();
        }
        inner
    }),
    HostileFile::new("overlapping.docx", DOCX, "thirty thousand names for the same megabyte", || {
        let data = vec![b' '; 1 << 20];
        let crc = crc32fast::hash(&data);
        let mut zip = Zip::default().file("word/document.xml", &data);
        for index in 0..30_000 {
            zip = zip.again(&format!("word/{index}.xml"), crc, data.len(), 0);
        }
        zip.finish()
    }),
    HostileFile::new("itself.zip", ZIP, "an archive whose only file is the archive", || {
        // Its data are the bytes of the file from its start: as many as there are before the directory.
        let hollow = Zip::default().entry("itself.zip", 0, &[0; 512], 0, 512).finish();
        patched(hollow.clone(), 40, &hollow)
    }),
    HostileFile::new("names.docx", DOCX, "names that lead out of the archive", || {
        let mut zip = Zip::default();
        for name in [
            "../../../../etc/passwd",
            "/etc/passwd",
            "C:\\windows\\system.ini",
            "word/../../document.xml",
            "word\\document.xml",
            "word/document.xml\0.png",
            "\u{202e}lmx.tnemucod",
            "",
            ".",
            "con",
        ] {
            zip = zip.file(name, b"<x/>");
        }
        zip.finish()
    }),
    HostileFile::new("65000-files.docx", DOCX, "sixty-five thousand files in one archive", || {
        let mut zip = Zip::default();
        for index in 0..65_000 {
            zip = zip.file(&format!("word/{index}.xml"), b"");
        }
        zip.finish()
    }),
    HostileFile::new("same-name.docx", DOCX, "the same name twice with other contents", || {
        Zip::default().file("word/document.xml", b"<a/>").file("word/document.xml", b"<b>").finish()
    }),
    HostileFile::new("lengths.docx", DOCX, "lengths that are lies", || {
        let data = stored(b"<w:document/>");
        let zip = Zip::default().entry("word/document.xml", 8, &data, 0, usize::MAX);
        zip.entry("[Content_Types].xml", 8, &noise(999), 0, 1).finish()
    }),
    HostileFile::new("directory-nowhere.docx", DOCX, "a directory beyond the end", || {
        let file = Zip::default().file("word/document.xml", b"<x/>").finish();
        let place = file.len() - 6;
        patched(file, place, &u32::MAX.to_le_bytes())
    }),
    HostileFile::new("count.docx", DOCX, "a directory of more files than there are", || {
        let file = Zip::default().file("word/document.xml", b"<x/>").finish();
        let place = file.len() - 14;
        patched(file, place, &[0xff, 0xff, 0xff, 0xff])
    }),
    HostileFile::new("unknown-method.docx", DOCX, "a compression that nobody knows", || {
        Zip::default().entry("word/document.xml", 99, &noise(999), 0, 1 << 30).finish()
    }),
    HostileFile::new("cut-off.docx", DOCX, "an archive without its end", || {
        let mut file = Zip::default().run("word/document.xml", b' ', 1 << 24).finish();
        file.truncate(file.len() / 2);
        file
    }),
];
