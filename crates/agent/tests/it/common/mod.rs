//! Helpers of the tests: tools that count their calls.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod journals;
pub(crate) mod kit;
pub(crate) mod model;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{Event, EventKind, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{Effect, Tool, ToolError};

#[derive(serde::Deserialize, serde::Serialize, JsonSchema)]
pub(crate) struct Number {
    /// A number.
    pub(crate) n: i64,
}

#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A tool that doubles a number and counts its calls.
pub(crate) fn double(calls: &Counter) -> impl Tool + 'static {
    let calls = calls.clone();
    tool_fn("double", "Doubles a number", move |Number { n }: Number| {
        calls.add();
        async move { Ok::<_, ToolError>(n * 2) }
    })
    .with_effect(Effect::Read)
}

/// The words of the events, for comparing their order.
pub(crate) fn words(events: &[Event]) -> Vec<String> {
    let word = |event: &Event| match &event.kind {
        EventKind::RunStarted { .. } => "started".to_owned(),
        EventKind::StepStarted { .. } => "step".to_owned(),
        EventKind::Content(text) => format!("content {text}"),
        EventKind::Thinking(text) => format!("thinking {text}"),
        EventKind::ToolCallDelta { .. } => "delta".to_owned(),
        EventKind::ToolCallsRequested { calls, .. } => format!("requested {}", calls.len()),
        EventKind::ToolStarted { call } => format!("tool {}", call.name),
        EventKind::ToolFinished { result, .. } => format!("result {}", result.tree.model_text()),
        EventKind::ToolResultsReceived { count } => format!("received {count}"),
        EventKind::StepFinished { finish_reason, .. } => format!("finish {finish_reason}"),
        kind @ EventKind::Finished(_) => format!("end {}", kind.outcome().unwrap().reason),
        EventKind::Warning { code, .. } => format!("warning {code}"),
        other => format!("{other:?}"),
    };
    events.iter().map(word).collect()
}
