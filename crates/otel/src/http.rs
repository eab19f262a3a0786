//! Requests over HTTP.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attache_transport::{EndedExchange, Hook, RequestParts};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use opentelemetry::propagation::Injector;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue, global};

use crate::chat::ChatCall;
use crate::names::{CANCELLED, attribute};
use crate::telemetry::Telemetry;

/// Reports the requests of an HTTP client to OpenTelemetry, once it is
/// [added](attache_transport::HttpClient::with_hook) to it.
///
/// Each retry of a request to a model then has its own `chat` span, and spans contain the server. Other requests, such
/// as those of tools and uploads, are HTTP client spans. None of them contains a path or a query, which may include
/// content.
///
/// ```
/// use attache_otel::Telemetry;
/// use attache_transport::HttpClient;
///
/// let telemetry = Telemetry::new();
/// let client = HttpClient::shared().with_hook(telemetry.http_hook().with_propagation(true));
/// # let _ = client;
/// ```
#[derive(Debug)]
#[must_use]
pub struct TelemetryHook {
    telemetry: Telemetry,
    propagates: bool,
    next: AtomicUsize,
    under_way: Mutex<HashMap<usize, Exchange>>,
}

#[derive(Debug)]
enum Exchange {
    /// An attempt at a request to a model.
    Attempt(Arc<ChatCall>),
    /// A span of its own.
    Own(Context),
}

thread_local! {
    /// The attempt that began last on this thread, until its headers are asked for.
    static BEGUN: RefCell<Option<Context>> = const { RefCell::new(None) };
}

struct Headers<'h>(&'h mut HeaderMap);

impl Injector for Headers<'_> {
    fn set(&mut self, key: &str, value: String) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(key), HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}

impl Telemetry {
    /// Returns the hook that reports HTTP requests to OpenTelemetry.
    pub fn http_hook(&self) -> TelemetryHook {
        TelemetryHook {
            telemetry: self.clone(),
            propagates: false,
            next: AtomicUsize::new(0),
            under_way: Mutex::default(),
        }
    }
}

impl TelemetryHook {
    /// Sets if the trace context is sent to servers, with the program's global propagator; `false` by default.
    pub fn with_propagation(mut self, propagates: bool) -> Self {
        self.propagates = propagates;
        self
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Exchange>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server of a request.
fn server(request: &RequestParts) -> Vec<KeyValue> {
    let Ok(uri) = request.url.parse::<Uri>() else { return Vec::new() };
    let usual = if uri.scheme_str() == Some("http") { 80 } else { 443 };
    // An address of IPv6 has brackets in URLs alone.
    let address = uri.host().map(|host| host.trim_start_matches('[').trim_end_matches(']'));
    let address = address.map(|host| KeyValue::new("server.address", host.to_owned()));
    let port = KeyValue::new("server.port", i64::from(uri.port_u16().unwrap_or(usual)));
    address.into_iter().chain([port]).collect()
}

/// The error of an exchange: the status that says one, or what failed.
fn error_of(exchange: &EndedExchange<'_>) -> Option<String> {
    let failed = exchange.error.map(|error| error.kind().as_str().to_owned());
    let status = exchange.status.filter(|status| status.is_client_error() || status.is_server_error());
    failed.or_else(|| status.map(|status| status.as_str().to_owned()))
}

impl Hook for TelemetryHook {
    fn began(&self, request: &RequestParts) -> usize {
        let server = server(request);
        let (exchange, context) = match ChatCall::current().filter(|_| request.asks_model) {
            Some(call) => {
                let context = call.begin_attempt(None);
                call.sent_to(server);
                (Exchange::Attempt(call), context)
            }
            None => {
                let parent = Context::current();
                let tracer = &self.telemetry.tracer;
                let method = request.method.as_str().to_owned();
                let attributes = [KeyValue::new("http.request.method", method.clone())];
                let builder = tracer.span_builder(method).with_kind(SpanKind::Client);
                let builder = builder.with_attributes(attributes.into_iter().chain(server));
                let context = parent.with_span(tracer.build_with_context(builder, &parent));
                (Exchange::Own(context.clone()), context)
            }
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, exchange);
        BEGUN.set(self.propagates.then_some(context));
        number
    }

    fn headers(&self, _: &RequestParts, headers: &mut HeaderMap) {
        if let Some(context) = BEGUN.take() {
            global::get_text_map_propagator(|propagator| {
                propagator.inject_context(&context, &mut Headers(headers))
            });
        }
    }

    fn ended(&self, exchange: &EndedExchange<'_>) {
        let Some(began) = self.lock().remove(&exchange.number) else { return };
        let error = error_of(exchange);
        match began {
            Exchange::Attempt(call) => {
                if let Some(error) = error {
                    call.fail_attempt(&error);
                }
            }
            Exchange::Own(context) => {
                let span = context.span();
                if let Some(status) = exchange.status {
                    let status = i64::from(status.as_u16());
                    span.set_attribute(KeyValue::new("http.response.status_code", status));
                }
                let dropped = exchange.status.is_none().then(|| CANCELLED.to_owned());
                if let Some(error) = error.or(dropped) {
                    span.set_attribute(KeyValue::new(attribute::ERROR, error.clone()));
                    span.set_status(Status::error(error));
                }
                span.end();
            }
        }
    }
}
