//! Messages and tasks as results of a call.

use std::borrow::Cow;
use std::collections::HashMap;

use attache_core::{Document, MediaType};
use attache_transport::{Redactor, media_type_of};
use bytes::Bytes;
use serde_json::Value;

use super::file::own_address;
use super::gather::join_texts;
use super::output::{A2aBlock, A2aContent, A2aOutput};
use crate::config::{Config, cut};
use crate::wire::{Artifact, Content, Message, Part, Past, Task};

/// Longer names, and descriptions of artifacts, are cut.
const LONGEST_NAME: usize = 200;
const LONGEST_DESCRIPTION: usize = 1_000;
/// JSON that is not understood is shown to this length.
const LONGEST_OTHER: usize = 16_000;
/// The text before the ids of messages that are ours.
pub(crate) const OURS: &str = "attache-";

/// Reads pieces one by one, and counts them.
pub(crate) struct Reader<'a> {
    config: &'a Config,
    redactor: Redactor,
    output: A2aOutput,
    documents: usize,
    /// The files that are shown already, hashes of contents and addresses, each with the piece that shows it first.
    shown: HashMap<Vec<u8>, usize>,
    /// The number of the piece of the history that is read; 0 for all that stands before the history.
    piece: usize,
    left_out: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(config: &'a Config) -> Self {
        Self {
            config,
            redactor: config.redactor().given_only(),
            output: A2aOutput::default(),
            documents: 0,
            shown: HashMap::new(),
            piece: 0,
            left_out: 0,
        }
    }

    /// A message that is the whole answer.
    pub(crate) fn message(mut self, message: Message) -> A2aOutput {
        self.output.context = message.context;
        self.output.task = message.task;
        self.parts(message.parts, None, None);
        self.finish()
    }

    /// A task: its artifacts, the words with which it came into its state, and the files of its history that are not
    /// among these; of a history alone, the words of the agent too.
    pub(crate) fn task(mut self, task: Task) -> A2aOutput {
        let Task { id, context, state, said, artifacts, history, is_cut, is_partial } = task;
        self.output.state = Some(state);
        (self.output.task, self.output.context) = (Some(id), context);
        for artifact in artifacts {
            self.artifact(artifact);
        }
        let said_id = said.as_ref().map(|said| said.id.clone()).filter(|id| !id.is_empty());
        if let Some(said) = said {
            self.parts(said.parts, None, None);
        }
        let is_alone = self.output.content.is_empty();
        for (before, past) in history.into_iter().enumerate() {
            self.piece = before + 1;
            match past {
                Past::Artifact(artifact) => self.artifact(artifact),
                // The words of the end stand in the history too.
                Past::Message(message) if Some(&message.id) == said_id.as_ref() => {}
                Past::Message(message) if !message.is_agent && message.id.starts_with(OURS) => {}
                Past::Message(message) => {
                    let shows_text = is_alone && message.is_agent;
                    let is_shown = |part: &Part| {
                        let is_file =
                            matches!(part.content, Content::Bytes(_) | Content::Url(_) | Content::Broken);
                        shows_text || is_file || part.is_text_file()
                    };
                    self.parts(message.parts.into_iter().filter(is_shown).collect(), None, None);
                }
            }
        }
        if is_cut {
            self.note("the history of the task goes on, and is not read further".to_owned());
        }
        if is_partial {
            self.note(
                "the agent did not tell the whole task again: earlier pieces may be missing".to_owned(),
            );
        }
        self.finish()
    }

    fn artifact(&mut self, mut artifact: Artifact) {
        join_texts(&mut artifact.parts);
        let name = artifact.name.map(|name| cut(&self.clean(name), LONGEST_NAME));
        let description = artifact.description.map(|text| cut(&self.clean(text), LONGEST_DESCRIPTION));
        self.parts(artifact.parts, name.as_deref(), description);
    }

    fn parts(&mut self, parts: Vec<Part>, artifact: Option<&str>, mut description: Option<String>) {
        for part in parts {
            if self.output.content.len() >= self.config.limits.parts {
                self.left_out += 1;
                continue;
            }
            if let Some(content) = self.part(part) {
                let (artifact, description) = (artifact.map(str::to_owned), description.take());
                self.output.content.push(A2aBlock { artifact, description, content });
            }
        }
    }

    fn part(&mut self, part: Part) -> Option<A2aContent> {
        let is_text_file = part.is_text_file();
        let Part { content, name, media_type } = part;
        let name =
            name.map(|name| cut(&self.clean(name), LONGEST_NAME)).filter(|name| !name.trim().is_empty());
        Some(match content {
            Content::Text(text) if is_text_file => {
                let said = media_type.or_else(|| Some("text/plain".to_owned()));
                // It is a text, also where its type is not known as one.
                return self.bytes(self.clean(text).into(), name, said);
            }
            // A blank text says nothing, and would make a result unusable for some models.
            Content::Text(text) if text.trim().is_empty() => return None,
            Content::Text(text) => A2aContent::Text(self.clean(text)),
            Content::Data(mut value) => {
                clean(&self.redactor, &mut value);
                A2aContent::Data(value)
            }
            Content::Bytes(bytes) => return self.bytes(bytes, name, media_type),
            Content::Url(url) => return self.url(url, name, media_type),
            Content::Broken => {
                let which = name.map(|name| format!(" {name:?}")).unwrap_or_default();
                A2aContent::Note(format!("the file{which} is not shown: its bytes are no base64"))
            }
            Content::Deep(json) | Content::Other(json) => {
                A2aContent::Other(cut(&self.clean(json), LONGEST_OTHER))
            }
        })
    }

    fn bytes(&mut self, bytes: Bytes, name: Option<String>, said: Option<String>) -> Option<A2aContent> {
        let said = said.map(|said| self.clean(said)).unwrap_or_default();
        let bytes = self.redactor.redact_file(bytes, &said);
        let mut document = Document::from_bytes(bytes.clone(), &media_type_of(&said, &bytes));
        if let Some(name) = name {
            document = document.with_file_name(name);
        }
        let hash = document.hash().map(|hash| hash.to_vec()).unwrap_or_default();
        self.document(document, hash)
    }

    /// A file that is read when it is needed.
    fn url(&mut self, url: String, name: Option<String>, said: Option<String>) -> Option<A2aContent> {
        if !url.starts_with("https://") && !url.starts_with("http://") {
            let which = name.map(|name| format!(" {name:?}")).unwrap_or_default();
            let text = format!("the file{which} is not shown: it is at an address that is none of the web");
            return Some(A2aContent::Note(text));
        }
        // The address of a web page may go to others, so secrets are masked in it. A file of the agent is asked for at the
        // agent, at the address that it wrote.
        let url = own_address(self.config, &url).unwrap_or_else(|| self.clean(url));
        let mut document = Document::external(url.clone());
        if let Some(said) = said.filter(|said| MediaType::parse(said).is_some()) {
            document = document.with_media_type(&self.clean(said));
        }
        if let Some(name) = name {
            document = document.with_file_name(name);
        }
        self.document(document, url.into_bytes())
    }

    /// A file, unless the history only repeats it.
    fn document(&mut self, document: Document, identity: Vec<u8>) -> Option<A2aContent> {
        if *self.shown.entry(identity).or_insert(self.piece) != self.piece {
            return None;
        }
        if self.documents >= self.config.limits.documents {
            self.left_out += 1;
            return None;
        }
        self.documents += 1;
        Some(A2aContent::Document(document))
    }

    fn note(&mut self, text: String) {
        self.output.content.push(A2aBlock {
            artifact: None,
            description: None,
            content: A2aContent::Note(text),
        });
    }

    fn finish(mut self) -> A2aOutput {
        if self.left_out > 0 {
            self.note(format!("{} more pieces are left out: there are too many", self.left_out));
        }
        self.output
    }

    fn clean(&self, text: String) -> String {
        match self.redactor.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }
}

/// Takes secrets out of a value, names of members included.
fn clean(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redactor.redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(redactor, item)),
        Value::Object(members) => {
            if members.keys().any(|name| matches!(redactor.redact(name), Cow::Owned(_))) {
                let old = std::mem::take(members);
                let renamed = |(name, value): (String, Value)| (redactor.redact(&name).into_owned(), value);
                *members = old.into_iter().map(renamed).collect();
            }
            members.values_mut().for_each(|member| clean(redactor, member));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
