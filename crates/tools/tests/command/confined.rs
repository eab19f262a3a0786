//! A command in a sandbox touches nothing outside it.
#![cfg(target_os = "linux")]

use std::net::TcpListener;

use attache_tools::{Command, CommandTool, Confinement, Sandbox};
use serde_json::Value;

use super::{Folder, call};

/// A tool that runs one script of a shell, in a folder beside a canary.
fn tool(outside: &Folder, script: &str, sandbox: Sandbox) -> CommandTool {
    let inside = outside.0.join("inside");
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(inside.join("open.txt"), "open").unwrap();
    std::fs::write(outside.0.join("secret.txt"), "canary").unwrap();
    let shell = Command::new("bash").exact("-c").exact(script);
    CommandTool::new(&inside, [shell]).unwrap().with_sandbox(sandbox).unwrap()
}

async fn run(tool: &CommandTool, script: &str) -> (bool, Value) {
    call(tool, "bash", &["-c", script]).await
}

async fn confined(name: &str, script: &str) -> (Folder, bool, Value) {
    let outside = Folder::new(name);
    let tool = tool(&outside, script, Sandbox::new());
    assert_eq!(tool.confinement().to_string(), "commands are kept from other files and from the network");
    let (ok, told) = run(&tool, script).await;
    (outside, ok, told)
}

// A85
#[tokio::test]
async fn a_confined_command_reads_its_folder_and_nothing_beside_it() {
    let script = "cat open.txt; cat ../secret.txt; cat /proc/self/environ; ls /tmp; cat /etc/passwd; true";
    let (_outside, ok, told) = confined("reads", script).await;
    assert!(ok, "{told}");
    assert_eq!(told["output"], "open", "{told}");
    assert_eq!(told["errors"].as_str().unwrap().matches("Permission denied").count(), 4, "{told}");
}

#[tokio::test]
async fn a_confined_command_writes_nowhere_unless_it_may() {
    let script = "echo x > ../out.txt; echo x > in.txt; : > ../secret.txt; rm ../secret.txt; mkdir ../d; ln -s / l; true";
    let (outside, _, told) = confined("writes", script).await;
    assert_eq!(std::fs::read_to_string(outside.0.join("secret.txt")).unwrap(), "canary", "{told}");
    assert_eq!(std::fs::read_dir(&outside.0).unwrap().count(), 2, "{told}");
    assert_eq!(std::fs::read_dir(outside.0.join("inside")).unwrap().count(), 1, "{told}");

    let script = "echo x > in.txt; echo y > /dev/null; mv in.txt ../out.txt; true";
    let writing = Sandbox::new().with_writable(outside.0.join("inside"));
    let (_, told) = run(&tool(&outside, script, writing), script).await;
    assert_eq!(std::fs::read_to_string(outside.0.join("inside/in.txt")).unwrap(), "x\n", "{told}");
    assert!(!outside.0.join("out.txt").exists(), "{told}");
}

#[tokio::test]
async fn a_confined_command_reaches_no_socket_unless_it_may() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let script =
        format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo reached", listener.local_addr().unwrap().port());
    let (outside, ok, told) = confined("sockets", &script).await;
    assert!(!ok && told["errors"].as_str().unwrap().contains("not permitted"), "{told}");
    assert!(listener.accept().is_err(), "nobody came");

    let open = tool(&outside, &script, Sandbox::new().with_network(true));
    assert_eq!(open.confinement().to_string(), "commands are kept from other files, and may use the network");
    assert_eq!(run(&open, &script).await.1["output"], "reached\n");
    assert!(listener.accept().is_ok());
}

/// The process itself, and the tool's other calls, keep what they may do.
#[tokio::test]
async fn the_walls_stand_around_the_command_alone() {
    let (outside, _, _) = confined("alone", "true").await;
    assert_eq!(std::fs::read_to_string(outside.0.join("secret.txt")).unwrap(), "canary");
    assert!(TcpListener::bind("127.0.0.1:0").is_ok());
    let free = CommandTool::new(&outside.0, [Command::new("cat").exact("secret.txt")]).unwrap();
    assert_eq!(free.confinement(), Confinement::default());
    assert_eq!(call(&free, "cat", &["secret.txt"]).await.1["output"], "canary");
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_is_refused_when_the_tool_is_made() {
    let folder = Folder::new("absent");
    let tool = || CommandTool::new(&folder.0, [Command::new("true")]).unwrap();
    let sandbox = || Sandbox::new().with_writable(folder.0.join("not-there"));
    let refused = tool().with_sandbox(sandbox()).unwrap_err().to_string();
    assert!(refused.starts_with("commands cannot be confined"), "{refused}");
    let open = tool().with_sandbox(sandbox().where_there_is_one()).unwrap();
    assert_eq!(open.confinement().to_string(), "commands may do all that this user may");
}
