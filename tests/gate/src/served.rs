//! A run that a client of the server looks at.

use std::sync::{Arc, Mutex, PoisonError};

use attache_agent::{Agent, MemorySessions, Sessions};
use attache_core::provider::ProviderState;
use attache_core::{ChatRequest, ChunkStream, LlmProvider, ModelCapabilities, ModelSettings, StreamChunk};
use attache_openai::ChatCodec;
use attache_server::{Principal, Server};
use attache_transport::Codec;
use axum::body::Body;
use futures_util::stream;
use http::Request;
use http_body_util::BodyExt as _;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower_service::Service as _;

/// One delta.
const WORD: &str = "word";

/// A client that reads the answer of a run, whose model says what it is told.
pub struct Served {
    runtime: Runtime,
    body: Body,
    says: UnboundedSender<StreamChunk>,
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").finish_non_exhaustive()
    }
}

impl Served {
    /// A client that has read the first delta.
    ///
    /// # Panics
    /// If the server does not answer.
    #[expect(clippy::unwrap_used, reason = "a server that does not answer has nothing to measure")]
    pub fn begun() -> Self {
        let (says, said) = unbounded_channel();
        let model = Told {
            capabilities: ChatCodec::from("gpt-4o-mini").capabilities().clone(),
            said: Mutex::new(Some(said)),
        };
        let agent = Agent::builder(model).build().unwrap();
        let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
        let ann = |_| std::future::ready(Some(Principal::new("ann")));
        let mut router = Server::new("gate", sessions).authenticate(ann).router();
        let asked = r#"{"model":"gate","stream":true,"messages":[{"role":"user","content":"Go on."}]}"#;
        let request = Request::post("/v1/chat/completions").header("content-type", "application/json");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        says.send(StreamChunk::Content(WORD.to_owned())).unwrap();
        let response = runtime.block_on(router.call(request.body(Body::from(asked)).unwrap())).unwrap();
        let mut served = Self { runtime, body: response.into_body(), says };
        assert_eq!(served.read(), 1);
        // The second one makes room for those that follow.
        served.one_by_one(1);
        served
    }

    /// Has the model say that many deltas, each of which is read before the next one is said.
    pub fn one_by_one(&mut self, deltas: usize) {
        for _ in 0..deltas {
            self.say();
            assert_eq!(self.read(), 1);
        }
    }

    /// Has the model say that many deltas before any of them is read, and counts the pieces in which they come.
    pub fn at_once(&mut self, deltas: usize) -> usize {
        (0..deltas).for_each(|_| self.say());
        let (mut read, mut pieces) = (0, 0);
        while read < deltas {
            read += self.read();
            pieces += 1;
        }
        pieces
    }

    #[expect(clippy::unwrap_used, reason = "a run that has ended has nothing to measure")]
    fn say(&self) {
        self.says.send(StreamChunk::Content(WORD.to_owned())).unwrap();
    }

    /// Reads a piece of the answer, and counts the deltas in it.
    #[expect(clippy::unwrap_used, reason = "an answer that has ended has nothing to measure")]
    fn read(&mut self) -> usize {
        let frame = self.runtime.block_on(self.body.frame()).unwrap().unwrap();
        let bytes = frame.into_data().unwrap();
        bytes.windows(WORD.len() + 2).filter(|part| *part == b"\"word\"").count()
    }
}

/// A model that says what it is told.
struct Told {
    capabilities: ModelCapabilities,
    said: Mutex<Option<UnboundedReceiver<StreamChunk>>>,
}

impl LlmProvider for Told {
    fn model_id(&self) -> &'static str {
        "gate/told"
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

    fn stream(&self, _: ChatRequest) -> ChunkStream {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(stream::unfold(said, |said| async move {
            let mut said = said?;
            let chunk = said.recv().await?;
            Some((Ok(chunk), Some(said)))
        }))
    }
}
