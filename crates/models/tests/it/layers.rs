//! Layers around scripted models, and around two real APIs.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_anthropic::Anthropic;
use attache_conformance::{MockProvider, Reply, seen_documents};
use attache_core::fetcher::{FetchError, Fetched, Fetcher};
use attache_core::{
    Arguments, AssistantMessage, BoxFuture, Capture, ChatRequest, Document, ErrorKind, Message, ModelHandle,
    ModelSettings, ResultStatus, StreamChunk, ToolCall, ToolDefinition, ToolResult, ToolResultsMessage,
    ToolSet, Usage, UserMessage, UserPart, message::UserOrigin,
};
use attache_documents::{DocumentOutcome, ExternalDocuments, Materials, RouteOptions, route};
use attache_models::{
    ConcurrencyLimit, Fallback, HttpSettings, Layer, Logged, RateLimit, Registry, Retry, layered,
};
use attache_openai::OpenAiChat;
use attache_testkit::{ScriptedModel, Turn};
use attache_transport::{Environment, RetryPolicy};
use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use tokio::time::Instant;

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("hi").shared()])
}

fn failing(kind: ErrorKind) -> Turn {
    Turn::empty().then_error(kind)
}

/// A model that can be asked what it was asked.
fn scripted(turns: impl IntoIterator<Item = Turn>) -> (ScriptedModel, ModelHandle) {
    let model = ScriptedModel::new(turns).unverified();
    (model.clone(), model.into())
}

// P26
#[tokio::test(start_paused = true)]
async fn retries_only_what_may_work_and_was_not_shown() {
    let retry = || Retry::new(RetryPolicy::new());
    let (model, handle) = scripted([failing(ErrorKind::Overloaded), Turn::text("at last")]);
    assert_eq!(layered(handle, retry()).complete(ask()).await.unwrap().message.text(), "at last");
    assert_eq!(model.requests().len(), 2);

    let (model, handle) = scripted([failing(ErrorKind::InvalidRequest), Turn::text("never")]);
    assert_eq!(layered(handle, retry()).complete(ask()).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    assert_eq!(model.requests().len(), 1);

    let (model, handle) =
        scripted([Turn::text("half").then_error(ErrorKind::Overloaded), Turn::text("never")]);
    let chunks: Vec<_> = layered(handle, retry()).stream(ask()).collect().await;
    assert!(chunks.last().unwrap().is_err() && chunks[0].is_ok());
    assert_eq!(model.requests().len(), 1, "what was shown is not said again");

    let (model, handle) = scripted((0..9).map(|_| failing(ErrorKind::Overloaded)));
    assert!(layered(handle, retry()).complete(ask()).await.is_err());
    assert_eq!(model.requests().len(), 3, "three attempts");
}

// P22
#[tokio::test(start_paused = true)]
async fn tokens_of_attempts_that_failed_are_counted() {
    let lost = || failing(ErrorKind::Overloaded).costing(Usage::new(40, 2));
    let said = || Turn::text("x").costing(Usage::new(10, 5));
    let one = |turn: Turn| scripted([turn]).1;
    let retried = layered(scripted([lost(), said()]).1, Retry::new(RetryPolicy::new()));
    let switched = layered(one(lost()), Fallback::new([one(lost()), one(said())]));
    for (model, spent) in [(retried, Usage::new(50, 7)), (switched, Usage::new(90, 9))] {
        let done = model.complete(ask()).await.unwrap();
        assert_eq!((done.usage, done.answered), (spent, Some(Box::new(Usage::new(10, 5)))));
    }
    let retried = layered(scripted((0..3).map(|_| lost())).1, Retry::new(RetryPolicy::new()));
    let switched = layered(one(lost()), Fallback::new([one(lost()), one(lost())]));
    for model in [retried, switched] {
        assert_eq!(model.complete(ask()).await.unwrap_err().usage(), Some(&Usage::new(120, 6)));
    }
    let minute = Duration::from_secs(60);
    let limited = RateLimit::new(100, minute).with_tokens(35, minute);
    let limited = layered(scripted([lost(), said()]).1, limited);
    let started = Instant::now();
    limited.complete(ask()).await.unwrap_err();
    limited.complete(ask()).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 12, "seven tokens are overdrawn");
}

#[tokio::test]
async fn no_more_calls_run_than_allowed() {
    let (model, handle) = scripted((0..4).map(|_| Turn::text("x").then_hang()));
    let handle = layered(handle, ConcurrencyLimit::new(2));
    let mut running: Vec<_> = (0..3).map(|_| handle.stream(ask())).collect();
    assert!(running[0].next().await.unwrap().is_ok() && running[1].next().await.unwrap().is_ok());
    assert!(running[2].next().now_or_never().is_none());
    assert_eq!(model.requests().len(), 2, "the third waits");
    drop(running.remove(0));
    assert!(running[1].next().await.unwrap().is_ok(), "a dropped stream lets the next one start");
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn calls_are_spread_over_time() {
    let (_, handle) = scripted((0..10).map(|_| Turn::text("x").costing(Usage::new(40, 20))));
    let minute = Duration::from_secs(60);
    let limited = layered(handle.clone(), RateLimit::new(2, minute));
    let started = Instant::now();
    for expected in [0, 0, 30, 60] {
        limited.complete(ask()).await.unwrap();
        assert_eq!(started.elapsed().as_secs(), expected);
    }
    let hasty = layered(handle.clone(), RateLimit::new(1, minute).with_longest_wait(Duration::from_secs(9)));
    hasty.complete(ask()).await.unwrap();
    let error = hasty.complete(ask()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::RateLimited, Some(minute)));

    // 60 tokens a call, 50 a minute: the first call overdraws by 10.
    let started = Instant::now();
    let limited = layered(handle, RateLimit::new(100, minute).with_tokens(50, minute));
    limited.complete(ask()).await.unwrap();
    limited.complete(ask()).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_leaves_its_turn_to_the_next() {
    let (_, handle) = scripted((0..10).map(|_| Turn::text("x")));
    let minute = Duration::from_secs(60);
    let limited = layered(handle, RateLimit::new(1, minute).with_longest_wait(minute * 2));
    limited.complete(ask()).await.unwrap();
    let started = Instant::now();
    let (mut given_up, mut next) = (limited.stream(ask()), limited.stream(ask()));
    assert!(given_up.next().now_or_never().is_none() && next.next().now_or_never().is_none());
    let refused = limited.complete(ask()).now_or_never().unwrap().unwrap_err();
    assert_eq!(refused.retry_after(), Some(minute * 3));
    drop(given_up);
    assert!(next.next().await.unwrap().is_ok());
    assert_eq!(started.elapsed().as_secs(), 60);
    limited.complete(ask()).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 120, "and no two calls share a turn");
}

// Whoever asks again is to be told that it may help.
#[tokio::test]
async fn a_chain_that_failed_tells_the_failure_that_may_pass() {
    let failed = async |kinds: &[ErrorKind]| {
        let mut models = kinds.iter().map(|kind| scripted([failing(*kind)]).1);
        let first = models.next().unwrap();
        layered(first, Fallback::new(models)).complete(ask()).await.unwrap_err()
    };
    // After the one error another model would be asked, after the other none.
    for last in [ErrorKind::Unsupported, ErrorKind::Configuration] {
        let error = failed(&[ErrorKind::QuotaExceeded, ErrorKind::Overloaded, last]).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Overloaded, true));
        let others = format!("; scripted/model failed (quota_exceeded); scripted/model failed ({last})");
        assert!(error.message().ends_with(&others), "{error}");
    }
    let error = failed(&[ErrorKind::QuotaExceeded, ErrorKind::Unsupported]).await;
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().ends_with("; scripted/model failed (quota_exceeded)"), "{error}");
    let cancelled = failed(&[ErrorKind::Overloaded, ErrorKind::Cancelled]).await;
    assert_eq!(cancelled.kind(), ErrorKind::Cancelled);
    assert!(!failed(&[ErrorKind::Overloaded]).await.message().contains(';'));
}

#[tokio::test]
async fn a_fallback_switches_before_the_first_chunk_alone() {
    let (first, handle) = scripted([failing(ErrorKind::QuotaExceeded)]);
    let (second, other) = scripted([failing(ErrorKind::Network)]);
    let (third, last) = scripted([Turn::text("from the third")]);
    let chain = layered(handle, Fallback::new([other, last]));
    let completion = chain.complete(ask()).await.unwrap();
    assert_eq!(completion.message.text(), "from the third");
    let notes: Vec<_> = completion.degradations.iter().map(|note| note.option.as_str()).collect();
    assert_eq!(notes, ["model", "model"], "what happened is recorded");
    assert_eq!([&first, &second, &third].map(|model| model.requests().len()), [1, 1, 1]);

    let (_, handle) = scripted([Turn::text("half").then_error(ErrorKind::Overloaded)]);
    let (second, other) = scripted([Turn::text("never")]);
    let chunks: Vec<_> = layered(handle, Fallback::new([other])).stream(ask()).collect().await;
    assert!(chunks.last().unwrap().is_err());
    assert!(second.requests().is_empty());

    let (_, handle) = scripted([failing(ErrorKind::InvalidHistory)]);
    let (second, other) = scripted([Turn::text("never")]);
    assert!(layered(handle, Fallback::new([other.clone()])).complete(ask()).await.is_err());
    assert!(second.requests().is_empty(), "another model would refuse it too");
    let (_, handle) = scripted([failing(ErrorKind::InvalidHistory)]);
    let stubborn = Fallback::new([other]).with_rule(|_| true);
    assert_eq!(layered(handle, stubborn).complete(ask()).await.unwrap().message.text(), "never");
}

// The report of a chain of models about tools is that of each of them, through all layers
#[test]
fn tools_are_checked_for_all_models() {
    let schema =
        json!({"type": "object", "properties": {}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let tools = ToolSet::new([ToolDefinition::new("find", "", schema)]).unwrap();
    let claude = ModelHandle::new(Anthropic::new("claude-opus-4-8", "key").unwrap());
    let chat = ModelHandle::new(OpenAiChat::new("gpt-4o", "key").unwrap());
    let (_, scripted) = scripted([]);
    let chain = layered(scripted, Fallback::new([claude, chat]));
    let chain = layered(layered(chain, Arc::new(Logged::new())), ConcurrencyLimit::new(1));
    let refused = chain.check_tools(&tools, &ModelSettings::new()).refused;
    assert_eq!(refused.len(), 2, "nobody holds calls to the schema");
    assert!(refused[0].why.starts_with("anthropic/claude-opus-4-8: "), "{}", refused[0]);
    let check = chain.check_tools(&tools.with_validation(true), &ModelSettings::new());
    let loosened: Vec<_> =
        check.loosened.iter().map(|one| (one.keyword.as_str(), one.why.contains("gpt-4o"))).collect();
    assert_eq!((check.refused.len(), loosened), (0, vec![("anyOf", false), ("anyOf", true)]));
}

// C24: the PDF stands in the result for one API, and in a message behind it for the other
#[tokio::test]
async fn documents_are_routed_anew_for_the_model_that_answers() {
    let pdf = Document::from_bytes(&b"%PDF-1.4 a lease"[..], "application/pdf").with_file_name("lease.pdf");
    let call = ToolCall::new("find", Arguments::new("{}"));
    let tree = Capture::new().finish(&pdf).unwrap();
    let result = ToolResult::new(&call, ResultStatus::Ok, tree);
    let window = [
        Message::user("Until when does the lease run?").shared(),
        Message::Assistant(AssistantMessage::new([call.clone().into()])).shared(),
        Message::ToolResults(ToolResultsMessage::new([result])).shared(),
    ];
    let tools: Arc<ToolSet> =
        Arc::new(ToolSet::new([ToolDefinition::new("find", "Finds", json!({"type": "object"}))]).unwrap());
    let anthropic = MockProvider::start().await.unwrap();
    let openai = MockProvider::start().await.unwrap();
    let quick = RetryPolicy::new().with_attempts(1);
    let first: ModelHandle = Anthropic::new("claude-sonnet-4-5", "k")
        .unwrap()
        .with_base_url(anthropic.url())
        .with_retry(quick.clone())
        .into();
    let second: ModelHandle = OpenAiChat::new("gpt-4o", "k")
        .unwrap()
        .with_base_url(format!("{}/v1", openai.url()))
        .with_retry(quick)
        .into();
    anthropic.enqueue(Reply::error(529, "overloaded"));
    openai.enqueue(Reply::new().text("Until 2031."));

    let options = RouteOptions::new();
    let routing = route(&window, first.capabilities(), &tools, &Materials::new(), &options).unwrap();
    assert_eq!(routing.report.decisions[0].outcome, DocumentOutcome::Native);
    let request = ChatRequest::new(routing.messages).with_tools(Arc::clone(&tools));
    let chain = layered(first, Fallback::new([second]));
    assert_eq!(chain.complete(request).await.unwrap().message.text(), "Until 2031.");

    for mock in [&anthropic, &openai] {
        assert!(mock.violations().is_empty(), "{:?}", mock.violations());
        let request = &mock.requests()[0];
        let seen = seen_documents(request.api.unwrap(), request.json.as_deref().unwrap());
        assert_eq!(seen.len(), 1, "{:?}", request.json);
        assert!(seen[0].sha256.is_some(), "the bytes arrived");
    }
}

// C25: what the agent's report tells of is the first model's routing
#[tokio::test]
async fn documents_that_the_model_that_answers_is_not_shown_are_told() {
    let file = |n: usize| {
        let pdf = Document::from_bytes(format!("%PDF-1.4 {n}").into_bytes(), "application/pdf");
        UserPart::Document(pdf.with_file_name(format!("{n}.pdf")))
    };
    for (count, told) in [(0, 0), (2, 2), (11, 9)] {
        let mut event = UserMessage::new((0..count).map(file).chain(UserPart::text("They came.")).map(Some));
        event.origin = UserOrigin::Event;
        let first = ScriptedModel::new([failing(ErrorKind::Overloaded)])
            .with_capabilities_of("anthropic", "claude-opus-4-8");
        let chain = layered(first, Fallback::new([scripted([Turn::text("Nothing.")]).1]));
        let options = RouteOptions::new();
        let window = [Message::User(event).shared()];
        let routed =
            route(&window, chain.capabilities(), &ToolSet::default(), &Materials::new(), &options).unwrap();
        assert_eq!(routed.report.count(DocumentOutcome::Native), count);
        let done = chain.complete(ChatRequest::new(routed.messages)).await.unwrap();
        let notes = done.degradations.iter().filter(|one| one.option == "documents");
        let notes: Vec<_> = notes.map(|one| one.note.as_str()).collect();
        assert_eq!(notes.len(), told, "{notes:?}");
        if let Some(note) = notes.first() {
            assert!(note.starts_with("scripted/model: 0.pdf (application/pdf): note, "), "{note}");
        }
        assert_eq!(notes.last().is_some_and(|note| note.contains("3 more")), count == 11, "{notes:?}");
    }
}

fn region(name: &str) -> Option<String> {
    (name == "AWS_REGION").then(|| "us-east-1".to_owned())
}

// Citations are an option of the request that the first model has.
#[tokio::test]
async fn documents_are_cited_by_the_model_that_answers_if_it_can() {
    let notes = Document::from_bytes(&b"The rent is EUR 900."[..], "text/plain").with_file_name("notes.txt");
    let window = [Message::User(UserMessage::new([UserPart::text("The rent?"), notes.into()])).shared()];
    for (other, cites) in
        [("openai-chat/gpt-4o", false), ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", true)]
    {
        let (anthropic, mock) = (MockProvider::start().await.unwrap(), MockProvider::start().await.unwrap());
        let once = RetryPolicy::new().with_attempts(1);
        let at = |model: &str, url: String| {
            let http = HttpSettings::new().with_retry(once.clone()).with_auth("key");
            let registry = Registry::bundled().with_environment(Environment::new(region));
            registry.with_base_url(url).with_http(http).model(model).unwrap()
        };
        let first = at("anthropic/claude-sonnet-4-5", anthropic.url().to_owned());
        let end = if cites { "" } else { "/v1" };
        let chain = layered(first.clone(), Fallback::new([at(other, format!("{}{end}", mock.url()))]));
        for streaming in [true, false] {
            anthropic.enqueue(Reply::error(529, "overloaded"));
            mock.enqueue(Reply::new().text("EUR 900."));
            let options = RouteOptions::new().with_citations(true);
            let tools = ToolSet::default();
            let routed = route(&window, first.capabilities(), &tools, &Materials::new(), &options).unwrap();
            let mut request = ChatRequest::new(routed.messages).streaming(streaming);
            request.settings.citations = Some(true);
            let completion = chain.complete(request).await.unwrap();
            assert_eq!(completion.message.text(), "EUR 900.");
            let notes: Vec<_> = completion.degradations.iter().map(|note| note.option.as_str()).collect();
            assert_eq!(notes, if cites { &["model"][..] } else { &["model", "citations"] });
        }
        for (mock, cites) in [(&anthropic, true), (&mock, cites)] {
            assert!(mock.violations().is_empty(), "{:?}", mock.violations());
            assert_eq!(mock.requests().len(), 2);
            for request in mock.requests() {
                let body = request.json.as_deref().unwrap().to_string();
                assert!(body.contains("The rent is EUR 900."), "{body}");
                assert_eq!(body.contains(r#""citations":{"enabled":true}"#), cites, "{body}");
            }
        }
    }
}

/// Fetches one PDF from anywhere, and counts.
#[derive(Default)]
struct Archive(std::sync::atomic::AtomicUsize);

impl Fetcher for Archive {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async { Ok(Fetched::new(&b"%PDF-1.4 a lease"[..])) })
    }
}

// An address that went to the first model as such is fetched for the one that takes none.
#[tokio::test]
async fn addresses_are_fetched_for_a_model_that_takes_none() {
    let lease = Document::external("https://files.example/lease.pdf?sig=canary");
    let window = [Message::User(UserMessage::new([lease.into()])).shared()];
    let options = RouteOptions::new().with_external(ExternalDocuments::PassUrl);
    let first = ScriptedModel::new([failing(ErrorKind::Overloaded)])
        .with_capabilities_of("anthropic", "claude-opus-4-8");
    let second =
        ScriptedModel::new([Turn::text("Until 2031.")]).with_capabilities_of("openai-chat", "gpt-4o");
    let (handle, other) = (ModelHandle::from(first.clone()), ModelHandle::from(second.clone()));
    let tools = ToolSet::default();
    let routing = route(&window, handle.capabilities(), &tools, &Materials::new(), &options).unwrap();
    let archive = Arc::new(Archive::default());
    let chain = layered(handle, Fallback::new([other]).with_routing(options).with_fetcher(archive.clone()));
    let completion = chain.complete(ChatRequest::new(routing.messages)).await.unwrap();
    assert_eq!(completion.message.text(), "Until 2031.");
    let shown = |model: &ScriptedModel| match &*model.requests()[0].messages[0] {
        Message::User(user) => user.shown().to_vec(),
        _ => panic!("the question"),
    };
    let (passed, fetched) = (shown(&first), shown(&second));
    let at = |content: &UserPart| match content {
        UserPart::Document(document) => document.bytes().map(|bytes| bytes.len()),
        _ => panic!("a document"),
    };
    assert_eq!((at(&passed[0]), at(&fetched[0])), (None, Some(16)));
    assert_eq!(archive.0.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// The events that `tracing` was told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl tracing::field::Visit for Fields {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Told {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("attache_models")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

// Invariant 11: what happened, not what was said
#[tokio::test]
async fn calls_are_logged_without_their_content() {
    let told = Told::default();
    let _guard = tracing::subscriber::set_default(told.clone());
    let (_, handle) = scripted([
        Turn::text("canary answer").costing(Usage::new(3, 4)),
        failing(ErrorKind::RateLimited),
        Turn::text("canary").then_hang(),
    ]);
    let handle = layered(handle, Logged::new());
    let canary = || ChatRequest::new([Message::user("canary question").shared()]);
    handle.complete(canary()).await.unwrap();
    handle.complete(canary()).await.unwrap_err();
    let mut dropped = handle.stream(canary());
    assert!(matches!(dropped.next().await, Some(Ok(StreamChunk::Content(_)))));
    drop(dropped);
    drop(handle.stream(canary()));
    let told = told.0.lock().unwrap();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains("output_tokens=4") && told[0].contains("finish_reason=\"stop\""), "{told:?}");
    assert!(told[1].contains("rate_limited") && told[2].contains("dropped"), "{told:?}");
    assert!(!told.join(" ").contains("canary"), "{told:?}");
}

#[tokio::test]
async fn layers_are_composed_and_shared() {
    let (model, handle) = scripted([failing(ErrorKind::Overloaded), Turn::text("a"), Turn::text("b")]);
    let limit: Arc<dyn Layer> = Arc::new(ConcurrencyLimit::new(1));
    let retry =
        Retry::new(RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1)));
    let one = layered(layered(handle.clone(), Arc::clone(&limit)), retry);
    let other = layered(handle, limit);
    assert_eq!(one.id(), other.id());
    let (a, b) = tokio::join!(one.complete(ask()), other.complete(ask()));
    assert!(a.is_ok() && b.is_ok());
    assert_eq!(model.requests().len(), 3);
}
