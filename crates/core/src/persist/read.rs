//! Messages read from their JSON form.

use serde_json::Value;

use super::record::{MessageRecord, PartList, PartRecord, ResultRecord};
use super::reference::Resolve;
use crate::id::{MessageId, ProviderCallId, ToolCallId};
use crate::message::{
    Arguments, AssistantMessage, AssistantPart, MadeDocument, Message, OpaquePart, ReasoningPart, ReplayData,
    ResultStatus, SystemMessage, TOOL_CALL_DOCUMENTS, TextPart, ToolCall, ToolResult, ToolResultsMessage,
    UserMessage, UserOrigin, UserPart,
};
use crate::tree::ContentTree;

impl MessageRecord {
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
    pub(super) fn into_result(self, resolve: &Resolve<'_>) -> Result<ToolResult, serde_json::Error> {
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

fn refused(problem: String) -> serde_json::Error {
    serde::de::Error::custom(problem)
}
