//! Assertions on the requests and replies of a model.

use attache_core::identity::Identities;
use attache_core::{AssistantMessage, ChatRequest, Document};
use serde_json::Value;

use crate::exchange::{Exchange, Shown, shown};
use crate::transcript;

/// The requests to a model, in order, with its replies: a snapshot that later requests do not change.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_core::Document;
/// use attache_testkit::{ScriptedModel, Turn};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let lease = Document::from_bytes("%PDF-1.7 rent: 900", "application/pdf").with_file_name("lease.pdf");
/// let returned = lease.clone();
/// let find = tool_fn("find", "Finds the lease.", move || Ok(returned.clone()));
/// let model = ScriptedModel::new([Turn::call("find", json!({})), Turn::text("EUR 900.")])
///     .with_capabilities_of("anthropic", "claude-sonnet-4-5");
/// Agent::builder(model.clone()).tool(find).build()?.run("How much?").outcome().await?;
///
/// let asked = model.asked();
/// assert_eq!(asked.called("find"), [json!({})]);
/// asked.assert_saw(&lease);
/// assert!(asked.transcript().ends_with("assistant: EUR 900.\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Asked {
    exchanges: Vec<Exchange>,
}

/// The extent to which a document was shown to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sight {
    /// The document itself, with its own bytes, as a part of a user message or of a tool result.
    Native,
    /// All of its text, as text. Never used for a document that is not text, even if it was converted to text.
    Text,
    /// A label, a reference or a note that names it, with or without derived content: converted text, images of its
    /// pages, a scaled image, its first lines. [`Asked::transcript`] shows which.
    Named,
    /// Nothing.
    Nothing,
}

impl Asked {
    pub(crate) fn new(exchanges: Vec<Exchange>) -> Self {
        Self { exchanges }
    }

    /// The requests in order.
    pub fn requests(&self) -> impl Iterator<Item = &ChatRequest> {
        self.exchanges.iter().map(|exchange| &exchange.request)
    }

    /// The arguments of each call of that tool in the model's replies, in order; arguments that are not a JSON object
    /// are returned as a string. Calls in a history passed to the model are not included.
    pub fn called(&self, tool: &str) -> Vec<Value> {
        let calls = self.calls().filter(|call| call.name == tool);
        let arguments = calls.map(|call| match call.arguments.object() {
            Ok(object) => Value::Object(object),
            Err(_) => Value::String(call.arguments.raw().to_owned()),
        });
        arguments.collect()
    }

    /// Asserts that the model called that tool.
    ///
    /// # Panics
    /// If it did not, with the names of the tools that it called.
    #[track_caller]
    pub fn assert_called(&self, tool: &str) {
        let called: Vec<&str> = self.calls().map(|call| call.name.as_str()).collect();
        let others = if called.is_empty() { "no tool".to_owned() } else { called.join(", ") };
        assert!(called.contains(&tool), "the model did not call `{tool}`; it called {others}");
    }

    /// The extent to which a document was shown to the model, in the request that showed most. Contents are compared,
    /// not ids: the same bytes under another id count, and another version under the same id does not.
    pub fn sight(&self, document: &Document) -> Sight {
        let sights = self.requests().map(|request| sight(request, document));
        sights.min_by_key(|sight| *sight as u8).unwrap_or(Sight::Nothing)
    }

    /// True if the document itself or all of its text was shown to the model: [`Sight::Native`] or [`Sight::Text`].
    /// Converted text, a scaled image or a note does not count.
    pub fn saw(&self, document: &Document) -> bool {
        matches!(self.sight(document), Sight::Native | Sight::Text)
    }

    /// Asserts that the model [`saw`](Self::saw) the document.
    ///
    /// # Panics
    /// If it did not, with the content that was shown instead.
    #[track_caller]
    #[expect(clippy::panic, reason = "what does not hold is a failed test")]
    pub fn assert_saw(&self, document: &Document) {
        let name = transcript::described(document);
        match self.sight(document) {
            Sight::Native | Sight::Text => {}
            Sight::Named => {
                let transcript = self.transcript();
                panic!("the model did not see {name} itself; it was named to the model:\n{transcript}")
            }
            Sight::Nothing => panic!("the model was shown nothing of {name}:\n{}", self.transcript()),
        }
    }

    /// The conversation as the model saw and continued it, for people and snapshots: the offered tools, then each
    /// message once, and a line for each document with its name, type and size. Changes of a request to earlier
    /// messages follow a line that announces them. It contains no times, and no ids except those in texts (see
    /// [`Fixed`](crate::Fixed)).
    pub fn transcript(&self) -> String {
        transcript::transcript(&self.exchanges)
    }

    fn calls(&self) -> impl Iterator<Item = &attache_core::ToolCall> {
        self.exchanges
            .iter()
            .filter_map(|exchange| exchange.reply.as_ref())
            .flat_map(AssistantMessage::tool_calls)
    }
}

/// The documents of a request, in order, each once: those of prompts and those returned by tools, shown or not.
pub fn documents(request: &ChatRequest) -> Vec<Document> {
    let all: Vec<&Document> = request.messages.iter().flat_map(|message| message.documents()).collect();
    let mut known = Identities::new();
    all.into_iter().filter(|document| known.insert(document)).cloned().collect()
}

fn sight(request: &ChatRequest, document: &Document) -> Sight {
    let text = document.bytes().filter(|_| is_text(document));
    let text = text.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::trim);
    let text = text.filter(|text| !text.is_empty());
    let (id, short) = (document.id().as_str(), format!("\"{}\"", document.id().short()));
    let mut best = Sight::Nothing;
    let mut see = |sight: Sight| {
        if (sight as u8) < (best as u8) {
            best = sight;
        }
    };
    for message in &request.messages {
        for content in shown(message) {
            match content {
                Shown::Document(other) if is_content(document, other) => see(Sight::Native),
                Shown::Document(other) if other.id() == document.id() => see(Sight::Named),
                Shown::Document(_) => {}
                Shown::Text(shown) => {
                    // Routing fences a document's text; the same words elsewhere are not the document.
                    if text.is_some() && fenced(&shown) == text {
                        see(Sight::Text);
                    } else if shown.contains(id) || shown.contains(&short) {
                        see(Sight::Named);
                    }
                }
            }
        }
    }
    best
}

/// The text in a fence, if that is all there is.
fn fenced(shown: &str) -> Option<&str> {
    let (_, inside) = shown.strip_prefix("[begin document ")?.split_once("]\n")?;
    Some(inside.rsplit_once("\n[end document ")?.0.trim())
}

fn is_text(document: &Document) -> bool {
    matches!(document.media_type().kind(), attache_core::MediaKind::Text)
}

/// True if both have the same bytes; where those of one are nowhere in memory, whether they are the same document.
fn is_content(document: &Document, other: &Document) -> bool {
    match (document.hash(), other.hash()) {
        (Some(own), Some(others)) => own == others,
        _ => document.is_same(other),
    }
}
