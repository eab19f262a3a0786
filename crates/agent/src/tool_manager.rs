//! The tools of an agent, for programs that ask the model themselves.

use std::fmt;
use std::sync::Arc;

use attache_core::tool::{Deferred, ToolSpec};
use attache_core::{
    AssistantMessage, AssistantPart, BoxFuture, Message, ResultStatus, ToolCall, ToolContext, ToolResult,
    ToolResultsMessage, ToolSet,
};
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;

use crate::approval::{Ask, Verdict, judged};
use crate::setup::Setup;
use crate::tool_time::{LONGEST, Pace};
use crate::tools::{Executor, Invocation, Ready, RefusalReason, Resolved, Toolbox, ToolsError, Work, invoke};

/// The tools of an agent, for a program that asks the model itself and has calls answered by hand. The history of its
/// loop is that of the agent's.
///
/// Tools are offered whole and do not change. Nothing is recorded: a program that stops in the middle of a call with
/// effects must know itself what happened. Results that are too long are not shortened, and documents are not routed;
/// see `Router` of `attache-documents`.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_core::{ChatRequest, Message};
/// # use attache_testkit::{ScriptedModel, Turn};
/// # use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let model = ScriptedModel::new([Turn::call("now", "{}"), Turn::text("It is noon.")]);
/// let agent = Agent::builder(model).tool(tool_fn("now", "Tells the time", || Ok("12:00"))).build()?;
/// let manager = agent.tool_manager().await?;
/// let mut history = vec![Message::user("What time is it?").shared()];
/// let answer = loop {
///     let mut request = ChatRequest::new(history.clone());
///     request.tools = manager.tools();
///     let reply = agent.model().complete(request).await?.message;
///     if !reply.has_tool_calls() {
///         break reply.text();
///     }
///     history.extend(manager.answer(reply).await.messages());
/// };
/// assert_eq!(answer, "It is noon.");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ToolManager {
    setup: Arc<Setup>,
    toolbox: Arc<Toolbox>,
}

/// The calls of one reply with their results.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Round {
    /// The reply, whose calls have the names of the tools that they mean.
    pub reply: AssistantMessage,
    /// The results, in call order; those of [`pending`](Self::pending) calls are missing.
    pub results: Vec<ToolResult>,
    /// The calls of tools that the caller answers.
    pub pending: Vec<ToolCall>,
    /// The answer, if all tools of the round return it directly and none failed.
    pub answer: Option<String>,
}

/// The fate of a call, before anything runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Judgement {
    /// It may run.
    Run,
    /// Somebody has to approve it.
    Ask(Ask),
    /// It does not run, and this is its result.
    Refused(Box<ToolResult>),
    /// The caller answers it.
    External,
}

impl Round {
    /// Adds the result of a pending call, in its place.
    pub fn submit(&mut self, result: ToolResult) {
        self.pending.retain(|call| call.id != result.call_id);
        self.results.retain(|known| known.call_id != result.call_id);
        self.results.push(result);
        let order: Vec<_> = self.reply.tool_calls().map(|call| call.id.clone()).collect();
        self.results.sort_by_key(|result| order.iter().position(|id| *id == result.call_id));
    }

    /// The messages that the round adds to the history: the reply, its results, and a direct answer.
    pub fn messages(self) -> impl Iterator<Item = Arc<Message>> {
        let results = Message::ToolResults(ToolResultsMessage::new(self.results));
        let answer = self.answer.map(Message::assistant);
        [Message::Assistant(self.reply), results].into_iter().chain(answer).map(Message::shared)
    }
}

impl ToolManager {
    /// A border: see ADR 0053.
    pub(crate) fn new(setup: Arc<Setup>) -> BoxFuture<'static, Result<Self, ToolsError>> {
        Box::pin(async move {
            let mut setup = setup;
            if setup.handling.disclosure.is_some() {
                let own = Arc::make_mut(&mut setup);
                Arc::make_mut(&mut own.handling).disclosure = None;
                own.listed = Arc::default();
            }
            let (toolbox, warnings) = setup.toolbox().await?;
            for (code, message) in warnings {
                tracing::warn!(code, message, "tools are not all that they say");
            }
            Ok(Self { setup, toolbox })
        })
    }

    /// The tools as a request offers them.
    pub fn tools(&self) -> Arc<ToolSet> {
        Arc::clone(&self.toolbox.set)
    }

    /// Has the calls of a reply answered: side by side as the agent would, a failure of one is its result alone. Results
    /// stand in call order.
    ///
    /// # Cancellation
    /// Dropping the future drops the tools' futures.
    pub async fn answer(&self, reply: AssistantMessage) -> Round {
        self.answer_with(reply, ToolContext::new()).await
    }

    /// Has the calls of a reply [answered](Self::answer) in a context; a value that it holds by type wins over the agent's.
    pub async fn answer_with(&self, mut reply: AssistantMessage, context: ToolContext) -> Round {
        let base = self.context(context);
        for part in &mut reply.parts {
            if let AssistantPart::ToolCall(call) = part {
                call.name = self.toolbox.canonical(&call.name).to_owned();
            }
        }
        let calls: Vec<ToolCall> = reply.tool_calls().cloned().collect();
        let mut round =
            Round { reply, results: Vec::with_capacity(calls.len()), pending: Vec::new(), answer: None };
        let mut under_way = FuturesOrdered::<Running>::new();
        for call in calls {
            let (ready, ask) = match self.looked_at(&call, &base).await {
                Ok(looked_at) => looked_at,
                Err(refused) => {
                    under_way.push_back(Box::pin(std::future::ready(*refused)));
                    continue;
                }
            };
            if ask.is_some() {
                let text = "not executed: it needs an approval, and nobody can give it here";
                let refused = self.refused(&call, Some(&ready.spec), RefusalReason::Denied, text);
                under_way.push_back(Box::pin(std::future::ready(*refused)));
                continue;
            }
            if let Work::External = ready.work {
                round.pending.push(call);
                continue;
            }
            let is_sequential = ready.spec.metadata.sequential;
            while under_way.len() >= self.setup.timing.parallel_calls
                || (is_sequential && !under_way.is_empty())
            {
                round.results.extend(under_way.next().await);
            }
            under_way.push_back(self.started(ready, call, &base));
            while is_sequential && !under_way.is_empty() {
                round.results.extend(under_way.next().await);
            }
        }
        while let Some(result) = under_way.next().await {
            round.results.push(result);
        }
        let is_direct = |result: &ToolResult| {
            let entry = result.tool_name.as_ref().and_then(|name| self.toolbox.entries.get(name));
            result.status == ResultStatus::Ok && entry.is_some_and(|entry| entry.spec.metadata.return_direct)
        };
        if round.pending.is_empty() && !round.results.is_empty() && round.results.iter().all(is_direct) {
            let texts: Vec<_> = round.results.iter().map(|result| result.tree.model_text()).collect();
            round.answer = Some(texts.join("\n"));
        }
        round
    }

    /// The tools of the set with their metadata, in its order, without those that the caller answers.
    pub fn specs(&self) -> impl Iterator<Item = (&str, &ToolSpec)> {
        self.toolbox.set.iter().filter_map(|(wire, definition)| {
            let entry = self.toolbox.entries.get(definition.name())?;
            (!matches!(entry.executor, Executor::External)).then_some((wire, &*entry.spec))
        })
    }

    /// The same tools as they are now: families whose lists have changed are listed again, and nobody is asked for the
    /// others.
    ///
    /// # Errors
    /// [`ToolsError`] if the tools cannot be offered any more.
    pub async fn refreshed(&self) -> Result<Self, ToolsError> {
        Self::new(Arc::clone(&self.setup)).await
    }

    /// True if both offer the same tools, listed at the same time.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.toolbox, &other.toolbox)
    }

    /// Says what becomes of a call: whether its tool is there, its arguments fit, and the policy lets it run. Nothing is
    /// run.
    pub async fn judge(&self, call: &ToolCall, context: ToolContext) -> Judgement {
        let call = self.canonical(call);
        match self.looked_at(&call, &self.context(context)).await {
            Err(refused) => Judgement::Refused(refused),
            Ok((Ready { work: Work::External, .. }, None)) => Judgement::External,
            Ok((_, None)) => Judgement::Run,
            Ok((_, Some(ask))) => Judgement::Ask(ask),
        }
    }

    /// Runs one call, whoever has to approve it: for a caller who has that word, and [submits](Round::submit) the
    /// result.
    pub async fn run(&self, call: &ToolCall, context: ToolContext) -> ToolResult {
        self.attempt(call, context).await.unwrap_or_else(|_| later(call))
    }

    /// [Runs](Self::run) one call for a caller who can wait for a result that comes later.
    ///
    /// # Errors
    /// There is no result yet: a person is asked, or somebody works on it.
    pub async fn attempt(&self, call: &ToolCall, context: ToolContext) -> Result<ToolResult, Box<Deferred>> {
        let base = self.context(context);
        let call = self.canonical(call);
        let ready = match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) => entry.ready(&call.arguments),
            Resolved::External(_) => Err("the caller answers this tool".to_owned()),
            Resolved::Waiting(text) | Resolved::Unknown(text) => Err(text),
        };
        match ready {
            Ok(ready) => self.begun(ready, call, &base).await,
            Err(text) => Ok(ToolResult::error(&call, &text)),
        }
    }

    /// The call by the name of the tool that it means.
    fn canonical(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        call.name = self.toolbox.canonical(&call.name).to_owned();
        call
    }

    /// The tool of a call with its arguments, and the question to a person if there is one; or the result of a call that
    /// does not run.
    async fn looked_at(
        &self,
        call: &ToolCall,
        base: &ToolContext,
    ) -> Result<(Ready, Option<Ask>), Box<ToolResult>> {
        let entry = match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) | Resolved::External(entry) => entry,
            Resolved::Waiting(text) | Resolved::Unknown(text) => {
                return Err(self.refused(call, None, RefusalReason::UnknownTool, &text));
            }
        };
        let tool = Some(&*entry.spec);
        let ready = entry
            .ready(&call.arguments)
            .map_err(|text| self.refused(call, tool, RefusalReason::Arguments, &text))?;
        let (run_id, principal) = (base.run_id.as_deref().unwrap_or_default(), base.principal.as_deref());
        match judged(self.setup.approval.as_deref(), call, &ready, run_id, principal, None).await {
            Verdict::Run => Ok((ready, None)),
            Verdict::Ask(ask) => Ok((ready, Some(ask))),
            Verdict::Deny(text) => {
                let text = format!("not executed: {text}");
                Err(self.refused(call, tool, RefusalReason::Denied, &text))
            }
        }
    }

    /// The result of a call that is not run.
    fn refused(
        &self,
        call: &ToolCall,
        tool: Option<&ToolSpec>,
        reason: RefusalReason,
        text: &str,
    ) -> Box<ToolResult> {
        let result = ToolResult::error(call, text);
        Box::new(self.setup.handling.refused(call, tool, reason, result).0)
    }

    fn context(&self, mut given: ToolContext) -> ToolContext {
        let mut extensions = self.setup.extensions.clone();
        extensions.extend(&given.extensions);
        given.extensions = extensions;
        if given.principal.is_none() {
            given.principal.clone_from(&self.setup.principal);
        }
        given
    }

    fn started(&self, entry: Ready, call: ToolCall, base: &ToolContext) -> Running {
        let unanswered = later(&call);
        let begun = self.begun(entry, call, base);
        Box::pin(async move { begun.await.unwrap_or(unanswered) })
    }

    fn begun(
        &self,
        entry: Ready,
        call: ToolCall,
        base: &ToolContext,
    ) -> attache_core::BoxFuture<'static, Result<ToolResult, Box<Deferred>>> {
        let mut context = base.clone();
        context.call_id = Some(call.id.clone());
        let limit = entry.spec.metadata.timeout.unwrap_or(self.setup.timing.tool_timeout).min(LONGEST);
        let (pace, handling) = (Pace::default(), Arc::clone(&self.setup.handling));
        let mut invocation =
            Invocation { entry, call, context, limit, pace, scope: None, watched: None, handling };
        Box::pin(async move { invoke(&mut invocation).await.map(|outcome| outcome.result) })
    }
}

/// The result of a call for which nobody waits.
fn later(call: &ToolCall) -> ToolResult {
    ToolResult::error(call, "the result comes later, and nobody waits for it here")
}

type Running = attache_core::BoxFuture<'static, ToolResult>;

impl fmt::Debug for ToolManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolManager").field("tools", &self.toolbox.set.len()).finish_non_exhaustive()
    }
}
