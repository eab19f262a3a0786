//! Documents that the model makes before it is done: each is told with the reply in which it stands, and once.

use attache_agent::{Agent, AgentBuilder, tool_fn};
use attache_core::{Approval, Document};
use attache_testkit::Turn;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text};

fn picture() -> Document {
    Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png")
}

/// An agent that draws before it asks for a tool, and once more at its end.
fn drawing(tool: &str) -> AgentBuilder {
    let first = Turn::text("Here.").making(picture()).and_call(tool, json!({}));
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    Agent::builder(Stage::new([first, Turn::text("Done.").making(picture())])).tool(pay)
}

async fn ask(client: &Client, path: &str, body: Value) -> String {
    let request = Request::post(path).header("content-type", "application/json");
    // Where a dialect has no id of its own for a conversation.
    let request =
        if path.ends_with("completions") { request.header("x-attache-session", "s") } else { request };
    let response = client.send(request, body.to_string()).await;
    let status = response.status();
    let told = text(response).await;
    assert_eq!(status, StatusCode::OK, "{path}: {told}");
    told
}

/// The places of the pictures and of the call in what a client is told.
fn places(told: &str, picture: &str, call: &str) -> (Vec<usize>, Option<usize>) {
    (told.match_indices(picture).map(|(at, _)| at).collect(), told.find(call))
}

/// True if there is one picture, before the call, or without one.
fn has_one(told: &str, picture: &str, call: Option<&str>) -> bool {
    let (pictures, call_at) = places(told, picture, call.unwrap_or("no call"));
    pictures.len() == 1 && call.is_none_or(|_| call_at.is_some_and(|at| pictures[0] < at))
}

// A36, C30: the client has the picture of a reply before it answers the call beside it, and the other one with the answer.
#[tokio::test]
async fn a_picture_is_told_before_the_call_that_the_client_answers() {
    for stream in [false, true] {
        let client = Client::new(server(drawing("notify")));
        let function = json!({"name": "notify", "parameters": {"type": "object"}});
        let tools = json!([{"type": "function", "function": function}]);
        let chat = |messages: Value| json!({"model": "papers", "stream": stream, "messages": messages, "tools": tools});
        let user = json!({"role": "user", "content": "Draw."});
        let told = ask(&client, "/v1/chat/completions", chat(json!([user]))).await;
        let id = data_of(&told, stream).iter().find_map(id_in).unwrap_or_else(|| panic!("{told}"));
        // They stand beside the calls there.
        assert!(has_one(&told, "data:image/png", None) && told.contains("\"tool_calls\""), "{told}");
        let call = json!({"id": id, "type": "function", "function": {"name": "notify", "arguments": "{}"}});
        let called = json!({"role": "assistant", "content": "Here.", "tool_calls": [call]});
        let answer = json!({"role": "tool", "tool_call_id": id, "content": "shown"});
        let told = ask(&client, "/v1/chat/completions", chat(json!([user, called, answer]))).await;
        assert!(has_one(&told, "data:image/png", None), "{told}");

        let client = Client::new(server(drawing("notify")));
        let tools = json!([{"type": "function", "name": "notify", "parameters": {"type": "object"}}]);
        let body = json!({"model": "papers", "input": "Draw.", "stream": stream, "tools": tools});
        let told = ask(&client, "/v1/responses", body).await;
        let whole = data_of(&told, stream).pop().unwrap();
        let first = if stream { &whole["response"] } else { &whole };
        let kinds = |response: &Value| -> Vec<String> {
            let items = response["output"].as_array().unwrap().iter();
            items.map(|item| item["type"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(kinds(first), ["message", "image_generation_call", "function_call"], "{told}");
        // The response that is kept tells the same, also where another one came behind it.
        let path = format!("/v1/responses/{}", first["id"].as_str().unwrap());
        let output = json!([{"type": "function_call_output", "call_id": first["output"][2]["call_id"], "output": "shown"}]);
        let body = json!({"model": "papers", "input": output, "previous_response_id": first["id"], "stream": stream, "tools": tools});
        let told = ask(&client, "/v1/responses", body).await;
        let whole = data_of(&told, stream).pop().unwrap();
        let second = if stream { &whole["response"] } else { &whole };
        assert_eq!(kinds(second), ["message", "image_generation_call"], "{told}");
        for told in [first, second] {
            let path = format!("/v1/responses/{}", told["id"].as_str().unwrap());
            assert_eq!(client.got(&path).await["output"], told["output"]);
        }
        assert_eq!(kinds(&client.got(&path).await), kinds(first));
    }
}

fn data_of(told: &str, is_stream: bool) -> Vec<Value> {
    if is_stream {
        return data(told).into_iter().filter(Value::is_object).collect();
    }
    vec![serde_json::from_str(told).unwrap()]
}

/// The id of the call in a chunk, or in the whole answer.
fn id_in(chunk: &Value) -> Option<String> {
    let choice = &chunk["choices"][0];
    let called = [&choice["message"], &choice["delta"]];
    called.iter().find_map(|said| said["tool_calls"][0]["id"].as_str()).map(str::to_owned)
}

/// Asks a page's dialect, with a decision about the call of an answer before.
async fn page(client: &Client, is_ag_ui: bool, decided: Option<&[Value]>) -> String {
    let find = |kind: &str| decided.unwrap_or_default().iter().find(|event| event["type"] == kind);
    if is_ag_ui {
        let resume = find("RUN_FINISHED").map(|finished| {
            let id = &finished["outcome"]["interrupts"][0]["id"];
            json!([{"interruptId": id, "status": "resolved", "payload": {"approved": true}}])
        });
        let user = json!({"id": "m1", "role": "user", "content": "Draw."});
        let body = json!({"threadId": "t", "runId": "r", "messages": [user], "tools": [], "context": [], "state": {}, "resume": resume});
        return ask(client, "/v1/ag-ui", body).await;
    }
    let parts = find("tool-approval-request").map(|asked| {
        let approval = json!({"id": asked["approvalId"], "approved": true});
        json!([{"type": "dynamic-tool", "toolName": "pay", "toolCallId": asked["toolCallId"], "state": "approval-responded", "input": {}, "approval": approval}])
    });
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Draw."}]});
    let reply = parts.map(|parts| json!({"id": "m2", "role": "assistant", "parts": parts}));
    let messages: Vec<Value> = [Some(user), reply].into_iter().flatten().collect();
    ask(client, "/v1/ui", json!({"id": "chat", "messages": messages})).await
}

// A36, C30: whoever decides about a call sees the picture beside it, and is not told of it again behind the decision.
#[tokio::test]
async fn a_picture_is_told_before_an_approval_and_not_again_behind_it() {
    for (is_ag_ui, picture, asks) in
        [(true, "attache.document", "\"interrupts\""), (false, "\"type\":\"file\"", "tool-approval-request")]
    {
        let client = Client::new(server(drawing("pay")));
        let first = page(&client, is_ag_ui, None).await;
        assert!(has_one(&first, picture, Some(asks)), "{first}");
        let behind = page(&client, is_ag_ui, Some(&data(&first))).await;
        assert!(has_one(&behind, picture, None), "{behind}");
    }
}

// The address is used as it is told, whatever the session is called.
#[tokio::test]
async fn the_address_of_a_picture_leads_to_it() {
    for chat in ["plain", "a/b #1?", "100%", "é"] {
        let client = Client::new(server(Agent::builder(Stage::new([Turn::text("Done.").making(picture())]))));
        let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Draw."}]});
        let told = data(&ask(&client, "/v1/ui", json!({"id": chat, "messages": [user]})).await);
        let file = told.iter().find(|event| event["type"] == "file").unwrap_or_else(|| panic!("{told:?}"));
        let got = client.get(file["url"].as_str().unwrap()).await;
        assert_eq!(
            (got.status(), &got.headers()["content-type"]),
            (StatusCode::OK, &"image/png".parse().unwrap())
        );
    }
}

// The server's own events.
#[tokio::test]
async fn a_picture_is_an_event_of_its_own() {
    let client = Client::new(server(drawing("pay")));
    let run = client.run("s", "Draw.").await;
    let here = client.ended(&run).await;
    let events = text(client.get(&format!("/v1/runs/{run}/events")).await).await;
    let snapshot = &data(&events)[0];
    let made =
        snapshot["blocks"].as_array().unwrap().iter().find(|block| block["type"] == "document").unwrap();
    assert_eq!(made["document"], here["snapshot"]["end"]["documents"][0], "{snapshot}");
    assert_eq!(made["document"]["mediaType"], "image/png");
    let body = json!({
        "model": "papers", "stream": true, "messages": [{"role": "user", "content": "Draw."}],
        "attache": {"events": true, "session": "other"},
    });
    let client = Client::new(server(drawing("pay")));
    let told = data(&text(client.chat(body).await).await);
    let kinds: Vec<&str> = told.iter().filter_map(|chunk| chunk["attache"]["type"].as_str()).collect();
    let place =
        |kind: &str| kinds.iter().position(|known| *known == kind).unwrap_or_else(|| panic!("{kinds:?}"));
    assert!(place("document") < place("approval_requested"), "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "document").count(), 1, "{kinds:?}");
}
