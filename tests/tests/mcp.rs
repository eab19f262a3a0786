//! Real MCP servers: the reference servers in JavaScript, and one on the Python SDK, which speaks the newest era.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use attache::convert::DocumentConverter;
use attache::mcp::{McpCommand, McpEndpoint, McpEra, McpFetcher, McpLimits, McpServer};
use attache::{Agent, EndReason};
use attache_agent::MemoryDocumentStore;
use attache_conformance::{MockProvider, Reply};
use attache_core::fetcher::Fetcher;
use attache_core::tool::{DynToolHandler, ToolSpec};
use attache_core::{
    Arguments, DocumentSource, Effect, ModelSettings, ResultStatus, ToolContext, ToolError, ToolErrorKind,
    ToolOutput,
};
use attache_tests::PDF_APIS;
use attache_tests::files::{PDF, PNG, SHEET, assert_delivered};
use attache_tests::real::{Listening, Node, Python, script};
use serde_json::{Value, json};

const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0";

fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn node() -> Node {
    Node::installed("mcp", target()).unwrap()
}

fn python() -> Python {
    Python::installed("mcp", target()).unwrap()
}

fn everything() -> McpServer {
    let node = node();
    let command = McpCommand::new(node.program())
        .arg(node.file("@modelcontextprotocol/server-everything/dist/index.js"))
        .arg("stdio");
    McpServer::command("everything", command).limits(patient())
}

fn files(folder: &Path) -> McpServer {
    let node = node();
    let command = McpCommand::new(node.program())
        .arg(node.file("@modelcontextprotocol/server-filesystem/dist/index.js"))
        .arg(folder);
    McpServer::command("files", command).limits(patient())
}

/// Limits for a busy machine.
fn patient() -> McpLimits {
    McpLimits::new().with_connect(Duration::from_secs(120)).with_list(Duration::from_secs(120))
}

async fn tools(server: &McpServer) -> Vec<ToolSpec> {
    DynToolHandler::tools(server).await.unwrap()
}

fn names(tools: &[ToolSpec]) -> Vec<&str> {
    tools.iter().map(|tool| tool.definition.name()).collect()
}

async fn call(server: &McpServer, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    let name = format!("mcp_{}___{tool}", server.alias());
    let arguments = Arguments::new(arguments.to_string());
    DynToolHandler::call(server, &name, &arguments, ToolContext::new()).await
}

fn sorts(output: &ToolOutput) -> Vec<&str> {
    output.documents.iter().map(|document| document.media_type().essence()).collect()
}

/// Tests what the reference server does, over whichever transport.
async fn everything_works(server: McpServer) {
    let offered = tools(&server).await;
    for tool in ["mcp_everything___echo", "mcp_everything___get-tiny-image"] {
        assert!(names(&offered).contains(&tool), "{:?}", names(&offered));
    }
    assert_eq!(server.protocol_version().await.unwrap(), "2025-11-25");

    let echo = call(&server, "echo", json!({"message": "hi"})).await.unwrap();
    assert_eq!(echo.tree.model_text(), "Echo: hi");

    // C14: a real PNG between texts
    let image = call(&server, "get-tiny-image", json!({})).await.unwrap();
    assert_eq!(sorts(&image), ["image/png"]);
    assert!(image.documents[0].bytes().unwrap().starts_with(b"\x89PNG"));
    assert!(!image.tree.json().contains("iVBOR"));

    // An image for the user alone is withheld.
    let annotated =
        call(&server, "get-annotated-message", json!({"messageType": "success", "includeImage": true}));
    let annotated = annotated.await.unwrap();
    assert_eq!((annotated.documents.len(), annotated.withheld.len()), (0, 1));

    // Bytes that the server calls plain text, and text that is.
    let blob = call(&server, "get-resource-reference", json!({"resourceType": "Blob", "resourceId": 1}));
    assert_eq!(blob.await.unwrap().documents.len(), 1);
    let text = call(&server, "get-resource-reference", json!({"resourceType": "Text", "resourceId": 1}));
    assert!(text.await.unwrap().documents.is_empty());

    // C14: links are labelled without asking, and read through the session.
    let links = call(&server, "get-resource-links", json!({"count": 2})).await.unwrap();
    assert_eq!(links.documents.len(), 2);
    let fetcher = McpFetcher::new([server.clone()]);
    for document in &links.documents {
        let DocumentSource::External { url } = document.source() else { panic!("{document:?}") };
        assert!(!fetcher.fetch(url).await.unwrap().bytes.is_empty());
    }
    let zipped = call(
        &server,
        "gzip-file-as-resource",
        json!({"name": "a.txt.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resourceLink"}),
    );
    let zipped = zipped.await.unwrap();
    let DocumentSource::External { url } = zipped.documents[0].source() else { panic!("{zipped:?}") };
    assert!(fetcher.fetch(url).await.unwrap().bytes.starts_with(b"\x1f\x8b"));

    // Structured content is shown once.
    let weather = call(&server, "get-structured-content", json!({"location": "Chicago"})).await.unwrap();
    assert_eq!(weather.tree.json().matches("humidity").count(), 1, "{}", weather.tree.json());
    assert!(!weather.tree.json().contains("does not fit"));

    // A tool whose calls must be tasks, of which the SDK does not tell us.
    let researched = call(&server, "simulate-research-query", json!({"topic": "leases"})).await.unwrap();
    assert_eq!(researched.status, ResultStatus::Ok, "{}", researched.tree.json());
    assert!(researched.tree.model_text().contains("leases"), "{}", researched.tree.json());

    // A mistake is the tool's failure, which the model reads.
    match call(&server, "get-sum", json!({"a": "x"})).await {
        Ok(output) => assert_eq!(output.status, ResultStatus::Error),
        Err(error) => assert_ne!(error.kind(), ToolErrorKind::Timeout),
    }

    // A call that reports progress, and one that is given up.
    let work = json!({"duration": 1, "steps": 3});
    let worked = call(&server, "trigger-long-running-operation", work).await.unwrap();
    assert!(worked.tree.json().contains("completed"), "{}", worked.tree.json());
    let long = json!({"duration": 100, "steps": 2});
    let waiting = call(&server, "trigger-long-running-operation", long);
    assert!(tokio::time::timeout(Duration::from_millis(300), waiting).await.is_err());
    assert!(call(&server, "echo", json!({"message": "alive"})).await.is_ok());
}

#[tokio::test]
#[ignore = "runs against npm packages, which `cargo xtask test` installs"]
async fn the_reference_server_over_stdio() {
    let server = everything();
    everything_works(server.clone()).await;
    // Invariant 11: its tool that tells its environment has nothing of ours to tell.
    let told = call(&server, "get-env", json!({})).await.unwrap();
    assert!(told.tree.json().contains("PATH") && !told.tree.json().contains("CARGO"));
}

#[tokio::test]
#[ignore = "runs against npm packages, which `cargo xtask test` installs"]
async fn the_reference_server_over_http() {
    let node = node();
    let mut command = node.bare();
    command.arg("--require").arg(script("mcp/loopback.cjs"));
    command.arg(node.file("@modelcontextprotocol/server-everything/dist/index.js")).arg("streamableHttp");
    let listening = Listening::start(command).unwrap();
    let endpoint = McpEndpoint::new(listening.url("/mcp"));
    everything_works(McpServer::http("everything", endpoint).limits(patient())).await;
}

#[tokio::test]
#[ignore = "runs against npm packages, which `cargo xtask test` installs"]
async fn resources_and_prompts_of_the_reference_server() {
    let server = everything().resources().prompts().only(["echo"]);
    let offered = tools(&server).await;
    assert_eq!(offered.len(), 5, "{:?}", names(&offered));
    let listed = call(&server, "resources/list", json!({})).await.unwrap();
    assert!(
        listed.tree.json().contains("demo://resource/dynamic/blob/{resourceId}"),
        "{}",
        listed.tree.json()
    );
    let read =
        call(&server, "resources/read", json!({"uri": "demo://resource/dynamic/blob/3"})).await.unwrap();
    assert_eq!(read.documents.len(), 1);
    let missing = call(&server, "resources/read", json!({"uri": "demo://nothing/at/all"})).await.unwrap_err();
    assert!(missing.for_model().contains("answers with error"), "{missing}");
    let prompts = call(&server, "prompts/list", json!({})).await.unwrap();
    assert!(prompts.tree.json().contains("simple-prompt"), "{}", prompts.tree.json());
    let prompt = call(&server, "prompts/get", json!({"name": "simple-prompt"})).await.unwrap();
    assert!(prompt.tree.json().contains(r#""role":"user""#), "{}", prompt.tree.json());
}

/// A folder with files of all sorts.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let drawing = r#"<svg xmlns="http://www.w3.org/2000/svg"><text>drawn</text></svg>"#;
    for (name, bytes) in [
        ("lease.pdf", PDF),
        ("plan.png", PNG),
        ("call.wav", WAV),
        ("sums.xlsx", SHEET),
        ("plan.svg", drawing.as_bytes()),
        ("rain.csv", b"day,rain\n1,0.4\n"),
    ] {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

#[tokio::test]
#[ignore = "runs against npm packages, which `cargo xtask test` installs"]
async fn the_reference_server_for_files() {
    let folder = folder();
    let server = files(folder.path()).trust_hints();
    let offered = tools(&server).await;
    let effect = |name: &str| {
        let tool = offered.iter().find(|tool| tool.definition.name() == format!("mcp_files___{name}"));
        tool.unwrap().metadata.effect
    };
    assert_eq!((effect("read_media_file"), effect("write_file") == Effect::Read), (Effect::Read, false));
    let read = async |name: &str| {
        let path = folder.path().join(name);
        call(&server, "read_media_file", json!({"path": path})).await.unwrap()
    };
    for (name, sort, bytes) in [
        ("lease.pdf", "application/pdf", PDF),
        ("plan.png", "image/png", PNG),
        ("call.wav", "audio/wav", WAV),
    ] {
        let output = read(name).await;
        assert_eq!((sorts(&output), output.tree.documents().len()), (vec![sort], 1), "{name}");
        assert_eq!(&output.documents[0].bytes().unwrap()[..], bytes);
        // Each result repeats its bytes in its structured content.
        assert!(output.tree.json().len() < 1_000, "{name}: {}", output.tree.json().len());
    }
    let sheet = read("sums.xlsx").await;
    assert_eq!(sheet.documents[0].file_name(), Some("sums.xlsx"));
    assert!(sorts(&sheet)[0].ends_with("spreadsheetml.sheet"), "{:?}", sorts(&sheet));
    assert_eq!(sorts(&read("plan.svg").await), ["image/svg+xml"]);
    let path = folder.path().join("rain.csv");
    let text = call(&server, "read_text_file", json!({"path": path})).await.unwrap();
    assert_eq!(text.tree.model_text(), "day,rain\n1,0.4\n");
    let outside = call(&server, "read_text_file", json!({"path": "/etc/hostname"})).await.unwrap();
    assert_eq!(outside.status, ResultStatus::Error);
    assert!(outside.tree.model_text().contains("denied"), "{}", outside.tree.model_text());
}

async fn papers_work(server: McpServer, version: &str) {
    let offered = tools(&server).await;
    assert_eq!(server.protocol_version().await.unwrap(), version);
    assert_eq!(server.instructions().await.unwrap().as_deref(), Some("Ask for papers."));
    assert!(names(&offered).contains(&"mcp_papers___weather"), "{:?}", names(&offered));
    let weather = call(&server, "weather", json!({"place": "Oslo"})).await.unwrap();
    assert_eq!(weather.tree.json(), r#"{"place":"Oslo","degrees":7}"#);
    let paper = call(&server, "paper", json!({})).await.unwrap();
    assert_eq!(sorts(&paper), ["application/pdf", "image/png", "text/csv"]);
    assert_eq!(paper.documents[0].file_name(), Some("lease.pdf"));
    assert!(paper.tree.json().contains("a text for the user alone is not shown"));
    let DocumentSource::External { url } = paper.documents[2].source() else { panic!("{paper:?}") };
    let notes = McpFetcher::new([server.clone()]).fetch(url).await.unwrap();
    assert_eq!(&notes.bytes[..], b"day,rain\n1,0.4\n");
    let failed = call(&server, "fail", json!({})).await.unwrap();
    assert_eq!(failed.status, ResultStatus::Error);
    assert!(failed.tree.model_text().contains("Error executing tool fail"), "{}", failed.tree.model_text());
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn a_server_of_the_python_sdk_in_both_eras() {
    let python = python();
    let over_stdio = || {
        let command = McpCommand::new(python.program()).arg(script("mcp_server.py")).arg("stdio");
        McpServer::command("papers", command).limits(patient())
    };
    papers_work(over_stdio(), "2026-07-28").await;
    papers_work(over_stdio().era(McpEra::Sessions), "2025-11-25").await;
    let mut command = python.command("mcp_server.py");
    command.arg("http");
    let listening = Listening::start(command).unwrap();
    let over_http = || McpServer::http("papers", McpEndpoint::new(listening.url("/mcp"))).limits(patient());
    papers_work(over_http(), "2026-07-28").await;
    papers_work(over_http().era(McpEra::Sessions), "2025-11-25").await;
}

/// A reply that reads files.
fn reads(folder: &Path) -> Reply {
    let path = |name: &str| json!({"path": folder.join(name)});
    let tool = "mcp_files___read_media_file";
    Reply::new().call("call_1", tool, path("lease.pdf")).call("call_2", tool, path("plan.png")).call(
        "call_3",
        tool,
        path("sums.xlsx"),
    )
}

// C14, C33: a PDF, an image and a spreadsheet of a server reach the model on every API, byte for byte or as their text
#[tokio::test]
#[ignore = "runs against npm packages, which `cargo xtask test` installs"]
async fn files_of_a_server_reach_the_model_on_every_api() {
    let folder = folder();
    let server = files(folder.path());
    server.connect().await.unwrap();
    for api in PDF_APIS {
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(reads(folder.path()));
        mock.enqueue(Reply::new().text("done"));
        let store = Arc::new(MemoryDocumentStore::default());
        let model = api.connected(mock.url(), ModelSettings::new()).unwrap();
        let agent = Agent::builder(model)
            .handler(server.clone())
            .converter(DocumentConverter::default())
            .store(Arc::<MemoryDocumentStore>::clone(&store))
            .build()
            .unwrap();
        let outcome = agent.run("Read the files.").outcome().await.unwrap();
        assert_eq!(outcome.reason, EndReason::Answer);
        assert_delivered(api, &mock, &outcome, &*store).await;
    }
}

fn text(output: &ToolOutput) -> String {
    output.tree.model_text().into_owned()
}

/// A server of the Python environment, by its module.
fn of_python(alias: &str, module: &str) -> McpServer {
    let command = McpCommand::new(python().program()).arg("-m").arg(module);
    McpServer::command(alias, command).limits(patient())
}

// C34: servers that other people use
#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn the_server_for_git() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
        let run = Command::new("git").args(identity).args(arguments).current_dir(&folder).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    };
    git(&["init", "--quiet"]);
    fs::write(folder.path().join("rain.csv"), b"day,rain\n1,0.4\n").unwrap();
    git(&["add", "rain.csv"]);
    git(&["commit", "--quiet", "--message", "Add the rain"]);
    fs::write(folder.path().join("rain.csv"), b"day,rain\n1,0.5\n").unwrap();
    let server = of_python("git", "mcp_server_git").only(["git_status", "git_log", "git_diff_unstaged"]);
    assert_eq!(tools(&server).await.len(), 3);
    let repository = json!({"repo_path": folder.path()});
    let log = text(&call(&server, "git_log", repository.clone()).await.unwrap());
    assert!(log.contains("Add the rain"), "{log}");
    let diff = text(&call(&server, "git_diff_unstaged", repository).await.unwrap());
    assert!(diff.contains("-1,0.4") && diff.contains("+1,0.5"), "{diff}");
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn the_server_for_the_time() {
    let server = of_python("time", "mcp_server_time");
    let asked = json!({"source_timezone": "Europe/Oslo", "time": "16:30", "target_timezone": "Asia/Tokyo"});
    let told = call(&server, "convert_time", asked).await.unwrap();
    // Tokyo has no summer time, Oslo has.
    assert!(
        told.tree.json().contains("T23:30") || told.tree.json().contains("T00:30"),
        "{}",
        told.tree.json()
    );
    let told = call(&server, "get_current_time", json!({"timezone": "Nowhere/Else"})).await;
    assert!(told.is_err() || told.is_ok_and(|output| output.status == ResultStatus::Error));
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn the_server_that_fetches_pages() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let page = axum::Router::new().route(
        "/lease",
        axum::routing::get(|| async {
            axum::response::Html("<html><body><h1>Lease</h1><p>The rent is 900.</p></body></html>")
        }),
    );
    let served = tokio::spawn(async move { axum::serve(listener, page).await });
    let command = McpCommand::new(python().program()).args([
        "-m",
        "mcp_server_fetch",
        "--ignore-robots-txt",
        "--allow-private-ips",
    ]);
    let server = McpServer::command("fetch", command).limits(patient());
    let fetched = call(&server, "fetch", json!({"url": format!("http://{address}/lease")})).await.unwrap();
    assert!(text(&fetched).contains("The rent is 900."), "{}", text(&fetched));
    let missing = call(&server, "fetch", json!({"url": format!("http://{address}/nothing")})).await;
    assert!(missing.is_err() || missing.is_ok_and(|output| output.status == ResultStatus::Error));
    served.abort();
}

#[tokio::test]
#[ignore = "runs against npm packages, which `cargo xtask test` installs"]
async fn the_reference_server_for_memory() {
    let folder = tempfile::tempdir().unwrap();
    let node = node();
    let command = McpCommand::new(node.program())
        .arg(node.file("@modelcontextprotocol/server-memory/dist/index.js"))
        .env("MEMORY_FILE_PATH", folder.path().join("memory.jsonl").display().to_string());
    let server = McpServer::command("memory", command).limits(patient());
    let lease = json!({"name": "lease", "entityType": "document", "observations": ["The rent is 900."]});
    call(&server, "create_entities", json!({"entities": [lease]})).await.unwrap();
    let found = call(&server, "search_nodes", json!({"query": "rent"})).await.unwrap();
    // Its result is said twice, as text and as structured content; the model reads it once.
    assert_eq!(found.tree.json().matches("The rent is 900.").count(), 1, "{}", found.tree.json());
}

#[tokio::test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
async fn the_server_for_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leases.db");
    // Its packages are others: it works with the SDK before version 2 alone, and is no module that can be run.
    let python = Python::installed("sqlite", target()).unwrap();
    let main = "import mcp_server_sqlite; mcp_server_sqlite.main()";
    let command = McpCommand::new(python.program()).args(["-c", main, "--db-path"]).arg(&file);
    let server = McpServer::command("sqlite", command).limits(patient()).resources();
    let said =
        async |tool: &str, query: &str| text(&call(&server, tool, json!({"query": query})).await.unwrap());
    said("create_table", "CREATE TABLE leases (tenant TEXT, rent INTEGER)").await;
    said("write_query", "INSERT INTO leases VALUES ('bakery', 900)").await;
    let read = said("read_query", "SELECT tenant, rent FROM leases").await;
    assert!(read.contains("bakery") && read.contains("900"), "{read}");
    // A statement of the wrong kind is refused by the server, and its refusal is what the model reads.
    let refused = said("read_query", "DELETE FROM leases").await;
    assert!(refused.contains("SELECT"), "{refused}");
    let insight = call(&server, "append_insight", json!({"insight": "The bakery pays 900."}));
    insight.await.unwrap();
    let memo = call(&server, "resources/read", json!({"uri": "memo://insights"})).await.unwrap();
    assert!(memo.tree.json().contains("The bakery pays 900."), "{}", memo.tree.json());
}
