//! An agent of ours, served: by our own client in each version and way, and by requests as others write them.

use std::sync::Arc;
use std::time::Duration;

use attache_a2a::{
    A2aAbility, A2aAgent, A2aBinding, A2aKey, A2aProfile, A2aQuestions, A2aServer, A2aSigner, A2aUpdate,
    A2aVersion,
};
use attache_agent::{Agent, MemoryDocumentStore, MemorySessions, SessionStore, Sessions, tool_fn};
use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::tool::{Deferred, Progress};
use attache_core::{Approval, BoxFuture, Document, DocumentStore, Message, ResultStatus, ToolContext};
use attache_testkit::{ScriptedModel, Turn};
use attache_transport::{HttpClient, RequestParts};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use http::{HeaderName, Method};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use crate::hooked::Strict;
use crate::streams::hearing;
use crate::support::{ask, call, call_with};

const USER: HeaderName = HeaderName::from_static("x-user");

/// A server of ours on this machine.
pub(crate) struct Ours {
    pub(crate) url: String,
    store: Arc<MemorySessions>,
    documents: Arc<MemoryDocumentStore>,
    serving: tokio::task::JoinHandle<()>,
}

/// A fetcher that has a plan at each address of one agent, and nothing else.
struct Plans;

impl Fetcher for Plans {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let found = url.starts_with("a2a-file://plans/").then(|| Fetched::new(&b"%PDF-1.7 plan"[..]));
        Box::pin(async { found.ok_or(FetchError::new(FetchErrorKind::NotFound, "nothing there")) })
    }
}

/// The tools of the agent: one gives a lease, one asks, one pays once it is approved.
fn ours(model: ScriptedModel, documents: &Arc<MemoryDocumentStore>) -> Agent {
    let lease = tool_fn("lease", "Gives a lease", || {
        Ok(Document::from_bytes(&b"%PDF-1.7 lease"[..], "application/pdf").with_file_name("lease.pdf"))
    });
    let which = tool_fn("which", "Asks which", || Ok(Deferred::ask("Which bakery?")));
    let asks = |name: &str, schema: Value| {
        tool_fn(name, "Asks", move || Ok(Deferred::ask("Which?").with_schema(schema.clone())))
    };
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let wait = tool_fn("wait", "Takes its time", || async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        Ok::<_, attache_core::ToolError>("waited")
    });
    let index = tool_fn("index", "Indexes", |context: ToolContext| async move {
        context.progress(Progress::new(1.0).with_total(2.0).with_message("page 1"));
        // It is told while the tool is at work.
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok::<_, attache_core::ToolError>("indexed")
    });
    let links = tool_fn("links", "Gives what other agents have", || {
        let at = |url: &str| Document::external(url).with_file_name("plan.pdf");
        Ok(["a2a-file://plans/1", "mcp://others/1", "https://h.example/plan.pdf"].map(at))
    });
    Agent::builder(model)
        .fetcher(Plans)
        .hook(Strict)
        .tool(links)
        .tool(index)
        .tool(lease)
        .tool(which)
        .tool(asks("text", json!({"type": "string"})))
        .tool(asks("choice", json!({"type": "string", "enum": ["Berlin", "Paris"]})))
        .tool(asks("form", json!({"type": "object", "required": ["rent"]})))
        .tool(pay)
        .tool(wait)
        .store(documents.clone())
        .build()
        .unwrap()
}

pub(crate) fn profile(url: &str) -> A2aProfile {
    A2aProfile::new("Leases", "Knows all leases.", url)
        .skill(A2aAbility::new("find", "Find", "Finds leases").tag("leases").example("The bakery's?"))
}

impl Ours {
    pub(crate) async fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::with(ScriptedModel::new(turns), Arc::default(), Arc::default(), |server| server).await
    }

    pub(crate) async fn with(
        model: ScriptedModel,
        store: Arc<MemorySessions>,
        documents: Arc<MemoryDocumentStore>,
        change: impl FnOnce(A2aServer) -> A2aServer,
    ) -> Self {
        let sessions = Sessions::new(ours(model, &documents), store.clone() as Arc<dyn SessionStore>);
        let kept = documents.clone();
        let served = Self::serving(sessions, |server| change(server.store(kept))).await;
        Self { store, documents, ..served }
    }

    pub(crate) async fn serving(sessions: Sessions, change: impl FnOnce(A2aServer) -> A2aServer) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = A2aServer::new(profile(&url), sessions)
            .principal(|request| Some(request.headers.get(USER)?.to_str().ok()?.to_owned()));
        let router = change(server).router();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, store: Arc::default(), documents: Arc::default(), serving }
    }

    /// The same agent in another process, say: nothing is left but what is kept.
    pub(crate) async fn again(self, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.serving.abort();
        let _ = self.serving.await;
        Self::with(ScriptedModel::new(turns), self.store, self.documents, |server| server).await
    }

    pub(crate) fn agent(&self) -> A2aAgent {
        A2aAgent::at("ours", &self.url).header("x-user", "ann")
    }

    /// A request of JSON-RPC; its error, or its result.
    pub(crate) async fn rpc(&self, user: &str, method: &str, params: Value) -> Result<Value, i64> {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = self.post(user, "/", &body.to_string(), "1.0").await;
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
        match answer.get("error") {
            Some(error) => Err(error["code"].as_i64().unwrap()),
            None => Ok(answer["result"].clone()),
        }
    }

    async fn post(&self, user: &str, path: &str, body: &str, version: &str) -> Value {
        self.request(Method::POST, user, path, body, version).await.1
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        user: &str,
        path: &str,
        body: &str,
        version: &str,
    ) -> (u16, Value) {
        let url = format!("{}{path}", self.url);
        let mut parts = RequestParts::post_json(url, body.to_owned())
            .with_header(USER, user)
            .with_header(HeaderName::from_static("a2a-version"), version);
        parts.method = method;
        let reply = HttpClient::shared().answer(&parts).await.unwrap();
        let status = reply.status().as_u16();
        let body = reply.bytes(1 << 20).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }
}

pub(crate) fn hello() -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}})
}

// C35: both ends are ours; the counterparts of the official SDK are in tests/tests/a2a.rs
#[tokio::test]
async fn an_answer_with_a_document_arrives_in_each_version_and_way() {
    for (version, binding) in [
        (A2aVersion::V1, A2aBinding::JsonRpc),
        (A2aVersion::V1, A2aBinding::HttpJson),
        (A2aVersion::V0_3, A2aBinding::JsonRpc),
    ] {
        let ours = Ours::new([Turn::call("lease", json!({})), Turn::text("Here it is.")]).await;
        let agent = ours.agent().version(version).binding(binding);
        let output = ask(&agent).await.unwrap();
        assert_eq!(output.status, ResultStatus::Ok);
        assert_eq!(output.documents.len(), 1, "{version:?} {binding:?}");
        assert_eq!(output.documents[0].bytes().unwrap(), "%PDF-1.7 lease");
        assert_eq!(output.documents[0].file_name(), Some("lease.pdf"));
        assert!(output.tree.json().contains("Here it is."), "{}", output.tree.json());
    }
}

// The caller cannot read what an agent or a server of ours has.
#[tokio::test]
async fn what_a_tool_links_to_through_an_agent_of_ours_is_handed_over() {
    let ours = Ours::new([Turn::call("links", json!({})), Turn::text("Here.")]).await;
    let output = ask(&ours.agent()).await.unwrap();
    let bytes: Vec<_> = output.documents.iter().map(|document| document.bytes()).collect();
    assert_eq!(bytes, [Some("%PDF-1.7 plan".into()), None]);
    let shown = format!("{} {:?}", output.tree.json(), output.documents);
    assert!(shown.contains("its content is not there") && !shown.contains("mcp://"), "{shown}");
}

#[tokio::test]
async fn files_of_the_caller_are_documents_of_the_run() {
    let model =
        ScriptedModel::new([Turn::text("read")]).with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let ours = Ours::with(model.clone(), Arc::default(), Arc::default(), |server| server).await;
    let message = json!({"message": {"messageId": "m", "role": "user", "kind": "message", "parts": [
        {"kind": "text", "text": "read"}, {"kind": "data", "data": {"rent": 900}},
        {"kind": "file", "file": {"bytes": "JVBERi0xLjc=", "name": "lease.pdf", "mimeType": "application/pdf"}},
        {"kind": "text", "text": "a,b", "filename": "table.csv"}]}});
    let task = ours.rpc("ann", "message/send", message).await.unwrap();
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")));
    let requests = model.requests();
    let seen = attache_testkit::documents(&requests[0]);
    let names: Vec<_> = seen.iter().map(|document| document.file_name()).collect();
    assert!(names.contains(&Some("lease.pdf")), "{names:?}");
    assert!(format!("{:?}", requests[0]).contains("table.csv"), "a text with a name is a file");
    // The history tells both sides, in the shapes of that version.
    let history = task["history"].as_array().unwrap();
    assert_eq!((&history[0]["role"], &history[1]["role"]), (&json!("user"), &json!("agent")));
    assert_eq!(history[0]["parts"][1]["file"]["name"], "lease.pdf");
}

#[tokio::test]
async fn a_stream_tells_the_task_its_answer_and_its_end() {
    for (method, names) in [
        ("SendStreamingMessage", ["task", "artifactUpdate", "statusUpdate"]),
        ("message/stream", ["task", "artifact-update", "status-update"]),
    ] {
        let ours = Ours::new([Turn::text("In 2031.")]).await;
        let is_old = method == "message/stream";
        let mut params = hello();
        if is_old {
            params["message"]["role"] = json!("user");
        }
        let body = json!({"jsonrpc": "2.0", "id": "s", "method": method, "params": params});
        let parts = RequestParts::post_json(&ours.url, body.to_string()).with_header(USER, "ann");
        let reply = HttpClient::shared().answer(&parts).await.unwrap();
        assert_eq!(reply.headers()["content-type"], "text/event-stream");
        let text = String::from_utf8(reply.bytes(1 << 20).await.unwrap().to_vec()).unwrap();
        let events: Vec<Value> = text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].clone())
            .collect();
        let kinds: Vec<String> = events
            .iter()
            .map(|event| match event["kind"].as_str() {
                Some(kind) => kind.to_owned(),
                None => event.as_object().unwrap().keys().next().unwrap().clone(),
            })
            .collect();
        let last = &kinds[kinds.len() - 1];
        assert_eq!((&*kinds[0], &**last), (names[0], names[2]), "{text}");
        if is_old {
            assert_eq!(events.last().unwrap()["final"], true);
        } else {
            assert_eq!(events.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
        }
        // A run that is quick may be over when its task is first told.
        let answers = text.matches("In 2031.").count();
        assert!(answers >= 1, "{text}");
        assert!(kinds.iter().all(|kind| names.contains(&&**kind)), "{kinds:?}");
    }
}

// The progress of our tools reaches the callers of an agent, and is the progress of a call of theirs.
#[tokio::test]
async fn callers_hear_how_far_a_call_has_come() {
    for version in [A2aVersion::V1, A2aVersion::V0_3] {
        let ours = Ours::new([Turn::call("index", json!({})), Turn::text("Done.")]).await;
        let (context, heard) = hearing();
        let agent = ours.agent().version(version);
        let output = call_with(&agent, json!({"message": "go"}), context).await.unwrap();
        assert_eq!(output.tree.model_text(), "Done.");
        let told = Progress::new(1.0).with_total(2.0).with_message("page 1");
        assert_eq!(*heard.lock().unwrap(), [told], "{version:?}");
    }
}

// A call that ends meanwhile hides nothing of what another one says.
#[tokio::test]
async fn progress_outlasts_the_end_of_another_call() {
    let both = Turn::call("index", json!({})).and_call("lease", json!({}));
    let ours = Ours::new([both, Turn::text("Done.")]).await;
    let (context, heard) = hearing();
    call_with(&ours.agent(), json!({"message": "go"}), context).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [Progress::new(1.0).with_total(2.0).with_message("page 1")]);
}

#[tokio::test]
async fn a_question_waits_through_a_restart_and_its_answer_goes_on_with_the_task() {
    let served = Ours::new([Turn::call("which", json!({}))]).await;
    let deferred = ask(&served.agent()).await.unwrap().deferred.unwrap();
    assert_eq!(deferred.prompt.as_deref(), Some("Which bakery?"));
    let served = served.again([Turn::text("In 2031.")]).await;
    let handle = deferred.handle.unwrap();
    assert!(matches!(served.agent().poll(&handle).await.unwrap(), A2aUpdate::Asks(_)));
    let A2aUpdate::Done(output) = served.agent().answer(&handle, "Berlin").await.unwrap() else { panic!() };
    assert_eq!(serde_json::to_value(&output).unwrap(), json!("In 2031."));
    // It is over, and stays so through another restart.
    let served = served.again([]).await;
    assert!(matches!(served.agent().poll(&handle).await.unwrap(), A2aUpdate::Done(_)));
    assert!(served.agent().answer(&handle, "Paris").await.unwrap_err().for_model().contains("-32004"));
}

#[tokio::test]
async fn calls_are_approved_here_unless_callers_may() {
    let turns = || [Turn::call("pay", json!({})), Turn::text("Paid.")];
    let served = Ours::new(turns()).await;
    let deferred = ask(&served.agent()).await.unwrap().deferred.unwrap();
    assert_eq!(deferred.prompt.as_deref(), Some("May \"pay\" be called?"));
    // The arguments of the call are none of the caller's business then.
    let listed = served.rpc("ann", "ListTasks", json!({})).await.unwrap();
    let id = listed["tasks"][0]["id"].clone();
    assert_eq!(
        served.rpc("ann", "GetTask", json!({"id": id})).await.unwrap()["status"]["message"]["parts"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let error = served.agent().answer(&deferred.handle.unwrap(), "yes").await.unwrap_err();
    assert!(error.for_model().contains("somebody else approves"), "{error}");

    for (answer, said) in [("yes", "Paid."), ("no", "Paid.")] {
        let model = ScriptedModel::new(turns());
        let change = |server: A2aServer| server.caller_approves(true);
        let served = Ours::with(model.clone(), Arc::default(), Arc::default(), change).await;
        let agent = served.agent().questions(A2aQuestions::Model);
        let output = ask(&agent).await.unwrap();
        let asked: Value = serde_json::from_str(output.tree.json()).unwrap();
        assert!(asked.to_string().contains("\"tool\":\"pay\""), "{asked}");
        let output = call(&agent, json!({"message": answer, "task": asked["task"]})).await.unwrap();
        assert!(output.tree.json().contains(said), "{}", output.tree.json());
        let requests = format!("{:?}", model.requests()[1].messages);
        assert_eq!(requests.contains("the caller says no"), answer == "no");
    }
}

// Files that a caller sends with its answer were dropped in silence.
#[tokio::test]
async fn files_of_an_answer_reach_the_model() {
    let plan = json!({"raw": "JVBERi0xLjcgcGxhbg==", "mediaType": "application/pdf", "filename": "plan.pdf"});
    let answering = |task: &Value, words: &str| {
        let mut params = hello();
        params["message"]["messageId"] = json!("m-2");
        params["message"]["taskId"] = task["id"].clone();
        params["message"]["parts"] = json!([{"text": words}, plan]);
        params
    };
    let model = ScriptedModel::new([Turn::call("which", json!({})), Turn::text("In 2031.")]);
    let served = Ours::with(model.clone(), Arc::default(), Arc::default(), |server| server).await;
    let task = served.rpc("ann", "SendMessage", hello()).await.unwrap()["task"].clone();
    let answered = served.rpc("ann", "SendMessage", answering(&task, "As in this plan")).await.unwrap();
    assert_eq!(answered["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let seen = format!("{:?}", model.requests()[1].messages);
    assert!(seen.contains("As in this plan") && seen.contains("plan.pdf"), "{seen}");
    // The store keeps it for whoever reads the conversation later.
    let asked = model.requests()[1].clone();
    let results = asked.messages.iter().find_map(|message| match &**message {
        Message::ToolResults(results) => results.results.first(),
        _ => None,
    });
    let file = &results.unwrap().documents[0];
    assert_eq!(served.documents.get(file.id()).await.unwrap(), "%PDF-1.7 plan");
}

// Another task of the conversation waits for somebody: that is no task that is not there.
#[tokio::test]
async fn a_conversation_with_an_open_approval_takes_no_other_task() {
    let ours = Ours::new([Turn::call("pay", json!({})), Turn::text("x")]).await;
    let mut params = hello();
    params["message"]["contextId"] = json!("c-1");
    let first = ours.rpc("ann", "SendMessage", params.clone()).await.unwrap();
    assert_eq!(first["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(ours.rpc("ann", "SendMessage", params).await, Err(-32004));
}

#[tokio::test]
async fn tasks_of_others_are_not_there() {
    let served = Ours::new([Turn::text("secret"), Turn::text("x")]).await;
    let task = served.rpc("ann", "SendMessage", hello()).await.unwrap()["task"].clone();
    let id = task["id"].as_str().unwrap();
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        assert_eq!(served.rpc("ben", method, json!({"id": id})).await, Err(-32001), "{method}");
    }
    let mut into = hello();
    into["message"]["contextId"] = task["contextId"].clone();
    assert_eq!(served.rpc("ben", "SendMessage", into.clone()).await, Err(-32001));
    into["message"]["taskId"] = json!(id);
    assert_eq!(served.rpc("ben", "SendMessage", into).await, Err(-32001));
    assert_eq!(served.rpc("ben", "ListTasks", json!({})).await.unwrap()["totalSize"], 0);
    assert_eq!(served.rpc("ann", "GetTask", json!({"id": id})).await.unwrap()["id"], id);
    let nobody = RequestParts::post_json(&served.url, "{}".to_owned());
    assert_eq!(HttpClient::shared().answer(&nobody).await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let served = Ours::new([Turn::text("I").then_hang()]).await;
    let mut params = hello();
    params["configuration"] = json!({"returnImmediately": true});
    let task = served.rpc("ann", "SendMessage", params).await.unwrap()["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING");
    let id = json!({"id": task["id"]});
    let cancelled = served.rpc("ann", "CancelTask", id.clone()).await.unwrap();
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(served.rpc("ann", "CancelTask", id.clone()).await, Err(-32002));
    assert_eq!(served.rpc("ann", "SubscribeToTask", id).await, Err(-32004));
    // One that waits for somebody is cancelled too.
    let served = Ours::new([Turn::call("which", json!({}))]).await;
    let task = served.rpc("ann", "SendMessage", hello()).await.unwrap()["task"].clone();
    let cancelled = served.rpc("ann", "CancelTask", json!({"id": task["id"]})).await.unwrap();
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn a_task_whose_process_died_goes_on_when_somebody_looks() {
    let served = Ours::new([Turn::text("I").then_hang()]).await;
    let mut params = hello();
    params["configuration"] = json!({"returnImmediately": true});
    let task = served.rpc("ann", "SendMessage", params).await.unwrap()["task"].clone();
    let served = served.again([Turn::text("In 2031.")]).await;
    let id = json!({"id": task["id"]});
    let end = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let now = served.rpc("ann", "GetTask", id.clone()).await.unwrap();
        if now["status"]["state"] == "TASK_STATE_COMPLETED" {
            assert_eq!(now["artifacts"][0]["parts"][0]["text"], "In 2031.");
            break;
        }
        assert!(tokio::time::Instant::now() < end, "{now}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_task_that_many_look_at_is_taken_up_once_and_can_be_cancelled() {
    let served = Ours::new([Turn::text("I").then_hang()]).await;
    let mut params = hello();
    params["configuration"] = json!({"returnImmediately": true});
    let task = served.rpc("ann", "SendMessage", params).await.unwrap()["task"].clone();
    let served = served.again([Turn::text("I").then_hang()]).await;
    let id = json!({"id": task["id"]});
    let looks = (0..8).map(|_| served.rpc("ann", "GetTask", id.clone()));
    for look in futures_util::future::join_all(looks).await {
        assert_eq!(look.unwrap()["status"]["state"], "TASK_STATE_WORKING");
    }
    let cancelled = served.rpc("ann", "CancelTask", id).await.unwrap();
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn a_conversation_goes_on_under_its_context() {
    let model = ScriptedModel::new([Turn::text("one"), Turn::text("two")]);
    let served = Ours::with(model.clone(), Arc::default(), Arc::default(), |server| server).await;
    let mut params = hello();
    params["message"]["contextId"] = json!("c 1/ä");
    let first = served.rpc("ann", "SendMessage", params.clone()).await.unwrap()["task"].clone();
    let second = served.rpc("ann", "SendMessage", params).await.unwrap()["task"].clone();
    assert_eq!((&first["contextId"], &second["contextId"]), (&json!("c 1/ä"), &json!("c 1/ä")));
    assert_ne!(first["id"], second["id"]);
    assert_eq!(model.requests()[1].messages.len(), 3);
    // Each task has its own part of it.
    assert_eq!(second["history"].as_array().unwrap().len(), 2);
    let listed = served.rpc("ann", "ListTasks", json!({"contextId": "c 1/ä", "pageSize": 1})).await.unwrap();
    assert_eq!(
        (&listed["totalSize"], &listed["nextPageToken"], &listed["pageSize"]),
        (&json!(2), &json!("1"), &json!(1))
    );
    assert!(listed["tasks"][0].get("history").is_none() && listed["tasks"][0].get("artifacts").is_none());
    let rest =
        served.rpc("ann", "ListTasks", json!({"pageToken": "1", "includeArtifacts": true})).await.unwrap();
    assert_eq!(
        (&rest["nextPageToken"], rest["tasks"][0]["artifacts"].as_array().unwrap().len()),
        (&json!(""), 1)
    );
    // A time in another zone, and of whole seconds.
    for (after, count) in
        [("2000-01-01T00:00:00Z", 2), ("2000-01-01T02:00:00+02:00", 2), ("2999-01-01T00:00:00Z", 0)]
    {
        let listed = served.rpc("ann", "ListTasks", json!({"statusTimestampAfter": after})).await.unwrap();
        assert_eq!(listed["totalSize"], count, "{after}");
    }
    for odd in [
        json!({"statusTimestampAfter": "x"}),
        json!({"pageSize": 0}),
        json!({"pageSize": 101}),
        json!({"pageToken": "x"}),
        json!({"status": "X"}),
    ] {
        assert_eq!(served.rpc("ann", "ListTasks", odd).await, Err(-32602));
    }
}

// The table of errors: A2A 0.3 section 8, 1.0 section 5.4
#[tokio::test]
async fn requests_that_cannot_be_done_say_why() {
    let served = Ours::new([]).await;
    for (body, code) in [
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/dance"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#, -32602),
    ] {
        assert_eq!(served.post("ann", "/", body, "").await["error"]["code"], code, "{body}");
    }
    for (method, params, code) in [
        ("GetTask", json!({"id": "nobody"}), -32001),
        ("tasks/get", json!({"id": "00000000-0000-0000-0000-000000000000.YQ"}), -32001),
        ("CancelTask", json!({"id": "x.%%"}), -32001),
        ("GetTask", json!({"id": "a.YQ", "historyLength": -1}), -32602),
        ("SendMessage", json!({}), -32602),
        ("SendMessage", json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}), -32602),
        ("SendMessage", json!({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}}), -32602),
        (
            "SendMessage",
            json!({"message": {"messageId": "m", "role": "user", "parts": [{"text": "x"}]}}),
            -32602,
        ),
        (
            "SendMessage",
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": " "}]}}),
            -32602,
        ),
        (
            "SendMessage",
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "%"}]}}),
            -32602,
        ),
        (
            "SendMessage",
            json!({"message": {"messageId": "m", "taskId": "t", "role": "ROLE_USER", "parts": [{"text": "x"}]}}),
            -32001,
        ),
        ("tasks/pushNotificationConfig/set", json!({"taskId": "t"}), -32003),
        ("CreateTaskPushNotificationConfig", json!({"taskId": "t"}), -32003),
        ("GetExtendedAgentCard", json!({}), -32004),
        ("agent/getAuthenticatedExtendedCard", json!({}), -32007),
    ] {
        assert_eq!(served.rpc("ann", method, params).await, Err(code), "{method}");
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}"#;
    assert_eq!(served.post("ann", "/", body, "2.0").await["error"]["code"], -32009);
    let (status, error) = served.request(Method::GET, "ann", "/tasks/x", "", "1.0").await;
    assert_eq!((status, &error["error"]["details"][0]["reason"]), (404, &json!("TASK_NOT_FOUND")));
    let (status, _) = served.request(Method::GET, "ann", "/nothing", "", "1.0").await;
    assert_eq!(status, 404);
    let (status, _) = served.request(Method::GET, "ann", "/tasks/x", "", "9.9").await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn the_card_is_signed_and_says_both_versions() {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let point = pair.public_key().as_ref();
    let coordinate = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let jwk = json!({"kty": "EC", "crv": "P-256", "kid": "k", "x": coordinate(&point[1..33]), "y": coordinate(&point[33..])});
    let signer = A2aSigner::es256(pkcs8.as_ref(), "k").unwrap();
    let change = |server: A2aServer| server.signer(signer);
    let model = ScriptedModel::new([Turn::text("hi")]);
    let served = Ours::with(model, Arc::default(), Arc::default(), change).await;
    let agent = served.agent().signed_by([A2aKey::from_jwk(&jwk).unwrap()]);
    let card = agent.card().await.unwrap();
    assert!(card.is_verified && card.streaming && !card.push_notifications);
    assert_eq!(ask(&agent).await.unwrap().tree.model_text(), "hi");

    let parts = RequestParts::get(format!("{}/.well-known/agent-card.json", served.url));
    let reply = HttpClient::shared().answer(&parts).await.unwrap();
    assert_eq!(reply.headers()["cache-control"], "public, max-age=300");
    let tag = reply.headers()["etag"].to_str().unwrap().to_owned();
    let card: Value = serde_json::from_slice(&reply.bytes(1 << 20).await.unwrap()).unwrap();
    // A2A 1.0 section 4.4.1, 0.3 section 5.5
    for member in [
        "name",
        "description",
        "version",
        "supportedInterfaces",
        "capabilities",
        "skills",
        "defaultInputModes",
        "defaultOutputModes",
        "url",
        "preferredTransport",
        "protocolVersion",
    ] {
        assert!(card.get(member).is_some(), "{member}");
    }
    assert_eq!(card["signatures"].as_array().unwrap().len(), 2);
    let known = parts.with_header(http::header::IF_NONE_MATCH, tag);
    assert_eq!(HttpClient::shared().answer(&known).await.unwrap().status(), 304);
    assert!(A2aSigner::es256(b"none", "k").is_err());
}
