//! A server in this process, and a client of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_agent::{Agent, AgentBuilder, MemorySessions, Sessions};
use attache_core::provider::ProviderState;
use attache_core::{ChatRequest, ChunkStream, LlmProvider, ModelCapabilities, ModelSettings, StreamChunk};
use attache_server::{Principal, Server};
use attache_testkit::{ScriptedModel, Turn};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt as _;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tower_service::Service as _;

/// A model whose pieces a test lets out one by one, and that tells when its caller hangs up.
#[derive(Clone)]
pub(crate) struct Stage {
    script: ScriptedModel,
    gate: Option<Arc<Semaphore>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    asked: Notify,
    hung_up: Notify,
    open: AtomicUsize,
}

impl Stage {
    /// A model that says what the turns say, as fast as it is heard.
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        let script = ScriptedModel::new(turns).unverified();
        Self { script, gate: None, state: Arc::default() }
    }

    /// A model that reads images and PDF, too.
    pub(crate) fn seeing(mut self) -> Self {
        self.script = self.script.with_capabilities_of("anthropic", "claude-sonnet-4-5");
        self
    }

    /// Holds each piece back until it is let out.
    pub(crate) fn held(mut self) -> Self {
        self.gate = Some(Arc::new(Semaphore::new(0)));
        self
    }

    /// Lets pieces out.
    pub(crate) fn let_out(&self, pieces: usize) {
        self.gate.as_ref().unwrap().add_permits(pieces);
    }

    /// Holds back again what was to be let out.
    pub(crate) fn drain(&self) {
        let gate = self.gate.as_ref().unwrap();
        gate.forget_permits(gate.available_permits());
    }

    /// Waits until it is asked.
    pub(crate) async fn asked(&self) {
        if self.state.open.load(Ordering::SeqCst) == 0 {
            self.state.asked.notified().await;
        }
    }

    /// Waits until nobody listens to it any more: a second at most.
    pub(crate) async fn hangs_up(&self) {
        let hung_up = async {
            while self.state.open.load(Ordering::SeqCst) > 0 {
                self.state.hung_up.notified().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(1), hung_up).await.expect("the model is still listened to");
    }

    /// True while somebody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.state.open.load(Ordering::SeqCst) > 0
    }

    /// The number of those who listen.
    pub(crate) fn heard(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<ChatRequest> {
        self.script.requests()
    }
}

struct Heard(Arc<State>);

impl Drop for Heard {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        self.0.hung_up.notify_one();
    }
}

impl LlmProvider for Stage {
    fn model_id(&self) -> &str {
        self.script.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.script.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.script.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.script.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.script.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let chunks = self.script.stream(request);
        let (gate, state) = (self.gate.clone(), Arc::clone(&self.state));
        let held = (chunks, gate, state, None::<Heard>);
        Box::pin(futures_util::stream::unfold(held, |(mut chunks, gate, state, heard)| async move {
            let heard = heard.unwrap_or_else(|| {
                state.open.fetch_add(1, Ordering::SeqCst);
                state.asked.notify_one();
                Heard(Arc::clone(&state))
            });
            if let Some(gate) = &gate {
                gate.acquire().await.unwrap().forget();
            }
            let chunk = chunks.next().await?;
            Some((chunk, (chunks, gate, state, Some(heard))))
        }))
    }
}

/// A model that says this many pieces of text.
pub(crate) struct Long(pub(crate) usize);

impl LlmProvider for Long {
    fn model_id(&self) -> &str {
        "test/long"
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
        let count = self.0;
        let pieces = (0..count).map(|at| Ok(StreamChunk::Content(format!("{at:07} "))));
        let text: String = (0..count).map(|at| format!("{at:07} ")).collect();
        let message = attache_core::AssistantMessage::new([attache_core::AssistantPart::text(text)]);
        let done = attache_core::Completion::new(
            message,
            attache_core::FinishReason::Stop,
            attache_core::Usage::new(1, 1),
        );
        let done = Ok(StreamChunk::Done(Box::new(done)));
        Box::pin(futures_util::stream::iter(pieces.chain([done])))
    }
}

/// The sessions of an agent, in memory.
pub(crate) fn sessions(agent: AgentBuilder) -> Sessions {
    Sessions::new(agent.build().unwrap(), Arc::new(MemorySessions::new()))
}

/// A server that believes the header `x-user`.
pub(crate) fn server(agent: AgentBuilder) -> Server {
    trusting(Server::new("papers", sessions(agent)))
}

pub(crate) fn trusting(server: Server) -> Server {
    server.authenticate(|headers| async move {
        let user = headers.get("x-user").map_or("ann", |user| user.to_str().unwrap());
        Some(Principal::new(user))
    })
}

/// A client.
#[derive(Clone)]
pub(crate) struct Client {
    router: Router,
    user: &'static str,
}

impl Client {
    pub(crate) fn new(server: Server) -> Self {
        Self { router: server.router(), user: "ann" }
    }

    /// An agent of turns, served.
    pub(crate) fn of(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::new(server(Agent::builder(Stage::new(turns))))
    }

    pub(crate) fn named(&self, user: &'static str) -> Self {
        Self { user, ..self.clone() }
    }

    pub(crate) async fn send(&self, request: http::request::Builder, body: impl Into<Body>) -> Response {
        let request = request.header("x-user", self.user).body(body.into()).unwrap();
        let mut router = self.router.clone();
        router.call(request).await.unwrap()
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let request = Request::builder().method(method).uri(path);
        match body {
            Some(body) => {
                self.send(request.header("content-type", "application/json"), body.to_string()).await
            }
            None => self.send(request, Body::empty()).await,
        }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.ask(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path, None).await
    }

    /// The body of an answer that went well.
    pub(crate) async fn got(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert!(response.status().is_success(), "{path}: {}", response.status());
        value(response).await
    }

    /// Asks Chat Completions.
    pub(crate) async fn chat(&self, body: Value) -> Response {
        self.post("/v1/chat/completions", body).await
    }

    /// Starts a run that nobody looks at, and yields its id.
    pub(crate) async fn run(&self, session: &str, message: &str) -> String {
        let response =
            self.post(&format!("/v1/sessions/{session}/runs"), json!({ "message": message })).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        value(response).await["runId"].as_str().unwrap().to_owned()
    }

    /// Looks at a run until it has ended or waits.
    pub(crate) async fn ended(&self, run: &str) -> Value {
        loop {
            let told = self.got(&format!("/v1/runs/{run}")).await;
            if !told["snapshot"]["end"].is_null() || !told["outcome"].is_null() {
                return told;
            }
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

pub(crate) async fn value(response: Response) -> Value {
    serde_json::from_str(&text(response).await).unwrap()
}

/// Reads a stream until it holds a text.
pub(crate) async fn until(body: &mut Body, wanted: &str) -> String {
    let mut read = String::new();
    while !read.contains(wanted) {
        let frame = body.frame().await.unwrap_or_else(|| panic!("the stream ended: {read}")).unwrap();
        read.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    read
}

/// The data of server-sent events, as JSON; `[DONE]` and other lines as text.
pub(crate) fn data(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into())).collect()
}

/// A text whose random ids and times have names, in the order in which they occur.
pub(crate) fn named(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| is_word(letter) != is_word(first)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        // Seconds or milliseconds: the random part of a run's id has 12 characters, which may all be digits.
        let is_time = [10, 13].contains(&word.len()) && word.bytes().all(|digit| digit.is_ascii_digit());
        let numbered = word.rsplit_once('_').is_some_and(|(id, at)| {
            id.len() == 12
                && id.bytes().all(|byte| byte.is_ascii_hexdigit())
                && at.bytes().all(|digit| digit.is_ascii_digit())
        });
        let is_id = numbered
            || (["resp_", "rs_", "fc_", "ig_", "toolu_", "run_"].iter().any(|kind| word.starts_with(kind))
                && word.len() > 30)
            || (is_hex && [8, 12, 29, 32, 36].contains(&word.len()))
            || word.starts_with("chatcmpl-")
            || word.starts_with("msg_")
            || (word.starts_with("call_") && word.len() > 16);
        if is_time {
            out.push('0');
        } else if is_id {
            let at = known.iter().position(|id| id == word).unwrap_or_else(|| {
                known.push(word.to_owned());
                known.len() - 1
            });
            out.push_str(&format!("ID{}", at + 1));
        } else {
            out.push_str(word);
        }
    }
    // Estimates become better.
    let mut parts = out.split("\"tokens\":");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str("\"tokens\":0");
        whole.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    // Times in words.
    let mut parts = whole.split("\"expiresAt\":\"");
    let mut timeless = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        timeless.push_str("\"expiresAt\":\"0");
        timeless.push_str(part.find('"').and_then(|end| part.get(end..)).unwrap_or_default());
    }
    timeless
}
