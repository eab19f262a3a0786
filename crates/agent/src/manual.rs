//! The tools of an agent, for programs that ask the model themselves.

use std::fmt;
use std::sync::Arc;

use attache_core::{
    AssistantMessage, AssistantPart, Message, ResultStatus, ToolCall, ToolContext, ToolResult,
    ToolResultsMessage, ToolSet, ToolSpec,
};
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;

use crate::approval::{Verdict, judged};
use crate::pace::{LONGEST, Pace};
use crate::setup::Setup;
use crate::tools::{Invocation, Ready, RefusalReason, Resolved, Toolbox, ToolsError, Work, invoke};

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
    pub(crate) async fn new(setup: Arc<Setup>) -> Result<Self, ToolsError> {
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

    /// The same in a context; what it holds by type wins over the agent's.
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
        let mut under_way = FuturesOrdered::new();
        for call in calls {
            let entry = match self.toolbox.resolve(&call.name) {
                Resolved::Tool(entry) | Resolved::External(entry) => entry,
                Resolved::Waiting(text) | Resolved::Unknown(text) => {
                    under_way.push_back(self.refused(&call, None, RefusalReason::UnknownTool, &text));
                    continue;
                }
            };
            let tool = Some(&*entry.spec);
            let ready = match entry.ready(&call.arguments) {
                Ok(ready) => ready,
                Err(text) => {
                    under_way.push_back(self.refused(&call, tool, RefusalReason::Arguments, &text));
                    continue;
                }
            };
            let principal = base.principal.as_deref();
            let run_id = base.run_id.as_deref().unwrap_or_default();
            let text =
                match judged(self.setup.approval.as_deref(), &call, &ready, run_id, principal, None).await {
                    Verdict::Run => None,
                    Verdict::Deny(text) => Some(text),
                    Verdict::Ask(_) => Some("it needs an approval, and nobody can give it here".to_owned()),
                };
            if let Some(text) = text {
                let text = format!("not executed: {text}");
                under_way.push_back(self.refused(&call, tool, RefusalReason::Denied, &text));
                continue;
            }
            if let Work::External = ready.work {
                round.pending.push(call);
                continue;
            }
            let is_sequential = entry.spec.metadata.sequential;
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

    /// Runs one call, whoever has to approve it: for a caller who has that word, and [submits](Round::submit) the
    /// result.
    pub async fn run(&self, call: &ToolCall, context: ToolContext) -> ToolResult {
        let base = self.context(context);
        let mut call = call.clone();
        call.name = self.toolbox.canonical(&call.name).to_owned();
        let ready = match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) => entry.ready(&call.arguments),
            Resolved::External(_) => Err("the caller answers this tool".to_owned()),
            Resolved::Waiting(text) | Resolved::Unknown(text) => Err(text),
        };
        match ready {
            Ok(ready) => self.started(ready, call, &base).await,
            Err(text) => ToolResult::error(&call, &text),
        }
    }

    /// The result of a call that is not run.
    fn refused(
        &self,
        call: &ToolCall,
        tool: Option<&ToolSpec>,
        reason: RefusalReason,
        text: &str,
    ) -> Running {
        let result = ToolResult::error(call, text);
        let (result, _) = self.setup.handling.refused(call, tool, reason, result);
        Box::pin(std::future::ready(result))
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
        let mut context = base.clone();
        context.call_id = Some(call.id.clone());
        let limit = entry.spec.metadata.timeout.unwrap_or(self.setup.timing.tool_timeout).min(LONGEST);
        let (pace, handling) = (Pace::default(), Arc::clone(&self.setup.handling));
        let mut invocation =
            Invocation { entry, call, context, limit, pace, scope: None, watched: None, handling };
        let deferred =
            ToolResult::error(&invocation.call, "the result comes later, and nobody waits for it here");
        Box::pin(async move { invoke(&mut invocation).await.map_or(deferred, |outcome| outcome.result) })
    }
}

type Running = attache_core::BoxFuture<'static, ToolResult>;

impl fmt::Debug for ToolManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolManager").field("tools", &self.toolbox.set.len()).finish_non_exhaustive()
    }
}
