//! `attache mcp`: the command as an MCP server, as its clients see it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::common::{attache, text};

const INBOX: &str = "docs/examples/inbox";
const INVOICE: &str = "docs/examples/inbox/invoice-2026-0417.pdf";

/// A client of the command over its standard streams, in lines of JSON.
struct Client {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Client {
    fn start(arguments: &[&str]) -> Self {
        let mut command = attache(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut client = Self { child, lines };
        let begun = client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "lines", "version": "1"},
            }),
        );
        assert_eq!(begun["serverInfo"]["name"], "attache");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The result of a request. Each line of stdout is a message of the protocol.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        loop {
            let line = self.lines.next().expect("the server answers").unwrap();
            let mut message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["id"] == 7 {
                assert!(message["error"].is_null(), "{line}");
                return message["result"].take();
            }
        }
    }

    /// Closes its input, as clients end a server; returns its exit code and what it said on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.child.stdin.take());
        assert!(self.lines.next().is_none(), "nothing follows");
        let mut told = Vec::new();
        self.child.stderr.take().unwrap().read_to_end(&mut told).unwrap();
        (self.child.wait().unwrap().code(), text(&told))
    }
}

#[test]
fn a_client_over_stdio_asks_about_files() {
    let mut client = Client::start(&["mcp", INBOX]);
    let tools = client.request("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ask"]);
    let asked = json!({"name": "ask", "arguments": {"question": "When is the invoice due?"}});
    let result = client.request("tools/call", &asked);
    assert_ne!(result["isError"], true, "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("17 May 2026"), "{result}");
    let pdf = std::fs::read(format!("{}/../../{INVOICE}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let blob = attache_core::base64::encode(&pdf);
    let content = result["content"].as_array().unwrap();
    assert!(content.iter().any(|block| block["resource"]["blob"] == blob.as_str()), "the PDF comes with it");
    let (code, told) = client.end();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("offline/extractive is not a language model"), "{told}");
}

#[test]
fn a_client_over_stdio_uses_the_tools_themselves() {
    let mut client = Client::start(&["mcp", "--tools", "-f", INBOX]);
    let tools = client.request("tools/list", &json!({})).to_string();
    assert!(tools.contains("\"read_file\"") && !tools.contains("\"ask\""), "{tools}");
    let called = json!({"name": "read_file", "arguments": {"path": "invoice-2026-0417.pdf"}});
    let result = client.request("tools/call", &called);
    assert!(result.to_string().contains("application/pdf"), "{result}");
    let (code, told) = client.end();
    assert_eq!((code, told.as_str()), (Some(0), ""));
}

#[test]
fn a_server_over_http_is_open_to_nobody_elsewhere_without_a_token() {
    let refused = attache(&["mcp", INBOX, "--http", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("set ATTACHE_MCP_TOKEN"), "{}", text(&refused.stderr));
    let wrong = attache(&["mcp", INBOX, "--http", "books.example.org"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));

    let mut command = attache(&["mcp", INBOX, "--http", "0"]);
    command.env("ATTACHE_MCP_TOKEN", "canary-token");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = told.find(|line| line.as_ref().unwrap().contains("serving http")).unwrap().unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "lines", "version": "1"},
        },
    });
    let status = |host: &str, token: &str| {
        let body = body.to_string();
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut head = String::new();
        BufReader::new(stream).read_line(&mut head).unwrap();
        head.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(&address, "canary-token"), "200");
    for token in ["", "canary-tokem", "canary", "canary-token1"] {
        assert_eq!(status(&address, token), "401", "{token}");
    }
    assert_eq!(status("attacker.example", "canary-token"), "403");
    child.kill().unwrap();
    child.wait().unwrap();
}
