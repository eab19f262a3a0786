//! The span of a tool's call.

use std::any::Any;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use attache_agent::{Disposition, ToolCallEnd, ToolCallObserver, ToolCallStart, ToolOutcome};
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};

use crate::metrics::with_error;
use crate::names::{CANCELLED, EXECUTE_TOOL, attribute};
use crate::telemetry::Telemetry;

/// A tool's call under way.
pub(crate) struct ToolTrace {
    telemetry: Telemetry,
    context: Context,
    began: Instant,
    identity: Vec<KeyValue>,
    /// Until it has ended.
    is_open: Mutex<bool>,
}

/// The word for how a result came about.
pub(crate) fn word(disposition: Disposition) -> &'static str {
    match disposition {
        Disposition::Executed => "executed",
        Disposition::Refused => "refused",
        Disposition::NoSuchTool => "no_such_tool",
        Disposition::Retry => "retry",
        Disposition::Denied => "denied",
        Disposition::Replaced => "replaced",
        Disposition::Tripped => "tripped",
        Disposition::TimedOut => "timeout",
        Disposition::Panicked => "panicked",
        Disposition::Submitted => "submitted",
        Disposition::Unknown => "unknown",
        Disposition::Aborted => "aborted",
        Disposition::Cancelled => CANCELLED,
        Disposition::Interrupted => "interrupted",
        _ => "other",
    }
}

/// The error of a call, if it is one.
fn error_of(outcome: &ToolOutcome) -> Option<&'static str> {
    match outcome.disposition {
        Disposition::Executed if outcome.result.is_error() => Some("tool_error"),
        Disposition::Executed | Disposition::Replaced | Disposition::Submitted => None,
        other => Some(word(other)),
    }
}

impl ToolTrace {
    pub(crate) fn begin(telemetry: &Telemetry, parent: &Context, start: &ToolCallStart<'_>) -> Self {
        let (definition, metadata) = (&start.spec.definition, &start.spec.metadata);
        let name = definition.name().to_owned();
        let identity = [
            KeyValue::new(attribute::TOOL_NAME, name.clone()),
            KeyValue::new(attribute::TOOL_TYPE, "function"),
        ];
        let identity: Vec<_> = identity.into_iter().chain(telemetry.agent_name().cloned()).collect();
        let mut attributes = vec![
            KeyValue::new(attribute::OPERATION, EXECUTE_TOOL),
            KeyValue::new(attribute::TOOL_CALL_ID, start.call.id.as_str().to_owned()),
            KeyValue::new(attribute::TOOL_DESCRIPTION, definition.description().to_owned()),
        ];
        // A call by hand belongs to no step.
        attributes.extend((start.step > 0).then(|| KeyValue::new(attribute::STEP, i64::from(start.step))));
        attributes.extend(identity.iter().cloned());
        if !metadata.origin.is_empty() {
            attributes.push(KeyValue::new(attribute::TOOL_ORIGIN, metadata.origin.clone()));
        }
        let builder = telemetry.tracer.span_builder(format!("{EXECUTE_TOOL} {name}"));
        let builder = builder.with_kind(SpanKind::Internal).with_attributes(attributes);
        let context = parent.with_span(telemetry.tracer.build_with_context(builder, parent));
        if let Some(content) = &telemetry.content
            && context.span().is_recording()
            && let Some((field, value)) = content.arguments(start.call)
        {
            context.span().set_attribute(KeyValue::new(field.name(), value.to_string()));
        }
        Self {
            telemetry: telemetry.clone(),
            context,
            began: Instant::now(),
            identity,
            is_open: Mutex::new(true),
        }
    }
}

impl ToolCallObserver for ToolTrace {
    fn enter(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(self.context.clone().attach()))
    }

    fn ended(&self, end: &ToolCallEnd<'_>) {
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *is_open, false) {
            return;
        }
        let span = self.context.span();
        let (disposition, error) = match end {
            ToolCallEnd::Result(outcome) => {
                let documents = i64::try_from(outcome.result.documents.len()).unwrap_or(i64::MAX);
                if documents > 0 {
                    span.set_attribute(KeyValue::new("attache.tool.documents", documents));
                }
                if let Some(content) = &self.telemetry.content
                    && span.is_recording()
                    && let Some((field, value)) = content.result(&outcome.result)
                {
                    span.set_attribute(KeyValue::new(field.name(), value.to_string()));
                }
                (word(outcome.disposition), error_of(outcome))
            }
            ToolCallEnd::Deferred => ("deferred", None),
            ToolCallEnd::Paused => ("paused", None),
            _ => (CANCELLED, Some(CANCELLED)),
        };
        span.set_attribute(KeyValue::new(attribute::DISPOSITION, disposition));
        if let Some(error) = error {
            span.set_attribute(KeyValue::new(attribute::ERROR, error));
            span.set_status(Status::error(error));
        }
        span.end();
        let seconds = self.began.elapsed().as_secs_f64();
        self.telemetry.metrics.tool_duration(seconds, &with_error(&self.identity, error));
    }
}
