//! The points at which hooks look at a run.

use std::sync::Arc;

use attache_core::{AssistantMessage, BoxFuture, Message, ToolCall, ToolResult, UserMessage};
use serde_json::Value;

use crate::outcome::Outcome;

/// Looks at a run at fixed points, for guardrails and for what a program wants to add. Each point allows what its verdict
/// can say, and nothing else: no hook can tear a call from its result.
///
/// The decisions of hooks are recorded in the log of the run before they are acted on, and a run that is
/// resumed goes by the log: no hook decides the same twice. Hooks run in the order in which they were added;
/// the first verdict that is not to go on counts. One that fails or panics refuses where the agent has tools
/// with effects, and is passed over with a warning where it has none.
///
/// ```
/// use attache_agent::{Agent, CallVerdict, EndReason, HookContext, HookError, InputVerdict, RunHook};
/// use attache_core::{BoxFuture, Message, ToolCall};
/// # use attache_testkit::{ScriptedModel, Turn};
/// use std::sync::Arc;
///
/// struct NoSecrets;
///
/// impl RunHook for NoSecrets {
///     fn on_input<'a>(
///         &'a self,
///         input: &'a [Arc<Message>],
///         _: &'a HookContext<'_>,
///     ) -> BoxFuture<'a, Result<InputVerdict, HookError>> {
///         let tells = input.iter().any(|message| format!("{message:?}").contains("password"));
///         let verdict = if tells { InputVerdict::Block("Please send no passwords.".into()) } else { InputVerdict::Pass };
///         Box::pin(std::future::ready(Ok(verdict)))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let model = ScriptedModel::new([]);
/// let agent = Agent::builder(model).hook(NoSecrets).build()?;
/// let outcome = agent.run("My password is 1234.").outcome().await?;
/// assert_eq!((outcome.reason, &*outcome.text), (EndReason::GuardrailTripped, "Please send no passwords."));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RunHook: Send + Sync {
    /// The input of a new run, before anything else happens.
    ///
    /// # Errors
    /// [`HookError`] if it cannot say.
    fn on_input<'a>(
        &'a self,
        input: &'a [Arc<Message>],
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<InputVerdict, HookError>> {
        let _ = (input, context);
        Box::pin(std::future::ready(Ok(InputVerdict::Pass)))
    }

    /// Before the model is asked: messages can be added behind the conversation.
    ///
    /// # Errors
    /// [`HookError`] if it cannot say.
    fn before_model<'a>(
        &'a self,
        draft: &'a mut Draft<'_>,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        let _ = (draft, context);
        Box::pin(std::future::ready(Ok(())))
    }

    /// A reply that is whole, before any of its calls is made. Its text may have been streamed already.
    ///
    /// # Errors
    /// [`HookError`] if it cannot say.
    fn after_model<'a>(
        &'a self,
        reply: &'a AssistantMessage,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        let _ = (reply, context);
        Box::pin(std::future::ready(Ok(ReplyVerdict::Keep)))
    }

    /// A call, before its tool runs, before the caller is told to answer it, and before anybody is asked to approve it;
    /// and again with the arguments that a person changed.
    ///
    /// # Errors
    /// [`HookError`] if it cannot say.
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        let _ = (call, context);
        Box::pin(std::future::ready(Ok(CallVerdict::Run)))
    }

    /// The result of a tool that ran, before it is recorded, or one that came from elsewhere, before the model reads it.
    /// Its text and documents can be changed; it stays the result of its call. A document that gets other bytes is that one
    /// wherever it stands in the result. The results of `tool_search` and
    /// `tool_detail` do not come here.
    ///
    /// # Errors
    /// [`HookError`] if it cannot say; the result of a tool with effects is withheld from the model then.
    fn after_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        let _ = (call, result);
        Box::pin(std::future::ready(Ok(())))
    }

    /// The end of the run, once, in the process that recorded it. Nothing can be changed any more.
    fn at_end<'a>(&'a self, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        let _ = outcome;
        Box::pin(std::future::ready(()))
    }
}

/// The run that a hook looks at.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookContext<'a> {
    /// The run; empty before it has an id.
    pub run_id: &'a str,
    /// Model calls that came to their end.
    pub steps: u32,
    /// On whose behalf the run works.
    pub principal: Option<&'a str>,
    /// The conversation so far, without new input.
    pub history: &'a [Arc<Message>],
}

/// The conversation as it is about to be sent. Messages can be added behind it.
#[derive(Debug)]
pub struct Draft<'a> {
    messages: &'a [Arc<Message>],
    pub(super) added: Vec<UserMessage>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(messages: &'a [Arc<Message>]) -> Self {
        Self { messages, added: Vec::new() }
    }

    /// The conversation so far.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.messages
    }

    /// Adds a message at the tail: it stays in the conversation. The model reads it as one of the user's side.
    pub fn append(&mut self, message: impl Into<UserMessage>) {
        self.added.push(message.into());
    }
}

/// A verdict about the input of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputVerdict {
    /// It stays as it is.
    Pass,
    /// These messages stand in its place.
    Rewrite(Vec<Arc<Message>>),
    /// The run ends with this text in the place of an answer.
    Block(String),
    /// The run ends; the reason is for people.
    Trip(String),
}

/// A verdict about a reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReplyVerdict {
    /// The run goes on with it.
    Keep,
    /// Its calls are not made, and the model is told why and asked again. At the last step the run goes on with it.
    Retry(String),
    /// Its calls are not made, and the run ends with this text in the place of an answer.
    Block(String),
    /// Its calls are not made, and the run ends; the reason is for people.
    Trip(String),
}

/// A verdict about a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallVerdict {
    /// It is made.
    Run,
    /// It is not made, and the model reads why.
    Deny(String),
    /// It is not made, and the model reads this as its result.
    Replace(String),
    /// It is made with other arguments, which must fit the schema.
    Rewrite(Value),
    /// It is not made, and the run ends; the reason is for people.
    Trip(String),
}

/// A hook that could not say.
#[derive(Debug, thiserror::Error)]
#[error("a hook failed: {0}")]
pub struct HookError(pub String);
