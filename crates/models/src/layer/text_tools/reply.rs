//! The reply to a request in text: read as it comes, and asked for again where it means nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ChunkStream, Completion, Degradation,
    FinishReason, Message, ModelHandle, StreamChunk, ToolCall, ToolCallId, ToolChoice, ToolSet, Usage,
};
use futures_util::StreamExt;
use serde_json::json;

use super::action::Call;
use super::parser::{Fault, Parser, Piece, Reading};
use super::prompt::{self, ASK_USER};
use super::request::{Options, allowed_alone, event, request_in_text};
use crate::layer::cited;
use crate::layer::earlier::Earlier;
use crate::layer::text_tools::{history, refusal};

/// The maximum number of bytes behind an action that are read to meet the end of the reply, which says what it cost.
const MAX_BEHIND: usize = 400;

/// The maximum number of characters of a reply without meaning that the model is shown with the hint.
const MAX_SHOWN: usize = 2000;

/// Asks in text, again with a hint where a reply is neither action nor answer. A request without tools has no protocol,
/// and what comes is passed on as it is.
pub(super) fn in_text(
    inner: ModelHandle,
    request: ChatRequest,
    options: &Options,
    takes_stop: Arc<AtomicBool>,
    note: Option<String>,
) -> ChunkStream {
    let request = allowed_alone(request);
    let asked = request_in_text(&inner, &request, options, takes_stop.load(Ordering::Relaxed));
    if request.tools.is_empty() {
        return inner.stream(asked);
    }
    let (takes_plain_answers, is_lenient, max_hints) =
        (options.takes_plain_answers, options.is_lenient, options.hints);
    Box::pin(async_stream::stream! {
        let may_call = request.tool_choice != ToolChoice::None;
        let takes_plain = takes_plain_answers || !may_call;
        let mut earlier = Earlier::default();
        // True if nobody knows what one of the replies cost.
        let mut is_unknown = false;
        let mut tail: Vec<Arc<Message>> = Vec::new();
        let mut stops = takes_stop.load(Ordering::Relaxed);
        let mut hints = 0;
        loop {
            let mut again = asked.clone();
            if !stops {
                again.settings.stop.clone_from(&request.settings.stop);
            }
            again.messages.append(&mut tail);
            let is_stopped = stops && inner.capabilities().stop;
            let mut behind = 0;
            let mut chunks = inner.stream(again);
            let mut parser = Parser::new(Arc::clone(&request.tools), is_lenient);
            let (mut done, mut raw) = (None, String::new());
            // The tokens of a reply that broke behind all that matters.
            let mut broken: Option<Box<Completion>> = None;
            while let Some(chunk) = chunks.next().await {
                match chunk {
                    Ok(StreamChunk::Content(text)) => {
                        raw.push_str(&text);
                        if may_call && parser.is_done() {
                            behind += text.len();
                        }
                        for piece in parser.push(&text) {
                            yield Ok(shown(piece));
                        }
                        // The model goes on to invent what the tool says, unless it is stopped there.
                        if may_call && parser.is_done() && (!is_stopped || behind > MAX_BEHIND) {
                            break;
                        }
                    }
                    Ok(StreamChunk::Done(completion)) => {
                        done = Some(completion);
                        break;
                    }
                    Err(error) if stops && raw.is_empty() && refusal::is_of_stops(&error) => {
                        takes_stop.store(false, Ordering::Relaxed);
                        break;
                    }
                    // All that matters was said.
                    Err(error) if may_call && parser.is_done() => {
                        broken = error.usage().map(|usage| {
                            let mut cut = aborted(usage.clone());
                            cut.usage_by_model = error.usage_by_model().to_vec();
                            Box::new(cut)
                        });
                        break;
                    }
                    Err(error) => {
                        yield earlier.told(Err(error), inner.id(), inner.id());
                        return;
                    }
                    // They come with the end, at the places of the text as it is read.
                    Ok(StreamChunk::Citation(_)) => {}
                    Ok(other) => yield Ok(other),
                }
            }
            drop(chunks);
            if stops && !takes_stop.load(Ordering::Relaxed) && raw.is_empty() && done.is_none() {
                stops = false;
                continue;
            }
            if done.is_none() && !(may_call && parser.is_done()) {
                // The stream ended without its last chunk: whoever reads this one says so.
                return;
            }
            is_unknown |= done.is_none() && broken.is_none();
            let mut completion =
                done.or(broken).map_or_else(|| aborted(Usage::default()), |completion| *completion);
            if raw.is_empty() {
                raw = completion.message.text();
                for piece in parser.push(&raw) {
                    yield Ok(shown(piece));
                }
            }
            completion.degradations.extend(note.iter().map(|note| Degradation::new("tools", note.clone())));
            if completion.message.has_tool_calls() || !is_an_end(&completion.finish_reason) {
                yield Ok(counted(completion, &earlier, inner.id(), is_unknown));
                return;
            }
            if may_call && parser.is_done() && completion.finish_reason == FinishReason::Length {
                // The text that was cut is none of the reply.
                completion.finish_reason = FinishReason::Stop;
            }
            let is_cut = completion.finish_reason == FinishReason::Length;
            let (pieces, reading) = parser.finish(is_cut);
            for piece in pieces {
                yield Ok(shown(piece));
            }
            let call = match reading {
                Reading::Answer => None,
                Reading::Call(_)
                | Reading::Cut(_)
                | Reading::Ask(_)
                | Reading::Unclear(Fault::BadAction | Fault::NoAction, _)
                    if !may_call =>
                {
                    // A text that looks like an action is a part of the answer, as in minutes and plans.
                    let answer = raw.trim().to_owned();
                    yield Ok(StreamChunk::Content(answer.clone()));
                    parser.say_answer(&answer);
                    None
                }
                Reading::Call(call) => Some(call_of(call, &request.tools, false)),
                Reading::Cut(call) => Some(call_of(call, &request.tools, true)),
                Reading::Ask(question) if request.tools.get(ASK_USER).is_some() => {
                    let arguments = json!({"question": question}).to_string();
                    Some(ToolCall::new(ASK_USER, Arguments::new(arguments)))
                }
                Reading::Ask(question) => {
                    yield Ok(StreamChunk::Content(question.clone()));
                    parser.say_answer(&question);
                    None
                }
                Reading::Unclear(fault, said)
                    if takes_plain && !said.is_empty() || is_cut && fault == Fault::NoMarker =>
                {
                    let rest = parser.unsaid();
                    if !rest.is_empty() {
                        yield Ok(StreamChunk::Content(rest.clone()));
                        parser.say_answer(&rest);
                    }
                    None
                }
                // It may have been about to say something.
                Reading::Unclear(..) if is_cut => None,
                Reading::Unclear(fault, said) => {
                    if hints < max_hints {
                        hints += 1;
                        earlier.add(inner.id(), &completion);
                        tail = hinted(&raw, prompt::hint(fault));
                        continue;
                    }
                    if !said.is_empty() {
                        yield Ok(StreamChunk::Content(said.clone()));
                    }
                    parser.say_answer(&said);
                    completion.message.metadata = completion.message.metadata.clone().with("unparsed", true);
                    let note = "the model's replies have neither action nor answer; the text is what it said last";
                    completion.degradations.push(Degradation::new("text_tools", note));
                    None
                }
            };
            // Stops know no fences.
            if call.is_none() && is_stopped && parser.is_in_fence() && completion.finish_reason == FinishReason::Stop {
                let note = "the answer ends inside of a fence, perhaps before a line with \"Observation:\", where replies are stopped";
                completion.degradations.push(Degradation::new("text_tools", note));
            }
            if let Some(call) = &call {
                yield Ok(StreamChunk::ToolCallDelta {
                    slot: 0,
                    id: call.id.clone(),
                    provider_id: None,
                    name: Some(request.tools.wire_name(&call.name)),
                    arguments_delta: call.arguments.raw().to_owned(),
                });
            }
            completion.finish_reason = completion.finish_reason.for_message(call.is_some());
            let (message, lost) = message_of(completion.message, &parser, call);
            completion.message = message;
            completion.degradations.extend(lost);
            yield Ok(counted(completion, &earlier, inner.id(), is_unknown));
            return;
        }
    })
}

/// A reply that means nothing, and the hint behind it.
fn hinted(raw: &str, hint: &str) -> Vec<Arc<Message>> {
    let shown: String = raw.trim().chars().take(MAX_SHOWN).collect();
    let said = AssistantMessage::new([AssistantPart::text(shown)]);
    let said = (!said.parts.is_empty()).then(|| Message::Assistant(said).shared());
    said.into_iter().chain([event(hint)]).collect()
}

fn shown(piece: Piece) -> StreamChunk {
    match piece {
        Piece::Thought(text) => StreamChunk::Thinking(text),
        Piece::Answer(text) => StreamChunk::Content(text),
    }
}

/// True if a reply came to an end of its own, so that it means something.
fn is_an_end(reason: &FinishReason) -> bool {
    matches!(
        reason,
        FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls | FinishReason::Other(_)
    )
}

/// The end of a reply that was not read to its end, with what its provider counted until then.
fn aborted(usage: Usage) -> Completion {
    Completion::new(AssistantMessage::new([]), FinishReason::Stop, usage)
}

/// The end of a call, with the tokens of the replies before. A cost that is not known of one is not known of all.
fn counted(mut reply: Completion, earlier: &Earlier, model: &str, is_unknown: bool) -> StreamChunk {
    earlier.complete(&mut reply, model, model);
    if is_unknown {
        let usage = std::mem::take(&mut reply.usage);
        reply.answered.get_or_insert_with(|| Box::new(usage));
    }
    StreamChunk::Done(Box::new(reply))
}

fn call_of(call: Call, tools: &ToolSet, is_cut: bool) -> ToolCall {
    let arguments = match is_cut {
        true => Arguments::truncated(call.arguments),
        false => Arguments::new(call.arguments),
    };
    ToolCall::new(tools.internal_name(&call.name), arguments).with_id(ToolCallId::new())
}

/// The message as the protocol reads it. Parts other than texts stay.
fn message_of(
    message: AssistantMessage,
    parser: &Parser,
    call: Option<ToolCall>,
) -> (AssistantMessage, Option<Degradation>) {
    let said = message.text();
    let others = message.parts.into_iter().filter(|part| !matches!(part, AssistantPart::Text(_))).map(Some);
    let thought = parser.thought();
    let thought = (!thought.is_empty()).then(|| AssistantPart::Reasoning(history::thought(thought)));
    let text = match call {
        Some(_) => None,
        None => AssistantPart::text(parser.answer()),
    };
    let mut read = AssistantMessage::new(others.chain([thought, text, call.map(AssistantPart::ToolCall)]));
    read.id = message.id;
    read.metadata = message.metadata;
    let lost = cited::keep(&mut read, message.citations, &said);
    (read, lost)
}
