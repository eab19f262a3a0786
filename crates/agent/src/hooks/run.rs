//! Runs the hooks of an agent: the first verdict that is not to go on counts, and a failure refuses.

use std::collections::HashMap;
use std::future::Future;
use std::mem::discriminant;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{AssistantMessage, Document, DocumentId, Message, ToolCall, ToolResult};
use futures_util::FutureExt;
use serde_json::Value;
use tokio::time::timeout;

use crate::hooks::hook::{CallVerdict, Draft, HookContext, HookError, InputVerdict, ReplyVerdict, RunHook};
use crate::log::{Disposition, ToolOutcome};
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

impl CallVerdict {
    /// The arguments with which the call is made, where they are others; or the outcome of a call that is not made.
    pub(crate) fn settled(self, call: &ToolCall) -> Result<Option<Value>, Box<ToolOutcome>> {
        let (text, disposition) = match self {
            Self::Run => return Ok(None),
            Self::Rewrite(arguments) => return Ok(Some(arguments)),
            Self::Deny(text) => (text, Disposition::Denied),
            Self::Replace(text) => (text, Disposition::Replaced),
            Self::Trip(why) => (why, Disposition::Tripped),
        };
        let mut outcome = Box::new(ToolOutcome::not_made(call, &text, disposition));
        if disposition == Disposition::Replaced {
            outcome.result = ToolResult::ok(call, &text);
        }
        Err(outcome)
    }
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
    pub(crate) async fn result(&self, call: &ToolCall, given: ToolResult, closed: bool) -> ToolResult {
        let mut result = given.clone();
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
        with_changed(&given, result)
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

/// The documents of a result that are others than those of their ids among the `given` ones, as far as that is known:
/// bytes in the place of a reference are.
pub(crate) fn changed<'r>(
    given: &'r ToolResult,
    result: &'r ToolResult,
) -> impl Iterator<Item = &'r Document> {
    let all = |result: &'r ToolResult| result.tree.documents().iter().chain(&result.documents);
    let before: HashMap<&DocumentId, &Document> =
        all(given).map(|document| (document.id(), document)).collect();
    let is_elsewhere =
        |one: &Document, other: &Document| discriminant(one.source()) != discriminant(other.source());
    all(result).filter(move |document| {
        let before = before.get(document.id());
        before.is_some_and(|before| !before.is_same(document) || is_elsewhere(before, document))
    })
}

/// The result in which a document that a hook gave other bytes is that one wherever it stands: the original is neither
/// shown nor kept.
fn with_changed(given: &ToolResult, mut result: ToolResult) -> ToolResult {
    let new: HashMap<DocumentId, Document> =
        changed(given, &result).map(|document| (document.id().clone(), document.clone())).collect();
    if !new.is_empty() {
        let as_it_is = |document: &Document| new.get(document.id()).unwrap_or(document).clone();
        result.tree = result.tree.map_documents(as_it_is);
        result.documents = result.documents.iter().map(as_it_is).collect();
    }
    result
}
