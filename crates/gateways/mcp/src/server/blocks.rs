//! Documents as blocks of content.

use std::collections::HashSet;
use std::time::Duration;

use attache_agent::Agent;
use attache_core::tree::REFERENCE_ID;
use attache_core::{ContentTree, Document, DocumentSource, MediaKind};
use rmcp::model::{ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::kept_documents::{Shelf, Whose, address, name};
use super::limits::McpServeLimits;
use crate::uri::{FILE_NAME, SCHEME};

/// The time to fetch the documents of a result that its client cannot fetch.
pub(super) const FETCHING: Duration = Duration::from_secs(60);

/// The content of a result, in the making.
pub(super) struct Blocks<'a> {
    shelf: &'a Shelf,
    whose: &'a Whose,
    limits: &'a McpServeLimits,
    content: Vec<ContentBlock>,
    documents: Vec<Value>,
    seen: HashSet<[u8; 32]>,
    inline: usize,
    left_out: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(shelf: &'a Shelf, whose: &'a Whose, limits: &'a McpServeLimits) -> Self {
        Self {
            shelf,
            whose,
            limits,
            content: Vec::new(),
            documents: Vec::new(),
            seen: HashSet::new(),
            inline: 0,
            left_out: 0,
        }
    }

    /// Adds text, unless it is blank.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.content.push(ContentBlock::text(text));
        }
    }

    /// Adds the output of a tool: its text, and its documents in order.
    pub(super) fn tree(&mut self, tree: &ContentTree, documents: &[Document], withheld: usize) {
        if !is_bare(tree, documents) {
            self.text(tree.model_text());
        }
        for document in documents {
            self.document(document);
        }
        if withheld > 0 {
            self.text(format!("[{} withheld by the tool]", count(withheld)));
        }
    }

    /// Adds a document: as an image, sound, or resource; as a link where it is large, or elsewhere. The same content is
    /// added once.
    pub(super) fn document(&mut self, document: &Document) {
        if document.hash().is_some_and(|hash| !self.seen.insert(hash)) {
            return;
        }
        if self.documents.len() >= self.limits.documents {
            self.left_out += 1;
            return;
        }
        let (block, uri) = self.block(document);
        let mut said = json!({
            "name": name(document),
            "mediaType": document.media_type().to_string(),
            "size": document.size(),
            "uri": uri,
        });
        if let Some(members) = said.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        self.documents.push(said);
        self.content.push(block);
    }

    fn block(&mut self, document: &Document) -> (ContentBlock, Option<String>) {
        let media = document.media_type().to_string();
        let Some(bytes) = document.bytes() else {
            return match document.source() {
                DocumentSource::External { url } if is_ours(url) => {
                    let name = name(document);
                    let text = format!(
                        "[the document {name} is where only this server reads it, and cannot be had now]"
                    );
                    (ContentBlock::text(text), None)
                }
                DocumentSource::External { url } => {
                    (ContentBlock::resource_link(link(url, document)), Some(url.to_string()))
                }
                _ => {
                    let text = format!("[the document {} is not kept any more]", name(document));
                    (ContentBlock::text(text), None)
                }
            };
        };
        let kept = self.shelf.keep(self.whose, document, self.limits);
        let fits = bytes.len() <= self.limits.inline_bytes
            && self.inline.saturating_add(bytes.len()) <= self.limits.inline_total;
        if !fits {
            return match kept {
                Some(uri) => (ContentBlock::resource_link(link(&uri, document)), Some(uri)),
                None => {
                    let text = format!(
                        "[the document {} has {} bytes, which is more than can be handed over]",
                        name(document),
                        bytes.len()
                    );
                    (ContentBlock::text(text), None)
                }
            };
        }
        self.inline += bytes.len();
        let named = || {
            let mut meta = MetaObject::default();
            meta.0.insert(FILE_NAME.to_owned(), Value::String(name(document)));
            Some(meta)
        };
        let block = match document.media_type().kind() {
            MediaKind::Image => {
                let mut block = ContentBlock::image(attache_core::base64::encode(&bytes), media);
                if let ContentBlock::Image(image) = &mut block {
                    image.meta = named();
                }
                block
            }
            MediaKind::Audio => {
                let mut block = ContentBlock::audio(attache_core::base64::encode(&bytes), media);
                if let ContentBlock::Audio(audio) = &mut block {
                    audio.meta = named();
                }
                block
            }
            _ => ContentBlock::resource(contents(&address(document), document, &bytes)),
        };
        (block, kept)
    }

    /// The blocks, and what is said of the documents among them.
    pub(super) fn finish(mut self) -> (Vec<ContentBlock>, Vec<Value>) {
        if self.left_out > 0 {
            let text =
                format!("[{} left out: a result holds {}]", count(self.left_out), self.documents.len());
            self.content.push(ContentBlock::text(text));
        }
        (self.content, self.documents)
    }
}

/// True for an address that means nothing to others: that of a server or an agent of which a tool is ours.
fn is_ours(url: &str) -> bool {
    [SCHEME, "a2a-file://"].iter().any(|scheme| url.starts_with(scheme))
}

/// Fetches documents that the client cannot fetch, by the fetcher of the agent whose tools gave them: no more of them
/// than a result holds, and none once they have as many bytes as are kept for one principal.
pub(super) async fn fetch_ours(agent: &Agent, documents: &mut [Document], limits: &McpServeLimits) {
    let end = Instant::now() + FETCHING;
    let mut fetched_bytes = 0_usize;
    for document in documents.iter_mut().take(limits.documents) {
        if fetched_bytes >= limits.kept_bytes {
            return;
        }
        if let DocumentSource::External { url } = document.source()
            && is_ours(url)
            && let Ok(Ok(fetched)) = timeout_at(end, agent.load(document)).await
        {
            fetched_bytes = fetched_bytes.saturating_add(fetched.bytes().map_or(0, |bytes| bytes.len()));
            *document = fetched;
        }
    }
}

fn count(documents: usize) -> String {
    match documents {
        1 => "1 document is".to_owned(),
        many => format!("{many} documents are"),
    }
}

/// True if an output is nothing but the reference of a document, which says nothing that its block does not.
fn is_bare(tree: &ContentTree, documents: &[Document]) -> bool {
    let [only] = documents else { return false };
    serde_json::from_str::<Map<String, Value>>(tree.json()).is_ok_and(|members| {
        let is_it = members.get(REFERENCE_ID).and_then(Value::as_str) == Some(only.id().as_str());
        is_it && members.contains_key("metadata") && members.len() <= 4
    })
}

/// The content of a document as that of a resource: text as text, everything else as bytes. Letters of another charset
/// may look like UTF-8, as those of 7 bits and those with a NUL beside each do.
pub(super) fn contents(uri: &str, document: &Document, bytes: &[u8]) -> ResourceContents {
    let media_type = document.media_type();
    // In these, bytes of ASCII are other letters.
    let others = ["utf-7", "utf-16", "utf-32", "ucs-", "iso-10646", "iso-2022", "hz-"];
    let is_utf8 = media_type.charset().is_none_or(|charset| match charset {
        // The last three are what programs write for a charset that they do not know.
        "utf-8" | "utf8" | "us-ascii" | "ascii" | "iso-8859-1" | "latin1" | "windows-1252" => true,
        _ => bytes.is_ascii() && !others.iter().any(|other| charset.starts_with(other)),
    });
    let text = match media_type.kind() {
        MediaKind::Text if is_utf8 => std::str::from_utf8(bytes).ok(),
        _ => None,
    };
    let contents = match text {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(attache_core::base64::encode(bytes), uri),
    };
    contents.with_mime_type(media_type.to_string())
}

/// A document as a resource that is read by its address.
pub(super) fn link(uri: &str, document: &Document) -> Resource {
    let mut link =
        Resource::new(uri, name(document)).with_mime_type(document.media_type().essence().to_owned());
    link.size = document.size();
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    // Its client would read other letters, and none of the bytes that hold them.
    #[test]
    fn text_of_another_charset_is_handed_over_as_bytes() {
        for (media_type, bytes, is_text) in [
            ("text/plain", &b"900"[..], true),
            ("text/plain; charset=UTF-8", "900 \u{20ac}".as_bytes(), true),
            ("text/plain; charset=us-ascii", b"900", true),
            ("text/plain; charset=iso-8859-1", b"900", true),
            ("text/csv; charset=windows-1252", "900 \u{20ac}".as_bytes(), true),
            ("text/plain; charset=shift_jis", b"900", true),
            ("text/plain", b"900 \x80", false),
            ("text/plain; charset=utf-16le", b"9\x000\x000\x00", false),
            ("text/plain; charset=utf-7", b"900 +IKw-", false),
            ("text/plain; charset=iso-2022-jp", b"\x1b$B%a%b\x1b(B", false),
        ] {
            let document = Document::new(bytes.to_vec()).with_media_type(media_type);
            let contents = contents("x://1", &document, bytes);
            assert_eq!(
                matches!(contents, ResourceContents::TextResourceContents { .. }),
                is_text,
                "{media_type}"
            );
        }
    }
}
