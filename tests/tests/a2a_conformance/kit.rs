//! An agent of ours over TCP, and requests to it as they are written.

use std::collections::BTreeSet;
use std::sync::Arc;

use attache::a2a::{A2aProfile, A2aServer};
use attache::agent::{MemoryDocumentStore, MemorySessions, Sessions};
use attache::transport::{HttpClient, RequestParts};
use attache::{Agent, Document, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{ChatRequest, Message, ToolError, UserPart};
use attache_testkit::{FunctionModel, Turn};
use axum::Router;
use http::{HeaderMap, HeaderName, Method};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The cases that were seen to hold, and what was answered, with the name of its type.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) cases: BTreeSet<&'static str>,
    pub(crate) answers: Vec<(&'static str, Value)>,
}

impl Held {
    pub(crate) fn case(&mut self, case: &'static str) {
        self.cases.insert(case);
    }
}

/// The ways in which requests of version 1.0 are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Rpc,
    Rest,
}

/// A running agent.
pub(crate) struct Ours {
    pub(crate) url: String,
    /// Lets tasks that wait go on.
    pub(crate) released: Arc<Notify>,
    serving: JoinHandle<()>,
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The text that a user said last, unless a tool has answered since.
fn wish(request: &ChatRequest) -> Option<String> {
    let Message::User(user) = &**request.messages.last()? else { return None };
    let texts = user.shown().iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.text()),
        _ => None,
    });
    Some(texts.collect())
}

impl Ours {
    /// An agent that does what the first word of a message says: `ask`, `wait`, `file`, or anything else.
    pub(crate) async fn serve(
        profile: impl FnOnce(A2aProfile) -> A2aProfile,
        change: impl FnOnce(A2aServer) -> A2aServer,
    ) -> Self {
        let released = Arc::new(Notify::new());
        let model = FunctionModel::new(|request, _| {
            let wish = wish(request).unwrap_or_default();
            match wish.split(' ').next().unwrap_or_default() {
                tool @ ("ask" | "wait" | "file") => Turn::call(tool, json!({})),
                _ => Turn::text("In 2031."),
            }
        });
        let waits = Arc::clone(&released);
        let wait = tool_fn("wait", "Waits", move || {
            let waits = Arc::clone(&waits);
            async move {
                waits.notified().await;
                Ok::<_, ToolError>("waited")
            }
        });
        let file = tool_fn("file", "Gives a file", || {
            Ok(Document::from_bytes(&b"%PDF-1.7 lease"[..], "application/pdf").with_file_name("lease.pdf"))
        });
        let ask = tool_fn("ask", "Asks", || Ok(Deferred::ask("Which bakery?")));
        let store = Arc::new(MemoryDocumentStore::default());
        let agent =
            Agent::builder(model.unverified()).tool(wait).tool(file).tool(ask).store(store.clone()).build();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sessions = Sessions::new(agent.unwrap(), Arc::new(MemorySessions::new()));
        let profile = profile(A2aProfile::new("Leases", "Knows all leases.", format!("{url}/a2a")));
        let server = A2aServer::new(profile, sessions)
            .store(store)
            .principal(|request| Some(request.headers.get("x-user")?.to_str().ok()?.to_owned()));
        // The kit posts to the address and a slash, clients to the address as it stands in the card.
        let router = Router::new().nest_service("/a2a", change(server).router());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url: format!("{url}/a2a"), released, serving }
    }

    /// The agent of most cases: its card has what version 1.0 knows and nothing else.
    pub(crate) async fn plain() -> Self {
        Self::serve(|profile| profile.for_0_3(false), |server| server).await
    }

    pub(crate) fn as_(&self, way: Way) -> Client<'_> {
        Client { ours: self, way, user: Some("ann"), version: Some("1.0") }
    }
}

/// Somebody who asks.
#[derive(Clone, Copy)]
pub(crate) struct Client<'o> {
    pub(crate) ours: &'o Ours,
    pub(crate) way: Way,
    pub(crate) user: Option<&'static str>,
    pub(crate) version: Option<&'static str>,
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn kind(&self) -> &str {
        self.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

/// An error, in the order of the table of the specification. (A2A 1.0 section 5.4)
pub(crate) struct Wrong {
    pub(crate) code: i64,
    pub(crate) status: u16,
    pub(crate) reason: &'static str,
}

const fn wrong(code: i64, status: u16, reason: &'static str) -> Wrong {
    Wrong { code, status, reason }
}

pub(crate) const NOT_FOUND: Wrong = wrong(-32001, 404, "TASK_NOT_FOUND");
pub(crate) const NOT_CANCELABLE: Wrong = wrong(-32002, 409, "TASK_NOT_CANCELABLE");
pub(crate) const NO_PUSH: Wrong = wrong(-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED");
pub(crate) const UNSUPPORTED: Wrong = wrong(-32004, 400, "UNSUPPORTED_OPERATION");
pub(crate) const CONTENT_TYPE: Wrong = wrong(-32005, 415, "CONTENT_TYPE_NOT_SUPPORTED");
pub(crate) const VERSION: Wrong = wrong(-32009, 400, "VERSION_NOT_SUPPORTED");
pub(crate) const PARAMS: Wrong = wrong(-32602, 400, "");

/// The address of an operation in HTTP+JSON, with the parameters that stand in it. (A2A 1.0 section 11.3)
fn addressed(operation: &str, params: &Value) -> (Method, String, Vec<&'static str>) {
    let at = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
    let configs = || format!("/tasks/{}/pushNotificationConfigs", at("taskId"));
    let config = || format!("{}/{}", configs(), at("id"));
    match operation {
        "SendMessage" => (Method::POST, "/message:send".to_owned(), vec![]),
        "SendStreamingMessage" => (Method::POST, "/message:stream".to_owned(), vec![]),
        "GetTask" => (Method::GET, format!("/tasks/{}", at("id")), vec!["id"]),
        "ListTasks" => (Method::GET, "/tasks".to_owned(), vec![]),
        "CancelTask" => (Method::POST, format!("/tasks/{}:cancel", at("id")), vec!["id"]),
        "SubscribeToTask" => (Method::GET, format!("/tasks/{}:subscribe", at("id")), vec!["id"]),
        "CreateTaskPushNotificationConfig" => (Method::POST, configs(), vec!["taskId"]),
        "ListTaskPushNotificationConfigs" => (Method::GET, configs(), vec!["taskId"]),
        "GetTaskPushNotificationConfig" => (Method::GET, config(), vec!["taskId", "id"]),
        "DeleteTaskPushNotificationConfig" => (Method::DELETE, config(), vec!["taskId", "id"]),
        "GetExtendedAgentCard" => (Method::GET, "/extendedAgentCard".to_owned(), vec![]),
        other => panic!("{other}"),
    }
}

impl Client<'_> {
    fn headed(&self, mut parts: RequestParts) -> RequestParts {
        let header = |name| HeaderName::from_static(name);
        if let Some(user) = self.user {
            parts = parts.with_header(header("x-user"), user);
        }
        if let Some(version) = self.version {
            parts = parts.with_header(header("a2a-version"), version);
        }
        // Extensions that nobody knows are nobody's concern.
        parts.with_header(header("a2a-extensions"), "https://example.com/ext/v1,https://example.com/ext/v2")
    }

    pub(crate) fn request(&self, operation: &str, params: &Value) -> RequestParts {
        let url = &self.ours.url;
        self.headed(match self.way {
            Way::Rpc => {
                let body = json!({"jsonrpc": "2.0", "id": "kit-1", "method": operation, "params": params});
                RequestParts::post_json(format!("{url}/"), body.to_string())
            }
            Way::Rest => {
                let (method, path, named) = addressed(operation, params);
                let mut params = params.as_object().unwrap().clone();
                named.into_iter().for_each(|name| drop(params.remove(name)));
                match method {
                    Method::POST => {
                        RequestParts::post_json(format!("{url}{path}"), Value::from(params).to_string())
                    }
                    method => {
                        let pairs = params.iter().map(|(name, value)| match value {
                            Value::String(text) => format!("{name}={}", text.replace(' ', "%20")),
                            value => format!("{name}={value}"),
                        });
                        let query = pairs.collect::<Vec<_>>().join("&");
                        let mut parts = RequestParts::get(format!("{url}{path}?{query}"));
                        parts.method = method;
                        parts
                    }
                }
            }
        })
    }

    pub(crate) async fn answer(&self, operation: &str, params: Value) -> Answer {
        answered(&self.request(operation, &params)).await
    }

    /// A request of JSON-RPC as it is given.
    pub(crate) async fn raw(&self, body: &str) -> Answer {
        answered(&self.headed(RequestParts::post_json(self.ours.url.clone(), body.to_owned()))).await
    }

    /// The result of a request that is done.
    pub(crate) async fn done(&self, held: &mut Held, operation: &str, params: Value) -> Value {
        let answer = self.answer(operation, params).await;
        let body = answer.json();
        assert_eq!(answer.status, 200, "{operation}: {body}");
        match self.way {
            Way::Rpc => {
                // Nothing stands beside the result. (JSON-RPC 2.0 section 5)
                let names: Vec<_> = body.as_object().unwrap().keys().collect();
                assert_eq!((names.len(), &body["jsonrpc"], &body["id"]), (3, &json!("2.0"), &json!("kit-1")));
                assert_eq!(answer.kind(), "application/json");
                for case in ["JSONRPC-FMT-001", "JSONRPC-FMT-002", "JSONRPC-SVC-001", "JSONRPC-SVC-002"] {
                    held.case(case);
                }
                body["result"].clone()
            }
            Way::Rest => {
                assert_eq!(answer.kind(), "application/a2a+json");
                for case in
                    ["HTTP_JSON-SVC-001", "HTTP_JSON-SVC-002", "HTTP_JSON-URL-001", "HTTP_JSON-URL-002"]
                {
                    held.case(case);
                }
                body
            }
        }
    }

    /// A request that is refused, in the way that the specification has for the error.
    pub(crate) async fn refused(&self, held: &mut Held, operation: &str, params: Value, wrong: &Wrong) {
        let answer = self.answer(operation, params).await;
        self.is_refused(held, &answer, wrong);
    }

    pub(crate) fn is_refused(&self, held: &mut Held, answer: &Answer, wrong: &Wrong) {
        let body = answer.json();
        let error = &body["error"];
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
        let details = match self.way {
            Way::Rpc => {
                assert_eq!((answer.status, &error["code"]), (200, &json!(wrong.code)), "{body}");
                let known = ["code", "message", "data"];
                assert!(error.as_object().unwrap().keys().all(|name| known.contains(&&**name)), "{body}");
                for case in ["JSONRPC-ERR-001", "JSONRPC-ERR-002", "JSONRPC-ERR-003", "JSONRPC-SSE-002"] {
                    held.case(case);
                }
                &error["data"]
            }
            Way::Rest => {
                assert_eq!((answer.status, &error["code"]), (wrong.status, &json!(wrong.status)), "{body}");
                assert_eq!(answer.kind(), "application/json");
                assert!(error["status"].is_string() && error["details"].is_array(), "{body}");
                for case in ["HTTP_JSON-ERR-001", "HTTP_JSON-ERR-002", "HTTP_JSON-STATUS-001"] {
                    held.case(case);
                }
                &error["details"]
            }
        };
        if !wrong.reason.is_empty() {
            let info = &details[0];
            assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{body}");
            assert_eq!(
                (&info["reason"], &info["domain"]),
                (&json!(wrong.reason), &json!("a2a-protocol.org"))
            );
        }
        held.case("CORE-ERR-001");
    }
}

pub(crate) async fn answered(parts: &RequestParts) -> Answer {
    let reply = HttpClient::shared().answer(parts).await.unwrap();
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let text = String::from_utf8(reply.bytes(1 << 22).await.unwrap().to_vec()).unwrap();
    Answer { status, headers, text }
}

/// A message with a text.
pub(crate) fn saying(text: &str) -> Value {
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The same to a task.
pub(crate) fn saying_to(task: &Value, text: &str) -> Value {
    let mut params = saying(text);
    params["message"]["taskId"] = task["id"].clone();
    params
}

/// The same, which waits for nothing.
pub(crate) fn saying_at_once(text: &str) -> Value {
    let mut params = saying(text);
    params["configuration"] = json!({"returnImmediately": true});
    params
}
