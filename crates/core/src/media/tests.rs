use super::known::ZIP;
use super::*;

fn kind(text: &str) -> Option<MediaKind> {
    MediaType::parse(text).map(|media| media.kind())
}

// documents.md 8.8 #104: the table of 4.3, row by row
#[test]
fn kinds() {
    for text in [
        "text/plain",
        "TEXT/csv; charset=x",
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/ld+json",
        "application/atom+xml",
        "image/svg+xml",
    ] {
        assert_eq!(kind(text), Some(MediaKind::Text), "{text}");
    }
    for text in [" Image/Png  ", "image/jpg", "image/gif", "image/webp", "image/bmp", "image/tiff"] {
        assert_eq!(kind(text), Some(MediaKind::Image), "{text}");
    }
    assert_eq!(kind("application/pdf;version=1.7"), Some(MediaKind::Pdf));
    assert_eq!(kind("audio/wav"), Some(MediaKind::Audio));
    assert_eq!(kind("video/mp4"), Some(MediaKind::Video));
    for text in ["application/zip", "application/octet-stream", "application/msword"] {
        assert_eq!(kind(text), Some(MediaKind::Other), "{text}");
    }
    for text in ["", " ", "pdf", "a/b/c", "/x", "x/", "te xt/plain", "text/<b>"] {
        assert_eq!(kind(text), None, "{text}");
    }
}

#[test]
fn charset_is_kept() {
    let media = MediaType::parse("text/csv; header=present; Charset=\"ISO-8859-1\"").unwrap();
    assert_eq!(media.charset(), Some("iso-8859-1"));
    assert_eq!(media.to_string(), "text/csv; charset=iso-8859-1");
    for none in ["x\r\nx-evil: 1", "a b", "\"a\nb\"", "\"\"", "a,b"] {
        let media = MediaType::parse(&format!("text/csv; charset={none}")).unwrap();
        assert_eq!(media.to_string(), "text/csv", "{none:?}");
    }
}

// documents.md 9.2 D22: missing, meaningless and wrong types
#[test]
fn resolution() {
    let png = b"\x89PNG\r\n\x1a\n....".as_slice();
    let resolve = |declared, bytes, name| MediaType::resolve(declared, bytes, name).essence().to_owned();
    assert_eq!(resolve(Some("image/jpeg"), Some(png), None), "image/png");
    assert_eq!(resolve(Some("application/octet-stream"), Some(b"%PDF-1.7"), None), "application/pdf");
    assert_eq!(resolve(None, Some(png), Some("x.pdf")), "image/png");
    assert_eq!(resolve(None, Some(b"a,b\n1,2"), Some("x.csv")), "text/csv");
    assert_eq!(resolve(None, Some(b"PK\x03\x04"), Some("x.docx")).split('.').next_back(), Some("document"));
    assert_eq!(resolve(None, Some(b"hello"), None), "text/plain");
    assert_eq!(resolve(None, Some(b"\0\x01"), None), "application/octet-stream");
    assert_eq!(resolve(Some("application/json"), Some(b"{}"), Some("x.txt")), "application/json");
    assert_eq!(resolve(Some("text/csv"), Some(png), None), "image/png");
    // A DOCX of a server that calls everything text is no text.
    assert_eq!(resolve(Some("text/plain"), Some(b"PK\x03\x04"), None), "application/zip");
    assert_eq!(resolve(None, Some(b"PK\x03\x04"), Some("x.txt")), "application/zip");
    assert!(resolve(Some("text/plain"), Some(b"PK\x03\x04"), Some("x.docx")).ends_with("document"));
}

/// The heads are those that ffmpeg, QuickTime, browsers' recorders and phones write.
#[test]
fn sound_and_video_in_one_form_of_file_are_what_somebody_said() {
    let brand = |brand: &str| [b"\0\0\0\x20ftyp", brand.as_bytes(), b"\0\0\x02\0isomiso2"].concat();
    let ebml =
        |kind: &str| [b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\x82\x84", kind.as_bytes()].concat();
    let resolve = |declared: &str, bytes: &[u8], name: &str| {
        let name = (!name.is_empty()).then_some(name);
        MediaType::resolve(Some(declared), Some(bytes), name).essence().to_owned()
    };
    for (declared, bytes, name, is) in [
        ("audio/mp4", brand("M4A "), "", "audio/mp4"),
        ("audio/x-m4a", brand("mp42"), "", "audio/mp4"),
        ("", brand("M4A "), "", "audio/mp4"),
        ("", brand("isom"), "memo.m4a", "audio/mp4"),
        ("video/quicktime", brand("qt  "), "", "video/quicktime"),
        ("", brand("qt  "), "clip.mov", "video/quicktime"),
        ("", brand("qt  "), "", "video/quicktime"),
        ("video/3gpp", brand("3gp4"), "", "video/3gpp"),
        ("", brand("3g2a"), "", "video/3gpp2"),
        ("", brand("isom"), "", "video/mp4"),
        ("audio/webm;codecs=opus", ebml("webm"), "", "audio/webm"),
        ("video/webm", ebml("webm"), "", "video/webm"),
        ("", ebml("matroska"), "", "video/x-matroska"),
        ("video/x-matroska", ebml("matroska"), "", "video/x-matroska"),
        ("", ebml("webm"), "", "video/webm"),
        ("video/ogg", b"OggS\0\x02".to_vec(), "", "video/ogg"),
        ("", b"OggS\0\x02".to_vec(), "a.opus", "audio/opus"),
        // Of another form of file they are what their bytes say.
        ("audio/mpeg", brand("M4A "), "", "audio/mp4"),
        ("video/mp4", ebml("webm"), "", "video/webm"),
        ("image/png", brand("isom"), "", "video/mp4"),
    ] {
        assert_eq!(resolve(declared, &bytes, name), is, "{declared} {name} {}", bytes.escape_ascii());
    }
}

#[test]
fn text_that_systems_call_otherwise_is_text() {
    let resolve = |declared: &str, bytes: &[u8], name: Option<&str>| {
        MediaType::resolve(Some(declared), Some(bytes), name).essence().to_owned()
    };
    let excel = "application/vnd.ms-excel";
    assert_eq!(resolve(excel, b"a,b\n1,2", Some("x.csv")), "text/csv");
    assert_eq!(resolve(excel, b"a\tb\n1\t2", Some("x.xls")), "text/plain");
    assert_eq!(resolve("", b"a\tb\n1\t2", Some("x.xls")), "text/plain");
    assert_eq!(resolve("video/mp2t", b"const a = 1;\n", Some("a.ts")), "text/plain");
    assert_eq!(resolve("application/msword", b"Dear all,", None), "text/plain");
    // Bytes that are no text, and pages, which converters see, stay as declared.
    assert_eq!(resolve(excel, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Some("x.csv")), excel);
    assert_eq!(resolve(excel, b"\xef\xbb\xbf <html><table>", Some("x.xls")), excel);
    assert_eq!(resolve("video/mp2t", b"G@\0\x10\0", Some("a.ts")), "video/mp2t");
    for script in
        ["application/x-ruby", "application/x-javascript", "application/typescript", "application/jsonl"]
    {
        assert_eq!(kind(script), Some(MediaKind::Text), "{script}");
    }
}

#[test]
fn rtf_is_no_text_whatever_it_is_called() {
    let rtf = br"{\rtf1\ansi Hello}".as_slice();
    for declared in ["text/rtf", "text/plain", "application/x-rtf", "text/richtext", "", "*/*"] {
        let media = MediaType::resolve(Some(declared), Some(rtf), Some("letter.txt"));
        assert_eq!((media.essence(), media.kind()), ("application/rtf", MediaKind::Other), "{declared}");
    }
    let code = MediaType::resolve(Some("text/x-tex"), Some(br"\documentclass{rtf}"), None);
    assert_eq!(code.essence(), "text/x-tex");
}

#[test]
fn patterns_beside_bytes_or_a_name_say_nothing() {
    let png = b"\x89PNG\r\n\x1a\n....".as_slice();
    let resolve =
        |declared, bytes, name| MediaType::resolve(Some(declared), bytes, name).essence().to_owned();
    for declared in ["image/*", "*/*", "application/*", "image", ""] {
        assert_eq!(resolve(declared, Some(png), None), "image/png", "{declared}");
        assert_eq!(resolve(declared, None, Some("a.pdf")), "application/pdf", "{declared}");
    }
    assert_eq!(resolve("text/*", Some(b"a,b\n1,2"), Some("x.csv")), "text/csv");
    let document = crate::Document::external("https://h.example/a.png").with_media_type("image/*");
    assert_eq!(document.media_type().essence(), "image/png");
}

#[test]
fn usual_names_have_one_normal_form() {
    for (name, is) in [
        ("video/avi", "video/x-msvideo"),
        ("video/vnd.avi", "video/x-msvideo"),
        ("video/wmv", "video/x-ms-wmv"),
        ("audio/x-aiff", "audio/aiff"),
        ("audio/m4a", "audio/mp4"),
        ("video/mov", "video/quicktime"),
        ("image/svg", "image/svg+xml"),
        ("text/rtf", "application/rtf"),
    ] {
        assert_eq!(MediaType::parse(name).unwrap().essence(), is);
    }
    for (name, is) in [
        ("a.AVI", "video/x-msvideo"),
        ("a.mkv", "video/x-matroska"),
        ("a.aac", "audio/aac"),
        ("a.xhtml", "application/xhtml+xml"),
        ("page.mhtml", "message/rfc822"),
    ] {
        assert_eq!(MediaType::from_file_name(name).unwrap().essence(), is);
    }
    assert_eq!(MediaType::parse("video/mp4").unwrap().extension(), Some("mp4"));
    assert_eq!(MediaType::parse("audio/mp4").unwrap().extension(), Some("m4a"));
}

#[test]
fn text_that_begins_like_a_signature_stays_the_text_it_was_declared_to_be() {
    let resolve = |declared: &str, bytes: &[u8]| {
        MediaType::resolve(Some(declared), Some(bytes), None).essence().to_owned()
    };
    for text in [
        "ID3,name\n1,ada\n",
        "BM25 is a rank",
        "OggS is",
        "fLaC is",
        "GIF89a is old",
        "II*",
        "%PDF- begins it",
    ] {
        assert_eq!(resolve("text/csv", text.as_bytes()), "text/csv", "{text}");
    }
    for text in ["ID3,name\n1,ada\n", "OggS is", "fLaC is", "what ftyp is"] {
        assert_eq!(resolve("", text.as_bytes()), "text/plain", "{text}");
    }
    assert_eq!(resolve("text/csv", b"ID3\x04\0\0\0\0\0\x10"), "audio/mpeg");
    assert_eq!(resolve("text/plain", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"), "application/pdf");
}

/// A zip archive of these empty files, stored: local heads, the directory, its end.
fn zip(names: &[&str]) -> Vec<u8> {
    let head = |signature: &[u8; 4], zeros: usize, name: &str| {
        let mut head = signature.to_vec();
        head.resize(4 + zeros, 0);
        head.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        head
    };
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend(head(b"PK\x03\x04", 22, name));
        bytes.extend([0; 2]);
        bytes.extend(name.bytes());
    }
    let directory = u32::try_from(bytes.len()).unwrap();
    for name in names {
        bytes.extend(head(b"PK\x01\x02", 24, name));
        bytes.extend([0; 16]);
        bytes.extend(name.bytes());
    }
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 12]);
    bytes.extend(directory.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[test]
fn office_files_without_a_name_are_told_by_what_is_inside() {
    let sniff = |names: &[&str]| MediaType::sniff(&zip(names)).unwrap().extension();
    assert_eq!(sniff(&["[Content_Types].xml", "word/document.xml"]), Some("docx"));
    assert_eq!(sniff(&["xl/worksheets/sheet1.xml", "xl/workbook.xml"]), Some("xlsx"));
    assert_eq!(sniff(&["ppt/presentation.xml"]), Some("pptx"));
    assert_eq!(sniff(&["xl/workbook.bin"]), Some("xlsb"));
    assert_eq!(sniff(&["mimetypeapplication/vnd.oasis.opendocument.text"]), Some("odt"));
    assert_eq!(sniff(&["mimetypeapplication/vnd.oasis.opendocument.text-template"]), Some("ott"));
    assert_eq!(sniff(&["mimetypeapplication/epub+zip"]), Some("epub"));
    assert_eq!(sniff(&["folder/word/document.xml", "a.txt"]), Some("zip"));
    assert_eq!(MediaType::sniff(b"PK\x03\x04").unwrap().extension(), Some("zip"));
    // The contents do not overrule the sender's word on them.
    let docx = zip(&["word/document.xml"]);
    assert_eq!(MediaType::resolve(None, Some(&docx), Some("x.docm")).extension(), Some("docm"));
    assert_eq!(MediaType::resolve(Some("application/zip"), Some(&docx), None).extension(), Some("zip"));
    assert_eq!(MediaType::resolve(Some("image/png"), Some(&docx), None).extension(), Some("docx"));
}

#[test]
fn names_of_office_files_say_their_types() {
    for (name, part) in [
        ("a.xlsm", "ms-excel.sheet.macroenabled"),
        ("a.docm", "ms-word.document.macroenabled"),
        ("a.pptm", "ms-powerpoint.presentation.macroenabled"),
        ("a.xlsb", "ms-excel.sheet.binary"),
        ("a.msg", "ms-outlook"),
        ("a.odp", "opendocument.presentation"),
        ("a.DOTX", "wordprocessingml.template"),
        ("a.potm", "ms-powerpoint.template"),
    ] {
        let media = MediaType::from_file_name(name).unwrap();
        assert!(media.essence().contains(part), "{name}: {media}");
        let container = if name == "a.msg" { "application/x-ole-storage" } else { ZIP };
        assert!(MediaType::parse(container).unwrap().is_refined_by(&media), "{name}");
    }
}

#[test]
fn patterns() {
    let media = MediaType::parse("image/png").unwrap();
    assert!(media.matches("image/png") && media.matches("image/*") && media.matches("*/*"));
    assert!(!media.matches("image/p*") && !media.matches("text/*") && !media.matches("*"));
}

#[test]
fn patterns_are_types_and_whole_kinds() {
    for (text, normal) in [
        (" Application/PDF ; a=b", "application/pdf"),
        ("TEXT/*", "text/*"),
        ("*/*", "*/*"),
        ("text/x-markdown", "text/markdown"),
    ] {
        assert_eq!(MediaType::pattern(text).as_deref(), Some(normal), "{text}");
    }
    for text in ["", "pdf", ".pdf", "*", "*.*", "*/pdf", "image/p*", "im*/*", "image/", "a/b/c", "**/*"] {
        assert_eq!(MediaType::pattern(text), None, "{text}");
    }
}
