//! The items of a response's output.

use attache_core::citation::Source;
use attache_core::{Citation, Document, MediaKind, ToolCallId};

use super::annotation::{span, with_others};
use crate::json::Object;

/// A piece of the output.
#[derive(Debug)]
pub(super) enum Item {
    Thinking(String),
    Message {
        text: String,
        annotations: Vec<Vec<u8>>,
        /// The citations for which OpenAI's API has no word.
        others: Vec<Vec<u8>>,
        /// The place in the text at which what the last step said begins.
        step: usize,
    },
    Call {
        id: ToolCallId,
        name: String,
        arguments: String,
    },
    /// An image that the model made, in base64, and the API's word for its format.
    Image {
        data: String,
        format: Option<&'static str>,
    },
}

/// The formats of images that the API names, by their media types.
const FORMATS: [(&str, &str); 5] = [
    ("image/png", "png"),
    ("image/webp", "webp"),
    ("image/jpeg", "jpeg"),
    ("image/gif", "gif"),
    ("image/svg+xml", "svg"),
];

/// The media type of an image by the API's word for its format.
pub(crate) fn media_type(format: Option<&str>) -> Option<&'static str> {
    let format = format.unwrap_or("png");
    FORMATS.iter().find(|(_, word)| *word == format).map(|(media_type, _)| *media_type)
}

impl Item {
    pub(super) fn message() -> Self {
        Self::Message { text: String::new(), annotations: Vec::new(), others: Vec::new(), step: 0 }
    }

    /// A document that the model made, if it is an image whose content is at hand: the API has no item for others.
    pub(super) fn made(document: &Document) -> Option<Self> {
        let media_type = document.media_type();
        let bytes = document.bytes().filter(|_| media_type.kind() == MediaKind::Image)?;
        let format = FORMATS.iter().find(|(known, _)| *known == media_type.essence());
        Some(Self::Image {
            data: attache_core::base64::encode(&*bytes),
            format: format.map(|(_, format)| *format),
        })
    }

    /// The beginning of its id.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Thinking(_) => "rs",
            Self::Call { .. } => "fc",
            Self::Image { .. } => "ig",
            Self::Message { .. } => "msg",
        }
    }

    /// Writes it as it is, or as it begins.
    pub(super) fn write(&self, id: &str, status: &str, begins: bool, out: &mut Vec<u8>) {
        let object = Object::begin(out).with("id", id);
        match self {
            Self::Thinking(text) => {
                let object = object.with("type", "reasoning").by("summary", |out| {
                    out.extend_from_slice(b"[]");
                });
                let text = Some(text).filter(|_| !begins);
                object.each("content", text, thinking).with("status", status).end();
            }
            Self::Message { text, annotations, others, .. } => object
                .with("type", "message")
                .with("role", "assistant")
                .with("status", status)
                .each("content", Some(()).filter(|()| !begins), |(), out| {
                    part(text, annotations, others, out);
                })
                .end(),
            Self::Call { id, name, arguments } => object
                .with("type", "function_call")
                .with("call_id", id)
                .with("name", name)
                .with("arguments", if begins { "" } else { arguments.as_str() })
                .with("status", status)
                .end(),
            Self::Image { data, format } => object
                .with("type", "image_generation_call")
                .with("status", status)
                .with("result", &Some(data).filter(|_| !begins))
                .maybe("output_format", format.as_ref())
                .end(),
        }
    }
}

pub(super) fn thinking(text: impl AsRef<str>, out: &mut Vec<u8>) {
    Object::begin(out).with("type", "reasoning_text").text("text", text.as_ref()).end();
}

pub(super) fn part(text: &str, annotations: &[Vec<u8>], others: &[Vec<u8>], out: &mut Vec<u8>) {
    let object = Object::begin(out)
        .with("type", "output_text")
        .text("text", text)
        .each("annotations", annotations, |annotation, out| out.extend_from_slice(annotation))
        .by("logprobs", |out| out.extend_from_slice(b"[]"));
    with_others(object, others).end();
}

/// Writes a citation as an annotation; false where OpenAI's API has no word for its source. All that is known of it stands
/// in the member `attache`.
pub(super) fn annotate(citation: &Citation, text: &str, step: usize, out: &mut Vec<u8>) -> bool {
    let (before, said) = text.split_at_checked(step).unwrap_or_default();
    let (start, end) = span(citation, said, before.chars().count());
    let object = Object::begin(out);
    match &citation.source {
        Source::Document { id, name } => object
            .with("type", "file_citation")
            .with("file_id", id)
            .with("filename", name.as_deref().unwrap_or_default())
            .with("index", &end),
        // A file that the model's provider keeps.
        Source::Foreign { id, title } => object
            .with("type", "file_citation")
            .with("file_id", id)
            .with("filename", title.as_deref().unwrap_or_default())
            .with("index", &end),
        Source::Url { url, title } => object
            .with("type", "url_citation")
            .with("url", url)
            .with("title", title.as_deref().unwrap_or_default())
            .with("start_index", &start)
            .with("end_index", &end),
        _ => {
            out.clear();
            return false;
        }
    }
    .with("attache", citation)
    .end();
    true
}
