//! Chat Completions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{Agent, tool_fn};
use attache_core::{Document, ErrorKind, Message, Usage, UserPart};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, named, server, text, value};

fn asked(stream: bool, more: Value) -> Value {
    let mut body = json!({
        "model": "papers",
        "stream": stream,
        "messages": [{"role": "user", "content": "What is the rent?"}],
    });
    let Value::Object(more) = more else { panic!("{more}") };
    for (name, value) in more {
        body[name] = value;
    }
    body
}

fn weather() -> Value {
    json!([{"type": "function", "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }}])
}

// A64
#[tokio::test]
async fn an_answer_whole_and_streamed() {
    let turn =
        || Turn::text("EUR 900 a month.").and_thinking("hm").costing(Usage::new(20, 7).with_cached_tokens(4));
    let client = Client::of([turn(), turn(), turn()]);
    let whole = client.chat(asked(false, json!({}))).await;
    assert_eq!(whole.headers()["content-type"], "application/json");
    insta::assert_snapshot!("chat_whole", named(&text(whole).await));
    let more =
        json!({"stream_options": {"include_usage": true}, "metadata": {"a": "b"}, "user": "u", "unknown": 1});
    insta::assert_snapshot!("chat_streamed", named(&text(client.chat(asked(true, more)).await).await));
    let plain = text(client.chat(asked(true, json!({}))).await).await;
    assert!(!plain.contains("usage") && plain.ends_with("data: [DONE]\n\n"), "{plain}");
}

// A87
#[tokio::test]
async fn an_answer_that_is_taken_whole_is_asked_for_whole() {
    let stage = Stage::new(["whole", "streamed", "whole there", "streamed there"].map(Turn::text));
    let client = Client::new(server(Agent::builder(stage.clone())));
    let there = json!({"attache": {"session": "one"}});
    for (stream, more) in [(false, json!({})), (true, json!({})), (false, there.clone()), (true, there)] {
        text(client.chat(asked(stream, more)).await).await;
    }
    let streams: Vec<bool> = stage.requests().iter().map(|request| request.streaming).collect();
    // Whoever else looks on in a session is told the text at once.
    assert_eq!(streams, [false, true, false, true]);
}

// A64
#[tokio::test]
async fn a_client_runs_its_own_tools_and_goes_on() {
    let stage = Stage::new([
        Turn::text("Let me see.")
            .and_call("weather", json!({"city": "Berlin"}))
            .and_call("weather", json!({"city": "Rom"})),
        Turn::text("Sunny."),
        Turn::call("weather", json!({"city": "Berlin"})),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone()).system("You know the weather.")));
    let first = text(client.chat(asked(true, json!({"tools": weather()}))).await).await;
    insta::assert_snapshot!("chat_calls_streamed", named(&first));
    let deltas = data(&first);
    let ids: Vec<&str> = deltas
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0]["id"].as_str())
        .collect();
    assert_eq!(ids.len(), 2);
    let call = |id: &str, city: &str| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": json!({"city": city}).to_string()}});
    let messages = json!([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "What is the rent?"},
        {"role": "assistant", "content": null, "tool_calls": [call(ids[0], "Berlin"), call(ids[1], "Rom")]},
        {"role": "tool", "tool_call_id": ids[1], "content": "rain"},
        {"role": "tool", "tool_call_id": ids[0], "content": [{"type": "text", "text": "sun"}]},
    ]);
    let more = json!({"tools": weather(), "messages": messages});
    let answer = value(client.chat(asked(false, more)).await).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Sunny.");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    // The model reads both results in call order, behind the agent's instructions and the client's.
    let requests = stage.requests();
    let seen: Vec<String> = requests[1]
        .messages
        .iter()
        .map(|message| match &**message {
            Message::System(message) => message.parts.iter().map(|part| part.text()).collect(),
            Message::ToolResults(message) => message
                .results
                .iter()
                .map(|result| result.tree.model_text().into_owned())
                .collect::<Vec<_>>()
                .join("|"),
            Message::Assistant(message) => format!("{} calls", message.tool_calls().count()),
            _ => "user".to_owned(),
        })
        .collect();
    assert_eq!(seen, ["You know the weather.\n\nBe brief.", "user", "2 calls", "sun|rain"]);
    let whole = text(client.chat(asked(false, json!({"tools": weather()}))).await).await;
    insta::assert_snapshot!("chat_calls_whole", named(&whole));
}

// The work of the agent's own tools while the client's call waited is not lost, and not done again.
#[tokio::test]
async fn a_run_whose_own_tools_worked_is_kept_until_the_client_has_answered() {
    let booked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&booked);
    let book = tool_fn("book", "Books a table", move || {
        Ok(format!("table {}", counter.fetch_add(1, Ordering::SeqCst) + 1))
    });
    let stage = Stage::new([
        Turn::call("book", json!({})).and_call("weather", json!({"city": "Berlin"})),
        Turn::text("Table 1, and sun."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(book)));
    let first = value(client.chat(asked(false, json!({"tools": weather()}))).await).await;
    let message = first["choices"][0]["message"].clone();
    let calls = message["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1, "the agent's own call is not the client's: {first}");
    assert_eq!(calls[0]["function"]["name"], "weather");
    let messages = json!([
        {"role": "user", "content": "What is the rent?"},
        message,
        {"role": "tool", "tool_call_id": calls[0]["id"], "content": "sun"},
    ]);
    let more = json!({"tools": weather(), "messages": messages});
    let answer = value(client.chat(asked(false, more)).await).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Table 1, and sun.");
    assert_eq!(booked.load(Ordering::SeqCst), 1);
    let last = stage.requests().pop().unwrap();
    let Message::ToolResults(results) = &**last.messages.last().unwrap() else { panic!("{last:?}") };
    let read: Vec<_> = results.results.iter().map(|result| result.tree.model_text().into_owned()).collect();
    assert_eq!(read, ["table 1", "sun"]);
}

// A64, A38
#[tokio::test]
async fn in_a_session_only_what_is_new_is_taken() {
    let stage = Stage::new([
        Turn::text("Hello, Ann."),
        Turn::text("Your name is Ann."),
        Turn::call("weather", json!({"city": "Berlin"})),
        Turn::text("Sunny."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let first = client.chat(asked(false, json!({"attache": {"session": ""}}))).await;
    let session = first.headers()["x-attache-session"].to_str().unwrap().to_owned();
    assert_eq!(session.len(), 36, "a random one");
    let messages = json!([{"role": "user", "content": "forged"}, {"role": "assistant", "content": "forged"},
        {"role": "user", "content": "Who am I?"}]);
    let more = json!({"metadata": {"session": session}, "messages": messages});
    let second = value(client.chat(asked(false, more)).await).await;
    assert_eq!(second["choices"][0]["message"]["content"], "Your name is Ann.");
    assert_eq!(stage.requests()[1].messages.len(), 3, "the session's history, and the question");
    // A call of the client pauses the run of the session, and the result goes on with it.
    let more = json!({"metadata": {"session": session}, "tools": weather()});
    let third = value(client.chat(asked(false, more)).await).await;
    assert_eq!(third["choices"][0]["finish_reason"], "tool_calls");
    let message = third["choices"][0]["message"].clone();
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sun"});
    let more = json!({"metadata": {"session": session}, "tools": weather(),
        "messages": [{"role": "user", "content": "?"}, message, result]});
    let fourth = value(client.chat(asked(false, more.clone())).await).await;
    assert_eq!(fourth["choices"][0]["message"]["content"], "Sunny.", "{fourth}");
    let again = client.chat(asked(false, more)).await;
    assert_eq!(again.status(), StatusCode::CONFLICT, "it was answered before");
}

// C38: a run that was let go until its client answers has not ended.
#[tokio::test]
async fn a_run_that_waits_for_its_client_is_ended() {
    let stage = Stage::new([Turn::call("weather", json!({"city": "Berlin"})), Turn::text("Never said.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let more = json!({"attache": {"session": "s"}, "tools": weather()});
    let asked = value(client.chat(asked(false, more)).await).await;
    assert_eq!(asked["choices"][0]["finish_reason"], "tool_calls");
    let told = client.got("/v1/sessions/s").await;
    let run = told["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("{told}"));
    let cancel = format!("/v1/runs/{run}/cancel");
    assert_eq!(value(client.post(&cancel, json!({})).await).await["cancelled"], true);
    assert_eq!(client.ended(run).await["snapshot"]["end"]["reason"], "cancelled");
    assert_eq!(value(client.post(&cancel, json!({})).await).await["cancelled"], false, "it has ended");
    assert_eq!(stage.requests().len(), 1);
}

// A64
#[tokio::test]
async fn documents_come_as_files_images_and_addresses() {
    let stage = Stage::new([Turn::text("Seen.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let upload = http::Request::builder()
        .method("POST")
        .uri("/v1/documents?name=rain.csv")
        .header("content-type", "text/plain");
    let upload = value(client.send(upload, "day,rain\n1,0.4\n").await).await;
    assert_eq!((&upload["mediaType"], &upload["fileName"]), (&json!("text/csv"), &json!("rain.csv")));
    let content = json!([
        {"type": "text", "text": "Look."},
        {"type": "file", "file": {"filename": "note.txt", "file_data": "data:text/plain;base64,aGVsbG8="}},
        {"type": "file", "file": {"file_id": upload["id"]}},
    ]);
    let more = json!({"messages": [{"role": "user", "content": content}]});
    let answer = client.chat(asked(false, more)).await;
    assert_eq!(answer.status(), StatusCode::OK, "{}", text(answer).await);
    let requests = stage.requests();
    let Message::User(message) = &**requests[0].messages.last().unwrap() else { panic!() };
    let documents: Vec<&Document> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Document(document) => Some(document),
            _ => None,
        })
        .collect();
    let names: Vec<_> = documents.iter().map(|document| document.file_name()).collect();
    assert_eq!(names, [Some("note.txt"), Some("rain.csv")]);
    let shown: String = message
        .shown()
        .iter()
        .map(|part| match part {
            UserPart::Text(text) => text.text().to_owned(),
            _ => String::new(),
        })
        .collect();
    assert!(shown.contains("hello") && shown.contains("1,0.4"), "the model reads both: {shown}");
    // An upload of somebody else is none.
    let content = json!([{"type": "file", "file": {"file_id": upload["id"]}}]);
    let more = json!({"messages": [{"role": "user", "content": content}]});
    let strange = client.named("bob").chat(asked(false, more)).await;
    assert_eq!(strange.status(), StatusCode::NOT_FOUND);
}

// A64, C30: documents that the model made are parts, as those of users are, and may come back with the history.
#[tokio::test]
async fn documents_that_the_model_made_are_images_and_files_and_may_come_back() {
    let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let sound = Document::from_bytes(&b"RIFF0000WAVE"[..], "audio/wav").with_file_name("word.wav");
    let here = || Turn::text("Here.").making(picture.clone()).making(sound.clone());
    let stage = Stage::new([here(), here(), here(), Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let whole = value(client.chat(asked(false, json!({}))).await).await;
    let message = &whole["choices"][0]["message"];
    let images = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]);
    let data = "data:audio/wav;base64,UklGRjAwMDBXQVZF";
    let files = json!([{"type": "file", "file": {"filename": "word.wav", "file_data": data}}]);
    assert_eq!(
        (&message["content"], &message["images"], &message["files"]),
        (&json!("Here."), &images, &files)
    );
    let streamed = data_of(client.chat(asked(true, json!({}))).await).await;
    let deltas: Vec<&Value> = streamed.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    let with: Vec<_> = deltas.iter().filter(|delta| !delta["images"].is_null()).collect();
    assert_eq!(with.len(), 1, "{streamed:?}");
    assert_eq!((&with[0]["images"], &with[0]["files"]), (&images, &files));
    // A client without a session sends them back with the history.
    let history = json!([
        {"role": "user", "content": "Draw."},
        message,
        {"role": "user", "content": "Once more."},
    ]);
    let told = client.chat(asked(false, json!({"messages": history}))).await;
    assert_eq!(told.status(), StatusCode::OK, "{}", text(told).await);
    let requests = stage.requests();
    let Message::Assistant(before) = &*requests[2].messages[1] else { panic!("{:?}", requests[2].messages) };
    let made: Vec<_> = before.documents().map(|made| made.media_type().essence().to_owned()).collect();
    assert_eq!(made, ["image/png", "audio/wav"]);
    // A session has them: their addresses come back with the history and are left out as the rest of it.
    let linked = Document::external("https://pictures.example/one.png").with_media_type("image/png");
    let stage = Stage::new([Turn::text("Here.").making(linked), Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let with =
        |messages: &Value| asked(false, json!({"messages": messages, "attache": {"session": "drawn"}}));
    let mut history = json!([{"role": "user", "content": "Draw."}]);
    let whole = value(client.chat(with(&history)).await).await;
    let message = &whole["choices"][0]["message"];
    assert!(message["images"][0]["image_url"]["url"].is_string(), "{message}");
    let mut message = message.clone();
    message["images"][0]["image_url"]["url"] = json!("/v1/sessions/drawn/documents/1");
    let more = [message, json!({"role": "user", "content": "Once more."})];
    history.as_array_mut().unwrap().extend(more);
    let told = client.chat(with(&history)).await;
    assert_eq!(told.status(), StatusCode::OK, "{}", text(told).await);
}

async fn data_of(response: axum::response::Response) -> Vec<Value> {
    data(&text(response).await)
}

// A64
#[tokio::test]
async fn errors_have_the_shape_that_clients_know() {
    let long = Stage::new([
        Turn::empty().then_error(ErrorKind::RateLimited),
        Turn::empty().then_error(ErrorKind::ContextTooLong),
        Turn::empty().then_error(ErrorKind::Authentication),
    ]);
    let client = Client::new(server(Agent::builder(long)));
    let mut told = Vec::new();
    for (stream, status) in [(true, 429), (false, 400), (true, 502)] {
        let response = client.chat(asked(stream, json!({}))).await;
        assert_eq!(response.status(), status);
        told.push(text(response).await);
    }
    // After the first byte the status is told already: the stream ends with the error, and does not look complete.
    let half = Stage::new([Turn::text("Half of").then_error(ErrorKind::InvalidRequest)]).held();
    half.let_out(1);
    let other = Client::new(server(Agent::builder(half.clone())));
    let response = other.chat(asked(true, json!({}))).await;
    half.let_out(10);
    told.push(named(&text(response).await));
    let wrong = [
        json!({"model": "nobody"}),
        json!({"model": ""}),
        json!({"messages": []}),
        json!({"messages": [{"role": "assistant", "content": "x"}]}),
        json!({"messages": [{"role": "tool", "tool_call_id": "x", "content": "x"}]}),
        json!({"messages": [{"role": "king", "content": "x"}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]}),
        json!({"messages": 3}),
        json!({"n": 2}),
        json!({"tools": weather(), "tool_choice": "required"}),
        json!({"tools": [{"type": "web_search"}]}),
        json!({"attache": {"unknown": true}}),
    ];
    for more in wrong {
        let response = client.chat(asked(false, more)).await;
        let status = response.status();
        assert!(status.is_client_error(), "{status}");
        told.push(format!("{status} {}", text(response).await));
    }
    insta::assert_snapshot!("chat_errors", told.join("\n"));
}

// A64
#[tokio::test]
async fn events_of_the_run_come_in_a_member_of_their_own_for_those_who_ask() {
    let lease = tool_fn("lease", "The lease", || {
        Ok(("EUR 900", Document::inline("rent: 900").with_file_name("lease.txt")))
    });
    let stage = Stage::new([Turn::call("lease", json!({})), Turn::text("EUR 900.")]);
    let client = Client::new(server(Agent::builder(stage).tool(lease)));
    let request =
        http::Request::builder().method("POST").uri("/v1/chat/completions").header("x-attache-events", "1");
    let told = text(client.send(request, asked(true, json!({})).to_string()).await).await;
    let chunks = data(&told);
    let events: Vec<&str> = chunks.iter().filter_map(|chunk| chunk["attache"]["type"].as_str()).collect();
    for wanted in ["run_started", "tool_started", "tool_finished", "routing", "finished"] {
        assert!(events.contains(&wanted), "{wanted}: {events:?}");
    }
    // The agent's own calls are nobody's to run.
    assert!(chunks.iter().all(|chunk| chunk["choices"][0]["delta"]["tool_calls"].is_null()));
    let finished = chunks.iter().find(|chunk| chunk["attache"]["type"] == "tool_finished").unwrap();
    assert_eq!(finished["attache"]["documents"][0]["fileName"], "lease.txt");
}

// A tool of the client cannot stand in for one of the agent's.
#[tokio::test]
async fn a_client_cannot_shadow_a_tool_of_the_agent() {
    let weather_tool = tool_fn("weather", "Ours", || Ok("ours"));
    let client = Client::new(server(Agent::builder(Stage::new([])).tool(weather_tool)));
    let response = client.chat(asked(false, json!({"tools": weather()}))).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(text(response).await.contains("the agent has a tool of that name"));
}

// A67
#[tokio::test]
async fn agents_are_listed_as_models() {
    let client = Client::of([]);
    let list = client.got("/v1/models").await;
    assert_eq!(list["object"], "list");
    assert_eq!(list["data"][0]["id"], "papers");
    assert_eq!(client.got("/v1/models/papers").await["object"], "model");
    assert_eq!(client.get("/v1/models/other").await.status(), StatusCode::NOT_FOUND);
}

/// An agent whose tool waits for approval.
fn paying(turns: usize) -> Client {
    let pay = attache_agent::tool_fn("pay", "Pays", || Ok("paid"));
    let pay = pay.with_approval(attache_core::Approval::Always);
    let turns = (0..turns).map(|_| Turn::call("pay", json!({})));
    Client::new(server(Agent::builder(Stage::new(turns)).tool(pay)))
}

// A run that nobody can approve is no empty answer that looks whole, in no dialect that has no word for approvals.
#[tokio::test]
async fn without_a_session_a_call_that_needs_approval_is_an_error() {
    let client = paying(6);
    let chat = json!([{"role": "user", "content": "Pay"}]);
    for (path, body, kind) in [
        ("/v1/chat/completions", json!({"model": "papers", "messages": chat}), "invalid_request_error"),
        (
            "/v1/messages",
            json!({"model": "papers", "max_tokens": 9, "messages": chat}),
            "invalid_request_error",
        ),
        (
            "/v1/responses",
            json!({"model": "papers", "store": false, "input": "Pay"}),
            "invalid_request_error",
        ),
    ] {
        let response = client.post(path, body.clone()).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        let told = value(response).await;
        assert_eq!(told["error"]["type"], kind, "{path}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("pay") && message.contains("X-Attache-Session"), "{path}: {message}");
        let mut streamed = body;
        streamed["stream"] = true.into();
        let told = text(client.post(path, streamed).await).await;
        assert!(told.contains("calls need approval and were not run: pay"), "{path}: {told}");
        for whole in ["\"finish_reason\":\"stop\"", "message_stop", "response.completed"] {
            assert!(!told.contains(whole), "{path}: {told}");
        }
    }
}

#[tokio::test]
async fn in_a_session_the_answer_says_what_waits_for_approval() {
    let client = paying(6);
    let chat = json!([{"role": "user", "content": "Pay"}]);
    for (at, (path, body)) in [
        ("/v1/chat/completions", json!({"model": "papers", "messages": chat})),
        ("/v1/messages", json!({"model": "papers", "max_tokens": 9, "messages": chat})),
        ("/v1/responses", json!({"model": "papers", "input": "Pay"})),
    ]
    .into_iter()
    .enumerate()
    {
        for is_streamed in [false, true] {
            let session = format!("s{at}{is_streamed}");
            let mut body = body.clone();
            body["stream"] = is_streamed.into();
            let request = http::Request::builder().method("POST").uri(path);
            let request = request.header("content-type", "application/json");
            let response = client.send(request.header("x-attache-session", &session), body.to_string()).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            let told = text(response).await;
            let open = client.got("/v1/approvals").await["approvals"].as_array().unwrap().clone();
            let own = open.iter().find(|open| open["sessionId"] == session.as_str()).unwrap();
            let approval = own["approval"]["approvalId"].as_str().unwrap();
            let said = format!("[Waits for approval: pay (approval {approval}).");
            assert!(told.contains(&said), "{path}: {told}");
            if path == "/v1/responses" {
                let run = own["runId"].as_str().unwrap();
                assert!(client.got(&format!("/v1/responses/resp_{run}")).await.to_string().contains(&said));
            }
        }
    }
}
