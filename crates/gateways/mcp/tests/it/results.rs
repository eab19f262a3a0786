//! The forms that results take.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_core::fetcher::Fetcher;
use attache_core::tool::{DynToolHandler, Listening, Progress};
use attache_core::{Arguments, DocumentSource, ResultStatus, ToolCallId, ToolContext, ToolOutput};
use attache_mcp::{McpFetcher, McpLimits, McpServer};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::common::{Answer, Scripted, call, call_with, complete, greeting, tool, tools};

const PDF: &str = "JVBERi0xLjQKJSB0aGUgbGVhc2UK";
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/// The output of a tool that answers with `result`.
async fn result_of(result: Value) -> ToolOutput {
    let (_scripted, server) = serving(tool("t"), result).await;
    call(&server, "mcp_test___t").await.unwrap()
}

async fn serving(tool: Value, result: Value) -> (Scripted, McpServer) {
    let scripted = Scripted::new(json!([tool]), move |_| Answer::Result(complete(result.clone()))).await;
    let server = scripted.server();
    (scripted, server)
}

// C14, C15
#[tokio::test]
async fn text_stays_text_and_everything_else_becomes_a_document() {
    let alone = result_of(json!({"content": [{"type": "text", "text": "three"}]})).await;
    assert_eq!(alone.tree.json(), r#""three""#);
    let output = result_of(json!({"content": [
        {"type": "text", "text": "the plan"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRiQAAABXQVZFZm10IA==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///srv/lease.pdf", "mimeType": "text/plain", "blob": PDF}},
        {"type": "resource", "resource": {"uri": "file:///srv/a.csv", "mimeType": "text/csv", "text": "a,b"}},
        {"type": "resource_link", "uri": "file:///srv/b.xlsx", "name": "b.xlsx", "size": 7, "description": "sums"},
    ]}))
    .await;
    let told: Vec<(Option<&str>, &str)> = output
        .documents
        .iter()
        .map(|document| (document.file_name(), document.media_type().essence()))
        .collect();
    let sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    assert_eq!(
        told,
        [
            (None, "image/png"),
            (None, "audio/wav"),
            (Some("lease.pdf"), "application/pdf"),
            (Some("b.xlsx"), sheet)
        ]
    );
    assert!(matches!(output.documents[3].source(), DocumentSource::External { .. }));
    assert_eq!(output.documents[3].size(), Some(7));
    let blocks: Value = serde_json::from_str(output.tree.json()).unwrap();
    let kinds: Vec<&str> =
        blocks.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource", "resource", "resource_link"]);
    assert_eq!(blocks[4]["text"], "a,b");
    assert!(!output.tree.json().contains("JVBERi"));
}

// S29, invariant 9: what is left of it is shown, with a word on the rest
#[tokio::test]
async fn a_result_too_deep_to_be_read_is_shown_as_far_as_it_is() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let scripted = Scripted::raw(move |asked| match asked.asks() {
        "tools/list" => Answer::Result(complete(json!({"tools": [tool("t")]}))),
        "tools/call" => {
            let text = r#"{"type":"text","text":"beside"}"#;
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","content":[{text},{{"type":"odd","deep":{deep}}}],"structuredContent":{{"pages":3,"deep":{deep}}}}}}}"#,
                asked.body["id"],
            );
            Answer::whole(200, "application/json", body)
        }
        other => greeting(other),
    })
    .await;
    let output = call(&scripted.server(), "mcp_test___t").await.unwrap();
    let shown = output.tree.json();
    assert!(["beside", "\"pages\":3", "nests too deep"].iter().all(|text| shown.contains(text)), "{shown}");
}

// One that is read as a whole, and is deeper than a result may be.
#[tokio::test]
async fn a_result_too_deep_to_be_shown_is_cut_with_a_note() {
    let deep = (0..110).fold(json!(1), |deep, _| json!([deep]));
    let output = result_of(json!({"content": [], "structuredContent": {"deep": deep, "pages": 3}})).await;
    let shown = output.tree.json();
    assert!(shown.contains("\"pages\":3") && shown.contains("nests too deep"), "{shown}");
}

// C15, documents.md 9.2 D14: the error flag is kept, with the documents
#[tokio::test]
async fn a_failure_keeps_its_flag_and_its_documents() {
    let output = result_of(json!({"isError": true, "content": [
        {"type": "text", "text": "the page did not load"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
    ]}))
    .await;
    assert_eq!((output.status, output.documents.len()), (ResultStatus::Error, 1));
    assert!(output.tree.json().contains("the page did not load"));
}

// documents.md 9.2 D33: a blank text does not make the call an error
#[tokio::test]
async fn blank_texts_are_skipped_and_nothing_is_nothing() {
    let blank = result_of(json!({"content": [{"type": "text", "text": "  "}]})).await;
    assert_eq!(blank.tree.model_text(), attache_core::tree::NO_RESULT);
    // Servers in Go write lists so that hold nothing.
    let null = result_of(json!({"content": null})).await;
    assert_eq!(null.tree.model_text(), attache_core::tree::NO_RESULT);
    let nothing = result_of(json!({})).await;
    assert_eq!(nothing.tree.model_text(), attache_core::tree::NO_RESULT);
}

// documents.md 9.2 D14: structured content hides no image
#[tokio::test]
async fn structured_content_is_shown_once_and_hides_no_block() {
    let weather = json!({"temperature": 36, "conditions": "light rain"});
    let text = weather.to_string();
    let alone = result_of(json!({
        "content": [{"type": "text", "text": text}], "structuredContent": weather
    }))
    .await;
    assert_eq!(alone.tree.json(), text);
    let both = result_of(json!({
        "content": [{"type": "text", "text": text}, {"type": "image", "data": PNG, "mimeType": "image/png"}],
        "structuredContent": weather
    }))
    .await;
    assert_eq!(both.documents.len(), 1);
    assert_eq!(both.tree.json().matches("light rain").count(), 1, "{}", both.tree.json());
    // As the reference server for files does.
    let block = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let repeated = result_of(json!({"content": [block], "structuredContent": {"content": [block]}})).await;
    assert!(!repeated.tree.json().contains("iVBOR") && !repeated.tree.json().contains("structured"));
    let text = result_of(json!({
        "content": [{"type": "text", "text": "line 1\nline 2"}], "structuredContent": {"content": "line 1\nline 2"}
    }))
    .await;
    assert_eq!(text.tree.model_text(), "line 1\nline 2");
    // Bytes in the midst of more.
    let amid = result_of(json!({"content": [block], "structuredContent": {"page": 3, "image": PNG}})).await;
    assert_eq!(amid.documents.len(), 1);
    assert!(!amid.tree.json().contains("iVBOR"), "{}", amid.tree.json());
}

#[tokio::test]
async fn a_structured_result_is_held_against_its_schema() {
    let mut tool = tool("t");
    tool["outputSchema"] =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    for (value, fits) in [(json!({"n": 1}), true), (json!({"n": "one"}), false), (json!({}), false)] {
        let (_scripted, server) =
            serving(tool.clone(), json!({"content": [], "structuredContent": value})).await;
        tools(&server).await.unwrap();
        let output = call(&server, "mcp_test___t").await.unwrap();
        assert_eq!(!output.tree.json().contains("does not fit"), fits, "{}", output.tree.json());
    }
}

// Invariant 1: withheld is an outcome
#[tokio::test]
async fn what_is_for_the_user_alone_is_withheld() {
    let output = result_of(json!({"content": [
        {"type": "text", "text": "for both", "annotations": {"audience": ["user", "assistant"]}},
        {"type": "text", "text": "canary", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": PNG, "mimeType": "image/png", "annotations": {"audience": ["user"]}},
        {"type": "resource", "resource": {"uri": "a://b", "blob": PDF}, "annotations": {"audience": ["assistant"]}},
    ]}))
    .await;
    assert_eq!(output.documents.len(), 1);
    assert_eq!(output.documents[0].media_type().essence(), "application/pdf");
    assert_eq!(output.withheld.len(), 1);
    let text = output.tree.json();
    assert!(!text.contains("canary") && text.contains("a text for the user alone is not shown"), "{text}");
}

// C18: an unexpected shape is kept or told of, and nothing panics
#[tokio::test]
async fn blocks_of_unknown_kinds_are_kept_with_a_note() {
    let output = result_of(json!({"content": [
        {"type": "hologram", "beam": [1, 2]},
        {"type": "image", "data": "no base64!", "mimeType": "image/png"},
        {"type": "image"},
        17,
        {"type": "text", "text": "fine"},
    ]}))
    .await;
    let text = output.tree.json();
    for told in
        ["hologram", "a block of a kind that is not known here", "its data is no base64", "fine", "17"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(output.documents.is_empty());
    let bare = result_of(json!({"content": "just text"})).await;
    assert_eq!(bare.tree.model_text(), "just text");
}

// C02, C14, C30: what a server says wrongly beside bytes is no reason to show them as text
#[tokio::test]
async fn what_is_malformed_beside_its_bytes_is_a_document() {
    let for_user = json!({"audience": "user", "priority": "high"});
    let output = result_of(json!({"content": [
        {"type": "image", "data": PNG},
        {"type": "image", "data": PNG, "mimeType": null, "_meta": "none"},
        {"type": "audio", "data": "UklGRiQAAABXQVZFZm10IA==", "annotations": {"audience": ["user", "tool"]}},
        {"type": "resource", "resource": {"blob": PDF, "mimeType": 7}},
        {"type": "resource", "resource": {"text": "a,b"}},
        {"type": "resource_link", "uri": "file:///srv/b.xlsx", "size": "7 KB"},
        {"type": "image", "data": PNG, "mimeType": "image/png", "annotations": for_user},
        {"type": "text", "text": "canary", "annotations": for_user},
    ]}))
    .await;
    let told: Vec<&str> = output.documents.iter().map(|document| document.media_type().essence()).collect();
    let sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    assert_eq!(told, ["image/png", "image/png", "audio/wav", "application/pdf", sheet]);
    assert_eq!(output.withheld.len(), 1);
    let shown = output.tree.json();
    for none in ["iVBOR", "UklG", "JVBER", "canary", "unknown", "\"uri\":\"\""] {
        assert!(!shown.contains(none), "{none}: {shown}");
    }
    assert!(shown.contains("a,b") && shown.contains("a text for the user alone"), "{shown}");
}

#[tokio::test]
async fn malformed_blobs_of_resources_and_prompts_are_documents() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "resources/read" => Answer::Result(complete(json!({"contents": [{"blob": PDF}]}))),
        "prompts/get" => Answer::Result(complete(json!({"messages": [
            {"role": "user", "content": {"type": "image", "data": PNG}}
        ]}))),
        other => greeting(other),
    })
    .await;
    let server = scripted.server().resources().prompts();
    for (tool, arguments) in [("resources/read", r#"{"uri":"a://1"}"#), ("prompts/get", r#"{"name":"p"}"#)] {
        let output = call_with(&server, &format!("mcp_test___{tool}"), arguments).await.unwrap();
        assert_eq!(output.documents.len(), 1, "{}", output.tree.json());
    }
    let fetched = McpFetcher::new([server]).fetch("mcp://test/a%3A%2F%2F1").await.unwrap();
    assert!(fetched.bytes.starts_with(b"%PDF"));
}

// C30
#[tokio::test]
async fn bytes_in_blocks_of_unknown_kinds_are_not_shown() {
    let (data, words) = (PNG.trim_end_matches('=').repeat(20), "words without other signs ".repeat(50));
    let (address, lines) = (format!("data:video/mp4;base64,{data}"), "words/below/each/other\n".repeat(60));
    let output = result_of(json!({"content": [
        {"type": "video", "data": data, "at": [{"address": address}], "said": words, "list": lines, "id": PNG},
    ]}))
    .await;
    let shown = output.tree.json();
    assert_eq!(shown.matches("characters of base64 are not shown").count(), 2, "{shown}");
    assert!(shown.contains(&words) && shown.contains(PNG) && !shown.contains(&data), "{shown}");
    assert!(shown.contains("words/below/each/other"), "{shown}");
}

// A reference in what a server writes is text.
#[tokio::test]
async fn forged_references_are_no_documents() {
    let forged =
        json!({"attache.document": "stored", "documentId": "d-1", "storeId": "main", "metadata": {}});
    let output =
        result_of(json!({"content": [{"type": "text", "text": "x"}], "structuredContent": forged})).await;
    assert!(output.documents.is_empty() && output.tree.documents().is_empty());
}

#[tokio::test]
async fn too_many_blocks_are_told_of() {
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let output = result_of(json!({"content": vec![image; 1_200]})).await;
    assert_eq!(output.documents.len(), 500);
    assert!(output.tree.json().contains("700 more blocks are left out"), "{}", &output.tree.json()[..200]);
}

#[tokio::test]
async fn resources_and_prompts_are_bounded_as_results_are() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => Answer::Result(complete(json!({"tools": null}))),
        "resources/read" => {
            Answer::Result(complete(json!({"contents": vec![json!({"uri": "a://1", "text": "one"}); 5]})))
        }
        "prompts/get" => {
            let message = json!({"role": "user", "content": {"type": "text", "text": "one"}});
            Answer::Result(complete(json!({"messages": vec![message; 5]})))
        }
        other => greeting(other),
    })
    .await;
    let mut limits = McpLimits::new();
    limits.blocks = 3;
    let server = scripted.server().resources().prompts().limits(limits);
    assert_eq!(tools(&server).await.unwrap().len(), 4, "a list that is null holds nothing");
    for (tool, arguments) in [("resources/read", r#"{"uri":"a://1"}"#), ("prompts/get", r#"{"name":"p"}"#)] {
        let output = call_with(&server, &format!("mcp_test___{tool}"), arguments).await.unwrap();
        let shown = output.tree.json();
        assert_eq!(shown.matches("\"one\"").count(), 3, "{shown}");
        assert!(shown.contains("2 more blocks are left out"), "{shown}");
    }
}

// The progress of a call reaches those who look on, that of another request nobody.
#[tokio::test]
async fn a_server_tells_how_far_a_call_has_come() {
    let tools = json!([tool("index")]);
    let scripted = Scripted::raw(move |asked| match asked.asks() {
        "tools/list" => Answer::Result(complete(json!({"tools": tools}))),
        "tools/call" => {
            let token = asked.body["params"]["_meta"]["progressToken"].clone();
            assert!(!token.is_null(), "{}", asked.body);
            let told = |token: Value, done: u32, more: Value| {
                let mut params = json!({"progressToken": token, "progress": done});
                params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            };
            let end = complete(json!({"content": [{"type": "text", "text": "indexed"}]}));
            let lines = [
                told(token.clone(), 1, json!({"total": 4, "message": "page 1"})),
                told(json!("of-nobody"), 9, json!({})),
                told(token, 4, json!({})),
                json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": end}),
            ];
            let body: Vec<_> = lines.iter().map(|line| Bytes::from(format!("data: {line}\n\n"))).collect();
            Answer::events(stream::iter(body).boxed())
        }
        other => greeting(other),
    })
    .await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let id = ToolCallId::parse("c1").unwrap();
    let mut context = ToolContext::new();
    let hear = move |call: &ToolCallId, progress| hears.lock().unwrap().push((call.to_string(), progress));
    context.listening = Listening::of(Arc::new(hear), id);
    let (server, arguments) = (scripted.server(), Arguments::new("{}"));
    let output = DynToolHandler::call(&server, "mcp_test___index", &arguments, context).await.unwrap();
    assert_eq!(output.tree.model_text(), "indexed");
    let first = Progress::new(1.0).with_total(4.0).with_message("page 1");
    let told = told.lock().unwrap().clone();
    assert_eq!(told, [("c1".to_owned(), first), ("c1".to_owned(), Progress::new(4.0))]);
}

// Each connection numbers its requests from one on, and the one before stays for as long as a call uses it.
#[tokio::test]
async fn progress_is_told_to_the_call_of_its_own_connection() {
    let calls = AtomicUsize::new(0);
    let scripted = Scripted::new(json!([tool("index")]), move |params| {
        if calls.fetch_add(1, Ordering::Relaxed) == 0 {
            return Answer::Hang;
        }
        let token = &params["_meta"]["progressToken"];
        let told = json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1}});
        Answer::events(
            stream::iter([Bytes::from(format!("data: {told}\n\n"))]).chain(stream::pending()).boxed(),
        )
    })
    .await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let server = scripted.server();
    let calling = |id: &str| {
        let (hears, server) = (Arc::clone(&told), server.clone());
        let hear = move |call: &ToolCallId, _| hears.lock().unwrap().push(call.to_string());
        let mut context = ToolContext::new();
        context.listening = Listening::of(Arc::new(hear), ToolCallId::parse(id).unwrap());
        tokio::spawn(async move {
            DynToolHandler::call(&server, "mcp_test___index", &Arguments::new("{}"), context).await
        })
    };
    let mut waiting = Vec::new();
    for (count, id) in [(1, "c1"), (2, "c2")] {
        waiting.push(calling(id));
        while scripted.asked().iter().filter(|asked| asked.asks() == "tools/call").count() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server.close().await;
    }
    while told.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(*told.lock().unwrap(), ["c2"]);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}
