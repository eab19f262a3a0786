//! Model calls against servers that do what servers do.

use std::sync::Arc;
use std::time::Duration;

use super::{SAYS, SAYS_NOT, client, client_with};
use crate::support::{DONE, Server, TEXT, call, call_with, collect, quick, within_a_second};
use attache_core::provider::StateCell;
use attache_core::response::ResponseInfo;
use attache_core::{ErrorKind, ModelHandle, Secret};
use attache_transport::{ErrorResponse, RequestParts, RetryPolicy, Timeouts};
use futures_util::StreamExt;
use http::header::AUTHORIZATION;
use tokio::sync::Notify;

#[tokio::test]
async fn a_streamed_reply() {
    let server = Server::start(|_, mut connection| async move {
        connection.start_events().await;
        connection.chunk(": hello\n\n").await;
        connection.chunk(&TEXT.repeat(2)).await;
        connection.chunk(DONE).await;
        connection.end().await;
        Some(connection)
    })
    .await;
    let state = Arc::new(StateCell::default());
    let request = RequestParts::post_json(format!("{}/v1/chat?a=b", server.url), "{\"ask\":1}".to_owned());
    let stream = call_with(&client(), &state, request, quick());
    assert_eq!(
        (server.connections(), state.state().requests),
        (0, 0),
        "nothing happens before the first poll"
    );

    let (texts, end) = collect(stream).await;
    assert_eq!(texts, ["hello", "hello"]);
    assert_eq!(end.unwrap().message.text(), "hellohello");
    let state = state.state();
    assert_eq!((state.requests, state.turns, state.failures), (1, 1, 0));
    assert_eq!(state.usage.input_tokens, Some(3));

    let sent = server.requests.lock().unwrap()[0].clone();
    assert!(sent.starts_with("POST /v1/chat?a=b HTTP/1.1\r\n"), "{sent}");
    for header in ["content-length: 9\r\n", "content-type: application/json\r\n"] {
        assert!(sent.contains(header), "{sent}");
    }
    assert!(SAYS.iter().all(|line| sent.contains(line)), "{sent}");
    assert!(!SAYS_NOT.iter().any(|word| sent.contains(word)), "{sent}");
    assert!(sent.ends_with("\r\n\r\n{\"ask\":1}"), "{sent}");
}

#[tokio::test]
async fn a_reply_in_pieces_of_one_byte() {
    let server = Server::start(|_, mut connection| async move {
        connection.start_events().await;
        for byte in format!("{TEXT}{TEXT}{DONE}").chars() {
            connection.chunk(&byte.to_string()).await;
        }
        connection.end().await;
        Some(connection)
    })
    .await;
    let (texts, end) = collect(call(&client(), &server)).await;
    assert_eq!(texts.len(), 2);
    end.unwrap();
}

// openai.md 0.2: a server that ignores `stream`, under any content type
#[tokio::test]
async fn json_instead_of_events() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(200, "content-type: text/event-stream\r\n", " \n{\"text\":\"hello\"}\n").await;
        Some(connection)
    })
    .await;
    let (texts, end) = collect(call(&client(), &server)).await;
    assert_eq!(texts, ["hello"]);
    end.unwrap();
}

#[tokio::test]
async fn a_web_page_instead_of_a_reply() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(200, "", "<html>log in</html>").await;
        Some(connection)
    })
    .await;
    assert_eq!(collect(call(&client(), &server)).await.1.unwrap_err().kind(), ErrorKind::Malformed);
    assert_eq!(server.requests(), 1);
}

// Invariant 8: after the end a body is read on, so that its connection is used again.
#[tokio::test]
async fn connections_are_used_again_although_bodies_end_late() {
    let (read, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let signals = (Arc::clone(&read), Arc::clone(&ended));
    let server = Server::start(move |_, mut connection| {
        let (read, ended) = signals.clone();
        async move {
            connection.start_events().await;
            connection.chunk(&format!("{TEXT}{DONE}")).await;
            // The end of the body comes when the client has its last chunk.
            read.notified().await;
            connection.chunk(": bye\n\n").await;
            connection.end().await;
            ended.notify_one();
            Some(connection)
        }
    })
    .await;
    let client = client();
    let reused = async {
        // A connection is back in the pool some time after the server ended the body. A request before that opens another.
        while server.connections() >= server.requests() {
            // `collect` drops the stream at the last chunk, as callers do.
            ModelHandle::collect(call(&client, &server)).await.unwrap();
            read.notify_one();
            ended.notified().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), reused).await.expect("no connection is used again");
}

// Invariant 9.
#[tokio::test]
async fn a_body_that_goes_on_after_the_end_is_given_up() {
    let gone = Arc::new(Notify::new());
    let signal = Arc::clone(&gone);
    let server = Server::start(move |number, mut connection| {
        let gone = Arc::clone(&signal);
        async move {
            connection.start_events().await;
            connection.chunk(&format!("{TEXT}{DONE}")).await;
            if number == 0 {
                // More than anybody reads for the sake of a connection; the other body is silent.
                for _ in 0..64 {
                    connection.chunk(&": noise\n".repeat(4096)).await;
                }
            }
            connection.closed().await;
            gone.notify_one();
            None
        }
    })
    .await;
    let client = client();
    collect(call(&client, &server)).await.1.unwrap();
    within_a_second(gone.notified()).await;
    collect(call(&client, &server)).await.1.unwrap();
    tokio::time::timeout(Duration::from_secs(3), gone.notified()).await.expect("two seconds are enough");
}

// P26
#[tokio::test]
async fn retryable_errors_are_retried_before_the_first_chunk() {
    let server = Server::start(|number, mut connection| async move {
        match number {
            0 => connection.respond(503, "", "{}").await,
            // Overloaded inside a 200, before any output. (anthropic.md (a) 12, openai.md D 29)
            1 => {
                connection.start_events().await;
                connection.chunk(": ping\n\ndata: {\"error\":{\"type\":\"overloaded_error\"}}\n\n").await;
                connection.end().await;
            }
            _ => {
                connection.start_events().await;
                connection.chunk(&format!("{TEXT}{DONE}")).await;
                connection.end().await;
            }
        }
        Some(connection)
    })
    .await;
    let (texts, end) = collect(call(&client(), &server)).await;
    assert_eq!((texts.len(), server.requests()), (1, 3));
    end.unwrap();
}

#[tokio::test]
async fn chunks_of_a_failed_attempt_that_nobody_saw_are_forgotten() {
    let server = Server::start(|number, mut connection| async move {
        connection.start_events().await;
        if number == 0 {
            // Text and error come in one read, so the text was not handed out yet.
            connection.chunk(&format!("{TEXT}data: {{\"error\":{{\"code\":529}}}}\n\n")).await;
        } else {
            connection.chunk(&format!("{TEXT}{DONE}")).await;
        }
        connection.end().await;
        Some(connection)
    })
    .await;
    let (texts, end) = collect(call(&client(), &server)).await;
    assert_eq!((texts.len(), server.requests()), (1, 2));
    assert_eq!(end.unwrap().message.text(), "hello");
}

#[tokio::test]
async fn nothing_is_retried_after_output() {
    let read = Arc::new(Notify::new());
    let signal = Arc::clone(&read);
    let server = Server::start(move |_, mut connection| {
        let read = Arc::clone(&signal);
        async move {
            connection.start_events().await;
            connection.chunk(TEXT).await;
            read.notified().await;
            let error = "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
            connection.chunk(error).await;
            connection.end().await;
            Some(connection)
        }
    })
    .await;
    let mut stream = call(&client(), &server);
    assert!(stream.next().await.unwrap().is_ok());
    read.notify_one();
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Overloaded, "busy"));
    assert!(error.is_after_output() && !error.is_retryable());
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn an_error_in_the_same_read_as_output_comes_after_it() {
    let server = Server::start(|_, mut connection| async move {
        connection.start_events().await;
        connection.chunk(&format!("{TEXT}data: {{\"error\":\"bad\"}}\n\n")).await;
        connection.end().await;
        Some(connection)
    })
    .await;
    let (texts, end) = collect(call(&client(), &server)).await;
    assert_eq!(texts, ["hello"]);
    assert!(end.unwrap_err().is_after_output());
}

// openai.md D 40: an end without terminator is no success
#[tokio::test]
async fn a_reply_without_its_end_is_cut() {
    for reset in [false, true] {
        let read = Arc::new(Notify::new());
        let signal = Arc::clone(&read);
        let server = Server::start(move |_, mut connection| {
            let read = Arc::clone(&signal);
            async move {
                connection.start_events().await;
                connection.chunk(TEXT).await;
                read.notified().await;
                if reset {
                    return None;
                }
                connection.end().await;
                Some(connection)
            }
        })
        .await;
        let mut stream = call(&client(), &server);
        assert!(stream.next().await.unwrap().is_ok());
        read.notify_one();
        let (texts, end) = collect(stream).await;
        let error = end.unwrap_err();
        assert_eq!((texts.len(), error.kind()), (0, ErrorKind::StreamCut));
        assert!(error.is_after_output());
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_output_is_tried_again() {
    let server = Server::start(|number, mut connection| async move {
        match number {
            // Before the answer.
            0 => return None,
            // In the middle of it.
            1 => {
                connection.start_events().await;
                connection.chunk(": ping\n\n").await;
                return None;
            }
            _ => {
                connection.start_events().await;
                connection.chunk(&format!("{TEXT}{DONE}")).await;
                connection.end().await;
            }
        }
        Some(connection)
    })
    .await;
    let (texts, end) = collect(call(&client(), &server)).await;
    assert_eq!((texts.len(), server.requests()), (1, 3));
    end.unwrap();
}

#[tokio::test]
async fn errors_of_the_server_end_the_trying() {
    let server = Server::start(|_, mut connection| async move {
        let headers = "retry-after: 121\r\nx-request-id: req_7\r\n";
        connection.respond(429, headers, "{\"error\":{\"message\":\"slow down\"}}").await;
        Some(connection)
    })
    .await;
    let state = Arc::new(StateCell::default());
    let request = RequestParts::post_json(&server.url, "{}".to_owned());
    let error = collect(call_with(&client(), &state, request, quick())).await.1.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimited, Some(429)));
    assert_eq!((error.request_id(), error.message()), (Some("req_7"), "slow down"));
    assert_eq!(server.requests(), 1, "no waiting for two minutes");
    assert_eq!((state.state().requests, state.state().failures), (1, 1));
}

#[tokio::test]
async fn the_wait_that_the_server_asks_for_wins() {
    let server = Server::start(|number, mut connection| async move {
        match number {
            0 => connection.respond(429, "retry-after-ms: 150\r\n", "{}").await,
            _ => connection.respond(200, "", "{\"text\":\"x\"}").await,
        }
        Some(connection)
    })
    .await;
    let started = std::time::Instant::now();
    collect(call(&client(), &server)).await.1.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(150));
    assert_eq!(server.connections(), 1, "the connection of an error response is used again");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(307, "location: http://127.0.0.1:1/elsewhere\r\n", "").await;
        Some(connection)
    })
    .await;
    let error = collect(call(&client(), &server)).await.1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn replies_and_errors_carry_the_head_of_the_answer() {
    const HEAD: &str = "x-request-id: req_7\r\nx-ratelimit-remaining-tokens: 41\r\n\
                        set-cookie: canary\r\nx-echo: Bearer canary-key\r\n";
    let server = Server::start(|number, mut connection| async move {
        match number {
            0 => connection.respond(200, HEAD, &format!("{TEXT}{DONE}")).await,
            1 => connection.respond(400, HEAD, "{}").await,
            // It ends without an end.
            _ => connection.respond(200, HEAD, TEXT).await,
        }
        Some(connection)
    })
    .await;
    let ask = || {
        let request = RequestParts::post_json(&server.url, "{}".to_owned());
        let request = request.with_secret_header(AUTHORIZATION, "Bearer ", &Secret::new("canary-key"));
        collect(call_with(&client(), &Arc::default(), request, RetryPolicy::never()))
    };
    let check = |head: &ResponseInfo| {
        assert_eq!(head.request_id(), Some("req_7"));
        let limits = head.rate_limits();
        assert_eq!((limits[0].of.as_str(), limits[0].remaining), ("tokens", Some(41)));
        assert_eq!(head.headers()["x-echo"], "***");
        assert!(!format!("{:?}", head.headers()).contains("canary"), "{:?}", head.headers());
    };
    check(&ask().await.1.unwrap().response.unwrap());
    for kind in [ErrorKind::InvalidRequest, ErrorKind::StreamCut] {
        let error = ask().await.1.unwrap_err();
        assert_eq!((error.kind(), error.request_id()), (kind, Some("req_7")));
        check(error.response().unwrap());
    }
}

#[tokio::test]
async fn an_encoding_that_was_not_asked_for_is_an_error() {
    const HEADERS: [&str; 5] = ["br", "identity", "UTF-8", "none", ""];
    let server = Server::start(|number, mut connection| async move {
        let header = format!("content-encoding: {}\r\n", HEADERS[number]);
        connection.respond(200, &header, &format!("{TEXT}{DONE}")).await;
        Some(connection)
    })
    .await;
    assert_eq!(collect(call(&client(), &server)).await.1.unwrap_err().kind(), ErrorKind::Malformed);
    // These are words of servers for none.
    for header in &HEADERS[1..] {
        assert!(collect(call(&client(), &server)).await.1.is_ok(), "{header}");
    }
}

#[tokio::test]
async fn whole_bodies_for_those_who_want_no_chunks() {
    let server = Server::start(|_, mut connection| async move {
        connection.start_events().await;
        for _ in 0..10 {
            connection.chunk(&"x".repeat(1000)).await;
        }
        connection.end().await;
        Some(connection)
    })
    .await;
    let client = client();
    let get = || async {
        client
            .send(&RequestParts::get(&server.url), &RetryPolicy::never(), ErrorResponse::to_error)
            .await
            .unwrap()
    };
    assert_eq!(get().await.bytes(10_000).await.unwrap().len(), 10_000);
    assert_eq!(get().await.bytes(9_999).await.unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn outside_a_runtime_there_is_an_error_and_no_panic() {
    let request = RequestParts::get("http://127.0.0.1:1");
    let stream = call_with(&client_with(Timeouts::new()), &Arc::default(), request, quick());
    let error = futures_util::FutureExt::now_or_never(collect(stream)).unwrap().1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}
