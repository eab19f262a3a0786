//! Media types as blocks and formats (bedrock.md 3). A document that reads as text is a text block.

use attache_core::{MediaKind, MediaType};

/// The block that a media type stands in, and the word for its format there.
pub(super) fn block(media: &MediaType) -> Option<(&'static str, &'static str)> {
    let format = match (media.kind(), media.essence()) {
        (MediaKind::Image, "image/png") => ("image", "png"),
        (MediaKind::Image, "image/jpeg") => ("image", "jpeg"),
        (MediaKind::Image, "image/gif") => ("image", "gif"),
        (MediaKind::Image, "image/webp") => ("image", "webp"),
        (MediaKind::Pdf, _) => ("document", "pdf"),
        (_, "application/msword") => ("document", "doc"),
        (_, "application/vnd.openxmlformats-officedocument.wordprocessingml.document") => {
            ("document", "docx")
        }
        (_, "application/vnd.ms-excel") => ("document", "xls"),
        (_, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet") => ("document", "xlsx"),
        (MediaKind::Video, "video/mp4") => ("video", "mp4"),
        (MediaKind::Video, "video/quicktime") => ("video", "mov"),
        (MediaKind::Video, "video/x-matroska") => ("video", "mkv"),
        (MediaKind::Video, "video/webm") => ("video", "webm"),
        (MediaKind::Video, "video/x-flv") => ("video", "flv"),
        (MediaKind::Video, "video/mpeg") => ("video", "mpeg"),
        (MediaKind::Video, "video/x-ms-wmv") => ("video", "wmv"),
        (MediaKind::Video, "video/3gpp") => ("video", "three_gp"),
        (MediaKind::Audio, "audio/mpeg") => ("audio", "mp3"),
        (MediaKind::Audio, "audio/wav") => ("audio", "wav"),
        (MediaKind::Audio, "audio/aac") => ("audio", "aac"),
        (MediaKind::Audio, "audio/flac") => ("audio", "flac"),
        (MediaKind::Audio, "audio/ogg") => ("audio", "ogg"),
        (MediaKind::Audio, "audio/opus") => ("audio", "opus"),
        (MediaKind::Audio, "audio/mp4") => ("audio", "m4a"),
        (MediaKind::Audio, "audio/webm") => ("audio", "webm"),
        _ => return None,
    };
    Some(format)
}
