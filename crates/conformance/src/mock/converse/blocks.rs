//! Content blocks: unions, blank text, tool calls and results, reasoning (bedrock.md 3, 5).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::context::Context;
use super::problems::{
    Check, constraint, filled, list, member, missing, object, of_model, one_of, only, optional_bool,
    optional_filled, optional_one_of, refused, required_list, required_object, string, union, unsupported,
};
use crate::mock::rules::{Path, Violation, is_plain_name};

const USER: &[&str] = &[
    "text",
    "image",
    "document",
    "video",
    "audio",
    "toolResult",
    "cachePoint",
    "guardContent",
    "searchResult",
    "reasoningContent",
];
const ASSISTANT: &[&str] =
    &["text", "toolUse", "toolResult", "reasoningContent", "citationsContent", "cachePoint", "guardContent"];
const SYSTEM: &[&str] = &["text", "toolAddition", "toolRemoval"];
const RESULT: &[&str] = &["text", "json", "image", "document", "video", "searchResult"];

const MAX_TOOL_USE_ID: usize = 64;

/// The place of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    User,
    Assistant,
    /// A `system` message.
    System,
    /// Inside a tool result.
    Result,
}

impl Place {
    fn known(self) -> &'static [&'static str] {
        match self {
            Place::User => USER,
            Place::Assistant => ASSISTANT,
            Place::System => SYSTEM,
            Place::Result => RESULT,
        }
    }
}

/// Checks blocks and remembers what counts over several of them.
pub(super) struct Checker<'a> {
    pub(super) context: &'a Context<'a>,
    /// The names of documents, unique in the request.
    pub(super) names: HashSet<String>,
    /// The images of the message at hand.
    pub(super) images: usize,
    /// The documents of the request.
    pub(super) documents: usize,
    /// True if the first document or search result of the request is to be cited.
    cited: Option<bool>,
}

/// A block of the request's own `system`.
pub(super) fn system_block(block: &Value, path: &Path<'_>) -> Check {
    match union(block, &["text", "guardContent", "cachePoint"], path)? {
        ("text", text) => check_text(text, path),
        ("guardContent", content) => check_guard(content, &path.key("guardContent")),
        // Cache points are checked in their own order.
        _ => Ok(()),
    }
}

impl<'a> Checker<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, names: HashSet::new(), images: 0, documents: 0, cited: None }
    }

    /// The content of one message.
    pub(super) fn message(&mut self, blocks: &'a [Value], place: Place, path: &Path<'_>) -> Check {
        self.images = 0;
        for (index, block) in blocks.iter().enumerate() {
            self.block(block, place, &path.index(index))?;
        }
        let has = |kind: &str| blocks.iter().any(|block| block.get(kind).is_some());
        if has("document") && !has("text") {
            let message =
                format!("A message with a document must include a text block: add one to {}.", path.dotted());
            return Err(refused(path, message));
        }
        Ok(())
    }

    fn block(&mut self, block: &'a Value, place: Place, path: &Path<'_>) -> Check {
        let (kind, value) = union(block, place.known(), path)?;
        let at = path.key(kind);
        match kind {
            "text" => check_text(value, path),
            "image" => self.image(object(value, &at)?, place, &at),
            "document" => self.document(object(value, &at)?, place, &at),
            "video" | "audio" => self.recording(kind, object(value, &at)?, place, &at),
            "toolUse" => self.call(object(value, &at)?, &at),
            "toolResult" => self.result(object(value, &at)?, place, &at),
            "reasoningContent" => self.reasoning(value, place, &at),
            "citationsContent" => check_citations_content(object(value, &at)?, &at),
            "guardContent" => check_guard(value, &at),
            "searchResult" => self.search_result(object(value, &at)?, &at),
            "json" if value.is_object() => Ok(()),
            "json" => {
                let place = at.dotted();
                let what = format!(
                    "The format of the value at {place} is invalid. Provide a json object for the field and try again."
                );
                Err(refused(&at, what))
            }
            // Changes of the tools are a vendor's own; cache points are checked in their own order.
            _ => object(value, &at).map(drop),
        }
    }

    fn call(&self, call: &Map<String, Value>, path: &Path<'_>) -> Check {
        only(call, &["toolUseId", "name", "input", "type"], path)?;
        self.check_id(call, path)?;
        optional_one_of(call, "type", &["server_tool_use"], path)?;
        check_tool_name(string(call, "name", path)?, &path.key("name"))?;
        let path = path.key("input");
        match call.get("input") {
            None => Err(missing(&path)),
            Some(Value::Object(_)) => Ok(()),
            Some(_) => {
                let place = path.dotted();
                let what = format!(
                    "The format of the value at {place} is invalid. Provide a json object for the field and try again."
                );
                Err(refused(&path, what))
            }
        }
    }

    fn result(&mut self, result: &'a Map<String, Value>, place: Place, path: &Path<'_>) -> Check {
        only(result, &["toolUseId", "content", "status", "type"], path)?;
        self.check_id(result, path)?;
        optional_filled(result, "type", path)?;
        if place == Place::Assistant && member(result, "type").is_none() {
            let what =
                "only the results of server tools, which have a type, may stand in an assistant message";
            return Err(constraint(path, what));
        }
        let status = optional_one_of(result, "status", &["success", "error"], path)?;
        if status.is_some() && !self.context.family.takes_status() {
            return Err(unsupported(&path.key("status")));
        }
        let content = required_list(result, "content", path)?;
        if content.is_empty() && (status == Some("error") || !self.context.family.is_claude()) {
            let what = format!("The content field at {} cannot be empty.", path.dotted());
            return Err(refused(&path.key("content"), what));
        }
        let path = path.key("content");
        content
            .iter()
            .enumerate()
            .try_for_each(|(index, block)| self.block(block, Place::Result, &path.index(index)))
    }

    /// True if a document or a search result is to be cited: all of a request are, or none.
    pub(super) fn citations(
        &mut self,
        holder: &Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<bool, Violation> {
        let enabled = check_citations(holder, path)?;
        if *self.cited.get_or_insert(enabled) != enabled {
            let what = "citations must be enabled on all or none of the documents in a request";
            return Err(of_model(&path.key("citations"), what));
        }
        Ok(enabled)
    }

    fn check_id(&self, holder: &Map<String, Value>, path: &Path<'_>) -> Check {
        let id = string(holder, "toolUseId", path)?;
        let path = path.key("toolUseId");
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if id.is_empty() || id.len() > MAX_TOOL_USE_ID || !id.bytes().all(known) {
            let what = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]{1,64}";
            return Err(constraint(&path, what));
        }
        if self.context.family.is_claude() && !is_plain_name(id, MAX_TOOL_USE_ID) {
            return Err(of_model(&path, "String should match pattern '^[a-zA-Z0-9_-]+$'"));
        }
        Ok(())
    }

    /// Claude alone takes its reasoning back, and only what it signed; and those that encrypt theirs, what they encrypted.
    fn reasoning(&self, content: &Value, place: Place, path: &Path<'_>) -> Check {
        let family = self.context.family;
        if place == Place::User || !(family.is_claude() || family.encrypts_reasoning()) {
            let what = "User messages cannot contain reasoning content. Please remove the reasoning content and try \
                        again.";
            return Err(refused(path, what));
        }
        let (kind, value) = union(content, &["reasoningText", "redactedContent"], path)?;
        let path = path.key(kind);
        if kind == "redactedContent" {
            return match value.as_str().and_then(crate::media::decode_base64) {
                Some(bytes) if !bytes.is_empty() => Ok(()),
                _ => Err(constraint(&path, "Member must be a blob in base64")),
            };
        }
        if family.encrypts_reasoning() {
            return Err(unsupported(&path.key("text")));
        }
        let text = object(value, &path)?;
        only(text, &["text", "signature"], &path)?;
        string(text, "text", &path)?;
        match member(text, "signature").and_then(Value::as_str) {
            Some(signature) if !signature.is_empty() => Ok(()),
            _ => Err(of_model(&path.key("signature"), "thinking.signature: Field required")),
        }
    }

    fn search_result(&mut self, result: &Map<String, Value>, path: &Path<'_>) -> Check {
        if !self.context.family.is_claude() {
            return Err(unsupported(path));
        }
        only(result, &["source", "title", "content", "citations"], path)?;
        filled(result, "source", path)?;
        filled(result, "title", path)?;
        self.citations(result, path)?;
        let content = required_list(result, "content", path)?;
        check_texts(content, &path.key("content"))
    }
}

/// A text of a block, which is not blank.
fn check_text(text: &Value, path: &Path<'_>) -> Check {
    match text.as_str() {
        None => Err(constraint(&path.key("text"), "Member must be a string")),
        Some(text) if text.trim().is_empty() => {
            let place = path.dotted();
            let message = format!(
                "The text field in the ContentBlock object at {place} is blank. Add text to the text field, and try \
                 again."
            );
            Err(refused(path, message))
        }
        Some(_) => Ok(()),
    }
}

/// A list of `{"text": …}`.
pub(super) fn check_texts(content: &[Value], path: &Path<'_>) -> Check {
    for (index, block) in content.iter().enumerate() {
        let path = path.index(index);
        let (_, text) = union(block, &["text"], &path)?;
        check_text(text, &path)?;
    }
    Ok(())
}

pub(super) fn check_tool_name(name: &str, path: &Path<'_>) -> Check {
    if is_plain_name(name, 64) {
        Ok(())
    } else {
        Err(constraint(path, "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]{1,64}"))
    }
}

/// The switch of documents and search results.
fn check_citations(holder: &Map<String, Value>, path: &Path<'_>) -> Result<bool, Violation> {
    let Some(citations) = member(holder, "citations") else { return Ok(false) };
    let path = path.key("citations");
    let citations = object(citations, &path)?;
    only(citations, &["enabled"], &path)?;
    match optional_bool(citations, "enabled", &path)? {
        Some(enabled) => Ok(enabled),
        None => Err(missing(&path.key("enabled"))),
    }
}

fn check_citations_content(content: &Map<String, Value>, path: &Path<'_>) -> Check {
    only(content, &["content", "citations"], path)?;
    if let Some(texts) = member(content, "content") {
        let path = path.key("content");
        check_texts(list(texts, &path)?, &path)?;
    }
    if let Some(citations) = member(content, "citations") {
        let path = path.key("citations");
        for (index, citation) in list(citations, &path)?.iter().enumerate() {
            let path = path.index(index);
            only(object(citation, &path)?, &["title", "source", "sourceContent", "location"], &path)?;
        }
    }
    Ok(())
}

fn check_guard(content: &Value, path: &Path<'_>) -> Check {
    let (kind, value) = union(content, &["text", "image"], path)?;
    let path = path.key(kind);
    let value = object(value, &path)?;
    if kind == "image" {
        only(value, &["format", "source"], &path)?;
        one_of(string(value, "format", &path)?, &["png", "jpeg"], &path.key("format"))?;
        return required_object(value, "source", &path).map(drop);
    }
    only(value, &["text", "qualifiers"], &path)?;
    filled(value, "text", &path)?;
    let Some(qualifiers) = member(value, "qualifiers") else { return Ok(()) };
    let path = path.key("qualifiers");
    for (index, qualifier) in list(qualifiers, &path)?.iter().enumerate() {
        let qualifier = qualifier.as_str().unwrap_or_default();
        one_of(qualifier, &["grounding_source", "query", "guard_content"], &path.index(index))?;
    }
    Ok(())
}
