//! The loop for callers who run the tools themselves.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{
    FinishReason, Message, ModelHandle, ModelSettings, ToolCall, ToolCallId, ToolDefinition, ToolResult,
    Usage,
};

use crate::agent::{Agent, AgentBuilder, BuildError};
use crate::control::Control;
use crate::deliver::SubmitError;
use crate::driver::AgentRun;
use crate::event::EventKind;
use crate::input::RunInput;
use crate::memory::MessageWindow;
use crate::outcome::{EndReason, RunError};
use crate::tools::Tools;

/// An event of a chat loop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LoopEvent {
    /// A piece of answer text.
    Content(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A piece of a tool call.
    ToolCallDelta {
        /// The call.
        id: ToolCallId,
        /// The tool's name, once.
        name: Option<String>,
        /// A piece of the arguments.
        arguments_delta: String,
    },
    /// The model asks for these calls; the loop waits for their results.
    ToolCallsRequested {
        /// The calls of the reply that wait for the caller, in order. A call of a tool that was not offered is answered
        /// by the loop.
        calls: Vec<ToolCall>,
        /// The model's text beside them.
        content: String,
    },
    /// All calls were answered; the model is asked again.
    ToolResultsReceived {
        /// The number of results.
        count: usize,
    },
    /// The end.
    Done(Box<LoopEnd>),
}

/// The end of a chat loop.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoopEnd {
    /// The text of the last reply; empty where it was told with the calls of the reply.
    pub content: String,
    /// Why the model stopped, as far as a single reply says it; [`FinishReason::Other`] without a word where none came to
    /// its end.
    pub finish_reason: FinishReason,
    /// Why the loop ended.
    pub reason: EndReason,
    /// The usage of all replies.
    pub usage: Usage,
    /// All calls made, in order.
    pub calls: Vec<ToolCall>,
    /// The conversation, to go on from.
    pub messages: Vec<Arc<Message>>,
}

/// Talks with a model whose tool calls the caller answers: events out, tool results in.
///
/// It is a view of the one loop. Everything happens while [`next`](Self::next) is awaited: a slow caller slows the
/// provider down, nothing piles up, and no task runs in the background.
///
/// # Cancellation
/// Dropping the handle aborts the request. [`cancel`](Self::cancel) does so too and yields the end.
#[derive(Debug)]
pub struct ChatLoopHandle {
    run: Option<AgentRun>,
    control: Control,
    finish: FinishReason,
    /// True if the reply under way said something that was not told with its calls.
    has_said: bool,
}

/// Starts a chat loop over `history`, offering `tools`.
///
/// # Errors
/// [`BuildError`] if two tools have one name.
///
/// ```
/// # async fn example(model: attache_core::ModelHandle, tools: Vec<attache_core::ToolDefinition>) -> Result<(), Box<dyn std::error::Error>> {
/// use attache_agent::{LoopEvent, chat_loop};
/// use attache_core::{Message, ToolResult};
///
/// let mut chat = chat_loop(model, [Message::user("What is 2 + 3?").shared()], tools)?;
/// while let Some(event) = chat.next().await {
///     match event? {
///         LoopEvent::Content(text) => print!("{text}"),
///         LoopEvent::ToolCallsRequested { calls, .. } => {
///             let results = calls.iter().map(|call| ToolResult::ok(call, "5"));
///             chat.submit_tool_results(results).await?;
///         }
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub fn chat_loop(
    model: impl Into<ModelHandle>,
    history: impl IntoIterator<Item = Arc<Message>>,
    tools: impl IntoIterator<Item = ToolDefinition>,
) -> Result<ChatLoopHandle, BuildError> {
    ChatLoop::new(model).with_tools(tools).start(history)
}

/// Options of a chat loop; [`chat_loop`] serves where the defaults do.
#[derive(Debug)]
#[must_use]
pub struct ChatLoop {
    builder: AgentBuilder,
}

impl ChatLoop {
    /// A loop with `model`.
    pub fn new(model: impl Into<ModelHandle>) -> Self {
        Self { builder: Agent::builder(model) }
    }

    /// Offers tools.
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = ToolDefinition>) -> Self {
        let tools = tools.into_iter().fold(Tools::new(), Tools::with_external);
        self.builder = self.builder.tool_set(tools);
        self
    }

    /// Sets settings of the model calls.
    pub fn with_settings(mut self, settings: ModelSettings) -> Self {
        self.builder = self.builder.settings(settings);
        self
    }

    /// Sets the maximum number of model calls. 20 by default.
    pub fn with_max_steps(mut self, steps: u32) -> Self {
        self.builder = self.builder.max_steps(steps);
        self
    }

    /// Sets how long the loop waits for results; then it ends as [`EndReason::PendingExternal`]. Unlimited by
    /// default.
    pub fn with_answer_deadline(mut self, deadline: Duration) -> Self {
        self.builder = self.builder.answer_deadline(deadline);
        self
    }

    /// Sets the window of messages that the model sees.
    pub fn with_window(mut self, window: impl Into<Option<MessageWindow>>) -> Self {
        self.builder = self.builder.window(window);
        self
    }

    /// Starts over `history`, whose last message is what the model answers.
    ///
    /// # Errors
    /// [`BuildError`] if two tools have one name or a limit is zero.
    pub fn start(
        self,
        history: impl IntoIterator<Item = Arc<Message>>,
    ) -> Result<ChatLoopHandle, BuildError> {
        let run = self.builder.build()?.run(RunInput::new(history));
        let control = run.control();
        let finish = FinishReason::Other(String::new());
        Ok(ChatLoopHandle { run: Some(run), control, finish, has_said: false })
    }
}

impl ChatLoopHandle {
    /// The next event. After [`LoopEvent::Done`] or an error it is `None` for ever.
    pub async fn next(&mut self) -> Option<Result<LoopEvent, RunError>> {
        loop {
            let event = self.run.as_mut()?.next().await;
            let Some(event) = event else {
                self.run = None;
                return None;
            };
            let event = match event.kind {
                EventKind::StepStarted { .. } => {
                    self.has_said = false;
                    continue;
                }
                EventKind::Content(text) => {
                    self.has_said |= !text.trim().is_empty();
                    LoopEvent::Content(text)
                }
                EventKind::Thinking(text) => LoopEvent::Thinking(text),
                EventKind::ToolCallDelta { id, name, arguments_delta } => {
                    LoopEvent::ToolCallDelta { id, name, arguments_delta }
                }
                EventKind::ToolCallsRequested { mut calls, content } => {
                    // The loop itself answers calls of unknown tools, and those beyond the limit.
                    let awaiting = self.control.awaiting();
                    calls.retain(|call| awaiting.iter().any(|waits| waits.id == call.id));
                    if calls.is_empty() {
                        continue;
                    }
                    self.has_said = false;
                    LoopEvent::ToolCallsRequested { calls, content }
                }
                EventKind::ToolResultsReceived { count } => LoopEvent::ToolResultsReceived { count },
                EventKind::StepFinished { finish_reason, .. } => {
                    self.finish = finish_reason;
                    continue;
                }
                EventKind::Finished(result) => {
                    self.run = None;
                    return Some(result.map(|mut outcome| {
                        // It is that of the last reply that said something.
                        if !self.has_said && !matches!(outcome.reason, EndReason::Answer | EndReason::Refusal)
                        {
                            outcome.text.clear();
                        }
                        LoopEvent::Done(Box::new(LoopEnd {
                            content: outcome.text,
                            finish_reason: self.finish.clone(),
                            reason: outcome.reason,
                            usage: outcome.usage,
                            calls: outcome.calls,
                            messages: outcome.messages,
                        }))
                    }));
                }
                _ => continue,
            };
            return Some(Ok(event));
        }
    }

    /// Answers calls, all or some; the loop goes on when all are answered.
    ///
    /// # Errors
    /// [`SubmitError`] if a result fits no waiting call; none is taken then, and the loop stays usable.
    pub async fn submit_tool_results(
        &self,
        results: impl IntoIterator<Item = ToolResult>,
    ) -> Result<(), SubmitError> {
        self.control.submit(results).await
    }

    /// The calls that still wait for results.
    pub fn awaiting(&self) -> Vec<ToolCall> {
        self.control.awaiting()
    }

    /// True if the loop is under way.
    pub fn is_active(&self) -> bool {
        self.run.is_some() && self.control.is_active()
    }

    /// Ends the loop; the next event is its end, with what was said so far.
    pub fn cancel(&self) {
        self.control.cancel();
    }
}
