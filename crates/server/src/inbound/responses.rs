//! Requests of OpenAI's Responses.

use attache_core::{Document, ModelSettings, ResponseFormat, ToolCall};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::body::nullable;
use super::chat::reasoning;
use super::conversation::{self, Conversation, Reading};
use super::known_documents::KnownDocuments;
use super::parts::{Content, decoded};
use super::tools::{ClientTool, FlatTool};
use crate::dialect::response_item::media_type;
use crate::dialect::responses::ECHO;
use crate::fault::Fault;
use crate::live::OnDisconnect;

/// The body, as far as anything follows from it; other members are left alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Body {
    #[serde(deserialize_with = "nullable")]
    pub(crate) model: String,
    #[serde(deserialize_with = "nullable")]
    input: Input,
    instructions: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) stream: bool,
    #[serde(deserialize_with = "nullable")]
    pub(crate) background: bool,
    store: Option<bool>,
    pub(crate) previous_response_id: Option<String>,
    conversation: Option<Named>,
    tools: Option<Vec<FlatTool>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    max_output_tokens: Option<u32>,
    max_tool_calls: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_logprobs: Option<u32>,
    reasoning: Option<Thinking>,
    text: Option<Text>,
    prompt: Option<Value>,
    truncation: Option<String>,
    moderation: Option<IgnoredAny>,
    #[serde(deserialize_with = "nullable")]
    attache: Extension,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Extension {
    on_disconnect: Option<OnDisconnect>,
}

/// A conversation, by its id or as an object.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Named {
    Id(String),
    Object { id: String },
}

#[derive(Debug, Deserialize)]
struct Thinking {
    effort: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Text {
    format: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Items(Vec<Item>),
}

impl Default for Input {
    fn default() -> Self {
        Self::Items(Vec::new())
    }
}

/// One item, of whatever kind, in one flat form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    content: Content,
    id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    output: Option<Content>,
    /// An image that the model made, in base64.
    result: Option<String>,
    output_format: Option<String>,
}

impl Body {
    /// True if the response is kept.
    pub(crate) fn is_stored(&self) -> bool {
        self.store.unwrap_or(true)
    }

    /// The conversation that the response becomes a part of: the id of a session.
    pub(crate) fn conversation(&self) -> Option<&str> {
        match self.conversation.as_ref()? {
            Named::Id(id) | Named::Object { id } => Some(id),
        }
    }

    pub(crate) fn on_disconnect(&self) -> Option<OnDisconnect> {
        self.attache.on_disconnect.or_else(|| self.background.then_some(OnDisconnect::Detach))
    }

    /// The options for the model; an option that cannot be honoured is refused.
    pub(crate) fn settings(&self) -> Result<Option<ModelSettings>, Fault> {
        if self.prompt.is_some() {
            return Err(Fault::unsupported("prompt", "there are no stored prompts here"));
        }
        if self.top_logprobs.is_some_and(|count| count > 0) {
            return Err(Fault::unsupported("top_logprobs", "probabilities of tokens are not told"));
        }
        if self.moderation.is_some() {
            return Err(Fault::unsupported("moderation", "answers are not moderated here"));
        }
        if self.max_tool_calls.is_some() {
            return Err(Fault::unsupported("max_tool_calls", "the agent has its own limits"));
        }
        if self.truncation.as_deref().is_some_and(|how| !matches!(how, "auto" | "disabled")) {
            return Err(Fault::unsupported("truncation", "\"auto\" and \"disabled\" are known"));
        }
        let mut settings = ModelSettings::new();
        settings.max_tokens = self.max_output_tokens;
        settings.temperature = self.temperature;
        settings.top_p = self.top_p;
        let has_tools = self.tools.as_ref().is_some_and(|tools| !tools.is_empty());
        settings.parallel_tool_calls = self.parallel_tool_calls.filter(|_| has_tools);
        let effort = self.reasoning.as_ref().and_then(|reasoning| reasoning.effort.as_deref());
        settings.reasoning = effort.map(reasoning).transpose().map_err(|fault| fault.at("reasoning"))?;
        let format = self.text.as_ref().and_then(|text| text.format.as_ref());
        settings.response_format = format.map(response_format).transpose()?;
        Ok((settings != ModelSettings::new()).then_some(settings))
    }

    /// The tools that the client answers.
    pub(crate) fn take_tools(&mut self) -> Result<Vec<ClientTool>, Fault> {
        let tools = self.tools.take().unwrap_or_default();
        match self.tool_choice.as_ref().map(|choice| choice.as_str()) {
            None | Some(Some("auto")) => {}
            Some(Some("none")) => return Ok(Vec::new()),
            Some(_) => {
                let message = "the agent chooses its tools itself: \"auto\" and \"none\" are known";
                return Err(Fault::unsupported("tool_choice", message));
            }
        }
        tools.into_iter().map(|tool| tool.into_tool("function")).collect()
    }

    /// The conversation; results may answer calls that the request does not hold.
    pub(crate) async fn take_conversation(
        &mut self,
        mut known: KnownDocuments<'_>,
    ) -> Result<Conversation, Fault> {
        let mut reading = Reading::default();
        if let Some(instructions) = &self.instructions {
            reading.system(instructions);
        }
        let items = match std::mem::take(&mut self.input) {
            Input::Text(text) => {
                reading.user(Content::Text(text).into_parts(&known).await?);
                Vec::new()
            }
            Input::Items(items) => items,
        };
        conversation::bound(items.len(), "input")?;
        let mut reply = Reply::default();
        let replied = items.iter().rposition(Item::is_of_reply);
        for (at, item) in items.into_iter().enumerate() {
            if let Some(response) = item.referred()? {
                // All up to it is in the session of that response.
                reading.forget();
                reply = Reply::default();
                if self.conversation.is_none() {
                    self.previous_response_id = Some(response);
                }
                continue;
            }
            known.at(at, replied);
            item.read(&mut reading, &mut reply, &known).await.map_err(|fault| fault.at("input"))?;
        }
        reply.end(&mut reading);
        reading.finish("input")
    }
}

/// The members of a request that its response repeats.
pub(crate) fn echo(body: &[u8]) -> Map<String, Value> {
    let mut members: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
    members.retain(|name, value| !value.is_null() && ECHO.iter().any(|(echoed, _)| echoed == name));
    members
}

/// A reply of the model, of which each item is one piece.
#[derive(Default)]
struct Reply {
    text: String,
    calls: Vec<ToolCall>,
    made: Vec<Document>,
}

impl Reply {
    fn end(&mut self, reading: &mut Reading) {
        let Self { text, calls, made } = std::mem::take(self);
        if !text.is_empty() || !calls.is_empty() || !made.is_empty() {
            reading.reply(&text, calls, made);
        }
    }
}

impl Item {
    /// True for a piece of what the model said.
    fn is_of_reply(&self) -> bool {
        match self.kind.as_deref().unwrap_or("message") {
            "message" => self.role.as_deref() == Some("assistant"),
            kind => ["function_call", "image_generation_call", "item_reference"].contains(&kind),
        }
    }

    /// The response whose piece an item stands for, if it stands for one.
    fn referred(&self) -> Result<Option<String>, Fault> {
        if self.kind.as_deref() != Some("item_reference") {
            return Ok(None);
        }
        let id = self.id.as_deref().unwrap_or_default();
        let response =
            ["msg_", "rs_", "fc_", "ig_"].iter().find_map(|word| id.strip_prefix(word)?.rsplit_once('_'));
        match response {
            Some((run, _)) if !run.is_empty() => Ok(Some(format!("resp_{run}"))),
            _ => Err(Fault::not_found("item").at("input")),
        }
    }

    async fn read(
        self,
        reading: &mut Reading,
        reply: &mut Reply,
        known: &KnownDocuments<'_>,
    ) -> Result<(), Fault> {
        let Self { kind, role, content, call_id, name, arguments, output, result, output_format, id: _ } =
            self;
        let call_id = call_id.ok_or_else(|| Fault::invalid("a call needs call_id"));
        match (kind.as_deref().unwrap_or("message"), role.as_deref()) {
            ("message", Some("assistant")) => {
                // Each message is a reply of its own; calls and images behind it belong to it.
                if !reply.text.is_empty() || !reply.calls.is_empty() {
                    reply.end(reading);
                }
                reply.text = content.into_text("an assistant message")?;
            }
            ("function_call", _) => {
                let name = name.ok_or_else(|| Fault::invalid("a call needs a name"))?;
                reply.calls.push(conversation::call(&call_id?, name, arguments.unwrap_or_default())?);
            }
            ("function_call_output", _) => {
                reply.end(reading);
                let tree = output.unwrap_or_default().into_tree(known).await?;
                reading.result_alone(&call_id?, tree, false)?;
            }
            // One without a result failed, or stands in the session of its response.
            ("image_generation_call", _) => {
                if let Some(data) = result {
                    let Some(media_type) = media_type(output_format.as_deref()) else {
                        return Err(Fault::invalid(format!("the format {output_format:?} is not known")));
                    };
                    reply.made.push(Document::from_bytes(decoded(&data)?, media_type));
                }
            }
            // The model's own thoughts, which providers take back in forms of their own only.
            ("reasoning", _) => {}
            ("message", Some(role)) => {
                reply.end(reading);
                match role {
                    "user" => reading.user(content.into_parts(known).await?),
                    "system" | "developer" => reading.system(&content.into_text("a system message")?),
                    _ => return Err(Fault::invalid(format!("the role {role:?} is not known"))),
                }
            }
            (kind, _) => {
                return Err(Fault::invalid(format!("an item of the type {kind:?} is not known here")));
            }
        }
        Ok(())
    }
}

fn response_format(format: &Value) -> Result<ResponseFormat, Fault> {
    let wrong = |message: &str| Fault::unsupported("text", message);
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(ResponseFormat::Text),
        Some("json_object") => Ok(ResponseFormat::JsonObject),
        Some("json_schema") => {
            let schema = format.get("schema").cloned().ok_or_else(|| wrong("the schema is missing"))?;
            Ok(ResponseFormat::JsonSchema {
                name: format.get("name").and_then(Value::as_str).unwrap_or("answer").to_owned(),
                schema: schema.into(),
                strict: format.get("strict").and_then(Value::as_bool).unwrap_or(false),
            })
        }
        _ => Err(wrong("text, json_object and json_schema are known")),
    }
}
