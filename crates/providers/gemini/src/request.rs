//! Encodes a request of generateContent.

mod documents;
mod messages;
mod options;
mod results;
mod tools;

use std::borrow::Cow;
use std::sync::Arc;

use attache_core::json::merge_members;
use attache_core::{Message, ModelSettings, Secret, ToolSet};
use attache_transport::{
    EncodedBody, EncodedLog, Refusals, RequestParts, count_leading, extra_tools, forbid, own_system,
    system_blocks, with_kept,
};
use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::{Map, Value};

pub(crate) use self::documents::wire_type;
use self::messages::{ENVELOPE, Renderer, USER, epoch};
pub(crate) use self::tools::check as check_tools;
use crate::cache::cut::{Held, Prefix};
use crate::codec::{Ask, GenerateCodec};
use crate::error::{Result, invalid_history, unsupported};

/// The user's words in a conversation that begins with the model, which the API does not take.
const PRELUDE: &str = r#"{"role":"user","parts":[{"text":"(The assistant speaks first.)"}]},"#;

/// The key and the headers of the options on a request.
pub(crate) fn authorized(
    codec: &GenerateCodec,
    settings: &ModelSettings,
    parts: RequestParts,
    key: Option<&Secret>,
) -> Result<RequestParts> {
    let extra = &settings.extra_headers;
    let google_key = HeaderName::from_static("x-goog-api-key");
    let is_set = extra.iter().any(|(name, _)| name == AUTHORIZATION.as_str() || name == google_key.as_str());
    let parts = match key.filter(|key| !key.is_empty() && !is_set) {
        Some(key) => codec.platform.authorized(parts, key),
        None => parts,
    };
    parts.with_extra_headers(extra)
}

/// The state of a conversation that is kept between its requests.
#[derive(Debug)]
pub(crate) struct State {
    log: EncodedLog,
    epoch: u64,
    tools: Arc<ToolSet>,
    /// The tools as they were written last.
    written_tools: Arc<str>,
    /// The prefix that was looked at last.
    pub(crate) prefix: Option<Prefix>,
}

impl State {
    /// Makes something with the state of the conversation, which is kept for the next request.
    pub(crate) fn with<T>(ask: Ask<'_>, make: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let new = || Self {
            log: EncodedLog::new(&ENVELOPE),
            epoch: epoch(ask.codec, &ToolSet::default()),
            tools: Arc::default(),
            written_tools: Arc::default(),
            prefix: None,
        };
        with_kept(ask.request, ask.codec.family(), |_| true, new, make)
    }

    /// The body. `cached` names the cached content that holds what stands before the rest of the messages.
    pub(crate) fn encode(&mut self, ask: Ask<'_>, head: Head, cached: Option<&Held>) -> Result<EncodedBody> {
        let Ask { request, settings, codec, .. } = ask;
        let mut members = head.members;
        match cached {
            Some(held) => {
                members.insert("cachedContent".to_owned(), Value::String(held.name.clone()));
            }
            None => members.extend(head.tool_config.map(|config| ("toolConfig".to_owned(), config))),
        }
        let messages = cached.map_or(&*request.messages, |held| &held.rest);
        let leading = if cached.is_some() { 0 } else { count_leading(messages) };
        sync(&mut self.log, ask, messages, leading, self.epoch)?;

        let mut text = String::from("{");
        if cached.is_none() {
            push(&mut text, "systemInstruction", &head.system);
            push(&mut text, "tools", &head.tools);
        }
        for (name, value) in &members {
            push(&mut text, name, &value.to_string());
        }
        text.push_str(r#""contents":["#);
        if let Some(own) = own_system(settings).filter(|_| cached.is_none() && !codec.capabilities.system) {
            text.push_str(r#"{"role":"user","parts":[{"text":"#);
            text.push_str(&Value::from(format!("<system>\n{own}\n</system>")).to_string());
            text.push_str("}]},");
        }
        match self.log.first_role() {
            None => return Err(invalid_history("there is no message to answer")),
            Some(USER) => {}
            Some(_) => text.push_str(PRELUDE),
        }
        Ok(self.log.body(text, &b"]}"[..], &[]))
    }

    /// Checks calls and results of the messages that are not rendered yet.
    pub(crate) fn check_pairing(&self, messages: &[Arc<Message>]) -> Result<()> {
        self.log.check_pairing(messages)
    }

    /// Everything but the contents.
    pub(crate) fn head(&mut self, ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Head> {
        let Ask { request, settings, codec, .. } = ask;
        let generation = options::generation(ask, refusals)?;
        let own = self.tools(ask, refusals)?;
        let tool_config = tools::choice(ask, refusals)?;
        let mut members = Map::new();
        if !generation.is_empty() {
            members.insert("generationConfig".to_owned(), Value::Object(generation));
        }
        members.extend(tool_config.map(|config| ("toolConfig".to_owned(), config)));
        let more_tools = merge(&mut members, &settings.extra_body)?;
        let mut tools = String::new();
        let own = (!own.is_empty()).then(|| Cow::Borrowed(&*own));
        for tool in own.into_iter().chain(more_tools.iter().map(|tool| Cow::Owned(tool.to_string()))) {
            tools.push(if tools.is_empty() { '[' } else { ',' });
            tools.push_str(&tool);
        }
        if !tools.is_empty() {
            tools.push(']');
        }
        let system = match codec.capabilities.system {
            true => system(settings, &request.messages),
            false => String::new(),
        };
        Ok(Head { system, tools, tool_config: members.shift_remove("toolConfig"), members })
    }

    /// The declarations, written once for as long as they stay the same.
    fn tools(&mut self, ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Arc<str>> {
        let Ask { request, codec, .. } = ask;
        self.epoch = epoch(codec, &request.tools);
        if !Arc::ptr_eq(&self.tools, &request.tools) {
            if self.tools != request.tools {
                self.written_tools = Arc::from(tools::render(&request.tools)?);
            }
            self.tools = Arc::clone(&request.tools);
        }
        if !request.tools.is_empty() && !codec.capabilities.tools {
            refusals.refuse("tools", "the model calls no tools", "there are none")?;
            return Ok(Arc::default());
        }
        Ok(Arc::clone(&self.written_tools))
    }

    /// The contents of `messages` as a list, rendered for a cached content; `None` if there are none.
    pub(crate) fn contents_of(&self, ask: Ask<'_>, messages: &[Arc<Message>]) -> Result<Option<EncodedBody>> {
        let mut log = EncodedLog::new(&ENVELOPE);
        sync(&mut log, ask, messages, count_leading(messages), self.epoch)?;
        let open = match log.first_role() {
            None => return Ok(None),
            Some(USER) => "[".to_owned(),
            Some(_) => format!("[{PRELUDE}"),
        };
        Ok(Some(log.body(open, &b"]"[..], &[])))
    }
}

/// The members before the contents.
#[derive(Debug)]
pub(crate) struct Head {
    /// The system instruction as JSON, possibly empty.
    pub(crate) system: String,
    /// The list of tools as JSON, possibly empty.
    pub(crate) tools: String,
    pub(crate) tool_config: Option<Value>,
    /// The members that every request says anew.
    members: Map<String, Value>,
}

fn sync(
    log: &mut EncodedLog,
    ask: Ask<'_>,
    messages: &[Arc<Message>],
    leading: usize,
    epoch: u64,
) -> Result<()> {
    let (tools, files) = (&*ask.request.tools, &ask.request.files);
    let renderer = Renderer { codec: ask.codec, tools, files, messages, leading, epoch };
    log.sync(
        messages,
        |index, message| renderer.variant(index, message),
        |index, message, item| renderer.message(index, message, item),
    )
}

/// The instructions of the options, and those before everything else.
fn system(settings: &ModelSettings, messages: &[Arc<Message>]) -> String {
    match system_blocks(settings, messages, count_leading(messages), r#"{"text":"#) {
        none if none.is_empty() => none,
        blocks => [r#"{"parts":["#, &blocks, "]}"].concat(),
    }
}

fn push(text: &mut String, name: &str, json: &str) {
    if !json.is_empty() {
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        text.push_str(json);
        text.push(',');
    }
}

/// Merges the caller's own members; returns the tools among them.
fn merge<'c>(members: &mut Map<String, Value>, extra: &'c Map<String, Value>) -> Result<&'c [Value]> {
    const CONVERSATION: [&str; 3] = ["contents", "systemInstruction", "system_instruction"];
    merge_members(members, extra);
    members.shift_remove("tools");
    forbid(extra, &CONVERSATION)?;
    let streamed = "/functionCallingConfig/streamFunctionCallArguments";
    if members.get("toolConfig").and_then(|config| config.pointer(streamed)) == Some(&Value::Bool(true)) {
        return Err(unsupported("arguments of calls cannot be streamed in pieces")
            .with_param("extra_body".to_owned()));
    }
    extra_tools(extra)
}
