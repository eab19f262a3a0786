//! A reply as Responses sends it whole (openai.md B.3).

use serde_json::{Map, Value, json};

use super::ids::NEEDS;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::{ChoiceScript, Finish, Part, Reply, ReplyUsage};

/// A fixed time, so that bodies are the same in every run.
const CREATED: u64 = 1_700_000_000;

const STATUSES: [&str; 6] = ["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"];

/// The items of an answer, however it is sent.
pub(super) struct Answer<'r> {
    reply: &'r Reply,
    request: &'r RecordedRequest,
    pub(super) items: Vec<Item>,
    pub(super) ending: Ending,
}

/// An output item: how it is in the end, and how it grows.
pub(super) struct Item {
    pub(super) done: Value,
    pub(super) growth: Growth,
}

/// The pieces in which an item is streamed.
pub(super) enum Growth {
    /// It comes at once.
    None,
    Text(Vec<String>),
    Refusal(Vec<String>),
    Arguments(Vec<String>),
    /// A part for each paragraph.
    Summary(Vec<String>),
    Reasoning(Vec<String>),
}

/// The reason why an answer ends.
pub(super) struct Ending {
    pub(super) status: String,
    /// The reason why it is incomplete.
    reason: Option<String>,
}

pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Value, String> {
    Ok(Answer::new(reply, request)?.ended())
}

impl<'r> Answer<'r> {
    pub(super) fn new(reply: &'r Reply, request: &'r RecordedRequest) -> Result<Self, String> {
        let [choice] = reply.choices.as_slice() else { return Err("Responses has no choices".to_owned()) };
        let ending = Ending::of(choice, reply.failed.is_some())?;
        let mut items = Vec::new();
        let mut reasoning: Option<String> = None;
        for (index, part) in choice.parts.iter().enumerate() {
            let id = |prefix: &str, reasoning: &Option<String>| {
                let own = format!("{prefix}_mock_{}_{index}", request.index);
                match reasoning {
                    Some(reasoning) => format!("{own}{NEEDS}{reasoning}"),
                    None => own,
                }
            };
            let item = item(part, |prefix| id(prefix, &reasoning));
            let is_reasoning = item.done.get("type").is_some_and(|kind| kind == "reasoning");
            let own_id = item.done.get("id").and_then(Value::as_str).map(str::to_owned);
            reasoning = own_id.filter(|_| {
                is_reasoning && matches!(part, Part::Thinking { .. } | Part::RedactedThinking(_))
            });
            items.push(item);
        }
        if ending.status == "incomplete"
            && let Some(item) = items.last_mut().and_then(|last| last.done.as_object_mut())
            && let Some(status) = item.get_mut("status")
        {
            *status = Value::from("incomplete");
        }
        Ok(Self { reply, request, items, ending })
    }

    /// The response while nothing of it is there.
    pub(super) fn started(&self) -> Value {
        Value::Object(self.envelope("in_progress"))
    }

    /// The response as it is in the end.
    pub(super) fn ended(&self) -> Value {
        let mut body = self.envelope(&self.ending.status);
        let output: Vec<Value> = self.items.iter().map(|item| item.done.clone()).collect();
        body.insert("output".to_owned(), Value::Array(output));
        if let Some(reason) = &self.ending.reason {
            body.insert("incomplete_details".to_owned(), json!({"reason": reason}));
        }
        if self.ending.status == "completed" {
            body.insert("completed_at".to_owned(), Value::from(CREATED));
        }
        if let Some((code, message)) = &self.reply.failed {
            body.insert("error".to_owned(), json!({"code": code, "message": message}));
        }
        if let Some(usage) = &self.reply.usage {
            body.insert("usage".to_owned(), usage_of(usage));
        }
        Value::Object(body)
    }

    /// The response object, which tells most of the request again.
    fn envelope(&self, status: &str) -> Map<String, Value> {
        let asked = |key: &str, default: Value| self.request.json().get(key).cloned().unwrap_or(default);
        let model = self.reply.model.clone().map(Value::String);
        let id = self.reply.id.clone().unwrap_or_else(|| format!("resp_mock_{}", self.request.index));
        let body = json!({
            "id": id,
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "background": false,
            "completed_at": null,
            "error": null,
            "frequency_penalty": 0.0,
            "incomplete_details": null,
            "instructions": asked("instructions", Value::Null),
            "max_output_tokens": asked("max_output_tokens", Value::Null),
            "max_tool_calls": null,
            "model": model.unwrap_or_else(|| asked("model", Value::Null)),
            "moderation": null,
            "output": [],
            "parallel_tool_calls": asked("parallel_tool_calls", Value::Bool(true)),
            "presence_penalty": 0.0,
            "previous_response_id": asked("previous_response_id", Value::Null),
            "prompt_cache_key": asked("prompt_cache_key", Value::Null),
            "prompt_cache_retention": asked("prompt_cache_retention", Value::Null),
            "reasoning": asked("reasoning", json!({"effort": null, "summary": null})),
            "safety_identifier": asked("safety_identifier", Value::Null),
            "service_tier": "default",
            "store": asked("store", Value::Bool(true)),
            "temperature": asked("temperature", json!(1.0)),
            "text": asked("text", json!({"format": {"type": "text"}, "verbosity": "medium"})),
            "tool_choice": asked("tool_choice", json!("auto")),
            "tools": asked("tools", json!([])),
            "top_logprobs": 0,
            "top_p": asked("top_p", json!(1.0)),
            "truncation": asked("truncation", json!("disabled")),
            "usage": null,
            "user": asked("user", Value::Null),
            "metadata": asked("metadata", json!({})),
        });
        match body {
            Value::Object(body) => body,
            _ => Map::new(),
        }
    }
}

impl Ending {
    fn of(choice: &ChoiceScript, failed: bool) -> Result<Self, String> {
        let (status, reason) = match &choice.finish {
            _ if failed => ("failed", None),
            None | Some(Finish::Stop | Finish::ToolCalls | Finish::Refusal | Finish::StopSequence(_)) => {
                ("completed", None)
            }
            Some(Finish::Length) => ("incomplete", Some("max_output_tokens")),
            Some(Finish::ContentFilter) => ("incomplete", Some("content_filter")),
            Some(Finish::Raw(word)) if STATUSES.contains(&word.as_str()) => (word.as_str(), None),
            Some(Finish::Raw(word)) => ("incomplete", Some(word.as_str())),
            Some(Finish::Pause) => return Err("Responses does not pause".to_owned()),
        };
        Ok(Self { status: status.to_owned(), reason: reason.map(str::to_owned) })
    }
}

fn item(part: &Part, id: impl Fn(&str) -> String) -> Item {
    let message = |content: &Value, growth| Item {
        done: json!({
            "id": id("msg"), "type": "message", "status": "completed", "content": [content], "role": "assistant",
        }),
        growth,
    };
    match part {
        Part::Text(pieces) => message(&output_text(&pieces.concat()), Growth::Text(pieces.clone())),
        Part::Refusal(pieces) => {
            let content = json!({"type": "refusal", "refusal": pieces.concat()});
            message(&content, Growth::Refusal(pieces.clone()))
        }
        Part::Thinking { pieces, signature: Some(blob) } => {
            let text = pieces.concat();
            let paragraphs: Vec<String> =
                text.split("\n\n").filter(|text| !text.is_empty()).map(str::to_owned).collect();
            let summary: Vec<Value> =
                paragraphs.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
            let done = json!({
                "id": id("rs"), "type": "reasoning", "content": [], "encrypted_content": blob, "summary": summary,
            });
            Item { done, growth: Growth::Summary(paragraphs) }
        }
        Part::Thinking { pieces, signature: None } => {
            let content = json!([{"type": "reasoning_text", "text": pieces.concat()}]);
            let done = json!({
                "id": id("rs"), "type": "reasoning", "status": "completed", "content": content, "summary": [],
            });
            Item { done, growth: Growth::Reasoning(pieces.clone()) }
        }
        Part::RedactedThinking(blob) => Item {
            done: json!({
                "id": id("rs"), "type": "reasoning", "content": [], "encrypted_content": blob, "summary": [],
            }),
            growth: Growth::Summary(Vec::new()),
        },
        Part::Call { id: call_id, name, arguments } => Item {
            done: json!({
                "id": id("fc"), "type": "function_call", "status": "completed", "arguments": arguments.concat(),
                "call_id": call_id, "name": name,
            }),
            growth: Growth::Arguments(arguments.clone()),
        },
        Part::Block(item) => Item { done: item.clone(), growth: Growth::None },
    }
}

pub(super) fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

fn usage_of(usage: &ReplyUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cache_write_tokens": usage.cache_write, "cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}
