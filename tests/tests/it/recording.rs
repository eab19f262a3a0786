//! Runs of each API recorded and replayed: no secret is in a recording, and a request that differs is told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use attache::{Agent, Document, agent::tool_fn};
use attache_conformance::{MockProvider, Reply};
use attache_core::{ChatRequest, ErrorKind, Message, ModelHandle, ModelSettings};
use attache_testkit::{Cassette, Fixed, Player, Recorder};
use attache_tests::{APIS, Api};
use attache_transport::{HttpClient, RetryPolicy, Timeouts};
use http::StatusCode;
use serde_json::json;

const CANARY: &str = "canary";

fn model(api: Api, url: &str, http: HttpClient) -> ModelHandle {
    let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
    api.reached_through(api.model(), url, ModelSettings::new(), http, retry).unwrap()
}

/// A client with connections of its own, since they live on the runtime that opened them.
fn own() -> HttpClient {
    HttpClient::new(Timeouts::default())
}

/// An agent that fetches a lease, and is told secrets.
async fn run(model: ModelHandle, question: &str) -> Result<String, Box<dyn std::error::Error>> {
    let _fixed = Fixed::new();
    let fetch = tool_fn("fetch", "Fetches the lease.", || {
        Ok(Document::from_bytes("%PDF-1.7 rent: 900", "application/pdf").with_file_name("lease.pdf"))
    });
    let agent = Agent::builder(model).tool(fetch).build()?;
    Ok(agent.run(question).outcome().await?.text)
}

/// A recording of that run, whose model is busy once.
async fn recorded(api: Api, answer: &str) -> Recorder {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::error(429, "slow down, sk-canary"));
    mock.enqueue(Reply::new().call("call_7", "fetch", json!({})));
    mock.enqueue(Reply::new().text(answer));
    let recorder = Recorder::new(api.name()).with_secret("project-canary");
    let model = model(api, mock.url(), recorder.over(&own()));
    run(model, "My key is sk-canary, of project-canary.").await.unwrap();
    recorder
}

#[tokio::test]
async fn a_recorded_run_is_replayed_without_a_network_and_without_secrets() {
    for api in APIS {
        // The text of a binary body cannot be changed; the test below has that case.
        let answer = if api == Api::Bedrock { "EUR 900." } else { "EUR 900, project-canary." };
        let recorder = recorded(api, answer).await;
        let cassette = recorder.cassette().unwrap();
        let statuses: Vec<u16> = cassette.interactions.iter().map(|each| each.response.status).collect();
        assert_eq!(statuses, [429, 200, 200], "{}", api.name());

        // The decoders of the command read it too.
        let response = &cassette.interactions[2].response;
        let status = StatusCode::from_u16(response.status).unwrap();
        let read =
            attache_transport::replay(&*api.codec(), status, &response.headers, [response.body.bytes()]);
        assert_eq!(read.completion.message.text(), answer.replace("project-canary", "***"));

        let file =
            std::env::temp_dir().join(format!("attache-recording-{}-{}", std::process::id(), api.name()));
        recorder.save(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(CANARY), "{}: {text}", api.name());
        for header in ["authorization", "api-key", "x-goog", "x-amz", "127.0.0.1"] {
            assert!(!text.contains(header), "{}: {header}", api.name());
        }

        // There is nothing at that address.
        let player = Player::load(&file).unwrap().with_secret("project-canary");
        std::fs::remove_file(&file).unwrap();
        let said =
            run(model(api, "http://127.0.0.1:9", player.client()), "My key is sk-canary, of project-canary.");
        assert_eq!(said.await.unwrap(), answer.replace("project-canary", "***"), "{}", api.name());
    }
}

#[tokio::test]
async fn a_secret_in_a_binary_body_is_not_written() {
    let recorder = recorded(Api::Bedrock, "EUR 900, project-canary.").await;
    let error = recorder.cassette().unwrap_err();
    assert_eq!(error.to_string(), "interaction 2: a secret stands in a binary body");
}

/// The message with which dropping the last handle panics.
fn dropped(player: Player) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(player))).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[tokio::test]
async fn a_request_that_differs_is_told_with_what_it_has_now() {
    let cassette = recorded(Api::Anthropic, "EUR 900.").await.cassette().unwrap();
    let player = Player::new(cassette);
    let asked = run(model(Api::Anthropic, "http://127.0.0.1:9", player.client()), "Whose key is it?").await;
    let causes: Vec<String> = std::iter::successors(Some(&*asked.unwrap_err()), |error| error.source())
        .map(ToString::to_string)
        .collect();
    assert!(
        causes.iter().any(|cause| cause.starts_with("request 1 of 3 is not the recorded one")),
        "{causes:?}"
    );
    insta::assert_snapshot!(dropped(player), @r#"
    the recording was not played as it is:
    request 1 of 3 is not the recorded one:
      /messages/0/content/0/text
        recorded  "My key is ***, of ***."
        now       "Whose key is it?"
    (where that is meant: `.unverified()`)
    "#);
}

#[tokio::test]
async fn answers_that_nobody_asked_for_are_told() {
    let cassette = recorded(Api::OpenAiChat, "EUR 900.").await.cassette().unwrap();
    let player = Player::new(cassette.clone());
    assert!(dropped(player).contains("3 of 3 recorded answers were never asked for"));
    drop(Player::new(cassette).unverified());
}

fn question(text: &str) -> ChatRequest {
    ChatRequest::new([Message::user(text).shared()])
}

async fn two_answers() -> Cassette {
    let mock = MockProvider::start().await.unwrap();
    let recorder = Recorder::new("openai-chat");
    let model = model(Api::OpenAiChat, mock.url(), recorder.over(&own()));
    for (asked, answer) in [("One?", "1"), ("Two?", "2")] {
        mock.enqueue(Reply::new().text(answer));
        model.complete(question(asked)).await.unwrap();
    }
    recorder.cassette().unwrap()
}

#[tokio::test]
async fn the_order_holds_unless_it_is_let_go() {
    let cassette = two_answers().await;
    let player = Player::new(cassette.clone()).unverified();
    let strict = model(Api::OpenAiChat, "http://127.0.0.1:9", player.client());
    let error = strict.complete(question("Two?")).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Configuration, false));

    let player = Player::new(cassette).in_any_order();
    let free = model(Api::OpenAiChat, "http://127.0.0.1:9", player.client());
    for (asked, answer) in [("Two?", "2"), ("One?", "1")] {
        assert_eq!(free.complete(question(asked)).await.unwrap().message.text(), answer);
    }
    let error = free.complete(question("One?")).await.unwrap_err();
    let expected = "/messages/0/content";
    assert!(
        !error.to_string().contains(expected) && error.to_string().contains("no more answers"),
        "{error}"
    );
    drop(free);
    assert!(dropped(player).contains("no more answers"));
}
