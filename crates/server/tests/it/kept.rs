//! Responses that are asked for again once their runs have ended or wait.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, EmptyReply, MemorySessions, Sessions, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{ErrorKind, ToolError};
use attache_server::Server;
use attache_testkit::Turn;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::common::{Client, Stage, data, server, text, trusting, value};

/// Begins a response in the background, and yields its path.
pub(crate) async fn begun(client: &Client) -> String {
    let body = json!({"model": "papers", "input": "Go.", "background": true});
    let begun = value(client.post("/v1/responses", body).await).await;
    format!("/v1/responses/{}", begun["id"].as_str().unwrap())
}

/// Looks at a response until it is no longer in progress.
async fn ended(client: &Client, path: &str) -> Value {
    let ended = async {
        loop {
            let told = client.got(path).await;
            if told["status"] != "in_progress" {
                return told;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("it is in progress for ever")
}

/// The text of a response.
pub(crate) fn said(answer: &Value) -> String {
    let items = answer["output"].as_array().unwrap().iter();
    items.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

// The question is a part of the response, whoever asks it.
#[tokio::test]
async fn a_response_that_waits_for_its_user_tells_the_question() {
    let year = || tool_fn("year", "Asks", || Ok::<_, ToolError>(Deferred::ask("Which year?")));
    let own =
        Agent::builder(Stage::new([Turn::text("Let me ask.").and_call("year", json!({}))])).tool(year());
    let archivist = Agent::builder(Stage::new([Turn::call("year", json!({}))])).tool(year()).build().unwrap();
    let inside = Stage::new([Turn::call("archivist", json!({"task": "Find it"}))]);
    let inside = Agent::builder(inside).tool(archivist.as_tool("archivist", "Finds papers"));
    for (agent, expected) in [(own, "Let me ask.\n\nWhich year?"), (inside, "Which year?")] {
        let client = Client::new(server(agent));
        let path = begun(&client).await;
        let told = ended(&client, &path).await;
        assert_eq!((&told["status"], said(&told).as_str()), (&json!("completed"), expected), "{told}");
        let streamed = data(&text(client.get(&format!("{path}?stream=true")).await).await);
        assert_eq!(said(&streamed.last().unwrap()["response"]), expected);
    }
}

// A run that failed has no answer, whatever it said before.
#[tokio::test]
async fn a_response_whose_run_failed_is_told_to_have_failed() {
    // The log has the end of the first; the model of the other fails, and the run could be resumed.
    for last in [Some(Turn::empty()), None] {
        let looks = Turn::text("I look.").and_call("look", json!({}));
        let stage = Stage::new([looks].into_iter().chain(last));
        let agent = Agent::builder(stage).tool(tool_fn("look", "Looks", || Ok("seen")));
        let client = Client::new(server(agent.empty_reply(EmptyReply::Error)));
        let path = begun(&client).await;
        let told = ended(&client, &path).await;
        assert_eq!((&told["status"], said(&told).as_str()), (&json!("failed"), "I look."), "{told}");
    }
}

// Whatever becomes of the process that drove its run, and whatever is said behind it.
#[tokio::test(start_paused = true)]
async fn a_response_whose_run_failed_stays_so() {
    let stage = Stage::new([
        Turn::text("I look.").and_call("look", json!({})),
        Turn::empty().then_error(ErrorKind::RateLimited),
        Turn::text("Seen."),
    ]);
    let store = Arc::new(MemorySessions::new());
    let [one, other] = [(), ()].map(|()| {
        let look = tool_fn("look", "Looks", || Ok("seen"));
        let agent = Agent::builder(stage.clone()).tool(look).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    });
    let path = begun(&one).await;
    let here = ended(&one, &path).await;
    assert_eq!((&here["status"], &here["error"]["code"]), (&json!("failed"), &json!("rate_limit_exceeded")));
    let run = path.rsplit_once("resp_").unwrap().1;
    let stays = async |node: &Client| {
        let told = node.got(&path).await;
        assert_eq!((&told["status"], &told["error"]), (&here["status"], &here["error"]), "{told}");
        assert_eq!(told["output"], here["output"]);
        let began = Instant::now();
        let streamed = data(&text(node.get(&format!("{path}?stream=true")).await).await);
        let last = streamed.last().unwrap();
        assert_eq!((&last["type"], &last["response"]["error"]), (&json!("response.failed"), &here["error"]));
        assert!(began.elapsed() < Duration::from_secs(2));
    };
    stays(&other).await;
    // The process that drove it knows it for a minute.
    tokio::time::advance(Duration::from_secs(61)).await;
    stays(&one).await;
    for node in [&one, &other] {
        let told = node.got(&format!("/v1/runs/{run}")).await;
        let error = &told["snapshot"]["end"]["error"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!("rate_limited"), &here["error"]["message"]),
            "{told}"
        );
        let events = text(node.get(&format!("/v1/runs/{run}/events")).await).await;
        assert_eq!(data(&events)[0]["end"]["type"], "failed", "{events}");
    }
    let id = path.rsplit_once('/').unwrap().1;
    let next = json!({"model": "papers", "input": "Go on.", "previous_response_id": id});
    let next = value(one.post("/v1/responses", next).await).await;
    assert_eq!(said(&next), "Seen.");
    stays(&other).await;
}

// The words of a provider about our key are nobody's, and a page that has seen the end comes again no more.
#[tokio::test(start_paused = true)]
async fn a_run_that_failed_and_was_closed_is_told_without_the_words_of_the_provider() {
    let turns = [Turn::empty().then_error(ErrorKind::Authentication), Turn::text("Seen.")];
    let client = Client::of(turns);
    let run = client.run("s", "Go.").await;
    client.ended(&run).await;
    let next = client.run("s", "Go on.").await;
    client.ended(&next).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    let told = client.got(&format!("/v1/runs/{run}")).await;
    assert_eq!(told["outcome"]["reason"], "provider_error", "{told}");
    assert!(!told.to_string().contains("the script says so"), "{told}");
    let path = format!("/v1/runs/{run}/events");
    let events = text(client.get(&path).await).await;
    assert!(events.contains("cannot ask its model") && !events.contains("the script says so"), "{events}");
    let last = events.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let again = client.send(Request::get(&path).header("last-event-id", last), String::new()).await;
    assert_eq!(again.status(), StatusCode::NO_CONTENT);
}
