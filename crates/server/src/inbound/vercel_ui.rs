//! Requests of the chat of Vercel's AI SDK.

use std::collections::HashSet;

use attache_agent::Decision;
use attache_core::{ContentTree, UserPart};
use serde::Deserialize;
use serde_json::Value;

use super::body::nullable;
use super::conversation::{self, Conversation, Reading};
use super::files;
use super::known_documents::{KnownDocuments, gone};
use super::parts::{by_url, typed, unknown};
use super::tools::ClientTool;
use crate::dialect::snapshot::PROVIDER;
use crate::fault::Fault;
use crate::live::OnDisconnect;

/// The body, as far as anything follows from it; other members are left alone.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    /// The chat: a session.
    pub(crate) id: String,
    messages: Vec<UiMessage>,
    /// The message that the client goes on with, or changes.
    #[serde(default)]
    message_id: Option<String>,
    // A transport adds these by its option `body`.
    pub(crate) model: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) tools: Vec<ClientTool>,
    pub(crate) on_disconnect: Option<OnDisconnect>,
}

#[derive(Debug, Deserialize)]
struct UiMessage {
    #[serde(default)]
    id: Option<String>,
    role: String,
    #[serde(default, deserialize_with = "nullable")]
    parts: Vec<Part>,
}

/// One part, of whatever kind, in one flat form.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    url: Option<String>,
    /// The ids of an upload, by those who keep it.
    provider_reference: Option<Value>,
    media_type: Option<String>,
    filename: Option<String>,
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    state: Option<String>,
    input: Option<Value>,
    output: Option<Value>,
    error_text: Option<String>,
    approval: Option<Approval>,
    /// Those of a user's message that came while the model answered.
    #[serde(default, deserialize_with = "nullable")]
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
struct Approval {
    id: String,
    approved: Option<bool>,
    reason: Option<String>,
}

impl Part {
    fn is_decided(&self) -> bool {
        self.state.as_deref() == Some("approval-responded")
    }

    /// The name of the tool, if the part is a call.
    fn tool(&self) -> Option<&str> {
        match self.kind.as_str() {
            "dynamic-tool" => self.tool_name.as_deref(),
            kind => kind.strip_prefix("tool-"),
        }
    }
}

impl Body {
    /// The names of the client's tools.
    pub(crate) fn own_tools(&self) -> HashSet<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// The message with which the client goes on: the one that it names, or its last one. It adds what it is told there.
    fn goes_on_with(&self) -> Option<&UiMessage> {
        let is_named = |message: &&UiMessage| message.id.is_some() && message.id == self.message_id;
        let named = self.messages.iter().rfind(is_named).filter(|message| message.is_assistant());
        named.or_else(|| self.messages.last().filter(|message| message.is_assistant()))
    }

    /// The calls of the message that the answer goes on with.
    pub(crate) fn known_calls(&self) -> HashSet<String> {
        let parts = self.goes_on_with().map(|message| message.parts.as_slice()).unwrap_or_default();
        parts.iter().filter_map(|part| part.tool_call_id.clone()).collect()
    }

    /// True if the client has the message that it decides in, and goes on with another one: it puts what it is told in the
    /// place of the first.
    pub(crate) fn begins_anew(&self) -> bool {
        self.goes_on_with().is_none()
    }

    /// The decisions about calls: those of the message with which the client goes on, or of the last one that has some,
    /// whatever the user said behind it.
    pub(crate) fn decisions(&self) -> Vec<(String, Decision)> {
        let has_decisions =
            |message: &&UiMessage| message.is_assistant() && message.parts.iter().any(Part::is_decided);
        let decided = self.goes_on_with().or_else(|| self.messages.iter().rfind(has_decisions));
        let parts = decided.map(|message| message.parts.as_slice()).unwrap_or_default();
        let responded = parts.iter().filter(|part| part.is_decided());
        responded
            .filter_map(|part| {
                let approval = part.approval.as_ref()?;
                let decision = match approval.approved? {
                    true => Decision::Approve,
                    false => Decision::Deny(approval.reason.clone().unwrap_or_default()),
                };
                Some((approval.id.clone(), decision))
            })
            .collect()
    }

    /// The conversation.
    pub(crate) async fn take_conversation(
        &mut self,
        mut known: KnownDocuments<'_>,
    ) -> Result<Conversation, Fault> {
        let messages = std::mem::take(&mut self.messages);
        conversation::bound(messages.len(), "messages")?;
        let mut reading = Reading::default();
        let replied = messages.iter().rposition(UiMessage::is_assistant);
        for (at, message) in messages.into_iter().enumerate() {
            known.at(at, replied);
            message.read(&mut reading, &known).await.map_err(|fault| fault.at("messages"))?;
        }
        Ok(reading.finish_as_it_is())
    }
}

impl UiMessage {
    fn is_assistant(&self) -> bool {
        self.role == "assistant"
    }

    async fn read(self, reading: &mut Reading, known: &KnownDocuments<'_>) -> Result<(), Fault> {
        match self.role.as_str() {
            "system" => {
                let texts = self.parts.into_iter().map(|part| match (part.kind.as_str(), part.text) {
                    ("text", Some(text)) => Ok(text),
                    // The page's own.
                    (kind, _) if kind.starts_with("data-") => Ok(String::new()),
                    (kind, _) => Err(unknown(kind)),
                });
                reading.system(&texts.collect::<Result<String, Fault>>()?);
            }
            "user" => {
                reading.user(user_parts(self.parts, known).await?);
            }
            "assistant" => {
                let mut step = Vec::new();
                for part in self.parts {
                    match part.kind.as_str() {
                        "step-start" => assistant(std::mem::take(&mut step), reading, known).await?,
                        "steering-message" => {
                            assistant(std::mem::take(&mut step), reading, known).await?;
                            reading.user(user_parts(part.parts, known).await?);
                        }
                        _ => step.push(part),
                    }
                }
                assistant(step, reading, known).await?;
            }
            role => return Err(Fault::invalid(format!("the role {role:?} is not known"))),
        }
        Ok(())
    }
}

async fn user_parts(parts: Vec<Part>, known: &KnownDocuments<'_>) -> Result<Vec<Option<UserPart>>, Fault> {
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        all.push(match part.kind.as_str() {
            "file" => part.into_file(known).await?,
            "text" => UserPart::text(part.text.ok_or_else(|| unknown("text"))?),
            kind if kind.starts_with("data-") => None,
            kind => return Err(unknown(kind)),
        });
    }
    Ok(all)
}

impl Part {
    /// The file of the part: a document of ours by its reference or its address, or any other one by its address.
    async fn into_file(self, known: &KnownDocuments<'_>) -> Result<Option<UserPart>, Fault> {
        let Self { url, media_type, filename, provider_reference, .. } = self;
        let name = filename.as_deref();
        let reference = provider_reference.as_ref().and_then(|by| by.get(PROVIDER)).and_then(Value::as_str);
        if let Some(id) = reference {
            return known.by_id(id, name).await;
        }
        let url = url.ok_or_else(|| unknown("file"))?;
        match known.id_in(&url) {
            Some(id) => known.by_id(&id, name).await,
            // A place here that leads to no document any more.
            None if known.is_past && url.starts_with('/') => Ok(UserPart::text(gone(name.unwrap_or(&url)))),
            None => {
                let document = typed(by_url(&url)?, media_type.as_deref());
                Ok(document.with_file_name(filename.unwrap_or_default()).into())
            }
        }
    }
}

/// Reads one step of a reply: text, and calls with their results.
async fn assistant(parts: Vec<Part>, reading: &mut Reading, known: &KnownDocuments<'_>) -> Result<(), Fault> {
    let mut text = String::new();
    let (mut calls, mut results, mut made) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let name = match part.kind.as_str() {
            "text" => {
                text.push_str(part.text.as_deref().unwrap_or_default());
                continue;
            }
            "file" => {
                match part.into_file(known).await? {
                    Some(UserPart::Document(document)) => made.push(document),
                    Some(UserPart::Text(words)) => text.push_str(words.text()),
                    _ => {}
                }
                continue;
            }
            // The sources of what was said, things of one provider that only it reads, thoughts, and the page's own.
            "source-url" | "source-document" | "custom" | "reasoning" | "reasoning-file" => continue,
            kind if kind.starts_with("data-") => continue,
            kind => part.tool().ok_or_else(|| unknown(kind))?,
        };
        let id = part.tool_call_id.clone().ok_or_else(|| Fault::invalid("a call needs toolCallId"))?;
        let input = part.input.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        calls.push(conversation::call(&id, name.to_owned(), input.to_string())?);
        match part.state.as_deref() {
            Some("output-available") => {
                let output = part.output.unwrap_or_default();
                // The bound of the request holds for it.
                results.push((id, files::result(&output, usize::MAX)?, false));
            }
            Some("output-error") => {
                let text = part.error_text.unwrap_or_default();
                results.push((id, ContentTree::text(&text), true));
            }
            Some("output-denied") => {
                let reason = part.approval.and_then(|approval| approval.reason).unwrap_or_default();
                let text = format!("The call was denied. {reason}");
                results.push((id, ContentTree::text(text.trim_end()), true));
            }
            _ => {}
        }
    }
    if !text.is_empty() || !calls.is_empty() || !made.is_empty() {
        reading.reply(&text, calls, made);
    }
    for (id, tree, is_error) in results {
        reading.result(&id, tree, is_error)?;
    }
    Ok(())
}
