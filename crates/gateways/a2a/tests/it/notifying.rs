//! Notifications that a server of ours sends of its tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_a2a::{A2aLimits, A2aPush, A2aServer, A2aTargets, A2aUpdate};
use attache_testkit::{ScriptedModel, Turn};
use axum::Router;
use axum::extract::State;
use axum::routing::post;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::server::{Ours, hello};
use crate::support::ask;

/// A place where notifications arrive. It refuses the first ones.
pub(crate) struct Place {
    pub(crate) url: String,
    told: mpsc::UnboundedReceiver<(HeaderMap, Value)>,
}

impl Place {
    pub(crate) async fn refusing(count: usize) -> Self {
        let (sender, told) = mpsc::unbounded_channel();
        let left = Arc::new(AtomicUsize::new(count));
        let router = Router::new()
            .route(
                "/hook",
                post(
                    async move |State(sender): State<mpsc::UnboundedSender<_>>,
                                headers: HeaderMap,
                                body: String| {
                        let is_refused = left
                            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                            .is_ok();
                        if is_refused {
                            return StatusCode::SERVICE_UNAVAILABLE;
                        }
                        sender.send((headers, serde_json::from_str::<Value>(&body).unwrap())).unwrap();
                        StatusCode::NO_CONTENT
                    },
                ),
            )
            .with_state(sender);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, told }
    }

    pub(crate) async fn next(&mut self) -> (HeaderMap, Value) {
        tokio::time::timeout(Duration::from_secs(20), self.told.recv()).await.unwrap().unwrap()
    }
}

async fn served(turns: impl IntoIterator<Item = Turn>, to: A2aTargets) -> Ours {
    let notifies = |server: A2aServer| server.notifies_to(to);
    Ours::with(ScriptedModel::new(turns).unverified(), Arc::default(), Arc::default(), notifies).await
}

#[tokio::test]
async fn a_caller_is_told_of_the_question_and_of_the_end_of_its_task() {
    let mut place = Place::refusing(1).await;
    let ours =
        served([Turn::call("which", json!({})), Turn::text("It runs until May.")], A2aTargets::Any).await;
    assert!(ours.agent().card().await.unwrap().push_notifications);
    let mut asked = hello();
    asked["configuration"] = json!({"taskPushNotificationConfig": {
        "url": place.url, "token": "its token", "authentication": {"scheme": "Bearer", "credentials": "secret"},
    }});
    let task = ours.rpc("ann", "SendMessage", asked).await.unwrap()["task"].clone();
    let (headers, told) = place.next().await;
    assert_eq!(headers["x-a2a-notification-token"], "its token");
    assert_eq!(headers["authorization"], "Bearer secret");
    assert_eq!(told["task"]["id"], task["id"]);
    assert_eq!(told["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let mut answer = hello();
    answer["message"]["taskId"] = task["id"].clone();
    ours.rpc("ann", "SendMessage", answer).await.unwrap();
    let (_, told) = place.next().await;
    assert_eq!(told["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(told["task"]["artifacts"][0]["parts"][0]["text"], "It runs until May.");
}

#[tokio::test]
async fn notifications_are_set_listed_and_deleted_by_the_caller_alone_in_both_versions() {
    let ours = served([Turn::call("which", json!({}))], A2aTargets::Any).await;
    let task = ours.rpc("ann", "SendMessage", hello()).await.unwrap()["task"]["id"].clone();
    let config =
        |id: &str| json!({"taskId": task, "id": id, "url": "https://ann.example/hook", "token": "canary"});
    let set = ours.rpc("ann", "CreateTaskPushNotificationConfig", config("one")).await.unwrap();
    assert_eq!(set, json!({"taskId": task, "id": "one", "url": "https://ann.example/hook"}));
    let old = json!({"taskId": task, "pushNotificationConfig": {
        "id": "two", "url": "https://ann.example/old", "authentication": {"schemes": ["Bearer"], "credentials": "canary"},
    }});
    let set = ours.rpc("ann", "tasks/pushNotificationConfig/set", old).await.unwrap();
    assert_eq!(set["pushNotificationConfig"]["authentication"], json!({"schemes": ["Bearer"]}));
    let listed = ours.rpc("ann", "ListTaskPushNotificationConfigs", json!({"taskId": task})).await.unwrap();
    assert_eq!(listed["configs"].as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains("canary"), "{listed}");
    let path = format!("/tasks/{}/pushNotificationConfigs", task.as_str().unwrap());
    let (status, one) = ours.request(Method::GET, "ann", &format!("{path}/one"), "", "1.0").await;
    assert_eq!((status, &one["url"]), (200, &json!("https://ann.example/hook")));
    let get = json!({"id": task, "pushNotificationConfigId": "two"});
    let two = ours.rpc("ann", "tasks/pushNotificationConfig/get", get.clone()).await.unwrap();
    assert_eq!(two["pushNotificationConfig"]["url"], "https://ann.example/old");
    // Nobody else sees or changes them.
    for method in ["tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/delete"] {
        assert_eq!(ours.rpc("bob", method, get.clone()).await, Err(-32001), "{method}");
    }
    assert_eq!(ours.rpc("bob", "CreateTaskPushNotificationConfig", config("x")).await, Err(-32001));
    ours.rpc("ann", "tasks/pushNotificationConfig/delete", get.clone()).await.unwrap();
    assert_eq!(ours.rpc("ann", "tasks/pushNotificationConfig/get", get).await, Err(-32602));
    let (status, _) = ours.request(Method::DELETE, "ann", &format!("{path}/one"), "", "1.0").await;
    assert_eq!(status, 200);
    let listed = ours.rpc("ann", "ListTaskPushNotificationConfigs", json!({"taskId": task})).await.unwrap();
    assert_eq!(listed["configs"], json!([]));
    for number in 0..12 {
        let set = ours.rpc("ann", "CreateTaskPushNotificationConfig", config(&number.to_string())).await;
        assert_eq!(set.is_ok(), number < 10, "{number}");
    }
}

// A server must not be made to send requests into the network that it stands in.
#[tokio::test]
async fn notifications_go_to_public_addresses_with_tls_unless_the_program_says_otherwise() {
    let ours = served([Turn::call("which", json!({}))], A2aTargets::Public).await;
    let mut asked = hello();
    for url in ["http://ann.example/hook", "file:///etc/passwd", "https://ann:key@ann.example/", "/hook", ""]
    {
        asked["configuration"] = json!({"taskPushNotificationConfig": {"url": url}});
        assert_eq!(ours.rpc("ann", "SendMessage", asked.clone()).await, Err(-32602), "{url}");
    }
    let tasks = ours.rpc("ann", "ListTasks", json!({})).await.unwrap();
    assert_eq!(tasks["totalSize"], 0, "nothing begins that would not be told of");
    for header in ["a\r\nx: y", &"a".repeat(5_000)] {
        asked["configuration"] =
            json!({"taskPushNotificationConfig": {"url": "https://ann.example/", "token": header}});
        assert_eq!(ours.rpc("ann", "SendMessage", asked.clone()).await, Err(-32602));
    }
}

// C35: both ends are ours
#[tokio::test]
async fn our_client_is_told_by_our_server_of_a_task_that_it_left() {
    let mut place = Place::refusing(0).await;
    let ours =
        served([Turn::call("wait", json!({})), Turn::text("It runs until May.")], A2aTargets::Any).await;
    let limits = A2aLimits::new().with_patience(Duration::from_millis(200));
    let push = A2aPush::new(&place.url, "a secret of thirty-two characters");
    let agent = ours.agent().limits(limits).push(push);
    let handle = ask(&agent).await.unwrap().deferred.unwrap().handle.unwrap();
    let (headers, told) = place.next().await;
    let named = agent.notified(&headers, told.to_string().as_bytes()).unwrap().to_string();
    assert_eq!(named, handle);
    let A2aUpdate::Done(output) = agent.poll(&handle).await.unwrap() else { panic!("it is over") };
    assert!(format!("{output:?}").contains("until May"), "{output:?}");
}
