//! The material: the routed messages, taken apart into passages with the file that they come from.

use std::collections::HashMap;

use attache_core::message::UserOrigin;
use attache_core::{
    ErrorKind, Message, ProviderError, ToolCall, ToolResult, ToolResultsMessage, ToolSet, UserMessage,
    UserPart,
};
use attache_documents::{ReadLabel, unfence};
use serde_json::{Map, Value};

use crate::passages;
use crate::pieces::Pieces;
use crate::structured_results::{self, Item};
use crate::words::{count, head, name_stems};

/// The maximum number of bytes of text that are looked at in one request; what comes after is said to be left out.
const MAX_TEXT: usize = 8 << 20;

/// The reason why something is left out after [`MAX_TEXT`].
const TOO_MUCH: &str = "there was more text than I look at";

/// Everything that a conversation holds.
#[derive(Debug, Default)]
pub(crate) struct Material {
    /// The passages that can be quoted.
    pub(crate) sources: Vec<Source>,
    /// Documents that were only mentioned.
    pub(crate) notes: Vec<Note>,
    /// The things that results name, in order, each with the tool that named it.
    pub(crate) items: Vec<(String, Item)>,
    /// Calls that failed: the tool and what it said.
    pub(crate) failures: Vec<(String, String)>,
    /// Every call of the conversation: its tool and its arguments.
    pub(crate) calls: Vec<(String, Map<String, Value>)>,
    /// Replies with calls since the question.
    pub(crate) rounds: usize,
    /// Calls since the question.
    pub(crate) recent_calls: usize,
    /// Words that were read.
    pub(crate) words: u64,
    /// Bytes of text taken apart so far.
    bytes: usize,
}

/// The source of a text.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its file, tool, or place in the conversation.
    pub(crate) name: String,
    /// Its kind.
    pub(crate) kind: SourceKind,
    /// The words about all of it: the call that brought it.
    pub(crate) about: String,
    /// The reason why it is not whole.
    pub(crate) cut: Option<String>,
    pub(crate) pieces: Pieces,
}

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// A document or a file.
    File,
    /// The data of a tool result.
    Data,
    /// A list of files.
    Listing,
    /// The user's words beside the question.
    Message,
}

/// A document that routing could only mention.
#[derive(Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) name: String,
    /// The reason why its content is not shown.
    pub(crate) reason: String,
}

/// A call as its result needs it.
struct Origin {
    tool: String,
    words: String,
    path: Option<String>,
}

impl Material {
    /// Reads messages. `question` is the place of the message that asks; of its text, `beside` is no question.
    /// `tools` say what a call was for.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if a document stands in them that routing has not brought into text.
    pub(crate) fn read(
        messages: &[impl AsRef<Message>],
        question: usize,
        beside: &str,
        tools: &ToolSet,
    ) -> Result<Self, ProviderError> {
        let mut material = Self::default();
        let mut origins: HashMap<String, Origin> = HashMap::new();
        for (at, message) in messages.iter().enumerate() {
            match message.as_ref() {
                Message::System(system) => {
                    material.words += system.parts.iter().map(|part| count(part.text())).sum::<u64>();
                }
                Message::User(user) => material.user(user, at == question, &origins)?,
                Message::Assistant(assistant) => {
                    material.words += count(&assistant.text());
                    if at > question && assistant.has_tool_calls() {
                        material.rounds += 1;
                    }
                    for call in assistant.tool_calls() {
                        material.recent_calls += usize::from(at > question);
                        material.call(call, tools, &mut origins);
                    }
                }
                Message::ToolResults(results) => material.results(results, &mut origins)?,
                _ => return Err(unsupported("this kind of message")),
            }
        }
        if !beside.trim().is_empty() {
            material.text(beside, "your message", SourceKind::Message, "", None);
        }
        Ok(material)
    }

    fn call(&mut self, call: &ToolCall, tools: &ToolSet, origins: &mut HashMap<String, Origin>) {
        let arguments = call.arguments.object().unwrap_or_default();
        self.words += count(call.arguments.raw());
        let path =
            arguments.iter().find(|(key, value)| structured_results::is_path_key(key) && value.is_string());
        let path = path.and_then(|(_, value)| value.as_str()).map(str::to_owned);
        let values: Vec<String> = arguments.values().map(Value::to_string).collect();
        let described = tools.get(&call.name).map_or("", |tool| tool.description());
        let words = format!("{} {described} {}", name_stems(&call.name).join(" "), values.join(" "));
        let wire = call.provider_id.as_ref().map(|id| id.as_str().to_owned());
        for id in wire.into_iter().chain([call.id.as_str().to_owned()]) {
            origins.insert(id, Origin { tool: call.name.clone(), words: words.clone(), path: path.clone() });
        }
        self.calls.push((call.name.clone(), arguments));
    }

    fn user(
        &mut self,
        message: &UserMessage,
        is_question: bool,
        origins: &HashMap<String, Origin>,
    ) -> Result<(), ProviderError> {
        let mut labelled = None;
        for content in message.shown() {
            match content {
                UserPart::Text(part) => {
                    self.words += count(part.text());
                    self.shown_text(part.text(), &mut labelled, origins);
                }
                UserPart::Object(tree) => {
                    if message.routed.is_none() && !tree.documents().is_empty() {
                        return Err(unsupported("a document that no routing has looked at"));
                    }
                    self.words += count(tree.json());
                    if !(is_question && message.origin == UserOrigin::Author) {
                        let value = serde_json::from_str(tree.json()).unwrap_or(Value::Null);
                        self.data(&value, "the event", "", None);
                    }
                }
                UserPart::Document(_) => return Err(unsupported("a document that is not text")),
                _ => return Err(unsupported("this kind of content")),
            }
        }
        Ok(())
    }

    fn results(
        &mut self,
        message: &ToolResultsMessage,
        origins: &mut HashMap<String, Origin>,
    ) -> Result<(), ProviderError> {
        for result in &message.results {
            if result.is_unrouted() {
                return Err(unsupported("a document that no routing has looked at"));
            }
            self.result(result, origins)?;
        }
        Ok(())
    }

    fn result(
        &mut self,
        result: &ToolResult,
        origins: &mut HashMap<String, Origin>,
    ) -> Result<(), ProviderError> {
        let text = result.tree.model_text();
        self.words += count(&text);
        let unknown = || Origin {
            tool: result.tool_name.clone().unwrap_or_else(|| "a tool".to_owned()),
            words: String::new(),
            path: None,
        };
        let origin = origins.entry(result.call_id.as_str().to_owned()).or_insert_with(unknown);
        let (tool, words, mut path) = (origin.tool.clone(), origin.words.clone(), origin.path.clone());
        if result.is_error() {
            self.failures.push((tool, head(&text, 200).to_owned()));
        } else if !result.tree.is_blank() {
            let value = match serde_json::from_str(result.tree.json()) {
                // A tool may return JSON as a text.
                Ok(Value::String(text)) => match serde_json::from_str(&text) {
                    Ok(inner @ (Value::Array(_) | Value::Object(_))) => inner,
                    _ => Value::String(text),
                },
                Ok(value) => value,
                Err(_) => Value::Null,
            };
            path = self.data(&value, &tool, &words, path);
        }
        for id in [Some(result.call_id.as_str()), result.provider_id.as_ref().map(|id| id.as_str())]
            .into_iter()
            .flatten()
        {
            if let Some(origin) = origins.get_mut(id) {
                origin.path.clone_from(&path);
            }
        }
        let mut labelled = None;
        for content in result.attached() {
            let UserPart::Text(part) = content else {
                return Err(unsupported("a document that is not text"));
            };
            self.words += count(part.text());
            self.shown_text(part.text(), &mut labelled, origins);
        }
        Ok(())
    }

    /// A text that routing may have written: a label, a note, or fenced text; or what a user said.
    fn shown_text(&mut self, text: &str, labelled: &mut Option<String>, origins: &HashMap<String, Origin>) {
        if let Some((label, rest)) = ReadLabel::split(text) {
            let name = name_of(&label, origins);
            match label.status() {
                Some("shown-before") => *labelled = None,
                Some(_) => {
                    let reason =
                        rest.trim().trim_start_matches("Content not shown here: ").trim_end_matches('.');
                    self.note(Note { name, reason: head(reason, 300).to_owned() });
                    *labelled = None;
                }
                None => {
                    let content = rest.trim();
                    if !content.is_empty() {
                        self.fenced(content, &name);
                    }
                    *labelled = Some(name);
                }
            }
        } else if unfence(text).is_some() || labelled.is_some() {
            let name = labelled.take().unwrap_or_else(|| "a document".to_owned());
            self.fenced(text, &name);
        }
    }

    fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn fenced(&mut self, text: &str, name: &str) {
        // The closing line says if only the beginning is shown.
        let last = text.rsplit('\n').next().unwrap_or_default();
        let cut = last
            .split_once(": ")
            .map(|(_, said)| said.trim_end_matches(']'))
            .filter(|said| said.starts_with("only "));
        match unfence(text) {
            Some(inner) => self.text(inner, name, SourceKind::File, "", cut.map(str::to_owned)),
            None => self.text(text, name, SourceKind::File, "", None),
        }
    }

    /// Adds a structured result and yields the path of what it is about.
    fn data(&mut self, value: &Value, tool: &str, about: &str, asked: Option<String>) -> Option<String> {
        if let Value::String(text) = value {
            let files = structured_results::named_files(text);
            if !files.is_empty() {
                self.items.extend(files.into_iter().map(|item| (tool.to_owned(), item)));
                return asked;
            }
        }
        let data = structured_results::read(value);
        // The words of the call are those of the question: beside counts of a search, or of what it did not find, they
        // would look like an answer.
        let about =
            if data.items.is_empty() && !structured_results::found_nothing(value) { about } else { "" };
        let path = data.path.or(asked);
        for (of, text) in data.texts {
            let name = of.or_else(|| path.clone());
            let kind = if name.is_some() { SourceKind::File } else { SourceKind::Data };
            let about = if name.is_some() { "" } else { about };
            self.text(&text, name.as_deref().unwrap_or(tool), kind, about, None);
        }
        for (kind, pieces) in [(SourceKind::Data, data.pieces), (SourceKind::Listing, data.listing)] {
            let bytes: usize = pieces.passages.iter().map(|passage| passage.text.len()).sum();
            if bytes == 0 {
                continue;
            }
            let name = tool.to_owned();
            if self.room(bytes) == 0 {
                self.note(Note { name, reason: TOO_MUCH.to_owned() });
            } else {
                let cut = pieces.cut.clone();
                self.sources.push(Source { name, kind, about: about.to_owned(), cut, pieces });
            }
        }
        self.items.extend(data.items.into_iter().map(|item| (tool.to_owned(), item)));
        path
    }

    fn text(&mut self, text: &str, name: &str, kind: SourceKind, about: &str, cut: Option<String>) {
        if text.trim().is_empty() {
            return;
        }
        let known = |source: &Source| source.kind == kind && source.name == name;
        let shown = head(text, self.room(text.len()));
        if shown.trim().is_empty() {
            self.note(Note { name: name.to_owned(), reason: TOO_MUCH.to_owned() });
            return;
        }
        let cut =
            cut.or_else(|| (shown.len() < text.len()).then(|| "only its beginning was looked at".to_owned()));
        let trimmed = shown.trim_start();
        let structured =
            if trimmed.starts_with(['{', '[']) { serde_json::from_str::<Value>(trimmed).ok() } else { None };
        let pieces = match structured {
            Some(value) => structured_results::read_content(&value),
            None => passages::read(shown, name),
        };
        let cut = cut.or_else(|| pieces.cut.clone());
        // The same file read again adds nothing.
        if self.sources.iter().any(|source| known(source) && source.pieces == pieces) {
            return;
        }
        self.sources.push(Source { name: name.to_owned(), kind, about: about.to_owned(), cut, pieces });
    }

    /// True if a passage is a line of a tool's list that names a file, such as one that a search found: the file says more.
    pub(crate) fn is_lead(&self, source: &Source, text: &str) -> bool {
        let names = |(tool, item): &(String, Item)| {
            *tool == source.name && item.name().is_some_and(|name| text.contains(name))
        };
        source.kind == SourceKind::Data && self.items.iter().any(names)
    }

    /// The number of `wanted` bytes that may still be taken apart; they are counted.
    fn room(&mut self, wanted: usize) -> usize {
        let room = wanted.min(MAX_TEXT.saturating_sub(self.bytes));
        self.bytes += room;
        room
    }

    /// The names of the files, data and messages that were read, each once; not of tools that only found files.
    pub(crate) fn read_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let finds = |source: &Source| {
            source.kind == SourceKind::Data && self.items.iter().any(|(tool, _)| *tool == source.name)
        };
        let read = self.sources.iter().filter(|source| source.kind != SourceKind::Listing && !finds(source));
        for source in read {
            let name = match source.kind {
                SourceKind::Data => format!("the result of {}", source.name),
                _ => source.name.clone(),
            };
            let name = match &source.cut {
                Some(cut) => format!("{name} ({cut})"),
                None => name,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The question of a message: its texts that come from no document; of an event its payload.
pub(crate) fn asked(message: &UserMessage) -> String {
    let mut texts: Vec<String> = Vec::new();
    for content in &message.parts {
        match content {
            UserPart::Text(part)
                if ReadLabel::split(part.text()).is_none() && unfence(part.text()).is_none() =>
            {
                texts.push(part.text().to_owned());
            }
            UserPart::Object(tree) => texts.push(head(&tree.model_text(), 2_000).to_owned()),
            _ => {}
        }
    }
    texts.join("\n")
}

/// The path of the call that returned a document, if it is the same file; else the document's own name.
fn name_of(label: &ReadLabel, origins: &HashMap<String, Origin>) -> String {
    let path = label.tool_call_id().and_then(|id| origins.get(id)).and_then(|origin| origin.path.as_deref());
    match (label.file_name(), path) {
        (Some(name), Some(path)) if path.rsplit(['/', '\\']).next() == Some(name) => path.to_owned(),
        (Some(name), _) => name.to_owned(),
        (None, Some(path)) => path.to_owned(),
        (None, None) => {
            label.document_id().map_or_else(|| "a document".to_owned(), |id| format!("document {id}"))
        }
    }
}

fn unsupported(what: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Unsupported, format!("the offline model reads text only, not {what}"))
}
