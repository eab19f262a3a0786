//! The tokens of answers of a run that asks its client in between.

use attache_agent::Agent;
use attache_core::Usage;
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text, value};

fn weather() -> Value {
    json!({"name": "weather", "description": "The weather", "parameters": {"type": "object"}})
}

/// A run that asks its client twice, with an agent inside a tool that has costs of its own.
fn client() -> Client {
    let inside = Stage::new([Turn::text("Found.").costing(Usage::new(1000, 500))]);
    let clerk = Agent::builder(inside).build().unwrap().as_tool("clerk", "Finds papers");
    let stage = Stage::new([
        Turn::call("clerk", json!({"task": "Find"})).and_call("weather", json!({})).costing(Usage::new(1, 2)),
        Turn::text("And there.").and_call("weather", json!({})).costing(Usage::new(10, 20)),
        Turn::text("Sunny.").costing(Usage::new(100, 200)),
    ]);
    Client::new(server(Agent::builder(stage).tool(clerk)))
}

const EACH: [(u64, u64); 3] = [(1001, 502), (10, 20), (100, 200)];

/// The usage of the run of the session.
async fn of_run(client: &Client, session: &str) -> (u64, u64) {
    let told = client.got(&format!("/v1/sessions/{session}")).await;
    let run = told["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
    let told = client.got(&format!("/v1/runs/{run}")).await;
    let end = &told["snapshot"]["end"]["usage"];
    let count = |usage: &Value, name: &str| usage[name].as_u64().unwrap_or_else(|| panic!("{told}"));
    let all = &told["snapshot"]["usage"];
    let (input, output) = (count(end, "input_tokens"), count(end, "output_tokens"));
    assert_eq!((count(all, "input_tokens"), count(all, "output_tokens")), (input, output), "{told}");
    (input, output)
}

#[tokio::test]
async fn the_usages_of_responses_add_up_to_that_of_the_run() {
    let client = client();
    let mut tools = weather();
    tools["type"] = "function".into();
    let mut body = json!({"model": "papers", "input": "Sun?", "tools": [tools]});
    let mut ids = Vec::new();
    for each in EACH {
        let response = client.post("/v1/responses", body.clone()).await;
        assert_eq!(response.status(), StatusCode::OK);
        let answer = value(response).await;
        let usage = &answer["usage"];
        let told = (usage["input_tokens"].as_u64().unwrap(), usage["output_tokens"].as_u64().unwrap());
        assert_eq!(told, each, "{answer}");
        ids.push((answer["id"].as_str().unwrap().to_owned(), usage.clone()));
        let calls = answer["output"].as_array().unwrap().iter();
        let calls = calls.filter(|item| item["type"] == "function_call");
        let outputs: Vec<Value> = calls
            .map(|call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}))
            .collect();
        body["input"] = outputs.into();
        body["previous_response_id"] = answer["id"].clone();
    }
    // The log has them, too.
    for (id, usage) in &ids {
        assert_eq!(client.got(&format!("/v1/responses/{id}")).await["usage"], *usage, "{id}");
    }
    let run = ids[0].0.strip_prefix("resp_").unwrap();
    let session = run.rsplit_once('.').unwrap().0;
    let sum = EACH.into_iter().reduce(|all, each| (all.0 + each.0, all.1 + each.1)).unwrap();
    assert_eq!(of_run(&client, session).await, sum);
}

#[tokio::test]
async fn the_usages_of_chat_completions_add_up_to_that_of_the_run() {
    for session in [Some("chat"), None] {
        let client = client();
        let tools = json!([{"type": "function", "function": weather()}]);
        let mut messages = vec![json!({"role": "user", "content": "Sun?"})];
        for each in EACH {
            let mut body = json!({"model": "papers", "messages": messages, "tools": tools});
            if let Some(session) = session {
                body["attache"] = json!({ "session": session });
            }
            let answer = value(client.chat(body).await).await;
            let usage = &answer["usage"];
            let told =
                (usage["prompt_tokens"].as_u64().unwrap(), usage["completion_tokens"].as_u64().unwrap());
            assert_eq!(told, each, "{session:?}: {answer}");
            let message = answer["choices"][0]["message"].clone();
            let call = message["tool_calls"][0]["id"].clone();
            messages.push(message);
            messages.push(json!({"role": "tool", "tool_call_id": call, "content": "sun"}));
        }
        if let Some(session) = session {
            of_run(&client, session).await;
        }
    }
}

// A run tells one message of Vercel's chat, which has the tokens of all of it.
#[tokio::test]
async fn a_message_of_the_ui_stream_has_the_usage_of_the_run() {
    let client = client();
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Sun?"}]});
    let mut parts: Vec<Value> = Vec::new();
    let mut sum = (0, 0);
    for each in EACH {
        let mut messages = vec![user.clone()];
        if !parts.is_empty() {
            messages.push(json!({"id": "m2", "role": "assistant", "parts": parts}));
        }
        let body = json!({"id": "chat", "messages": messages, "tools": [weather()]});
        let events = data(&text(client.post("/v1/ui", body).await).await);
        sum = (sum.0 + each.0, sum.1 + each.1);
        let usage = &events[events.len() - 2]["messageMetadata"]["usage"];
        let told = (usage["inputTokens"].as_u64(), usage["outputTokens"].as_u64());
        assert_eq!(told, (Some(sum.0), Some(sum.1)), "{events:?}");
        let calls = events.iter().filter(|event| event["type"] == "tool-input-available");
        let own = calls.filter(|call| call["toolName"] == "weather");
        parts.push(json!({"type": "step-start"}));
        parts.extend(own.map(|call| json!({"type": "tool-weather", "toolCallId": call["toolCallId"], "state": "output-available", "input": {}, "output": "sun"})));
    }
}
