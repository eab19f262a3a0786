//! The conversation in a request, read from its body without the codecs.

use serde_json::Value;

use crate::Api;

/// One thing that a request says.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "tests match all of it")]
pub enum Said {
    /// A text: `system`, `user` or `assistant`, and what it says.
    Text(&'static str, String),
    /// A call: its id, its name, its arguments.
    Call(String, String, Value),
    /// A result: the id of its call and its content as it stands there.
    Result(String, Value),
    /// Anything else.
    Other(Value),
}

/// The words of a body in order, each with the number of the message, item or content that it stands in.
/// Instructions that stand apart come first, in message 0; the others count from 1.
pub fn told(api: Api, body: &Value) -> Vec<(usize, Said)> {
    let mut said = Vec::new();
    let instructions = match api {
        Api::OpenAi => body.get("instructions"),
        Api::OpenAiChat | Api::Cohere | Api::Ollama => None,
        Api::Anthropic | Api::Bedrock => body.get("system"),
        Api::Gemini => body.pointer("/systemInstruction/parts"),
    };
    for text in texts(instructions) {
        said.push((0, text.map_or_else(Said::Other, |text| Said::Text("system", text))));
    }
    let messages = api.messages(body);
    for (at, message) in list(&messages).iter().enumerate() {
        let read = match api {
            Api::OpenAi => item(message),
            Api::OpenAiChat | Api::Cohere => chat_message(message),
            // The member must be there; empty it says nothing.
            Api::Ollama => {
                let mut said = chat_message(message);
                said.retain(|said| !matches!(said, Said::Text(_, text) if text.is_empty()));
                said
            }
            Api::Anthropic => content(message, "content", anthropic_block),
            Api::Gemini => content(message, "parts", gemini_part),
            Api::Bedrock => content(message, "content", converse_block),
        };
        said.extend(read.into_iter().map(|one| (at + 1, one)));
    }
    said
}

/// The texts that a body says, with their roles.
pub fn texts_told(api: Api, body: &Value) -> Vec<(&'static str, String)> {
    let texts = told(api, body).into_iter().filter_map(|(_, said)| match said {
        Said::Text(role, text) => Some((role, text)),
        _ => None,
    });
    texts.collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn string(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn role(message: &Value) -> &'static str {
    match message.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => "system",
        Some("assistant" | "model") => "assistant",
        _ => "user",
    }
}

/// A string, or the texts of its parts. Other values come as they are.
fn texts(content: Option<&Value>) -> Vec<Result<String, Value>> {
    match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![Ok(text.clone())],
        Some(parts) => {
            let text = |part: &Value| match part.get("text").and_then(Value::as_str) {
                Some(text) => Ok(text.to_owned()),
                None => Err(part.clone()),
            };
            list(parts).iter().map(text).collect()
        }
    }
}

fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn said(message: &Value, key: &str) -> Vec<Said> {
    let role = role(message);
    let said = |text: Result<String, Value>| text.map_or_else(Said::Other, |text| Said::Text(role, text));
    texts(message.get(key)).into_iter().map(said).collect()
}

fn chat_message(message: &Value) -> Vec<Said> {
    if message.get("role").is_some_and(|role| role == "tool") {
        let content = message.get("content").cloned().unwrap_or_default();
        return vec![Said::Result(string(message, "tool_call_id"), content)];
    }
    let mut all = said(message, "content");
    for call in list(message.get("tool_calls").unwrap_or(&Value::Null)) {
        let function = call.get("function").unwrap_or(&Value::Null);
        let given = match function.get("arguments") {
            Some(Value::String(text)) => arguments(text),
            given => given.cloned().unwrap_or_default(),
        };
        all.push(Said::Call(string(call, "id"), string(function, "name"), given));
    }
    all
}

fn item(item: &Value) -> Vec<Said> {
    match item.get("type").and_then(Value::as_str) {
        None | Some("message") => said(item, "content"),
        Some("function_call") => {
            let given = item.get("arguments").and_then(Value::as_str).unwrap_or_default();
            vec![Said::Call(string(item, "call_id"), string(item, "name"), arguments(given))]
        }
        Some("function_call_output") => {
            let output = item.get("output").cloned().unwrap_or_default();
            vec![Said::Result(string(item, "call_id"), output)]
        }
        Some(_) => vec![Said::Other(item.clone())],
    }
}

/// A message of blocks, each read by `block`, which leaves to the role what is a text.
fn content(message: &Value, key: &str, block: fn(&Value) -> Option<Said>) -> Vec<Said> {
    let role = role(message);
    match message.get(key) {
        Some(Value::Array(blocks)) => {
            let read = |value: &Value| match block(value) {
                Some(said) => said,
                None => match value.get("text").and_then(Value::as_str) {
                    Some(text) => Said::Text(role, text.to_owned()),
                    None => Said::Other(value.clone()),
                },
            };
            blocks.iter().map(read).collect()
        }
        _ => said(message, key),
    }
}

fn anthropic_block(block: &Value) -> Option<Said> {
    let content = |key: &str| block.get(key).cloned().unwrap_or_default();
    match block.get("type").and_then(Value::as_str) {
        Some("tool_use") => Some(Said::Call(string(block, "id"), string(block, "name"), content("input"))),
        Some("tool_result") => Some(Said::Result(string(block, "tool_use_id"), content("content"))),
        Some("text") => None,
        _ => Some(Said::Other(block.clone())),
    }
}

fn converse_block(block: &Value) -> Option<Said> {
    if let Some(call) = block.get("toolUse") {
        let given = call.get("input").cloned().unwrap_or_default();
        return Some(Said::Call(string(call, "toolUseId"), string(call, "name"), given));
    }
    if let Some(result) = block.get("toolResult") {
        let given = result.get("content").cloned().unwrap_or_default();
        return Some(Said::Result(string(result, "toolUseId"), given));
    }
    block.get("text").is_none().then(|| Said::Other(block.clone()))
}

fn gemini_part(part: &Value) -> Option<Said> {
    if let Some(call) = part.get("functionCall") {
        let given = call.get("args").cloned().unwrap_or_default();
        return Some(Said::Call(string(call, "id"), string(call, "name"), given));
    }
    if let Some(response) = part.get("functionResponse") {
        let given = response.get("response").cloned().unwrap_or_default();
        return Some(Said::Result(string(response, "id"), given));
    }
    let is_thought = part.get("thought").is_some_and(|thought| thought == true);
    // A signature on nothing says nothing.
    let is_signature = part.get("thoughtSignature").is_some() && string(part, "text").is_empty();
    (is_thought || is_signature).then(|| Said::Other(part.clone()))
}
