//! The JSON form of messages, schema version 1.
//!
//! A message is read without tagged enums, so that embedded JSON keeps its member order and its numbers. A part that is
//! not understood is refused by name: in a conversation of another program it may be the message itself.

mod any;
mod reference;

use std::collections::HashSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::citation::Citation;
use crate::id::{DocumentId, MessageId, ProviderCallId, ToolCallId};
use crate::message::{
    Arguments, AssistantMessage, AssistantPart, MadeDocument, Message, Metadata, OpaquePart, ReasoningPart,
    ReplayData, ResultStatus, SystemMessage, TOOL_CALL_DOCUMENTS, TextPart, ToolCall, ToolResult, ToolResultsMessage, UserMessage,
    UserOrigin, UserPart,
};
use crate::tree::ContentTree;
use reference::ReferenceRecord;
pub(crate) use reference::Resolve;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageRecord {
    #[serde(default)]
    id: Option<MessageId>,
    role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<PartList>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    results: Vec<ResultRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    citations: Vec<Citation>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

/// A list of parts; a plain string is read as one text.
#[derive(Serialize)]
struct PartList(Vec<PartRecord>);

impl<'de> Deserialize<'de> for PartList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            return Ok(Self(vec![PartRecord { text: Some(text), ..part("text") }]));
        }
        serde_json::from_str(raw.get()).map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PartRecord {
    r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refusal: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document: Option<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    documents: Vec<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<DocumentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayRecord {
    family: String,
    model: String,
    data: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResultRecord {
    call_id: ToolCallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Box<RawValue>>,
    /// Every document of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    documents: Vec<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<DocumentId>,
    /// The documents to show where they are not the tree's without the withheld ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<Vec<ReferenceRecord>>,
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MessageRecord::of(self).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// Reads the persisted form; documents are references without bytes until they are loaded. Inside a tagged or flattened
/// type, of which serde reads the text first, replay data and arguments lose their white space.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = any::raw(deserializer)?;
        let record: MessageRecord = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        record.into_message(&Resolve::without_bytes()).map_err(serde::de::Error::custom)
    }
}

fn raw(json: &str) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(json.to_owned())
}

impl MessageRecord {
    fn of(message: &Message) -> Result<Self, serde_json::Error> {
        let (role, parts, results, origin) = match message {
            Message::System(system) => (
                "system",
                system.parts.iter().map(text_record).collect::<Result<Vec<_>, _>>()?,
                Vec::new(),
                None,
            ),
            Message::User(user) => {
                let parts = user.parts.iter().map(content_record).collect::<Result<_, _>>()?;
                ("user", parts, Vec::new(), (user.origin == UserOrigin::Event).then(|| "event".to_owned()))
            }
            Message::Assistant(assistant) => (
                "assistant",
                assistant.parts.iter().map(part_record).collect::<Result<_, _>>()?,
                Vec::new(),
                None,
            ),
            Message::ToolResults(results) => {
                let results = results.results.iter().map(result_record).collect::<Result<_, _>>()?;
                ("toolResults", Vec::new(), results, None)
            }
        };
        let mut metadata = message.metadata().entries().clone();
        if message.is_tool_call_documents() {
            metadata.insert(TOOL_CALL_DOCUMENTS.to_owned(), Value::Bool(true));
        }
        let content = results.is_empty().then_some(PartList(parts));
        let citations = match message {
            Message::Assistant(assistant) => assistant.citations.clone(),
            _ => Vec::new(),
        };
        let (id, role) = (Some(message.id().clone()), role.to_owned());
        Ok(Self { id, role, origin, content, results, citations, metadata })
    }

    /// # Errors
    /// Names a role, a member or a kind of part that this version does not know: nothing is left out in silence.
    pub(crate) fn into_message(self, resolve: &Resolve<'_>) -> Result<Message, serde_json::Error> {
        let Self { id, role, origin, content, results, citations, mut metadata } = self;
        let id = id.unwrap_or_else(MessageId::new);
        let parts = content.map(|PartList(parts)| parts).unwrap_or_default();
        let is_results = matches!(role.as_str(), "toolResults" | "tool_results" | "tool");
        let foreign = [
            ("content", is_results && !parts.is_empty()),
            ("results", !is_results && !results.is_empty()),
            ("origin", role != "user" && origin.is_some()),
            ("citations", role != "assistant" && !citations.is_empty()),
        ];
        if let Some((member, _)) = foreign.iter().find(|(_, is_there)| *is_there) {
            return Err(refused(format!("a message of role {role:?} cannot have the member `{member}`")));
        }
        for part in &parts {
            part.check()?;
        }
        match role.as_str() {
            "system" | "developer" => {
                let texts = parts.into_iter().map(|part| match part.r#type.as_str() {
                    "text" => Ok(part.into_text()),
                    _ => Err(part.unknown("system")),
                });
                let parts = texts.filter_map(Result::transpose).collect::<Result<_, _>>()?;
                Ok(Message::System(SystemMessage { id, parts, metadata: metadata.into() }))
            }
            "assistant" => {
                let parts =
                    parts.into_iter().map(|part| part.into_assistant(resolve)).filter_map(Result::transpose);
                let parts = parts.collect::<Result<_, _>>()?;
                Ok(Message::Assistant(AssistantMessage { id, parts, citations, metadata: metadata.into() }))
            }
            _ if is_results => {
                let results = results.into_iter().map(|result| result.into_result(resolve));
                let results = results.collect::<Result<_, _>>()?;
                Ok(Message::ToolResults(ToolResultsMessage { id, results, metadata: metadata.into() }))
            }
            "user" => {
                let marked = metadata.get(TOOL_CALL_DOCUMENTS) == Some(&Value::Bool(true));
                if marked {
                    metadata.remove(TOOL_CALL_DOCUMENTS);
                }
                let origin = match origin.as_deref() {
                    _ if marked => UserOrigin::ToolCallDocuments,
                    Some("event") => UserOrigin::Event,
                    None | Some("author") => UserOrigin::Author,
                    Some(other) => {
                        return Err(refused(format!("unknown origin of a user message: `{other}`")));
                    }
                };
                let parts =
                    parts.into_iter().map(|part| part.into_content(resolve)).filter_map(Result::transpose);
                let parts = parts.collect::<Result<_, _>>()?;
                Ok(Message::User(UserMessage { id, origin, parts, routed: None, metadata: metadata.into() }))
            }
            other => Err(refused(format!("unknown role: {other}"))),
        }
    }
}

fn refused(problem: String) -> serde_json::Error {
    serde::de::Error::custom(problem)
}

fn part(kind: &str) -> PartRecord {
    PartRecord { r#type: kind.to_owned(), ..PartRecord::default() }
}

fn replay_record(replay: Option<&ReplayData>) -> Result<Option<ReplayRecord>, serde_json::Error> {
    let Some(replay) = replay else { return Ok(None) };
    let (family, model) = (replay.family().to_owned(), replay.model().to_owned());
    Ok(Some(ReplayRecord { family, model, data: raw(replay.json())? }))
}

fn text_record(text: &TextPart) -> Result<PartRecord, serde_json::Error> {
    Ok(PartRecord {
        text: Some(text.text().to_owned()),
        refusal: text.is_refusal(),
        replay: replay_record(text.replay())?,
        ..part("text")
    })
}

fn content_record(content: &UserPart) -> Result<PartRecord, serde_json::Error> {
    match content {
        UserPart::Text(text) => text_record(text),
        UserPart::Document(document) => {
            Ok(PartRecord { document: Some(ReferenceRecord(document.clone())), ..part("document") })
        }
        UserPart::Object(tree) => Ok(PartRecord {
            object: Some(raw(tree.json())?),
            documents: tree.documents().iter().cloned().map(ReferenceRecord).collect(),
            withheld: tree.withheld().to_vec(),
            ..part("object")
        }),
    }
}

fn part_record(from: &AssistantPart) -> Result<PartRecord, serde_json::Error> {
    match from {
        AssistantPart::Text(text) => text_record(text),
        AssistantPart::Reasoning(reasoning) => Ok(PartRecord {
            text: Some(reasoning.text().to_owned()).filter(|text| !text.is_empty()),
            redacted: reasoning.is_redacted(),
            replay: replay_record(reasoning.replay())?,
            ..part("reasoning")
        }),
        AssistantPart::ToolCall(call) => {
            let arguments = call.arguments.raw();
            let truncated = call.arguments.json().is_err() && Arguments::new(arguments).json().is_ok();
            // An object that reads back byte for byte is written as JSON, anything else as the text it is.
            let as_json =
                call.arguments.json() == Ok(arguments) && crate::json::compact(arguments).0 == arguments;
            let arguments =
                if as_json { raw(arguments)? } else { serde_json::value::to_raw_value(arguments)? };
            Ok(PartRecord {
                id: Some(call.id.clone()),
                provider_id: call.provider_id.as_ref().map(|id| id.as_str().to_owned()),
                name: Some(call.name.clone()),
                arguments: Some(arguments),
                truncated,
                replay: replay_record(call.replay.as_deref())?,
                ..part("toolCall")
            })
        }
        AssistantPart::Document(made) => Ok(PartRecord {
            document: Some(ReferenceRecord(made.document.clone())),
            replay: replay_record(made.replay.as_ref())?,
            ..part("document")
        }),
        AssistantPart::Opaque(opaque) => Ok(PartRecord {
            kind: Some(opaque.kind.clone()),
            replay: replay_record(Some(&opaque.replay))?,
            ..part("opaque")
        }),
    }
}

fn result_record(result: &ToolResult) -> Result<ResultRecord, serde_json::Error> {
    let withheld: HashSet<&DocumentId> = result.withheld.iter().collect();
    let captured = result.tree.documents().iter();
    let shown: Vec<_> = captured.filter(|document| !withheld.contains(document.id())).collect();
    let usual = shown.len() == result.documents.len()
        && shown.iter().zip(&result.documents).all(|(a, b)| a.id() == b.id());
    Ok(ResultRecord {
        call_id: result.call_id.clone(),
        provider_id: result.provider_id.as_ref().map(|id| id.as_str().to_owned()),
        name: result.tool_name.clone(),
        status: match result.status {
            ResultStatus::Ok => None,
            ResultStatus::Error => Some("error".to_owned()),
            ResultStatus::Cancelled => Some("cancelled".to_owned()),
        },
        content: Some(raw(result.tree.json())?),
        documents: result.tree.documents().iter().cloned().map(ReferenceRecord).collect(),
        withheld: result.withheld.clone(),
        shown: (!usual).then(|| result.documents.iter().cloned().map(ReferenceRecord).collect()),
    })
}

impl PartRecord {
    fn replay_data(&mut self) -> Option<ReplayData> {
        self.replay.take().map(|replay| ReplayData::new(replay.family, replay.model, replay.data))
    }

    fn into_text(mut self) -> Option<TextPart> {
        let replay = self.replay_data();
        let text = TextPart::new(self.text?)?.with_replay(replay);
        Some(if self.refusal { text.into_refusal() } else { text })
    }

    fn unknown(&self, role: &str) -> serde_json::Error {
        refused(format!("a {role} message cannot have a part of type {:?}", self.r#type))
    }

    /// Refuses members that say nothing in a part of this type, and a text that is not there.
    fn check(&self) -> Result<(), serde_json::Error> {
        let meant: &[&str] = match self.r#type.as_str() {
            "text" => &["text", "refusal", "replay"],
            "reasoning" | "thinking" => &["text", "redacted", "replay"],
            "document" => &["document", "replay"],
            "object" => &["object", "documents", "withheld"],
            "toolCall" | "tool_call" => &["id", "providerId", "name", "arguments", "truncated", "replay"],
            "opaque" => &["kind", "replay"],
            // The part is refused for its type.
            _ => return Ok(()),
        };
        let members = [
            ("text", self.text.is_some()),
            ("refusal", self.refusal),
            ("redacted", self.redacted),
            ("document", self.document.is_some()),
            ("object", self.object.is_some()),
            ("documents", !self.documents.is_empty()),
            ("withheld", !self.withheld.is_empty()),
            ("id", self.id.is_some()),
            ("providerId", self.provider_id.is_some()),
            ("name", self.name.is_some()),
            ("arguments", self.arguments.is_some()),
            ("truncated", self.truncated),
            ("kind", self.kind.is_some()),
            ("replay", self.replay.is_some()),
        ];
        let kind = &self.r#type;
        match members.iter().find(|(member, is_there)| *is_there && !meant.contains(member)) {
            Some((member, _)) => {
                Err(refused(format!("a part of type {kind:?} cannot have the member `{member}`")))
            }
            None if kind == "text" && self.text.is_none() => {
                Err(refused("a part of type \"text\" must have the member `text`".to_owned()))
            }
            None => Ok(()),
        }
    }

    fn into_content(self, resolve: &Resolve<'_>) -> Result<Option<UserPart>, serde_json::Error> {
        let kind = self.r#type.clone();
        match (kind.as_str(), self) {
            ("text", text) => Ok(text.into_text().map(UserPart::Text)),
            ("document", Self { document: Some(document), .. }) => {
                Ok(Some(UserPart::Document(resolve.one(document))))
            }
            ("object", Self { object: Some(object), documents, withheld, .. }) => {
                let tree = ContentTree::parse(object.get(), resolve.all(documents));
                Ok(tree.map(|tree| UserPart::Object(tree.with_withheld(withheld))))
            }
            (_, part) => Err(part.unknown("user")),
        }
    }

    fn into_assistant(mut self, resolve: &Resolve<'_>) -> Result<Option<AssistantPart>, serde_json::Error> {
        match self.r#type.as_str() {
            "reasoning" | "thinking" => {
                let replay = self.replay_data();
                let mut reasoning = ReasoningPart::new(self.text.unwrap_or_default());
                if self.redacted {
                    reasoning = ReasoningPart::redacted();
                }
                Ok(Some(AssistantPart::Reasoning(reasoning.with_replay(replay))))
            }
            "toolCall" | "tool_call" => {
                let replay = self.replay_data();
                let text = match &self.arguments {
                    Some(json) => serde_json::from_str::<String>(json.get())
                        .unwrap_or_else(|_| crate::json::compact(json.get()).0),
                    None => String::new(),
                };
                let arguments =
                    if self.truncated { Arguments::truncated(text) } else { Arguments::new(text) };
                let call = ToolCall::new(self.name.unwrap_or_default(), arguments)
                    .with_id(self.id.unwrap_or_else(ToolCallId::new))
                    .with_provider_id(self.provider_id.and_then(ProviderCallId::parse))
                    .with_replay(replay);
                Ok(Some(AssistantPart::ToolCall(call)))
            }
            "opaque" => {
                let replay = self.replay_data().ok_or_else(|| self.unknown("(without replay) assistant"))?;
                Ok(Some(AssistantPart::Opaque(OpaquePart::new(self.kind.unwrap_or_default(), replay))))
            }
            "document" => {
                let replay = self.replay_data();
                let reference =
                    self.document.take().ok_or_else(|| self.unknown("(without reference) assistant"))?;
                Ok(MadeDocument::new(resolve.one(reference)).with_replay(replay).into())
            }
            "text" => Ok(self.into_text().map(AssistantPart::Text)),
            _ => Err(self.unknown("assistant")),
        }
    }
}

impl ResultRecord {
    fn into_result(self, resolve: &Resolve<'_>) -> Result<ToolResult, serde_json::Error> {
        let documents = resolve.all(self.documents);
        let content = self.content.as_ref().map_or("null", |content| content.get());
        let tree = ContentTree::parse(content, documents).unwrap_or_else(|| ContentTree::text(content));
        let status = match self.status.as_deref() {
            None | Some("ok") => ResultStatus::Ok,
            Some("error") => ResultStatus::Error,
            Some("cancelled") => ResultStatus::Cancelled,
            Some(other) => return Err(refused(format!("unknown status of a tool result: `{other}`"))),
        };
        let tree = tree.with_withheld(self.withheld.clone());
        let shown = match self.shown {
            Some(shown) => resolve.all(shown),
            None if status == ResultStatus::Cancelled => Vec::new(),
            None => tree.shown().cloned().collect(),
        };
        Ok(ToolResult {
            call_id: self.call_id,
            provider_id: self.provider_id.and_then(ProviderCallId::parse),
            tool_name: self.name.filter(|name| !name.trim().is_empty()),
            status,
            tree,
            documents: shown,
            withheld: self.withheld,
            routed: None,
        })
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries().serialize(serializer)
    }
}

/// The parts of a message that somebody else stores, such as one reply inside a log entry.
impl Serialize for AssistantMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Message::Assistant(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AssistantMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Message::deserialize(deserializer)? {
            Message::Assistant(message) => Ok(message),
            _ => Err(serde::de::Error::custom("not an assistant message")),
        }
    }
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        result_record(self).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = any::raw(deserializer)?;
        let record: ResultRecord = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        record.into_result(&Resolve::without_bytes()).map_err(serde::de::Error::custom)
    }
}
