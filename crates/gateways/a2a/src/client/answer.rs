//! Answers of agents, and the errors in them.

use bytes::Bytes;
use serde_json::Value;

use super::failure::Failure;
use crate::wire::{Json, Node};

/// The code and text of an error as JSON.
pub(super) fn error_of(text: &str) -> Option<(Option<i64>, String)> {
    let json = Json::read(text)?;
    error_in(json.root())
}

fn error_in(root: Node<'_>) -> Option<(Option<i64>, String)> {
    let error: Value = serde_json::from_str(root.get("error")?.raw()).ok()?;
    let message = match &error {
        Value::String(message) => message.clone(),
        Value::Null => return None,
        error => error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    Some((error.get("code").and_then(Value::as_i64), message))
}

/// One answer.
pub(crate) struct Answer {
    pub(super) body: Bytes,
    pub(super) is_rpc: bool,
}

impl Answer {
    /// The JSON of its result.
    pub(crate) fn result(&self) -> Result<&str, Failure> {
        let text =
            std::str::from_utf8(&self.body).map_err(|_| Failure::Malformed("bytes that are no text"))?;
        result_of(text, self.is_rpc)
    }
}

/// The result in an answer, or the error that it holds.
pub(crate) fn result_of(text: &str, is_rpc: bool) -> Result<&str, Failure> {
    let no_json = || Failure::Malformed("something that is no JSON object");
    let json = Json::read(text).ok_or_else(no_json)?;
    let root = json.root().object().ok_or_else(no_json)?;
    if let Some((code, message)) = error_in(root) {
        return Err(Failure::Refused { code: code.unwrap_or(-32603), message });
    }
    if !is_rpc {
        return Ok(text);
    }
    // The places in the text outlive the index of them.
    let result =
        root.get("result").map(Node::place).ok_or(Failure::Malformed("neither a result nor an error"))?;
    text.trim_start_matches('\u{feff}').trim().get(result).ok_or_else(no_json)
}
