//! Tools for models that call none natively: through Thought, Action, Observation and Answer.

pub(super) mod action;
mod history;
pub(super) mod json;
mod marker;
pub(super) mod parser;
mod prompt;
mod refusal;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, BoxFuture, ChatRequest, ChunkStream, Completion, Degradation,
    FinishReason, Message, ModelCapabilities, ModelHandle, ModelSettings, PlaceCapabilities, ProviderError,
    SchemaReport, StreamChunk, StructuredOutput, ToolCall, ToolCallId, ToolChoice, ToolSet, Usage,
    UserMessage, UserOrigin, UserPart,
};
use futures_util::StreamExt;
use serde_json::json;

use super::Layer;
use super::cited;
use super::leaked::{Asked, recovered};
use action::Call;
use parser::{Fault, Parser, Piece, Reading};
use prompt::ASK_USER;

/// Lets a model without native tools use them: the tools and a format stand in its instructions, calls are read out of
/// its text, and results go back as observations. The agent around it notices nothing: the same tools, approvals, limits
/// and events.
///
/// A model whose capabilities say that it calls no tools is asked in text. Any other is asked natively, until its server
/// refuses the tools; from then on this layer asks in text. Until then it takes calls out of texts as
/// [`LeakedCalls`](super::LeakedCalls) does. [`always`](Self::always) asks in text from the beginning.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_models::{TextTools, layered};
/// # use attache_testkit::{ScriptedModel, Turn};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let model = ScriptedModel::new([
/// #     Turn::text("Thought: I look it up.\nAction: rent\nAction Input: {}"),
/// #     Turn::text("Thought: Now I know.\nFinal Answer: EUR 900 a month."),
/// # ]);
/// let rent = tool_fn("rent", "The rent of the flat.", || Ok("EUR 900"));
/// let agent = Agent::builder(layered(model, TextTools::new().always())).tool(rent).build()?;
/// let outcome = agent.run("What is the rent?").outcome().await?;
/// assert_eq!(outcome.text, "EUR 900 a month.");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextTools {
    options: Options,
    /// True once the server has refused tools.
    is_text: Arc<AtomicBool>,
    /// False once the API has refused stop sequences.
    takes_stop: Arc<AtomicBool>,
    capabilities: OnceLock<ModelCapabilities>,
}

#[derive(Clone, Debug)]
struct Options {
    always: bool,
    language: Option<String>,
    takes_plain_answers: bool,
    is_lenient: bool,
    hints: u32,
}

impl Default for TextTools {
    fn default() -> Self {
        Self::new()
    }
}

/// The texts before which a reply is stopped: the tool speaks there.
const STOPS: [&str; 2] = ["\nObservation:", "<OBSERVE>"];

/// The most stop sequences that every API takes.
const MAX_STOPS: usize = 4;

/// The most bytes behind an action that are read to meet the end of the reply, which says what it cost.
const MAX_BEHIND: usize = 400;

/// The most characters of a reply without meaning that the model is shown with the hint.
const MAX_SHOWN: usize = 2000;

impl TextTools {
    /// Text where the model has no tools or its server refuses them.
    pub fn new() -> Self {
        Self {
            options: Options {
                always: false,
                language: None,
                takes_plain_answers: false,
                is_lenient: false,
                hints: 2,
            },
            is_text: Arc::default(),
            takes_stop: Arc::new(AtomicBool::new(true)),
            capabilities: OnceLock::new(),
        }
    }

    /// Text from the beginning, whatever the model can.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.options.always = true;
        self
    }

    /// Asks for answers in a language, such as `German`.
    #[must_use]
    pub fn with_language(mut self, language: impl Into<String>) -> Self {
        self.options.language = Some(language.into());
        self
    }

    /// Takes a reply without any marker for the answer, instead of asking for one with markers.
    #[must_use]
    pub fn with_plain_answers(mut self, takes: bool) -> Self {
        self.options.takes_plain_answers = takes;
        self
    }

    /// Takes arguments in single quotes and with the words of Python too.
    #[must_use]
    pub fn with_lenient_arguments(mut self, is_lenient: bool) -> Self {
        self.options.is_lenient = is_lenient;
        self
    }

    /// Sets how often the model is asked again after a reply that is neither action nor answer, in one step. 2 by
    /// default.
    #[must_use]
    pub fn with_hints(mut self, hints: u32) -> Self {
        self.options.hints = hints;
        self
    }

    fn asks_in_text(&self, inner: &ModelHandle) -> bool {
        self.options.always || !inner.capabilities().tools || self.is_text.load(Ordering::Relaxed)
    }
}

impl Layer for TextTools {
    /// The capabilities of a model whose results are texts, and documents follow in the next message.
    fn capabilities<'a>(&'a self, inner: &'a ModelHandle) -> &'a ModelCapabilities {
        if !self.asks_in_text(inner) {
            return inner.capabilities();
        }
        self.capabilities.get_or_init(|| {
            let mut capabilities = inner.capabilities().clone();
            let text = PlaceCapabilities::of(&["text"]);
            capabilities.tools = true;
            capabilities.parallel_tools = false;
            capabilities.forced_tools = false;
            capabilities.allowed_tools = false;
            capabilities.strict_tools = false;
            capabilities.structured_output = StructuredOutput::None;
            capabilities.tool_result = text.clone();
            capabilities.failed_result = text;
            capabilities.beside_result = capabilities.user.clone();
            capabilities
        })
    }

    fn check_tools(&self, inner: &ModelHandle, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        match self.asks_in_text(inner) {
            true => SchemaReport::new(),
            false => inner.check_tools(tools, options),
        }
    }

    fn count_tokens(
        &self,
        inner: &ModelHandle,
        request: ChatRequest,
    ) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        let request = match self.asks_in_text(inner) {
            true => {
                let stops = self.takes_stop.load(Ordering::Relaxed);
                request_in_text(inner, &allowed_alone(request), &self.options, stops)
            }
            false => request,
        };
        inner.count_tokens(request)
    }

    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (inner, options) = (inner.clone(), self.options.clone());
        let takes_stop = Arc::clone(&self.takes_stop);
        if self.asks_in_text(&inner) {
            return in_text(inner, request, &options, takes_stop, None);
        }
        let is_text = Arc::clone(&self.is_text);
        let asked = Asked::of(&request);
        Box::pin(async_stream::stream! {
            let mut chunks = inner.stream(request.clone());
            let first = chunks.next().await;
            if let Some(Err(error)) = &first
                && !request.tools.is_empty()
                && refusal::is_of_tools(error)
            {
                tracing::warn!(model = inner.id(), %error, "the server refuses tools, and is asked in text");
                let note = format!("the server refuses tools ({}), and is asked in text from now on", error.kind());
                let mut chunks = in_text(inner, request, &options, takes_stop, Some(note));
                while let Some(chunk) = chunks.next().await {
                    // A request that fails in text too was not refused for its tools.
                    if matches!(chunk, Ok(StreamChunk::Done(_))) {
                        is_text.store(true, Ordering::Relaxed);
                    }
                    yield chunk;
                }
                return;
            }
            let rest = futures_util::stream::iter(first).chain(chunks);
            let mut chunks = recovered(Box::pin(rest), asked);
            while let Some(chunk) = chunks.next().await {
                yield chunk;
            }
        })
    }
}

/// Asks in text, again with a hint where a reply is neither action nor answer. A request without tools has no protocol,
/// and what comes is passed on as it is.
fn in_text(
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
        let mut usage: Option<Usage> = None;
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
                    Err(_) if may_call && parser.is_done() => break,
                    Err(error) => {
                        yield Err(error);
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
            let is_aborted = done.is_none();
            let mut completion = done.map_or_else(aborted, |completion| *completion);
            if raw.is_empty() {
                raw = completion.message.text();
                for piece in parser.push(&raw) {
                    yield Ok(shown(piece));
                }
            }
            add(&mut usage, &completion.usage, is_aborted);
            completion.usage = usage.clone().unwrap_or_default();
            completion.degradations.extend(note.iter().map(|note| Degradation::new("tools", note.clone())));
            if completion.message.has_tool_calls() || !is_an_end(&completion.finish_reason) {
                yield Ok(StreamChunk::Done(Box::new(completion)));
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
            yield Ok(StreamChunk::Done(Box::new(completion)));
            return;
        }
    })
}

/// The request without the tools that may not be called: a text has no other way to say so.
fn allowed_alone(mut request: ChatRequest) -> ChatRequest {
    if let Some(allowed) = request.allowed_tools.take() {
        request.tools = Arc::new(request.tools.subset(|name| allowed.iter().any(|allowed| allowed == name)));
    }
    request
}

fn request_in_text(
    inner: &ModelHandle,
    request: &ChatRequest,
    options: &Options,
    stops: bool,
) -> ChatRequest {
    let mut asked = request.clone();
    asked.tools = Arc::default();
    asked.tool_choice = ToolChoice::Auto;
    let protocol =
        (!request.tools.is_empty()).then(|| prompt::protocol(&request.tools, options.language.as_deref()));
    asked.messages = history::as_text(request, protocol.as_deref());
    let wish = match &request.tool_choice {
        ToolChoice::Required => Some("Use a tool now.".to_owned()),
        ToolChoice::Tool(name) => Some(format!("Use the tool {} now.", request.tools.wire_name(name))),
        ToolChoice::None if !request.tools.is_empty() => {
            Some("Use no tool now. Write \"Final Answer:\" and your answer.".to_owned())
        }
        _ => None,
    };
    asked.messages.extend(wish.map(|wish| event(&wish)));
    if protocol.is_some() && stops && inner.capabilities().stop {
        let own = request.settings.stop.clone().or_else(|| inner.settings().stop.clone()).unwrap_or_default();
        let room = MAX_STOPS.saturating_sub(own.len());
        let more = STOPS.iter().take(room).map(|stop| (*stop).to_owned());
        asked.settings.stop = Some(own.into_iter().chain(more).collect());
    }
    asked
}

/// A word to the model that stands in no history.
fn event(text: &str) -> Arc<Message> {
    let mut message = UserMessage::new([UserPart::text(text)]);
    message.origin = UserOrigin::Event;
    Message::User(message).shared()
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

/// The end of a reply that was not read to its end: nobody knows what it cost.
fn aborted() -> Completion {
    Completion::new(AssistantMessage::new([]), FinishReason::Stop, Usage::default())
}

/// Adds what a reply cost. A cost that is not known of one is not known of all.
fn add(sum: &mut Option<Usage>, usage: &Usage, is_unknown: bool) {
    match sum {
        None => *sum = Some(usage.clone()),
        Some(sum) if is_unknown => *sum = Usage::default(),
        Some(sum) => sum.add(usage),
    }
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
