//! The span of a run.

use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use attache_agent::{
    Event, EventKind, ModelCall, ModelCallObserver, ObservedRun, Observer, OpenedRun, Outcome, RunError,
    RunObserver, SessionId, ToolCallObserver, ToolCallStart,
};
use attache_core::{ProviderError, StreamChunk, ToolCallId, ToolSet};
use attache_documents::RoutingReport;
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer,
};
use opentelemetry::{Context, KeyValue};

use crate::chat::{Asked, ChatCall, number, outside, strings, usage};
use crate::metrics::with_error;
use crate::names::{CANCELLED, INVOKE_AGENT, attribute, provider_and_model};
use crate::telemetry::{ConversationId, Telemetry};
use crate::tool::{ToolTrace, word};

/// Stands for a name that is not shown.
const OTHER: &str = "_OTHER";

/// A run under way.
struct RunTrace {
    telemetry: Telemetry,
    /// Where the run was asked for.
    parent: Context,
    is_resumed: bool,
    conversation: Option<KeyValue>,
    /// Operation, provider, model.
    identity: Vec<KeyValue>,
    /// The span's, from the first poll on.
    context: OnceLock<(Context, Instant)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    run: Option<KeyValue>,
    report: Option<Arc<RoutingReport>>,
    /// The tools of the last request.
    offered: Arc<ToolSet>,
    /// The calls whose tools were started.
    started: HashSet<ToolCallId>,
    tool_calls: u32,
    finish_reason: Option<String>,
    is_compacted: bool,
    is_over: bool,
}

impl Observer for Telemetry {
    fn run(&self, run: &ObservedRun<'_>) -> Arc<dyn RunObserver> {
        Arc::new(RunTrace::new(self.clone(), run))
    }

    /// The span stands below the one that is current where the call is made.
    fn tool_call(&self, call: &ToolCallStart<'_>) -> Option<Arc<dyn ToolCallObserver>> {
        Some(Arc::new(ToolTrace::begin(self, &outside(&Context::current()), call)))
    }
}

/// The number of documents that had each outcome.
fn documents(report: &RoutingReport) -> impl Iterator<Item = KeyValue> {
    let mut counts: BTreeMap<&'static str, i64> = BTreeMap::new();
    for decision in &report.decisions {
        *counts.entry(decision.outcome.as_str()).or_default() += 1;
    }
    counts.into_iter().map(|(outcome, count)| KeyValue::new(format!("attache.documents.{outcome}"), count))
}

/// A span as W3C Trace Context writes it.
fn traceparent(span: &SpanContext) -> Option<String> {
    let flags = span.trace_flags().to_u8();
    span.is_valid().then(|| format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()))
}

fn parsed(traceparent: &str) -> Option<SpanContext> {
    let mut fields = traceparent.strip_prefix("00-")?.split('-');
    let trace = TraceId::from_hex(fields.next()?).ok()?;
    let span = SpanId::from_hex(fields.next()?).ok()?;
    let flags = TraceFlags::new(u8::from_str_radix(fields.next()?, 16).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    Some(context).filter(SpanContext::is_valid)
}

impl RunTrace {
    fn new(telemetry: Telemetry, run: &ObservedRun<'_>) -> Self {
        let (provider, model) = provider_and_model(run.model.id());
        let identity = vec![
            KeyValue::new(attribute::OPERATION, INVOKE_AGENT),
            KeyValue::new(attribute::PROVIDER, provider),
            KeyValue::new(attribute::REQUEST_MODEL, model),
        ];
        let session = || run.value::<SessionId>().map(SessionId::as_str);
        let conversation = run.value::<ConversationId>().map(ConversationId::as_str).or_else(session);
        Self {
            telemetry,
            parent: Context::current(),
            is_resumed: run.is_resumed,
            conversation: conversation
                .map(|conversation| KeyValue::new(attribute::CONVERSATION, conversation.to_owned())),
            identity,
            context: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The context with the run's span, which begins when somebody first asks for it.
    fn context(&self) -> &Context {
        let (context, _) = self.context.get_or_init(|| {
            // A run may be polled in another task than the one that asked for it.
            let parent = if self.parent.has_active_span() { self.parent.clone() } else { Context::current() };
            let telemetry = &self.telemetry;
            let name = match telemetry.agent_name() {
                Some(name) => format!("{INVOKE_AGENT} {}", name.value),
                None => INVOKE_AGENT.to_owned(),
            };
            let resumed = self.is_resumed.then(|| KeyValue::new(attribute::RESUMED, true));
            let attributes = self.identity.iter().chain(telemetry.agent_attributes()).cloned();
            let attributes = attributes.chain(self.conversation.clone()).chain(resumed);
            let builder = telemetry.tracer.span_builder(name).with_kind(SpanKind::Internal);
            let span = telemetry.tracer.build_with_context(builder.with_attributes(attributes), &parent);
            (outside(&parent.with_span(span)), Instant::now())
        });
        context
    }

    /// A tool's name: one that the model made up is content.
    fn shown_name<'n>(&self, name: &'n str) -> &'n str {
        let may_show = self.telemetry.content.is_some() || self.lock().offered.get(name).is_some();
        if may_show { name } else { OTHER }
    }

    fn note(&self, name: &'static str, attributes: Vec<KeyValue>) {
        self.context().span().add_event(name, attributes);
    }

    fn finish(&self, end: Result<&Outcome, &RunError>) {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_over, true) {
            return;
        }
        let (outcome, failed) = match end {
            Ok(outcome) => (outcome, false),
            Err(error) => (error.partial(), true),
        };
        let reason = outcome.reason.as_str();
        let mut told = vec![
            KeyValue::new(attribute::END_REASON, reason),
            KeyValue::new(attribute::STEPS, i64::from(outcome.steps)),
            KeyValue::new(attribute::TOOL_CALLS, i64::from(state.tool_calls)),
        ];
        told.extend(usage(&outcome.usage));
        if outcome.cost.known > attache_agent::Money::ZERO {
            told.push(KeyValue::new(attribute::COST, outcome.cost.known.units()));
            told.push(KeyValue::new(attribute::COST_UNKNOWN, i64::from(outcome.cost.unknown_steps)));
        }
        told.extend(state.report.iter().flat_map(|report| documents(report)));
        let finish = state.finish_reason.take();
        told.extend(finish.map(|reason| KeyValue::new(attribute::FINISH_REASONS, strings([reason]))));
        let provider = match end {
            Err(error) => error.provider_error().map(|error| error.kind().as_str()),
            Ok(_) => None,
        };
        let error = match (failed, reason) {
            (true, reason) => Some(provider.unwrap_or(reason)),
            (false, CANCELLED) => Some(CANCELLED),
            _ => None,
        };
        drop(state);
        self.end(told, error);
    }

    fn end(&self, told: Vec<KeyValue>, error: Option<&str>) {
        let span = self.context().span();
        span.set_attributes(told);
        if let Some(error) = error {
            span.set_attribute(KeyValue::new(attribute::ERROR, error.to_owned()));
            span.set_status(Status::error(error.to_owned()));
        }
        span.end();
        if let Some((_, began)) = self.context.get() {
            let model = self.identity.iter().filter(|known| known.key.as_str() == attribute::REQUEST_MODEL);
            let identity: Vec<_> = self.telemetry.agent_name().into_iter().chain(model).cloned().collect();
            self.telemetry
                .metrics
                .agent_duration(began.elapsed().as_secs_f64(), &with_error(&identity, error));
        }
    }
}

fn call_attributes(name: &str, id: &ToolCallId) -> Vec<KeyValue> {
    vec![
        KeyValue::new(attribute::TOOL_NAME, name.to_owned()),
        KeyValue::new(attribute::TOOL_CALL_ID, id.as_str().to_owned()),
    ]
}

impl RunObserver for RunTrace {
    fn enter(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(self.context().clone().attach()))
    }

    fn opened(&self, run: &OpenedRun<'_>) {
        let span = self.context().span();
        let id = KeyValue::new(attribute::RUN, run.run_id.to_owned());
        span.set_attribute(id.clone());
        self.lock().run = Some(id);
        let first = run.mark.and_then(parsed);
        if let Some(first) = first.filter(|first| first.span_id() != span.span_context().span_id()) {
            span.add_link(first, vec![KeyValue::new(attribute::RUN, run.run_id.to_owned())]);
        }
    }

    fn mark(&self) -> Option<String> {
        traceparent(self.context().span().span_context())
    }

    fn event(&self, event: &Event) {
        match &event.kind {
            EventKind::DocumentsRouted(report) => self.lock().report = Some(Arc::clone(report)),
            EventKind::StepFinished { finish_reason, .. } => {
                self.lock().finish_reason = Some(finish_reason.as_str().to_owned());
            }
            EventKind::ToolStarted { call } => drop(self.lock().started.insert(call.id.clone())),
            EventKind::ToolCallsRequested { calls, .. } => {
                let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                let mut state = self.lock();
                state.tool_calls = state.tool_calls.saturating_add(count);
            }
            EventKind::ToolFinished { result, disposition } => {
                let was_started = self.lock().started.remove(&result.call_id);
                if was_started {
                    return;
                }
                let name = result.tool_name.as_deref().unwrap_or_default();
                let mut told = call_attributes(self.shown_name(name), &result.call_id);
                told.push(KeyValue::new(attribute::DISPOSITION, word(*disposition)));
                self.note("attache.tool.not_run", told);
            }
            EventKind::ExternalPending { call } => {
                self.note("attache.tool.external", call_attributes(&call.name, &call.id));
            }
            EventKind::ApprovalRequested(request) => {
                self.note(
                    "attache.approval.requested",
                    call_attributes(&request.call.name, &request.call.id),
                );
            }
            EventKind::ApprovalDecided(decided) => {
                let decided = KeyValue::new("attache.approval.id", decided.id.clone());
                self.note("attache.approval.decided", vec![decided]);
            }
            EventKind::Compacted { tokens, summarised, .. } => {
                self.lock().is_compacted = true;
                let tokens = KeyValue::new("attache.compaction.tokens", number(*tokens));
                let summarised = KeyValue::new("attache.compaction.summarised", *summarised);
                self.note("attache.compacted", vec![tokens, summarised]);
            }
            EventKind::HandedOff { agent, .. } => {
                self.note("attache.handed_off", vec![KeyValue::new(attribute::AGENT_NAME, agent.clone())]);
            }
            EventKind::Warning { code, .. } => {
                self.note("attache.warning", vec![KeyValue::new("attache.warning.code", *code)]);
            }
            EventKind::Finished(Ok(outcome)) => self.finish(Ok(outcome)),
            EventKind::Finished(Err(error)) => self.finish(Err(error)),
            _ => {}
        }
    }

    fn model_call(&self, call: &ModelCall<'_>) -> Option<Box<dyn ModelCallObserver>> {
        let (report, run, is_compacted) = {
            let mut state = self.lock();
            state.offered = Arc::clone(&call.request.tools);
            (state.report.clone(), state.run.clone(), state.is_compacted)
        };
        let asked = Asked::of(call).with(self.conversation.clone()).with(run);
        let asked = asked.with(is_compacted.then(|| KeyValue::new(attribute::COMPACTED, true)));
        let asked = asked.with(report.iter().flat_map(|report| documents(report)));
        let chat = ChatCall::begin(&self.telemetry, self.context().clone(), asked, call.request);
        Some(Box::new(ChatTrace(chat)))
    }

    fn tool_call(&self, call: &ToolCallStart<'_>) -> Option<Arc<dyn ToolCallObserver>> {
        Some(Arc::new(ToolTrace::begin(&self.telemetry, self.context(), call)))
    }

    fn ended(&self) {
        // A run that nobody polled has no span.
        if self.context.get().is_some() && !std::mem::replace(&mut self.lock().is_over, true) {
            self.end(Vec::new(), Some(CANCELLED));
        }
    }
}

/// A request of a run.
struct ChatTrace(Arc<ChatCall>);

impl ModelCallObserver for ChatTrace {
    fn enter(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(self.0.context().attach()))
    }

    fn chunk(&mut self, chunk: Result<&StreamChunk, &ProviderError>) {
        self.0.chunk(chunk);
    }

    fn ended(&mut self) {
        self.0.over();
    }
}
