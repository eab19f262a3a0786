//! Events, which OpenTelemetry keeps as logs with names.

use opentelemetry::logs::{AnyValue, LogRecord, Logger, Severity};
use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Array, Context, Key, KeyValue, Value};

/// The name of the event that tells of a reply.
pub(crate) const DETAILS: &str = "gen_ai.client.inference.operation.details";
/// The name of the event that tells of a request that failed.
pub(crate) const EXCEPTION: &str = "gen_ai.client.operation.exception";

/// Tells a logger of events.
pub(crate) struct Events(Box<Tell>);

type Tell = dyn Fn(&'static str, Severity, &Context, Vec<(Key, AnyValue)>) + Send + Sync;

impl Events {
    pub(crate) fn new(logger: impl Logger + Send + Sync + 'static) -> Self {
        Self(Box::new(move |name, severity, context, attributes| {
            if !logger.event_enabled(severity, "attache", Some(name)) {
                return;
            }
            let mut record = logger.create_log_record();
            record.set_event_name(name);
            record.set_severity_number(severity);
            record.set_severity_text(severity.name());
            let span = context.span();
            let span = span.span_context();
            record.set_trace_context(span.trace_id(), span.span_id(), Some(span.trace_flags()));
            record.add_attributes(attributes);
            logger.emit(record);
        }))
    }

    /// Tells of an event in the span of a context, with attributes and fields of structure.
    pub(crate) fn tell(
        &self,
        name: &'static str,
        severity: Severity,
        context: &Context,
        attributes: &[KeyValue],
        fields: Vec<(&'static str, AnyValue)>,
    ) {
        let attributes = attributes.iter().map(|known| (known.key.clone(), any(&known.value)));
        let fields = fields.into_iter().map(|(name, value)| (Key::from_static_str(name), value));
        (self.0)(name, severity, context, attributes.chain(fields).collect());
    }
}

fn any(value: &Value) -> AnyValue {
    match value {
        Value::Bool(value) => AnyValue::Boolean(*value),
        Value::I64(value) => AnyValue::Int(*value),
        Value::F64(value) => AnyValue::Double(*value),
        Value::String(text) => AnyValue::String(text.clone()),
        Value::Array(Array::String(texts)) => {
            AnyValue::ListAny(Box::new(texts.iter().cloned().map(AnyValue::String).collect()))
        }
        other => AnyValue::String(other.to_string().into()),
    }
}

/// A JSON value as logs have it.
pub(crate) fn structured(value: serde_json::Value) -> AnyValue {
    match value {
        serde_json::Value::Null => AnyValue::String("".into()),
        serde_json::Value::Bool(value) => AnyValue::Boolean(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => AnyValue::Int(number),
            None => AnyValue::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => AnyValue::String(text.into()),
        serde_json::Value::Array(items) => {
            AnyValue::ListAny(Box::new(items.into_iter().map(structured).collect()))
        }
        serde_json::Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (Key::from(name), structured(value)));
            AnyValue::Map(Box::new(members.collect()))
        }
    }
}
