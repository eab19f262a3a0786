//! Streams of version 1.0.

use std::time::Duration;

use attache::transport::{HttpClient, Reply};
use serde_json::{Value, json};

use crate::kit::{Client, Held, NOT_FOUND, Ours, UNSUPPORTED, Way, saying, saying_at_once};
use crate::newest::sent;
use crate::shapes;

/// A stream that has begun.
async fn opened(client: &Client<'_>, held: &mut Held, operation: &str, params: Value) -> Reply {
    let reply = HttpClient::shared().answer(&client.request(operation, &params)).await.unwrap();
    assert_eq!(reply.status(), 200, "{operation}");
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    held.case(match client.way {
        Way::Rpc => "JSONRPC-SSE-001",
        Way::Rest => "HTTP_JSON-SSE-001",
    });
    reply
}

/// The events of a stream, which ends by itself.
async fn events(client: &Client<'_>, held: &mut Held, stream: Reply) -> Vec<Value> {
    let read = tokio::time::timeout(Duration::from_secs(30), stream.bytes(1 << 22)).await;
    let text = String::from_utf8(read.expect("the stream ends").unwrap().to_vec()).unwrap();
    let mut events = Vec::new();
    for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(data).unwrap();
        let event = match client.way {
            Way::Rpc => {
                assert_eq!((&event["jsonrpc"], &event["id"]), (&json!("2.0"), &json!("kit-1")));
                event["result"].clone()
            }
            Way::Rest => event,
        };
        let members = event.as_object().unwrap();
        assert_eq!(members.len(), 1, "{event}");
        let (name, told) = members.iter().next().unwrap();
        match &**name {
            "task" => shapes::task(held, told),
            "statusUpdate" => shapes::status(held, &told["status"]),
            "artifactUpdate" => shapes::artifact(held, &told["artifact"]),
            other => panic!("{other}"),
        }
        held.answers.push(("StreamResponse", event.clone()));
        events.push(event);
    }
    events
}

/// The states that a stream tells of, in order.
fn states(events: &[Value]) -> Vec<&str> {
    let state = |event: &'_ Value| {
        let told = if event["task"].is_object() { &event["task"] } else { &event["statusUpdate"] };
        told["status"]["state"].as_str().map(str::to_owned)
    };
    let order =
        ["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"];
    let told = events.iter().filter_map(state);
    told.map(|told| *order.iter().find(|state| **state == told).unwrap()).collect()
}

pub(crate) async fn cases(way: Way, held: &mut Held) {
    let ours = Ours::plain().await;
    let client = ours.as_(way);

    let stream = opened(&client, held, "SendStreamingMessage", saying("file")).await;
    let told = events(&client, held, stream).await;
    held.case("CORE-STREAM-001");
    assert!(told[0]["task"].is_object(), "{told:?}");
    assert_eq!(states(&told).last(), Some(&"TASK_STATE_COMPLETED"));
    assert!(told.last().unwrap()["statusUpdate"].is_object(), "the end is told last: {told:?}");
    held.case("CORE-STREAM-003");

    // A question ends a stream too, since nothing comes until it is answered.
    let stream = opened(&client, held, "SendStreamingMessage", saying("ask")).await;
    assert_eq!(states(&events(&client, held, stream).await).last(), Some(&"TASK_STATE_INPUT_REQUIRED"));

    let task = sent(&client, held, saying_at_once("wait")).await;
    let by = || json!({"id": task["id"]});
    let first = opened(&client, held, "SubscribeToTask", by()).await;
    let second = opened(&client, held, "SubscribeToTask", by()).await;
    let third = opened(&client, held, "SubscribeToTask", by()).await;
    drop(third);
    ours.released.notify_one();
    let (first, second) = (events(&client, held, first).await, events(&client, held, second).await);
    held.case("STREAM-ORDER-004");
    // Each begins with the task as it is at that moment, which may have gone on between the two.
    assert_eq!(first[0]["task"]["id"], second[0]["task"]["id"]);
    assert_eq!(first[1..], second[1..]);
    held.case("STREAM-ORDER-002");
    held.case("STREAM-ORDER-003");
    assert_eq!(first[0]["task"]["status"]["state"], "TASK_STATE_WORKING");
    held.case("STREAM-SUB-001");
    assert_eq!(states(&first), ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    held.case("STREAM-SUB-002");
    let artifact = first.iter().position(|event| event["artifactUpdate"].is_object()).unwrap();
    assert_eq!(artifact, first.len() - 2, "what was made is told before the end");
    held.case("STREAM-ORDER-001");

    // A stream of a task that is cancelled elsewhere ends.
    let task = sent(&client, held, saying_at_once("wait")).await;
    let stream = opened(&client, held, "SubscribeToTask", json!({"id": task["id"]})).await;
    client.done(held, "CancelTask", json!({"id": task["id"]})).await;
    assert_eq!(states(&events(&client, held, stream).await).last(), Some(&"TASK_STATE_CANCELED"));

    client.refused(held, "SubscribeToTask", by(), &UNSUPPORTED).await;
    held.case("STREAM-SUB-003");
    client.refused(held, "SubscribeToTask", json!({"id": "tck-nonexistent-sub-004"}), &NOT_FOUND).await;
    held.case("STREAM-SUB-004");
}
