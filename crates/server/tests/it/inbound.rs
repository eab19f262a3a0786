//! Requests of each dialect: the model sees all that a client says, or the client learns what cannot be read.
//!
//! The shapes are those of the types of the vendors' own clients: openai 3, anthropic 2, `@ag-ui/core` 1, `ai` 7.

use attache_agent::Agent;
use attache_core::{ChatRequest, Document, Message, ToolResult, UserPart};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, server, text};

/// An image of one pixel, and its data URL.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn pixel() -> String {
    format!("data:image/png;base64,{PIXEL}")
}

/// A document in a word: its type, and the place of its bytes.
fn document(document: &Document) -> String {
    let place = match document.bytes() {
        Some(bytes) => format!("{} bytes", bytes.len()),
        None => format!("{:?}", document.source()),
    };
    let name = document.file_name().map(|name| format!(" {name}")).unwrap_or_default();
    format!("<{}{name}, {place}>", document.media_type().essence())
}

fn result(result: &ToolResult) -> String {
    let documents: String = result.tree.documents().iter().map(document).collect();
    let judged = if result.is_error() { "failed" } else { "said" };
    let text = match result.tree.documents().is_empty() {
        true => result.tree.model_text().into_owned(),
        false => {
            let read: Vec<Value> = serde_json::from_str(&result.tree.model_text()).unwrap();
            read.iter().filter_map(Value::as_str).collect()
        }
    };
    format!("{} {} {judged}: {text}{documents}", result.tool_name.as_deref().unwrap_or("?"), result.call_id)
}

/// The messages as a model reads them, one a line.
fn seen(request: &ChatRequest) -> String {
    let lines = request.messages.iter().map(|message| match &**message {
        Message::User(user) => {
            let parts = user.parts.iter().map(|part| match part {
                UserPart::Text(text) => text.text().to_owned(),
                UserPart::Document(found) => document(found),
                other => format!("{other:?}"),
            });
            format!("user: {}", parts.collect::<Vec<_>>().join(" | "))
        }
        Message::Assistant(reply) => {
            let calls = reply.tool_calls().map(|call| format!(" {}({})", call.name, call.arguments.raw()));
            let made = reply.documents().map(|made| format!(" {}", document(made)));
            format!("model: {}{}{}", reply.text(), calls.collect::<String>(), made.collect::<String>())
        }
        Message::ToolResults(results) => results.results.iter().map(result).collect::<Vec<_>>().join("\n"),
        Message::System(system) => {
            format!("system: {}", system.parts.iter().map(|part| part.text()).collect::<String>())
        }
        other => format!("{other:?}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Sends a request to a fresh server, and tells what its model saw, or the refusal.
async fn told(path: &str, body: &Value) -> String {
    let stage = Stage::new([Turn::text("Fine.")]).seeing();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let response = client.post(path, body.clone()).await;
    let status = response.status();
    let answer = text(response).await;
    match stage.requests().first() {
        Some(request) if status == StatusCode::OK => seen(request),
        _ => format!("{} {answer}", status.as_u16()),
    }
}

/// Checks what is seen of requests, or refused.
async fn check(path: &str, rows: impl IntoIterator<Item = (Value, &str)>) {
    let mut wrong = Vec::new();
    for (body, wanted) in rows {
        let told = told(path, &body).await;
        let is_right = match wanted.strip_prefix("refused: ") {
            Some(reason) => told.starts_with("400 ") && told.contains(reason),
            None => told == wanted,
        };
        if !is_right {
            wrong.push(format!("{body}\n  is to be {wanted}\n  but is   {told}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn chat(more: Value) -> Value {
    with(json!({"model": "papers", "messages": [{"role": "user", "content": "Hi"}]}), more)
}

fn with(mut body: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more}") };
    for (name, value) in more {
        body[name] = value;
    }
    body
}

/// A conversation of Chat Completions with a call, and what comes behind it.
fn after_call(behind: Value) -> Value {
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let Value::Array(behind) = behind else { panic!("{behind}") };
    let mut messages = vec![
        json!({"role": "user", "content": "Hi"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("a")]}),
    ];
    messages.extend(behind);
    chat(json!({ "messages": messages }))
}

// A64
#[tokio::test]
async fn chat_completions_are_seen_whole_or_refused() {
    let image = || json!({"type": "image_url", "image_url": {"url": pixel()}});
    let rows = [
        (
            chat(
                json!({"stream": null, "tools": null, "stream_options": null, "attache": null, "metadata": null, "stop": null}),
            ),
            "user: Hi",
        ),
        (
            chat(
                json!({"attache": {"session": ""}, "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]}),
            ),
            "system: Be kind.\nuser: Hi",
        ),
        (chat(json!({"messages": null})), "refused: the last message must be"),
        (chat(json!({"model": null})), "refused: the model is missing"),
        (chat(json!({"stream_options": {"include_usage": null}})), "user: Hi"),
        (chat(json!({"logit_bias": {}})), "user: Hi"),
        (chat(json!({"logit_bias": {"50256": -100}})), "refused: logit_bias"),
        (chat(json!({"web_search_options": {}})), "refused: web_search_options"),
        (chat(json!({"moderation": {"model": "m"}})), "refused: moderation"),
        (chat(json!({"max_tokens": -1})), "refused: invalid value"),
        (chat(json!({"messages": [{"role": "owner", "content": "x"}]})), "refused: owner"),
        (
            chat(json!({"messages": [{"role": "user", "content": [{"type": "hologram"}]}]})),
            "refused: hologram",
        ),
        (
            chat(
                json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "See"}, image()]}]}),
            ),
            "user: See | <image/png, 70 bytes>",
        ),
        // The base64 of mail and of the web.
        (
            chat(
                json!({"messages": [{"role": "user", "content": [{"type": "file", "file": {"filename": "a.txt", "file_data": "aGVs\r\nbG8"}}]}]}),
            ),
            "user: <text/plain a.txt, 5 bytes>",
        ),
        (
            after_call(
                json!([{"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "one"}, image()]}]),
            ),
            "user: Hi\nmodel:  look({})\nlook a said: one<image/png, 70 bytes>",
        ),
        (
            after_call(
                json!([{"role": "tool", "tool_call_id": "a", "content": "1"}, {"role": "tool", "tool_call_id": "a", "content": "2"}]),
            ),
            "refused: two results",
        ),
        (
            after_call(json!([{"role": "tool", "tool_call_id": "b", "content": "1"}])),
            "refused: answers no call",
        ),
        (after_call(json!([{"role": "tool", "content": "1"}])), "refused: tool_call_id"),
        (
            chat(
                json!({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "look", "arguments": null}},
                {"id": "a", "type": "function", "function": {"name": "see", "arguments": "{}"}},
            ]}, {"role": "tool", "tool_call_id": "a", "content": "1"}, {"role": "tool", "tool_call_id": "a", "content": "2"}]}),
            ),
            "user: Hi\nmodel:  look() see({})\nlook a said: 1\nsee a_2 said: 2",
        ),
        (
            chat(
                json!({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "refusal": "I will not."}, {"role": "user", "content": "Why?"}]}),
            ),
            "user: Hi\nmodel: I will not.\nuser: Why?",
        ),
        (
            chat(
                json!({"messages": [{"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}}, {"role": "user", "content": "Hi"}]}),
            ),
            "refused: function_call",
        ),
    ];
    check("/v1/chat/completions", rows).await;
}

// A36
#[tokio::test]
async fn responses_are_seen_whole_or_refused() {
    let asked = |more: Value| with(json!({"model": "papers", "input": "Hi", "store": false}), more);
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    let rows = [
        (
            asked(
                json!({"stream": null, "tools": null, "attache": null, "instructions": null, "text": null, "reasoning": {"effort": null}}),
            ),
            "user: Hi",
        ),
        // One that is kept, too.
        (asked(json!({"store": true, "instructions": "Be kind."})), "system: Be kind.\nuser: Hi"),
        (
            asked(
                json!({"store": true, "input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}], "instructions": "Be kind."}),
            ),
            "system: Be kind.\n\nBe brief.\nuser: Hi",
        ),
        (asked(json!({"input": null})), "refused: the last message must be"),
        (asked(json!({"moderation": {"model": "m"}})), "refused: moderation"),
        (
            asked(
                json!({"input": [{"role": "user", "content": "Hi"}, call("a"), {"type": "function_call_output", "call_id": "a", "output": [
                {"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": pixel(), "file_id": null}]}]}),
            ),
            "user: Hi\nmodel:  look({})\nlook a said: one<image/png, 70 bytes>",
        ),
        (
            asked(
                json!({"input": [{"role": "user", "content": "Hi"}, call("a"), call("a"), {"type": "function_call_output", "call_id": "a", "output": "1"}, {"type": "function_call_output", "call_id": "a", "output": "2"}]}),
            ),
            "user: Hi\nmodel:  look({}) look({})\nlook a said: 1\nlook a_2 said: 2",
        ),
        (
            asked(
                json!({"input": [call("a"), {"type": "function_call_output", "call_id": "a", "output": "1"}, {"type": "function_call_output", "call_id": "a", "output": "2"}]}),
            ),
            "refused: two results",
        ),
        (
            asked(json!({"input": [{"type": "computer_call_output", "call_id": "a", "output": {}}]})),
            "refused: ",
        ),
    ];
    check("/v1/responses", rows).await;
}

// A36
#[tokio::test]
async fn messages_are_seen_whole_or_refused() {
    let said = |content: Value| json!([{"role": "user", "content": content}]);
    let asked = |more: Value| {
        with(
            json!({"model": "papers", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}),
            more,
        )
    };
    let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
    let found = |id: &str| {
        json!({"type": "tool_result", "tool_use_id": id, "content": [
        {"type": "text", "text": "one"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]})
    };
    let rows = [
        (
            asked(
                json!({"stream": null, "tools": null, "attache": null, "system": null, "output_config": null}),
            ),
            "user: Hi",
        ),
        (asked(json!({"messages": null})), "refused: the last message must be"),
        (asked(json!({"model": null})), "refused: the model is missing"),
        (
            asked(json!({"mcp_servers": [{"type": "url", "url": "https://example.org", "name": "x"}]})),
            "refused: has its own tools",
        ),
        (asked(json!({"mcp_servers": []})), "user: Hi"),
        (asked(json!({"container": "c"})), "refused: no containers"),
        (asked(json!({"output_config": {"format": {"type": "grammar", "schema": {}}}})), "refused: known"),
        (asked(json!({"output_config": {"effort": "wild"}})), "refused: known"),
        (
            asked(
                json!({"messages": said(json!([{"type": "document", "title": "scan", "source": {"type": "content", "content": [
                {"type": "text", "text": "one"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}, {"type": "text", "text": "two"}]}}]))}),
            ),
            "user: <text/plain scan, 8 bytes> | <image/png, 70 bytes>",
        ),
        (
            asked(
                json!({"messages": said(json!([{"type": "document", "source": {"type": "content", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]}}]))}),
            ),
            "user: <image/png, 70 bytes>",
        ),
        (
            asked(
                json!({"messages": said(json!([{"type": "document", "source": {"type": "content", "content": [{"type": "thinking"}]}}]))}),
            ),
            "refused: a document has text and images alone",
        ),
        (
            asked(json!({"messages": said(json!([{"type": "container_upload", "file_id": "f"}]))})),
            "refused: container_upload",
        ),
        (
            asked(
                json!({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [used("a")]}, {"role": "user", "content": [found("a")]}]}),
            ),
            "user: Hi\nmodel:  look({})\nlook a said: one<image/png, 70 bytes>",
        ),
        (
            asked(
                json!({"messages": [{"role": "assistant", "content": [used("a")]}, {"role": "user", "content": [found("a"), found("a")]}]}),
            ),
            "refused: two results",
        ),
        (
            asked(
                json!({"messages": [{"role": "assistant", "content": [used("a"), used("a")]}, {"role": "user", "content": [found("a"), found("a")]}]}),
            ),
            "user: (The assistant speaks first.)\nmodel:  look({}) look({})\nlook a said: one<image/png, 70 bytes>\nlook a_2 said: one<image/png, 70 bytes>",
        ),
    ];
    check("/v1/messages", rows).await;
}

// A36
#[tokio::test]
async fn messages_say_the_form_and_the_effort_of_an_answer() {
    let stage = Stage::new([Turn::text("{}")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let config = json!({"effort": "max", "format": {"type": "json_schema", "schema": schema}});
    let body = json!({"model": "papers", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "output_config": config});
    assert_eq!(client.post("/v1/messages", body).await.status(), StatusCode::OK);
    let requests = stage.requests();
    let settings = format!("{:?}", requests[0].settings);
    assert!(settings.contains("Effort(Max)") && settings.contains("JsonSchema"), "{settings}");
}

// A36
#[tokio::test]
async fn ag_ui_is_seen_whole_or_refused() {
    let asked = |messages: Value| json!({"threadId": "t", "runId": "r", "messages": messages, "tools": null, "context": null, "forwardedProps": null, "state": null});
    let image =
        || json!({"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}});
    let reply = json!({"id": "2", "role": "assistant", "toolCalls": [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    let hi = || json!({"id": "1", "role": "user", "content": "Hi"});
    let rows = [
        (
            asked(json!([{"id": "0", "role": "assistant", "content": "Yes?", "toolCalls": null}, hi()])),
            "user: (The assistant speaks first.)\nmodel: Yes?\nuser: Hi",
        ),
        (
            asked(
                json!([{"id": "1", "role": "user", "content": [{"type": "text", "text": "See"}, image()]}]),
            ),
            "user: See | <image/png, 70 bytes>",
        ),
        (
            asked(
                json!([{"id": "1", "role": "user", "content": [{"type": "document", "source": {"type": "url", "value": "https://example.org/rent", "mimeType": "application/pdf"}}]}]),
            ),
            "refused: (application/pdf)",
        ),
        (
            asked(
                json!([{"id": "0", "role": "system", "content": [{"type": "text", "text": "Be kind."}, image()]}, hi()]),
            ),
            "refused: image",
        ),
        (asked(json!([{"id": "0", "role": "assistant", "content": [image()]}, hi()])), "refused: image"),
        // The part for files of versions before 1.0.
        (
            asked(
                json!([{"id": "1", "role": "user", "content": [{"type": "binary", "mimeType": "image/png", "data": PIXEL, "filename": "a.png"}]}]),
            ),
            "user: <image/png a.png, 70 bytes>",
        ),
        (
            asked(
                json!([{"id": "1", "role": "user", "content": [{"type": "binary", "mimeType": "image/png"}]}]),
            ),
            "refused: binary",
        ),
        (
            asked(
                json!([hi(), reply, {"id": "3", "role": "tool", "toolCallId": "a", "content": [{"type": "text", "text": "one"}, image()], "error": null}]),
            ),
            "user: Hi\nmodel:  look({})\nlook a said: one<image/png, 70 bytes>",
        ),
        (
            asked(
                json!([hi(), reply, {"id": "3", "role": "tool", "toolCallId": "a", "content": "half", "error": "no ink"}]),
            ),
            "user: Hi\nmodel:  look({})\nlook a failed: half\nno ink",
        ),
        (
            asked(
                json!([hi(), reply, {"id": "3", "role": "tool", "toolCallId": "a", "content": "no ink", "error": "no ink"}]),
            ),
            "user: Hi\nmodel:  look({})\nlook a failed: no ink",
        ),
        (
            asked(
                json!([hi(), reply, {"id": "3", "role": "tool", "toolCallId": "a", "content": "1"}, {"id": "4", "role": "tool", "toolCallId": "a", "content": "2"}]),
            ),
            "refused: two results",
        ),
        (
            asked(json!([{"id": "1", "role": "user", "content": {"an": "object"}}])),
            "refused: neither a text nor parts",
        ),
    ];
    check("/v1/ag-ui", rows).await;
}

// A36
#[tokio::test]
async fn the_chat_of_vercel_is_seen_whole_or_refused() {
    let asked = |messages: Value| json!({"id": "c", "trigger": "submit-message", "tools": null, "messages": messages});
    let hi = || json!({"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]});
    let reply = |parts: Value| json!({"id": "2", "role": "assistant", "parts": parts});
    let file =
        |url: &str| json!({"type": "file", "mediaType": "application/pdf", "filename": "rent", "url": url});
    let rows = [
        (
            asked(json!([{"id": "1", "role": "user", "parts": [file("https://example.org/rent")]}])),
            "refused: (application/pdf)",
        ),
        (
            asked(
                json!([{"id": "0", "role": "system", "parts": [{"type": "text", "text": "Be kind."}, {"type": "data-mood", "data": 1}]}, hi()]),
            ),
            "system: Be kind.\nuser: Hi",
        ),
        (
            asked(json!([{"id": "0", "role": "system", "parts": [file("https://example.org/rent")]}, hi()])),
            "refused: \\\"file\\\"",
        ),
        (
            asked(json!([
                hi(),
                reply(
                    json!([{"type": "step-start"}, {"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Here."},
                {"type": "file", "mediaType": "image/png", "url": pixel()}, {"type": "source-url", "sourceId": "s", "url": "https://example.org"}])
                ),
                hi()
            ])),
            "user: Hi\nmodel: Here. <image/png, 70 bytes>\nuser: Hi",
        ),
        (
            asked(json!([
                hi(),
                reply(json!([{"type": "text", "text": "Here. "}, file("/v1/sessions/of:c/documents/d")])),
                hi()
            ])),
            "user: Hi\nmodel: Here. [The document rent is not there any more.]\nuser: Hi",
        ),
        (asked(json!([hi(), reply(json!([{"type": "hologram"}])), hi()])), "refused: hologram"),
        (
            asked(json!([
                hi(),
                reply(json!([
                    {"type": "text", "text": "One."},
                    {"type": "custom", "kind": "openai.compaction"},
                    {"type": "reasoning-file", "mediaType": "image/png", "url": pixel()},
                    {"type": "steering-message", "id": "s", "parts": [{"type": "text", "text": "Two, please."}]},
                    {"type": "text", "text": "Two."},
                ])),
                hi()
            ])),
            "user: Hi\nmodel: One.\nuser: Two, please.\nmodel: Two.\nuser: Hi",
        ),
        (
            asked(json!([
                hi(),
                reply(
                    json!([{"type": "tool-pay", "toolCallId": "a", "state": "output-denied", "input": {}, "approval": {"id": "x", "approved": false, "reason": "Too dear."}}])
                ),
                hi()
            ])),
            "user: Hi\nmodel:  pay({})\npay a failed: The call was denied. Too dear.\nuser: Hi",
        ),
        (
            asked(json!([
                hi(),
                reply(
                    json!([{"type": "tool-shoot", "toolCallId": "a", "state": "output-available", "input": {}, "output": ["noon", pixel()]}])
                ),
                hi()
            ])),
            "user: Hi\nmodel:  shoot({})\nshoot a said: noon<image/png, 70 bytes>\nuser: Hi",
        ),
        (
            asked(json!([
                reply(
                    json!([{"type": "tool-pay", "toolCallId": "a", "state": "output-available", "input": {}, "output": "1"}, {"type": "tool-pay", "toolCallId": "a", "state": "output-available", "input": {}, "output": "2"}])
                ),
                hi()
            ])),
            "user: (The assistant speaks first.)\nmodel:  pay({}) pay({})\npay a said: 1\npay a_2 said: 2\nuser: Hi",
        ),
    ];
    check("/v1/ui", rows).await;
}

// A38, A64: the instructions of a client hold for its turn, behind the agent's own.
#[tokio::test]
async fn instructions_of_a_client_hold_for_its_turn_of_a_session() {
    for own in [Some("You keep the books."), None] {
        let stage = Stage::new(["one", "two", "three", "four"].map(Turn::text));
        let agent = Agent::builder(stage.clone());
        let agent = if let Some(own) = own { agent.system(own) } else { agent };
        let client = Client::new(server(agent));
        for said in [Some("Be kind."), Some("Be brief."), None, None] {
            let system = said.map(|said| json!({"role": "system", "content": said}));
            let messages: Vec<Value> =
                system.into_iter().chain([json!({"role": "user", "content": "Hi"})]).collect();
            let body = chat(json!({"attache": {"session": "one"}, "messages": messages}));
            assert_eq!(client.chat(body).await.status(), StatusCode::OK);
        }
        let heard: Vec<String> = stage
            .requests()
            .iter()
            .map(|request| seen(request).lines().filter_map(|line| line.strip_prefix("system: ")).collect())
            .collect();
        let wanted = match own {
            // Its second line is no line of a role.
            Some(own) => [own; 4],
            None => ["Be kind.", "Be brief.", "", ""],
        };
        assert_eq!(heard, wanted);
        if own.is_some() {
            let first = seen(&stage.requests()[1]);
            assert!(first.starts_with("system: You keep the books.\n\nBe brief.\nuser: Hi"), "{first}");
        }
        assert_eq!(
            stage.requests()[3].messages.len(),
            if own.is_some() { 8 } else { 7 },
            "all turns are there"
        );
    }
}
