//! Calls that a model wrote into its text, because its server has no parser for them.

mod markup;
mod quoted;

use std::sync::Arc;

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ChunkStream, Degradation, FinishReason, Message,
    ModelHandle, StreamChunk, ToolCall, ToolChoice, ToolSet,
};
use futures_util::StreamExt;

use super::Layer;
use super::cited;
use super::text_tools::action::Reader;
use markup::{Found, family_calls, protocol_call};

/// Takes calls out of a reply's text where the model wrote them there in the markup of its own, which its server should
/// have read.
///
/// A call is taken if tools were offered, the reply has no native call, the markup is one of the known families or the
/// whole text, it stands in no code fence behind other text, it is complete, names a tool that is offered, and its
/// arguments fit the tool's schema, no words follow it, and it does not stand in what the request holds of users, tools
/// and documents, from which the model may only quote. Anything else stays text. A reply from which calls were taken has a
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

/// The parts of a request that are known when its reply is looked through.
#[derive(Clone)]
pub(super) struct Asked {
    /// The tools that may be called.
    tools: Arc<ToolSet>,
    /// True if a reply that is JSON may be a call.
    takes_json: bool,
    /// The conversation, of which a reply may quote.
    messages: Vec<Arc<Message>>,
}

impl Asked {
    pub(super) fn of(request: &ChatRequest) -> Self {
        let may_call = request.tool_choice != ToolChoice::None && !request.tools.is_empty();
        Self {
            tools: if may_call { Arc::clone(&request.tools) } else { Arc::default() },
            takes_json: request.settings.response_format.is_none(),
            messages: if may_call { request.messages.clone() } else { Vec::new() },
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

/// The beginnings of a whole text that may be a call.
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
                    let found = if has_calls || !is_end { None } else { watch.calls(&asked) };
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
                    let (message, lost) = with_calls(done.message, &text, calls);
                    done.message = message;
                    done.degradations.extend(lost);
                    done.finish_reason = done.finish_reason.for_message(true);
                    done.structured = None;
                    yield Ok(StreamChunk::Done(done));
                }
                other => {
                    // Nothing follows an error, and no call of a cut text is one.
                    let held = if other.is_err() { watch.release() } else { String::new() };
                    if !held.is_empty() {
                        yield Ok(StreamChunk::Content(held));
                    }
                    yield other;
                }
            }
        }
    })
}

fn with_calls(
    message: AssistantMessage,
    text: &str,
    calls: Vec<ToolCall>,
) -> (AssistantMessage, Option<Degradation>) {
    let said = message.text();
    let others = message.parts.into_iter().filter(|part| !matches!(part, AssistantPart::Text(_))).map(Some);
    let calls = calls.into_iter().map(|call| Some(AssistantPart::ToolCall(call)));
    let mut read = AssistantMessage::new(others.chain([AssistantPart::text(text.trim_end())]).chain(calls));
    read.id = message.id;
    read.metadata = message.metadata;
    let lost = cited::keep(&mut read, message.citations, &said);
    (read, lost)
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

    /// The calls in the held text, and what is left of it, if all of it is as it must be.
    fn calls(&self, asked: &Asked) -> Option<(Vec<ToolCall>, String)> {
        if !self.is_holding {
            return None;
        }
        let tools = &*asked.tools;
        let reader = Reader { tools, is_lenient: true };
        let protocol = ["Thought:", "Action:", "<ACTION>"];
        let held = self.held.trim_start();
        let (found, rest) = match protocol.iter().any(|marker| held.starts_with(marker)) {
            true => (vec![protocol_call(held, tools)?], ""),
            false => family_calls(held, reader)?,
        };
        // A call that is followed by words is shown as an example, not made.
        if markup::has_words(rest) || quoted::is_any(&found, &asked.messages) {
            return None;
        }
        let mut calls = Vec::with_capacity(found.len());
        for Found { name, arguments, .. } in found {
            let tool = reader.known(name.trim_start_matches("functions."))?;
            let arguments = Arguments::new(arguments);
            // Arguments that do not fit are more likely an example than a call.
            tool.coerce(&arguments).ok()?;
            calls.push(ToolCall::new(tool.name(), arguments));
        }
        (!calls.is_empty()).then(|| (calls, rest.trim().to_owned()))
    }
}
