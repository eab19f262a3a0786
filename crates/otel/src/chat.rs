//! The span of a request to a model, one for each attempt that somebody tells of.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Instant, SystemTime};

use attache_agent::ModelCall;
use attache_core::{
    ChatRequest, Completion, FinishReason, ModelHandle, ModelSettings, ProviderError, Reasoning,
    ResponseFormat, StreamChunk, Usage,
};
use opentelemetry::logs::Severity;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue, StringValue, Value};

use crate::content::ContentField;
use crate::events::{DETAILS, EXCEPTION};
use crate::metrics::with_error;
use crate::names::{CANCELLED, CHAT, attribute, provider_and_model};
use crate::telemetry::Telemetry;

/// The things that are known of a request before it is sent.
pub(crate) struct Asked {
    name: String,
    /// Those by which samplers decide, and metrics are told apart.
    identity: Vec<KeyValue>,
    /// The model's settings.
    settings: Vec<KeyValue>,
    /// Those of the run around it, which hold for each attempt, whichever model makes it.
    around: Vec<KeyValue>,
    is_streamed: bool,
}

impl Asked {
    pub(crate) fn new(model: &ModelHandle, request: &ChatRequest) -> Self {
        let (provider, name) = provider_and_model(model.id());
        let identity = vec![
            KeyValue::new(attribute::OPERATION, CHAT),
            KeyValue::new(attribute::PROVIDER, provider),
            KeyValue::new(attribute::REQUEST_MODEL, name.clone()),
        ];
        let mut settings = settings(&model.settings().merged(&request.settings));
        if request.streaming {
            settings.push(KeyValue::new(attribute::STREAM, true));
        }
        let name = format!("{CHAT} {name}");
        Self { name, identity, settings, around: Vec::new(), is_streamed: request.streaming }
    }

    /// The same of a request that a run makes.
    pub(crate) fn of(call: &ModelCall<'_>) -> Self {
        Self::new(call.model, call.request).with([KeyValue::new(attribute::STEP, i64::from(call.step))])
    }

    pub(crate) fn with(mut self, attributes: impl IntoIterator<Item = KeyValue>) -> Self {
        self.around.extend(attributes);
        self
    }

    /// All that is known of it.
    fn attributes(&self) -> impl Iterator<Item = &KeyValue> {
        self.identity.iter().chain(&self.settings).chain(&self.around)
    }
}

fn settings(settings: &ModelSettings) -> Vec<KeyValue> {
    let float = |name, value: Option<f64>| value.map(|value| KeyValue::new(name, value));
    let int = |name, value: Option<i64>| value.map(|value| KeyValue::new(name, value));
    let stop = settings.stop.as_ref().filter(|stop| !stop.is_empty());
    let effort = match settings.reasoning {
        Some(Reasoning::Effort(effort)) => Some(effort.as_str()),
        _ => None,
    };
    let form = settings.response_format.as_ref().map(|format| match format {
        ResponseFormat::JsonObject | ResponseFormat::JsonSchema { .. } => "json",
        _ => "text",
    });
    [
        int(attribute::MAX_TOKENS, settings.max_tokens.map(i64::from)),
        int(attribute::TOP_K, settings.top_k.map(i64::from)),
        int(attribute::SEED, settings.seed),
        float(attribute::TEMPERATURE, settings.temperature),
        float(attribute::TOP_P, settings.top_p),
        float(attribute::PRESENCE_PENALTY, settings.presence_penalty),
        float(attribute::FREQUENCY_PENALTY, settings.frequency_penalty),
        stop.map(|stop| KeyValue::new(attribute::STOP, strings(stop.iter().cloned()))),
        effort.map(|effort| KeyValue::new(attribute::REASONING_LEVEL, effort)),
        form.map(|form| KeyValue::new(attribute::OUTPUT_TYPE, form)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The counts that a provider reported.
pub(crate) fn usage(usage: &Usage) -> impl Iterator<Item = KeyValue> {
    let counts = [
        (attribute::INPUT_TOKENS, usage.input_tokens),
        (attribute::OUTPUT_TOKENS, usage.output_tokens),
        (attribute::CACHE_READ, usage.cached_tokens),
        (attribute::CACHE_WRITE, usage.cache_write_tokens),
        (attribute::REASONING_TOKENS, usage.reasoning_tokens),
    ];
    counts.into_iter().filter_map(|(name, count)| count.map(|count| KeyValue::new(name, number(count))))
}

pub(crate) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn strings(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(StringValue::from).collect::<Vec<_>>().into())
}

/// A request to a model under way. A layer or an HTTP client that asks again inside it reports attempts.
pub(crate) struct ChatCall {
    telemetry: Telemetry,
    parent: Context,
    itself: Weak<Self>,
    /// The content of the request, as it may be exported.
    content: Vec<(ContentField, serde_json::Value)>,
    state: Mutex<State>,
}

struct State {
    asked: Asked,
    context: Context,
    attempt: u32,
    began: Instant,
    last_chunk: Option<Instant>,
    first_chunk: Option<f64>,
    /// The failure that somebody inside told of, and when.
    failed: Option<(String, SystemTime)>,
    is_over: bool,
}

/// The request that a context belongs to.
struct Current(Weak<ChatCall>);

impl std::fmt::Debug for ChatCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChatCall")
    }
}

/// The context, in which no request is under way.
pub(crate) fn outside(context: &Context) -> Context {
    context.with_value(Current(Weak::new()))
}

impl ChatCall {
    pub(crate) fn begin(
        telemetry: &Telemetry,
        parent: Context,
        asked: Asked,
        request: &ChatRequest,
    ) -> Arc<Self> {
        Arc::new_cyclic(|itself| {
            let context = start(telemetry, &parent, &asked, itself, 1);
            // A span that is not recorded has events all the same.
            let is_told = context.span().is_recording() || telemetry.events.is_some();
            let content = telemetry.content.iter().filter(|_| is_told);
            let content: Vec<_> = content.flat_map(|content| content.request(request)).collect();
            show(&context, &content);
            let state = Mutex::new(State {
                asked,
                context,
                attempt: 1,
                began: Instant::now(),
                last_chunk: None,
                first_chunk: None,
                failed: None,
                is_over: false,
            });
            Self { telemetry: telemetry.clone(), parent, itself: itself.clone(), content, state }
        })
    }

    /// The request that is under way where this is called.
    pub(crate) fn current() -> Option<Arc<Self>> {
        Context::map_current(|context| context.get::<Current>().and_then(|current| current.0.upgrade()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn context(&self) -> Context {
        self.lock().context.clone()
    }

    /// An attempt begins inside the request: where the one before failed, a span of its own. Yields its context.
    pub(crate) fn begin_attempt(&self, asked: Option<Asked>) -> Context {
        let mut state = self.lock();
        if let Some((error, at)) = state.failed.take() {
            self.end(&mut state, Some(&error), Some(at), &[]);
            if let Some(asked) = asked {
                let around = std::mem::take(&mut state.asked.around);
                state.asked = asked.with(around);
            }
            state.attempt += 1;
            state.context = start(&self.telemetry, &self.parent, &state.asked, &self.itself, state.attempt);
            show(&state.context, &self.content);
            (state.began, state.last_chunk, state.first_chunk) = (Instant::now(), None, None);
            state.is_over = false;
        }
        state.context.clone()
    }

    /// The attempt under way failed. It is over when another one begins, or with the request.
    pub(crate) fn fail_attempt(&self, error: &str) {
        let mut state = self.lock();
        state.failed = Some((error.to_owned(), opentelemetry::time::now()));
    }

    /// The request goes to that server.
    #[cfg(feature = "http")]
    pub(crate) fn sent_to(&self, server: Vec<KeyValue>) {
        let state = self.lock();
        state.context.span().set_attributes(server);
    }

    pub(crate) fn chunk(&self, chunk: Result<&StreamChunk, &ProviderError>) {
        let mut state = self.lock();
        match chunk {
            Ok(StreamChunk::Done(completion)) => self.finish(&mut state, completion),
            Ok(_) => self.time(&mut state),
            Err(error) => {
                let kind = error.kind().as_str();
                if let Some(status) = error.status() {
                    let status = KeyValue::new("http.response.status_code", i64::from(status));
                    state.context.span().set_attribute(status);
                }
                self.end(&mut state, Some(kind), None, &[]);
            }
        }
    }

    fn time(&self, state: &mut State) {
        if !state.asked.is_streamed {
            return;
        }
        let now = Instant::now();
        let metrics = &self.telemetry.metrics;
        match state.last_chunk.replace(now) {
            None => {
                let seconds = now.duration_since(state.began).as_secs_f64();
                state.first_chunk = Some(seconds);
                metrics.first_chunk(seconds, &state.asked.identity);
            }
            Some(last) => {
                metrics.output_chunk(now.duration_since(last).as_secs_f64(), &state.asked.identity);
            }
        }
    }

    fn finish(&self, state: &mut State, completion: &Completion) {
        let mut told: Vec<KeyValue> = usage(&completion.usage).collect();
        let reason = completion.finish_reason.as_str().to_owned();
        told.push(KeyValue::new(attribute::FINISH_REASONS, strings([reason])));
        if let Some(id) = &completion.response_id {
            told.push(KeyValue::new(attribute::RESPONSE_ID, id.clone()));
        }
        let model =
            completion.model.as_ref().map(|model| KeyValue::new(attribute::RESPONSE_MODEL, model.clone()));
        told.extend(model.clone());
        if let Some(seconds) = state.first_chunk {
            told.push(KeyValue::new(attribute::TIME_TO_FIRST_CHUNK, seconds));
        }
        if let Some(id) = completion.response.as_ref().and_then(|response| response.request_id()) {
            told.push(KeyValue::new(attribute::REQUEST_ID, id.to_owned()));
        }
        if !completion.degradations.is_empty() {
            let options = completion.degradations.iter().map(|degradation| degradation.option.clone());
            told.push(KeyValue::new("attache.degradations", strings(options)));
        }
        state.asked.identity.extend(model);
        let (input, output) = (completion.usage.input_tokens, completion.usage.output_tokens);
        self.telemetry.metrics.tokens(input, output, &state.asked.identity);
        if let Some(events) = &self.telemetry.events {
            let all: Vec<_> = state.asked.attributes().chain(&told).cloned().collect();
            let said = self.telemetry.content.iter().flat_map(|content| content.reply(completion));
            let said = self.content.iter().cloned().chain(said);
            let fields =
                said.map(|(field, value)| (field.name(), crate::events::structured(value))).collect();
            events.tell(DETAILS, Severity::Info, &state.context, &all, fields);
        }
        if let Some(content) = &self.telemetry.content
            && state.context.span().is_recording()
        {
            let said = content.reply(completion).into_iter();
            told.extend(said.map(|(field, value)| KeyValue::new(field.name(), value.to_string())));
        }
        let error = (completion.finish_reason == FinishReason::Error).then_some("error");
        self.end(state, error, None, &told);
    }

    /// The stream is gone.
    pub(crate) fn over(&self) {
        let mut state = self.lock();
        let failed = state.failed.take();
        match failed {
            Some((error, at)) => self.end(&mut state, Some(&error), Some(at), &[]),
            None => self.end(&mut state, Some(CANCELLED), None, &[]),
        }
    }

    fn end(&self, state: &mut State, error: Option<&str>, at: Option<SystemTime>, told: &[KeyValue]) {
        if std::mem::replace(&mut state.is_over, true) {
            return;
        }
        state.failed = None;
        let seconds = state.began.elapsed().as_secs_f64();
        self.telemetry.metrics.duration(seconds, &with_error(&state.asked.identity, error));
        if let (Some(error), Some(events)) =
            (error.filter(|error| *error != CANCELLED), &self.telemetry.events)
        {
            let kind = KeyValue::new("exception.type", error.to_owned());
            let all: Vec<_> = state.asked.identity.iter().cloned().chain([kind]).collect();
            events.tell(EXCEPTION, Severity::Warn, &state.context, &all, Vec::new());
        }
        let span = state.context.span();
        span.set_attributes(told.iter().cloned());
        if let Some(error) = error {
            span.set_attribute(KeyValue::new(attribute::ERROR, error.to_owned()));
            span.set_status(Status::error(error.to_owned()));
        }
        match at {
            Some(at) => span.end_with_timestamp(at),
            None => span.end(),
        }
    }
}

/// Shows the content of a request in its span.
fn show(context: &Context, content: &[(ContentField, serde_json::Value)]) {
    if context.span().is_recording() {
        for (field, value) in content {
            context.span().set_attribute(KeyValue::new(field.name(), value.to_string()));
        }
    }
}

fn start(
    telemetry: &Telemetry,
    parent: &Context,
    asked: &Asked,
    itself: &Weak<ChatCall>,
    attempt: u32,
) -> Context {
    let number = (attempt > 1).then(|| KeyValue::new(attribute::ATTEMPT, i64::from(attempt)));
    let attributes = asked.attributes().cloned().chain(number);
    let builder = telemetry.tracer.span_builder(asked.name.clone());
    let builder = builder.with_kind(SpanKind::Client).with_attributes(attributes);
    let span = telemetry.tracer.build_with_context(builder, parent);
    parent.with_span(span).with_value(Current(itself.clone()))
}

impl ContentField {
    /// The name of the attribute.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InputMessages => "gen_ai.input.messages",
            Self::OutputMessages => "gen_ai.output.messages",
            Self::SystemInstructions => "gen_ai.system_instructions",
            Self::ToolDefinitions => "gen_ai.tool.definitions",
            Self::ToolArguments => "gen_ai.tool.call.arguments",
            Self::ToolResult => "gen_ai.tool.call.result",
        }
    }
}
