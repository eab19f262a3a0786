//! Calls that agents inside tools make and the client answers: the numbers of their responses, their files, and how another
//! node finds them.

use std::sync::Arc;

use attache_agent::{Agent, MemoryDocumentStore, MemorySessions, Sessions, Tools};
use attache_core::{Message, ToolDefinition, Usage, UserPart};
use attache_server::Server;
use attache_stores::SqliteStore;
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::client_calls::{BYTES, PICTURE, asked, asks_inside, body, waiting_call, with_clerk};
use crate::common::{Client, Stage, data, text, trusting, until, value};

/// Two servers of an agent over one store of sessions.
pub(crate) fn nodes(stage: &Stage, gate: &Arc<Semaphore>) -> [Client; 2] {
    let store = Arc::new(MemorySessions::new());
    [(), ()].map(|()| {
        let agent = with_clerk(stage, gate).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    })
}

pub(crate) async fn respond(client: &Client, body: &Value) -> Value {
    let response = client.post("/v1/responses", body.clone()).await;
    let (status, told) = (response.status(), text(response).await);
    assert_eq!(status, StatusCode::OK, "{told}");
    serde_json::from_str(&told).unwrap()
}

/// The names of the calls in a response.
pub(crate) fn calls(response: &Value) -> Vec<&str> {
    let output = response["output"].as_array().unwrap_or_else(|| panic!("{response}"));
    output.iter().filter_map(|item| item["name"].as_str()).collect()
}

fn tokens(response: &Value) -> (u64, u64) {
    let count = |name: &str| response["usage"][name].as_u64().unwrap_or_else(|| panic!("{response}"));
    (count("input_tokens"), count("output_tokens"))
}

// A36, A59: each response that stops for a call inside an agent is one of its own, as with calls of the run itself.
#[tokio::test(start_paused = true)]
async fn a_response_that_stops_for_a_call_inside_an_agent_has_a_number_of_its_own() {
    let person = || Turn::call("person", json!({}));
    let stage = Stage::new([
        Turn::text("Let me ask.").and_call("clerk", json!({"task": "Ask"})).costing(Usage::new(1, 1)),
        person().costing(Usage::new(10, 10)),
        person().and_call("person", json!({})).costing(Usage::new(100, 100)),
        Turn::text("They said yes.").costing(Usage::new(1_000, 1_000)),
        Turn::text("Done.").and_call("notify", json!({})).costing(Usage::new(10_000, 10_000)),
        Turn::text("Shown.").costing(Usage::new(100_000, 100_000)),
    ]);
    let [one, other] = nodes(&stage, &Arc::new(Semaphore::new(0)));
    let mut request = body("/v1/responses", None);
    let mut told: Vec<Value> = Vec::new();
    for at in 0..4 {
        let client = if at % 2 == 0 { &one } else { &other };
        let response = respond(client, &request).await;
        let output = response["output"].as_array().unwrap().iter();
        let called = output.filter(|item| item["type"] == "function_call");
        let results = called.map(
            |call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "shown"}),
        );
        request["input"] = results.collect();
        request["previous_response_id"] = response["id"].clone();
        told.push(response);
    }
    let first = told[0]["id"].as_str().unwrap();
    let said = |response: &Value| {
        let output = response["output"].as_array().unwrap().iter();
        output.filter_map(|item| item["content"][0]["text"].as_str()).collect::<Vec<_>>().join("|")
    };
    let expected = [
        ("", "Let me ask.", vec!["person"], 11),
        ("~1", "", vec!["person", "person"], 100),
        // Two results came before it at once.
        ("~3", "Done.", vec!["notify"], 11_000),
        ("~4", "Shown.", vec![], 100_000),
    ];
    for (at, (number, words, names, count)) in expected.into_iter().enumerate() {
        let id = format!("{first}{number}");
        assert_eq!(told[at]["id"], id.as_str());
        // The log says what the drive said, at each node, to the end.
        let path = format!("/v1/responses/{id}");
        let mut seen = vec![told[at].clone()];
        for node in [&one, &other] {
            seen.push(node.got(&path).await);
            let events = data(&text(node.get(&format!("{path}?stream=true")).await).await);
            seen.push(events.last().unwrap()["response"].clone());
        }
        for (place, response) in seen.iter().enumerate() {
            assert_eq!(response["status"], "completed", "{id} {place}: {response}");
            assert_eq!((said(response).as_str(), calls(response)), (words, names.clone()), "{id} {place}");
            assert_eq!(tokens(response), (count, count), "{id} {place}");
        }
    }
    assert_eq!(one.get(&format!("/v1/responses/{first}~5")).await.status(), StatusCode::NOT_FOUND);
}

// A36, A59: a client may answer the calls of two agents one by one. Each response that asks something new is one of its own.
#[tokio::test(start_paused = true)]
async fn responses_to_some_of_the_calls_inside_agents_have_numbers_of_their_own() {
    let person = || Turn::call("person", json!({}));
    let clerks = clerk_with("One").and_call("clerk", json!({"task": "Two"}));
    let yes = || Turn::text("They said yes.");
    let stage =
        Stage::new([clerks, person(), person(), person(), person(), yes(), yes(), Turn::text("Done.")]);
    let [one, other] = nodes(&stage, &Arc::new(Semaphore::new(0)));
    let open = |response: &Value| {
        let output = response["output"].as_array().unwrap().iter();
        let called = output.filter(|item| item["type"] == "function_call");
        called.map(|call| call["call_id"].clone()).collect::<Vec<_>>()
    };
    let first = respond(&one, &body("/v1/responses", None)).await;
    let id = first["id"].as_str().unwrap().to_owned();
    let [a, b] = open(&first).try_into().unwrap();
    let mut before = first["id"].clone();
    for (number, call) in [("~1", &a), ("~2", &b)] {
        let mut request = body("/v1/responses", Some((call, "person")));
        request["previous_response_id"] = before;
        let told = respond(&one, &request).await;
        assert_eq!(told["id"], format!("{id}{number}").as_str(), "{told}");
        assert_eq!(open(&told).len(), 2, "{told}");
        before = told["id"].clone();
        for node in [&one, &other] {
            let seen = node.got(&format!("/v1/responses/{id}{number}")).await;
            assert_eq!((seen["status"].as_str(), open(&seen)), (Some("completed"), open(&told)), "{number}");
        }
    }
}

/// A call of the clerk with a task.
fn clerk_with(task: &str) -> Turn {
    Turn::call("clerk", json!({"task": task}))
}

// A36: whoever looks at a response from another node sees it alone, and nothing of the answers before and behind it.
#[tokio::test]
async fn a_response_between_two_calls_inside_an_agent_is_followed_from_another_node() {
    let person = || Turn::call("person", json!({}));
    let inside = person().and_call("look", json!({}));
    let clerk = Turn::text("Let me ask.").and_call("clerk", json!({"task": "Ask"}));
    let stage = Stage::new([clerk, person(), inside, Turn::text("They said yes."), Turn::text("Done.")]);
    let gate = Arc::new(Semaphore::new(0));
    let [one, other] = nodes(&stage, &gate);
    let first = respond(&one, &body("/v1/responses", None)).await;
    let call = &first["output"][1]["call_id"];
    let mut request = body("/v1/responses", Some((call, "person")));
    request["previous_response_id"] = first["id"].clone();
    request["background"] = true.into();
    let second = respond(&one, &request).await;
    let path = format!("/v1/responses/{}", second["id"].as_str().unwrap());
    let mut stream = other.get(&format!("{path}?stream=true")).await.into_body();
    let told = until(&mut stream, "function_call").await;
    assert!(!told.contains("Let me ask.") && !told.contains("response.completed"), "{told}");
    // It looks something up.
    gate.add_permits(1);
    let told = told + &until(&mut stream, "response.completed").await;
    let last = data(&told).pop().unwrap()["response"].clone();
    assert_eq!((calls(&last), &last["id"]), (vec!["person"], &second["id"]), "{told}");
}

// A56: an agent inside that does something beside the call has its answer from another node, too.
#[tokio::test(start_paused = true)]
async fn a_call_inside_an_agent_that_works_is_answered_at_another_node() {
    let stage = asks_inside(Turn::call("person", json!({})).and_call("look", json!({})));
    let gate = Arc::new(Semaphore::new(0));
    let [one, other] = nodes(&stage, &gate);
    let turn = json!({"message": "Go.", "sessionId": "chat"});
    let mut stream = one.post("/v1/chat/stream", turn).await.into_body();
    let told = until(&mut stream, "FRONTEND_TOOL_CALL").await;
    let call =
        told.split("FRONTEND_TOOL_CALL\",\"callId\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let answer = json!({"sessionId": "chat", "callId": call.unwrap(), "result": "yes"});
    let strange = other.named("bob").post("/v1/chat/tool-result", answer.clone()).await;
    assert_eq!(strange.status(), StatusCode::NOT_FOUND);
    let answered = other.post("/v1/chat/tool-result", answer.clone()).await;
    assert_eq!(answered.status(), StatusCode::OK, "{}", value(answered).await);
    gate.add_permits(1);
    let told = until(&mut stream, "[DONE]").await;
    assert!(told.contains("Done."), "{told}");
    assert!(stage.requests().iter().any(|request| format!("{:?}", request.messages).contains("yes")));
    assert_eq!(other.post("/v1/chat/tool-result", answer).await.status(), StatusCode::CONFLICT);
}

// C01, C33: an agent inside reads the files of a result that somebody else delivered, whatever store it has.
#[tokio::test]
async fn files_in_a_result_for_an_agent_inside_with_another_store_are_read_by_it() {
    let clerk = Turn::call("clerk", json!({"task": "Ask somebody"}));
    let inside = Turn::call("person", json!({}));
    let stage = Stage::new([clerk, inside, Turn::text("They sent it."), Turn::text("Done.")]).seeing();
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let documents = Arc::new(MemoryDocumentStore::new("pictures"));
    let [one, other] = [(), ()].map(|()| {
        let person = Tools::new().with_external(ToolDefinition::new("person", "", json!({"type": "object"})));
        let own = Arc::new(MemoryDocumentStore::new("clerk"));
        let clerk = Agent::builder(stage.clone()).tool_set(person).store(own).build().unwrap();
        let agent = Agent::builder(stage.clone()).tool(clerk.as_tool("clerk", "Knows people"));
        let agent = agent.store(documents.clone()).build().unwrap();
        let sessions = Sessions::new(agent, store.clone()).with_documents(documents.clone());
        Client::new(trusting(Server::new("papers", sessions)))
    });
    asked(&one, "/v1/responses", &body("/v1/responses", None)).await;
    let call = waiting_call(&one, "person").await;
    let mut answer = body("/v1/responses", Some((&call, "person")));
    answer["input"][0]["output"] = json!([{"type": "input_image", "image_url": PICTURE}]);
    let told = asked(&other, "/v1/responses", &answer).await;
    assert!(told.contains("Done."), "{told}");
    let requests = stage.requests();
    let results = requests[2].messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(message) => Some(&message.results),
        _ => None,
    });
    let shown = results.flatten().flat_map(|result| result.attached()).filter_map(|part| match part {
        UserPart::Document(document) => document.bytes().map(|bytes| bytes.to_vec()),
        _ => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), [BYTES], "{:?}", requests[2].messages);
}
