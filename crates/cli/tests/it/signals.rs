//! Signals that end the command.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::attache;

/// The longest that a test waits for a server to begin or to be gone.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_signal_ends_the_servers_that_were_started_too() {
    for (arguments, signal, code) in [
        (&["tools"] as &[&str], "-INT", 130),
        (&["ask", "When is the invoice due?", "docs/examples/inbox"], "-TERM", 143),
        (&["mcp", "docs/examples/inbox"], "-INT", 130),
    ] {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let line = format!("exec sleep 600 > '{}'", pipe.display());
        let file = format!("[mcp.slow]\ncommand = ['sh', '-c', \"{line}\"]\nconnect_seconds = 500\n");
        fs::write(home.path().join("attache.toml"), file).unwrap();
        let (told, events) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // It is opened when the server starts, and has an end when nobody holds it any more.
            let mut opened = fs::File::open(&pipe).unwrap();
            told.send(()).unwrap();
            opened.read_to_end(&mut Vec::new()).unwrap();
            let _failed = told.send(());
        });
        let mut command = attache(arguments);
        command.env("ATTACHE_HOME", home.path()).env("PATH", "/usr/bin:/bin");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        events.recv_timeout(PATIENCE).expect("the server starts");
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{arguments:?}");
        events.recv_timeout(PATIENCE).expect("the server is gone");
    }
}
