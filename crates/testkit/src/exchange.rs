//! A request with its reply, and the contents that its messages show.

use attache_core::{AssistantMessage, ChatRequest, Document, Message, UserPart};

/// A request, and what came of it so far.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) request: ChatRequest,
    pub(crate) reply: Option<AssistantMessage>,
    pub(crate) failure: Option<String>,
}

impl Exchange {
    pub(crate) fn begun(request: ChatRequest) -> Self {
        Self { request, reply: None, failure: None }
    }
}

/// A content of a request.
pub(crate) enum Shown<'a> {
    Text(std::borrow::Cow<'a, str>),
    Document(&'a Document),
}

/// The contents that a message shows on the side of the user and of the tools, as a provider renders it.
pub(crate) fn shown(message: &Message) -> Vec<Shown<'_>> {
    match message {
        Message::User(user) => user.shown().iter().map(content).collect(),
        Message::ToolResults(results) => {
            let parts = results.results.iter().flat_map(|result| {
                let text = Shown::Text(result.tree.model_text());
                std::iter::once(text).chain(result.attached().iter().map(content))
            });
            parts.collect()
        }
        _ => Vec::new(),
    }
}

pub(crate) fn content(content: &UserPart) -> Shown<'_> {
    match content {
        UserPart::Text(text) => Shown::Text(text.text().into()),
        UserPart::Document(document) => Shown::Document(document),
        UserPart::Object(tree) => Shown::Text(tree.model_text()),
        // Parts of a later version of core show nothing that is known here.
        _ => Shown::Text("".into()),
    }
}
