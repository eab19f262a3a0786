//! Chooses between the declared type, the type of the bytes, and the type of the file name.

use super::signature::{is_markup, plain_text, signature};
use super::{MediaKind, MediaType, RTF};

/// A form of file that several media types share.
#[derive(PartialEq, Eq)]
enum Container {
    IsoMedia,
    Ebml,
    Ogg,
}

impl MediaType {
    /// Chooses the best type from the declared one, the bytes and the file name.
    ///
    /// A signature in the bytes overrides a declared image, PDF, audio or video type, a text type for bytes that are
    /// not text, and a missing or meaningless type; otherwise the declared type is used. The file name is used if
    /// neither gives a type. Text that systems often mislabel, such as CSV as `application/vnd.ms-excel`, gets the type
    /// of its file name, or `text/plain`. For container formats that hold audio or video (MP4, WebM, Ogg) the declared
    /// type or the file name decides. RTF is never text, regardless of its label. A pattern such as `image/*` is not a
    /// type.
    pub fn resolve(declared: Option<&str>, bytes: Option<&[u8]>, file_name: Option<&str>) -> Self {
        let declared = declared.and_then(Self::parse).filter(|media| !media.is_unknown());
        let seen = bytes.and_then(signature).and_then(Self::parse);
        // Text may begin with the letters of a signature.
        let reads_as_text = || bytes.is_some_and(plain_text);
        let plain = || Self::parse("text/plain");
        // Pages that programs call spreadsheets are for converters, who see them.
        let is_misnamed =
            |media: &Self| media.is_often_wrong() && reads_as_text() && !bytes.is_some_and(is_markup);
        match (declared, seen) {
            (Some(declared), Some(seen))
                if declared.kind() == MediaKind::Text && &*seen.essence != RTF && reads_as_text() =>
            {
                declared
            }
            (Some(declared), Some(seen)) if declared.conflicts_with(&seen) => {
                let named = file_name.and_then(Self::from_file_name);
                named.filter(|named| seen.is_refined_by(named)).unwrap_or(seen)
            }
            (Some(declared), None) if is_misnamed(&declared) => {
                let named = file_name.and_then(Self::from_file_name);
                named.filter(|named| named.kind() == MediaKind::Text).or_else(plain).unwrap_or(declared)
            }
            (Some(declared), _) => declared,
            (None, seen) => {
                let named = file_name.and_then(Self::from_file_name);
                match (named, seen) {
                    // A zip that is named .docx is a DOCX.
                    (Some(named), Some(seen)) if named.conflicts_with(&seen) => seen,
                    (Some(named), None)
                        if named.has_signature() && reads_as_text() || is_misnamed(&named) =>
                    {
                        plain().unwrap_or(named)
                    }
                    (Some(named), _) => named,
                    (None, Some(seen)) => seen,
                    (None, None) => bytes.and_then(Self::sniff).unwrap_or_else(Self::octet_stream),
                }
            }
        }
    }

    fn conflicts_with(&self, seen: &MediaType) -> bool {
        // The head of such a file does not say whether it has pictures, sound or both, or says it wrong.
        if self.container().is_some_and(|container| seen.container() == Some(container)) {
            return false;
        }
        let archive =
            matches!(&*seen.essence, "application/zip" | "application/x-ole-storage" | "application/gzip");
        !archive && self.essence != seen.essence && self.kind() != MediaKind::Other
            || archive && matches!(self.kind(), MediaKind::Text | MediaKind::Image | MediaKind::Pdf)
    }

    /// The form of file in which the sound or pictures of this type come, where several types share one.
    fn container(&self) -> Option<Container> {
        let (kind, subtype) = self.essence.split_once('/')?;
        if !matches!(kind, "audio" | "video") {
            return None;
        }
        Some(match subtype {
            "mp4" | "quicktime" | "3gpp" | "3gpp2" | "mj2" => Container::IsoMedia,
            "webm" | "x-matroska" | "matroska" => Container::Ebml,
            "ogg" | "opus" | "vorbis" | "speex" | "theora" => Container::Ogg,
            _ => return None,
        })
    }

    /// True for types by which systems call files of text: Windows calls CSV after the program that opens it, and an
    /// ending stands for TypeScript too.
    fn is_often_wrong(&self) -> bool {
        matches!(&*self.essence, "application/vnd.ms-excel" | "application/msword" | "video/mp2t")
    }

    /// True if bytes of this type say it themselves.
    fn has_signature(&self) -> bool {
        matches!(self.kind(), MediaKind::Image | MediaKind::Pdf | MediaKind::Audio | MediaKind::Video)
    }
}
