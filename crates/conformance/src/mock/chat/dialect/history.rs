//! Quirks of the conversation: roles, calls and results, reasoning.

use serde_json::Value;

use super::super::problems::Check;
use super::asked::{Asked, refused, text};
use crate::mock::rules::Violation;

/// The members of messages that Groq knows (openai.md A.2, C.7).
const MEMBERS: &[&str] = &["role", "content", "name", "tool_calls", "tool_call_id"];

fn role(message: &Value) -> &str {
    text(message.get("role"))
}

fn calls(message: &Value) -> &[Value] {
    message.get("tool_calls").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// True if nothing is said: neither text nor parts.
fn is_empty(content: Option<&Value>) -> bool {
    match content {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(parts)) => parts.is_empty(),
        Some(_) => false,
    }
}

impl<'v> Asked<'v> {
    fn numbered(&self) -> impl Iterator<Item = (usize, &'v Value)> + use<'v> {
        self.messages.iter().enumerate()
    }

    /// Refuses the first message that is like that.
    fn refuse_message(
        &self,
        mut is_bad: impl FnMut(&Value) -> bool,
        member: &str,
        problem: impl FnOnce(usize) -> (&'static str, String),
    ) -> Check {
        match self.numbered().find(|(_, message)| is_bad(message)) {
            None => Ok(()),
            Some((index, _)) => {
                let (code, message) = problem(index);
                let separator = if member.is_empty() { "" } else { "." };
                Err(refused(code, format!("messages[{index}]{separator}{member}"), message))
            }
        }
    }

    pub(super) fn no_developer(&self) -> Check {
        self.refuse_message(
            |message| role(message) == "developer",
            "role",
            |index| ("invalid_request_error", format!("messages[{index}]: unknown variant `developer`")),
        )
    }

    pub(super) fn one_system_message(&self) -> Check {
        let mut first = true;
        self.refuse_message(
            |message| !std::mem::take(&mut first) && role(message) == "system",
            "role",
            |_| ("2013", "invalid params, invalid chat setting: more than one system message".to_owned()),
        )
    }

    /// Results and the messages that call count for nothing; what is left takes turns, behind the system message.
    pub(super) fn template(&self, status: u16) -> Check {
        let mut previous = "";
        for (index, message) in self.numbered() {
            let role = role(message);
            let problem = match role {
                "system" if index > 0 => "System message must be at the beginning.",
                "user" | "assistant" if role == previous && calls(message).is_empty() => {
                    "Conversation roles must alternate user/assistant/user/assistant/..."
                }
                _ => "",
            };
            if !problem.is_empty() {
                let message = format!("Jinja Exception: {problem}");
                let path = format!("messages[{index}].role");
                let kind = if status >= 500 { "server_error" } else { "BadRequestError" };
                return Err(Violation { status, kind, code: None, ..refused("", path, message) });
            }
            previous = role;
        }
        Ok(())
    }

    pub(super) fn content_key(&self) -> Check {
        self.refuse_message(
            |message| message.get("content").is_none(),
            "content",
            |_| ("invalid_request_error", "Field required".to_owned()),
        )
    }

    pub(super) fn some_user(&self) -> Check {
        if self.messages.iter().any(|message| role(message) == "user") {
            return Ok(());
        }
        Err(refused("1214", "messages", "messages must hold a user message"))
    }

    pub(super) fn nine_character_ids(&self) -> Check {
        let is_good = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let own = |message: &Value| match role(message) {
            "tool" => !is_good(text(message.get("tool_call_id"))),
            _ => calls(message).iter().any(|call| !is_good(text(call.get("id")))),
        };
        self.refuse_message(own, "", |_| {
            let message = "Tool call id must be a-z, A-Z, 0-9, with a length of 9.";
            ("3280", message.to_owned())
        })
    }

    pub(super) fn results_in_order(&self) -> Check {
        let mut expected: Vec<&str> = Vec::new();
        for (index, message) in self.numbered() {
            if role(message) != "tool" {
                expected = calls(message).iter().rev().map(|call| text(call.get("id"))).collect();
            } else if let Some(id) = expected.pop().filter(|id| *id != text(message.get("tool_call_id"))) {
                let message = format!("Tool results must come in the order of their calls: expected '{id}'");
                return Err(refused("3230", format!("messages[{index}].tool_call_id"), message));
            }
        }
        Ok(())
    }

    pub(super) fn no_user_after_tool(&self) -> Check {
        let mut previous = "";
        for (index, message) in self.numbered() {
            let role = role(message);
            if (previous, role) == ("tool", "user") {
                let path = format!("messages[{index}].role");
                return Err(refused("3230", path, "Unexpected role 'user' after role 'tool'"));
            }
            previous = role;
        }
        Ok(())
    }

    pub(super) fn ends_with_user_or_tool(&self) -> Check {
        let Some((index, last)) = self.numbered().last() else { return Ok(()) };
        let prefix = last.get("prefix") == Some(&Value::Bool(true));
        match role(last) {
            "user" | "tool" => Ok(()),
            "assistant" if prefix => Ok(()),
            other => {
                let message = format!(
                    "Expected last role User or Tool (or Assistant with prefix True) for serving but got {other}"
                );
                Err(refused("3230", format!("messages[{index}].role"), message))
            }
        }
    }

    pub(super) fn no_empty_assistant(&self) -> Check {
        self.refuse_message(
            |message| {
                role(message) == "assistant" && calls(message).is_empty() && is_empty(message.get("content"))
            },
            "content",
            |index| {
                let message =
                    format!("the message at position {index} with role 'assistant' must not be empty");
                ("invalid_request_error", message)
            },
        )
    }

    pub(super) fn reasoning_passed_back(&self) -> Check {
        let lacks = |message: &Value| {
            !calls(message).is_empty() && !message.get("reasoning_content").is_some_and(Value::is_string)
        };
        if !self.thinks() {
            return Ok(());
        }
        self.refuse_message(lacks, "reasoning_content", |_| {
            let message = "The `reasoning_content` in the thinking mode must be passed back to the API.";
            ("invalid_request_error", message.to_owned())
        })
    }

    pub(super) fn reasoning_details(&self, models: &[&str]) -> Check {
        let lacks = |message: &Value| {
            let details = message.get("reasoning_details").and_then(Value::as_array);
            !calls(message).is_empty() && details.is_none_or(Vec::is_empty)
        };
        if !self.is_any(models) {
            return Ok(());
        }
        self.refuse_message(lacks, "reasoning_details", |_| {
            let message = "Function call is missing a thought_signature in functionCall parts.";
            ("invalid_request_error", message.to_owned())
        })
    }

    pub(super) fn message_members(&self) -> Check {
        for (index, message) in self.numbered() {
            let members = message.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
            let known =
                |key: &str| MEMBERS.contains(&key) || (key == "reasoning" && self.is_any(&["gpt-oss"]));
            if let Some(key) = members.into_iter().find(|key| !known(key)) {
                let what = format!("'messages.{index}' : property '{key}' is unsupported");
                return Err(refused("invalid_request_error", format!("messages[{index}].{key}"), what));
            }
        }
        Ok(())
    }

    pub(super) fn no_names(&self) -> Check {
        self.refuse_message(
            |message| message.get("name").is_some(),
            "name",
            |_| ("1214", "name is not supported".to_owned()),
        )
    }
}
