//! Failures of providers, on each API and on compatible servers: kinds of errors, when they are asked about again
//! and how often (P25, P26).

mod documented;

use std::net::SocketAddr;
use std::time::Duration;

use attache_conformance::{MockProvider, Reply};
use attache_core::{
    ChatRequest, Completion, ErrorKind, Message, ModelHandle, ModelSettings, ProviderError, StreamChunk,
};
use attache_tests::{APIS, Api, Party};
use attache_transport::RetryPolicy;
use futures_util::StreamExt as _;
use http::{HeaderName, HeaderValue};
use serde_json::json;
use tokio::net::TcpSocket;

use ErrorKind as K;
use documented::documented;

fn request(whole: bool) -> ChatRequest {
    let request = ChatRequest::new([Message::user("Hello").shared()]);
    if whole { request.streaming(false) } else { request }
}

async fn model(party: Party, retry: RetryPolicy) -> (MockProvider, ModelHandle) {
    let mock = party.mock().await.unwrap();
    let model = party.connected_with(&mock, ModelSettings::new(), retry).unwrap();
    (mock, model)
}

/// Three attempts at once.
fn at_once() -> RetryPolicy {
    RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1))
}

/// The outcome of a call: its texts until it ended, and its end.
async fn call(model: &ModelHandle, whole: bool) -> (String, Result<Completion, ProviderError>) {
    let mut stream = model.stream(request(whole));
    let mut said = String::new();
    let mut end = None;
    while let Some(chunk) = stream.next().await {
        assert!(end.is_none(), "something follows the end");
        match chunk {
            Ok(StreamChunk::Content(text)) => said.push_str(&text),
            Ok(StreamChunk::Done(completion)) => end = Some(Ok(*completion)),
            Ok(_) => {}
            Err(error) => end = Some(Err(error)),
        }
    }
    (said, end.unwrap())
}

// P25: what each API documents
#[tokio::test]
async fn documented_errors_have_their_kind() {
    for party in Party::all() {
        let (mock, model) = model(party, RetryPolicy::never()).await;
        for &(status, word, code, message, kind, retryable) in documented(party.api) {
            for whole in [false, true] {
                let mut reply = Reply::error(status, message).error_kind(word);
                if !code.is_empty() {
                    reply = reply.error_code(code);
                }
                mock.enqueue(reply);
                let error = model.complete(request(whole)).await.unwrap_err();
                let context = format!("{} {status} {word} {code}: {error:?}", party.name());
                assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{context}");
                assert_eq!(error.status(), Some(status), "{context}");
                assert!(error.message().contains(message.trim_end_matches('.')), "{context}");
                let said = [word, code].contains(&error.code().unwrap_or_default());
                assert!(said, "{context}");
                assert!(!error.is_after_output());
            }
        }
        assert!(mock.violations().is_empty(), "{}: {:?}", party.name(), mock.violations());
    }
}

// P25: what stands in front of an API answers without its words
#[tokio::test]
async fn statuses_alone_have_their_kind() {
    let table = [
        (302, K::Configuration, false),
        (400, K::InvalidRequest, false),
        (401, K::Authentication, false),
        (402, K::QuotaExceeded, false),
        (403, K::Permission, false),
        (404, K::NotFound, false),
        (408, K::Timeout, true),
        (413, K::InvalidRequest, false),
        (429, K::RateLimited, true),
        (500, K::Overloaded, true),
        (502, K::Overloaded, true),
        (503, K::Overloaded, true),
        (504, K::Timeout, true),
        (520, K::Overloaded, true),
        (529, K::Overloaded, true),
    ];
    for party in Party::all() {
        let (mock, model) = model(party, RetryPolicy::never()).await;
        for (status, kind, retryable) in table {
            for reply in [Reply::html(status), Reply::raw(status, "text/plain", "")] {
                mock.enqueue(reply);
                let error = model.complete(request(false)).await.unwrap_err();
                let found = (error.kind(), error.is_retryable(), error.status());
                assert_eq!(found, (kind, retryable, Some(status)), "{} {error:?}", party.name());
            }
        }
    }
}

// P25, invariant 11: a server that repeats the key does not spread it
#[tokio::test]
async fn keys_are_taken_out_of_errors() {
    for party in Party::all() {
        let (mock, model) = model(party, RetryPolicy::never()).await;
        mock.enqueue(Reply::error(400, "the key sk-canary is wrong"));
        mock.enqueue(Reply::new().text_pieces(["a "; 30]).error_event(
            12,
            party.api.overload(),
            "key sk-canary",
        ));
        for _ in 0..2 {
            let error = model.complete(request(false)).await.unwrap_err();
            let all = format!("{error} {error:?} {:?}", error.response_body());
            assert!(!all.contains("sk-canary"), "{}: {all}", party.name());
        }
    }
}

// P26: what the server asks for is told and obeyed
#[tokio::test]
async fn waits_that_servers_ask_for() {
    for party in Party::all() {
        let (mock, model) = model(party, RetryPolicy::never()).await;
        let millis = HeaderValue::from_static("1500");
        let cases = [
            (Reply::error(429, "slow down").retry_after(7), Duration::from_secs(7)),
            (Reply::error(503, "busy").retry_after(3), Duration::from_secs(3)),
            (
                Reply::error(429, "slow down").header(HeaderName::from_static("retry-after-ms"), millis),
                Duration::from_millis(1_500),
            ),
        ];
        for (reply, wait) in cases {
            mock.enqueue(reply);
            let error = model.complete(request(false)).await.unwrap_err();
            assert_eq!(error.retry_after(), Some(wait), "{}: {error:?}", party.name());
        }
        mock.enqueue(Reply::error(429, "slow down"));
        let error = model.complete(request(false)).await.unwrap_err();
        assert_eq!(error.retry_after(), None, "{}", party.name());
    }
    // gemini.md 9: in the body
    let (mock, model) = model(Api::Gemini.into(), RetryPolicy::never()).await;
    let info = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]);
    mock.enqueue(Reply::error(429, "slow down").error_details(info));
    let error = model.complete(request(false)).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(34)));
}

// P26: only what may work later, only so often
#[tokio::test]
async fn retryable_statuses_are_retried() {
    for party in Party::all() {
        for whole in [false, true] {
            let context = format!("{} whole {whole}", party.name());
            let (mock, model) = model(party, at_once()).await;
            mock.enqueue(Reply::error(503, "busy"));
            mock.enqueue(Reply::new().reset_before_response());
            mock.enqueue(Reply::new().text("there"));
            let (said, end) = call(&model, whole).await;
            assert_eq!((said.as_str(), mock.requests().len()), ("there", 3), "{context}: {end:?}");
            // Each attempt sends the same.
            let requests = mock.requests();
            assert!(requests.windows(2).all(|pair| pair[0].body == pair[1].body), "{context}");
            let state = model.state();
            assert_eq!((state.requests, state.turns, state.failures), (1, 1, 0), "{context}");

            for _ in 0..4 {
                mock.enqueue(Reply::error(429, "slow down").retry_after(0));
            }
            let error = call(&model, whole).await.1.unwrap_err();
            assert_eq!(
                (error.kind(), mock.requests().len()),
                (K::RateLimited, 6),
                "{context}: three attempts"
            );
            assert_eq!(model.state().failures, 1, "{context}");
        }
        for reply in [
            Reply::error(400, "no"),
            Reply::error(404, "no"),
            // Longer than anybody waits for.
            Reply::error(429, "slow down").retry_after(3_600),
        ] {
            let (mock, model) = model(party, at_once()).await;
            mock.enqueue(reply);
            mock.enqueue(Reply::new().text("there"));
            assert!(call(&model, false).await.1.is_err());
            assert_eq!(mock.requests().len(), 1, "{}", party.name());
        }
    }
}

/// Errors inside a stream, in the words of each API.
fn events(api: Api) -> &'static [(&'static str, ErrorKind, bool)] {
    match api {
        Api::OpenAi | Api::OpenAiChat => &[
            ("server_error", K::Overloaded, true),
            ("rate_limit_exceeded", K::RateLimited, true),
            ("context_length_exceeded", K::ContextTooLong, false),
        ],
        Api::Anthropic => &[
            ("overloaded_error", K::Overloaded, true),
            ("api_error", K::Overloaded, true),
            ("rate_limit_error", K::RateLimited, true),
            ("timeout_error", K::Timeout, true),
            ("invalid_request_error", K::InvalidRequest, false),
        ],
        Api::Gemini => &[
            ("UNAVAILABLE", K::Overloaded, true),
            ("INTERNAL", K::Overloaded, true),
            ("RESOURCE_EXHAUSTED", K::RateLimited, true),
            ("INVALID_ARGUMENT", K::InvalidRequest, false),
        ],
        Api::Bedrock => &[
            ("throttlingException", K::RateLimited, true),
            ("modelStreamErrorException", K::Overloaded, true),
            ("internalServerException", K::Overloaded, true),
            ("serviceUnavailableException", K::Overloaded, true),
            ("modelTimeoutException", K::Timeout, true),
            ("validationException", K::InvalidRequest, false),
        ],
        Api::Cohere => &[("ERROR", K::Overloaded, true), ("TIMEOUT", K::Timeout, true)],
        // The words alone are told, of what had been a 500 before.
        Api::Ollama => &[("", K::Overloaded, true)],
    }
}

// P25, P26: an error inside a stream is asked about again only as long as nothing was shown
#[tokio::test]
async fn errors_inside_a_stream() {
    for party in Party::all() {
        for &(word, kind, retryable) in events(party.api) {
            let context = format!("{} {word}", party.name());
            let (mock, model) = model(party, at_once()).await;
            mock.enqueue(Reply::new().text("lost").error_event(0, word, "sorry"));
            mock.enqueue(Reply::new().text("there"));
            let (said, end) = call(&model, false).await;
            if retryable {
                assert_eq!((said.as_str(), mock.requests().len()), ("there", 2), "{context}: {end:?}");
            } else {
                let error = end.unwrap_err();
                assert_eq!((error.kind(), mock.requests().len()), (kind, 1), "{context}: {error:?}");
            }

            let (mock, model) = self::model(party, at_once()).await;
            mock.enqueue(Reply::new().text_pieces(["word "; 60]).error_event(30, word, "sorry"));
            mock.enqueue(Reply::new().text("again"));
            let (said, end) = call(&model, false).await;
            let error = end.unwrap_err();
            assert_eq!(error.kind(), kind, "{context}: {error:?}");
            assert!(error.is_after_output() && !error.is_retryable(), "{context}: {error:?}");
            assert!(said.starts_with("word word ") && !said.contains("again"), "{context}: {said}");
            assert_eq!(mock.requests().len(), 1, "{context}");
            let state = model.state();
            assert_eq!((state.requests, state.turns, state.failures), (1, 0, 1), "{context}");
        }
    }
}

// P25: the other kind of frames, and a response that says itself that it failed
#[tokio::test]
async fn failures_that_one_api_alone_has() {
    let (mock, converse) = model(Api::Bedrock.into(), at_once()).await;
    mock.enqueue(Reply::new().text("lost").error_frame(0, "internalServerException", "sorry"));
    mock.enqueue(Reply::new().text_pieces(["word "; 60]).error_frame(30, "throttlingException", "slow down"));
    let (said, end) = call(&converse, false).await;
    assert!(said.starts_with("word "), "{said}");
    assert_eq!((end.unwrap_err().kind(), mock.requests().len()), (K::RateLimited, 2));

    let (mock, responses) = model(Api::OpenAi.into(), at_once()).await;
    for whole in [false, true] {
        mock.enqueue(Reply::new().failed("server_error", "sorry"));
        mock.enqueue(Reply::new().text("there"));
        let (said, end) = call(&responses, whole).await;
        assert_eq!(said, "there", "whole {whole}: {end:?}");
        mock.enqueue(Reply::new().failed("invalid_prompt", "not allowed"));
        let error = call(&responses, whole).await.1.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (K::Refused, false), "whole {whole}: {error:?}");
    }
    mock.enqueue(Reply::new().text("half of it").failed("server_error", "sorry"));
    let (said, end) = call(&responses, false).await;
    let error = end.unwrap_err();
    assert_eq!((said.as_str(), error.kind(), error.is_retryable()), ("half of it", K::Overloaded, false));
}

/// Ways in which a connection ends too early, after that many bytes.
fn cuts(reply: &Reply, bytes: usize) -> [Reply; 3] {
    [reply.clone().end_after(bytes), reply.clone().cut_after(bytes), reply.clone().reset_after(bytes)]
}

// P25, P26: a connection that breaks before anything was shown is no matter; afterwards it is the end
#[tokio::test]
async fn connections_that_break() {
    for party in Party::all() {
        let name = party.name();
        for (at, cut) in cuts(&Reply::new().text("lost"), 12).into_iter().enumerate() {
            for whole in [false, true] {
                let (mock, model) = model(party, at_once()).await;
                mock.enqueue(cut.clone());
                mock.enqueue(Reply::new().text("there"));
                let (said, end) = call(&model, whole).await;
                // A line that is torn may be a whole answer.
                if at == 0 && (whole || party.api == Api::Ollama) {
                    // HTTP says that this body is complete, so what is wrong is the answer itself.
                    let found = (said.as_str(), end.unwrap_err().kind(), mock.requests().len());
                    assert_eq!(found, ("", K::Malformed, 1), "{name}");
                    continue;
                }
                assert_eq!((said.as_str(), mock.requests().len()), ("there", 2), "{name} {at}: {end:?}");
            }
        }
        for (at, cut) in cuts(&Reply::new().text_pieces(["word "; 200]), 9_000).into_iter().enumerate() {
            let (mock, model) = model(party, at_once()).await;
            mock.enqueue(cut);
            mock.enqueue(Reply::new().text("again"));
            let (said, end) = call(&model, false).await;
            let error = end.unwrap_err();
            let context = format!("{name} {at}: {error:?}");
            assert!(matches!(error.kind(), K::StreamCut | K::Network), "{context}");
            assert!(error.is_after_output() && !error.is_retryable(), "{context}");
            assert!(said.starts_with("word "), "{context}");
            assert_eq!(mock.requests().len(), 1, "{context}");
        }
    }
}

// P25: an end that is missing is no success (openai.md D 42: of Chat Completions the finish reason suffices)
#[tokio::test]
async fn a_stream_without_its_end_is_cut() {
    for api in APIS {
        let (mock, model) = model(api.into(), RetryPolicy::never()).await;
        let half = Reply::new().text("half of it").without_terminator();
        for reply in [half.clone(), half.cut_after(usize::MAX)] {
            mock.enqueue(reply);
            let (said, end) = call(&model, false).await;
            assert_eq!(said, "half of it", "{}", api.name());
            match api {
                Api::OpenAiChat => assert_eq!(end.unwrap().message.text(), "half of it"),
                _ => assert_eq!(end.unwrap_err().kind(), K::StreamCut, "{}", api.name()),
            }
        }
    }
}

// P25: a connection that cannot be made
#[tokio::test]
async fn nobody_there() {
    for party in Party::all() {
        let (mock, model) = model(party, at_once()).await;
        let address: SocketAddr = mock.url().strip_prefix("http://").unwrap().parse().unwrap();
        drop(mock);
        // The port stays taken, so that the server of another test is not given it, and nobody listens there.
        let taken = loop {
            tokio::task::yield_now().await;
            let socket = TcpSocket::new_v4().unwrap();
            match socket.bind(address) {
                Ok(()) => break socket,
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse),
            }
        };
        let error = model.complete(request(false)).await.unwrap_err();
        drop(taken);
        assert_eq!((error.kind(), error.is_retryable()), (K::Network, true), "{}: {error:?}", party.name());
    }
}
