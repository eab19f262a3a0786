//! Calls whose results come later, and which no client of an answer has to give.

use std::time::Duration;

use attache_agent::{Agent, tool_fn};
use attache_core::ToolError;
use attache_core::tool::Deferred;
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text, value};

/// An agent whose tool has its result later.
fn booking(stage: &Stage) -> Client {
    let book = tool_fn("book", "Books a table", || Ok::<_, ToolError>(Deferred::to("order-1")));
    Client::new(server(Agent::builder(stage.clone()).tool(book)))
}

fn books() -> Stage {
    Stage::new((0..8).map(|_| Turn::call("book", json!({}))))
}

fn weather() -> Value {
    json!({"name": "weather", "description": "The weather", "parameters": {"type": "object"}})
}

/// A question in each dialect of the APIs of models.
fn questions() -> [(&'static str, Value); 3] {
    let messages = json!([{"role": "user", "content": "Book."}]);
    [
        ("/v1/chat/completions", json!({"model": "papers", "messages": messages})),
        ("/v1/messages", json!({"model": "papers", "max_tokens": 9, "messages": messages})),
        ("/v1/responses", json!({"model": "papers", "input": "Book."})),
    ]
}

/// The words for an answer whose client has calls to answer.
const TURN_OF_CLIENT: [&str; 2] = ["\"tool_calls\"", "\"tool_use\""];

#[tokio::test]
async fn in_a_session_the_answer_says_whose_result_it_waits_for() {
    let client = booking(&books());
    for (at, (path, body)) in questions().into_iter().enumerate() {
        for is_streamed in [false, true] {
            let mut body = body.clone();
            body["stream"] = is_streamed.into();
            let request = http::Request::builder().method("POST").uri(path);
            let request = request.header("content-type", "application/json");
            let request = request.header("x-attache-session", format!("s{at}{is_streamed}"));
            let response = client.send(request, body.to_string()).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            let told = text(response).await;
            let said = "[Waits for the result of book. It goes on once that is there.]";
            assert!(told.contains(said), "{path}: {told}");
            assert!(!TURN_OF_CLIENT.iter().any(|word| told.contains(word)), "{path}: {told}");
            if path == "/v1/responses" && !is_streamed {
                let id = serde_json::from_str::<Value>(&told).unwrap()["id"].as_str().unwrap().to_owned();
                assert!(client.got(&format!("/v1/responses/{id}")).await.to_string().contains(said));
            }
        }
    }
}

// Nobody can ever deliver the result: that is no answer which looks whole.
#[tokio::test]
async fn without_a_session_a_result_that_comes_later_is_an_error() {
    let client = booking(&books());
    for (path, mut body) in questions() {
        if path == "/v1/responses" {
            body["store"] = false.into();
        }
        let response = client.post(path, body.clone()).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        let told = value(response).await;
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("book") && message.contains("X-Attache-Session"), "{path}: {message}");
        body["stream"] = true.into();
        let told = text(client.post(path, body).await).await;
        assert!(told.contains("results of calls come later"), "{path}: {told}");
        for whole in ["\"finish_reason\":\"", "message_stop", "response.completed"] {
            assert!(!told.contains(whole), "{path}: {told}");
        }
    }
}

// A client that has a call to answer beside it is asked for that one, and the run is kept for the answer.
#[tokio::test]
async fn the_calls_of_the_client_are_told_beside_one_whose_result_comes_later() {
    let both = || Turn::call("book", json!({})).and_call("weather", json!({}));
    let stage = Stage::new([both(), Turn::text("Asked again."), both()]);
    let client = booking(&stage);
    let tools = json!([{"type": "function", "function": weather()}]);
    let question = json!({"role": "user", "content": "Book."});
    let ask = |messages: Value| json!({"model": "papers", "messages": messages, "tools": tools});
    let first = value(client.chat(ask(json!([question]))).await).await;
    let message = &first["choices"][0]["message"];
    let [call] = &message["tool_calls"].as_array().unwrap()[..] else { panic!("{first}") };
    assert_eq!(first["choices"][0]["finish_reason"], "tool_calls");
    let result = json!({"role": "tool", "tool_call_id": call["id"], "content": "sun"});
    let second = client.chat(ask(json!([question, message, result]))).await;
    assert_eq!(second.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(stage.requests().len(), 1, "the run went on, and no other one began");
}

// Pages are told which calls are theirs.
#[tokio::test]
async fn pages_are_told_which_calls_are_theirs() {
    let stage = Stage::new([
        Turn::call("book", json!({})),
        Turn::call("book", json!({})),
        Turn::call("book", json!({})).and_call("weather", json!({})),
    ]);
    let client = booking(&stage);
    let user = json!({"id": "m1", "role": "user", "content": "x", "parts": [{"type": "text", "text": "x"}]});
    let page = text(client.post("/v1/ui", json!({"id": "chat", "messages": [user]})).await).await;
    let page = data(&page);
    assert_eq!(page[page.len() - 2]["finishReason"], "stop", "{page:?}");
    let ask = |thread: &str| json!({"threadId": thread, "runId": "r", "messages": [user], "tools": [weather()], "context": []});
    let alone = data(&text(client.post("/v1/ag-ui", ask("one")).await).await);
    assert_eq!(alone.last().unwrap()["outcome"], json!({"type": "success"}), "{alone:?}");
    let beside = data(&text(client.post("/v1/ag-ui", ask("two")).await).await);
    let begun = beside.iter().find(|event| event["toolCallName"] == "weather").unwrap();
    let outcome = json!({"type": "success", "pendingToolCallIds": [begun["toolCallId"]]});
    assert_eq!(beside.last().unwrap()["outcome"], outcome, "{beside:?}");
}

// A question says until when it can be answered, in the form of the protocol, which knows no schema but an object.
#[tokio::test]
async fn an_interrupt_has_its_time_and_a_schema_that_is_an_object() {
    for (schema, told) in [(json!(true), Value::Null), (json!({"type": "string"}), json!({"type": "string"}))]
    {
        let ask = tool_fn("year", "Asks", move || {
            let hour = Duration::from_secs(3600);
            Ok::<_, ToolError>(Deferred::ask("Which?").with_schema(schema.clone()).with_lifetime(hour))
        });
        let stage = Stage::new([Turn::call("year", json!({}))]);
        let client = Client::new(server(Agent::builder(stage).tool(ask)));
        let user = json!({"id": "m1", "role": "user", "content": "x"});
        let body = json!({"threadId": "t", "runId": "r", "messages": [user], "tools": [], "context": []});
        let events = data(&text(client.post("/v1/ag-ui", body).await).await);
        let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
        assert_eq!(interrupt["responseSchema"], told, "{interrupt}");
        let time = interrupt["expiresAt"].as_str().unwrap_or_else(|| panic!("{interrupt}"));
        assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
    }
}
