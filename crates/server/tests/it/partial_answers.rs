//! A client that answers some of the calls of a response: the next one has an id of its own and all calls that are open,
//! whoever tells it.

use std::sync::Arc;
use std::time::Duration;

use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::client_calls::{body, database_nodes};
use crate::common::{Client, Stage, data, text, until, value};
use crate::nested_calls::{calls, nodes, respond};

/// The ids of the calls in a response.
fn open(response: &Value) -> Vec<&Value> {
    let output = response["output"].as_array().unwrap_or_else(|| panic!("{response}"));
    output.iter().filter(|item| item["type"] == "function_call").map(|item| &item["call_id"]).collect()
}

/// The answer to a call, behind a response.
fn answer(call: &Value, previous: &Value) -> Value {
    let mut request = body("/v1/responses", Some((call, "notify")));
    request["previous_response_id"] = previous.clone();
    request
}

/// A response as a node tells it: as a whole, and as a stream.
async fn told_by(node: &Client, id: &Value) -> [Value; 2] {
    let path = format!("/v1/responses/{}", id.as_str().unwrap());
    let events = data(&text(node.get(&format!("{path}?stream=true")).await).await);
    [node.got(&path).await, events.last().unwrap()["response"].clone()]
}

// A36, A59: nothing new is asked, so that each response but the last one repeats calls of the one before.
#[tokio::test(start_paused = true)]
async fn a_response_to_some_of_the_calls_has_an_id_of_its_own_and_all_that_are_open() {
    let notify = || Turn::call("notify", json!({}));
    let asks = notify().and_call("notify", json!({})).and_call("notify", json!({}));
    let stage = Stage::new([asks, Turn::text("Done."), Turn::text("Bye.")]);
    let [one, other] = nodes(&stage, &Arc::new(Semaphore::new(0)));
    let first = respond(&one, &body("/v1/responses", None)).await;
    let id = first["id"].as_str().unwrap();
    let asked = open(&first);
    assert_eq!(asked.len(), 3, "{first}");
    let mut told = vec![first.clone()];
    for (at, call) in asked.iter().enumerate() {
        let node = if at % 2 == 0 { &one } else { &other };
        told.push(respond(node, &answer(call, &told[at]["id"])).await);
    }
    for (at, response) in told.iter().enumerate() {
        let number = if at == 0 { String::new() } else { format!("~{at}") };
        assert_eq!(response["id"], format!("{id}{number}").as_str());
        assert_eq!(open(response), asked[at..], "{at}");
        for node in [&one, &other] {
            for seen in told_by(node, &response["id"]).await {
                assert_eq!(seen["status"], "completed", "{seen}");
                assert_eq!((&seen["id"], &seen["output"]), (&response["id"], &response["output"]), "{at}");
            }
        }
    }
    let more = json!({"model": "papers", "input": "Bye.", "previous_response_id": told[3]["id"]});
    assert_eq!(respond(&other, &more).await["output"][0]["content"][0]["text"], "Bye.");
}

// A36: a request that is sent twice has the same response.
#[tokio::test(start_paused = true)]
async fn results_that_are_sent_again_are_answered_under_the_same_id() {
    let asks = Turn::call("notify", json!({})).and_call("notify", json!({}));
    let stage = Stage::new([asks, Turn::call("notify", json!({})), Turn::text("Done.")]);
    let [one, other] = nodes(&stage, &Arc::new(Semaphore::new(0)));
    let first = respond(&one, &body("/v1/responses", None)).await;
    let [a, b] = open(&first).try_into().unwrap();
    let mut both = answer(a, &first["id"]);
    let second = answer(b, &first["id"])["input"][0].clone();
    both["input"].as_array_mut().unwrap().push(second);
    let told = respond(&one, &both).await;
    assert_eq!(told["id"], format!("{}~2", first["id"].as_str().unwrap()).as_str());
    let again = respond(&other, &both).await;
    assert_eq!((&again["id"], open(&again)), (&told["id"], open(&told)));
}

// A36, A59: one agent inside works already when the other one takes its result, so that the run does not stand still then.
#[tokio::test(start_paused = true)]
async fn results_of_two_agents_inside_that_come_at_once_count_as_two() {
    let clerk = |task: &str| Turn::call("clerk", json!({"task": task}));
    let person = || Turn::call("person", json!({}));
    let yes = || Turn::text("They said yes.");
    let clerks = clerk("One").and_call("clerk", json!({"task": "Two"}));
    let looks = Turn::call("look", json!({}));
    let words = [Turn::text("Done."), Turn::text("Bye.")];
    let stage = Stage::new([clerks, person(), person(), looks, yes(), yes()].into_iter().chain(words));
    let gate = Arc::new(Semaphore::new(0));
    let [one, other] = nodes(&stage, &gate);
    let first = respond(&one, &body("/v1/responses", None)).await;
    let [a, b] = open(&first).try_into().unwrap();
    let mut both = answer(a, &first["id"]);
    let second = answer(b, &first["id"])["input"][0].clone();
    both["input"].as_array_mut().unwrap().push(second);
    let seen = async {
        // The time passes once nobody has anything else to do.
        tokio::time::sleep(Duration::from_secs(1)).await;
        gate.add_permits(1);
    };
    let (told, ()) = tokio::join!(respond(&one, &both), seen);
    assert_eq!(told["id"], format!("{}~2", first["id"].as_str().unwrap()).as_str());
    for node in [&other, &one] {
        for seen in told_by(node, &told["id"]).await {
            assert_eq!((&seen["status"], &seen["output"]), (&told["status"], &told["output"]), "{seen}");
        }
    }
    let more = json!({"model": "papers", "input": "Bye.", "previous_response_id": told["id"]});
    assert_eq!(respond(&other, &more).await["output"][0]["content"][0]["text"], "Bye.");
}

// A36: of two requests that answer a call each at the same time, one goes on with the run, and takes no result of the other.
#[tokio::test]
async fn results_that_come_side_by_side_have_responses_of_their_own() {
    let asks = Turn::call("notify", json!({})).and_call("notify", json!({}));
    let stage = Stage::new([asks, Turn::text("Done.")]);
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = database_nodes(&stage, &folder).await;
    let first = respond(&one, &body("/v1/responses", None)).await;
    let [a, b] = open(&first).try_into().unwrap();
    let requests = [answer(a, &first["id"]), answer(b, &first["id"])];
    let [left, right] = requests.each_ref().map(|request| one.post("/v1/responses", request.clone()));
    let (left, right) = tokio::join!(left, right);
    let mut told = Vec::new();
    for (response, request) in [left, right].into_iter().zip(&requests) {
        if response.status() == StatusCode::CONFLICT {
            told.push(respond(&one, request).await);
        } else {
            assert_eq!(response.status(), StatusCode::OK);
            told.push(value(response).await);
        }
    }
    // If the first one has ended before the other one comes, both go on at once.
    told.sort_by_key(|response| response["id"].to_string());
    for (number, response) in (1..).zip(&told) {
        assert_eq!(response["id"], format!("{}~{number}", first["id"].as_str().unwrap()).as_str());
        let seen = other.got(&format!("/v1/responses/{}", response["id"].as_str().unwrap())).await;
        assert_eq!(seen["output"], response["output"], "{number}");
    }
}

// A36, A59: whoever follows the log from another node is told as much as whoever looks at the drive.
#[tokio::test]
async fn an_answer_that_is_followed_from_another_node_has_all_calls_that_are_open() {
    let clerk = |task: &str| Turn::call("clerk", json!({"task": task}));
    let person = || Turn::call("person", json!({}));
    let clerks = clerk("One").and_call("clerk", json!({"task": "Two"}));
    let stage = Stage::new([clerks, person(), person(), person().and_call("look", json!({}))]);
    let gate = Arc::new(Semaphore::new(0));
    let [one, other] = nodes(&stage, &gate);
    let first = respond(&one, &body("/v1/responses", None)).await;
    let [a, b] = open(&first).try_into().unwrap();
    let mut request = answer(a, &first["id"]);
    request["background"] = true.into();
    let second = respond(&one, &request).await;
    let path = format!("/v1/responses/{}", second["id"].as_str().unwrap());
    let mut stream = other.get(&format!("{path}?stream=true")).await.into_body();
    gate.add_permits(1);
    let told = until(&mut stream, "response.completed").await;
    let followed = data(&told).pop().unwrap()["response"].clone();
    assert_eq!(calls(&followed), ["person", "person"], "{told}");
    // The follower tells as they come the calls that are asked now, and then the one that was open; the run made that first.
    let ids = |response: &Value| {
        let mut ids: Vec<_> = open(response).into_iter().map(Value::to_string).collect();
        ids.sort();
        ids
    };
    assert!(ids(&followed).contains(&b.to_string()), "{told}");
    assert_eq!(ids(&followed), ids(&one.got(&path).await));
}
