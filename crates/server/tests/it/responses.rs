//! OpenAI's Responses.

use attache_agent::{Agent, tool_fn};
use attache_core::{Document, Message, Usage};
use attache_server::Dialect;
use attache_testkit::Turn;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, named, server, text, value};

fn asked(more: Value) -> Value {
    let mut body = json!({"model": "papers", "input": "What is the rent?"});
    let Value::Object(more) = more else { panic!("{more}") };
    for (name, value) in more {
        body[name] = value;
    }
    body
}

fn weather() -> Value {
    json!([{
        "type": "function", "name": "weather", "description": "The weather of a city", "strict": true,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }])
}

async fn respond(client: &Client, more: Value) -> Value {
    let response = client.post("/v1/responses", asked(more)).await;
    let status = response.status();
    let answer = value(response).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

fn said(answer: &Value) -> String {
    let items = answer["output"].as_array().unwrap().iter();
    items.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

// A36
#[tokio::test]
async fn an_answer_whole_and_streamed() {
    let turn =
        || Turn::text("EUR 900 a month.").and_thinking("hm").costing(Usage::new(20, 7).with_cached_tokens(4));
    let client = Client::new(server(Agent::builder(Stage::new([turn(), turn(), turn()]))).thinking(true));
    let more = json!({"instructions": "Be brief.", "metadata": {"a": "b"}, "unknown": 1});
    insta::assert_snapshot!("responses_whole", named(&respond(&client, more).await.to_string()));
    let cut = respond(&client, json!({"truncation": "auto"})).await;
    assert_eq!(cut["truncation"], "auto", "it is repeated as it was asked for");
    let streamed = client.post("/v1/responses", asked(json!({"stream": true}))).await;
    insta::assert_snapshot!("responses_streamed", named(&text(streamed).await));
}

// A36, C30: an image that the model made is an item of the output, as one of OpenAI's own tool is, and comes back as one.
#[tokio::test]
async fn images_that_the_model_made_are_items() {
    let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let sound = Document::from_bytes(&b"RIFF0000WAVE"[..], "audio/wav").with_file_name("word.wav");
    let here = || Turn::text("Here.").making(picture.clone()).making(sound.clone());
    let stage = Stage::new([here(), here(), Turn::text("Yes."), Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let whole = respond(&client, json!({})).await;
    let [message, image] = &whole["output"].as_array().unwrap()[..] else { panic!("{whole}") };
    assert_eq!((&message["type"], said(&whole).as_str()), (&json!("message"), "Here."));
    let told = |name: &str| image[name].as_str().unwrap();
    assert_eq!(
        (told("type"), told("status"), told("result"), told("output_format")),
        ("image_generation_call", "completed", "iVBORw0KGgo=", "png"),
    );
    // A response that is kept has it, too, although no log holds the content of documents.
    let id = whole["id"].as_str().unwrap();
    assert_eq!(client.got(&format!("/v1/responses/{id}")).await["output"], whole["output"]);
    let streamed = client.post("/v1/responses", asked(json!({"stream": true}))).await;
    let streamed = text(streamed).await;
    insta::assert_snapshot!("responses_image_streamed", named(&streamed));
    // It comes back with the history, or stands for the response that it is an item of.
    let once_more = json!({"role": "user", "content": "Once more."});
    let input = json!([{"role": "user", "content": "Draw."}, message, image, once_more]);
    respond(&client, json!({"input": input, "store": false})).await;
    let item = json!({"type": "item_reference", "id": image["id"]});
    respond(&client, json!({"input": [item, once_more]})).await;
    for request in &stage.requests()[2..] {
        let Message::Assistant(before) = &*request.messages[1] else { panic!("{:?}", request.messages) };
        let made = before.documents().next().unwrap();
        assert_eq!((before.text(), made.media_type().essence()), ("Here.".to_owned(), "image/png"));
    }
    let input = json!([{"type": "image_generation_call", "id": "ig", "status": "completed", "result": "%"}, once_more]);
    let wrong = client.post("/v1/responses", asked(json!({"input": input}))).await;
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
}

// A36
#[tokio::test]
async fn a_client_runs_its_own_tools_and_a_response_goes_on_with_another() {
    let lease = tool_fn("lease", "The lease", |_: Value| async {
        Ok::<_, attache_core::ToolError>(Document::inline("The rent is 900.").with_file_name("lease.txt"))
    });
    let stage = Stage::new([
        Turn::text("Let me see.").and_call("lease", json!({})),
        Turn::call("weather", json!({"city": "Berlin"})),
        Turn::text("Sunny."),
        Turn::text("Yes."),
        Turn::text("No."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(lease)));
    let streamed = client.post("/v1/responses", asked(json!({"stream": true, "tools": weather()}))).await;
    let first = text(streamed).await;
    insta::assert_snapshot!("responses_calls_streamed", named(&first));
    let events = data(&first);
    // Numbers count from 0, and the last event has the whole response.
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], at, "{event}");
    }
    let first = &events.last().unwrap()["response"];
    let call = &first["output"][1];
    assert_eq!((call["type"].as_str(), call["name"].as_str()), (Some("function_call"), Some("weather")));
    let output = json!([{"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}]);
    let more = json!({"input": output, "previous_response_id": first["id"], "tools": weather()});
    let second = respond(&client, more.clone()).await;
    assert_eq!(said(&second), "Sunny.");
    assert_eq!(second["previous_response_id"], first["id"]);
    assert_ne!(second["id"], first["id"]);
    // A result is taken once.
    let again = client.post("/v1/responses", asked(more)).await;
    assert_eq!(again.status(), StatusCode::CONFLICT);
    // Both are kept, each as it was told.
    let read = |id: &Value| format!("/v1/responses/{}", id.as_str().unwrap());
    for told in [first, &second] {
        let kept = client.got(&read(&told["id"])).await;
        assert_eq!(said(&kept), said(told));
        assert_eq!(kept["output"].as_array().unwrap().len(), told["output"].as_array().unwrap().len());
        assert_eq!(kept["status"], "completed");
        let other = client.named("bob").get(&read(&told["id"])).await;
        assert_eq!(other.status(), StatusCode::NOT_FOUND);
    }
    // Behind the last one the session goes on; behind an earlier one a fork of it.
    let third = respond(&client, json!({"input": "Sure?", "previous_response_id": second["id"]})).await;
    assert_eq!(said(&third), "Yes.");
    let fork = respond(&client, json!({"input": "Really?", "previous_response_id": second["id"]})).await;
    assert_eq!(said(&fork), "No.");
    let requests = stage.requests();
    let users = |at: usize| {
        let messages = requests[at].messages.iter();
        messages.filter(|message| matches!(&***message, Message::User(_))).count()
    };
    assert_eq!((users(3), users(4)), (2, 2), "the fork knows nothing of the third");
    let unknown = client.post("/v1/responses", asked(json!({"previous_response_id": "resp_x.y"}))).await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
}

// A36
#[tokio::test]
async fn a_client_that_keeps_the_conversation_itself() {
    let stage = Stage::new([
        Turn::call("weather", json!({"city": "Berlin"})),
        Turn::text("Sunny."),
        Turn::text("Still."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let upload = http::Request::builder().method("POST").uri("/v1/documents?name=c.txt");
    let upload = value(client.send(upload, "Call me.").await).await;
    let user = json!({"role": "user", "content": [
        {"type": "input_text", "text": "Look"},
        {"type": "input_file", "filename": "a.csv", "file_data": "data:text/csv;base64,YSxiCjEsMgo="},
        {"type": "input_file", "file_id": upload["id"]},
    ]});
    let first = respond(&client, json!({"input": [user], "tools": weather(), "store": false})).await;
    assert_eq!(client.get(&format!("/v1/responses/{}", first["id"].as_str().unwrap())).await.status(), 404);
    let call = first["output"][0].clone();
    let output = json!({"type": "function_call_output", "call_id": call["call_id"], "output": [
        {"type": "input_text", "text": "sun"},
        {"type": "input_file", "filename": "b.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
    ]});
    let items = json!([user, {"type": "reasoning", "id": "rs_1", "summary": []}, call, output]);
    let second = respond(&client, json!({"input": items, "tools": weather(), "store": false})).await;
    assert_eq!(said(&second), "Sunny.");
    let requests = stage.requests();
    let seen = format!("{:?}", requests[1].messages);
    for wanted in ["a.csv", "c.txt", "b.txt", "sun"] {
        assert!(seen.contains(wanted), "{wanted}: {seen}");
    }
    let items = json!([
        {"type": "message", "role": "user", "content": "Hi"},
        second["output"][0],
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "And now?"},
    ]);
    assert_eq!(said(&respond(&client, json!({"input": items})).await), "Still.");
}

// A36
#[tokio::test]
async fn a_response_in_the_background_is_watched_cancelled_and_forgotten() {
    let stage = Stage::new([Turn::text("One two three."), Turn::text("Never.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let begun = respond(&client, json!({"background": true})).await;
    assert_eq!(begun["status"], "in_progress");
    let path = format!("/v1/responses/{}", begun["id"].as_str().unwrap());
    assert_eq!(client.got(&path).await["status"], "in_progress");
    stage.let_out(100);
    let all = data(&text(client.get(&format!("{path}?stream=true")).await).await);
    assert_eq!(all.last().unwrap()["type"], "response.completed");
    let rest = data(&text(client.get(&format!("{path}?stream=true&starting_after=3")).await).await);
    assert_eq!(rest[..], all[4..]);
    assert_eq!(said(&client.got(&path).await), "One two three.");
    let gone = client.ask(Method::DELETE, &path, None).await;
    assert_eq!(value(gone).await["deleted"], true);
    assert_eq!(client.get(&path).await.status(), StatusCode::NOT_FOUND);

    let stage = Stage::new([Turn::text("Never.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let begun = respond(&client, json!({"background": true})).await;
    let path = format!("/v1/responses/{}", begun["id"].as_str().unwrap());
    stage.asked().await;
    let cancelled = client.post(&format!("{path}/cancel"), json!({})).await;
    assert_eq!(value(cancelled).await["status"], "cancelled");
    stage.hangs_up().await;
    assert_eq!(client.got(&path).await["status"], "cancelled");
}

// A36
#[tokio::test]
async fn errors_have_the_shape_that_clients_know() {
    let client = Client::new(server(Agent::builder(Stage::new([]))));
    let mut told = Vec::new();
    for more in [
        json!({"model": "nobody"}),
        json!({"model": ""}),
        json!({"input": []}),
        json!({"input": [{"type": "web_search_call", "id": "x"}]}),
        json!({"input": [{"role": "king", "content": "x"}]}),
        json!({"input": [{"type": "function_call_output", "output": "x"}]}),
        json!({"tools": [{"type": "web_search"}]}),
        json!({"tool_choice": "required"}),
        json!({"prompt": {"id": "p"}}),
        json!({"previous_response_id": "resp_x", "conversation": "y"}),
        json!({"background": true, "store": false}),
        json!({"text": {"format": {"type": "xml"}}}),
    ] {
        let response = client.post("/v1/responses", asked(more)).await;
        told.push(format!("{} {}", response.status(), text(response).await));
    }
    insta::assert_snapshot!("responses_errors", told.join("\n"));
    let off = server(Agent::builder(Stage::new([]))).dialect(Dialect::Responses, false);
    let response = Client::new(off).post("/v1/responses", asked(json!({}))).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
}

// A client that keeps only the ids of items, as the AI SDK does, goes on in the session that has them.
#[tokio::test]
async fn a_reference_to_an_item_goes_on_behind_its_response() {
    let stage = Stage::new([Turn::text("One."), Turn::text("Two."), Turn::text("Three.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let user = |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    let first =
        value(client.post("/v1/responses", json!({"model": "papers", "input": [user("First?")]})).await)
            .await;
    let item = &first["output"][0]["id"];
    let input = json!([user("First?"), {"type": "item_reference", "id": item}, user("Second?")]);
    let second = client.post("/v1/responses", json!({"model": "papers", "input": input})).await;
    assert_eq!(second.status(), StatusCode::OK);
    let second = value(second).await;
    assert_eq!(second["previous_response_id"], first["id"]);
    let seen = format!("{:?}", stage.requests()[1].messages);
    assert_eq!((seen.matches("First?").count(), seen.matches("One.").count()), (1, 1), "{seen}");
    assert!(seen.contains("Second?"), "{seen}");
    for id in ["msg_", "msg_x", "fc_none.0123_0", "other_1_2", ""] {
        let input = json!([{"type": "item_reference", "id": id}, user("Third?")]);
        let response = client.post("/v1/responses", json!({"model": "papers", "input": input})).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{id}");
    }
    let input = json!([{"type": "item_reference", "id": item}, user("Mine?")]);
    let theirs = client.named("bob").post("/v1/responses", json!({"model": "papers", "input": input})).await;
    assert_eq!(theirs.status(), StatusCode::NOT_FOUND);
}

// A client of a stream that was cut comes back once no process has its events.
#[tokio::test(start_paused = true)]
async fn the_stream_of_a_response_of_long_ago_is_told_by_its_log() {
    let client = Client::of([Turn::text("Berlin.")]);
    let body = json!({"model": "papers", "input": "What is the capital?"});
    let id = value(client.post("/v1/responses", body).await).await["id"].as_str().unwrap().to_owned();
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    let path = format!("/v1/responses/{id}?stream=true");
    let response = client.get(&path).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let all = data(&text(response).await);
    let numbers: Vec<u64> = all.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..all.len() as u64).collect::<Vec<_>>());
    assert_eq!(all[0]["type"], "response.created");
    assert!(
        all.iter().any(|event| event["type"] == "response.output_text.delta" && event["delta"] == "Berlin.")
    );
    // The number is one of a drive that said it in more pieces: the end has all.
    for after in [3, 500] {
        let rest = data(&text(client.get(&format!("{path}&starting_after={after}")).await).await);
        assert!(rest.iter().all(|event| event["sequence_number"].as_u64().unwrap() > after), "{rest:?}");
        let last = rest.last().unwrap();
        assert_eq!(last["type"], "response.completed");
        assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Berlin.");
    }
    assert_eq!(client.get("/v1/responses/resp_s.nothing?stream=true").await.status(), StatusCode::NOT_FOUND);
}

// A response that another process works on is neither cancelled nor complete.
#[tokio::test(start_paused = true)]
async fn a_response_that_nobody_here_drives_is_in_progress_until_it_has_ended() {
    use attache_agent::{RunInput, SessionStore, Sessions, tool_fn};
    use std::sync::Arc;
    let store: Arc<dyn SessionStore> = Arc::new(attache_agent::MemorySessions::new());
    let sessions = |turns: Vec<Turn>| {
        let look = tool_fn("look", "", || Ok("seen"));
        let agent = Agent::builder(Stage::new(turns)).tool(look).build().unwrap();
        Sessions::new(agent, Arc::clone(&store)).with_name("papers")
    };
    let elsewhere = sessions(vec![Turn::text("I look.").and_call("look", json!({})), Turn::text("Berlin.")]);
    let session = elsewhere.open("ann", Some("s")).await.unwrap();
    let mut run = session.run(RunInput::from("Go.").with_run_id("s.0123456789ab"));
    let client =
        Client::new(crate::common::trusting(attache_server::Server::new("papers", sessions(vec![]))));
    let path = "/v1/responses/resp_s.0123456789ab";
    let mut is_called = false;
    while let Some(event) = run.next().await {
        use attache_agent::EventKind;
        if matches!(event.kind, EventKind::ToolCallsRequested { .. } | EventKind::ToolFinished { .. }) {
            let told = client.got(path).await;
            assert_eq!(told["status"], "in_progress", "{told}");
            assert_eq!(
                told["output"].as_array().unwrap().len(),
                1,
                "a call of the agent's is none of the client's: {told}"
            );
            is_called = true;
        }
        if matches!(event.kind, EventKind::ToolFinished { .. }) {
            let stream = client.get(&format!("{path}?stream=true")).await;
            assert_eq!(stream.status(), StatusCode::OK);
            while run.next().await.is_some() {}
            let told = data(&text(stream).await);
            let last = told.last().unwrap();
            assert_eq!(last["type"], "response.completed");
            assert_eq!(last["response"]["output"][0]["content"][0]["text"], "I look.\n\nBerlin.");
        }
    }
    assert!(is_called);
    assert_eq!(client.got(path).await["status"], "completed");
}

// A36: each response is told as it is, also while a later answer of its run is under way, and there are no others.
#[tokio::test(start_paused = true)]
async fn a_response_is_told_while_the_next_answer_of_its_run_is_under_way() {
    let stage = Stage::new([
        Turn::text("Let me see.").and_call("weather", json!({"city": "Berlin"})),
        Turn::text("Sunny."),
    ]);
    let stage = stage.held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    stage.let_out(100);
    let first = respond(&client, json!({"tools": weather()})).await;
    stage.drain();
    let id = first["id"].as_str().unwrap();
    let path = |number: &str| format!("/v1/responses/{id}{number}");
    assert_eq!(client.get(&path("~1")).await.status(), StatusCode::NOT_FOUND, "nobody has answered the call");
    let output =
        json!([{"type": "function_call_output", "call_id": first["output"][1]["call_id"], "output": "sun"}]);
    for (number, input) in [("~4294967295", output.clone()), ("~7", json!("And now?"))] {
        let more = json!({"input": input, "previous_response_id": format!("{id}{number}")});
        let response = client.post("/v1/responses", asked(more)).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{number}");
    }
    let more = json!({"input": output, "previous_response_id": id, "background": true, "tools": weather()});
    let second = respond(&client, more).await;
    assert_eq!(second["id"], format!("{id}~1"));
    let kept = client.got(&path("")).await;
    assert_eq!((&kept["status"], said(&kept).as_str()), (&json!("completed"), "Let me see."), "{kept}");
    assert_eq!(kept["output"][1]["type"], "function_call", "{kept}");
    let streamed = data(&text(client.get(&path("?stream=true")).await).await);
    assert_eq!(said(&streamed.last().unwrap()["response"]), "Let me see.");
    assert_eq!(client.got(&path("~1")).await["status"], "in_progress");
    assert_eq!(client.get(&path("~2")).await.status(), StatusCode::NOT_FOUND);
    let cancelled = value(client.post(&path("~1/cancel"), json!({})).await).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
}

// A36: whatever the user says beside a result, the answer before it stays, and the next one has the next number.
#[tokio::test]
async fn a_response_stays_where_the_user_says_something_beside_a_result() {
    let calls = |city: &str| Turn::text("Let me see.").and_call("weather", json!({"city": city}));
    let stage = Stage::new([calls("Berlin"), calls("Paris"), Turn::text("Sunny."), Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage)));
    let mut told = vec![respond(&client, json!({"tools": weather()})).await];
    for text in ["And in Paris?", "Which is warmer?"] {
        let before = told.last().unwrap();
        let call = &before["output"][1]["call_id"];
        let result = json!({"type": "function_call_output", "call_id": call, "output": "sun"});
        let input = json!([result, {"role": "user", "content": text}]);
        let more = json!({"input": input, "previous_response_id": before["id"], "tools": weather()});
        told.push(respond(&client, more).await);
    }
    let first = told[0]["id"].as_str().unwrap();
    for (number, words) in [("", "Let me see."), ("~1", "Let me see."), ("~2", "Sunny.")].iter().enumerate() {
        let (suffix, words) = *words;
        assert_eq!(told[number]["id"], format!("{first}{suffix}"));
        let kept = client.got(&format!("/v1/responses/{first}{suffix}")).await;
        assert_eq!((said(&kept).as_str(), &kept["status"]), (words, &json!("completed")), "{kept}");
    }
    let last = &told[2]["id"];
    assert_eq!(
        said(&respond(&client, json!({"input": "Sure?", "previous_response_id": last})).await),
        "Yes."
    );
}

// Two messages of the model behind each other are two replies, as in the other dialects.
#[tokio::test]
async fn messages_of_the_model_that_follow_each_other_are_not_joined() {
    let stage = Stage::new([Turn::text("Yes.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let reply = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let input = json!([
        {"role": "user", "content": "What is the rent?"},
        reply("Let me see."),
        reply("It is 900."),
        {"role": "user", "content": "Sure?"},
    ]);
    respond(&client, json!({"input": input})).await;
    let requests = stage.requests();
    let replies = requests[0].messages.iter().filter_map(|message| match &**message {
        Message::Assistant(reply) => Some(reply.text()),
        _ => None,
    });
    assert_eq!(replies.collect::<Vec<_>>(), ["Let me see.", "It is 900."]);
}

// A message behind a picture is one of its own, and begins with its own words.
#[tokio::test]
async fn a_message_behind_a_picture_begins_with_its_words() {
    let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let here = Turn::text("Here.").making(picture).and_call("look", json!({}));
    let look = tool_fn("look", "Looks", || Ok("seen"));
    let client = Client::new(server(Agent::builder(Stage::new([here, Turn::text("Yes.")])).tool(look)));
    let told = respond(&client, json!({})).await;
    let kept = client.got(&format!("/v1/responses/{}", told["id"].as_str().unwrap())).await;
    for told in [told, kept] {
        let items = told["output"].as_array().unwrap().iter();
        let items: Vec<_> = items.map(|item| item["content"][0]["text"].as_str().unwrap_or("-")).collect();
        assert_eq!(items, ["Here.", "-", "Yes."], "{told}");
    }
}
