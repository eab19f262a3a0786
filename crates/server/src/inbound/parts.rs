//! The content of messages: texts, and documents in their forms.

use std::fmt;

use attache_core::{Capture, ContentTree, Document, UserPart};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, de};

use super::known_documents::KnownDocuments;
use crate::address::is_web;
use crate::fault::Fault;

/// Content: a text, or parts.
#[derive(Debug)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Parts(Vec::new())
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or an array of parts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                let mut all = Vec::new();
                while let Some(part) = parts.next_element()? {
                    all.push(part);
                }
                Ok(Content::Parts(all))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// One part, of whatever kind: one flat form, so that no data is buffered to find the kind first.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<ImageUrl>,
    file: Option<File>,
    input_audio: Option<Audio>,
    // The members of Responses, where a file stands in the part itself.
    file_data: Option<String>,
    file_id: Option<String>,
    file_url: Option<String>,
    filename: Option<String>,
}

/// An address, in an object in Chat Completions and by itself in Responses.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ImageUrl {
    Object { url: String },
    Bare(String),
}

impl ImageUrl {
    fn as_str(&self) -> &str {
        match self {
            Self::Object { url } | Self::Bare(url) => url,
        }
    }
}

#[derive(Debug, Deserialize)]
struct File {
    file_data: Option<String>,
    file_id: Option<String>,
    filename: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Audio {
    data: String,
    format: String,
}

impl Content {
    /// The text of content that may be nothing else.
    pub(crate) fn into_text(self, whose: &str) -> Result<String, Fault> {
        let parts = match self {
            Self::Text(text) => return Ok(text),
            Self::Parts(parts) => parts,
        };
        let mut text = String::new();
        for part in parts {
            match (part.kind.as_str(), part.text.or(part.refusal)) {
                ("text" | "refusal" | "input_text" | "output_text", Some(piece)) => text.push_str(&piece),
                (kind, _) => return Err(Fault::invalid(format!("{whose} has a part of the type {kind:?}"))),
            }
        }
        Ok(text)
    }

    /// The result of a tool: text, and documents in it.
    pub(crate) async fn into_tree(self, known: &KnownDocuments<'_>) -> Result<ContentTree, Fault> {
        tree(self.into_parts(known).await?)
    }

    /// The parts of a user's message.
    pub(crate) async fn into_parts(self, known: &KnownDocuments<'_>) -> Result<Vec<Option<UserPart>>, Fault> {
        let parts = match self {
            Self::Text(text) => return Ok(vec![UserPart::text(text)]),
            Self::Parts(parts) => parts,
        };
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            all.push(part.into_part(known).await?);
        }
        Ok(all)
    }
}

/// The result of a tool, of the parts in which a client says it. References in texts are text.
pub(super) fn tree(parts: Vec<Option<UserPart>>) -> Result<ContentTree, Fault> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Said {
        Text(String),
        Document(Document),
    }
    let mut said: Vec<Said> = Vec::with_capacity(parts.len());
    for part in parts.into_iter().flatten() {
        match part {
            UserPart::Text(text) => said.push(Said::Text(text.text().to_owned())),
            UserPart::Document(document) => said.push(Said::Document(document)),
            _ => {}
        }
    }
    let is_text = |said: &Said| matches!(said, Said::Text(_));
    if said.iter().all(is_text) {
        let text: Vec<&str> = said
            .iter()
            .map(|said| match said {
                Said::Text(text) => text.as_str(),
                Said::Document(_) => "",
            })
            .collect();
        return Ok(ContentTree::text(&text.join("\n")));
    }
    let tree = Capture::new().finish(&said);
    tree.map_err(|error| Fault::invalid(format!("the result cannot be taken: {error}")))
}

impl Part {
    async fn into_part(self, known: &KnownDocuments<'_>) -> Result<Option<UserPart>, Fault> {
        let Self { kind, text, refusal: _, image_url, file, input_audio, .. } = self;
        let (data, id, url, name) = (self.file_data, self.file_id, self.file_url, self.filename);
        let document = match (kind.as_str(), text, image_url, file, input_audio) {
            ("text" | "input_text" | "output_text", Some(text), ..) => return Ok(UserPart::text(text)),
            ("image_url" | "input_image", _, Some(image), ..) => by_url(image.as_str())?,
            ("file", _, _, Some(file), _) => {
                let File { file_data, file_id, filename } = file;
                return stored(known, file_data, file_id, None, filename).await;
            }
            ("input_file" | "input_image", ..) => return stored(known, data, id, url, name).await,
            ("input_audio", _, _, _, Some(audio)) => {
                Document::from_bytes(decoded(&audio.data)?, &format!("audio/{}", audio.format))
            }
            (kind, ..) => return Err(unknown(kind).at("messages")),
        };
        Ok(document.into())
    }
}

/// The failure of a part that cannot be read.
pub(super) fn unknown(kind: &str) -> Fault {
    Fault::invalid(format!("a part of the type {kind:?} is not known, or has not what it needs"))
}

/// A file by its data, its id or its address.
async fn stored(
    known: &KnownDocuments<'_>,
    data: Option<String>,
    id: Option<String>,
    url: Option<String>,
    name: Option<String>,
) -> Result<Option<UserPart>, Fault> {
    let document = match (data, id, url) {
        (Some(data), ..) if is_web(&data) => by_url(&data)?,
        (Some(data), ..) => by_data(&data)?,
        (None, Some(id), _) => return known.by_id(&id, name.as_deref()).await,
        (None, None, Some(url)) => by_url(&url)?,
        (None, None, None) => return Err(Fault::invalid("a file needs its data, its address or file_id")),
    };
    Ok(match name {
        Some(name) => document.with_file_name(name),
        None => document,
    }
    .into())
}

/// A document at an address, or the one that the address is.
pub(super) fn by_url(url: &str) -> Result<Document, Fault> {
    if url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return by_data(url);
    }
    match is_web(url) {
        true => Ok(Document::external(url)),
        false => Err(Fault::invalid("an address must begin with https://, http:// or data:").at("messages")),
    }
}

/// A document with the media type that its client says: bytes may say another.
pub(super) fn typed(document: Document, media_type: Option<&str>) -> Document {
    match (media_type, document.bytes()) {
        (Some(media_type), Some(bytes)) => Document::from_bytes(bytes, media_type),
        (Some(media_type), None) => document.with_media_type(media_type),
        (None, _) => document,
    }
}

/// A document of base64, with or without the head of a data URL.
pub(super) fn by_data(data: &str) -> Result<Document, Fault> {
    let Some((head, data)) = data.get(..5).and_then(|scheme| {
        scheme.eq_ignore_ascii_case("data:").then(|| data.get(5..).and_then(|rest| rest.split_once(',')))?
    }) else {
        return Ok(Document::from_bytes(decoded(data)?, ""));
    };
    match head.rsplit_once(';') {
        Some((media_type, encoding)) if encoding.trim().eq_ignore_ascii_case("base64") => {
            Ok(Document::from_bytes(decoded(data)?, media_type))
        }
        _ => Err(Fault::invalid("a data URL must be of base64").at("messages")),
    }
}

/// Decodes base64, where lines and padding may be as they are in mail and on the web.
pub(super) fn decoded(data: &str) -> Result<Vec<u8>, Fault> {
    let wrong = || Fault::invalid("the data of a document is not base64").at("messages");
    attache_core::base64::decode(data).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_as_data_and_as_addresses() {
        let pdf = by_data("data:application/pdf;base64,JVBERi0xLjc=").unwrap();
        assert_eq!((pdf.media_type().essence(), pdf.size()), ("application/pdf", Some(8)));
        assert_eq!(by_data("JVBERi0xLjc=").unwrap().media_type().essence(), "application/pdf");
        assert_eq!(by_data("DATA:text/plain;charset=utf-8;base64,aGk=").unwrap().bytes().unwrap(), "hi");
        assert!(by_url("https://example.org/a.png").is_ok());
        for wrong in ["file:///etc/passwd", "ftp://a/b", "data:text/plain,hi", "data:a;base64,%%", "é", ""] {
            assert!(by_url(wrong).is_err(), "{wrong}");
        }
    }
}
