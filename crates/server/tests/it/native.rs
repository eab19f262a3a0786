//! Sessions, runs, approvals, documents and tools by the server's own routes.

use std::sync::Arc;

use attache_agent::{Agent, AgentBuilder, Ask, MemorySessions, Proposal, Sessions, Verdict, tool_fn};
use attache_core::{Approval, Document, Effect};
use attache_http_tools::{CallerHeaders, Endpoint, HttpTools};
use attache_server::Server;
use attache_testkit::Turn;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::common::{Client, Stage, server, text, trusting, until, value};

// A38, A40, A42
#[tokio::test]
async fn sessions_are_listed_read_and_deleted_by_their_owner_alone() {
    let stage = Stage::new([Turn::text("Hello, Ann."), Turn::text("Ann.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut run = String::new();
    for message in ["I am Ann.", "Who am I?"] {
        run = client.run("a%20session%2F1", message).await.replace(' ', "%20").replace('/', "%2F");
        client.ended(&run).await;
    }
    assert_eq!(stage.requests()[1].messages.len(), 3);
    let listed = client.got("/v1/sessions").await;
    assert_eq!(listed["total"], 1);
    assert_eq!(listed["sessions"][0]["title"], "I am Ann.");
    let found = |words: &'static str| {
        let client = client.clone();
        async move { client.got(&format!("/v1/sessions?q={words}")).await["sessions"].as_array().unwrap().len() }
    };
    assert_eq!((found("hello%20ann").await, found("bob").await), (1, 0));
    let session = client.got("/v1/sessions/a%20session%2F1").await;
    let roles: Vec<&str> = session["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(session["messages"][3]["parts"][0], json!({"type": "text", "text": "Ann."}));
    let made = client.ask(Method::POST, "/v1/sessions", None).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(client.got("/v1/sessions").await["total"], 2);
    let deleted = client.ask(Method::DELETE, "/v1/sessions/a%20session%2F1", None).await;
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    for path in [format!("/v1/runs/{run}"), "/v1/sessions/a%20session%2F1".to_owned()] {
        assert_eq!(client.get(&path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(value(client.ask(Method::DELETE, "/v1/sessions", None).await).await["deleted"], 1);
}

// A40
#[tokio::test(start_paused = true)]
async fn what_is_somebody_elses_is_not_there() {
    let stage = Stage::new([Turn::call("pay", json!({}))]);
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let client = Client::new(server(Agent::builder(stage).tool(pay)));
    let run = client.run("s", "Pay.").await;
    client.ended(&run).await;
    let approvals = client.got("/v1/approvals").await;
    let approval = approvals["approvals"][0]["approval"]["approvalId"].as_str().unwrap().to_owned();
    let upload = Request::builder().method("POST").uri("/v1/documents");
    let upload = value(client.send(upload, "hi").await).await["id"].as_str().unwrap().to_owned();
    let bob = client.named("bob");
    let turn = json!({"message": "mine?", "sessionId": "s"});
    let routes = [
        (Method::GET, "/v1/sessions/s".to_owned(), None),
        (Method::DELETE, "/v1/sessions/s".to_owned(), None),
        (Method::POST, "/v1/sessions/s/runs".to_owned(), Some(json!({"message": "?"}))),
        (Method::GET, "/v1/sessions/s/documents/d".to_owned(), None),
        (Method::POST, "/v1/chat/stream".to_owned(), Some(turn)),
        (Method::GET, format!("/v1/runs/{run}"), None),
        (Method::GET, format!("/v1/runs/{run}/events"), None),
        (Method::POST, format!("/v1/runs/{run}/cancel"), None),
        (Method::POST, format!("/v1/runs/{run}/messages"), Some(json!({"message": "?"}))),
        (Method::POST, format!("/v1/runs/{run}/resume"), None),
        (Method::POST, format!("/v1/approvals/{approval}"), Some(json!({"decision": "approve"}))),
        (Method::GET, format!("/v1/documents/{upload}"), None),
        (Method::DELETE, format!("/v1/documents/{upload}"), None),
    ];
    for (method, path, body) in routes {
        let response = bob.ask(method.clone(), &path, body).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method} {path}");
        let told = value(response).await;
        assert!(told["error"]["message"].is_string(), "{method} {path}: {told}");
    }
    assert_eq!(bob.got("/v1/approvals").await["approvals"], json!([]));
    assert_eq!(bob.got("/v1/sessions").await["total"], 0);
    assert_eq!(client.got("/v1/sessions").await["total"], 1, "nothing happened to it");
}

// Whoever decides need not say which agent asked: the run goes on with the one that it began with.
#[tokio::test(start_paused = true)]
async fn a_run_goes_on_with_the_agent_that_it_began_with() {
    let (first, other) = (Stage::new([]), Stage::new([Turn::call("pay", json!({})), Turn::text("Paid.")]));
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let store = Arc::new(MemorySessions::new());
    let of = |agent: AgentBuilder| Sessions::new(agent.build().unwrap(), store.clone());
    let payer = of(Agent::builder(other.clone()).tool(pay));
    let server = Server::new("papers", of(Agent::builder(first.clone()))).agent("payer", payer);
    let client = Client::new(trusting(server));
    let body = json!({"message": "Pay.", "model": "payer"});
    let told = value(client.post("/v1/sessions/s/runs", body).await).await;
    let run = told["runId"].as_str().unwrap();
    client.ended(run).await;
    let approvals = client.got("/v1/approvals").await;
    let approval = approvals["approvals"][0]["approval"]["approvalId"].as_str().unwrap();
    let decided = client.post(&format!("/v1/approvals/{approval}"), json!({"decision": "approve"})).await;
    assert_eq!(decided.status(), StatusCode::OK);
    assert_eq!(client.ended(run).await["snapshot"]["end"]["text"], "Paid.");
    assert_eq!((first.requests().len(), other.requests().len()), (0, 2));
}

// Results of calls go there, too, whichever agent the request names, by every dialect.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_told_a_result_goes_on_with_the_agent_that_it_began_with() {
    let weather = json!({"name": "weather", "description": "The weather", "parameters": {"type": "object"}});
    let function = json!([{"type": "function", "function": weather.clone()}]);
    let mut flat = weather.clone();
    flat["type"] = json!("function");
    let claude = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
    let said = json!({"id": "1", "role": "user", "content": "Weather?"});
    for dialect in ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/ag-ui"] {
        let (first, other) =
            (Stage::new([]), Stage::new([Turn::call("weather", json!({})), Turn::text("Sunny.")]));
        let store = Arc::new(MemorySessions::new());
        let of = |stage: &Stage| Sessions::new(Agent::builder(stage.clone()).build().unwrap(), store.clone());
        let server = Server::new("papers", of(&first)).agent("forecaster", of(&other));
        let client = Client::new(trusting(server));
        let ask = async |model: &str, messages: Value| {
            let body = match dialect {
                "/v1/chat/completions" => json!({"model": model, "messages": messages, "tools": function}),
                "/v1/responses" => json!({"model": model, "input": messages, "tools": [flat]}),
                "/v1/messages" => {
                    json!({"model": model, "messages": messages, "tools": claude, "max_tokens": 99})
                }
                _ => json!({
                    "threadId": "s", "runId": "r", "messages": messages, "tools": [weather], "context": [],
                    "forwardedProps": {"model": model},
                }),
            };
            let request = Request::builder().method("POST").uri(dialect).header("x-attache-session", "s");
            let request = request.header("content-type", "application/json");
            text(client.send(request, body.to_string()).await).await
        };
        let plain = json!([{"role": "user", "content": "Weather?"}]);
        let asked = ask("forecaster", if dialect == "/v1/ag-ui" { json!([said]) } else { plain }).await;
        assert!(asked.contains("weather"), "{dialect}: {asked}");
        let session = client.got("/v1/sessions/s").await;
        let parts = session["messages"][1]["parts"].as_array().unwrap();
        let id = parts.iter().find_map(|part| part["id"].as_str().or(part["callId"].as_str())).unwrap();
        let result = match dialect {
            "/v1/responses" => json!([{"type": "function_call_output", "call_id": id, "output": "sunny"}]),
            "/v1/messages" => json!([
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "weather", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "sunny"}]},
            ]),
            "/v1/ag-ui" => json!([said, {"id": "2", "role": "tool", "toolCallId": id, "content": "sunny"}]),
            _ => {
                let function = json!({"name": "weather", "arguments": "{}"});
                let call = json!({"id": id, "type": "function", "function": function});
                json!([
                    {"role": "user", "content": "Weather?"},
                    {"role": "assistant", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": id, "content": "sunny"},
                ])
            }
        };
        let told = ask("papers", result).await;
        assert!(told.contains("Sunny."), "{dialect}: {told}");
        assert_eq!((first.requests().len(), other.requests().len()), (0, 2), "{dialect}");
        // The answer tells which agent gave it, where it names one.
        assert!(dialect == "/v1/ag-ui" || told.contains("forecaster"), "{dialect}: {told}");
    }
}

// So it is where no session keeps the run, whose own tools did something that the client does not know.
#[tokio::test]
async fn a_run_without_a_session_goes_on_with_the_agent_that_it_began_with() {
    let look = tool_fn("look", "Looks", || Ok("the window is open"));
    let both = Turn::call("look", json!({})).and_call("weather", json!({}));
    let (first, other) = (Stage::new([]), Stage::new([both, Turn::text("Sunny.")]));
    let of = |agent: AgentBuilder| Sessions::new(agent.build().unwrap(), Arc::new(MemorySessions::new()));
    let forecaster = of(Agent::builder(other.clone()).tool(look));
    let server = Server::new("papers", of(Agent::builder(first.clone()))).agent("forecaster", forecaster);
    let client = Client::new(trusting(server));
    let weather = json!({"name": "weather", "parameters": {"type": "object"}});
    let ask = |model: &str, messages: &Value| {
        client.chat(json!({
            "model": model, "messages": messages, "tools": [{"type": "function", "function": weather}],
        }))
    };
    let mut messages = json!([{"role": "user", "content": "Weather?"}]);
    let asked = value(ask("forecaster", &messages).await).await;
    let call = asked["choices"][0]["message"].clone();
    let id = call["tool_calls"][0]["id"].clone();
    let result = json!({"role": "tool", "tool_call_id": id, "content": "sunny"});
    messages.as_array_mut().unwrap().extend([call, result]);
    let told = value(ask("papers", &messages).await).await;
    assert_eq!(told["choices"][0]["message"]["content"], "Sunny.", "{told}");
    assert_eq!((&told["model"], first.requests().len()), (&json!("forecaster"), 0));
    let seen = format!("{:?}", other.requests()[1].messages);
    assert!(seen.contains("the window is open") && seen.contains("sunny"), "{seen}");
}

// A41
#[tokio::test(start_paused = true)]
async fn a_second_run_of_a_session_is_refused_with_the_first() {
    let stage = Stage::new([Turn::text("One.")]).held();
    let client = Client::new(server(Agent::builder(stage)));
    let run = client.run("s", "One?").await;
    let routes = [
        ("/v1/sessions/s/runs", json!({"message": "Two?"})),
        ("/v1/chat/stream", json!({"message": "Two?", "sessionId": "s"})),
        (
            "/v1/chat/completions",
            json!({"model": "papers", "attache": {"session": "s"}, "messages": [{"role": "user", "content": "Two?"}]}),
        ),
    ];
    for (path, body) in routes {
        let second = client.post(path, body).await;
        assert_eq!(second.status(), StatusCode::CONFLICT, "{path}");
        assert_eq!(value(second).await["error"]["run"], json!(run), "{path}");
    }
}

fn paying() -> (Stage, Client) {
    let stage = Stage::new([
        Turn::call("pay", json!({"amount": 5})).and_call("pay", json!({"amount": 7})),
        Turn::text("Done."),
    ]);
    let pay = tool_fn("pay", "Pays", |amount: Value| Ok(format!("paid {}", amount["amount"])));
    let pay = pay.with_approval(Approval::Always);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(pay)));
    (stage, client)
}

#[tokio::test(start_paused = true)]
async fn approvals_are_decided_one_by_one_and_the_run_goes_on() {
    let (stage, client) = paying();
    let run = client.run("s", "Pay.").await;
    let waits = client.ended(&run).await;
    assert_eq!(waits["snapshot"]["end"]["reason"], "pending_approval");
    let listed = client.got("/v1/approvals").await;
    let approvals = listed["approvals"].as_array().unwrap();
    assert_eq!(approvals.len(), 2);
    assert_eq!((&approvals[0]["sessionId"], &approvals[0]["runId"]), (&json!("s"), &json!(run)));
    assert_eq!(approvals[0]["approval"]["arguments"], json!({"amount": 5}));
    let path =
        |at: usize| format!("/v1/approvals/{}", approvals[at]["approval"]["approvalId"].as_str().unwrap());
    let wrong = client.post(&path(0), json!({"decision": "edit"})).await;
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    let denied = client.post(&path(1), json!({"decision": "deny", "text": "too much"})).await;
    assert_eq!(value(denied).await["by"], "ann");
    let edited = json!({"decision": "edit", "arguments": {"amount": 1}});
    assert_eq!(client.post(&path(0), edited.clone()).await.status(), StatusCode::OK);
    let end = client.ended(&run).await;
    assert_eq!(end["snapshot"]["end"]["text"], "Done.", "{end}");
    let last = stage.requests().pop().unwrap();
    let told = format!("{:?}", last.messages.last().unwrap());
    assert!(told.contains("paid 1") && told.contains("too much") && !told.contains("paid 7"), "{told}");
    // The same decision again is the same; another one is refused.
    assert_eq!(client.post(&path(0), edited).await.status(), StatusCode::OK);
    assert_eq!(client.post(&path(0), json!({"decision": "approve"})).await.status(), StatusCode::CONFLICT);
    assert_eq!(client.got("/v1/approvals").await["approvals"], json!([]));
    assert_eq!(
        client.post("/v1/approvals/nothing", json!({"decision": "approve"})).await.status(),
        StatusCode::NOT_FOUND
    );
}

// Somebody who comes back later reads what became of each call, and who decided about it, whatever was asked since.
#[tokio::test(start_paused = true)]
async fn a_session_keeps_what_became_of_its_calls() {
    let stage = Stage::new([
        Turn::call("pay", json!({"amount": 5})).and_call("pay", json!({"amount": 7})),
        Turn::text("Done."),
        Turn::call("pay", json!({"amount": 9})),
        Turn::text("Hello."),
    ]);
    let pay = tool_fn("pay", "Pays", |amount: Value| Ok(format!("paid {}", amount["amount"])));
    let pay = pay.with_approval(Approval::Always);
    let client = Client::new(server(Agent::builder(stage).tool(pay)));
    let first = client.run("s", "Pay.").await;
    client.ended(&first).await;
    let asked = client.got("/v1/approvals").await["approvals"].clone();
    let choices = [
        json!({"decision": "edit", "arguments": {"amount": 1}}),
        json!({"decision": "deny", "text": "too much"}),
    ];
    for (at, choice) in choices.iter().enumerate() {
        let path = format!("/v1/approvals/{}", asked[at]["approval"]["approvalId"].as_str().unwrap());
        assert_eq!(client.post(&path, choice.clone()).await.status(), StatusCode::OK);
    }
    client.ended(&first).await;
    let second = client.run("s", "Pay more.").await;
    client.ended(&second).await;
    let cancelled = client.ask(Method::POST, &format!("/v1/runs/{second}/cancel"), None).await;
    assert_eq!(value(cancelled).await["cancelled"], true);
    text(client.get(&format!("/v1/runs/{second}/events")).await).await;
    assert_eq!(client.got("/v1/sessions/s").await["openRun"], Value::Null);
    let told = client.got(&format!("/v1/runs/{second}")).await;
    assert_eq!(told["snapshot"]["end"]["reason"], "cancelled", "{told}");
    assert_eq!(told["snapshot"]["approvals"], json!([]), "{told}");
    let third = client.run("s", "Hello?").await;
    client.ended(&third).await;
    let session = client.got("/v1/sessions/s").await;
    let messages = session["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let told: Vec<Value> = results
        .flat_map(|message| {
            let results = message["results"].as_array().unwrap().iter();
            results.map(|result| json!([message["runId"], result["callId"], result["disposition"]]))
        })
        .collect();
    let call = |at: usize| &asked[at]["approval"]["callId"];
    assert_eq!(told[0], json!([first, call(0), "executed"]));
    assert_eq!(told[1], json!([first, call(1), "denied"]));
    assert_eq!((&told[2][0], &told[2][2]), (&json!(second), &json!("cancelled")));
    assert_eq!(messages.last().unwrap()["runId"], json!(third));
    let decisions = session["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 2, "{decisions:?}");
    for (at, decision) in [json!({"edit": {"amount": 1}}), json!({"deny": "too much"})].iter().enumerate() {
        let told = &decisions[at];
        assert_eq!((&told["runId"], &told["callId"]), (&json!(first), call(at)));
        assert_eq!((&told["decision"], &told["by"]), (decision, &json!("ann")));
        assert!(told["at"].as_u64().unwrap() > 1_700_000_000_000, "{told}");
    }
}

// Nobody knows what becomes of a call while it runs or waits.
#[tokio::test(start_paused = true)]
async fn a_session_tells_nothing_of_what_becomes_of_a_call_that_is_open() {
    for (goes_on, last) in [(true, "executed"), (false, "unknown")] {
        let gate = std::sync::Arc::new(tokio::sync::Notify::new());
        let held = std::sync::Arc::clone(&gate);
        let send = tool_fn("send", "Sends", move || {
            let held = std::sync::Arc::clone(&held);
            async move {
                held.notified().await;
                Ok("sent")
            }
        });
        let send = send.with_effect(Effect::SideEffect).with_approval(Approval::Always);
        let stage = Stage::new([Turn::call("send", json!({})), Turn::text("Done.")]);
        let client = Client::new(server(Agent::builder(stage).tool(send)));
        let told = async || {
            let session = client.got("/v1/sessions/s").await;
            session["messages"].as_array().unwrap().last().unwrap()["results"][0].clone()
        };
        let run = client.run("s", "Send.").await;
        client.ended(&run).await;
        assert_eq!(told().await["disposition"], Value::Null, "it waits");
        let asked = client.got("/v1/approvals").await;
        let id = asked["approvals"][0]["approval"]["approvalId"].as_str().unwrap();
        client.post(&format!("/v1/approvals/{id}"), json!({"decision": "approve"})).await;
        let mut body = client.get(&format!("/v1/runs/{run}/events")).await.into_body();
        until(&mut body, "\"running\"").await;
        let running = told().await;
        assert_eq!((&running["name"], &running["disposition"]), (&json!("send"), &Value::Null), "{running}");
        match goes_on {
            true => gate.notify_one(),
            false => drop(client.ask(Method::POST, &format!("/v1/runs/{run}/cancel"), None).await),
        }
        client.ended(&run).await;
        let session = client.got("/v1/sessions/s").await;
        let results =
            session["messages"].as_array().unwrap().iter().find(|message| message["role"] == "tool");
        assert_eq!(results.unwrap()["results"][0]["disposition"], last, "{session}");
    }
}

// C36
#[tokio::test(start_paused = true)]
async fn something_said_meanwhile_waits_or_interrupts() {
    for (when, cancelled) in [("next", false), ("interrupt", true)] {
        let gate = std::sync::Arc::new(tokio::sync::Notify::new());
        let held = std::sync::Arc::clone(&gate);
        let wait = tool_fn("wait", "Waits", move || {
            let held = std::sync::Arc::clone(&held);
            async move {
                held.notified().await;
                Ok("waited")
            }
        })
        .with_effect(Effect::Read);
        let stage = Stage::new([Turn::call("wait", json!({})), Turn::text("Heard.")]);
        let client = Client::new(server(Agent::builder(stage.clone()).tool(wait)));
        let run = client.run("s", "Wait.").await;
        let mut body = client.get(&format!("/v1/runs/{run}/events")).await.into_body();
        until(&mut body, "\"name\":\"wait\"").await;
        let said = json!({"message": "Stop that.", "when": when});
        let response = client.post(&format!("/v1/runs/{run}/messages"), said).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        if !cancelled {
            gate.notify_one();
        }
        client.ended(&run).await;
        let last = stage.requests().pop().unwrap();
        let told = format!("{:?}", last.messages);
        assert!(told.contains("Stop that."), "{told}");
        assert_eq!(told.contains("waited"), !cancelled, "{told}");
    }
}

// C36
#[tokio::test(start_paused = true)]
async fn words_that_a_run_did_not_come_to_read_are_told_at_its_end() {
    let stage = Stage::new([Turn::text("Half").then_hang()]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let run = client.run("s", "Go.").await;
    stage.asked().await;
    let said = json!({"message": "Also the annex.", "when": "next"});
    client.post(&format!("/v1/runs/{run}/messages"), said).await;
    client.ask(Method::POST, &format!("/v1/runs/{run}/cancel"), None).await;
    let end = client.ended(&run).await;
    assert_eq!(end["snapshot"]["end"]["unread"], json!(["Also the annex."]), "{end}");
    // A run that read all that was said tells of none.
    let stage = Stage::new([Turn::text("Done.")]);
    let client = Client::new(server(Agent::builder(stage)));
    let run = client.run("s", "Go.").await;
    assert_eq!(client.ended(&run).await["snapshot"]["end"]["unread"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_by_its_route() {
    let stage = Stage::new([Turn::text("Half").then_hang()]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let run = client.run("s", "Go.").await;
    stage.asked().await;
    let cancelled = client.ask(Method::POST, &format!("/v1/runs/{run}/cancel"), None).await;
    assert_eq!(value(cancelled).await["cancelled"], true);
    stage.hangs_up().await;
    let end = client.ended(&run).await;
    assert_eq!(end["snapshot"]["end"]["reason"], "cancelled");
}

#[tokio::test]
async fn a_document_is_taken_and_given_in_parts() {
    let client = Client::of([]);
    let upload = Request::builder()
        .method("POST")
        .uri("/v1/documents?name=r%C3%A9sum%C3%A9.txt")
        .header(header::CONTENT_TYPE, "text/plain");
    let response = client.send(upload, "0123456789").await;
    assert_eq!(response.status(), StatusCode::CREATED);
    let told = value(response).await;
    // sha256sum of the ten digits
    let hash = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882";
    assert_eq!((&told["sha256"], &told["size"]), (&json!(hash), &json!(10)));
    let path = format!("/v1/documents/{}", told["id"].as_str().unwrap());
    let whole = client.get(&path).await;
    assert_eq!(whole.headers()[header::ETAG], format!("\"{hash}\""));
    assert_eq!(whole.headers()[header::CONTENT_TYPE], "text/plain");
    assert!(whole.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().contains("r%C3%A9sum%C3%A9.txt"));
    assert!(whole.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().starts_with("sandbox"));
    assert_eq!(text(whole).await, "0123456789");
    let ask = |name: &'static str, value: String| {
        client.send(Request::builder().uri(&path).header(name, value), Body::empty())
    };
    let part = ask("range", "bytes=2-4".to_owned()).await;
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(part.headers()[header::CONTENT_RANGE], "bytes 2-4/10");
    assert_eq!(text(part).await, "234");
    assert_eq!(ask("range", "bytes=10-".to_owned()).await.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(ask("if-none-match", format!("\"{hash}\"")).await.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(client.ask(Method::DELETE, &path, None).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(client.get(&path).await.status(), StatusCode::NOT_FOUND);
    let empty = Request::builder().method("POST").uri("/v1/documents");
    assert_eq!(client.send(empty, "").await.status(), StatusCode::BAD_REQUEST);
}

// A page of a stranger that a tool brings must not run in the server's name.
#[tokio::test]
async fn a_document_of_a_session_is_given_to_its_owner_and_runs_no_script() {
    let page = tool_fn("page", "A page", || {
        Ok(Document::new("<html><script>alert(1)</script>").with_file_name("page.html"))
    });
    let stage = Stage::new([Turn::call("page", json!({})), Turn::text("Read.")]);
    let client = Client::new(server(Agent::builder(stage).tool(page)));
    let run = client.run("s", "Read it.").await;
    client.ended(&run).await;
    let session = client.got("/v1/sessions/s").await;
    let results =
        session["messages"].as_array().unwrap().iter().find(|message| message["role"] == "tool").unwrap();
    let document = &results["results"][0]["documents"][0];
    assert_eq!(document["fileName"], "page.html");
    let path = format!("/v1/sessions/s/documents/{}", document["id"].as_str().unwrap());
    let response = client.get(&path).await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/octet-stream");
    assert!(response.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment"));
    assert!(text(response).await.contains("alert"));
    assert_eq!(client.get("/v1/sessions/s/documents/other").await.status(), StatusCode::NOT_FOUND);
}

// A68
#[tokio::test]
async fn tools_are_listed_and_described() {
    let pay = tool_fn("pay", "Pays", || Ok(())).with_approval(Approval::Always);
    let look = tool_fn("look", "Looks", || Ok(())).with_effect(Effect::Read);
    let client = Client::new(server(Agent::builder(Stage::new([])).tool(pay).tool(look)));
    let list = client.got("/v1/tools").await;
    assert_eq!(
        list["tools"][0],
        json!({"name": "pay", "description": "Pays", "effect": "effect", "approval": "always"})
    );
    assert_eq!(list["tools"][1]["effect"], "read");
    let one = client.got("/v1/tools/look").await;
    assert_eq!(one["parameters"]["type"], "object");
    assert_eq!(client.get("/v1/tools/other").await.status(), StatusCode::NOT_FOUND);
}

// A21: a tool passes on the headers of whoever began the run, or of whoever went on with it.
#[tokio::test(start_paused = true)]
async fn tools_pass_on_headers_of_the_request_that_a_run_answers() {
    let echo = |headers: HeaderMap| async move {
        let tenant = headers.get("x-tenant").map(|tenant| tenant.to_str().unwrap().to_owned());
        axum::Json(json!({"tenant": tenant, "other": headers.contains_key("x-other")}))
    };
    let echo = axum::Router::new().route("/echo", axum::routing::any(echo));
    let tools = HttpTools::new("echo", "http://echo.internal").unwrap().with_service(echo);
    let tools = tools.with_forwarded_headers(["x-tenant"]).unwrap();
    let tools = tools.with_endpoint(Endpoint::get("echo.look", "/echo").with_description("Looks")).unwrap();
    let tools = tools.with_endpoint(Endpoint::post("echo.send", "/echo").with_description("Sends")).unwrap();
    let policy = |proposal: &Proposal<'_>| match proposal.call.name.as_str() {
        "echo.send" => Verdict::Ask(Ask::because("it sends")),
        _ => Verdict::Run,
    };
    let stage = Stage::new([
        Turn::call("echo.look", json!({})),
        Turn::call("echo.send", json!({})),
        Turn::text("Done."),
    ]);
    let server = server(Agent::builder(stage).handler(tools).approval_policy(policy));
    let client =
        Client::new(server.context(|headers, options| options.with_context(CallerHeaders::of(headers))));
    let asked = async |path: &str, tenant: &str, body: Value| {
        let request = Request::builder().method("POST").uri(path).header("x-tenant", tenant);
        let request = request.header("x-other", "o").header("content-type", "application/json");
        client.send(request, body.to_string()).await
    };
    let run = asked("/v1/sessions/s/runs", "one", json!({"message": "Look, and send."})).await;
    let run = value(run).await["runId"].as_str().unwrap().to_owned();
    client.ended(&run).await;
    let approvals = client.got("/v1/approvals").await;
    let id = approvals["approvals"][0]["approval"]["approvalId"].as_str().unwrap();
    let decided = asked(&format!("/v1/approvals/{id}"), "two", json!({"decision": "approve"})).await;
    assert_eq!(decided.status(), StatusCode::OK);
    client.ended(&run).await;
    let session = client.got("/v1/sessions/s").await;
    let results = session["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let told: Vec<&Value> = results.map(|message| &message["results"][0]["content"]).collect();
    assert_eq!(told, [&json!({"tenant": "one", "other": false}), &json!({"tenant": "two", "other": false})]);
}
