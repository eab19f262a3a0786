//! Clients that mean no good.

use std::time::Duration;

use attache_agent::{Tools, tool_fn};
use attache_core::ToolError;
use attache_mcp::{McpServeLimits, McpService};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::tools::one;
use super::{Client, served, text};

#[tokio::test]
async fn odd_lines_leave_the_session_alive() {
    let limits = McpServeLimits::new().with_message_bytes(10_000);
    let mut client =
        Client::new(one("now", || Ok::<_, ToolError>("12:00")).with_limits(limits), json!({})).await;
    let deep = format!("{}{}", "[".repeat(4_000), "]".repeat(4_000));
    for line in ["", "{", "null", "[]", "\"\0\"", r#"{"jsonrpc":"2.0","id":9}"#, &deep, &"x".repeat(50_000)] {
        let write = client.write.as_mut().unwrap();
        write.write_all(line.as_bytes()).await.unwrap();
        write.write_all(b"\n").await.unwrap();
    }
    let write = client.write.as_mut().unwrap();
    write.write_all(b"\xff\xfe\n").await.unwrap();
    assert_eq!(text(&client.call("now", json!({})).await), "12:00");
}

#[tokio::test]
async fn a_flood_of_calls_is_refused_beyond_the_limit() {
    let wait = tool_fn("wait", "Waits", || async { std::future::pending::<Result<(), ToolError>>().await });
    let now = tool_fn("now", "Tells the time", || Ok("12:00"));
    let service = McpService::tools(Tools::new().with(wait).with(now)).unwrap();
    let mut client =
        Client::new(service.with_limits(McpServeLimits::new().with_calls(8, 4)), json!({})).await;
    let mut numbers = Vec::new();
    for _ in 0..50 {
        numbers.push(client.begin("tools/call", json!({"name": "wait", "arguments": {}})).await);
    }
    for _ in 0..46 {
        let refused = client.next().await;
        assert!(text(&refused["result"]).starts_with("too many calls are under way"), "{refused}");
        numbers.retain(|number| refused["id"] != *number);
    }
    let refused = client.call("now", json!({})).await;
    assert_eq!(refused["isError"], true);
    let params = json!({"requestId": numbers[0]});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    // The place is free once the call is dropped, which nobody tells.
    for _ in 0..1_000 {
        if text(&client.call("now", json!({})).await) == "12:00" {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("a cancelled call keeps its place");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_head_is_hung_up_on() {
    let served = served(one("now", || Ok::<_, ToolError>("12:00")).http()).await;
    let address = served.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let mut slow = TcpStream::connect(&address).await.unwrap();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nhost: loc").await.unwrap();
    let mut said = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(60), slow.read_to_end(&mut said)).await;
    assert!(closed.is_ok(), "the connection is still open");
    let mut other = TcpStream::connect(&address).await.unwrap();
    other.write_all(b"GET /other HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut said = String::new();
    other.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 404"), "{said}");
}
