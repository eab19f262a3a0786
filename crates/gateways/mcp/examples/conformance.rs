//! The client that the official conformance suite drives: it lists the tools of a server, calls each, answers what it is
//! asked, and logs in where the server wants that. `attache-mcp` does all of it; this says in which order.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a client that fails has failed its scenario"
)]

use std::env;
use std::time::Duration;

use attache_core::tool::{Asking, Deferred, DynToolHandler, People, Unanswered};
use attache_core::{Arguments, BoxFuture, Secret, ToolContext, ToolError};
use attache_mcp::{McpEndpoint, McpEra, McpLimits, McpLoginError, McpOAuth, McpServer, MemoryTokens};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The address of the document that the suite knows us by.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT: &str = "http://localhost:3000/callback";
/// The maximum number of logins: one, and others for more rights.
const LOGINS: u32 = 3;

/// A person who leaves every form as it is, and says what else they must.
struct Content;

impl People for Content {
    fn ask(&self, question: Deferred) -> BoxFuture<'static, Result<Value, Unanswered>> {
        let schema = question.schema.unwrap_or_default();
        let answer = match schema.pointer("/enum/0") {
            Some(first) => first.clone(),
            None => sample(&schema, true),
        };
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn left_off(&self) -> Option<String> {
        None
    }
}

/// A value that fits a simple schema: what is required, and nothing that goes without saying.
fn sample(schema: &Value, is_form: bool) -> Value {
    let of = |schema: &Value| match schema["type"].as_str() {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => schema.pointer("/enum/0").cloned().unwrap_or(json!("test")),
    };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let members = schema["properties"].as_object().cloned().unwrap_or_default();
    let wanted = members.iter().filter(|(name, member)| {
        required.contains(&json!(name)) && !(is_form && member.get("default").is_some())
    });
    Value::Object(wanted.map(|(name, member)| (name.clone(), of(member))).collect())
}

async fn call(server: &McpServer, name: &str, arguments: &Value) -> Result<(), ToolError> {
    let mut context = ToolContext::new();
    context.asking = Asking::of(&Content);
    let arguments = Arguments::new(arguments.to_string());
    let output = DynToolHandler::call(server, name, &arguments, context).await?;
    println!("{name}: {}", output.tree.model_text());
    Ok(())
}

async fn visit(server: &McpServer, known: &Value) -> Result<(), ToolError> {
    let tools = DynToolHandler::tools(server).await?;
    let planned = known["toolCalls"].as_array().cloned().unwrap_or_default();
    for tool in &tools {
        let definition = &tool.definition;
        let theirs = definition.name().rsplit("___").next().unwrap_or_default();
        let planned: Vec<&Value> = planned.iter().filter(|call| call["name"] == theirs).collect();
        for call_of in &planned {
            call(server, definition.name(), &call_of["arguments"]).await?;
        }
        if planned.is_empty() {
            let mut arguments = sample(definition.input_schema(), false);
            // It wants to see what became of the schema of the tool beside it.
            if theirs == "json_schema_echo" {
                let beside = tools.iter().find(|tool| tool.definition.name().ends_with("2020_12_tool"));
                arguments["schema"] = beside.expect("the tool is listed").definition.input_schema().clone();
            }
            call(server, definition.name(), &arguments).await?;
        }
    }
    Ok(())
}

/// The place to which a browser is led from an address without TLS.
async fn led_to(address: &str) -> String {
    let (authority, path) = address.trim_start_matches("http://").split_once('/').unwrap();
    let mut socket = TcpStream::connect(authority).await.expect("the authorization server is there");
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let mut lines = answer.lines().filter_map(|line| line.split_once(':'));
    let led = lines.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    led.map(|(_, led)| led.trim().to_owned()).unwrap_or_default()
}

/// Plays the person at the browser: opens the address, and is led on.
async fn log_in(server: &McpServer) -> Result<(), McpLoginError> {
    let login = server.begin_login(REDIRECT).await?;
    println!("opening {}", login.address());
    let led = led_to(login.address()).await;
    login.finish(&led).await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = env::args().next_back().expect("the address of the server");
    let known: Value = env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|known| serde_json::from_str(&known).ok())
        .unwrap_or_default();
    let mut oauth = McpOAuth::new(MemoryTokens::new()).name("attache").client_document(DOCUMENT);
    if let Some(id) = known["client_id"].as_str() {
        oauth = oauth.client(id, known["client_secret"].as_str().map(Secret::from));
    }
    if env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|name| name.starts_with("auth/client-credentials")) {
        oauth = oauth.client_credentials();
    }
    let era = match env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").as_deref() {
        Ok("2026-07-28") => McpEra::Stateless,
        Ok(_) => McpEra::Sessions,
        Err(_) => McpEra::Auto,
    };
    let server = McpServer::http("test", McpEndpoint::new(url).oauth(oauth))
        .elicitation()
        .era(era)
        .limits(McpLimits::new().with_call(Duration::from_secs(20)));
    let mut logins = 0;
    loop {
        match visit(&server, &known).await {
            Ok(()) => break,
            Err(error) if server.wants_login() && logins < LOGINS => {
                println!("{error}: a login is wanted");
                logins += 1;
                if let Err(error) = log_in(&server).await {
                    println!("no login: {error}");
                    std::process::exit(1);
                }
            }
            Err(error) => {
                println!("{error}");
                std::process::exit(1);
            }
        }
    }
    server.close().await;
}
