//! Taps: what they hear of a client, and what they say in the network's place.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{RequestParts, Tap, Timeouts};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use crate::support::{DONE, Server, TEXT, call, call_with, client, collect, quick};

#[derive(Clone, Debug, Default)]
struct Hears(Arc<Mutex<Vec<Heard>>>);

/// Address, status and body.
type Heard = (String, StatusCode, Vec<u8>);

impl Tap for Hears {
    fn answered(&self, request: &RequestParts, status: StatusCode, headers: &HeaderMap) -> usize {
        assert!(!headers.is_empty());
        let mut heard = self.0.lock().unwrap();
        heard.push((request.url.clone(), status, Vec::new()));
        heard.len() - 1
    }

    fn read(&self, answer: usize, piece: &Bytes) {
        self.0.lock().unwrap()[answer].2.extend_from_slice(piece);
    }
}

#[tokio::test]
async fn a_tap_hears_each_attempt_as_it_is_read() {
    let server = Server::start(|number, mut connection| async move {
        if number == 0 {
            connection.respond(503, "", "busy").await;
            return Some(connection);
        }
        connection.start_events().await;
        connection.chunk(TEXT).await;
        connection.chunk(DONE).await;
        connection.end().await;
        Some(connection)
    })
    .await;
    let heard = Hears::default();
    // Other time limits lose no tap.
    let client =
        client().with_tap(heard.clone()).with_timeouts(Timeouts::new().with_connect(Duration::from_secs(9)));
    let (texts, end) = collect(call(&client, &server)).await;
    assert_eq!((texts.as_slice(), end.is_ok()), (["hello".to_owned()].as_slice(), true));
    let heard = heard.0.lock().unwrap();
    let statuses: Vec<u16> = heard.iter().map(|(_, status, _)| status.as_u16()).collect();
    assert_eq!(statuses, [503, 200]);
    assert_eq!(heard[0].2, b"busy");
    assert!(heard[1].2.starts_with(TEXT.as_bytes()) && heard[1].0.starts_with(&server.url));
}

#[derive(Debug)]
struct Says(u16, String);

impl Tap for Says {
    fn answer(&self, _: &RequestParts) -> Option<Result<Response<Bytes>, ProviderError>> {
        if self.0 == 0 {
            return Some(Err(ProviderError::new(ErrorKind::Configuration, self.1.clone())));
        }
        Some(Ok(Response::builder().status(self.0).body(self.1.clone().into()).unwrap()))
    }
}

#[tokio::test]
async fn a_tap_answers_where_no_server_is() {
    let ask = async |tap: Says| {
        let request = RequestParts::post_json("http://127.0.0.1:9/v1", "{}".to_owned());
        collect(call_with(&client().with_tap(tap), &Arc::default(), request, quick())).await
    };
    let (texts, end) = ask(Says(200, format!("{TEXT}{DONE}"))).await;
    assert_eq!((texts, end.unwrap().message.text()), (vec!["hello".to_owned()], "hello".to_owned()));
    let (_, end) = ask(Says(401, "no".to_owned())).await;
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Authentication);
    let (_, end) = ask(Says(0, "not recorded".to_owned())).await;
    assert_eq!(end.unwrap_err().message(), "not recorded");
}
