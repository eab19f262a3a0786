//! An answer that a client of the server takes whole.

use std::sync::Arc;

use attache_agent::{Agent, MemorySessions, Sessions};
use attache_core::provider::ProviderState;
use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, ChunkStream, Completion, FinishReason, LlmProvider,
    ModelCapabilities, ModelSettings, StreamChunk, Usage,
};
use attache_openai::ChatCodec;
use attache_server::{Principal, Server};
use attache_transport::Codec;
use axum::Router;
use axum::body::Body;
use futures_util::stream;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use tokio::runtime::Runtime;
use tower_service::Service as _;

/// The words of an answer, each of them a delta where it is streamed.
const WORDS: usize = 200;

/// A client that has been answered once, so that nothing is set up any more.
pub struct Whole {
    runtime: Runtime,
    router: Router,
    asked: &'static str,
}

impl std::fmt::Debug for Whole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Whole").finish_non_exhaustive()
    }
}

impl Whole {
    /// One whose requests have no session.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn alone() -> Self {
        Self::begun(r#"{"model":"gate","messages":[{"role":"user","content":"Go on."}]}"#)
    }

    /// One each of whose requests begins a session, which is kept in memory.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn in_session() -> Self {
        Self::begun(
            r#"{"model":"gate","messages":[{"role":"user","content":"Go on."}],"attache":{"session":""}}"#,
        )
    }

    #[expect(clippy::unwrap_used, reason = "a server that does not answer has nothing to measure")]
    fn begun(asked: &'static str) -> Self {
        let model = Wordy { capabilities: ChatCodec::from("gpt-4o-mini").capabilities().clone() };
        let agent = Agent::builder(model).build().unwrap();
        let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
        let ann = |_| std::future::ready(Some(Principal::new("ann")));
        let router = Server::new("gate", sessions).authenticate(ann).router();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut whole = Self { runtime, router, asked };
        whole.answer();
        whole
    }

    /// Asks, and reads the answer.
    ///
    /// # Panics
    /// If it is no answer.
    #[expect(clippy::unwrap_used, reason = "a server that does not answer has nothing to measure")]
    pub fn answer(&mut self) -> usize {
        let request = Request::post("/v1/chat/completions").header("content-type", "application/json");
        let request = request.body(Body::from(self.asked)).unwrap();
        let answered = self.router.call(request);
        let body = self.runtime.block_on(async {
            let response = answered.await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            response.into_body().collect().await.unwrap().to_bytes()
        });
        let words = body.windows(5).filter(|part| *part == b"word ").count();
        assert_eq!(words, WORDS);
        words
    }
}

/// A model that says its answer word by word, or at once where it is asked to.
struct Wordy {
    capabilities: ModelCapabilities,
}

impl LlmProvider for Wordy {
    fn model_id(&self) -> &'static str {
        "gate/wordy"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::default()
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        ProviderState::default()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let deltas = if request.streaming { WORDS } else { 0 };
        let text = AssistantPart::text("word ".repeat(WORDS));
        let completion = Completion::new(AssistantMessage::new([text]), FinishReason::Stop, Usage::default());
        let done = StreamChunk::Done(Box::new(completion));
        let deltas = std::iter::repeat_with(|| Ok(StreamChunk::Content("word ".to_owned()))).take(deltas);
        Box::pin(stream::iter(deltas.chain([Ok(done)])))
    }
}
