//! Reads the results of a server.

use attache_core::{Document, MediaType};
use attache_schema::Schema;
use attache_transport::{Redactor, media_type_of, percent_encoded};
use rmcp::model::{
    Annotations, CallToolResult, ContentBlock, MetaObject, PromptMessage, Resource, ResourceContents, Role,
};
use serde_json::Value;

use super::config::Config;
use super::error_text::cut;
use super::lenient::{Odd, without_base64};
use super::output::{McpContent, McpOutput, is_repeated};
use super::secrets::clean;
use super::too_deep::cut_deep;
use crate::uri::{FILE_NAME, SCHEME, file_name, named};

/// Texts of the structured content that are shorter are not looked for among the documents.
const SHORTEST_REPEATED: usize = 64;

/// The members that may stand beside the content of a result.
const BESIDE: [&str; 5] = ["_meta", "resultType", "ttlMs", "cacheScope", "isError"];

/// Longer descriptions are cut.
const LONGEST_DESCRIPTION: usize = 1_000;

/// Reads blocks one by one and counts them.
pub(crate) struct Reader<'a> {
    config: &'a Config,
    redactor: Redactor,
    documents: usize,
    output: McpOutput,
    /// The base64 texts that became documents.
    taken: Vec<(String, Document)>,
    hidden_texts: usize,
    left_out: usize,
    /// True if something stands too deep to be shown.
    is_shallow: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(config: &'a Config) -> Self {
        Self {
            redactor: config.redactor().given_only(),
            config,
            documents: 0,
            output: McpOutput::default(),
            taken: Vec::new(),
            hidden_texts: 0,
            left_out: 0,
            is_shallow: false,
        }
    }

    /// The result of a call.
    pub(crate) fn call(mut self, result: CallToolResult, schema: Option<&Schema>) -> McpOutput {
        let CallToolResult { content, structured_content, is_error, .. } = result;
        self.output.is_error = is_error == Some(true);
        let structured = structured_content.filter(|value| !value.is_null());
        // Looked at only where there may be a repetition.
        let blocks: Vec<Value> = match &structured {
            Some(_) => content.iter().filter_map(|block| serde_json::to_value(block).ok()).collect(),
            None => Vec::new(),
        };
        self.blocks(content);
        self.structured(structured, &blocks, schema);
        self.finish()
    }

    /// The result of a call that is not of the form that the protocol gives it: what can be read is.
    pub(crate) fn call_leniently(mut self, mut result: Value, schema: Option<&Schema>) -> Option<McpOutput> {
        let members = result.as_object_mut()?;
        let content = members.remove("content");
        let structured = members.remove("structuredContent").filter(|value| !value.is_null());
        self.output.is_error = members.get("isError").and_then(Value::as_bool) == Some(true);
        let blocks = match content {
            Some(Value::Array(blocks)) => blocks,
            Some(Value::String(text)) => vec![serde_json::json!({"type": "text", "text": text})],
            Some(block @ Value::Object(_)) => vec![block],
            None | Some(Value::Null) if structured.is_some() => Vec::new(),
            // It says that it is one, and nothing else.
            None | Some(Value::Null) if members.keys().all(|member| BESIDE.contains(&&**member)) => {
                Vec::new()
            }
            _ => return None,
        };
        self.left_out = blocks.len().saturating_sub(self.config.limits.blocks);
        for block in blocks.iter().take(self.config.limits.blocks) {
            match Odd::read(block) {
                Odd::Known(block) => self.block(block, None),
                Odd::Odd(value) => self.other(value),
            }
        }
        self.structured(structured, &blocks, schema);
        Some(self.finish())
    }

    /// The contents of a resource.
    pub(crate) fn resource(mut self, read: Vec<Odd<ResourceContents>>) -> McpOutput {
        for contents in self.within_limit(read) {
            match contents {
                Odd::Known(contents) => self.contents(contents, false),
                Odd::Odd(value) => self.other(value),
            }
        }
        self.finish()
    }

    /// The messages of a prompt, with its description.
    pub(crate) fn prompt(
        mut self,
        description: Option<String>,
        messages: Vec<Odd<PromptMessage>>,
    ) -> McpOutput {
        if let Some(description) = description {
            let text = self.redactor.redact(&description).into_owned();
            self.output.content.push(McpContent::Note(cut(&text, LONGEST_DESCRIPTION)));
        }
        for message in self.within_limit(messages) {
            match message {
                Odd::Known(PromptMessage { role, content, .. }) => self.block(content, Some(role)),
                Odd::Odd(value) => self.other(value),
            }
        }
        self.finish()
    }

    /// A thing that is not known here, as it came but for base64.
    fn other(&mut self, mut value: Value) {
        without_base64(&mut value);
        self.is_shallow |= cut_deep(&mut value);
        let value = self.cleaned(value);
        self.output.content.push(McpContent::Other(value));
    }

    fn blocks(&mut self, content: Vec<ContentBlock>) {
        for block in self.within_limit(content) {
            self.block(block, None);
        }
    }

    /// Cuts a list at the bound of blocks, and counts the rest.
    fn within_limit<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        let limit = self.config.limits.blocks;
        self.left_out += all.len().saturating_sub(limit);
        all.truncate(limit);
        all
    }

    fn block(&mut self, block: ContentBlock, role: Option<Role>) {
        match block {
            ContentBlock::Text(text) if is_for_user(text.annotations.as_ref()) => self.hidden_texts += 1,
            // A blank text says nothing, and would make a result unusable for some models.
            ContentBlock::Text(text) if text.text.trim().is_empty() => {}
            ContentBlock::Text(text) => {
                let text = self.clean(text.text);
                let role = role.map(|role| if role == Role::Assistant { "assistant" } else { "user" });
                self.output.content.push(McpContent::Text { text, role: role.map(str::to_owned) });
            }
            ContentBlock::Image(image) => {
                let for_user = is_for_user(image.annotations.as_ref());
                let bytes = Bytes::of("image", image.data, &image.mime_type).named_by(image.meta.as_ref());
                self.bytes(bytes, for_user);
            }
            ContentBlock::Audio(audio) => {
                let for_user = is_for_user(audio.annotations.as_ref());
                let bytes = Bytes::of("audio", audio.data, &audio.mime_type).named_by(audio.meta.as_ref());
                self.bytes(bytes, for_user);
            }
            ContentBlock::Resource(resource) => {
                let for_user = is_for_user(resource.annotations.as_ref());
                self.contents(resource.resource, for_user);
            }
            ContentBlock::ResourceLink(link) => self.link(link),
            other => self.other(serde_json::to_value(other).unwrap_or(Value::Null)),
        }
    }

    fn contents(&mut self, contents: ResourceContents, for_user: bool) {
        match contents {
            ResourceContents::TextResourceContents { .. } if for_user => self.hidden_texts += 1,
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                let (uri, text) = (self.clean(uri), self.clean(text));
                let mime_type = mime_type.map(|written| self.clean(written));
                self.output.content.push(McpContent::Resource { uri, media_type: mime_type, text });
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let media_type = mime_type.as_deref().unwrap_or_default();
                let uri = Some(self.clean(uri)).filter(|uri| !uri.is_empty());
                let bytes = Bytes { uri, ..Bytes::of("resource", blob, media_type) };
                self.bytes(bytes, for_user);
            }
            other => self.other(serde_json::to_value(other).unwrap_or(Value::Null)),
        }
    }

    /// A document of base64 text.
    fn bytes(&mut self, bytes: Bytes<'_>, for_user: bool) {
        let Bytes { kind, data, media_type, uri, name } = bytes;
        let Some(bytes) = attache_core::base64::decode(&data) else {
            let what = uri.as_deref().map(|uri| format!(" at {}", cut(uri, 200))).unwrap_or_default();
            let note = format!("the {kind}{what} is not shown: its data is no base64");
            self.output.content.push(McpContent::Note(note));
            return;
        };
        if self.documents >= self.config.limits.documents {
            self.left_out += 1;
            return;
        }
        let media_type = media_type_of(&self.redactor.redact(media_type), &bytes);
        let bytes = self.redactor.redact_file(bytes.into(), &media_type);
        let mut document = Document::from_bytes(bytes, &media_type);
        let name = name.and_then(|name| named(&self.redactor.redact(name)));
        if let Some(name) = name.or_else(|| uri.as_deref().and_then(file_name)) {
            document = document.with_file_name(name);
        }
        if data.len() >= SHORTEST_REPEATED {
            self.taken.push((data, document.clone()));
        }
        self.document(kind, document, uri, None, for_user);
    }

    /// A document that is read when it is needed.
    fn link(&mut self, link: Resource) {
        if self.documents >= self.config.limits.documents {
            self.left_out += 1;
            return;
        }
        let for_user = is_for_user(link.annotations.as_ref());
        let is_web = link.uri.starts_with("https://") || link.uri.starts_with("http://");
        // The address of a web page may go to others, so secrets are masked in it. A document that the
        // server reads itself is asked for at the address that it wrote.
        let own = (!is_web).then(|| address(&self.config.alias, &link.uri));
        let uri = self.clean(link.uri);
        let address = own.unwrap_or_else(|| uri.clone());
        let mut document = Document::external(address);
        if let Some(media_type) =
            link.mime_type.as_deref().filter(|written| MediaType::parse(written).is_some())
        {
            document = document.with_media_type(&self.redactor.redact(media_type));
        }
        // Before they are cut: half a secret is no secret to a search.
        let (title, name) = (link.title.map(|title| self.clean(title)), self.clean(link.name));
        let named = named(&name).or_else(|| title.as_deref().and_then(named));
        let name = named.or_else(|| file_name(&uri)).unwrap_or_else(|| cut(&name, 200));
        document = document.with_file_name(name);
        if let Some(size) = link.size {
            document = document.with_size(size);
        }
        let description = link.description.map(|text| cut(&self.clean(text), LONGEST_DESCRIPTION));
        self.document("resource_link", document, Some(uri), description, for_user);
    }

    fn document(
        &mut self,
        kind: &'static str,
        document: Document,
        uri: Option<String>,
        description: Option<String>,
        for_user: bool,
    ) {
        self.documents += 1;
        self.output.content.push(McpContent::Document { kind, document, uri, description, for_user });
    }

    /// Structured content, beside blocks that may repeat it.
    fn structured(&mut self, structured: Option<Value>, blocks: &[Value], schema: Option<&Schema>) {
        let Some(mut structured) = structured else { return };
        let violations = match schema {
            Some(schema) if !self.output.is_error => schema.check(&structured),
            _ => Vec::new(),
        };
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        if !is_repeated(&structured, &texts, blocks) {
            // A text that is the same JSON says nothing more.
            let is_same = |text: &str| {
                text.trim_start().starts_with(['{', '['])
                    && serde_json::from_str::<Value>(text).is_ok_and(|value| value == structured)
            };
            self.output.content.retain(|content| match content {
                McpContent::Text { text, role: None } => !is_same(text),
                _ => true,
            });
            self.output.repeated = std::mem::take(&mut self.taken);
            self.is_shallow |= cut_deep(&mut structured);
            self.output.structured = Some(self.cleaned(structured));
        }
        if let [first, ..] = &*violations {
            let found = violations.len();
            tracing::warn!(server = self.config.alias, found, %first, "a structured result does not fit its schema");
            let note = format!(
                "the structured result does not fit the schema that the server gives for it: {first}"
            );
            let note = self.clean(note);
            self.output.content.push(McpContent::Note(cut(&note, LONGEST_DESCRIPTION)));
        }
    }

    fn finish(mut self) -> McpOutput {
        if self.hidden_texts > 0 {
            let note = match self.hidden_texts {
                1 => "a text for the user alone is not shown".to_owned(),
                texts => format!("{texts} texts for the user alone are not shown"),
            };
            self.output.content.push(McpContent::Note(note));
        }
        if self.is_shallow {
            let note = "the result nests too deep to be shown as a whole".to_owned();
            self.output.content.push(McpContent::Note(note));
        }
        if self.left_out > 0 {
            let note = format!("{} more blocks are left out: there are too many", self.left_out);
            self.output.content.push(McpContent::Note(note));
        }
        self.output
    }

    /// A text without the secrets that the server was given.
    fn clean(&self, text: String) -> String {
        match self.redactor.redact(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(clean) => clean,
        }
    }

    fn cleaned(&self, mut value: Value) -> Value {
        clean(&self.redactor, &mut value);
        value
    }
}

/// Bytes that stand in a block.
struct Bytes<'b> {
    kind: &'static str,
    data: String,
    media_type: &'b str,
    uri: Option<String>,
    name: Option<&'b str>,
}

impl<'b> Bytes<'b> {
    fn of(kind: &'static str, data: String, media_type: &'b str) -> Self {
        Self { kind, data, media_type, uri: None, name: None }
    }

    /// Takes the file name that servers of ours give in the metadata of blocks that have no place for one.
    fn named_by(self, meta: Option<&'b MetaObject>) -> Self {
        Self { name: meta.and_then(|meta| meta.0.get(FILE_NAME)?.as_str()), ..self }
    }
}

/// True if a block is for the user and not for the model.
fn is_for_user(annotations: Option<&Annotations>) -> bool {
    let audience = annotations.and_then(|annotations| annotations.audience.as_deref());
    audience.is_some_and(|audience| !audience.is_empty() && !audience.contains(&Role::Assistant))
}

/// The address under which a resource is read through the session of its server.
pub(crate) fn address(alias: &str, uri: &str) -> String {
    format!("{SCHEME}{}/{}", percent_encoded(alias.as_bytes()), percent_encoded(uri.as_bytes()))
}
