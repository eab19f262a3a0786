//! Documents that are uploaded once and named in requests, on each API that keeps files: Messages, both of OpenAI's,
//! generateContent. The mock provider refuses references to what it does not keep, and looks into files when it tells
//! which documents a request holds.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, RunInput, tool_fn};
use attache_anthropic::Anthropic;
use attache_conformance::{MockProvider, RecordedRequest, Reply, Rules, SeenPlace, sha256_hex};
use attache_core::capability::{Matrix, Place};
use attache_core::files::FileReferences;
use attache_core::schemars::{self, JsonSchema};
use attache_core::settings::CachePolicy;
use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, Completion, Document, LlmProvider, Message,
    ModelCapabilities, ModelHandle, ModelSettings, ToolError, Transcript, UserMessage, UserPart,
};
use attache_gemini::Gemini;
use attache_openai::{OpenAi, OpenAiChat};
use attache_tests::{Api, PDF_APIS};
use attache_transport::{Codec, HttpClient, HttpModel, RetryPolicy, Timeouts, Uploads};
use http::Method;
use serde_json::{Value, json};

/// The size from which these tests upload: the default is for real documents.
const THRESHOLD: u64 = 10_000;

#[derive(serde::Deserialize, JsonSchema)]
struct Number {
    number: u32,
}

/// The APIs that keep files, each with whether it takes references to images of a user and to PDFs of results.
fn keepers() -> Vec<(Api, bool, bool)> {
    vec![
        (Api::OpenAi, true, true),
        (Api::OpenAiChat, false, true),
        (Api::Anthropic, true, true),
        (Api::Gemini, true, false),
    ]
}

fn uploads() -> Uploads {
    Uploads::above(THRESHOLD)
}

fn model(api: Api, mock: &MockProvider, uploads: impl Into<Option<Uploads>>) -> ModelHandle {
    model_with(api, mock, uploads, "sk-canary", ModelSettings::new())
}

fn model_with(
    api: Api,
    mock: &MockProvider,
    uploads: impl Into<Option<Uploads>>,
    key: &str,
    config: ModelSettings,
) -> ModelHandle {
    fn made<C: Codec + Clone>(
        model: HttpModel<C>,
        url: String,
        uploads: Option<Uploads>,
        config: ModelSettings,
    ) -> ModelHandle {
        let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
        let model = model.with_base_url(url).with_http(HttpClient::new(Timeouts::default()));
        model.with_retry(retry).with_settings(config).with_uploads(uploads).into()
    }
    let (name, uploads) = (api.model(), uploads.into());
    let at = |path: &str| format!("{}{path}", mock.url());
    match api {
        Api::OpenAi => made(OpenAi::new(name, key).unwrap(), at("/v1"), uploads, config),
        Api::OpenAiChat => made(OpenAiChat::new(name, key).unwrap(), at("/v1"), uploads, config),
        Api::Anthropic => made(Anthropic::new(name, key).unwrap(), at(""), uploads, config),
        Api::Gemini => made(Gemini::new(name, key).unwrap(), at(""), uploads, config),
        Api::Bedrock | Api::Cohere | Api::Ollama => panic!("it keeps no files"),
    }
}

fn pdf(name: &str, bytes: usize) -> Document {
    let mut content = format!("%PDF-1.7\n% {name}\n").into_bytes();
    content.resize(bytes, b'x');
    Document::from_bytes(content, "application/pdf").with_file_name(name)
}

fn png(bytes: usize) -> Document {
    let mut content = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    content.extend([0, 0, 0, 64, 0, 0, 0, 64, 8, 2, 0, 0, 0]);
    content.resize(bytes, 7);
    Document::from_bytes(content, "image/png").with_file_name("photo.png")
}

fn asking(documents: &[Document]) -> Arc<Message> {
    let parts = documents.iter().cloned().map(|document| Some(UserPart::Document(document)));
    Message::User(UserMessage::new(parts.chain([UserPart::text("What is it?")]))).shared()
}

fn request(documents: &[Document]) -> ChatRequest {
    ChatRequest::new([asking(documents)]).streaming(false)
}

async fn ask(model: &ModelHandle, request: ChatRequest) -> Completion {
    model.complete(request).await.unwrap()
}

/// The requests that are no requests about files.
fn calls(mock: &MockProvider) -> Vec<RecordedRequest> {
    let is_call = |request: &RecordedRequest| !request.uri.path().contains("/files");
    mock.requests().into_iter().filter(is_call).collect()
}

/// The number of documents that were uploaded. Gemini needs two requests for one.
fn uploaded(mock: &MockProvider) -> usize {
    let begins = |request: &RecordedRequest| {
        request.method == Method::POST && request.header("x-goog-upload-command") != "upload, finalize"
    };
    mock.file_requests().iter().filter(|request| begins(request)).count()
}

/// The content and the reference of each document of a request.
fn seen(mock: &MockProvider, request: &RecordedRequest) -> Vec<(String, bool)> {
    let documents = mock.seen_documents(request).into_iter();
    documents.map(|document| (document.sha256.unwrap_or_default(), document.reference.is_some())).collect()
}

fn content(document: &Document) -> String {
    sha256_hex(&document.bytes().unwrap())
}

fn fine(mock: &MockProvider, api: Api) {
    assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
}

/// The messages of a body, each as text.
fn messages(api: Api, body: &Value) -> Vec<String> {
    let name = match api {
        Api::OpenAi => "input",
        Api::Gemini => "contents",
        _ => "messages",
    };
    let mut list = body[name].as_array().unwrap().clone();
    list.iter_mut().for_each(unmarked);
    list.iter().map(Value::to_string).collect()
}

fn unmarked(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("cache_control");
            object.values_mut().for_each(unmarked);
        }
        Value::Array(list) => list.iter_mut().for_each(unmarked),
        _ => {}
    }
}

#[tokio::test]
async fn a_large_document_is_uploaded_once_and_named_at_every_step() {
    for (api, user_refers, result_refers) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        let shared = uploads();
        let (photo, report, small) = (png(20_000), pdf("report.pdf", 30_000), pdf("small.pdf", 2_000));
        let (from_tool, beside) = (report.clone(), small.clone());
        let read = || {
            let (report, small) = (from_tool.clone(), beside.clone());
            tool_fn("read", "Reads a page", move |Number { number }: Number| {
                let (report, small) = (report.clone(), small.clone());
                async move { Ok::<_, ToolError>(json!({ "page": number, "report": report, "note": small })) }
            })
        };
        for conversation in 0..2 {
            // Another handle on the same model, and another conversation.
            let agent = Agent::builder(model(api, &mock, shared.clone())).tool(read()).build().unwrap();
            mock.enqueue(Reply::new().call("call00001", "read", json!({"number": 1})));
            mock.enqueue(Reply::new().call("call00002", "read", json!({"number": 2})));
            mock.enqueue(Reply::new().text("done"));
            agent.run(RunInput::new([asking(std::slice::from_ref(&photo))])).outcome().await.unwrap();
            fine(&mock, api);
            let calls = calls(&mock).split_off(conversation * 3);
            assert_eq!(calls.len(), 3, "{}", api.name());
            for (step, call) in calls.iter().enumerate() {
                let seen = seen(&mock, call);
                let context = format!("{} conversation {conversation} step {step}: {seen:?}", api.name());
                let of = |document: &Document| {
                    let hash = content(document);
                    seen.iter().filter(|(seen, _)| *seen == hash).map(|(_, named)| *named).collect::<Vec<_>>()
                };
                assert_eq!(of(&photo), [user_refers], "{context}");
                if step > 0 {
                    assert_eq!(of(&report), [result_refers], "{context}");
                    assert_eq!(of(&small), [false], "below the threshold: {context}");
                }
            }
            // Invariant 4
            for pair in calls.windows(2) {
                let [before, after] = [&pair[0], &pair[1]].map(|call| messages(api, call.json()));
                assert_eq!(before, after[..before.len()], "{}", api.name());
            }
        }
        let expected = usize::from(user_refers) + usize::from(result_refers);
        assert_eq!(uploaded(&mock), expected, "{}", api.name());
        assert_eq!(mock.files().len(), expected);
        let listed = shared.uploaded();
        assert_eq!(listed.len(), expected);
        for (file, listed) in mock.files().iter().zip(&listed) {
            assert_eq!((&file.id, &file.file_name), (&listed.id, &listed.file_name), "{}", api.name());
            assert!(mock.url().ends_with(&listed.host), "{} {}", mock.url(), listed.host);
        }
    }
}

// documents.md 9.2: the place of a document in a result is kept where the API allows it.
#[tokio::test]
async fn references_stand_where_the_documents_stood() {
    for (api, _, result_refers) in keepers().into_iter().filter(|(_, _, refers)| *refers) {
        let mock = MockProvider::start().await.unwrap();
        let read = tool_fn("read", "Reads", |Number { number }: Number| async move {
            let report = pdf("report.pdf", 30_000);
            Ok::<_, ToolError>(json!({ "page": number, "report": report }))
        });
        let agent = Agent::builder(model(api, &mock, uploads())).tool(read).build().unwrap();
        mock.enqueue(Reply::new().call("call00001", "read", json!({"number": 1})));
        mock.enqueue(Reply::new().text("done"));
        agent.run("Read it").outcome().await.unwrap();
        fine(&mock, api);
        let documents = mock.seen_documents(&calls(&mock)[1]);
        let [document] = &documents[..] else { panic!("{}: {documents:?}", api.name()) };
        let place = if api == Api::OpenAiChat { SeenPlace::User } else { SeenPlace::ToolResult };
        assert_eq!((document.place, document.reference.is_some()), (place, result_refers));
        assert_eq!(document.tool_call_id.as_deref(), Some("call00001"), "{}", api.name());
        assert_eq!(document.file_name.as_deref(), Some("report.pdf"), "{}", api.name());
        assert_eq!(document.media_type, "application/pdf", "{}", api.name());
    }
}

#[tokio::test]
async fn without_the_switch_and_below_the_threshold_nothing_is_uploaded() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let (large, small) = (pdf("large.pdf", 20_000), pdf("small.pdf", 9_999));
        ask(&model(api, &mock, None), request(std::slice::from_ref(&large))).await;
        ask(&model(api, &mock, uploads()), request(std::slice::from_ref(&small))).await;
        fine(&mock, api);
        assert!(mock.file_requests().is_empty(), "{}", api.name());
        let calls = calls(&mock);
        assert_eq!(seen(&mock, &calls[0]), [(content(&large), false)], "{}", api.name());
        assert_eq!(seen(&mock, &calls[1]), [(content(&small), false)], "{}", api.name());
    }
}

#[tokio::test]
async fn requests_at_the_same_time_upload_once() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let shared = uploads();
        let documents = [pdf("a.pdf", 20_000), pdf("b.pdf", 20_000), pdf("a.pdf", 20_000)];
        let models: Vec<_> = (0..8).map(|_| model(api, &mock, shared.clone())).collect();
        let asked = models.iter().map(|model| ask(model, request(&documents)));
        futures_util::future::join_all(asked).await;
        fine(&mock, api);
        assert_eq!((uploaded(&mock), calls(&mock).len()), (2, 8), "{}", api.name());
        for call in calls(&mock) {
            let all = [&documents[0], &documents[1], &documents[2]].map(|document| (content(document), true));
            assert_eq!(seen(&mock, &call), all, "{}", api.name());
        }
    }
}

#[tokio::test]
async fn other_credentials_have_files_of_their_own() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let shared = uploads();
        for key in ["sk-one", "sk-two", "sk-one"] {
            let model = model_with(api, &mock, shared.clone(), key, ModelSettings::new());
            ask(&model, request(&[pdf("a.pdf", 20_000)])).await;
        }
        // The mock refuses a file of another key.
        fine(&mock, api);
        assert_eq!(uploaded(&mock), 2, "{}", api.name());
    }
}

#[tokio::test]
async fn an_upload_about_to_expire_is_repeated() {
    for (api, ..) in keepers() {
        let rules = Rules::new().with_file_lifetime(Duration::from_secs(60));
        let mock = MockProvider::start_with(Some(rules)).await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let model = model(api, &mock, uploads());
        let transcript = Transcript::new();
        for _ in 0..2 {
            let request = request(&[pdf("a.pdf", 20_000)]).with_transcript(transcript.clone());
            ask(&model, request).await;
        }
        fine(&mock, api);
        assert_eq!(uploaded(&mock), 2, "{}", api.name());
        let [first, second] = calls(&mock).try_into().unwrap();
        let reference = |call| mock.seen_documents(call)[0].reference.clone().unwrap();
        assert_ne!(
            reference(&first),
            reference(&second),
            "{}: what was rendered is rendered anew",
            api.name()
        );
    }
}

#[tokio::test]
async fn a_lost_upload_is_repeated_within_the_call() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let model = model(api, &mock, uploads());
        let transcript = Transcript::new();
        let message = asking(&[pdf("a.pdf", 20_000), pdf("b.pdf", 20_000)]);
        let request = || ChatRequest::new([Arc::clone(&message)]).with_transcript(transcript.clone());
        ask(&model, request()).await;
        mock.expire_files();
        let completion = ask(&model, request()).await;
        assert!(completion.degradations.is_empty(), "{}: {:?}", api.name(), completion.degradations);
        ask(&model, request()).await;
        assert_eq!(mock.violations().len(), 1, "{}: an error names one, and both are uploaded", api.name());
        let last = calls(&mock).pop().unwrap();
        let expected =
            [pdf("a.pdf", 20_000), pdf("b.pdf", 20_000)].map(|document| (content(&document), true));
        assert_eq!(seen(&mock, &last), expected, "{}", api.name());
        assert_eq!(mock.files().len(), 2, "{}", api.name());
    }
}

// A gateway may send uploads and requests to different places.
#[tokio::test]
async fn a_file_that_is_lost_at_once_goes_with_the_request() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let model = model(api, &mock, uploads());
        mock.enqueue_for_files(Reply::json(
            200,
            &match api {
                Api::Anthropic => json!({"type": "file", "id": "file_elsewhere", "filename": "a.pdf"}),
                Api::Gemini => json!({"file": {"name": "files/elsewhere", "state": "ACTIVE",
                    "uri": "https://generativelanguage.googleapis.com/v1beta/files/elsewhere"}}),
                _ => json!({"object": "file", "id": "file-elsewhere"}),
            },
        ));
        for _ in 0..2 {
            let completion = ask(&model, request(&[pdf("a.pdf", 20_000)])).await;
            let note = &completion.degradations[0];
            assert!(note.option == "uploads" && note.note.contains("a.pdf (20000 bytes)"), "{note:?}");
        }
        assert_eq!(uploaded(&mock), 1, "{}: it is not tried again", api.name());
        assert_eq!(mock.violations().len(), 1, "{}", api.name());
        for call in &calls(&mock)[1..] {
            assert_eq!(seen(&mock, call), [(content(&pdf("a.pdf", 20_000)), false)], "{}", api.name());
        }
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_uploaded_goes_with_the_request() {
    // Each with how often it is tried.
    let failures: [(usize, fn() -> Reply); 4] = [
        (3, || Reply::error(500, "busy")),
        (1, || Reply::html(413)),
        (1, || Reply::raw(200, "text/html", "<html>a page</html>")),
        (1, || Reply::error(500, "late").delay_first(Duration::from_secs(60))),
    ];
    for (api, ..) in keepers() {
        for (which, (attempts, failure)) in failures.into_iter().enumerate() {
            let context = format!("{} {which}", api.name());
            let mock = MockProvider::start().await.unwrap();
            mock.respond_with(|_| Reply::new().text("ok"));
            (0..attempts).for_each(|_| mock.enqueue_for_files(failure()));
            let shared = uploads().with_timeout(Duration::from_millis(if which == 3 { 300 } else { 60_000 }));
            let model = model(api, &mock, shared.clone());
            let transcript = Transcript::new();
            let (bad, good) = (pdf("bad.pdf", 20_000), pdf("good.pdf", 20_000));
            let first = asking(std::slice::from_ref(&bad));
            let request = ChatRequest::new([Arc::clone(&first)]).with_transcript(transcript.clone());
            let completion = ask(&model, request).await;
            let note = completion.degradations.first().unwrap_or_else(|| panic!("{context}"));
            assert_eq!(note.option, "uploads", "{context}");
            let said = "bad.pdf (20000 bytes) was sent with the request: ";
            assert!(note.note.starts_with(said) && note.note.len() > said.len(), "{context}: {note:?}");
            assert_eq!(uploaded(&mock), attempts, "{context}");

            // Now it would succeed. The part that was sent stays as it was; another document is uploaded.
            shared.forget_all();
            let answer = Message::Assistant(AssistantMessage::new([AssistantPart::text("ok")])).shared();
            let request = ChatRequest::new([first, answer, asking(std::slice::from_ref(&good))])
                .with_transcript(transcript);
            let completion = ask(&model, request).await;
            assert!(completion.degradations.is_empty(), "{context}: {:?}", completion.degradations);
            let [one, two] = calls(&mock).try_into().unwrap();
            assert_eq!(seen(&mock, &two), [(content(&bad), false), (content(&good), true)], "{context}");
            let [one, two] = [one, two].map(|call| messages(api, call.json()));
            assert_eq!(one, two[..one.len()], "{context}");
            fine(&mock, api);
        }
    }
}

#[tokio::test]
async fn an_account_that_takes_no_files_is_not_asked_for_each() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        mock.enqueue_for_files(Reply::error(403, "Storage limit exceeded"));
        let model = model(api, &mock, uploads());
        for name in ["a.pdf", "b.pdf", "c.pdf"] {
            let completion = ask(&model, request(&[pdf(name, 20_000)])).await;
            assert_eq!(completion.degradations.len(), 1, "{}", api.name());
        }
        assert_eq!(uploaded(&mock), 1, "{}", api.name());
        fine(&mock, api);
    }
}

#[tokio::test]
async fn uploads_can_be_deleted() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let shared = uploads();
        let model = model(api, &mock, shared.clone());
        let documents = [pdf("a.pdf", 20_000), pdf("b.pdf", 20_000)];
        ask(&model, request(&documents)).await;
        let names: Vec<_> = shared.uploaded().into_iter().map(|file| file.file_name).collect();
        assert_eq!(names, ["a.pdf", "b.pdf"], "{}", api.name());

        mock.enqueue_for_files(Reply::error(403, "not yours"));
        shared.delete_all().await.unwrap_err();
        assert_eq!(
            (shared.uploaded().len(), mock.files().len()),
            (1, 1),
            "{}: the other is gone",
            api.name()
        );
        assert_eq!(shared.delete_all().await.unwrap(), 1, "{}", api.name());
        assert!(mock.files().is_empty() && shared.uploaded().is_empty(), "{}", api.name());

        ask(&model, request(&documents)).await;
        mock.expire_files();
        assert_eq!(shared.delete_all().await.unwrap(), 2, "{}: what is gone is deleted", api.name());
        assert_eq!(shared.delete_all().await.unwrap(), 0, "{}", api.name());
    }
}

// Invariant 8
#[tokio::test]
async fn a_dropped_call_leaves_the_upload_to_the_next() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        mock.enqueue_for_files(Reply::error(500, "late").delay_first(Duration::from_secs(60)));
        let shared = uploads();
        let (one, two) = (model(api, &mock, shared.clone()), model(api, &mock, shared.clone()));
        let first = tokio::spawn(async move { one.complete(request(&[pdf("a.pdf", 20_000)])).await });
        assert!(mock.wait_for_requests(1, Duration::from_secs(10)).await);
        let second = tokio::spawn(async move { two.complete(request(&[pdf("a.pdf", 20_000)])).await });
        first.abort();
        let completion = second.await.unwrap().unwrap();
        assert!(completion.degradations.is_empty(), "{}: {:?}", api.name(), completion.degradations);
        assert_eq!(mock.files().len(), 1, "{}", api.name());
        let [call] = calls(&mock).try_into().unwrap();
        assert_eq!(seen(&mock, &call), [(content(&pdf("a.pdf", 20_000)), true)], "{}", api.name());
    }
}

// Invariant 11
#[tokio::test]
async fn no_secret_comes_back_from_an_upload() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        mock.enqueue_for_files(Reply::error(400, "the key sk-canary may not upload"));
        let shared = uploads();
        let config = ModelSettings::new().with_extra_header("x-canary", "header-canary");
        let model = model_with(api, &mock, shared.clone(), "sk-canary", config);
        let first = ask(&model, request(&[pdf("a.pdf", 20_000)])).await;
        let second = ask(&model, request(&[pdf("b.pdf", 20_000)])).await;
        let shown = format!("{first:?} {second:?} {shared:?} {:?} {model:?}", shared.uploaded());
        assert!(shown.contains("the key *** may not upload"), "{}: {shown}", api.name());
        assert!(!shown.contains("canary"), "{}: {shown}", api.name());
        assert_eq!(shared.uploaded().len(), 1);
    }
}

#[tokio::test]
async fn a_file_that_is_processed_is_waited_for() {
    let mock = MockProvider::start_with(Some(Rules::new().with_file_processing(1))).await.unwrap();
    mock.respond_with(|_| Reply::new().text("ok"));
    ask(&model(Api::Gemini, &mock, uploads()), request(&[pdf("a.pdf", 20_000)])).await;
    fine(&mock, Api::Gemini);
    let ways: Vec<_> = mock.file_requests().iter().map(|request| request.method.clone()).collect();
    assert_eq!(ways, [Method::POST, Method::POST, Method::GET]);
}

// P29: what is kept of a conversation names files too, is made again with them, and outlives them
#[tokio::test]
async fn cached_contents_name_files() {
    for lifetime in [60, 48 * 3_600] {
        let rules = Rules::new().with_file_lifetime(Duration::from_secs(lifetime));
        let mock = MockProvider::start_with(Some(rules)).await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let config = ModelSettings::new().with_cache(CachePolicy::Short).with_system("Read. ".repeat(6_000));
        let model = model_with(Api::Gemini, &mock, uploads(), "sk-canary", config);
        let transcript = Transcript::new();
        let message = asking(&[pdf("a.pdf", 4_000_000)]);
        for _ in 0..2 {
            let request = ChatRequest::new([Arc::clone(&message)]).with_transcript(transcript.clone());
            ask(&model, request).await;
            fine(&mock, Api::Gemini);
            mock.expire_files();
        }
        let kept =
            mock.requests().into_iter().filter(|request| request.uri.path().ends_with("cachedContents"));
        let uris =
            kept.map(|request| request.json()["contents"][0]["parts"][0]["fileData"]["fileUri"].clone());
        let uris: Vec<_> = uris.collect();
        assert!(uris.iter().all(Value::is_string), "{uris:?}");
        assert_eq!(uris.len(), if lifetime == 60 { 2 } else { 1 }, "{uris:?}");
        assert!(uris.len() == 1 || uris[0] != uris[1], "{uris:?}");
        assert!(
            calls(&mock).iter().all(
                |call| !call.uri.path().contains("UserPart:") || call.json()["cachedContent"].is_string()
            )
        );
    }
}

#[tokio::test]
async fn files_of_the_caller_are_named_without_the_switch() {
    for (api, ..) in keepers() {
        let mock = MockProvider::start().await.unwrap();
        mock.respond_with(|_| Reply::new().text("ok"));
        let document = pdf("a.pdf", 20_000);
        ask(&model(api, &mock, uploads()), request(std::slice::from_ref(&document))).await;
        let reference = mock.seen_documents(&calls(&mock)[0])[0].reference.clone().unwrap();
        let mut files = FileReferences::new();
        files.insert(&document, reference);
        ask(&model(api, &mock, None), request(std::slice::from_ref(&document)).with_files(files)).await;
        fine(&mock, api);
        assert_eq!(seen(&mock, &calls(&mock)[1]), [(content(&document), true)], "{}", api.name());
        assert_eq!(uploaded(&mock), 1, "{}", api.name());
    }
}

#[test]
fn a_model_that_uploads_says_so() {
    for api in PDF_APIS {
        let document = pdf("a.pdf", 20_000);
        let takes = |uploads: Option<Uploads>| {
            // No mock is asked: the address is of no account.
            let url = "http://127.0.0.1:9".to_owned();
            let capabilities = match api {
                Api::OpenAi => capabilities(OpenAi::new("gpt-5.1", "k").unwrap(), url, uploads),
                Api::OpenAiChat => capabilities(OpenAiChat::new("gpt-4o", "k").unwrap(), url, uploads),
                Api::Anthropic => capabilities(Anthropic::new("claude-opus-4-8", "k").unwrap(), url, uploads),
                Api::Gemini => capabilities(Gemini::new("gemini-2.5-pro", "k").unwrap(), url, uploads),
                Api::Bedrock => {
                    let codec = attache_bedrock::ConverseCodec::new(api.model()).with_region("us-east-1");
                    capabilities(attache_bedrock::Bedrock::new(codec, "k").unwrap(), url, uploads)
                }
                Api::Cohere | Api::Ollama => panic!("they read no PDFs"),
            };
            capabilities.uploads(Place::User, document.media_type(), 20_000)
        };
        assert!(!takes(None), "{}", api.name());
        assert_eq!(takes(Some(uploads())), api != Api::Bedrock, "{}", api.name());
        assert!(!takes(Some(Uploads::above(20_001))), "{}", api.name());
    }
}

fn capabilities<C: Codec + Clone>(
    model: HttpModel<C>,
    url: String,
    uploads: Option<Uploads>,
) -> ModelCapabilities {
    // In whichever order it is told.
    let model = model.with_uploads(uploads).with_matrix(Matrix::bundled()).with_base_url(url);
    LlmProvider::capabilities(&model).clone()
}
