//! Documents that the model made, as members of a message of Chat Completions. OpenAI's API has none for them: `images` is
//! that of OpenRouter, and `files` has the other documents as parts of a user's message do.

use attache_core::{Document, DocumentSource, MediaKind};

use crate::address::Addresses;
use crate::json::Object;

/// The documents of an answer, as JSON.
#[derive(Debug, Default)]
pub(super) struct Made {
    images: Vec<Vec<u8>>,
    files: Vec<Vec<u8>>,
}

impl Made {
    /// Adds a document. There are addresses of documents where a session keeps them.
    pub(super) fn add(&mut self, document: &Document, addresses: Option<&Addresses>) {
        let url = address(document, addresses);
        let mut part = Vec::new();
        match url {
            Some(url) if document.media_type().kind() == MediaKind::Image => {
                let url = |out: &mut Vec<u8>| Object::begin(out).with("url", &url).end();
                Object::begin(&mut part).with("type", "image_url").by("image_url", url).end();
                self.images.push(part);
            }
            url => {
                let id = url.is_none().then(|| document.id());
                let file = |out: &mut Vec<u8>| {
                    let file = Object::begin(out).maybe("filename", document.file_name());
                    file.maybe("file_data", url.as_ref()).maybe("file_id", id).end();
                };
                Object::begin(&mut part).with("type", "file").by("file", file).end();
                self.files.push(part);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.images.is_empty() && self.files.is_empty()
    }

    /// Adds them to a message, or a piece of one.
    pub(super) fn members<'o>(&self, mut object: Object<'o>) -> Object<'o> {
        for (name, parts) in [("images", &self.images), ("files", &self.files)] {
            if !parts.is_empty() {
                object = object.each(name, parts, |part, out| out.extend_from_slice(part));
            }
        }
        object
    }
}

/// The content as a data URL, or its address.
fn address(document: &Document, addresses: Option<&Addresses>) -> Option<String> {
    if let Some(bytes) = document.bytes() {
        let media_type = document.media_type().essence();
        return Some(format!("data:{media_type};base64,{}", attache_core::base64::encode(bytes)));
    }
    match document.source() {
        DocumentSource::External { url } => Some(url.to_string()),
        _ => addresses.map(|addresses| addresses.of(document.id())),
    }
}
