//! A2A against the official SDK in Python: an agent on it that ours asks, and a client on it that asks ours.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use attache::a2a::{
    A2aAgent, A2aBinding, A2aFetcher, A2aKey, A2aLimits, A2aProfile, A2aServer, A2aSigner, A2aUpdate,
    A2aVersion,
};
use attache::agent::{MemoryDocumentStore, MemorySessions, Sessions};
use attache::convert::DocumentConverter;
use attache::transport::{HttpClient, RequestParts};
use attache::{Agent, Document, EndReason, tool_fn};
use attache_conformance::{MockProvider, Reply, sha256_hex};
use attache_core::fetcher::Fetcher;
use attache_core::tool::{ConversationDocuments, Deferred, DynToolHandler};
use attache_core::{
    Arguments, DocumentSource, Message, ModelSettings, ResultStatus, ToolContext, ToolError, ToolOutput,
    UserMessage,
};
use attache_testkit::{ScriptedModel, Turn};
use attache_tests::PDF_APIS;
use attache_tests::files::{PDF, PNG, SHEET, assert_delivered};
use attache_tests::real::{Listening, Node, Python, script};
use serde_json::{Value, json};

fn python() -> Python {
    Python::installed("a2a", Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// The agent in Python that speaks these versions; one that does not stream with `still`.
fn theirs(versions: &str, still: bool) -> Listening {
    let mut command = python().command("a2a_server.py");
    command.arg(versions).args(still.then_some("still"));
    Listening::start(command).unwrap()
}

fn agent(server: &Listening) -> A2aAgent {
    A2aAgent::at("leases", server.url(""))
}

async fn call(agent: &A2aAgent, message: &str, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let documents: Vec<&str> = if message == "files" { vec!["lease"] } else { Vec::new() };
    let arguments = Arguments::new(json!({"message": message, "documents": documents}).to_string());
    DynToolHandler::call(agent, "a2a_leases___ask", &arguments, context).await
}

async fn ask(agent: &A2aAgent, message: &str) -> Result<ToolOutput, ToolError> {
    call(agent, message, ToolContext::new()).await
}

/// A conversation with a document of the id `lease`.
fn conversation() -> ToolContext {
    let lease = Document::from_bytes(&b"0123456789"[..], "text/plain");
    let lease = lease.with_id(attache_core::DocumentId::parse("lease").unwrap());
    let mut context = ToolContext::new();
    let message = Message::User(UserMessage::new([lease.into()])).shared();
    context.documents = ConversationDocuments::of(&[message]);
    context
}

// C16, C17, C35
async fn everything_works(agent: A2aAgent) {
    let message = ask(&agent, "message").await.unwrap();
    assert_eq!(message.documents.len(), 1);
    assert_eq!(message.documents[0].file_name(), Some("lease.pdf"));
    assert!(message.documents[0].bytes().unwrap().starts_with(b"%PDF"));

    let task = ask(&agent, "all").await.unwrap();
    let tree: Value = serde_json::from_str(task.tree.json()).unwrap();
    assert_eq!(tree[0], json!({"type": "text", "artifact": "answer", "text": "In 2031."}), "{tree}");
    assert_eq!(tree[3]["data"], json!({"rows": [1, 2]}), "{tree}");
    assert_eq!(tree[4]["text"], "done", "{tree}");
    let sorts: Vec<_> = task.documents.iter().map(|document| document.media_type().essence()).collect();
    assert_eq!(sorts, ["image/png", "text/csv"]);
    let DocumentSource::External { url } = task.documents[1].source() else { panic!() };
    let fetched = A2aFetcher::new([agent.clone()]).fetch(url).await.unwrap();
    assert!(fetched.bytes.starts_with(b"day,rain"));

    let files = call(&agent, "files", conversation()).await.unwrap();
    assert_eq!(files.tree.model_text(), "1 files of 10 bytes");

    for state in ["fail", "reject"] {
        assert_eq!(ask(&agent, state).await.unwrap().status, ResultStatus::Error, "{state}");
    }

    let asked = ask(&agent, "ask").await.unwrap().deferred.unwrap();
    assert_eq!(asked.prompt.as_deref(), Some("Which bakery?"));
    let A2aUpdate::Done(output) = agent.answer(&asked.handle.unwrap(), "the one in Berlin").await.unwrap()
    else {
        panic!()
    };
    assert_eq!(output.documents().count(), 2);

    let impatient = agent.limits(A2aLimits::new().with_patience(Duration::from_millis(400)));
    let deferred = ask(&impatient, "slow").await.unwrap().deferred.unwrap();
    let handle = deferred.handle.unwrap();
    let done = loop {
        match impatient.poll(&handle).await.unwrap() {
            A2aUpdate::Done(output) => break output,
            A2aUpdate::Working => tokio::time::sleep(Duration::from_millis(100)).await,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(done.documents().next().unwrap().file_name(), Some("slow.pdf"));
    assert!(impatient.cancel(&handle).await.is_err(), "it is over");
}

#[tokio::test]
#[ignore = "needs the packages of tests/real/a2a.txt: cargo xtask counterparts"]
async fn an_agent_of_the_python_sdk_in_both_versions_and_ways() {
    for still in [false, true] {
        let server = theirs("1.0,0.3", still);
        everything_works(agent(&server)).await;
        everything_works(agent(&server).binding(A2aBinding::HttpJson)).await;
        everything_works(agent(&server).version(A2aVersion::V0_3)).await;
    }
}

#[tokio::test]
#[ignore = "needs the packages of tests/real/a2a.txt: cargo xtask counterparts"]
async fn a_card_that_the_python_sdk_signed_is_verified() {
    // The card of one server has the members of 0.3 beside what was signed.
    for versions in ["1.0", "1.0,0.3"] {
        let server = theirs(versions, false);
        let reply = HttpClient::shared().answer(&RequestParts::get(server.url("/jwk"))).await.unwrap();
        let jwk: Value = serde_json::from_slice(&reply.bytes(10_000).await.unwrap()).unwrap();
        let key = A2aKey::from_jwk(&jwk).unwrap();
        let card = agent(&server).signed_by([key.clone()]).card().await.unwrap();
        assert!(card.is_verified && card.skills[0].description == "Finds leases — also schöne");
        // It has another key.
        let other = theirs(versions, false);
        assert!(agent(&other).signed_by([key]).card().await.is_err());
    }
}

#[tokio::test]
#[ignore = "needs the packages of tests/real/a2a.txt: cargo xtask counterparts"]
async fn files_of_an_agent_reach_the_model_on_every_api() {
    let server = theirs("1.0", false);
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a.pdf", PDF), ("b.png", PNG), ("c.xlsx", SHEET)] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    for api in PDF_APIS {
        let mock = MockProvider::start().await.unwrap();
        let message = format!("read {}", folder.path().display());
        mock.enqueue(Reply::new().call("call_1", "a2a_leases___ask", json!({"message": message})));
        mock.enqueue(Reply::new().text("done"));
        let store = Arc::new(MemoryDocumentStore::default());
        let model = api.connected(mock.url(), ModelSettings::new()).unwrap();
        let ours = Agent::builder(model)
            .handler(agent(&server))
            .converter(DocumentConverter::default())
            .store(Arc::<MemoryDocumentStore>::clone(&store))
            .build()
            .unwrap();
        let outcome = ours.run("Read the files.").outcome().await.unwrap();
        assert_eq!(outcome.reason, EndReason::Answer);
        assert_delivered(api, &mock, &outcome, &*store).await;
    }
}

/// A private key for tests, as PKCS #8, and its public half.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwKeVCBq+Q5w6Y2gF\nk8omzkQuy6BnEqozK+jzMl2BG5ihRANCAARMv0/QgxthZiW3699zWrBS1mQZPPS6\noQvhIC4e6YrSzHazEeLBh4fo3tFuWl1ig2tHk7SAsTOzxcfvgUf1wVUS\n-----END PRIVATE KEY-----\n";
const JWK: &str = r#"{"kty":"EC","crv":"P-256","x":"TL9P0IMbYWYlt-vfc1qwUtZkGTz0uqEL4SAuHumK0sw","y":"drMR4sGHh-je0W5aXWKDa0eTtICxM7PFx--BR_XBVRI","kid":"k","alg":"ES256"}"#;

/// The ways in which each client asks: in two forms of version 1.0 and in 0.3, with a stream and without.
const WAYS: usize = 6;

/// An agent of ours that gives a lease, and asks which bakery, once for each way; its address.
async fn ours() -> String {
    let turns = (0..WAYS).flat_map(|_| {
        [
            Turn::call("lease", json!({})),
            Turn::text("Here it is."),
            Turn::call("which", json!({})),
            Turn::text("In 2031."),
        ]
    });
    let model = ScriptedModel::new(turns).with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let lease = tool_fn("lease", "Gives a lease", || {
        Ok(Document::from_bytes(PDF, "application/pdf").with_file_name("lease.pdf"))
    });
    let which = tool_fn("which", "Asks which", || Ok(Deferred::ask("Which bakery?")));
    let store = Arc::new(MemoryDocumentStore::default());
    let ours = Agent::builder(model).tool(lease).tool(which).store(store.clone()).build().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sessions = Sessions::new(ours, Arc::new(MemorySessions::new()));
    let router = A2aServer::new(A2aProfile::new("Leases — schöne", "Knows all leases.", &url), sessions)
        .store(store)
        .principal(|request| Some(request.headers.get("x-user")?.to_str().ok()?.to_owned()))
        .signer(A2aSigner::pem(&PEM.into(), "k").unwrap())
        .router();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// The lines that a client prints.
async fn said(mut command: Command) -> Vec<Value> {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn every_way_works(lines: &[Value]) {
    assert_eq!(lines.len(), WAYS, "{lines:?}");
    for line in lines {
        assert_eq!(line["text"], "Here it is.", "{line}");
        assert_eq!(line["files"], json!([["lease.pdf", "application/pdf", sha256_hex(PDF)]]), "{line}");
        assert_eq!(line["states"].as_array().unwrap().last().unwrap(), "TASK_STATE_COMPLETED", "{line}");
        assert_eq!(line["again"], "TASK_STATE_COMPLETED", "{line}");
        assert_eq!(
            (&line["question"], &line["answer"]),
            (&json!("Which bakery?"), &json!("In 2031.")),
            "{line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the packages of tests/real/a2a.txt: cargo xtask counterparts"]
async fn a_client_of_the_python_sdk_asks_an_agent_of_ours() {
    let mut command = python().command("a2a_client.py");
    command.args([&ours().await, JWK]);
    let lines = said(command).await;
    assert_eq!(lines[0], json!({"card": "Leases — schöne", "verified": true}));
    every_way_works(&lines[1..]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the packages of tests/real/a2a: cargo xtask counterparts"]
async fn a_client_of_the_typescript_sdk_asks_an_agent_of_ours() {
    let node = Node::installed("a2a", Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let mut command = node.bare();
    command.arg(script("a2a/client.mjs")).arg(node.file("@a2a-js/sdk")).arg(ours().await);
    every_way_works(&said(command).await);
}
