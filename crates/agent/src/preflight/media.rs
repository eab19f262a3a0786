//! The fate of the media types that tools declare.

use std::sync::Arc;

use attache_core::capability::{Place, PlaceCapabilities};
use attache_core::{Converter, MediaKind, MediaType, ModelCapabilities};

/// A media type that a tool declares.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeclaredMedia {
    /// The tool's internal name.
    pub tool: String,
    /// The media type as it is declared, such as `application/pdf` or `image/*`.
    pub media: String,
    /// The fate of such documents.
    pub fate: MediaFate,
}

/// The fate of documents of a media type that a tool returns. Each document is decided upon when it is there; this
/// is what its type alone tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaFate {
    /// They stand in the tool result as they are, text as text.
    Native,
    /// They follow the tool result in a user message.
    Behind,
    /// Some types of them are taken as they are, these; others are not.
    Partly(Vec<String>),
    /// A converter brings them into a form that is taken.
    Reencoded,
    /// A converter makes text of them.
    Converted,
    /// The model sees a note in their place.
    Note,
}

impl DeclaredMedia {
    pub(crate) fn told(&self, model: &str) -> String {
        let Self { tool, media, fate } = self;
        let nowhere = || format!("which {model} takes neither in tool results nor in user messages");
        match fate {
            MediaFate::Native => {
                format!("tool `{tool}` returns {media}, which {model} takes in tool results")
            }
            MediaFate::Behind => format!(
                "tool `{tool}` returns {media}, which {model} does not take in tool results: it follows in a user message"
            ),
            MediaFate::Partly(taken) => format!(
                "tool `{tool}` returns {media}, of which {model} takes {}: the model sees others converted or as a note",
                taken.join(", ")
            ),
            MediaFate::Reencoded => format!("tool `{tool}` returns {media}, {}: it is re-encoded", nowhere()),
            MediaFate::Converted => {
                format!("tool `{tool}` returns {media}, {}: the model sees its text", nowhere())
            }
            MediaFate::Note if MediaType::parse(&media.replace('*', "any")).is_none() => {
                format!("tool `{tool}` declares {media:?}, which is no media type")
            }
            MediaFate::Note => format!(
                "tool `{tool}` returns {media}, {}, and no converter reads it: the model will see a note",
                nowhere()
            ),
        }
    }
}

/// The fate of documents of the declared type.
pub(super) fn fate(
    declared: &str,
    capabilities: &ModelCapabilities,
    converters: &[Arc<dyn Converter>],
) -> MediaFate {
    let declared = declared.trim().to_ascii_lowercase();
    // For a whole family any member stands; what a place says of the family itself is looked at first.
    let Some(media) = MediaType::parse(&declared.replace('*', "any")) else { return MediaFate::Note };
    let (result, behind) =
        (capabilities.place(Place::ToolResult), capabilities.place(Place::AfterToolResults));
    let family = declared.strip_suffix('*');
    if takes(result, &media, family) {
        return MediaFate::Native;
    }
    if takes(behind, &media, family) {
        return MediaFate::Behind;
    }
    if let Some(prefix) = family {
        let mut taken: Vec<String> = Vec::new();
        for pattern in result.media.iter().chain(&behind.media) {
            if pattern.starts_with(prefix) && !taken.contains(pattern) {
                taken.push(pattern.clone());
            }
        }
        if !taken.is_empty() {
            return MediaFate::Partly(taken);
        }
    }
    let fitted = [result, behind]
        .into_iter()
        .filter_map(|place| place.form(&media))
        .any(|form| converters.iter().any(|converter| converter.transcodes(&media, &form)));
    if fitted {
        return MediaFate::Reencoded;
    }
    let shows_text = result.accepts_text() || behind.accepts_text();
    if shows_text && converters.iter().any(|converter| converter.converts(&media)) {
        return MediaFate::Converted;
    }
    MediaFate::Note
}

/// True if a user message may have documents of that type, as they are, in another encoding, or as text.
pub(crate) fn reads(
    media: &MediaType,
    capabilities: &ModelCapabilities,
    converters: &[Arc<dyn Converter>],
) -> bool {
    let place = capabilities.place(Place::User);
    let fits = |form| converters.iter().any(|converter| converter.transcodes(media, &form));
    place.accepts(media)
        || place.form(media).is_some_and(fits)
        || place.accepts_text() && converters.iter().any(|converter| converter.converts(media))
}

/// True if a place takes all documents of a type, or of a family of types.
fn takes(place: &PlaceCapabilities, media: &MediaType, family: Option<&str>) -> bool {
    match family {
        None => place.accepts(media),
        Some("text/") => place.accepts_text(),
        Some(family) if media.kind() != MediaKind::Text => {
            place.media.iter().any(|pattern| pattern == "*/*" || pattern.strip_suffix('*') == Some(family))
        }
        Some(_) => false,
    }
}
