//! Servers that are child processes, played by shells.

use std::fs;
use std::path::Path;
use std::time::Duration;

use attache_core::ToolErrorKind;
use attache_mcp::{McpCommand, McpEra, McpLimits, McpServer};

use super::common::{call, names, tools};

/// A shell that shakes hands, tells of one tool `a`, and then does `then` for each line that it reads.
fn shell(before: &str, then: &str) -> McpCommand {
    let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}"#;
    let list =
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}"#;
    let script = format!(
        "{before}\nread line; echo '{hello}'; read line; read line; echo '{list}'\nwhile read line; do {then}\ndone"
    );
    McpCommand::new("sh").arg("-c").arg(script)
}

fn server(command: McpCommand) -> McpServer {
    McpServer::command("sh", command).era(McpEra::Sessions)
}

/// The answer to the request after the list.
fn answer(text: &str) -> String {
    format!(
        r#"printf '{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":"%s"}}]}}}}\n' "{text}""#
    )
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid.trim()).join("stat").exists() && {
        let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
        !stat.contains(") Z ")
    }
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it does not come to hold");
}

// S29, invariant 9
#[tokio::test]
async fn a_schema_too_deep_to_be_read_costs_its_own_tool() {
    let deep =
        format!("{}{}", r#"{"properties":{"a":"#.repeat(500), "}}".repeat(500).replacen("}}", "{}}}", 1));
    let tools_of = |tool: &str| format!(r#"{{"name":"{tool}","inputSchema":{{"type":"object"}}}}"#);
    let list = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{},{{"name":"deep","inputSchema":{deep}}},{}]}}}}"#,
        tools_of("a"),
        tools_of("b"),
    );
    let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}"#;
    let script = format!("read line; echo '{hello}'; read line; read line; echo '{list}'; read line");
    let server = server(McpCommand::new("sh").arg("-c").arg(script));
    assert_eq!(names(&tools(&server).await.unwrap()), ["mcp_sh___a", "mcp_sh___b"]);
}

// Invariant 11: keys of this process stay here
#[tokio::test]
async fn a_child_has_the_environment_that_is_listed() {
    // Cargo sets it for tests.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let told = answer("$CARGO_MANIFEST_DIR|$GIVEN|$CARGO_PKG_NAME|${PATH:+path}");
    let command = shell("", &told).env("GIVEN", "given").inherit("CARGO_PKG_NAME");
    let server = server(command);
    assert_eq!(names(&tools(&server).await.unwrap()), ["mcp_sh___a"]);
    assert_eq!(call(&server, "mcp_sh___a").await.unwrap().tree.model_text(), "|given|attache-mcp|path");
}

#[tokio::test]
async fn a_child_is_killed_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let before = format!("trap '' TERM HUP; sleep 1000 & echo $! > {0}; echo $$ >> {0}", pids.display());
    let server = server(shell(&before, ":"));
    tools(&server).await.unwrap();
    let pids: Vec<String> = fs::read_to_string(&pids).unwrap().lines().map(str::to_owned).collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| is_alive(pid)));
    drop(server);
    until(|| !pids.iter().any(|pid| is_alive(pid))).await;
}

#[test]
fn a_child_ends_with_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let server = server(shell(&format!("trap '' TERM HUP; echo $$ > {}", pids.display()), ":"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(tools(&server)).unwrap();
    let pid = fs::read_to_string(&pids).unwrap();
    assert!(is_alive(&pid));
    drop(runtime);
    for _ in 0..600 {
        if !is_alive(&pid) {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("the child lives on");
}

#[tokio::test]
async fn lines_that_are_no_messages_are_passed_over() {
    let noise = "echo 'Starting…'; echo '{\"half\": '; echo; echo 'to the log' >&2";
    let server = server(shell(noise, &answer("fine")));
    assert_eq!(tools(&server).await.unwrap().len(), 1);
    assert_eq!(call(&server, "mcp_sh___a").await.unwrap().tree.model_text(), "fine");
}

#[tokio::test]
async fn an_endless_line_is_dropped_and_not_kept() {
    let flood = "head -c 300000 /dev/zero | tr '\\0' x; echo";
    let limits = McpLimits::new().with_message_bytes(64 << 10);
    let server = server(shell("", &format!("{flood}; {}", answer("after the flood")))).limits(limits);
    tools(&server).await.unwrap();
    assert_eq!(call(&server, "mcp_sh___a").await.unwrap().tree.model_text(), "after the flood");
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_for_a_later_call() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let count = || fs::read_to_string(&starts).unwrap_or_default().lines().count();
    let server = server(shell(&format!("echo start >> {}", starts.display()), "exit 1"));
    tools(&server).await.unwrap();
    let error = call(&server, "mcp_sh___a").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable);
    assert!(error.for_model().contains("broke during the call"), "{error}");
    assert_eq!(count(), 1, "a call that may have had effects is not repeated");
    // One that died young is left alone for a moment, then it is started again.
    let error = tools(&server).await.unwrap_err();
    assert!(error.for_model().contains("it is tried again in"), "{error}");
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(tools(&server).await.unwrap().len(), 1);
    assert_eq!(count(), 2);
}

#[tokio::test]
async fn a_server_that_dies_at_its_start_is_quoted_without_secrets() {
    let script = "for n in 1 2 3 4 5 6; do echo \"line $n\" >&2; done; echo \"no key $THE_KEY\" >&2; exit 1";
    for era in [McpEra::Auto, McpEra::Sessions, McpEra::Stateless] {
        let command = McpCommand::new("sh").arg("-c").arg(script).env("THE_KEY", "canary-123");
        let error = server(command).era(era).connect().await.unwrap_err();
        let said = "; it says: line 3 | line 4 | line 5 | line 6 | no key ***";
        assert!(error.for_model().ends_with(said), "{error}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_to_be() {
    let error = tools(&server(McpCommand::new("no-such-program-anywhere"))).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable);
    let told = "its program \"no-such-program-anywhere\" cannot be started: there is no such program";
    assert!(error.for_model().contains(told), "{error}");
    let error = tools(&server(McpCommand::new("sh").folder("/no/such/folder"))).await.unwrap_err();
    let told = "its program \"sh\" cannot be started: its folder /no/such/folder is not there";
    assert!(error.for_model().contains(told), "{error}");
}

#[tokio::test]
async fn a_program_that_does_not_answer_may_need_time_or_variables() {
    let limits = McpLimits::new().with_connect(Duration::from_millis(300));
    let error = tools(&server(McpCommand::new("sleep").arg("60")).limits(limits)).await.unwrap_err();
    let told = error.for_model();
    assert!(told.contains("did not answer within 0.3 s; its time is `connect_seconds`"), "{told}");
    assert!(told.contains("passed on with `inherit`"), "{told}");
}

#[tokio::test]
async fn a_server_that_ends_at_an_unknown_question_is_met_with_a_handshake() {
    let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}"#;
    let script = format!(
        "read line; case $line in *server/discover*) exit 1;; esac; echo '{hello}'; while read line; do :; done"
    );
    let server = McpServer::command("sh", McpCommand::new("sh").args(["-c", &script]));
    server.connect().await.unwrap();
    assert_eq!(server.protocol_version().await.unwrap(), "2025-06-18");
}

// Cancellation, our way: whoever stops waiting tells the server
#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let server = server(shell("", &format!("echo \"$line\" >> {}", told.display())));
    tools(&server).await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(300), call(&server, "mcp_sh___a")).await;
    assert!(waiting.is_err());
    until(|| {
        let told = fs::read_to_string(&told).unwrap_or_default();
        told.contains("notifications/cancelled") && told.contains(r#""requestId":2"#)
    })
    .await;
}

// Cancellation, their way, and requests that nobody here answers
#[tokio::test]
async fn what_a_server_asks_of_people_and_models_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let asks = r#"echo '{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}'; echo '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'; echo '{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"your key?","requestedSchema":{"type":"object","properties":{}}}}'"#;
    let then =
        format!("echo \"$line\" >> {}; if [ -z \"$asked\" ]; then asked=1; {asks}; fi", told.display());
    let server = server(shell("", &then)).root("/srv/my files");
    tools(&server).await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(500), call(&server, "mcp_sh___a")).await;
    assert!(waiting.is_err());
    until(|| fs::read_to_string(&told).unwrap_or_default().contains(r#""id":"e""#)).await;
    let told = fs::read_to_string(&told).unwrap();
    let of =
        |id: &str| told.lines().find(|line| line.contains(&format!(r#""id":"{id}""#))).unwrap().to_owned();
    assert!(of("s").contains("-32601"), "{}", of("s"));
    assert!(of("r").contains("file:///srv/my%20files"), "{}", of("r"));
    assert!(of("e").contains("decline") || of("e").contains("error"), "{}", of("e"));
}

#[tokio::test]
async fn a_server_that_floods_with_pings_is_left() {
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let flood = format!("while :; do echo '{ping}'; done");
    let limits = McpLimits::new().with_call(Duration::from_secs(60));
    let server = server(shell("", &flood)).limits(limits);
    tools(&server).await.unwrap();
    let error = call(&server, "mcp_sh___a").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable, "{error}");
}
