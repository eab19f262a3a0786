//! Requests that are made again.

use std::sync::Arc;

use attache_agent::{Agent, Compaction, RunInput};
use attache_core::provider::ProviderState;
use attache_core::tool::SchemaReport;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, ErrorKind, LlmProvider, Message, ModelCapabilities, ModelHandle,
    ModelSettings, ProviderError, ToolSet,
};
use attache_models::{Fallback, Retry, layered};
use attache_otel::{Content, ConversationId};
use attache_testkit::{ScriptedModel, Turn};
use attache_transport::RetryPolicy;

use crate::kit::{Recorder, attribute, text};

fn failing_once() -> ModelHandle {
    let turns = [Turn::empty().then_error(ErrorKind::Overloaded), Turn::text("there")];
    ScriptedModel::new(turns).unverified().into()
}

// S24
#[tokio::test(start_paused = true)]
async fn each_attempt_of_a_layer_is_a_span_where_the_model_inside_is_wrapped() {
    let recorder = Recorder::new();
    let model = layered(recorder.telemetry.model(failing_once()), Retry::new(RetryPolicy::default()));
    let agent = Agent::builder(model.clone()).observer(recorder.telemetry.clone()).build().unwrap();
    assert_eq!(agent.run("go").outcome().await.unwrap().text, "there");
    assert_eq!(recorder.tree(), ["invoke_agent", "  chat model !overloaded", "  chat model"]);
    let attempts: Vec<_> = recorder.spans()[1..].iter().map(|span| text(span, "attache.attempt")).collect();
    assert_eq!(attempts, ["", "2"]);
    // Tokens are counted once.
    let tokens: u64 = recorder
        .points()
        .iter()
        .filter(|point| point.name == "gen_ai.client.token.usage")
        .map(|point| point.count)
        .sum();
    assert_eq!(tokens, 2);

    // Without the wrapper a layer's attempts are one request.
    let recorder = Recorder::new();
    let model = layered(failing_once(), Retry::new(RetryPolicy::default()));
    let agent = Agent::builder(model).observer(recorder.telemetry.clone()).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    assert_eq!(recorder.tree(), ["invoke_agent", "  chat model"]);
}

// S24
#[tokio::test(start_paused = true)]
async fn each_attempt_knows_its_run_and_what_was_asked() {
    let recorder = Recorder::new();
    let telemetry = recorder.telemetry.clone().with_content(Content::new());
    let model = layered(telemetry.model(failing_once()), Retry::new(RetryPolicy::default()));
    let agent = Agent::builder(model).observer(telemetry).build().unwrap();
    let input = RunInput::from("go").with_run_id("r1").with_context(ConversationId::new("c1"));
    agent.run(input).outcome().await.unwrap();
    let attempts = &recorder.spans()[1..];
    assert_eq!(attempts.len(), 2);
    for span in attempts {
        for (name, value) in
            [("gen_ai.conversation.id", "c1"), ("attache.run.id", "r1"), ("attache.step", "1")]
        {
            assert_eq!(text(span, name), value, "{name}");
        }
        assert!(text(span, "gen_ai.input.messages").contains("go"));
    }
    let logs = recorder.logs.get_emitted_logs().unwrap();
    let told =
        logs.iter().find(|log| log.record.event_name() == Some("gen_ai.client.inference.operation.details"));
    let told = format!("{:?}", told.unwrap().record);
    for name in ["gen_ai.input.messages", "gen_ai.output.messages", "attache.run.id"] {
        assert!(told.contains(name), "{told}");
    }
}

// S24
#[tokio::test]
async fn the_model_that_is_asked_in_place_of_another_has_a_span_of_its_own() {
    let recorder = Recorder::new();
    let wrap = |model: ScriptedModel| recorder.telemetry.model(model.unverified());
    let first = wrap(ScriptedModel::new([Turn::empty().then_error(ErrorKind::QuotaExceeded)]));
    let other = wrap(ScriptedModel::new([Turn::text("here")]));
    let agent = Agent::builder(layered(first, Fallback::new([other])))
        .observer(recorder.telemetry.clone())
        .build()
        .unwrap();
    assert_eq!(agent.run("go").outcome().await.unwrap().text, "here");
    assert_eq!(recorder.tree(), ["invoke_agent", "  chat model !quota_exceeded", "  chat model"]);
    assert!(attribute(&recorder.spans()[2], "attache.degradations").is_some());
}

// S24
#[tokio::test]
async fn a_model_without_an_agent_has_spans_of_its_requests() {
    let recorder = Recorder::new();
    let model =
        recorder.telemetry.model(ScriptedModel::new([Turn::text("one"), Turn::text("two").then_hang()]));
    model.complete(ChatRequest::new([Message::user("go").shared()])).await.unwrap();
    let mut half = model.chat("go");
    assert!(std::future::poll_fn(|context| half.as_mut().poll_next(context)).await.is_some());
    drop(half);
    // Nothing was asked.
    drop(model.chat("go"));
    assert_eq!(recorder.tree(), ["chat model", "chat model !cancelled"]);
}

// S24
#[tokio::test]
async fn a_request_for_a_summary_is_a_span_too() {
    let recorder = Recorder::new();
    let turns = [Turn::text("It was long."), Turn::text("yes")];
    let agent = Agent::builder(ScriptedModel::new(turns).unverified())
        .observer(recorder.telemetry.clone())
        .memory(Compaction::new().with_threshold(100).with_recent(10))
        .build()
        .unwrap();
    let long = "word ".repeat(2_000);
    let history = [Message::user(long.clone()).shared(), Message::assistant(long).shared()];
    let input = RunInput::from("go").with_history(history);
    agent.run(input).outcome().await.unwrap();
    assert_eq!(recorder.tree(), ["invoke_agent", "  chat model", "  chat model"]);
    let compacted: Vec<_> =
        recorder.spans()[1..].iter().map(|span| text(span, "gen_ai.conversation.compacted")).collect();
    assert_eq!(compacted, ["", "true"]);
    assert!(recorder.span("invoke_agent").events.iter().any(|event| event.name == "attache.compacted"));
}

/// A model whose API counts 42 tokens in whatever it is shown, and that has something to say of tools.
struct Counting(ModelHandle);

impl LlmProvider for Counting {
    fn model_id(&self) -> &str {
        self.0.id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.0.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.0.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.0.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.0.state()
    }

    fn check_tools(&self, _: &ToolSet, _: &ModelSettings) -> SchemaReport {
        SchemaReport::refusing("no tools here")
    }

    fn count_tokens(&self, _: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        Some(Box::pin(async { Ok(42) }))
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.0.stream(request)
    }
}

#[tokio::test]
async fn an_observed_model_counts_tokens_and_checks_tools_as_it_does_alone() {
    let recorder = Recorder::new();
    let model = recorder.telemetry.model(Counting(failing_once()));
    let request = ChatRequest::new([Message::user("go").shared()]);
    assert_eq!(model.count_tokens(request).unwrap().await.unwrap(), 42);
    assert_eq!(model.check_tools(&ToolSet::default(), &ModelSettings::new()).refused.len(), 1);
    assert!(recorder.spans().is_empty(), "nothing was asked");
}
