//! The messages of a thread as a client of AG-UI has them, and what it is told of those that it lacks.

use std::collections::HashSet;
use std::sync::Arc;

use attache_agent::{Agent, Compaction, EmptyReply, MemorySessions, Sessions, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{Approval, Document, ToolError};
use attache_server::{Server, ServerLimits};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text, trusting};

/// The messages that a client has behind an answer, as the protocol's own client puts them together: text and calls stand in
/// the message that their events name, results behind them.
fn kept(mut messages: Vec<Value>, events: &[Value]) -> Vec<Value> {
    for event in events {
        let id = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let known = |id: &str, messages: &[Value]| messages.iter().position(|message| message["id"] == id);
        match event["type"].as_str().unwrap_or_default() {
            "TEXT_MESSAGE_START" if known(&id("messageId"), &messages).is_none() => {
                messages.push(json!({"id": id("messageId"), "role": "assistant", "content": ""}));
            }
            "TEXT_MESSAGE_CONTENT" => {
                let at = known(&id("messageId"), &messages).unwrap();
                let said = messages[at]["content"].as_str().unwrap_or_default().to_owned();
                messages[at]["content"] = json!(said + event["delta"].as_str().unwrap());
            }
            "TOOL_CALL_START" => {
                let parent = event["parentMessageId"].as_str().map_or_else(|| id("toolCallId"), str::to_owned);
                let at = known(&parent, &messages).unwrap_or_else(|| {
                    messages.push(json!({"id": parent, "role": "assistant"}));
                    messages.len() - 1
                });
                let call = json!({"id": id("toolCallId"), "type": "function", "function": {"name": id("toolCallName"), "arguments": "{}"}});
                match messages[at]["toolCalls"].as_array_mut() {
                    Some(calls) => calls.push(call),
                    None => messages[at]["toolCalls"] = json!([call]),
                }
            }
            "TOOL_CALL_RESULT" => messages.push(json!({"id": id("messageId"), "role": "tool", "toolCallId": id("toolCallId"), "content": event["content"]})),
            "MESSAGES_SNAPSHOT" => messages = event["messages"].as_array().unwrap().clone(),
            _ => {}
        }
    }
    messages
}

fn question(id: &str) -> Value {
    json!({"id": id, "role": "user", "content": "Sure?"})
}

/// Sends the messages of a thread, and yields the events of the answer.
async fn asked(client: &Client, run: &str, messages: &[Value]) -> Vec<Value> {
    let body = json!({"threadId": "t", "runId": run, "messages": messages, "tools": [], "context": []});
    let response = client.post("/v1/ag-ui", body).await;
    let told = text(response).await;
    assert!(told.contains("RUN_FINISHED"), "{told}");
    data(&told)
}

// A36, A43: messages are known by their ids, whatever they say, and words of the loop to the model are nobody's messages.
#[tokio::test]
async fn messages_are_known_by_their_ids() {
    let look = tool_fn("look", "Looks", || Ok("seen"));
    // An empty reply is followed by a hint to the model.
    let stage = Stage::new([
        Turn::text("Yes."),
        Turn::text("I look.").and_call("look", json!({})),
        Turn::empty(),
        Turn::text("Yes."),
        Turn::text("Yes."),
        Turn::text("Yes."),
    ]);
    let client = Client::new(server(Agent::builder(stage).tool(look).empty_reply(EmptyReply::Nudge(1))));
    // The same question is asked again and again, and answered in the same words.
    let mut messages = Vec::new();
    for id in ["q1", "q2", "q3"] {
        messages.push(question(id));
        let told = asked(&client, id, &messages).await;
        assert!(told.iter().all(|event| event["type"] != "MESSAGES_SNAPSHOT"), "{id}: {told:?}");
        messages = kept(messages, &told);
    }
    // A page that comes back has them under the same ids.
    let all = kept(Vec::new(), &asked(&client, "back", &[]).await);
    let ids = |messages: &[Value]| messages.iter().map(|message| message["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&all), ids(&messages));
    // One that lost the second question and all of its answer is told these, at their place.
    let mut some = messages.clone();
    some.drain(2..6);
    some.push(question("q4"));
    let fourth = kept(some.clone(), &asked(&client, "r4", &some).await);
    let mut whole = messages;
    whole.extend([question("q4"), json!({"role": "assistant", "content": "Yes."})]);
    let said = |messages: &[Value]| {
        messages
            .iter()
            .map(|message| format!("{} {}", message["role"], message["content"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&fourth), said(&whole));
    assert_eq!(
        (&fourth[0]["id"], &fourth[6]["id"], &fourth[8]["id"]),
        (&json!("q1"), &json!("q3"), &json!("q4"))
    );
}

// C30: the protocol's own messages of a reply hold text alone.
#[tokio::test]
async fn documents_that_the_model_made_are_events_of_our_own() {
    let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let stage = Stage::new([Turn::text("Here.").making(picture), Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage)));
    let told = asked(&client, "r1", &[question("q1")]).await;
    let made: Vec<&Value> = told.iter().filter(|event| event["name"] == "attache.document").collect();
    let [made] = made[..] else { panic!("{told:?}") };
    assert_eq!((&made["type"], &made["value"]["mediaType"]), (&json!("CUSTOM"), &json!("image/png")));
    let id = made["value"]["id"].as_str().unwrap();
    let bytes = client.get(&format!("/v1/sessions/t/documents/{id}")).await;
    assert_eq!(bytes.headers()["content-type"], "image/png");
    let again = asked(&client, "r2", &[question("q1"), question("q2")]).await;
    assert!(again.iter().all(|event| event["name"] != "attache.document"), "it is told once: {again:?}");
}

// A43: a summary that the model is shown is no message of a person, and what it stands for is none that a client lacks.
#[tokio::test]
async fn a_summary_is_no_news() {
    let stage = Stage::new([
        Turn::text(&"word ".repeat(3_000)),
        Turn::text(&"word ".repeat(3_000)),
        Turn::text("They talked."),
        Turn::text("Yes."),
        Turn::text("Yes."),
    ]);
    let memory = Compaction::new().with_threshold(5_000).with_recent(100);
    let client = Client::new(server(Agent::builder(stage.clone()).memory(memory)));
    let mut messages = Vec::new();
    for id in ["q1", "q2", "q3", "q4"] {
        messages.push(question(id));
        let told = asked(&client, id, &messages).await;
        assert!(told.iter().all(|event| event["type"] != "MESSAGES_SNAPSHOT"), "{id}: {told:?}");
        messages = kept(messages, &told);
    }
    let requests = stage.requests();
    assert!(format!("{:?}", requests[3].messages).contains("They talked."), "{:?}", requests[3].messages);
    let all = kept(Vec::new(), &asked(&client, "back", &[]).await);
    assert_eq!(all.len(), 8, "{all:?}");
    // Nor does the server's own chat show it as said by the user.
    let session = client.got("/v1/sessions/t").await;
    assert_eq!(session["messages"].as_array().unwrap().len(), 8, "{session}");
}

// A43: a page that hung up while something was said has its beginning, and is told the whole of it.
#[tokio::test]
async fn a_reply_of_which_a_client_has_the_beginning_is_told_whole() {
    // The message that is cut, and its text then.
    for (cut, text) in [(1, "I"), (1, "I look."), (3, "It")] {
        let look = tool_fn("look", "Looks", || Ok("seen"));
        let stage = Stage::new([
            Turn::text("I look.").and_call("look", json!({})),
            Turn::text("It is 900."),
            Turn::text("Yes."),
        ]);
        let client = Client::new(server(Agent::builder(stage).tool(look)));
        let first = asked(&client, "r1", &[question("q1")]).await;
        let mut whole = kept(vec![question("q1")], &first);
        let mut some = whole[..=cut].to_vec();
        some[cut]["content"] = json!(text);
        some[cut].as_object_mut().unwrap().remove("toolCalls");
        some.push(question("q2"));
        let second = kept(some.clone(), &asked(&client, "r2", &some).await);
        whole.push(question("q2"));
        let shown =
            |message: &Value| json!([message["id"], message["content"], message["toolCalls"][0]["id"]]);
        let shown = |messages: &[Value]| messages.iter().map(shown).collect::<Vec<_>>();
        assert_eq!(shown(&second[..5]), shown(&whole), "{cut} {text}");
        assert_eq!(second[5]["content"], "Yes.");
    }
}

fn snapshots(events: &[Value]) -> usize {
    events.iter().filter(|event| event["type"] == "MESSAGES_SNAPSHOT").count()
}

// A43: a session from before ids were kept has none of its client's ids, and a page has others for the replies.
#[tokio::test]
async fn messages_without_a_kept_id_are_known_by_their_words() {
    let look = tool_fn("look", "Looks", || Ok("seen"));
    let stage = Stage::new([
        Turn::text("Yes."),
        Turn::text("I look.").and_call("look", json!({})),
        Turn::text("Yes."),
        Turn::text("Yes."),
        Turn::text("Yes."),
    ]);
    let client = Client::new(server(Agent::builder(stage).tool(look)));
    let mut messages = Vec::new();
    for id in ["q1", "q2"] {
        let mut nameless = question(id);
        nameless.as_object_mut().unwrap().remove("id");
        messages.push(nameless);
        let told = asked(&client, id, &messages).await;
        assert_eq!(snapshots(&told), 0, "{id}: {told:?}");
        messages = kept(messages, &told);
    }
    // The ids of a stream of before: text is `{run}-{n}`, and calls stand beside it in a message of their own.
    let mut old = Vec::new();
    for (at, mut message) in messages.into_iter().enumerate() {
        let has_text = message["content"].as_str().is_some_and(|text| !text.is_empty());
        if message["role"] == "assistant" && has_text {
            old.push(json!({"id": format!("run-{at}"), "role": "assistant", "content": message["content"]}));
            message.as_object_mut().unwrap().remove("content");
        }
        if message["role"] != "assistant" || message.get("toolCalls").is_some() {
            message["id"] = json!(format!("old-{at}"));
            old.push(message);
        }
    }
    old.push(question("q3"));
    let third = asked(&client, "r3", &old).await;
    assert_eq!(snapshots(&third), 0, "{third:?}");
    // One that lost the first answer is told it at its place: the same words behind the call are another's.
    let mut some = kept(old, &third);
    some.remove(1);
    some.push(question("q4"));
    let fourth = kept(some.clone(), &asked(&client, "r4", &some).await);
    let said: Vec<&str> = fourth.iter().map(|message| message["content"].as_str().unwrap_or("-")).collect();
    let ended = ["Yes.", "Sure?", "Yes.", "Sure?", "Yes."];
    assert_eq!(said, [&["Sure?", "Yes.", "Sure?", "I look.", "-", "seen"], &ended[..]].concat());
}

// A43: ids are no duty of a client.
#[tokio::test]
async fn a_client_without_ids_is_told_nothing_twice() {
    let stage = Stage::new([Turn::text("Yes."), Turn::text("Yes."), Turn::text("No."), Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage)));
    let nameless = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut messages = Vec::new();
    for (run, answer) in ["Yes.", "Yes.", "No."].into_iter().enumerate() {
        messages.push(nameless("user", "Sure?"));
        let told = asked(&client, &format!("r{run}"), &messages).await;
        assert_eq!(snapshots(&told), 0, "{run}: {told:?}");
        messages.push(nameless("assistant", answer));
    }
    // It is told again the messages that it lost: its new question stands for none of before.
    let told = asked(&client, "r4", &[nameless("user", "Sure?")]).await;
    let all = kept(Vec::new(), &told);
    let said: Vec<&str> = all.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["Sure?", "Yes.", "Sure?", "Yes.", "Sure?", "No.", "Sure?", "Yes."]);
}

// A43: the id that a client gives its question may be that of a reply.
#[tokio::test]
async fn no_two_messages_are_told_under_one_id() {
    let stage = Stage::new([Turn::text("Yes."), Turn::text("No."), Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage)));
    let first = kept(vec![question("q1")], &asked(&client, "r1", &[question("q1")]).await);
    let reply = first[1]["id"].as_str().unwrap().to_owned();
    let second = kept(Vec::new(), &asked(&client, "r2", &[question(&reply)]).await);
    let back = kept(Vec::new(), &asked(&client, "back", &[]).await);
    for (messages, what) in [(&second, "its own thread"), (&back, "another page")] {
        let ids: HashSet<&str> = messages.iter().map(|message| message["id"].as_str().unwrap()).collect();
        assert_eq!((messages.len(), ids.len()), (4, 4), "{what}: {messages:?}");
    }
    let said: Vec<&str> = second.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["Sure?", "Yes.", "Sure?", "No."]);
    // It is told nothing again under the ids that it has now.
    let mut third = second;
    third.push(question("q3"));
    assert_eq!(snapshots(&asked(&client, "r3", &third).await), 0);
}

// A request that is refused decides nothing: whoever sends it right decides then.
#[tokio::test]
async fn a_request_that_is_refused_decides_nothing() {
    let store = Arc::new(MemorySessions::new());
    let year = || Ok::<_, ToolError>(Deferred::ask("Which year?").with_schema(json!({"type": "integer"})));
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let calls = Turn::call("pay", json!({})).and_call("year", json!({}));
    let stage = Stage::new([calls.clone(), Turn::text("Paid."), calls]);
    let paying = Agent::builder(stage.clone()).tool(pay).tool(tool_fn("year", "Asks", year)).build().unwrap();
    let other = Agent::builder(Stage::new([])).build().unwrap();
    let [paying, other] = [paying, other].map(|agent| Sessions::new(agent, store.clone()));
    let client = Client::new(trusting(Server::new("papers", paying).agent("other", other)));
    // The other agent has no tool of that name, and the run goes on with the one that it began with.
    let taken = json!([{"name": "pay", "description": "Ours", "parameters": {"type": "object"}}]);
    let open = async || client.got("/v1/approvals").await["approvals"].as_array().unwrap().len();

    let ask = |model: &str, tools: &Value, resume: Value| {
        json!({"threadId": "t", "runId": "r", "messages": [question("q")], "tools": tools, "context": [],
            "state": {}, "resume": resume, "forwardedProps": {"model": model}})
    };
    let told = data(&text(client.post("/v1/ag-ui", ask("papers", &json!([]), Value::Null)).await).await);
    let interrupts = &told.last().unwrap()["outcome"]["interrupts"];
    let answer = |at: usize, payload: Value| json!({"interruptId": interrupts[at]["id"], "status": "resolved", "payload": payload});
    let approve = answer(0, json!({"approved": true}));
    for (model, tools, resume, refused) in [
        ("other", &taken, json!([approve]), StatusCode::BAD_REQUEST),
        ("papers", &json!([]), json!([approve, answer(1, json!("soon"))]), StatusCode::UNPROCESSABLE_ENTITY),
        (
            "papers",
            &json!([]),
            json!([approve, {"interruptId": "nobody", "status": "resolved"}]),
            StatusCode::NOT_FOUND,
        ),
    ] {
        let told = client.post("/v1/ag-ui", ask(model, tools, resume)).await;
        let status = told.status();
        assert_eq!((status, open().await), (refused, 1), "{}", text(told).await);
    }
    let right = ask("papers", &json!([]), json!([approve, answer(1, json!(2026))]));
    let told = data(&text(client.post("/v1/ag-ui", right).await).await);
    assert_eq!(told.last().unwrap()["result"], "Paid.", "{told:?}");

    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Pay."}]});
    let ask = |model: &str, tools: &Value, reply: Option<Value>| {
        let messages: Vec<_> = [Some(user.clone()), reply].into_iter().flatten().collect();
        json!({"id": "chat", "model": model, "messages": messages, "tools": tools})
    };
    let told = data(&text(client.post("/v1/ui", ask("papers", &json!([]), None)).await).await);
    let asked = told.iter().find(|part| part["type"] == "tool-approval-request").unwrap();
    let part = json!({"type": "dynamic-tool", "toolName": "pay", "toolCallId": asked["toolCallId"], "state": "approval-responded",
        "input": {}, "approval": {"id": asked["approvalId"], "approved": true}});
    let reply = json!({"id": "m2", "role": "assistant", "parts": [part]});
    let told = client.post("/v1/ui", ask("other", &taken, Some(reply))).await;
    assert_eq!((told.status(), open().await), (StatusCode::BAD_REQUEST, 1), "{}", text(told).await);
}

// Neither does one that there is no room for.
#[tokio::test(start_paused = true)]
async fn a_request_without_room_for_its_run_decides_nothing() {
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let stage = Stage::new([Turn::call("pay", json!({})), Turn::text("Wait.").then_hang()]);
    let mut limits = ServerLimits::default();
    limits.runs = 1;
    let client = Client::new(server(Agent::builder(stage).tool(pay)).limits(limits));
    let ask = |resume: Value| {
        json!({"threadId": "t", "runId": "r", "messages": [question("q")], "tools": [], "context": [],
            "state": {}, "resume": resume})
    };
    let told = data(&text(client.post("/v1/ag-ui", ask(Value::Null)).await).await);
    let id = &told.last().unwrap()["outcome"]["interrupts"][0]["id"];
    client.run("busy", "Go.").await;
    let approve = json!([{"interruptId": id, "status": "resolved", "payload": {"approved": true}}]);
    let refused = client.post("/v1/ag-ui", ask(approve)).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let path = format!("/v1/approvals/{}", id.as_str().unwrap());
    let denied = client.post(&path, json!({"decision": "deny"})).await;
    assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS, "{}", text(denied).await);
    let open = client.got("/v1/approvals").await;
    assert_eq!(open["approvals"].as_array().map(Vec::len), Some(1), "{open}");
}
