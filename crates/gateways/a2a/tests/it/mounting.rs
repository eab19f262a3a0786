//! The router among others, and what reaches it from web pages.

use std::sync::Arc;

use attache_a2a::{A2aAgent, A2aBinding, A2aServer};
use attache_agent::{Agent, MemorySessions, SessionId, Sessions};
use attache_core::ErrorKind;
use attache_testkit::{ScriptedModel, Turn};
use attache_transport::{HttpClient, RequestParts};
use http::{HeaderName, Method};
use serde_json::{Value, json};

use crate::server::{Ours, hello, profile};
use crate::support::ask;

// A page that somebody visits may send text to any address that the browser reaches, without being asked first.
#[tokio::test]
async fn a_web_page_begins_no_task() {
    let turns = || [Turn::text("done")];
    let ours = Ours::with(ScriptedModel::new(turns()), Arc::default(), Arc::default(), |server| {
        server.open_to_all("everybody")
    })
    .await;
    let status = async |path: &str, content_type: Option<&str>, more: &[(HeaderName, &str)], body: &Value| {
        let mut parts = RequestParts::get(format!("{}{path}", ours.url))
            .with_header(HeaderName::from_static("a2a-version"), "1.0");
        (parts.method, parts.body) = (Method::POST, body.to_string().into());
        for (name, value) in content_type.map(|said| (http::header::CONTENT_TYPE, said)).iter().chain(more) {
            parts = parts.with_header(name.clone(), *value);
        }
        HttpClient::shared().answer(&parts).await.unwrap().status().as_u16()
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": hello()});
    let page = [(http::header::ORIGIN, "https://evil.example")];
    for (path, body) in [("/", &body), ("/message:send", &hello())] {
        for said in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
            assert_eq!(status(path, said, &[], body).await, 415, "{path} {said:?}");
        }
        assert_eq!(status(path, Some("application/json"), &page, body).await, 403, "{path}");
    }
    let listed = ours.rpc("ann", "ListTasks", json!({})).await.unwrap();
    assert_eq!(listed["totalSize"], 0, "nothing has begun");
    assert_eq!(status("/", Some("application/json; charset=utf-8"), &[], &body).await, 200);
}

#[tokio::test]
async fn the_router_may_be_nested() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/agents/leases", listener.local_addr().unwrap());
    let agent = Agent::builder(ScriptedModel::new([Turn::text("one"), Turn::text("two")]));
    let sessions = Sessions::new(agent.build().unwrap(), Arc::new(MemorySessions::new()));
    let router = A2aServer::new(profile(&url), sessions).open_to_all("everybody").router();
    let router = axum::Router::new().nest("/agents/leases", router);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let leases = A2aAgent::at("leases", &url);
    assert_eq!(ask(&leases).await.unwrap().tree.model_text(), "one");
    assert_eq!(ask(&leases.binding(A2aBinding::HttpJson)).await.unwrap().tree.model_text(), "two");
}

// A task that failed is over for its caller: nobody asks the failing model again by a look.
#[tokio::test]
async fn a_task_that_failed_stays_so_in_another_process() {
    let served = Ours::new([Turn::empty().then_error(ErrorKind::Overloaded)]).await;
    let sent = served.rpc("ann", "SendMessage", hello()).await.unwrap();
    let id = json!({"id": sent["task"]["id"]});
    let here = served.rpc("ann", "GetTask", id.clone()).await.unwrap();
    assert_eq!(here["status"]["state"], "TASK_STATE_FAILED", "{here}");
    let served = served.again([Turn::text("Done.")]).await;
    for _ in 0..2 {
        let there = served.rpc("ann", "GetTask", id.clone()).await.unwrap();
        assert_eq!(there["status"]["state"], "TASK_STATE_FAILED", "{there}");
        assert_eq!(there["status"]["message"]["parts"], here["status"]["message"]["parts"]);
    }
    assert_eq!(served.rpc("ann", "CancelTask", id).await, Err(-32002));
}

// The key that a provider refuses is ours, and its words about it are not for callers.
#[tokio::test]
async fn a_caller_reads_nothing_of_a_provider_that_refuses_our_key() {
    let served = Ours::new([Turn::empty().then_error(ErrorKind::Authentication)]).await;
    let sent = served.rpc("ann", "SendMessage", hello()).await.unwrap();
    let id = json!({"id": sent["task"]["id"]});
    let here = served.rpc("ann", "GetTask", id.clone()).await.unwrap();
    let there = served.again([Turn::text("Done.")]).await.rpc("ann", "GetTask", id).await.unwrap();
    for told in [here, there] {
        assert_eq!(told["status"]["state"], "TASK_STATE_FAILED", "{told}");
        let said = &told["status"]["message"]["parts"][0]["text"];
        assert_eq!(said, "the agent cannot ask its model", "{told}");
    }
}

// A key that may begin runs and read nothing: it is answered, and sees no task of others of its principal.
#[tokio::test]
async fn whoever_may_not_read_is_answered_and_sees_no_tasks() {
    let ours =
        Ours::with(ScriptedModel::new([Turn::text("one")]), Arc::default(), Arc::default(), |server| {
            server
                .readers(|head| head.headers["x-user"] != "ann-who-runs")
                .principal(|_| Some("ann".to_owned()))
        })
        .await;
    let asked = async |user: &str, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        ours.request(Method::POST, user, "/", &body, "1.0").await
    };
    let (status, sent) = asked("ann-who-runs", "SendMessage", hello()).await;
    assert_eq!((status, &sent["result"]["task"]["artifacts"][0]["parts"][0]["text"]), (200, &json!("one")));
    let id = json!({"id": sent["result"]["task"]["id"]});
    let all = json!({"historyLength": 9, "includeArtifacts": true});
    for (method, params) in [("ListTasks", all), ("GetTask", id.clone()), ("SubscribeToTask", id)] {
        let (status, told) = asked("ann-who-runs", method, params.clone()).await;
        assert!(status == 403 && !told.to_string().contains("one"), "{method}: {status} {told}");
        if method != "SubscribeToTask" {
            assert_eq!(asked("ann", method, params).await.0, 200, "{method}");
        }
    }
    let (status, told) = ours.request(Method::GET, "ann-who-runs", "/tasks", "", "1.0").await;
    assert_eq!(status, 403, "{told}");
}

// The routes of a server find a run by the session in its id. A context may have signs that no address has.
#[tokio::test]
async fn the_run_of_a_task_has_the_session_in_its_id() {
    let agent = Agent::builder(ScriptedModel::new([Turn::text("one")])).build().unwrap();
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
    let ours = Ours::serving(sessions.clone(), |server| server).await;
    let mut params = hello();
    params["message"]["contextId"] = json!("tenant:a/7.1");
    let sent = ours.rpc("ann", "SendMessage", params).await.unwrap();
    let runs = sessions.get("ann", "tenant:a/7.1").await.unwrap().runs().await.unwrap();
    assert_eq!(SessionId::of_run(&runs[0].id), Some("tenant:a/7.1"), "{runs:?}");
    let id = sent["task"]["id"].as_str().unwrap();
    assert!(!id.contains('/') && !id.contains(':'), "{id}");
    let told = ours.rpc("ann", "GetTask", json!({"id": id})).await.unwrap();
    assert_eq!(told["id"], id);
    let listed = ours.rpc("ann", "ListTasks", json!({})).await.unwrap();
    assert_eq!(listed["tasks"][0]["id"], id, "{listed}");
}
