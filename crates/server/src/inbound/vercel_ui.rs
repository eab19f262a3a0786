//! Requests of the chat of Vercel's AI SDK.

use std::collections::HashSet;

use attache_agent::Decision;
use attache_core::{ContentTree, Document, UserPart};
use serde::Deserialize;
use serde_json::Value;

use super::body::nullable;
use super::conversation::{self, Conversation, Reading};
use super::parts::{by_url, typed, unknown};
use super::tools::ClientTool;
use super::turn::Disconnect;
use crate::fault::Fault;

/// The body, as far as anything follows from it; other members are left alone.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    /// The chat: a session.
    pub(crate) id: String,
    messages: Vec<UiMessage>,
    // A transport adds these by its option `body`.
    pub(crate) model: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) tools: Vec<ClientTool>,
    pub(crate) on_disconnect: Option<Disconnect>,
}

#[derive(Debug, Deserialize)]
struct UiMessage {
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

    /// The calls of the message that the answer goes on with.
    pub(crate) fn known_calls(&self) -> HashSet<String> {
        let last = self.messages.last().filter(|message| message.role == "assistant");
        let parts = last.map(|message| message.parts.as_slice()).unwrap_or_default();
        parts.iter().filter_map(|part| part.tool_call_id.clone()).collect()
    }

    /// The decisions about calls that the last message brings.
    pub(crate) fn decisions(&self) -> Vec<(String, Decision)> {
        let last = self.messages.last().filter(|message| message.role == "assistant");
        let parts = last.map(|message| message.parts.as_slice()).unwrap_or_default();
        let responded = parts.iter().filter(|part| part.state.as_deref() == Some("approval-responded"));
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
    pub(crate) fn take_conversation(&mut self) -> Result<Conversation, Fault> {
        let messages = std::mem::take(&mut self.messages);
        conversation::bound(messages.len(), "messages")?;
        let mut reading = Reading::default();
        for message in messages {
            message.read(&mut reading).map_err(|fault| fault.at("messages"))?;
        }
        Ok(reading.finish_as_it_is())
    }
}

impl UiMessage {
    fn read(self, reading: &mut Reading) -> Result<(), Fault> {
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
                let parts: Result<Vec<_>, _> = self.parts.into_iter().map(user_part).collect();
                reading.user(parts?);
            }
            "assistant" => {
                let mut step = Vec::new();
                for part in self.parts {
                    match part.kind.as_str() {
                        "step-start" => assistant(std::mem::take(&mut step), reading)?,
                        "steering-message" => {
                            assistant(std::mem::take(&mut step), reading)?;
                            let said: Result<Vec<_>, _> = part.parts.into_iter().map(user_part).collect();
                            reading.user(said?);
                        }
                        _ => step.push(part),
                    }
                }
                assistant(step, reading)?;
            }
            role => return Err(Fault::invalid(format!("the role {role:?} is not known"))),
        }
        Ok(())
    }
}

fn user_part(part: Part) -> Result<Option<UserPart>, Fault> {
    match (part.kind.as_str(), part.text, part.url) {
        ("text", Some(text), _) => Ok(UserPart::text(text)),
        ("file", _, Some(url)) => Ok(file(&url, part.media_type.as_deref(), part.filename)?.into()),
        (kind, ..) if kind.starts_with("data-") => Ok(None),
        (kind, ..) => Err(unknown(kind)),
    }
}

fn file(url: &str, media_type: Option<&str>, name: Option<String>) -> Result<Document, Fault> {
    Ok(typed(by_url(url)?, media_type).with_file_name(name.unwrap_or_default()))
}

/// Reads one step of a reply: text, and calls with their results.
fn assistant(parts: Vec<Part>, reading: &mut Reading) -> Result<(), Fault> {
    let mut text = String::new();
    let (mut calls, mut results, mut made) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let name = match part.kind.as_str() {
            "text" => {
                text.push_str(part.text.as_deref().unwrap_or_default());
                continue;
            }
            "file" => {
                let url = part.url.as_deref().ok_or_else(|| unknown("file"))?;
                // An address of ours: the thread has the document. It counts only where the thread is gone.
                match url.starts_with('/') {
                    false => made.push(file(url, part.media_type.as_deref(), part.filename)?),
                    true => text.push_str("[A document of this answer is gone with its thread.]"),
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
            Some("output-available") => results.push((id, said(part.output), false)),
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

/// The result of a tool of the client: a text, or any JSON.
fn said(output: Option<Value>) -> ContentTree {
    match output {
        None | Some(Value::Null) => ContentTree::text(""),
        Some(Value::String(text)) => ContentTree::text(&text),
        Some(value) => ContentTree::value(&value),
    }
}
