//! Which type is believed: the declared one, that of the bytes, or that of the file name.

use super::signature::{plain_text, signature};
use super::{MediaKind, MediaType};

impl MediaType {
    /// The best of what was declared, what the bytes say and what the file name says.
    ///
    /// A signature in the bytes wins over a declared image, PDF, sound or video type, over text that is none, and over a
    /// missing or meaningless type; otherwise the declared type holds. A name speaks where neither does.
    pub fn resolve(declared: Option<&str>, bytes: Option<&[u8]>, file_name: Option<&str>) -> Self {
        let declared = declared.and_then(Self::parse).filter(|media| !media.is_unknown());
        let seen = bytes.and_then(signature).and_then(Self::parse);
        // Text may begin with the letters of a signature.
        let reads_as_text = || bytes.is_some_and(plain_text);
        match (declared, seen) {
            (Some(declared), Some(_)) if declared.kind() == MediaKind::Text && reads_as_text() => declared,
            (Some(declared), Some(seen)) if declared.conflicts_with(&seen) => seen,
            (Some(declared), _) => declared,
            (None, seen) => {
                let named = file_name.and_then(Self::from_file_name);
                match (named, seen) {
                    // A zip that is named .docx is a DOCX.
                    (Some(named), Some(seen)) if named.conflicts_with(&seen) => seen,
                    (Some(named), None) if named.has_signature() && reads_as_text() => {
                        Self::parse("text/plain").unwrap_or(named)
                    }
                    (Some(named), _) => named,
                    (None, Some(seen)) => seen,
                    (None, None) => bytes.and_then(Self::sniff).unwrap_or_else(Self::octet_stream),
                }
            }
        }
    }

    fn conflicts_with(&self, seen: &MediaType) -> bool {
        let container =
            matches!(&*seen.essence, "application/zip" | "application/x-ole-storage" | "application/gzip");
        !container && self.essence != seen.essence && self.kind() != MediaKind::Other
            || container && matches!(self.kind(), MediaKind::Image | MediaKind::Pdf)
    }

    /// True if bytes of this type say it themselves.
    fn has_signature(&self) -> bool {
        matches!(self.kind(), MediaKind::Image | MediaKind::Pdf | MediaKind::Audio | MediaKind::Video)
    }
}
