//! The tools of an agent, for programs that ask the model themselves.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use attache_core::tool::{Deferred, ToolSpec};
use attache_core::{
    Arguments, AssistantMessage, BoxFuture, Effect, ToolCall, ToolContext, ToolResult, ToolSet,
};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};

use crate::approval::{Ask, Verdict, judged};
use crate::driver::denied;
use crate::hooks::HookContext;
use crate::log::{Begun, Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::observe::{ToolCallEnd, ToolCallStart, WatchedTool, Watching};
use crate::run::{Action, PendingCall, Run, told_of_change};
use crate::setup::Setup;
use crate::tool_round::{Round, note};
use crate::tool_time::{LONGEST, Pace};
use crate::tools::{
    Executor, Invocation, ONE_CALL, Ready, RefusalReason, Resolved, Toolbox, ToolsError, Work, invoke,
};

/// The tools of an agent, for a program that asks the model itself and has calls answered by hand. The history of its
/// loop is that of the agent's: the rules for the calls of one reply hold, and limits of a run count for each reply by
/// itself. Those of replies are the program's: one that was refused or filtered, or whose last call may be cut although it
/// can be read (`FinishReason::Length`), is not to be answered.
///
/// Hooks are asked about each call and its result ([`RunHook::before_tool`](crate::RunHook::before_tool),
/// [`after_tool`](crate::RunHook::after_tool)), with an empty history; not about results that the program
/// [submits](Round::submit). Observers of the agent see each call whose tool runs
/// ([`Observer::tool_call`](crate::Observer::tool_call)).
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
///     let round = manager.answer(reply).await;
///     if round.ended.is_some() {
///         break round.answer.unwrap_or_default();
///     }
///     history.extend(round.messages());
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

/// The fate of a call, before anything runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Judgement {
    /// It may run.
    Run(Judged),
    /// Somebody has to approve it.
    Ask(Judged, Ask),
    /// It does not run, and this is its result.
    Refused(Box<ToolResult>),
    /// The caller answers it.
    External(Judged),
}

/// A call that was judged: as it is made.
#[derive(Clone, Debug)]
pub struct Judged {
    call: ToolCall,
    /// True if a hook changed the arguments.
    is_rewritten: bool,
}

impl Judged {
    /// The call, with the name of its tool and the arguments that the hooks left it.
    pub fn call(&self) -> &ToolCall {
        &self.call
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
        self.toolbox.name_calls(&mut reply, |_| false);
        let mut round = Round::new(reply, &self.toolbox, &self.setup.limits);
        let mut run = round.run();
        let Action::AnswerCalls { calls } = run.next() else {
            if round.reply.has_tool_calls() {
                round.take(&run);
            }
            return round;
        };
        let mut waiting = VecDeque::from(calls);
        let mut under_way = FuturesUnordered::<Running>::new();
        let width = self.setup.timing.parallel_calls;
        let mut alone = false;
        while run.awaits_results() {
            let mut batch = Vec::new();
            while let Some(pending) = waiting.front() {
                let busy = under_way.len() + batch.len();
                let is_sequential = self.is_sequential(&pending.call);
                if alone || busy >= width || (is_sequential && busy > 0) {
                    break;
                }
                alone = is_sequential;
                batch.extend(waiting.pop_front());
            }
            let has_looked = !batch.is_empty();
            let mut starting = Vec::new();
            for pending in batch {
                match self.admitted(&run, pending, &base).await {
                    Ok((judged, Ready { work: Work::External, .. })) => {
                        round.wait_for(judged.call, judged.is_rewritten);
                    }
                    Ok(admitted) => starting.push(admitted),
                    Err(outcome) => settle(&mut run, *outcome, &mut under_way),
                }
                if !run.awaits_results() {
                    starting.clear();
                    break;
                }
            }
            alone &= !starting.is_empty();
            for (judged, ready) in starting {
                let (id, effect) = (judged.call.id.clone(), ready.spec.metadata.effect);
                if effect != Effect::Read {
                    let key = Key::begun(&id);
                    let _ = run.apply(&Entry::new(key, EntryKind::Begun(Begun::new(id, effect))));
                }
                under_way.push(self.started(judged, ready, &base));
            }
            // A call that was answered at once makes room for the next.
            if has_looked && !alone && !waiting.is_empty() && under_way.len() < width {
                continue;
            }
            let Some(outcome) = under_way.next().await else { break };
            alone = false;
            settle(&mut run, outcome, &mut under_way);
        }
        round.take(&run);
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

    /// Says what becomes of a call: whether its tool is there, its arguments fit, and the hooks and the policy let it run.
    /// Nothing is run.
    pub async fn judge(&self, call: &ToolCall, context: ToolContext) -> Judgement {
        let base = self.context(context);
        let (judged, ready) = match self.checked(self.canonical(call), &base).await {
            Ok(checked) => checked,
            Err(outcome) => return Judgement::Refused(Box::new(outcome.result)),
        };
        match (self.verdict(&judged.call, &ready, &base).await, ready.work) {
            (Verdict::Deny(text), _) => {
                let denied = denied(&judged.call, &text);
                let outcome = self.refused(&judged.call, Some(&ready.spec), RefusalReason::Denied, *denied);
                Judgement::Refused(Box::new(outcome.result))
            }
            (Verdict::Ask(ask), _) => Judgement::Ask(judged, ask),
            (Verdict::Run, Work::External) => Judgement::External(judged),
            (Verdict::Run, _) => Judgement::Run(judged),
        }
    }

    /// Runs one call that the hooks let run, whoever has to approve it: for a caller who has that word, and
    /// [submits](Round::submit) the result.
    pub async fn run(&self, call: &ToolCall, context: ToolContext) -> ToolResult {
        let base = self.context(context);
        match self.checked(self.canonical(call), &base).await {
            Ok((judged, ready)) => self.started(judged, ready, &base).await.result,
            Err(outcome) => outcome.result,
        }
    }

    /// Runs one call that was [judged](Self::judge), whoever has to approve it, for a caller who can wait for a result that
    /// comes later.
    ///
    /// # Errors
    /// There is no result yet: a person is asked, or somebody works on it.
    pub async fn attempt(&self, judged: Judged, context: ToolContext) -> Result<ToolResult, Box<Deferred>> {
        let base = self.context(context);
        match self.ready(&judged.call).await {
            Ok(ready) => self.begun(judged, ready, &base).await.map(|outcome| outcome.result),
            Err(outcome) => Ok(outcome.result),
        }
    }

    fn is_sequential(&self, call: &ToolCall) -> bool {
        self.toolbox.entries.get(&call.name).is_some_and(|entry| entry.spec.metadata.sequential)
    }

    /// The call by the name of the tool that it means.
    fn canonical(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        call.name = self.toolbox.canonical(&call.name).to_owned();
        call
    }

    /// A call of a round as it is made, with its tool; or the outcome of one that does not run.
    async fn admitted(
        &self,
        run: &Run,
        pending: PendingCall,
        base: &ToolContext,
    ) -> Result<(Judged, Ready), Box<ToolOutcome>> {
        let PendingCall { call, beyond_limit, .. } = pending;
        let barred = match beyond_limit {
            Some(limit) => Some((RefusalReason::Limit, limit.to_string())),
            None if run.is_further_call(&call.id) && self.setup.takes_one_call() => {
                Some((RefusalReason::Off, ONE_CALL.to_owned()))
            }
            None => None,
        };
        if let Some((reason, text)) = barred {
            let outcome = ToolOutcome::not_made(&call, &text, Disposition::Refused);
            let tool = self.toolbox.entries.get(&call.name).map(|entry| &*entry.spec);
            return Err(self.refused(&call, tool, reason, outcome));
        }
        let (judged, ready) = self.checked(call, base).await?;
        let denied = match self.verdict(&judged.call, &ready, base).await {
            Verdict::Run => return Ok((judged, ready)),
            Verdict::Ask(_) => denied(&judged.call, "it needs an approval, and nobody can give it here"),
            Verdict::Deny(text) => denied(&judged.call, &text),
        };
        Err(self.refused(&judged.call, Some(&ready.spec), RefusalReason::Denied, *denied))
    }

    /// A call as the hooks let it be made, with its tool; or the outcome of one that does not run.
    async fn checked(&self, call: ToolCall, base: &ToolContext) -> Result<(Judged, Ready), Box<ToolOutcome>> {
        let mut ready = self.ready(&call).await?;
        let mut judged = Judged { call, is_rewritten: false };
        if self.setup.hooks.is_empty() {
            return Ok((judged, ready));
        }
        let (run_id, principal) = whose(base);
        let context = HookContext { run_id, steps: base.step, principal, history: &[] };
        let closed = self.toolbox.has_effects() || has_effect(&ready);
        let verdict = self.setup.hooks.call(&judged.call, &context, closed).await;
        match verdict.settled(&judged.call) {
            Ok(None) => {}
            Ok(Some(arguments)) => {
                judged.call.arguments = Arguments::new(arguments.to_string());
                judged.is_rewritten = true;
                ready = self.ready(&judged.call).await?;
            }
            Err(denied) if denied.disposition == Disposition::Denied => {
                return Err(self.refused(&judged.call, Some(&ready.spec), RefusalReason::Denied, *denied));
            }
            Err(outcome) => return Err(outcome),
        }
        Ok((judged, ready))
    }

    /// The tool of a call with its arguments, or the outcome of a call that cannot be made.
    async fn ready(&self, call: &ToolCall) -> Result<Ready, Box<ToolOutcome>> {
        let found;
        let entry = match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) | Resolved::External(entry) => entry,
            Resolved::Waiting(text) | Resolved::Unknown(text) => {
                found = self.setup.handling.look_up(&call.name).await;
                let Some(entry) = &found else {
                    let outcome = ToolOutcome::not_made(call, &text, Disposition::NoSuchTool);
                    return Err(self.refused(call, None, RefusalReason::UnknownTool, outcome));
                };
                entry
            }
        };
        entry.ready(&call.arguments).map_err(|text| {
            let outcome = ToolOutcome::not_made(call, &text, Disposition::Refused);
            self.refused(call, Some(&entry.spec), RefusalReason::Arguments, outcome)
        })
    }

    async fn verdict(&self, call: &ToolCall, ready: &Ready, base: &ToolContext) -> Verdict {
        let (run_id, principal) = whose(base);
        judged(self.setup.approval.as_deref(), call, ready, run_id, principal, None).await
    }

    /// The outcome of a call that is not run, as the agent wants it told.
    fn refused(
        &self,
        call: &ToolCall,
        tool: Option<&ToolSpec>,
        reason: RefusalReason,
        mut outcome: ToolOutcome,
    ) -> Box<ToolOutcome> {
        let aborts;
        (outcome.result, aborts) = self.setup.handling.refused(call, tool, reason, outcome.result);
        if aborts {
            outcome.disposition = Disposition::Aborted;
        }
        Box::new(outcome)
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

    fn started(&self, judged: Judged, ready: Ready, base: &ToolContext) -> Running {
        let text = "the result comes later, and nobody waits for it here";
        let unanswered = ToolOutcome::not_made(&judged.call, text, Disposition::Executed);
        let begun = self.begun(judged, ready, base);
        Box::pin(async move { begun.await.unwrap_or(unanswered) })
    }

    fn begun(
        &self,
        judged: Judged,
        entry: Ready,
        base: &ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutcome, Box<Deferred>>> {
        let Judged { call, is_rewritten } = judged;
        let mut context = base.clone();
        context.call_id = Some(call.id.clone());
        let limit = entry.spec.metadata.timeout.unwrap_or(self.setup.timing.tool_timeout).min(LONGEST);
        let (pace, handling) = (Pace::default(), Arc::clone(&self.setup.handling));
        let (hooks, closed) = (Arc::clone(&self.setup.hooks), has_effect(&entry));
        // No tool of ours runs where the caller answers.
        let observers = self.setup.observers.as_ref().filter(|_| !matches!(entry.work, Work::External));
        let start = ToolCallStart { call: &call, spec: &entry.spec, step: base.step };
        let watched = WatchedTool::by_hand(observers, &start);
        let watching = Watching::new(watched.as_ref());
        let mut invocation = Invocation { entry, call, context, limit, pace, scope: None, watched, handling };
        Box::pin(async move {
            let mut outcome = match invoke(&mut invocation).await {
                Ok(outcome) => outcome,
                Err(deferred) => {
                    watching.end(&ToolCallEnd::Deferred);
                    return Err(deferred);
                }
            };
            let call = &invocation.call;
            if !hooks.is_empty() {
                outcome.result = hooks.result(call, outcome.result, closed).await;
            }
            if is_rewritten {
                outcome.result = told_of_change(outcome.result, &call.arguments);
            }
            watching.end(&ToolCallEnd::Result(&outcome));
            Ok(outcome)
        })
    }
}

/// Gives a call its outcome. One that ends the round stops the others: those that came to their end have their results.
fn settle(run: &mut Run, outcome: ToolOutcome, under_way: &mut FuturesUnordered<Running>) {
    if outcome.disposition.ends_run() {
        while let Some(Some(mut other)) = under_way.next().now_or_never() {
            if other.disposition.ends_run() {
                other.disposition = Disposition::Executed;
            }
            note(run, other);
        }
        under_way.clear();
    }
    note(run, outcome);
}

fn has_effect(ready: &Ready) -> bool {
    ready.spec.metadata.effect != Effect::Read
}

/// The run and the principal of a context.
fn whose(context: &ToolContext) -> (&str, Option<&str>) {
    (context.run_id.as_deref().unwrap_or_default(), context.principal.as_deref())
}

type Running = BoxFuture<'static, ToolOutcome>;

impl fmt::Debug for ToolManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolManager").field("tools", &self.toolbox.set.len()).finish_non_exhaustive()
    }
}
