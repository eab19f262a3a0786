//! Spans and metrics of runs for a collector: OTLP over HTTP, by the standard variables of OpenTelemetry.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_agent::AgentBuilder;
use attache_core::{ProviderError, Secret};
use attache_otel::{Content, Telemetry};
use attache_transport::{HttpClient, RequestParts, Timeouts};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{Request, Response};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::{InstrumentationScope, Key};
use opentelemetry_http::HttpError;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The name of the service, and of its agent, where nobody gives one.
const NAME: &str = "attache";
/// The time that an export has, where `OTEL_EXPORTER_OTLP_TIMEOUT` says none.
const EXPORT: Duration = Duration::from_secs(10);
/// The longest time that an export can have, also where the variable sets no limit.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The time that the last export has: a supervisor waits no longer for a server that ends.
const LAST: Duration = Duration::from_secs(5);
/// The longest answer of a collector that is read.
const ANSWER: usize = 64 * 1024;

/// The telemetry of this process, once it has one.
static TELEMETRY: OnceLock<Telemetry> = OnceLock::new();

/// Says something to whoever runs the process.
pub(crate) type Tell = fn(&str);

/// The providers of a process that exports, until it ends.
pub(crate) struct Exporting {
    tracers: Option<SdkTracerProvider>,
    meters: Option<SdkMeterProvider>,
    tell: Tell,
}

/// The kinds of telemetry.
#[derive(Clone, Copy, Debug)]
enum Signal {
    Traces,
    Metrics,
}

impl Signal {
    /// The name in variables, and in small letters the one in messages.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    /// The value of the signal's own variable, else of the one for all.
    fn said(self, what: &str) -> Option<String> {
        let own = variable(&format!("OTEL_EXPORTER_OTLP_{}_{what}", self.as_str()));
        own.or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{what}")))
    }

    /// True if the signal goes to a collector.
    fn is_exported(self, tell: Tell) -> bool {
        if self.said("ENDPOINT").is_none() {
            return false;
        }
        let name = format!("OTEL_{}_EXPORTER", self.as_str());
        match variable(&name).as_deref() {
            None | Some("otlp") => {}
            Some("none") => return false,
            Some(_) => {
                tell(&format!("{name} has neither `otlp` nor `none`; nothing is exported"));
                return false;
            }
        }
        let problem = self.problem();
        if let Some(problem) = problem {
            let of = self.as_str().to_ascii_lowercase();
            tell(&format!("{problem}: {of} are not exported"));
        }
        problem.is_none()
    }

    /// The reason why the variables cannot be followed. It repeats no value: each may be a secret.
    fn problem(self) -> Option<&'static str> {
        if self.said("PROTOCOL").is_some_and(|protocol| protocol != "http/protobuf") {
            return Some(
                "OTLP is spoken as http/protobuf alone, and another OTEL_EXPORTER_OTLP_PROTOCOL is set",
            );
        }
        if self.said("COMPRESSION").is_some_and(|compression| compression != "none") {
            return Some(
                "OTLP is sent as it is, and an OTEL_EXPORTER_OTLP_COMPRESSION other than `none` is set",
            );
        }
        let headers = self.said("HEADERS").unwrap_or_default();
        let mut headers = headers.split(',').map(str::trim).filter(|header| !header.is_empty());
        (!headers.all(is_header))
            .then_some("OTEL_EXPORTER_OTLP_HEADERS holds something other than `name=value` in visible ASCII")
    }

    /// The time that an export has.
    fn time(self, tell: Tell) -> Duration {
        let Some(said) = self.said("TIMEOUT") else { return EXPORT };
        match said.trim().parse() {
            Ok(0) => LONGEST,
            Ok(milliseconds) => Duration::from_millis(milliseconds).min(LONGEST),
            Err(_) => {
                let (of, seconds) = (self.as_str().to_ascii_lowercase(), EXPORT.as_secs());
                tell(&format!(
                    "OTEL_EXPORTER_OTLP_TIMEOUT is no number of milliseconds: an export of {of} has {seconds} s"
                ));
                EXPORT
            }
        }
    }
}

/// True for a header that can be sent: a name, and visible ASCII, of which any byte may be percent-encoded.
fn is_header(header: &str) -> bool {
    let Some((name, value)) = header.split_once('=') else { return false };
    let value = value.trim();
    let is_visible = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    let encoded = value.split('%').skip(1).filter_map(|code| u8::from_str_radix(code.get(..2)?, 16).ok());
    HeaderName::try_from(name.trim()).is_ok() && value.bytes().chain(encoded).all(is_visible)
}

/// A variable of the environment; one that is empty is none.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Begins to export what the variables ask for: nothing without the address of a collector. Called in the runtime that
/// is to send it.
pub(crate) fn begin(tell: Tell) -> Exporting {
    let mut exporting = Exporting { tracers: None, meters: None, tell };
    if variable("OTEL_SDK_DISABLED").is_some_and(|said| said.trim().eq_ignore_ascii_case("true")) {
        return exporting;
    }
    let mut telemetry = Telemetry::new();
    if Signal::Traces.is_exported(tell) {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(Collector::new(Signal::Traces, tell))
            .build();
        if let Some(exporter) = exporting.built(Signal::Traces, exporter) {
            let tracers =
                SdkTracerProvider::builder().with_resource(resource()).with_batch_exporter(exporter).build();
            telemetry = telemetry.with_tracer_provider(&tracers);
            exporting.tracers = Some(tracers);
        }
    }
    if Signal::Metrics.is_exported(tell) {
        let exporter = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(Collector::new(Signal::Metrics, tell))
            .build();
        if let Some(exporter) = exporting.built(Signal::Metrics, exporter) {
            let meters = SdkMeterProvider::builder()
                .with_resource(resource())
                .with_periodic_exporter(exporter)
                .build();
            let scope = InstrumentationScope::builder(NAME).with_version(env!("CARGO_PKG_VERSION")).build();
            telemetry = telemetry.with_meter(&meters.meter_with_scope(scope));
            exporting.meters = Some(meters);
        }
    }
    if exporting.tracers.is_some() || exporting.meters.is_some() {
        if has_content(tell) {
            telemetry = telemetry.with_content(Content::new());
        }
        // A second call keeps the telemetry of the first.
        let _ = TELEMETRY.set(telemetry);
    }
    exporting
}

/// True if the words of people, models and tools are exported too.
fn has_content(tell: Tell) -> bool {
    const NAME: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
    let Some(said) = variable(NAME) else { return false };
    match said.trim().to_ascii_lowercase().as_str() {
        "true" | "span_only" | "span_and_event" => true,
        "false" | "no_content" => false,
        _ => {
            tell(&format!("{NAME} is neither `true` nor `false`; content is not exported"));
            false
        }
    }
}

/// The process as the variables describe it.
fn resource() -> Resource {
    let found = Resource::builder().build();
    let is_named = found
        .get(&Key::from_static_str("service.name"))
        .is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    if is_named { found } else { Resource::builder().with_service_name(NAME).build() }
}

/// The agent with somebody who tells its runs, where they are exported.
pub(crate) fn observed(agent: AgentBuilder) -> AgentBuilder {
    match TELEMETRY.get() {
        Some(telemetry) => agent.observer(telemetry.agent(NAME)),
        None => agent,
    }
}

/// The client with somebody who tells its attempts, where they are exported.
pub(crate) fn hooked(client: HttpClient) -> HttpClient {
    match TELEMETRY.get() {
        Some(telemetry) => client.with_hook(telemetry.http_hook()),
        None => client,
    }
}

impl Exporting {
    /// The exporter, or word that there is none. The reason may repeat an address, which may hold a secret.
    fn built<E>(&self, signal: Signal, exporter: Result<E, ExporterBuildError>) -> Option<E> {
        if exporter.is_err() {
            let of = signal.as_str().to_ascii_lowercase();
            (self.tell)(&format!(
                "the variables OTEL_EXPORTER_OTLP_* cannot be followed, and {of} are not exported: check the address"
            ));
        }
        exporter.ok()
    }

    /// Exports what is left, within a limit.
    pub(crate) async fn end(self) {
        let Self { tracers, meters, tell } = self;
        if tracers.is_none() && meters.is_none() {
            return;
        }
        // Failures have been told by whoever sends.
        let last = spawn_blocking(move || {
            let spans = tracers.map(|tracers| tracers.shutdown_with_timeout(LAST));
            let metrics = meters.map(|meters| meters.shutdown_with_timeout(LAST));
            drop((spans, metrics));
        });
        if timeout(LAST, last).await.is_err() {
            let seconds = LAST.as_secs();
            tell(&format!(
                "the collector took more than {seconds} s for the last telemetry, and may not have it"
            ));
        }
    }
}

/// The way to a collector: our own client, with its TLS, proxies and certificates. It works on the runtime, whichever
/// thread of an exporter waits for it.
struct Collector {
    client: HttpClient,
    runtime: Handle,
    signal: Signal,
    is_failing: AtomicBool,
    tell: Tell,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("signal", &self.signal).finish_non_exhaustive()
    }
}

impl Collector {
    fn new(signal: Signal, tell: Tell) -> Self {
        let time = signal.time(tell);
        let timeouts = Timeouts::new().with_connect(time).with_total(time);
        let client = HttpClient::shared().with_timeouts(timeouts);
        Self { client, runtime: Handle::current(), signal, is_failing: AtomicBool::new(false), tell }
    }

    /// Tells the first failure, and the next one after it went well.
    fn note(&self, problem: Option<String>) {
        let was = self.is_failing.swap(problem.is_some(), Ordering::Relaxed);
        if let (Some(problem), false) = (problem, was) {
            let of = self.signal.as_str().to_ascii_lowercase();
            (self.tell)(&format!(
                "{of} are not exported: {problem}; runs go on without, and this is told once"
            ));
        }
    }
}

async fn sent(client: HttpClient, request: RequestParts) -> Result<Response<Bytes>, ProviderError> {
    let reply = client.answer(&request).await?;
    let (status, headers) = (reply.status(), reply.headers().clone());
    let mut response = Response::new(reply.bytes(ANSWER).await?);
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    Ok(response)
}

/// A request of an exporter as one of ours. Its headers may be secrets: nobody says which.
fn ours(request: Request<Bytes>) -> RequestParts {
    let (head, body) = request.into_parts();
    let mut parts = RequestParts::post_json(head.uri.to_string(), body);
    for (name, value) in &head.headers {
        let Ok(value) = value.to_str() else { continue };
        parts = match *name == CONTENT_TYPE {
            true => parts.with_header(name.clone(), value),
            false => parts.with_secret_header(name.clone(), "", &Secret::new(value)),
        };
    }
    parts
}

type Sending<'f> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>;

impl opentelemetry_http::HttpClient for Collector {
    fn send_bytes<'life0, 'async_trait>(&'life0 self, request: Request<Bytes>) -> Sending<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let sending = self.runtime.spawn(sent(self.client.clone(), ours(request)));
            let result: Result<_, HttpError> = match sending.await {
                Ok(result) => result.map_err(Into::into),
                Err(error) => Err(error.into()),
            };
            self.note(match &result {
                Ok(response) if response.status().is_success() => None,
                Ok(response) => Some(format!("the collector answers with {}", response.status())),
                Err(error) => Some(error.to_string()),
            });
            result
        })
    }
}
