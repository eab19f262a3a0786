//! MCP and A2A beside the server's own routes: they show and allow the same.

use std::time::Duration;

use attache_conformance::{MockProvider, Reply};
use serde_json::{Value, json};

use super::{Served, curl, key};

/// The arguments of a server with both protocols over that model, and more in `[server]`.
fn served(home: tempfile::TempDir, model: &MockProvider, more: &str) -> Served {
    let file = home.path().join("served.toml");
    let text =
        format!("[server]\npublic_url = 'https://papers.example.org'\nmcp = true\na2a = true\n{more}\n");
    std::fs::write(&file, text).unwrap();
    let (path, url) = (file.to_str().unwrap().to_owned(), format!("{}/v1", model.url()));
    Served::start_in(home, &["-m", "openai-chat/gpt-4o", "--base-url", &url, "--config", &path])
}

/// Posts a call of JSON-RPC, and yields the status with the text of the answer.
fn post(served: &Served, path: &str, key: Option<&str>, method: &str, params: &Value) -> (u16, String) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let bearer = format!("Authorization: Bearer {}", key.unwrap_or_default());
    let mut arguments = vec!["-H", "Content-Type: application/json", "-d", &body];
    arguments.extend(["-H", "Accept: application/json, text/event-stream"]);
    if key.is_some() {
        arguments.extend(["-H", &bearer]);
    }
    let name =
        ["-H", "MCP-Protocol-Version: 2026-07-28", "-H", "Mcp-Method: tools/call", "-H", "Mcp-Name: ask"];
    let version = ["-H", "A2A-Version: 1.0"];
    arguments.extend_from_slice(if path == "/mcp" { &name } else { &version });
    curl(&format!("{}{path}", served.address), &arguments)
}

/// A question for the agent, as MCP has it.
fn question() -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "1"},
    });
    json!({"name": "ask", "arguments": {"question": "How much?"}, "_meta": meta})
}

/// A question for the agent, as A2A has it.
fn message() -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "How much?"}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_reads_and_approves_nothing_does_neither_over_other_protocols() {
    let model = MockProvider::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let runs = key(home.path(), &["ann", "--scope", "run"]);
    let all = key(home.path(), &["ann"]);
    // A tool that is to be approved.
    let url = model.url();
    let served = served(
        home,
        &model,
        &format!(
            "[http.bank]\nbase_url = '{url}'\n[[http.bank.endpoints]]\nname = 'pay'\nmethod = 'POST'\npath = '/pay'\ndescription = 'Pays'\n"
        ),
    );
    model.enqueue(Reply::new().text("900."));
    let (status, told) = post(&served, "/a2a", Some(&runs), "SendMessage", &message());
    assert!(status == 200 && told.contains("900."), "{status} {told}");
    let list = json!({"historyLength": 9, "includeArtifacts": true});
    let (status, told) = post(&served, "/a2a", Some(&runs), "ListTasks", &list);
    assert!(status == 403 && !told.contains("How much?"), "{status} {told}");
    let (status, told) = post(&served, "/a2a", Some(&all), "ListTasks", &list);
    assert!(status == 200 && told.contains("How much?"), "{status} {told}");
    for (key, asked) in [(&runs, false), (&all, true)] {
        model.enqueue(Reply::new().call("call_1", "pay", json!({})));
        let (status, told) = post(&served, "/mcp", Some(key), "tools/call", &question());
        assert_eq!((status, told.contains("inputRequests")), (200, asked), "{told}");
        assert_eq!(told.contains("pending_approval"), !asked, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tools_return_is_hidden_over_other_protocols_too() {
    for shown in [true, false] {
        let model = MockProvider::start().await.unwrap();
        let served = served(tempfile::tempdir().unwrap(), &model, &format!("tool_details = {shown}"));
        let read = || Reply::new().call("call_1", "read_file", json!({"path": "invoice-2026-0417.pdf"}));
        for (path, method, params, document) in [
            ("/a2a", "SendMessage", message(), "\"raw\""),
            ("/mcp", "tools/call", question(), "\"type\":\"resource"),
        ] {
            model.enqueue(read());
            model.enqueue(Reply::new().text("It is 900."));
            let (status, told) = post(&served, path, None, method, &params);
            assert!(status == 200 && told.contains("It is 900."), "{status} {told}");
            assert_eq!(told.contains(document), shown, "{path}: {told}");
            assert_eq!(told.contains("invoice-2026-0417"), shown, "{path}: {told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_end_waits_for_tasks_too() {
    let model = MockProvider::start().await.unwrap();
    let mut served = served(tempfile::tempdir().unwrap(), &model, "");
    let pieces = (0..80).map(|at| format!("{at} "));
    model.enqueue(Reply::new().text_pieces(pieces).delay_between(Duration::from_millis(25)));
    let mut params = message();
    params["configuration"] = json!({"returnImmediately": true});
    let (status, told) = post(&served, "/a2a", None, "SendMessage", &params);
    assert!(status == 200 && told.contains("TASK_STATE_WORKING"), "{status} {told}");
    served.terminate();
    let (status, log) = served.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    let cut = model.wait_for_disconnect(Duration::from_millis(300)).await;
    assert!(cut.is_none(), "the task was cut off");
}
