//! Bodies held against the descriptions of APIs, for those that no mock speaks.

use serde_json::Value;

type Verdict = Result<(), String>;

/// The messages of a body.
pub(crate) fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    items(body, "messages")
}

/// The items of a list; none if it is no list.
pub(crate) fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn must(holds: bool, rule: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(rule.into()) }
}

fn word<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// The members that a value may have.
fn only(value: &Value, known: &[&str]) -> Verdict {
    let unknown = value.as_object().into_iter().flatten().find(|(name, _)| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |(name, _)| Err(format!("the member {name:?} is unknown in {value}")))
}

/// A number within bounds, if it is there.
fn within(value: &Value, name: &str, least: f64, most: f64) -> Verdict {
    let Some(number) = value.get(name) else { return Ok(()) };
    must(number.as_f64().is_some_and(|number| (least..=most).contains(&number)), format!("{name}: {number}"))
}

/// Each call has its result directly behind it, and each result its call. Results stand in the order of the calls.
fn paired(
    body: &Value,
    of_call: fn(&Value) -> Option<&str>,
    of_result: fn(&Value) -> Option<&str>,
) -> Verdict {
    let mut open: Vec<Option<&str>> = Vec::new();
    for message in messages(body) {
        if word(message, "role") == Some("tool") {
            must(!open.is_empty() && open.remove(0) == of_result(message), format!("no call of {message}"))?;
            continue;
        }
        must(open.is_empty(), format!("a call without its result before {message}"))?;
        open = items(message, "tool_calls").map(of_call).collect();
    }
    must(open.is_empty(), "a call without its result at the end")
}

/// Cohere's chat (cohere.md 2 to 5).
pub(crate) fn cohere(body: &Value) -> Verdict {
    only(
        body,
        &[
            "model",
            "messages",
            "tools",
            "stream",
            "max_tokens",
            "stop_sequences",
            "temperature",
            "p",
            "k",
            "frequency_penalty",
            "presence_penalty",
            "seed",
            "logprobs",
            "tool_choice",
            "strict_tools",
            "response_format",
            "thinking",
            "safety_mode",
        ],
    )?;
    must(items(body, "stop_sequences").count() <= 5, "more than five stop sequences")?;
    within(body, "temperature", 0.0, f64::MAX)?;
    within(body, "p", 0.01, 0.99)?;
    within(body, "k", 0.0, 500.0)?;
    within(body, "frequency_penalty", 0.0, 1.0)?;
    within(body, "presence_penalty", 0.0, 1.0)?;
    if let Some(choice) = body.get("tool_choice") {
        must(["REQUIRED", "NONE"].iter().any(|known| choice == known), format!("tool_choice: {choice}"))?;
        must(body.get("tools").is_some(), "a choice without tools")?;
    }
    if let Some(format) = body.get("response_format") {
        must(body.get("tools").is_none(), "a form of the answer beside tools")?;
        only(format, &["type", "json_schema"])?;
        must(word(format, "type") == Some("json_object"), format!("response_format: {format}"))?;
    }
    if let Some(thinking) = body.get("thinking") {
        must(
            matches!(word(thinking, "type"), Some("enabled" | "disabled")),
            format!("thinking: {thinking}"),
        )?;
        within(thinking, "token_budget", 1.0, f64::MAX)?;
    }
    must(messages(body).next().is_some(), "no message")?;
    for (at, message) in messages(body).enumerate() {
        let role = word(message, "role").unwrap_or_default();
        let (known, kinds): (&[&str], &[&str]) = match role {
            "system" => (&["role", "content"], &["text"]),
            "user" => (&["role", "content"], &["text", "image_url"]),
            "assistant" => {
                (&["role", "content", "tool_plan", "tool_calls", "citations"], &["text", "thinking"])
            }
            "tool" => (&["role", "content", "tool_call_id"], &["text", "document"]),
            other => return Err(format!("the role {other:?}")),
        };
        only(message, known)?;
        must(role != "system" || at == 0, "a turn of the system behind others")?;
        let has_calls = items(message, "tool_calls").next().is_some();
        let is_said = match message.get("content") {
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(Value::Array(blocks)) => !blocks.is_empty(),
            _ => false,
        };
        must(is_said || has_calls, format!("an empty message: {message}"))?;
        for block in items(message, "content") {
            let kind = word(block, "type").unwrap_or_default();
            must(kinds.contains(&kind), format!("a block {kind:?} of {role}"))?;
            only(block, &["type", kind])?;
            match kind {
                "document" => {
                    let document = block.get(kind).unwrap_or(&Value::Null);
                    must(word(document, "id").is_some() && document.get("data").is_some(), "a document")?;
                }
                "image_url" => {
                    let url = block.pointer("/image_url/url").and_then(Value::as_str).unwrap_or_default();
                    let types =
                        ["png", "jpeg", "webp", "gif"].map(|kind| format!("data:image/{kind};base64,"));
                    let is_data = types.iter().any(|start| url.starts_with(start));
                    must(is_data || url.starts_with("https://"), "an image of a type that is not read")?;
                }
                _ => must(word(block, kind).is_some_and(|text| !text.is_empty()), "a blank block")?,
            }
        }
    }
    let blocks = messages(body).flat_map(|message| items(message, "content"));
    let images = blocks.filter(|block| word(block, "type") == Some("image_url")).count();
    must(images <= 20, format!("{images} images"))?;
    paired(body, |call| word(call, "id"), |result| word(result, "tool_call_id"))
}

/// Ollama's own API (openai.md C.13).
pub(crate) fn ollama(body: &Value) -> Verdict {
    only(
        body,
        &["model", "messages", "tools", "stream", "format", "think", "options", "keep_alive", "logprobs"],
    )?;
    must(body.get("stream").is_some_and(Value::is_boolean), "left out it means that the server streams")?;
    if let Some(format) = body.get("format") {
        must(format == "json" || format.is_object(), format!("format: {format}"))?;
    }
    if let Some(think) = body.get("think") {
        must(think.is_boolean() || think.is_string(), format!("think: {think}"))?;
    }
    only(
        body.get("options").unwrap_or(&Value::Null),
        &[
            "temperature",
            "top_p",
            "top_k",
            "seed",
            "stop",
            "num_predict",
            "num_ctx",
            "presence_penalty",
            "frequency_penalty",
        ],
    )?;
    must(messages(body).next().is_some(), "no message")?;
    for message in messages(body) {
        let role = word(message, "role").unwrap_or_default();
        let known: &[&str] = match role {
            "system" => &["role", "content"],
            "user" => &["role", "content", "images"],
            "assistant" => &["role", "content", "thinking", "tool_calls"],
            "tool" => &["role", "content", "tool_name", "tool_call_id"],
            other => return Err(format!("the role {other:?}")),
        };
        only(message, known)?;
        must(word(message, "content").is_some(), format!("content that is no text: {message}"))?;
        for image in items(message, "images") {
            let is_bare = image.as_str().is_some_and(|data| !data.is_empty() && !data.contains([':', ',']));
            must(is_bare, "an image that is no bare base64")?;
        }
        for call in items(message, "tool_calls") {
            let arguments = call.pointer("/function/arguments");
            must(arguments.is_some_and(Value::is_object), format!("arguments that are no object: {call}"))?;
        }
    }
    paired(body, |call| call.pointer("/function/name")?.as_str(), |result| word(result, "tool_name"))
}
