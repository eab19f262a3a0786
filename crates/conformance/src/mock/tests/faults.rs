//! Writes, delays and breaks.

use std::io;
use std::time::{Duration, Instant};

use http::HeaderValue;
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{chat_body, chat_stream_body, messages_body, start};
use crate::testing::Request;
use crate::{MockProvider, Reply, ResponseState, Writes};

const SECOND: Duration = Duration::from_secs(1);

async fn chunk_sizes(mock: &MockProvider, writes: Writes) -> Vec<usize> {
    mock.enqueue(Reply::new().text("Hi there").writes(writes));
    let answer = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert_eq!(answer.events().last().and_then(|event| event.as_str()), Some("[DONE]"));
    answer.chunks.iter().map(bytes::Bytes::len).collect()
}

#[tokio::test]
async fn every_write_arrives_as_a_chunk_of_its_own() {
    let mock = start().await;
    let per_event = chunk_sizes(&mock, Writes::PerEvent).await;
    assert_eq!(per_event.len(), 5);
    let total: usize = per_event.iter().sum();
    assert_eq!(chunk_sizes(&mock, Writes::Whole).await, [total]);
    assert_eq!(chunk_sizes(&mock, Writes::Every(1)).await, vec![1; total]);
    assert_eq!(chunk_sizes(&mock, Writes::At(vec![3, 10])).await, [3, 7, total - 10]);
    let seeded = chunk_sizes(&mock, Writes::Seeded(1)).await;
    assert_eq!(seeded.iter().sum::<usize>(), total);
    assert!(seeded.len() > 1);
}

#[tokio::test]
async fn delays_hold_back_the_head_and_the_writes() {
    let mock = start().await;
    let pause = Duration::from_millis(40);
    mock.enqueue(Reply::new().text("x").delay_first(pause).writes(Writes::Every(100)).delay_between(pause));
    let begun = Instant::now();
    let response = Request::chat(mock.url(), &chat_body()).open().await.expect("an answer");
    assert!(begun.elapsed() >= pause);
    let chunks = response.into_body().collect().await.expect("a whole body").to_bytes().len().div_ceil(100);
    assert!(begun.elapsed() >= pause * u32::try_from(chunks).expect("a small number"));
}

/// Sends a request on a bare socket and reads until the connection ends.
async fn raw(mock: &MockProvider) -> (Vec<u8>, io::Result<usize>) {
    let address = mock.url().strip_prefix("http://").expect("an http URL");
    let mut socket = TcpStream::connect(address).await.expect("the server listens");
    let body = chat_stream_body().to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nauthorization: Bearer k\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.expect("a write");
    let mut received = Vec::new();
    let end = socket.read_to_end(&mut received).await;
    (received, end)
}

#[tokio::test]
async fn a_connection_is_reset_before_the_response() {
    let mock = start().await;
    mock.enqueue(Reply::new().reset_before_response());
    let (received, end) = raw(&mock).await;
    assert!(received.is_empty());
    assert_eq!(end.expect_err("a reset").kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(mock.requests()[0].response, ResponseState::Broken);
}

#[tokio::test]
async fn a_connection_is_reset_in_the_middle() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("Hi there").reset_after(20));
    let (_, end) = raw(&mock).await;
    assert_eq!(end.expect_err("a reset").kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(mock.requests()[0].response, ResponseState::Broken);
}

#[tokio::test]
async fn a_body_is_cut_without_its_end() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("Hi there").cut_after(20));
    let answer = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("a head");
    assert!(answer.broken);
    assert_eq!(answer.body().len(), 20);

    mock.enqueue(Reply::new().text("Hi there").cut_after(20));
    let (received, end) = raw(&mock).await;
    assert!(end.is_ok(), "an orderly end of the connection");
    assert!(!received.ends_with(b"0\r\n\r\n"), "and not of the body");
}

#[tokio::test]
async fn a_truncated_body_looks_whole_to_http() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("Hi there").end_after(20));
    let answer = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert!(!answer.broken);
    assert_eq!(answer.body().len(), 20);
    mock.enqueue(Reply::new().end_after(0));
    let answer = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
    assert!(!answer.broken && answer.body().is_empty());
}

#[tokio::test]
async fn events_are_left_out_put_in_and_replaced_by_an_error() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("Hi").without_terminator());
    let answer = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert!(!answer.text().contains("[DONE]"));

    mock.enqueue(
        Reply::new().text("Hi").insert_event(0, ": keep-alive\n\n").insert_event(2, "data: {\"id\":\n\n"),
    );
    let answer = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert!(answer.text().starts_with(": keep-alive\n\ndata: "));
    assert_eq!(answer.chunks[2], "data: {\"id\":\n\n");

    mock.enqueue(Reply::new().text("Hi there").error_event(2, "server_error", "boom"));
    let answer = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert_eq!(answer.status, 200);
    assert_eq!((answer.events().len(), &answer.events()[2]["error"]["message"]), (3, &"boom".into()));

    let mut body = messages_body();
    body["stream"] = true.into();
    mock.enqueue(Reply::new().text("Hi").error_event(1, "overloaded_error", "Overloaded"));
    let answer = Request::messages(mock.url(), &body).send().await.expect("an answer");
    assert!(
        answer
            .text()
            .contains("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"")
    );
    assert!(!answer.text().contains("message_stop"));
}

#[tokio::test]
async fn bodies_and_content_types_need_not_fit() {
    let mock = start().await;
    mock.enqueue(Reply::html(502));
    let page = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
    assert_eq!((page.status.as_u16(), page.header("content-type")), (502, "text/html; charset=utf-8"));
    assert!(page.text().starts_with("<html>"));

    mock.enqueue(Reply::new().text("x").content_type(HeaderValue::from_static("application/octet-stream")));
    let typed = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert_eq!(typed.header("content-type"), "application/octet-stream");

    mock.enqueue(Reply::new().text("x").ignoring_stream());
    let whole = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert_eq!(whole.header("content-type"), "application/json");
    assert_eq!(whole.json()["object"], "chat.completion");

    mock.enqueue(Reply::events(["{\"choices\":[]}", "[DONE]"]).writes(Writes::Whole));
    let events = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert_eq!(events.text(), "data: {\"choices\":[]}\n\ndata: [DONE]\n\n");
}

// Invariant 8: dropping a stream cancels the request within a second.
#[tokio::test]
async fn a_client_that_leaves_a_stream_is_noticed() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("Hi there").stall_after(200));
    let response = Request::chat(mock.url(), &chat_stream_body()).open().await.expect("a head");
    let mut body = response.into_body();
    body.frame().await.expect("a frame").expect("data");
    assert_eq!(mock.requests()[0].response, ResponseState::Pending);
    assert!(mock.wait_for_disconnect(Duration::from_millis(50)).await.is_none());
    drop(body);
    let left = mock.wait_for_disconnect(SECOND).await.expect("the mock notices");
    assert_eq!(left.index, 0);
    assert!(matches!(left.response, ResponseState::ClientClosed { at } if at >= left.arrived));
    assert!(mock.wait_for_disconnect(Duration::from_millis(20)).await.is_none(), "each is returned once");
}

#[tokio::test]
async fn a_client_that_leaves_before_the_head_is_noticed() {
    let mock = start().await;
    mock.enqueue(Reply::new().delay_first(60 * SECOND));
    let url = mock.url().to_owned();
    let waiting = tokio::spawn(async move { Request::chat(&url, &chat_body()).open().await.is_ok() });
    assert!(mock.wait_for_requests(1, SECOND).await);
    waiting.abort();
    assert!(mock.wait_for_disconnect(SECOND).await.is_some());
}

#[tokio::test]
async fn a_complete_answer_is_no_disconnect() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("Hi there").writes(Writes::Every(7)));
    Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert!(mock.wait_for_disconnect(Duration::from_millis(50)).await.is_none());
    assert_eq!(mock.requests()[0].response, ResponseState::Sent);
}

#[tokio::test]
async fn a_dropped_mock_closes_its_connections() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("Hi there").stall_after(30));
    let response = Request::chat(mock.url(), &chat_stream_body()).open().await.expect("a head");
    let address = mock.url().strip_prefix("http://").expect("an http URL").to_owned();
    drop(mock);
    let ended = tokio::time::timeout(SECOND, response.into_body().collect()).await.expect("no hang");
    assert!(ended.is_err(), "the body breaks off");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens");
}
