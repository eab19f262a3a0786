//! Requests of AG-UI.

use attache_core::{ToolCallId, UserMessage, UserPart};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::body::{self, nullable};
use super::conversation::{self, Conversation, Reading};
use super::known_documents::KnownDocuments;
use super::parts::{by_data, by_url, tree, typed, unknown};
use super::tools::ClientTool;
use crate::dialect::ag_ui::{PROGRESS, call_of_progress};
use crate::dialect::snapshot::Sent;
use crate::fault::Fault;
use crate::live::OnDisconnect;

/// The body, as far as anything follows from it; other members are left alone.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    /// The thread: a session.
    pub(crate) thread_id: String,
    pub(crate) run_id: String,
    #[serde(default, deserialize_with = "nullable")]
    messages: Vec<Box<RawValue>>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) tools: Vec<ClientTool>,
    #[serde(default, deserialize_with = "nullable")]
    context: Vec<Context>,
    /// Options of ours: `model`, `onDisconnect`.
    #[serde(default)]
    forwarded_props: Value,
    #[serde(default)]
    pub(crate) resume: Option<Vec<Resume>>,
}

/// The answer of a person to an interrupt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resume {
    pub(crate) interrupt_id: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) payload: Value,
}

#[derive(Debug, Deserialize)]
struct Context {
    description: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    id: Option<String>,
    role: String,
    content: Option<Content>,
    #[serde(default, deserialize_with = "nullable")]
    tool_calls: Vec<Called>,
    tool_call_id: Option<String>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Called {
    id: String,
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    #[serde(default, deserialize_with = "nullable")]
    arguments: String,
}

/// Content: a text, or parts. Messages of activities have objects of their own, which models do not read.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
    Other {},
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    source: Option<Source>,
    metadata: Option<Value>,
    // The members of `binary`, the one part for files before 1.0.
    mime_type: Option<String>,
    data: Option<String>,
    url: Option<String>,
    id: Option<String>,
    filename: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    #[serde(rename = "type")]
    kind: String,
    value: String,
    mime_type: Option<String>,
}

impl Body {
    pub(crate) fn model(&self) -> Option<&str> {
        self.forwarded_props.get("model").and_then(Value::as_str)
    }

    pub(crate) fn on_disconnect(&self) -> Result<Option<OnDisconnect>, Fault> {
        match self.forwarded_props.get("onDisconnect") {
            None | Some(Value::Null) => Ok(None),
            Some(policy) => serde_json::from_value(policy.clone())
                .map(Some)
                .map_err(|_| Fault::invalid("onDisconnect is not known").at("forwardedProps")),
        }
    }

    /// True for a page that comes back to its thread: it says nothing, and wants to know what was said.
    pub(crate) fn comes_back(&self) -> bool {
        self.messages.is_empty() && self.resume.as_ref().is_none_or(Vec::is_empty)
    }

    /// The conversation, and the messages that the client knows. The context of the page stands behind what the user says.
    pub(crate) async fn take_conversation(
        &mut self,
        mut known: KnownDocuments<'_>,
    ) -> Result<(Conversation, Vec<Sent>), Fault> {
        let raw = std::mem::take(&mut self.messages);
        conversation::bound(raw.len(), "messages")?;
        let at_messages = |fault: Fault| fault.at("messages");
        let read = raw.iter().map(|raw| body::json(raw.get().as_bytes()));
        let messages = read.collect::<Result<Vec<Message>, Fault>>().map_err(at_messages)?;
        let last = |role: &str| messages.iter().rposition(|message| message.role == role);
        let (asked, replied) = (last("user"), last("assistant"));
        let (mut reading, mut sent) = (Reading::default(), Vec::with_capacity(raw.len()));
        for (at, (message, raw)) in messages.into_iter().zip(raw).enumerate() {
            let context = if Some(at) == asked { self.context.as_slice() } else { &[] };
            sent.push(message.sent(raw));
            known.at(at, replied);
            message.read(context, &mut reading, &known).await.map_err(at_messages)?;
        }
        Ok((reading.finish_as_it_is(), sent))
    }
}

impl Message {
    /// The message as a thread knows it again.
    fn sent(&self, raw: Box<RawValue>) -> Sent {
        let text = match (self.role.as_str(), &self.content) {
            ("assistant" | "user", Some(Content::Text(text))) => text.clone(),
            ("assistant" | "user", Some(Content::Parts(parts))) => {
                parts.iter().filter_map(|part| part.text.as_deref()).collect()
            }
            _ => String::new(),
        };
        Sent {
            id: self.id.clone(),
            role: self.role.clone(),
            text,
            calls: self.tool_calls.iter().map(|called| called.id.clone()).collect(),
            result: self.tool_call_id.clone().filter(|_| self.role == "tool"),
            running: self.id.as_deref().filter(|_| self.role == "activity").and_then(|id| running(id, &raw)),
            raw,
        }
    }

    async fn read(
        self,
        context: &[Context],
        reading: &mut Reading,
        known: &KnownDocuments<'_>,
    ) -> Result<(), Fault> {
        let Self { id, role, content, tool_calls, tool_call_id, error } = self;
        match role.as_str() {
            "system" | "developer" => reading.system(&text(content, "instructions")?),
            "user" => {
                reading.user(parts(content, known).await?);
                reading.known_as(id.as_deref());
                if !context.is_empty() {
                    let lines =
                        context.iter().map(|context| format!("{}: {}", context.description, context.value));
                    let lines: Vec<String> = lines.collect();
                    // The next run brings its own.
                    let told = UserPart::text(format!("Context of the page:\n{}", lines.join("\n")));
                    reading.for_this_run(UserMessage::new([told]));
                }
            }
            "assistant" => {
                let calls = tool_calls.into_iter().map(|called| {
                    conversation::call(&called.id, called.function.name, called.function.arguments)
                });
                reading.assistant(&text(content, "a reply")?, calls.collect::<Result<_, _>>()?);
                reading.known_as(id.as_deref());
            }
            "tool" => {
                let id = tool_call_id.ok_or_else(|| Fault::invalid("a tool message needs toolCallId"))?;
                let mut said = parts(content, known).await?;
                // Pages that say the failure in both say it once.
                let is_said = |error: &str| {
                    let has =
                        |part: &UserPart| matches!(part, UserPart::Text(text) if text.text().contains(error));
                    said.iter().flatten().any(has)
                };
                if let Some(error) = error.as_deref().filter(|error| !is_said(error)) {
                    said.push(UserPart::text(error));
                }
                let tree = tree(said)?;
                // The thread may know the call where the request does not.
                reading.result_alone(&id, tree, error.is_some())?;
            }
            // Things that other parts of the page showed, and the model's own thoughts.
            "reasoning" | "activity" => {}
            role => return Err(Fault::invalid(format!("the role {role:?} is not known"))),
        }
        Ok(())
    }
}

/// The call that an activity shows as under way.
fn running(id: &str, raw: &RawValue) -> Option<ToolCallId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Activity {
        activity_type: String,
        content: Map<String, Value>,
    }
    let call = call_of_progress(id)?;
    let Activity { activity_type, content } = serde_json::from_str(raw.get()).ok()?;
    // Pages have activities of their own.
    let is_ours = activity_type == PROGRESS;
    (is_ours && content.get("isFinished") != Some(&Value::Bool(true))).then_some(call)
}

/// The text of content that may be nothing else.
fn text(content: Option<Content>, whose: &str) -> Result<String, Fault> {
    match content {
        None => Ok(String::new()),
        Some(Content::Text(text)) => Ok(text),
        Some(Content::Parts(parts)) => {
            let texts = parts.into_iter().map(|part| match (part.kind.as_str(), part.text) {
                ("text", Some(text)) => Ok(text),
                (kind, _) => Err(Fault::invalid(format!("{whose} cannot have a part of the type {kind:?}"))),
            });
            texts.collect()
        }
        Some(Content::Other {}) => Err(Fault::invalid("the content is neither a text nor parts")),
    }
}

async fn parts(content: Option<Content>, known: &KnownDocuments<'_>) -> Result<Vec<Option<UserPart>>, Fault> {
    let Some(Content::Parts(parts)) = content else {
        return Ok(vec![UserPart::text(text(content, "a message")?)]);
    };
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        all.push(part.read(known).await?);
    }
    Ok(all)
}

impl Part {
    async fn read(self, known: &KnownDocuments<'_>) -> Result<Option<UserPart>, Fault> {
        let Self { kind, text, source, metadata, mime_type, data, url, id, filename } = self;
        let (how, value, media_type) = match (kind.as_str(), text, source) {
            ("text", Some(text), _) => return Ok(UserPart::text(text)),
            ("image" | "audio" | "video" | "document", _, Some(source)) => {
                (source.kind, source.value, source.mime_type)
            }
            ("binary", ..) => {
                let mut places = [("data", data), ("url", url), ("file", id)].into_iter();
                let place = places.find_map(|(how, value)| Some((how.to_owned(), value?)));
                let (how, value) = place.ok_or_else(|| unknown("binary"))?;
                (how, value, mime_type)
            }
            (kind, ..) => return Err(unknown(kind)),
        };
        let media_type = media_type.as_deref();
        let name = metadata.as_ref().and_then(|metadata| metadata.get("filename")).and_then(Value::as_str);
        let name = name.or(filename.as_deref());
        let document = match how.as_str() {
            "data" => by_data(&format!("data:{};base64,{value}", media_type.unwrap_or_default()))?,
            "url" => typed(by_url(&value)?, media_type),
            // An upload, or one that the thread has: its messages name both in the same way.
            "file" => return known.by_id(&value, name).await,
            how => return Err(Fault::invalid(format!("a source of the type {how:?} is not known"))),
        };
        Ok(match name {
            Some(name) => document.with_file_name(name),
            None => document,
        }
        .into())
    }
}
