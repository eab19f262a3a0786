//! Tools of servers: their names, lists and effects.

use attache_core::{Effect, ToolErrorKind};
use attache_mcp::{McpEndpoint, McpEra, McpLimits, McpServer};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::common::{Answer, Scripted, call, call_with, complete, greeting, names, tool, tools};

// C34: one server expands to namespaced tools, and a call is routed back with the original name
#[tokio::test]
async fn tools_are_offered_under_the_alias_and_called_by_their_own_names() {
    let list = json!([tool("read_file"), tool("tree.list"), tool("write_file"), tool("secret_read")]);
    let scripted = Scripted::new(list, |params| {
        let said = format!("{} {}", params["name"], params["arguments"]);
        Answer::Result(complete(json!({"content": [{"type": "text", "text": said}]})))
    })
    .await;
    let server = scripted
        .server()
        .only(["read_*", "tree.list", "secret_*"])
        .without(["secret_read"])
        .rename("read_file", "read");
    let offered = tools(&server).await.unwrap();
    assert_eq!(names(&offered), ["mcp_test___read", "mcp_test___tree.list"]);
    assert_eq!(offered[0].metadata.origin, "mcp:test");
    let told = call_with(&server, "mcp_test___read", r#"{"path":"a"}"#).await.unwrap();
    assert_eq!(told.tree.model_text(), r#""read_file" {"path":"a"}"#);
    // Whatever a model makes up, what is filtered out is not called.
    for unknown in ["mcp_test___write_file", "mcp_test___secret_read", "mcp_other___read", "read_file"] {
        let error = call(&server, unknown).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::UnknownTool, "{unknown}");
    }
}

#[tokio::test]
async fn nothing_is_asked_before_a_tool_is_needed() {
    let scripted = Scripted::new(json!([]), |_| Answer::Hang).await;
    let server = scripted.server().resources();
    tokio::task::yield_now().await;
    assert!(scripted.asked().is_empty());
    assert_eq!(names(&tools(&server).await.unwrap()).len(), 2);
}

#[tokio::test]
async fn a_list_is_read_page_by_page_up_to_a_cap() {
    // Endless, with a new cursor on each page.
    let endless = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => {
            let at =
                asked.body["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse::<u32>().unwrap());
            let page = json!({"tools": [tool(&format!("t{at}"))], "nextCursor": (at + 1).to_string()});
            Answer::Result(complete(page))
        }
        other => greeting(other),
    })
    .await;
    assert_eq!(tools(&endless.server()).await.unwrap().len(), 100);
    let capped = endless.server().limits(McpLimits::new().with_items(7));
    assert_eq!(tools(&capped).await.unwrap().len(), 7);
    assert_eq!(capped.left_out(), ["the rest: the list goes on, and is not read further"]);
    // In a circle.
    let circle = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => {
            let name = if asked.body["params"]["cursor"].is_null() { "a" } else { "b" };
            Answer::Result(complete(json!({"tools": [tool(name)], "nextCursor": "again"})))
        }
        other => greeting(other),
    })
    .await;
    assert_eq!(names(&tools(&circle.server()).await.unwrap()), ["mcp_test___a", "mcp_test___b"]);
}

// S29: one odd tool does not take the others away
#[tokio::test]
async fn odd_tools_are_left_out() {
    let long = "x".repeat(300);
    let list = json!([
        tool("good"),
        {"name": "no schema"},
        {"description": "no name", "inputSchema": {}},
        "no tool",
        tool(""),
        tool("bell\u{7}"),
        tool(&long),
        tool("good"),
        {"name": "bomb", "inputSchema": {"type": "object", "properties": {"a": {"description": "y".repeat(300_000)}}}},
        {"name": "talks", "description": "z".repeat(100_000), "inputSchema": {"type": "object"}},
    ]);
    let scripted = Scripted::new(list, |_| Answer::Hang).await;
    let server = scripted.server();
    let offered = tools(&server).await.unwrap();
    assert_eq!(names(&offered), ["mcp_test___good", "mcp_test___talks"]);
    let left_out = server.left_out();
    assert_eq!(left_out.len(), 8, "each of the others is told: {left_out:?}");
    for told in [
        "no schema: it is not described as a tool is",
        "good: another has its name",
        "bomb: its schema is too large",
    ] {
        assert!(left_out.iter().any(|known| known == told), "{told} in {left_out:?}");
    }
    assert!(offered[1].definition.description().chars().count() <= 8_001);
}

/// A schema so deep that no common reader takes it.
fn deep_schema() -> String {
    let (begin, end) = (r#"{"type":"object","properties":{"a":"#, "}}");
    format!("{}{{\"type\":\"string\"}}{}", begin.repeat(5_000), end.repeat(5_000))
}

/// A list with one such tool among others, as JSON-RPC.
fn with_deep_tool(id: &Value) -> String {
    let (deep, good) = (deep_schema(), |name| tool(name).to_string());
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{},{{"name":"deep","inputSchema":{deep}}},{}]}}}}"#,
        good("a"),
        good("b"),
    )
}

// S29, invariant 9
#[tokio::test]
async fn a_schema_too_deep_to_be_read_costs_its_own_tool() {
    for streamed in [false, true] {
        let scripted = Scripted::raw(move |asked| match asked.asks() {
            "tools/list" if streamed => {
                let event = format!("data: {}\n\n", with_deep_tool(&asked.body["id"]));
                Answer::events(stream::iter([Bytes::from(event)]).boxed())
            }
            "tools/list" => Answer::whole(200, "application/json", with_deep_tool(&asked.body["id"])),
            other => greeting(other),
        })
        .await;
        let offered = tools(&scripted.server()).await.unwrap();
        assert_eq!(names(&offered), ["mcp_test___a", "mcp_test___b"], "streamed: {streamed}");
    }
}

// S29: pieces of resources and prompts as well
#[tokio::test]
async fn one_odd_piece_does_not_take_the_others_away() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => Answer::Result(complete(json!({"tools": []}))),
        "resources/list" => Answer::Result(complete(json!({"resources": [
            {"uri": "a://1", "name": "one"}, {"name": "no address"}, "no resource",
        ]}))),
        "prompts/list" => Answer::Result(complete(json!({"prompts": [{"name": "p"}, {"title": "no name"}]}))),
        "resources/read" => Answer::Result(complete(json!({"contents": [
            {"mimeType": "text/plain"}, {"uri": "a://1", "text": "the lease"}, 7,
        ]}))),
        "prompts/get" => Answer::Result(complete(json!({"description": "Asks", "messages": [
            {"role": "user", "content": {"type": "text", "text": "first"}},
            {"role": "nobody", "content": {"type": "text", "text": "second"}},
            {"role": "user"},
            {"role": "assistant", "content": {"type": "text", "text": "last"}},
        ]}))),
        other => greeting(other),
    })
    .await;
    let server = scripted.server().resources().prompts();
    tools(&server).await.unwrap();
    let shown = async |tool: &str, arguments: &str| {
        call_with(&server, &format!("mcp_test___{tool}"), arguments).await.unwrap().tree.json().to_owned()
    };
    let listed = shown("resources/list", "{}").await;
    assert!(listed.contains("a://1") && listed.contains("no address"), "{listed}");
    assert!(shown("prompts/list", "{}").await.contains("no name"));
    let read = shown("resources/read", r#"{"uri": "a://1"}"#).await;
    assert!(read.contains("the lease") && read.contains("not known here"), "{read}");
    let got = shown("prompts/get", r#"{"name": "p"}"#).await;
    assert!(["Asks", "first", "second", "last"].iter().all(|text| got.contains(text)), "{got}");
    assert_eq!(scripted.server().read("a://1").await.unwrap().content.len(), 3);
}

#[tokio::test]
async fn what_a_server_says_of_effects_counts_only_if_it_is_trusted() {
    let hinted = |name: &str, hints| {
        let mut tool = tool(name);
        tool["annotations"] = hints;
        tool
    };
    let list = json!([
        hinted("reads", json!({"readOnlyHint": true})),
        hinted("repeats", json!({"idempotentHint": true})),
        hinted("destroys", json!({"destructiveHint": true})),
        tool("silent"),
    ]);
    let scripted = Scripted::new(list, |_| Answer::Hang).await;
    let effects = |tools: Vec<attache_core::tool::ToolSpec>| -> Vec<Effect> {
        tools.iter().map(|tool| tool.metadata.effect).collect()
    };
    let plain = effects(tools(&scripted.server()).await.unwrap());
    assert_eq!(plain, [Effect::SideEffect; 4]);
    let trusted = effects(tools(&scripted.server().trust_hints()).await.unwrap());
    assert_eq!(trusted, [Effect::Read, Effect::Idempotent, Effect::SideEffect, Effect::SideEffect]);
}

#[tokio::test]
async fn resources_and_prompts_are_tools_by_choice() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => Answer::Result(complete(json!({"tools": [tool("resources/read"), tool("own")]}))),
        "resources/list" => Answer::Result(complete(json!({"resources": [{"uri": "a://1", "name": "one"}]}))),
        "resources/templates/list" => Answer::Error(-32601, "none"),
        "resources/read" => Answer::Result(complete(json!({"contents": [
            {"uri": asked.body["params"]["uri"], "mimeType": "application/octet-stream", "blob": "JVBERi0xLjc="}
        ]}))),
        "prompts/list" => Answer::Result(complete(json!({"prompts": [{"name": "greet"}]}))),
        "prompts/get" => Answer::Result(complete(json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "Hello"}},
            {"role": "assistant", "content": {"type": "text", "text": "Hi"}},
        ]}))),
        other => greeting(other),
    })
    .await;
    assert_eq!(names(&tools(&scripted.server()).await.unwrap()), ["mcp_test___own"]);
    let server = scripted.server().resources().prompts();
    let offered = tools(&server).await.unwrap();
    assert_eq!(
        names(&offered),
        [
            "mcp_test___own",
            "mcp_test___resources/list",
            "mcp_test___resources/read",
            "mcp_test___prompts/list",
            "mcp_test___prompts/get"
        ]
    );
    let listed = call(&server, "mcp_test___resources/list").await.unwrap();
    assert!(listed.tree.json().contains("a://1"), "{}", listed.tree.json());
    let read =
        call_with(&server, "mcp_test___resources/read", r#"{"uri":"file:///x/lease.pdf"}"#).await.unwrap();
    assert_eq!(read.documents[0].file_name(), Some("lease.pdf"));
    assert_eq!(read.documents[0].media_type().essence(), "application/pdf");
    let missing = call(&server, "mcp_test___resources/read").await.unwrap_err();
    assert_eq!(missing.kind(), ToolErrorKind::InvalidArguments);
    let prompt = call_with(&server, "mcp_test___prompts/get", r#"{"name":"greet"}"#).await.unwrap();
    assert_eq!(
        prompt.tree.json(),
        r#"[{"type":"text","role":"user","text":"Hello"},{"type":"text","role":"assistant","text":"Hi"}]"#
    );
    assert_eq!(call(&scripted.server(), "mcp_test___resources/list").await.unwrap_err().for_model(), {
        "the server \"test\" answers with error -32601: no such method"
    });
}

// A server cannot give its other tool the name, and with it the description, of one that is renamed.
#[tokio::test]
async fn a_tool_whose_name_another_is_renamed_to_is_left_out() {
    let scripted = Scripted::new(json!([tool("delete"), tool("delete_file")]), |params| {
        Answer::Result(complete(json!({"content": [{"type": "text", "text": params["name"]}]})))
    })
    .await;
    let server = scripted.server().rename("delete_file", "delete");
    let offered = tools(&server).await.unwrap();
    assert_eq!(names(&offered), ["mcp_test___delete"]);
    assert_eq!(offered[0].definition.description(), "Does delete_file");
    assert_eq!(call(&server, "mcp_test___delete").await.unwrap().tree.model_text(), "delete_file");
}

#[tokio::test]
async fn an_alias_that_could_be_taken_for_another_is_refused() {
    let scripted = Scripted::new(json!([tool("a")]), |_| Answer::Hang).await;
    for alias in ["a___b", "a_"] {
        let server = McpServer::http(alias, McpEndpoint::new(scripted.url()));
        let error = tools(&server).await.unwrap_err();
        assert!(error.for_model().contains("its alias must neither hold `___`"), "{error}");
    }
}

#[tokio::test]
async fn a_list_is_bounded_in_bytes_over_all_its_pages() {
    let endless = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => {
            let at =
                asked.body["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse::<u32>().unwrap());
            let filler = "x".repeat(10_000);
            let large =
                json!({"name": format!("t{at}"), "description": filler, "inputSchema": {"type": "object"}});
            Answer::Result(complete(json!({"tools": [large], "nextCursor": (at + 1).to_string()})))
        }
        other => greeting(other),
    })
    .await;
    let server = endless.server().limits(McpLimits::new().with_message_bytes(64_000));
    assert_eq!(tools(&server).await.unwrap().len(), 6);
    // Tools that are left out were read, too.
    let endless = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => {
            let at =
                asked.body["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse::<u32>().unwrap());
            let huge =
                json!({"name": "huge", "description": "x".repeat(10_000), "inputSchema": {"type": "object"}});
            Answer::Result(complete(json!({"tools": [huge], "nextCursor": (at + 1).to_string()})))
        }
        other => greeting(other),
    })
    .await;
    let mut limits = McpLimits::new().with_message_bytes(64_000);
    limits.schema_bytes = 1_000;
    assert!(tools(&endless.server().limits(limits)).await.unwrap().is_empty());
    let pages = endless.asked().iter().filter(|asked| asked.asks() == "tools/list").count();
    assert_eq!(pages, 7, "so many of 10 kB pass 64 kB");
    let huge = json!({"name": "huge", "annotations": {"title": "x".repeat(2 << 20)}, "inputSchema": {"type": "object"}});
    let scripted = Scripted::new(json!([huge, tool("small")]), |_| Answer::Hang).await;
    assert_eq!(names(&tools(&scripted.server()).await.unwrap()), ["mcp_test___small"]);
}

// Invariant 11
#[tokio::test]
async fn lists_and_instructions_show_no_secret() {
    let schema = json!({"type": "object", "properties": {
        "token-canary-1": {"description": "token-canary-1", "enum": ["url-canary-1"]},
    }});
    let listed = json!([{"name": "a", "inputSchema": schema}, tool("token-canary-1")]);
    let scripted = Scripted::raw(move |asked| match asked.asks() {
        "tools/list" => Answer::Result(complete(json!({"tools": listed}))),
        "resources/list" => Answer::Result(complete(
            json!({"resources": [{"uri": "a://token-canary-1", "name": "url-canary-1"}]}),
        )),
        "resources/read" => Answer::Result(complete(
            json!({"contents": [{"uri": "a://x", "mimeType": "x/token-canary-1", "text": "url-canary-1"}]}),
        )),
        "server/discover" => Answer::Result(complete(json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "resources": {}},
            "instructions": "Use token-canary-1",
        }))),
        other => greeting(other),
    })
    .await;
    let url = format!("{}?apiKey=url-canary-1", scripted.url());
    let endpoint = McpEndpoint::new(url).bearer("token-canary-1");
    let server = McpServer::http("test", endpoint).era(McpEra::Stateless).resources();
    let offered = tools(&server).await.unwrap();
    assert_eq!(names(&offered), ["mcp_test___a", "mcp_test___resources/list", "mcp_test___resources/read"]);
    assert_eq!(offered[0].definition.input_schema()["properties"]["***"]["enum"], json!(["***"]));
    let list = call(&server, "mcp_test___resources/list").await.unwrap();
    let read = call_with(&server, "mcp_test___resources/read", r#"{"uri":"a://x"}"#).await.unwrap();
    let said = server.instructions().await.unwrap();
    assert_eq!(said.as_deref(), Some("Use ***"));
    let shown = format!("{offered:?} {} {}", list.tree.json(), read.tree.json());
    assert!(!shown.contains("canary") && shown.contains("***"), "{shown}");
}

// A model that is shown a part of a list must not take it for the whole.
#[tokio::test]
async fn a_list_for_the_model_says_what_is_missing() {
    let listed: Vec<_> =
        (0..9).map(|at| json!({"uri": format!("r://{at}"), "name": format!("n{at}")})).collect();
    let scripted = Scripted::raw(move |asked| match asked.asks() {
        "resources/list" => Answer::Result(complete(json!({"resources": listed}))),
        "tools/list" => Answer::Result(complete(json!({"tools": []}))),
        other => greeting(other),
    })
    .await;
    let all = call(&scripted.server().resources(), "mcp_test___resources/list").await.unwrap();
    assert!(!all.tree.json().contains("left out"), "{}", all.tree.json());
    let capped = scripted.server().resources().limits(McpLimits::new().with_items(7));
    let part = call(&capped, "mcp_test___resources/list").await.unwrap();
    let shown = part.tree.json();
    assert!(shown.contains("n6") && !shown.contains("n7"), "{shown}");
    assert!(shown.contains("left out of the list: 2 more: the list is too long"), "{shown}");
}
