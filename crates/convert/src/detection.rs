//! The format of a document by its bytes, where its media type does not say it or says it wrong.

use bytes::Bytes;
use memchr::memmem;

use crate::ConvertError;
#[cfg(feature = "legacy")]
use crate::Limits;
use crate::archive::Archive;
use crate::charset;
#[cfg(feature = "legacy")]
use crate::compound::Compound;
use crate::format::Format;
use crate::tar::is_tar;

/// The mark of the compound files that Office wrote before 2007, and writes still for encrypted documents.
pub(crate) const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// The format of the bytes, given their declared type.
///
/// # Errors
/// They are of a kind that is known and not read, or the type said nothing and the bytes neither.
pub(crate) fn resolve(declared: Format, bytes: &Bytes) -> Result<Format, ConvertError> {
    if !declared.is_container() {
        return Ok(declared);
    }
    if bytes.starts_with(COMPOUND) {
        return compound(bytes);
    }
    let found = if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        inside(bytes).or(matches!(declared, Format::Unknown | Format::Office).then_some(Format::Zip))
    } else {
        by_signature(bytes)
    };
    match (declared, found) {
        (_, Some(found)) => Ok(found),
        // Systems call text by the names of programs that open it, and know few of its endings.
        (Format::Unknown | Format::Office, None) if charset::is_plain(bytes) => Ok(Format::Text),
        (Format::Unknown | Format::Office, None) => Err(ConvertError::UnknownFormat),
        (_, None) => Ok(declared),
    }
}

/// A format that a zip archive holds, by the names in it.
fn inside(bytes: &[u8]) -> Option<Format> {
    let archive = Archive::names_of(bytes)?;
    let has = |name: &str| archive.has(name);
    #[cfg(feature = "office")]
    if has("[Content_Types].xml") || has("_rels/.rels") {
        if has("word/document.xml") || archive.has_under("word/") {
            return Some(Format::Docx);
        }
        if has("xl/workbook.xml") || archive.has_under("xl/") {
            return Some(Format::Xlsx);
        }
        if has("ppt/presentation.xml") || archive.has_under("ppt/") {
            return Some(Format::Pptx);
        }
    }
    #[cfg(feature = "epub")]
    if has("META-INF/container.xml")
        && archive.stored("mimetype").is_none_or(|m| m.starts_with(b"application/epub"))
    {
        return Some(Format::Epub);
    }
    #[cfg(feature = "office")]
    if has("content.xml") {
        let declared = archive.stored("mimetype").unwrap_or_default();
        return Format::of(&String::from_utf8_lossy(declared.trim_ascii()))
            .filter(|format| matches!(format, Format::OpenText | Format::OpenSheet | Format::OpenSlides));
    }
    let _ = has;
    None
}

fn by_signature(bytes: &[u8]) -> Option<Format> {
    #[cfg(feature = "pdf")]
    if bytes.starts_with(b"%PDF-") {
        return Some(Format::Pdf);
    }
    #[cfg(feature = "office")]
    if bytes.starts_with(b"{\\rtf") {
        return Some(Format::Rtf);
    }
    #[cfg(feature = "html")]
    {
        let head = bytes.get(..512.min(bytes.len())).unwrap_or_default();
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().to_ascii_lowercase();
        if head.starts_with(b"<!doctype html") || head.starts_with(b"<html") {
            return Some(Format::Html);
        }
    }
    if bytes.starts_with(b"\x1f\x8b") {
        return Some(Format::Gzip);
    }
    is_tar(bytes).then_some(Format::Tar)
}

/// The format of a compound file, by the names of the streams that it begins with: others belong to embedded files.
fn compound(bytes: &Bytes) -> Result<Format, ConvertError> {
    #[cfg(feature = "legacy")]
    if let Ok(file) = Compound::open(bytes, &Limits::new()) {
        let names = file.entries("/");
        let has = |name: &str| names.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
        if has("EncryptedPackage") || has("EncryptionInfo") {
            return Ok(Format::Encrypted);
        }
        return match () {
            () if has("WordDocument") => Ok(Format::Doc),
            () if has("PowerPoint Document") => Ok(Format::Ppt),
            () if has("Workbook") || has("Book") => Ok(Format::Xls),
            () if has("__properties_version1.0") => Ok(Format::Msg),
            () => Err(ConvertError::OldFormat { format: "Office before 2007" }),
        };
    }
    let holds = |name: &str| {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        memmem::find(bytes, &wide).is_some()
    };
    if holds("EncryptedPackage") || holds("EncryptionInfo") {
        return Err(ConvertError::Encrypted { reason: "it needs a password" });
    }
    let format = if holds("PowerPoint Document") {
        "PowerPoint before 2007 (.ppt)"
    } else if holds("WordDocument") {
        "Word before 2007 (.doc)"
    } else if holds("__properties_version1.0") {
        "Outlook (.msg)"
    } else if holds("Workbook") || holds("Book") {
        "Excel before 2007 (.xls)"
    } else {
        "Office before 2007"
    };
    Err(ConvertError::OldFormat { format })
}
