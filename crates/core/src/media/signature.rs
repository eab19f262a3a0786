//! Media types as the bytes of a document say them.

use super::known::{EXTENSIONS, ZIP};

/// The media type that the first bytes say.
pub(super) fn signature(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"PK\x03\x04", "application/zip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
        (b"\x1f\x8b", "application/gzip"),
        // With the version, and the type of the first block: the letters alone may begin a text.
        (b"ID3\x02", "audio/mpeg"),
        (b"ID3\x03", "audio/mpeg"),
        (b"ID3\x04", "audio/mpeg"),
        (b"OggS\0", "audio/ogg"),
        (b"fLaC\0", "audio/flac"),
        (b"fLaC\x80", "audio/flac"),
        (EBML, "video/webm"),
        (b"{\\rtf", "application/rtf"),
    ];
    if let Some((magic, media)) = SIGNATURES.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        let inside = match *magic {
            _ if *media == ZIP => in_zip(bytes),
            EBML => in_ebml(bytes),
            _ => None,
        };
        return Some(inside.unwrap_or(media));
    }
    match (bytes.get(..4), bytes.get(4..8), bytes.get(8..12)) {
        (Some(b"RIFF"), _, Some(b"WEBP")) => Some("image/webp"),
        (Some(b"RIFF"), _, Some(b"WAVE")) => Some("audio/wav"),
        // The box that says it is small.
        (
            Some([0, ..]),
            Some(b"ftyp"),
            Some(b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"mif1" | b"msf1"),
        ) => Some("image/heic"),
        (Some([0, ..]), Some(b"ftyp"), Some(b"avif" | b"avis")) => Some("image/avif"),
        // Of the brands that say which tracks there are. (ISO/IEC 14496-12 4.3, and mp4ra.org)
        (Some([0, ..]), Some(b"ftyp"), Some(b"M4A " | b"M4B " | b"M4P ")) => Some("audio/mp4"),
        (Some([0, ..]), Some(b"ftyp"), Some(b"qt  ")) => Some("video/quicktime"),
        (Some([0, ..]), Some(b"ftyp"), Some([b'3', b'g', b'2', _])) => Some("video/3gpp2"),
        (Some([0, ..]), Some(b"ftyp"), Some([b'3', b'g', ..])) => Some("video/3gpp"),
        (Some([0, ..]), Some(b"ftyp"), Some(_)) => Some("video/mp4"),
        (Some(magic), Some(size), _) if magic.starts_with(b"BM") && size.ends_with(b"\0\0") => {
            Some("image/bmp")
        }
        _ => None,
    }
}

/// The head of the files that Matroska and WebM write.
const EBML: &[u8] = b"\x1a\x45\xdf\xa3";

/// Matroska, if the head says so. (RFC 8794 11.2.5)
fn in_ebml(bytes: &[u8]) -> Option<&'static str> {
    let head = bytes.get(..64.min(bytes.len()))?;
    let is_matroska = head.windows(8).any(|word| word == b"matroska");
    is_matroska.then_some("video/x-matroska")
}

/// The document that a zip archive is: by the type that it says at its begin, or by the names in its directory.
fn in_zip(bytes: &[u8]) -> Option<&'static str> {
    const MAIN_PARTS: [(&[u8], &str); 4] = [
        (b"word/document.xml", "docx"),
        (b"xl/workbook.xml", "xlsx"),
        (b"ppt/presentation.xml", "pptx"),
        (b"xl/workbook.bin", "xlsb"),
    ];
    // The maximum number of bytes behind the end of the directory, and the maximum number of names that are looked at.
    const MAX_COMMENT: usize = 66_000;
    const MAX_NAMES: usize = 4_096;
    let media = |extension: &str| EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, m)| *m);
    // The first file of OpenDocument and EPUB is stored as it is, and its name is 8 long.
    let head = bytes.get(30..200.min(bytes.len()))?;
    if let Some(said) = head.strip_prefix(b"mimetype") {
        let types = EXTENSIONS.iter().filter(|(_, media)| said.starts_with(media.as_bytes()));
        return types.map(|(_, media)| *media).max_by_key(|media| media.len());
    }
    let two = |at: usize| Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)));
    let tail = bytes.len().saturating_sub(MAX_COMMENT);
    let end = tail + bytes.get(tail..)?.windows(4).rposition(|window| window == b"PK\x05\x06")?;
    let mut at = usize::try_from(u32::from_le_bytes(*bytes.get(end + 16..)?.first_chunk()?)).ok()?;
    for _ in 0..MAX_NAMES {
        if !bytes.get(at..)?.starts_with(b"PK\x01\x02") {
            break;
        }
        let name = bytes.get(at + 46..)?.get(..two(at + 28)?)?;
        if let Some((_, extension)) = MAIN_PARTS.iter().find(|(part, _)| *part == name) {
            return media(extension);
        }
        at += 46 + name.len() + two(at + 30)? + two(at + 32)?;
    }
    None
}

/// True if a text begins as HTML and XML do.
pub(super) fn is_markup(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start().starts_with(b"<")
}

/// The first 4 KiB hold nothing that text does not hold.
pub(super) fn plain_text(bytes: &[u8]) -> bool {
    let head = bytes.get(..4096).unwrap_or(bytes);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character cut by the 4 KiB boundary is no proof against text.
        Err(error) if error.error_len().is_none() && head.len() < bytes.len() => {
            head.get(..error.valid_up_to()).and_then(|whole| std::str::from_utf8(whole).ok()).unwrap_or("")
        }
        Err(_) => return false,
    };
    !text.is_empty() && !text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c'))
}
