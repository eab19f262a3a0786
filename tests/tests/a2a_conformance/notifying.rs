//! Notifications of version 1.0.

use std::time::Duration;

use attache::a2a::A2aTargets;
use axum::Router;
use axum::routing::post;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::kit::{Held, Ours, PARAMS, Way, saying_at_once, saying_to};
use crate::newest::sent;
use crate::shapes;

pub(crate) async fn cases(way: Way, held: &mut Held) {
    let (sender, mut told) = mpsc::unbounded_channel::<(HeaderMap, Value)>();
    let hook = move |headers: HeaderMap, body: String| {
        let sender = sender.clone();
        async move { drop(sender.send((headers, serde_json::from_str(&body).unwrap()))) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let hooked =
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(hook))).await });

    let ours =
        Ours::serve(|profile| profile.for_0_3(false), |server| server.notifies_to(A2aTargets::Any)).await;
    let client = ours.as_(way);
    let task = sent(&client, held, saying_at_once("wait")).await;
    let id = &task["id"];
    let config = json!({
        "taskId": id, "id": "one", "url": url, "token": "token-of-the-caller",
        "authentication": {"scheme": "Bearer", "credentials": "credentials-of-the-caller"},
    });
    let created = client.done(held, "CreateTaskPushNotificationConfig", config).await;
    assert_eq!((&created["id"], &created["url"], &created["taskId"]), (&json!("one"), &json!(url), id));
    held.answers.push(("TaskPushNotificationConfig", created));
    held.case("PUSH-CREATE-001");
    let other = json!({"taskId": id, "id": "two", "url": url});
    client.done(held, "CreateTaskPushNotificationConfig", other).await;

    let one = || json!({"taskId": id, "id": "one"});
    let two = || json!({"taskId": id, "id": "two"});
    let seen = client.done(held, "GetTaskPushNotificationConfig", one()).await;
    assert_eq!((&seen["id"], &seen["url"]), (&json!("one"), &json!(url)));
    held.answers.push(("TaskPushNotificationConfig", seen));
    held.case("PUSH-GET-001");
    let nothing = json!({"taskId": id, "id": "three"});
    client.refused(held, "GetTaskPushNotificationConfig", nothing, &PARAMS).await;
    held.case("PUSH-GET-002");
    let list = client.done(held, "ListTaskPushNotificationConfigs", json!({"taskId": id})).await;
    let ids: Vec<&Value> = list["configs"].as_array().unwrap().iter().map(|config| &config["id"]).collect();
    assert_eq!(ids, ["one", "two"]);
    held.answers.push(("ListTaskPushNotificationConfigsResponse", list));
    held.case("PUSH-LIST-001");
    for _ in 0..2 {
        assert_eq!(client.done(held, "DeleteTaskPushNotificationConfig", two()).await, json!({}));
    }
    held.case("PUSH-DEL-002");
    client.refused(held, "GetTaskPushNotificationConfig", two(), &PARAMS).await;
    held.case("PUSH-DEL-001");

    // It outlives what happens to the task until its end.
    client
        .done(held, "SendMessage", {
            let mut more = saying_to(&task, "more");
            more["configuration"] = json!({"returnImmediately": true});
            more
        })
        .await;
    client.done(held, "GetTaskPushNotificationConfig", one()).await;
    ours.released.notify_one();
    let next = tokio::time::timeout(Duration::from_secs(30), told.recv()).await;
    let (headers, body) = next.expect("it is told").unwrap();
    held.case("PUSH-CREATE-002");
    held.case("PUSH-DELIVER-002");
    assert_eq!(headers["authorization"], "Bearer credentials-of-the-caller");
    assert_eq!(headers["x-a2a-notification-token"], "token-of-the-caller");
    held.case("PUSH-DELIVER-001");
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    shapes::task(held, &body["task"]);
    assert_eq!((&body["task"]["id"], &body["task"]["status"]["state"]), (id, &json!("TASK_STATE_COMPLETED")));
    held.answers.push(("StreamResponse", body));
    held.case("PUSH-DELIVER-003");
    // Nobody tells the one that was deleted.
    assert!(told.try_recv().is_err());
    hooked.abort();
}
