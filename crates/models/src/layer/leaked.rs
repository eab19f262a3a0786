//! Calls that a model wrote into its text, because its server has no parser for them.

use std::sync::Arc;

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ChunkStream, Degradation, FinishReason,
    ModelHandle, StreamChunk, ToolCall, ToolChoice, ToolSet,
};
use futures_util::StreamExt;
use serde_json::{Map, Value};

use super::Layer;
use super::text::action::{Action, Reader};
use super::text::json::balanced;
use super::text::parser::{Parser, Reading};

/// Takes calls out of a reply's text where the model wrote them there in the markup of its own, which its server should
/// have read.
///
/// A call is taken if tools were offered, the reply has no native call, the markup is one of the known families or the
/// whole text, it stands in no code fence behind other text, it is complete, names a tool that is offered, and its
/// arguments fit the tool's schema. Anything else stays text. A reply from which calls were taken has a
/// [`Degradation`] that says so.
///
/// ```
/// use attache_models::{LeakedCalls, layered};
/// use attache_offline::OfflineModel;
/// let model = layered(OfflineModel::new(), LeakedCalls::new());
/// assert_eq!(model.id(), "offline/extractive");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LeakedCalls {}

impl LeakedCalls {
    /// Calls of all known families.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Layer for LeakedCalls {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let asked = Asked::of(&request);
        recovered(inner.stream(request), asked)
    }
}

/// What is known of a request when its reply is looked through.
#[derive(Clone)]
pub(super) struct Asked {
    /// The tools that may be called.
    tools: Arc<ToolSet>,
    /// True if a reply that is JSON may be a call.
    takes_json: bool,
}

impl Asked {
    pub(super) fn of(request: &ChatRequest) -> Self {
        let may_call = request.tool_choice != ToolChoice::None;
        Self {
            tools: if may_call { Arc::clone(&request.tools) } else { Arc::default() },
            takes_json: request.settings.response_format.is_none(),
        }
    }
}

/// Where markup of calls begins, anywhere in a text.
const OPENINGS: [&str; 12] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_calls>",
    "<function=",
    "<invoke name=",
    "<minimax:tool_call>",
    "[TOOL_CALLS]",
    "<|tool_call_begin|>",
    "<|tool_calls_section_begin|>",
    "<|python_tag|>",
    "<ACTION>",
    "\nAction:",
];

/// What may stand around and between calls.
const WRAPPERS: [&str; 16] = [
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "[TOOL_CALLS]",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|python_tag|>",
    "<|eom_id|>",
    "</function>",
];

/// Where a whole text begins that may be a call.
const WHOLES: [&str; 6] = ["{", "```json", "```tool_code", "```tool_call", "Thought:", "Action:"];

/// The reply, with the calls in its text as calls.
pub(super) fn recovered(mut chunks: ChunkStream, asked: Asked) -> ChunkStream {
    if asked.tools.is_empty() {
        return chunks;
    }
    Box::pin(async_stream::stream! {
        let mut watch = Watch { takes_json: asked.takes_json, ..Watch::default() };
        let mut has_calls = false;
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(StreamChunk::Content(text)) => {
                    let free = watch.push(&text);
                    if !free.is_empty() {
                        yield Ok(StreamChunk::Content(free));
                    }
                }
                Ok(chunk @ StreamChunk::ToolCallDelta { .. }) => {
                    has_calls = true;
                    yield Ok(chunk);
                }
                Ok(StreamChunk::Done(mut done)) => {
                    let is_streamed = watch.saw_text;
                    if !is_streamed {
                        let _free = watch.push(&done.message.text());
                    }
                    has_calls |= done.message.has_tool_calls();
                    let is_end = matches!(done.finish_reason, FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_));
                    let found = if has_calls || !is_end { None } else { watch.calls(&asked.tools) };
                    let Some((calls, rest)) = found else {
                        let held = watch.release();
                        if is_streamed && !held.is_empty() {
                            yield Ok(StreamChunk::Content(held));
                        }
                        yield Ok(StreamChunk::Done(done));
                        continue;
                    };
                    if !rest.is_empty() && is_streamed {
                        yield Ok(StreamChunk::Content(rest.clone()));
                    }
                    for (slot, call) in calls.iter().enumerate() {
                        yield Ok(StreamChunk::ToolCallDelta {
                            slot,
                            id: call.id.clone(),
                            provider_id: None,
                            name: Some(asked.tools.wire_name(&call.name)),
                            arguments_delta: call.arguments.raw().to_owned(),
                        });
                    }
                    let text = [watch.passed.as_str(), &rest].concat();
                    let note = "the model wrote its calls as text, and they were taken as calls; its server may have been started without a parser for tools";
                    done.degradations.push(Degradation::new("tools", note));
                    done.message = with_calls(done.message, &text, calls);
                    done.finish_reason = done.finish_reason.for_message(true);
                    done.structured = None;
                    yield Ok(StreamChunk::Done(done));
                }
                other => yield other,
            }
        }
    })
}

fn with_calls(message: AssistantMessage, text: &str, calls: Vec<ToolCall>) -> AssistantMessage {
    let others = message.parts.into_iter().filter(|part| !matches!(part, AssistantPart::Text(_))).map(Some);
    let calls = calls.into_iter().map(|call| Some(AssistantPart::ToolCall(call)));
    let mut read = AssistantMessage::new(others.chain([AssistantPart::text(text.trim_end())]).chain(calls));
    read.id = message.id;
    read.metadata = message.metadata;
    read
}

/// Holds a text back from where a call may begin.
#[derive(Default)]
struct Watch {
    takes_json: bool,
    saw_text: bool,
    /// The text that was let through.
    passed: String,
    in_fence: bool,
    /// The text that is not let through.
    held: String,
    is_holding: bool,
}

impl Watch {
    /// Takes a piece, and says what of it may be shown.
    fn push(&mut self, text: &str) -> String {
        self.saw_text = true;
        self.held.push_str(text);
        if self.is_holding {
            return String::new();
        }
        if self.passed.trim().is_empty() {
            let begin = self.held.trim_start();
            let mut wholes = WHOLES.iter().filter(|whole| self.takes_json || !whole.starts_with(['{', '`']));
            if wholes.clone().any(|whole| begin.starts_with(whole)) {
                self.is_holding = true;
                return String::new();
            }
            if wholes.any(|whole| whole.starts_with(begin)) {
                return String::new();
            }
        }
        let mut free = 0;
        loop {
            let rest = self.held.get(free..).unwrap_or_default();
            let opening = OPENINGS.iter().filter_map(|opening| rest.find(opening)).min();
            let fence = rest.find("```");
            match (opening, fence) {
                (Some(at), fence) if !self.in_fence && fence.is_none_or(|fence| at < fence) => {
                    self.is_holding = true;
                    return self.pass(free + at);
                }
                (_, Some(at)) => {
                    self.in_fence = !self.in_fence;
                    free += at + 3;
                }
                (_, None) => break,
            }
        }
        let rest = self.held.get(free..).unwrap_or_default();
        let begins = |name: &&str| {
            let longest = (name.len() - 1).min(rest.len());
            (1..=longest).rev().find(|length| name.get(..*length).is_some_and(|head| rest.ends_with(head)))
        };
        let back = OPENINGS.iter().chain(&["```"]).filter_map(begins).max().unwrap_or(0);
        self.pass(self.held.len() - back)
    }

    /// Lets the beginning of the held text through.
    fn pass(&mut self, length: usize) -> String {
        let rest = self.held.split_off(length);
        let free = std::mem::replace(&mut self.held, rest);
        self.passed.push_str(&free);
        free
    }

    fn release(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// The calls in the held text, and the text behind them, if all of it is as it must be.
    fn calls(&self, tools: &ToolSet) -> Option<(Vec<ToolCall>, String)> {
        if !self.is_holding {
            return None;
        }
        let reader = Reader { tools, is_lenient: true };
        let protocol = ["Thought:", "Action:", "<ACTION>"];
        let held = self.held.trim_start();
        let (found, rest) = match protocol.iter().any(|marker| held.starts_with(marker)) {
            true => (protocol_call(held, tools)?, ""),
            false => family_calls(held, reader)?,
        };
        let mut calls = Vec::with_capacity(found.len());
        for (name, arguments) in found {
            let tool = reader.known(name.trim_start_matches("functions."))?;
            let arguments = Arguments::new(arguments);
            // What does not fit is more likely an example than a call.
            tool.coerce(&arguments).ok()?;
            calls.push(ToolCall::new(tool.name(), arguments));
        }
        (!calls.is_empty()).then(|| (calls, rest.trim().to_owned()))
    }
}

type Found = Vec<(String, String)>;

/// The call of a reply in the text protocol.
fn protocol_call(text: &str, tools: &ToolSet) -> Option<Found> {
    let mut parser = Parser::new(Arc::new(tools.clone()), true);
    let _shown = parser.push(text);
    match parser.finish(false).1 {
        Reading::Call(call) => Some(vec![(call.name, call.arguments)]),
        _ => None,
    }
}

/// The calls of a text that begins with one, and the text behind them.
fn family_calls<'a>(text: &'a str, reader: Reader<'_>) -> Option<(Found, &'a str)> {
    let mut found = Found::new();
    let mut rest = text;
    let mut is_delimited = false;
    let is_fenced = text.starts_with("```");
    if is_fenced {
        let (_, inside) = text.split_once('\n')?;
        rest = inside.trim_end().strip_suffix("```")?;
    }
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == ',');
        if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| rest.starts_with(**wrapper)) {
            rest = rest.strip_prefix(wrapper)?;
            is_delimited = true;
        } else if rest.starts_with(['{', '[']) {
            let json = rest.get(..balanced(rest)?)?;
            objects(json, reader, &mut found)?;
            rest = rest.strip_prefix(json)?;
        } else if let Some(body) = rest.strip_prefix("<function=") {
            let (name, body) = body.split_once('>')?;
            let (body, behind) = body.split_once("</function>").unwrap_or((body, ""));
            found.push((unquoted(name), parameters(body, "<parameter=", "</parameter>", name, reader)?));
            (rest, is_delimited) = (behind, true);
        } else if let Some(body) = rest.strip_prefix("<invoke name=") {
            let (name, body) = body.split_once('>')?;
            let (body, behind) = body.split_once("</invoke>").unwrap_or((body, ""));
            let name = unquoted(name);
            let arguments = parameters(body, "<parameter name=", "</parameter>", &name, reader)?;
            found.push((name, arguments));
            (rest, is_delimited) = (behind, true);
        } else if found.is_empty() || is_delimited {
            let Some((call, behind)) = named(rest, reader, is_delimited || is_fenced) else { break };
            found.push(call);
            rest = behind;
        } else {
            break;
        }
    }
    (is_delimited || rest.trim().is_empty()).then_some((found, rest))
}

/// A name with its arguments behind it: `name{…}`, `name[ARGS]{…}`, `functions.name:0<|tool_call_argument_begin|>{…}`,
/// `name(…)`, or a name and `<arg_key>`.
fn named<'a>(text: &'a str, reader: Reader<'_>, is_delimited: bool) -> Option<((String, String), &'a str)> {
    if !is_delimited {
        return None;
    }
    let length = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')))?;
    let (name, behind) = text.split_at_checked(length)?;
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    if name.is_empty() || reader.known(name).is_none() {
        return None;
    }
    let behind = behind.trim_start();
    let body = behind.strip_prefix("<|tool_call_argument_begin|>").or_else(|| behind.strip_prefix("[ARGS]"));
    let body = body.unwrap_or(behind).trim_start();
    if body.starts_with('{') {
        let json = body.get(..balanced(body)?)?;
        return Some(((name.to_owned(), json.to_owned()), body.strip_prefix(json)?));
    }
    if body.starts_with("<arg_key>") {
        let end = body.find("</tool_call>").unwrap_or(body.len());
        let (inside, behind) = body.split_at_checked(end)?;
        let pairs = inside.replace("</arg_key>", ">").replace("<arg_value>", "").replace('\n', "");
        let arguments = parameters(&pairs, "<arg_key>", "</arg_value>", name, reader)?;
        return Some(((name.to_owned(), arguments), behind));
    }
    if body.starts_with('(') {
        let call = text.get(..text.len() - body.len() + balanced(body)?)?;
        return match reader.whole(call)? {
            Action::Call(read) => Some(((read.name, read.arguments), text.strip_prefix(call)?)),
            _ => None,
        };
    }
    None
}

/// The calls of an object or of all objects of an array.
fn objects(json: &str, reader: Reader<'_>, found: &mut Found) -> Option<()> {
    let value: Value = super::text::json::read(json, true)?;
    let items = match value {
        Value::Array(items) => items,
        other => vec![other],
    };
    for item in items {
        match reader.object(&item.to_string())? {
            Action::Call(call) => found.push((call.name, call.arguments)),
            _ => return None,
        }
    }
    Some(())
}

/// The arguments inside XML: an object as JSON, or elements.
fn parameters(body: &str, open: &str, close: &str, tool: &str, reader: Reader<'_>) -> Option<String> {
    let body = body.trim();
    if body.starts_with('{') {
        return (balanced(body)? == body.len()).then(|| body.to_owned());
    }
    let schema = reader.known(&unquoted(tool))?;
    let properties = schema.input_schema().get("properties");
    let mut members = Map::new();
    let mut rest = body;
    while let Some((_, behind)) = rest.split_once(open) {
        let (name, behind) = behind.split_once('>')?;
        let (value, behind) = behind.split_once(close)?;
        let name = unquoted(name);
        let value = decoded(value.strip_prefix('\n').unwrap_or(value).trim_end_matches('\n'));
        let kind = properties.and_then(|known| known.get(&name)).and_then(|known| known.get("type"));
        // A text stays one. Of anything else the schema says the rest.
        let read = match kind {
            Some(kind) if kind != "string" => serde_json::from_str(value.trim()).ok(),
            _ => None,
        };
        members.insert(name, read.unwrap_or(Value::String(value)));
        rest = behind;
    }
    rest.trim().is_empty().then(|| Value::Object(members).to_string())
}

fn unquoted(name: &str) -> String {
    name.trim().trim_matches(['"', '\'']).to_owned()
}

/// The five entities of XML, once.
fn decoded(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        plain.push_str(before);
        let known =
            [("lt;", '<'), ("gt;", '>'), ("amp;", '&'), ("quot;", '"'), ("apos;", '\''), ("#39;", '\'')];
        match known.iter().find_map(|(name, c)| Some((*c, behind.strip_prefix(name)?))) {
            Some((c, behind)) => {
                plain.push(c);
                rest = behind;
            }
            None => {
                plain.push('&');
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    plain
}
