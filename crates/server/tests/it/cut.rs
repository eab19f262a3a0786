//! Streams of responses that were cut, and are taken up while their runs go on.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, EventKind, MemorySessions, RunInput, SessionStore, Sessions, tool_fn};
use attache_core::provider::ProviderState;
use attache_core::{ChatRequest, ChunkStream, LlmProvider, ModelCapabilities, ModelSettings, StreamChunk};
use attache_server::Server;
use attache_testkit::{ScriptedModel, Turn};
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::common::{Client, Stage, data, server, text, trusting, until};
use crate::kept::{begun, said};

// Another process drives it, and its log has the words in other pieces.
#[tokio::test(start_paused = true)]
async fn a_stream_that_was_cut_is_taken_up_at_another_node() {
    let store: Arc<dyn SessionStore> = Arc::new(MemorySessions::new());
    let sessions = |turns: Vec<Turn>| {
        let agent = Agent::builder(Stage::new(turns)).tool(tool_fn("look", "Looks", || Ok("seen")));
        Sessions::new(agent.build().unwrap(), Arc::clone(&store)).with_name("papers")
    };
    let elsewhere = sessions(vec![Turn::text("I look.").and_call("look", json!({})), Turn::text("Berlin.")]);
    let session = elsewhere.open("ann", Some("s")).await.unwrap();
    let mut run = session.run(RunInput::from("Go.").with_run_id("s.0123456789ab"));
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::ToolFinished { .. }) {
            break;
        }
    }
    let client = Client::new(trusting(Server::new("papers", sessions(vec![]))));
    let path = "/v1/responses/resp_s.0123456789ab?stream=true&starting_after=500";
    let mut rest = client.get(path).await.into_body();
    let so_far = data(&until(&mut rest, "\n\n").await);
    assert_eq!(
        (&so_far[0]["type"], &so_far[0]["sequence_number"]),
        (&json!("response.in_progress"), &json!(501))
    );
    assert_eq!(said(&so_far[0]["response"]), "I look.");
    while run.next().await.is_some() {}
    let told = data(&text(axum::response::Response::new(rest)).await);
    let deltas: Vec<_> = told.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(deltas, ["\n\n", "Berlin."]);
    assert_eq!(said(&told.last().unwrap()["response"]), "I look.\n\nBerlin.");
}

/// A model that says many pieces, and one more once it is let out.
struct Paused(Arc<Semaphore>);

const PIECES: usize = 5_000;

impl LlmProvider for Paused {
    fn model_id(&self) -> &str {
        "test/paused"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        static CAPABILITIES: std::sync::LazyLock<ScriptedModel> =
            std::sync::LazyLock::new(|| ScriptedModel::new([]).unverified());
        CAPABILITIES.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::default()
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        ScriptedModel::new([]).unverified().state()
    }

    fn stream(&self, _: ChatRequest) -> ChunkStream {
        let text: String = (0..PIECES).map(|at| format!("{at:04} ")).chain(["the end".to_owned()]).collect();
        let message = attache_core::AssistantMessage::new([attache_core::AssistantPart::text(text)]);
        let (reason, usage) = (attache_core::FinishReason::Stop, attache_core::Usage::new(1, 1));
        let done = StreamChunk::Done(Box::new(attache_core::Completion::new(message, reason, usage)));
        let pieces = (0..PIECES).map(|at| Ok(StreamChunk::Content(format!("{at:04} "))));
        let gate = Arc::clone(&self.0);
        let last = futures_util::stream::once(async move {
            gate.acquire_owned().await.unwrap().forget();
            Ok(StreamChunk::Content("the end".to_owned()))
        });
        let done = futures_util::stream::once(async move { Ok(done) });
        Box::pin(futures_util::stream::iter(pieces).chain(last).chain(done))
    }
}

// The events behind the last one that the client saw are gone: it is told the response as it is, and what comes then.
#[tokio::test]
async fn a_long_stream_that_was_cut_is_taken_up_while_it_goes_on() {
    let gate = Arc::new(Semaphore::new(0));
    let client = Client::new(server(Agent::builder(Paused(Arc::clone(&gate)))));
    let path = begun(&client).await;
    let mut first = client.get(&format!("{path}?stream=true")).await.into_body();
    until(&mut first, "4999 ").await;
    // All of it is there; whoever comes now is behind what is held.
    for after in [3, 1_000, 100_000] {
        let mut rest = client.get(&format!("{path}?stream=true&starting_after={after}")).await.into_body();
        let so_far = tokio::time::timeout(Duration::from_secs(20), until(&mut rest, "\n\n")).await;
        let so_far = data(&so_far.expect("nothing is told before the end"));
        assert_eq!(so_far[0]["sequence_number"], after + 1);
        let response = so_far.iter().find(|event| event["type"] == "response.in_progress").unwrap();
        assert!(said(&response["response"]).ends_with("4998 4999 "), "{after}");
        if after == 100_000 {
            gate.add_permits(1);
            let told = data(&text(axum::response::Response::new(rest)).await);
            let numbers: Vec<_> =
                told.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
            assert_eq!(numbers, (100_002..100_002 + numbers.len() as u64).collect::<Vec<_>>());
            let delta = told.iter().find(|event| event["type"] == "response.output_text.delta").unwrap();
            assert_eq!((&delta["delta"], &delta["output_index"]), (&json!("the end"), &json!(0)));
            let last = told.last().unwrap();
            assert_eq!(last["type"], "response.completed");
            assert!(said(&last["response"]).ends_with("4999 the end"));
        }
    }
}
