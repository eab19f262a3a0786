//! Runs the hooks of an agent: the first verdict that is not to go on counts, and a failure refuses.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{AssistantMessage, Message, ToolCall, ToolResult};
use futures_util::FutureExt;
use tokio::time::timeout;

use crate::hooks::hook::{CallVerdict, Draft, HookContext, HookError, InputVerdict, ReplyVerdict, RunHook};
use crate::outcome::Outcome;

/// The hooks of an agent, in the order in which they run.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Vec<Arc<dyn RunHook>>);

/// The time that one hook may take at one point.
const PATIENCE: Duration = Duration::from_secs(60);

/// The words of a refusal by a hook that failed. Its own words are for the log.
const FAILED: &str = "a check could not be made";

async fn caught<T>(hook: impl Future<Output = Result<T, HookError>>) -> Result<T, HookError> {
    let outcome = timeout(PATIENCE, AssertUnwindSafe(hook).catch_unwind()).await;
    let verdict = match outcome {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(_)) => Err(HookError("it panicked".to_owned())),
        Err(_) => Err(HookError(format!("it did not answer within {} s", PATIENCE.as_secs()))),
    };
    verdict.inspect_err(|error| tracing::error!(%error, "a hook failed"))
}

impl Hooks {
    pub(crate) fn add(&mut self, hook: impl RunHook + 'static) {
        self.0.push(Arc::new(hook));
    }

    /// These, and those behind them.
    pub(crate) fn and(&self, others: &Self) -> Self {
        Self(self.0.iter().chain(&others.0).cloned().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The verdict about an input, and the input as it is then. `closed` says that a failure refuses.
    pub(crate) async fn input(
        &self,
        mut input: Vec<Arc<Message>>,
        context: &HookContext<'_>,
        closed: bool,
    ) -> (Vec<Arc<Message>>, InputVerdict) {
        for hook in &self.0 {
            let verdict = caught(async { hook.on_input(&input, context).await }).await;
            match verdict {
                Ok(InputVerdict::Pass) => {}
                Ok(InputVerdict::Rewrite(messages)) => input = messages,
                Ok(verdict) => return (input, verdict),
                Err(_) if closed => return (input, InputVerdict::Trip(FAILED.to_owned())),
                Err(_) => {}
            }
        }
        (input, InputVerdict::Pass)
    }

    /// The messages that stand behind the conversation from now on; `None` if the model must not be asked.
    pub(crate) async fn ask(
        &self,
        history: &[Arc<Message>],
        context: &HookContext<'_>,
        closed: bool,
    ) -> Option<Vec<Arc<Message>>> {
        let mut added = Vec::new();
        for hook in &self.0 {
            let mut draft = Draft::new(history);
            let drafted = caught(async { hook.before_model(&mut draft, context).await }).await;
            match drafted {
                Ok(()) => {
                    added.extend(draft.added.into_iter().map(|message| Message::User(message).shared()))
                }
                Err(_) if closed => return None,
                Err(_) => {}
            }
        }
        Some(added)
    }

    pub(crate) async fn reply(
        &self,
        reply: &AssistantMessage,
        context: &HookContext<'_>,
        closed: bool,
    ) -> ReplyVerdict {
        for hook in &self.0 {
            match caught(async { hook.after_model(reply, context).await }).await {
                Ok(ReplyVerdict::Keep) => {}
                Ok(verdict) => return verdict,
                Err(_) if closed => return ReplyVerdict::Trip(FAILED.to_owned()),
                Err(_) => {}
            }
        }
        ReplyVerdict::Keep
    }

    /// The verdict about a call. Several hooks may rewrite it one after the other.
    pub(crate) async fn call(&self, call: &ToolCall, context: &HookContext<'_>, closed: bool) -> CallVerdict {
        let (mut call, mut rewritten) = (call.clone(), None);
        for hook in &self.0 {
            match caught(async { hook.before_tool(&call, context).await }).await {
                Ok(CallVerdict::Run) => {}
                Ok(CallVerdict::Rewrite(arguments)) => {
                    call.arguments = attache_core::Arguments::new(arguments.to_string());
                    rewritten = Some(arguments);
                }
                Ok(verdict) => return verdict,
                Err(_) if closed => return CallVerdict::Deny(format!("not executed: {FAILED}")),
                Err(_) => {}
            }
        }
        rewritten.map_or(CallVerdict::Run, CallVerdict::Rewrite)
    }

    /// The result as the model shall read it.
    pub(crate) async fn result(&self, call: &ToolCall, result: ToolResult, closed: bool) -> ToolResult {
        let mut result = result;
        for hook in &self.0 {
            let mut changed = result.clone();
            match caught(async { hook.after_tool(call, &mut changed).await }).await {
                // It stays the result of its call.
                Ok(()) => {
                    changed.call_id = result.call_id;
                    changed.provider_id = result.provider_id;
                    changed.tool_name = result.tool_name;
                    result = changed;
                }
                Err(_) if closed => {
                    let text = "the tool was run, and its result is withheld: a check could not be made";
                    return ToolResult::error(call, text);
                }
                Err(_) => {}
            }
        }
        result
    }

    pub(crate) async fn end(&self, outcome: &Outcome) {
        for hook in &self.0 {
            let told = async {
                hook.at_end(outcome).await;
                Ok(())
            };
            // Nothing depends on it any more.
            let _ = caught(told).await;
        }
    }
}
