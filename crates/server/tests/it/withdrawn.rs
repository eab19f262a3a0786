//! Replies that a hook blocks, trips over or has made again, as clients are told of them.

use attache_agent::{Agent, AgentBuilder, HookContext, HookError, ReplyVerdict, RunHook, tool_fn};
use attache_core::{AssistantMessage, BoxFuture, FinishReason};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text, value};

const SECRET: &str = "The secret is 47110815.";

/// Judges the reply with the secret, and keeps all others.
struct Check(ReplyVerdict);

impl RunHook for Check {
    fn after_model<'a>(
        &'a self,
        reply: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        let is_secret = reply.text() == SECRET;
        Box::pin(async move { Ok(if is_secret { self.0.clone() } else { ReplyVerdict::Keep }) })
    }
}

fn block() -> ReplyVerdict {
    ReplyVerdict::Block("I cannot say.".to_owned())
}

fn retry() -> ReplyVerdict {
    ReplyVerdict::Retry("Tell no secrets.".to_owned())
}

fn trip() -> ReplyVerdict {
    ReplyVerdict::Trip("a leak".to_owned())
}

/// An agent that looks, tells the secret, and does better where it is asked again.
fn agent(verdict: ReplyVerdict) -> AgentBuilder {
    let turns = [
        Turn::text("I look.").and_call("look", json!({})),
        Turn::text(SECRET).and_thinking(SECRET),
        Turn::text("Ask Ann."),
    ];
    Agent::builder(Stage::new(turns)).tool(tool_fn("look", "Looks", || Ok("seen"))).hook(Check(verdict))
}

fn client(verdict: ReplyVerdict) -> Client {
    Client::new(server(agent(verdict)).thinking(true))
}

/// Asks in a dialect by its path.
async fn ask(client: &Client, path: &str, stream: bool) -> (StatusCode, String) {
    let said = json!([{"role": "user", "content": "What is the secret?"}]);
    let body = match path {
        "/v1/responses" => json!({"model": "papers", "input": said, "stream": stream}),
        "/v1/chat/stream" => json!({"message": "What is the secret?", "sessionId": "s"}),
        "/v1/ag-ui" => {
            let said = json!([{"id": "m1", "role": "user", "content": "What is the secret?"}]);
            json!({"threadId": "t", "runId": "r", "messages": said, "tools": [], "context": [], "state": {}})
        }
        "/v1/ui" => {
            let parts = json!([{"type": "text", "text": "What is the secret?"}]);
            json!({"id": "chat", "messages": [{"id": "m1", "role": "user", "parts": parts}]})
        }
        _ => json!({"model": "papers", "max_tokens": 100, "messages": said, "stream": stream}),
    };
    let response = client.post(path, body).await;
    (response.status(), text(response).await)
}

/// The text of a whole answer.
fn said(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap();
    if let Some(text) = answer["choices"][0]["message"]["content"].as_str() {
        return text.to_owned();
    }
    let blocks = answer["content"].as_array().or(answer["output"].as_array()).unwrap().iter();
    let texts = blocks.filter_map(|block| block["text"].as_str().or(block["content"][0]["text"].as_str()));
    texts.collect()
}

#[tokio::test]
async fn a_whole_answer_has_nothing_of_a_reply_that_was_taken_back() {
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        for (verdict, expected) in [(block(), "I look.\n\nI cannot say."), (retry(), "I look.\n\nAsk Ann.")] {
            let (status, answer) = ask(&client(verdict), path, false).await;
            assert_eq!(status, StatusCode::OK, "{path}: {answer}");
            assert_eq!(said(&answer), expected, "{path}");
            assert!(!answer.contains("47110815"), "{path}: {answer}");
        }
        let (status, answer) = ask(&client(trip()), path, false).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path}: {answer}");
        assert!(answer.contains("guardrail_tripped") && !answer.contains("47110815"), "{path}: {answer}");
    }
}

// An answer begins with its own words where nothing is left of the reply before.
#[tokio::test]
async fn an_answer_that_was_made_again_stands_alone() {
    for (path, verdict, expected) in [
        ("/v1/chat/completions", retry(), "Ask Ann."),
        ("/v1/responses", block(), "I cannot say."),
        ("/v1/messages", retry(), "Ask Ann."),
    ] {
        let stage = Stage::new([Turn::text(SECRET), Turn::text("Ask Ann.")]);
        let client = Client::new(server(Agent::builder(stage).hook(Check(verdict))));
        let (status, answer) = ask(&client, path, false).await;
        assert_eq!((status, said(&answer).as_str()), (StatusCode::OK, expected), "{path}");
    }
}

// A stream has told the text before the hook was asked: the words in its place come behind it.
#[tokio::test]
async fn a_stream_goes_on_behind_a_reply_that_was_taken_back() {
    for path in
        ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/chat/stream", "/v1/ag-ui", "/v1/ui"]
    {
        for (verdict, expected) in [
            (block(), "I cannot say."),
            (retry(), "Ann."),
            (trip(), "the run ended without an answer (guardrail_tripped): a leak"),
        ] {
            let (_, told) = ask(&client(verdict), path, true).await;
            // A failure that is there before anything was told has a status of its own.
            let place = told.find(expected).unwrap_or_else(|| panic!("{path}: no {expected:?} in {told}"));
            assert!(told.find("47110815").is_none_or(|secret| secret < place), "{path}: {told}");
        }
    }
}

// Whoever comes later reads nothing of it: in the run so far, in the session, in its export, and in the response that was
// kept.
#[tokio::test]
async fn a_reply_that_was_taken_back_is_not_told_to_those_who_come_later() {
    for (verdict, status, expected) in [
        (block(), "completed", "I look.\n\nI cannot say."),
        (retry(), "completed", "I look.\n\nAsk Ann."),
        (trip(), "failed", "I look."),
    ] {
        let client = client(verdict);
        let body = json!({"model": "papers", "input": "Tell.", "background": true, "conversation": "s"});
        let begun = value(client.post("/v1/responses", body).await).await;
        let id = begun["id"].as_str().unwrap();
        let run = id.strip_prefix("resp_").unwrap();
        let live = client.ended(run).await;
        let session = client.got("/v1/sessions/s").await;
        let kept = client.got(&format!("/v1/responses/{id}")).await;
        let export = client.got("/v1/sessions/s/export").await;
        for told in [&live, &session, &export, &kept] {
            assert!(!told.to_string().contains("47110815"), "{told}");
        }
        assert_eq!((&kept["status"], said(&kept.to_string()).as_str()), (&json!(status), expected), "{kept}");
        // A snapshot in the place of events tells the same as they do.
        let events = data(&text(client.get(&format!("/v1/runs/{run}/events")).await).await);
        let snapshot = events.iter().find(|event| event["type"] == "snapshot").unwrap();
        assert!(!snapshot.to_string().contains("47110815"), "{snapshot}");
    }
}

// A page has the reply that it was told, under an id that the session does not show, and sends it back.
#[tokio::test]
async fn a_page_that_sends_the_reply_back_does_not_bring_it_in_again() {
    for verdict in [block(), trip()] {
        let stage = Stage::new([Turn::text(SECRET), Turn::text("No.")]);
        let client = Client::new(server(Agent::builder(stage.clone()).hook(Check(verdict.clone()))));
        let user = |id: &str| json!({"id": id, "role": "user", "content": "What is the secret?"});
        let body = |messages: Value| json!({"threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": [], "state": {}});
        let events = data(&text(client.post("/v1/ag-ui", body(json!([user("m1")]))).await).await);
        let begins = events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_START");
        let ids: Vec<&Value> = begins.map(|event| &event["messageId"]).collect();
        let session = client.got("/v1/sessions/t").await;
        let known: Vec<&Value> =
            session["messages"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        if verdict == block() {
            assert_eq!(
                (ids.len(), ids.last()),
                (2, known.last()),
                "the words in its place are the session's"
            );
        }
        assert!(ids.first().is_none_or(|id| !known.contains(id)));
        let id = ids.first().map_or(json!("r1"), |id| (*id).clone());
        let told = json!({"id": id, "role": "assistant", "content": SECRET});
        let again = client.post("/v1/ag-ui", body(json!([user("m1"), told, user("m2")]))).await;
        assert_eq!(again.status(), StatusCode::OK);
        text(again).await;
        let seen = format!("{:?}", stage.requests()[1].messages);
        // A reply that a hook trips over stays for the model.
        assert_eq!(seen.matches("47110815").count(), usize::from(verdict != block()), "{seen}");
    }
}

/// A call of the page's tool that nobody will answer, and the way in which its reply ends.
fn unanswered(turn: Turn, verdict: ReplyVerdict) -> Client {
    let stage = Stage::new([turn.clone(), turn]);
    Client::new(server(Agent::builder(stage).hook(Check(verdict))))
}

// A client of AG-UI takes each call without a result for one that it is to answer, and a page of the AI SDK shows one that
// is written for ever.
#[tokio::test]
async fn a_page_is_told_that_a_call_was_not_executed() {
    let withdrawn = || Turn::text(SECRET).and_call("notify", json!({}));
    let cut = || Turn::call("notify", json!({})).finishing(FinishReason::Length);
    let tools = json!([{"name": "notify", "description": "Shows a note", "parameters": {"type": "object"}}]);
    for turn in [withdrawn(), cut()] {
        let said = json!([{"id": "m1", "role": "user", "content": "Go."}]);
        let body = json!({"threadId": "t", "runId": "r", "messages": said, "tools": tools, "context": [], "state": {}});
        let told = text(unanswered(turn.clone(), block()).post("/v1/ag-ui", body).await).await;
        let events = data(&told);
        let ids = |kind: &str| {
            let of_kind = events.iter().filter(|event| event["type"] == kind);
            of_kind.map(|event| event["toolCallId"].clone()).collect::<Vec<_>>()
        };
        assert!(!ids("TOOL_CALL_START").is_empty(), "{told}");
        assert_eq!(ids("TOOL_CALL_START"), ids("TOOL_CALL_END"), "{told}");
        assert_eq!(ids("TOOL_CALL_START"), ids("TOOL_CALL_RESULT"), "{told}");
        let result = events.iter().find(|event| event["type"] == "TOOL_CALL_RESULT").unwrap();
        assert!(result["content"].as_str().unwrap().starts_with("not executed"), "{result}");
        assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED", "{told}");

        let said = json!([{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Go."}]}]);
        let body = json!({"id": "chat", "messages": said, "tools": tools});
        let told = text(unanswered(turn, block()).post("/v1/ui", body).await).await;
        let parts = data(&told);
        let ids = |kind: &str| {
            let of_kind = parts.iter().filter(|event| event["type"] == kind);
            of_kind.map(|event| event["toolCallId"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(ids("tool-input-start"), ids("tool-output-error"), "{told}");
        // The page does not take it for an answer of its own, which it would send.
        let error = parts.iter().find(|part| part["type"] == "tool-output-error").unwrap();
        assert_eq!((&error["providerExecuted"], &error["dynamic"]), (&json!(true), &Value::Null), "{error}");
    }
}
