//! The command as a person or a script uses it.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use attache_conformance::{MockProvider, Reply};
use attache_core::{Conversation, Document, Message, UserMessage, UserPart};
use serde_json::{Value, json};

use crate::common::{attache, run, text, with_input};

const QUESTION: &str = "What is the total of the invoice, and when is it due?";

// The first thing that a newcomer does
#[test]
fn asks_over_a_folder_without_key_and_network() {
    let output = run(&["ask", QUESTION, "--files", "docs/examples/inbox"]);
    let (answer, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}");
    for fact in ["EUR 20,904.97", "17 May 2026", "invoice-2026-0417.pdf"] {
        assert!(answer.contains(fact), "{fact} is missing: {answer}");
    }
    assert!(told.starts_with("offline/extractive is not a language model"), "{told}");
    assert!(told.contains("→ list_files") && told.contains("→ read_file"), "{told}");
    assert!(
        !answer.contains("→") && !answer.contains("list_files"),
        "stdout holds the answer alone: {answer}"
    );
    assert_eq!(
        answer,
        text(&run(&["ask", QUESTION, "--files", "docs/examples/inbox"]).stdout),
        "deterministic"
    );
}

#[test]
fn works_on_any_folder_and_does_not_invent() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rents.csv"), "tenant,rent\nHarbour Bakery,1200\nQuay Books,900\n")
        .unwrap();
    std::fs::write(folder.path().join("notes.md"), "# Notes\n\nThe caretaker is reached at extension 42.\n")
        .unwrap();
    let files = folder.path().to_str().unwrap();
    let rent = text(&run(&["ask", "What is the rent of Quay Books?", "--files", files]).stdout);
    assert!(rent.contains("900") && rent.contains("rents.csv"), "{rent}");
    let caretaker = text(&run(&["ask", "How is the caretaker reached?", "--files", files]).stdout);
    assert!(caretaker.contains("extension 42") && caretaker.contains("notes.md"), "{caretaker}");
    let nothing = text(&run(&["ask", "Who painted the ceiling?", "--files", files]).stdout);
    assert!(nothing.contains("found nothing"), "{nothing}");
}

#[test]
fn events_as_json_lines() {
    let output = run(&["ask", QUESTION, "--files", "docs/examples/inbox", "--json"]);
    let events: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[0], "run_started");
    assert_eq!(*kinds.last().unwrap(), "finished");
    assert_eq!(kinds.iter().filter(|kind| **kind == "finished").count(), 1);
    for kind in ["tool_started", "tool_finished", "documents_routed", "content"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    let last = events.last().unwrap();
    assert_eq!(last["reason"], "answer");
    assert!(last["text"].as_str().unwrap().contains("20,904.97"));
    let routed = events.iter().find(|event| event["type"] == "documents_routed").unwrap();
    assert!(routed["report"].as_array().unwrap().iter().any(|row| row["outcome"] == "converted"));
}

#[test]
fn says_what_is_missing_and_what_to_do() {
    let cases: [(&[&str], i32, &str); 7] = [
        (&["ask", "x", "--model", "anthropic/claude-sonnet-4-5"], 3, "ANTHROPIC_API_KEY"),
        (&["ask", "x", "--model", "openai-chat/gpt-4o"], 3, "OPENAI_API_KEY"),
        (&["ask", "x", "--model", "antropic/claude"], 3, "did you mean anthropic/claude"),
        (&["ask", "x", "-m", "gpt-4o"], 3, "or openai-chat/gpt-4o?"),
        (&["ask", "x", "-m", "offline/foo"], 3, "the one model is offline/extractive"),
        (&["ask", "x", "--files", "/no/such/folder"], 3, "/no/such/folder"),
        (&["ask", "x", "--fils", "."], 2, "--files"),
    ];
    for (arguments, code, word) in cases {
        let output = run(arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(word), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn wire_prints_the_request_and_what_became_of_the_documents() {
    let example = run(&["wire", "--example"]).stdout;
    for (model, url, outcome) in [
        ("openai-chat/gpt-4o", "https://api.openai.com/v1/chat/completions", "synthetic"),
        ("anthropic/claude-sonnet-4-5", "https://api.anthropic.com/v1/messages", "native"),
    ] {
        let output = with_input(&["wire", "--model", model, "--report", "--stream"], &example);
        let request: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((request["method"].as_str(), request["url"].as_str()), (Some("POST"), Some(url)));
        assert_eq!(request["body"]["stream"], true);
        assert!(request["headers"].to_string().contains("***"), "{}", request["headers"]);
        let report = request["report"].as_array().unwrap();
        assert_eq!(report.len(), 2);
        assert!(report.iter().all(|row| row["outcome"] == outcome), "{report:?}");
        for name in ["document_id", "tool_name", "tool_call_id", "media_type", "place", "outcome", "reason"] {
            assert!(report[0].get(name).is_some(), "{name}");
        }
        let plain = with_input(&["wire", "--model", model], &example);
        let plain: Value = serde_json::from_slice(&plain.stdout).unwrap();
        assert!(
            plain.get("report").is_none() && plain["body"].get("stream").is_none_or(|stream| stream == false)
        );
    }
    let broken = with_input(&["wire", "--model", "openai-chat/gpt-4o"], b"{");
    assert_eq!(broken.status.code(), Some(1));
    assert!(text(&broken.stderr).contains("not a conversation"));
}

// documents.md 9.3: nothing is fetched unless asked for, and then with guards.
#[test]
fn addresses_are_fetched_on_request_and_with_guards() {
    let far = Document::external("http://127.0.0.1/a.pdf?sig=canary");
    let question = Message::User(UserMessage::new([UserPart::text("What is it?"), far.into()]));
    let input = Conversation::new([question.shared()]).to_json().unwrap();
    for (arguments, why) in [(&["--report"][..], "not fetched"), (&["--report", "--fetch"], "not public")] {
        let arguments = [&["wire", "--model", "anthropic/claude-sonnet-4-5"], arguments].concat();
        let output = with_input(&arguments, input.as_bytes());
        let told = text(&output.stderr);
        assert!(!output.status.success() && told.contains(why) && !told.contains("canary"), "{told}");
    }
    let output = run(&["ask", "What is it?", "--json", "-a", "http://169.254.169.254/a.pdf?sig=canary"]);
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(!output.status.success() && told.contains("not public") && !told.contains("canary"), "{told}");
}

#[test]
fn replay_tells_what_was_recorded_whatever_the_chunks() {
    let file = "tests/fixtures/cassettes/anthropic/rig_anthropic_multi_turn_streaming_multi_turn_streaming_tools_93e6.json";
    let whole = run(&["replay", file]);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    let lines: Vec<Value> =
        text(&whole.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["tool_calls"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&lines[0]["finish_reason"], &lines[0]["raw_finish_reason"]),
        (&json!("tool_calls"), &json!("tool_use"))
    );
    assert_eq!(lines[0]["usage"]["input_tokens"], 1001);
    for seed in ["1", "2", "3"] {
        assert_eq!(run(&["replay", file, "--chunk-seed", seed]).stdout, whole.stdout, "seed {seed}");
    }
    let none = run(&["replay", "Cargo.toml"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("Cargo.toml"));
}

// openai.md B.8: an answer that is made in the background is streamed by a GET, from where one left off
#[test]
fn replay_reads_a_background_answer_whose_stream_is_taken_up_again() {
    let item = json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "annotations": [], "text": "Hello there."}]});
    let done = json!({"type": "response.completed", "sequence_number": 9, "response": {"id": "resp_1",
        "object": "response", "status": "completed", "background": true, "model": "gpt-5.1", "output": [item],
        "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}}});
    let delta = json!({"type": "response.output_text.delta", "sequence_number": 7, "item_id": "msg_1",
        "output_index": 0, "content_index": 0, "delta": "there."});
    let events = format!(
        "event: response.output_text.delta\ndata: {delta}\n\nevent: response.completed\ndata: {done}\n\n"
    );
    let interaction = |uri: &str| {
        json!({"request": {"method": "GET", "uri": uri, "headers": {}, "body": null},
            "response": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body_text": events}})
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("background.json");
    let streamed = "https://api.openai.com/v1/responses/resp_1?starting_after=6&stream=true";
    // The list of its input is no answer.
    let others = "https://api.openai.com/v1/responses/resp_1/input_items?stream=true";
    let recorded = json!({"interactions": [interaction(streamed), interaction(others)]});
    std::fs::write(&file, recorded.to_string()).unwrap();
    let output = run(&["replay", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[1]["kind"], "other", "{lines:?}");
    assert_eq!((&lines[0]["api"], &lines[0]["text"]), (&json!("openai-responses"), &json!("Hello there.")));
    assert_eq!(lines[0]["usage"]["output_tokens"], 4);
    // A reply that is cut, or none at all, was not understood; one that refuses was.
    for (body, kind, code) in [
        (&events[..events.len() / 2], "stream_cut", 1),
        ("data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"down\"}\n\n", "error", 0),
    ] {
        let mut cut = interaction(streamed);
        cut["response"]["body_text"] = json!(body);
        std::fs::write(&file, json!({ "interactions": [cut] }).to_string()).unwrap();
        let output = run(&["replay", file.to_str().unwrap()]);
        let line = text(&output.stdout);
        assert!(output.status.code() == Some(code) && line.contains(kind), "{body}: {line}");
    }
}

/// The lines of `replay` for a recording.
fn replayed(recording: &Value) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tape.json");
    std::fs::write(&file, recording.to_string()).unwrap();
    let output = run(&["replay", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn interaction(uri: &str, response: &Value) -> Value {
    json!({"request": {"method": "POST", "uri": uri, "headers": {}, "body": null},
        "response": {"status": 200, "headers": {"content-type": "application/json"}, "body": response}})
}

// openai.md C.8, C.18: a server's own work is no call for the client, and its thoughts are no answer
#[test]
fn replay_knows_the_server_by_the_recording() {
    let search = json!({"type": "custom_tool_call", "call_id": "xs_call_1", "name": "x_keyword_search",
        "input": "{\"query\":\"from:xai\"}", "status": "completed"});
    let said = json!({"type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "annotations": [], "text": "### Latest"}]});
    let response = json!({"id": "r", "status": "completed", "output": [search, said]});
    let recorded = |api: &str, uri: &str| {
        replayed(&json!({"api": api, "interactions": [interaction(uri, &response)]})).remove(0)
    };
    for (api, uri) in [
        ("xai-responses", "/v1/responses"),
        ("xai", "/v1/responses"),
        ("mixed", "https://api.x.ai/v1/responses"),
        ("openai", "https://api.x.ai/v1/responses"),
    ] {
        let line = recorded(api, uri);
        assert_eq!((&line["tool_calls"], &line["finish_reason"]), (&json!([]), &json!("stop")), "{line}");
        assert_eq!((&line["text"], &line["opaque"]), (&json!("### Latest"), &json!(["custom_tool_call"])));
    }
    for (api, uri) in [
        ("openai", "/v1/responses"),
        ("xai", "https://api.openai.com/v1/responses"),
        ("unheard-of", "/v1/responses"),
    ] {
        let line = recorded(api, uri);
        assert_eq!(line["tool_calls"][0]["name"], "x_keyword_search", "{line}");
    }
    let answer = json!({"id": "c", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "<thought>plan</thought>Hi"}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 65}});
    let uri = "/v1beta/openai/chat/completions";
    let line =
        replayed(&json!({"api": "gemini-chat", "interactions": [interaction(uri, &answer)]})).remove(0);
    assert_eq!((&line["thinking"], &line["text"]), (&json!("plan"), &json!("Hi")));
    assert_eq!(line["usage"]["output_tokens"], 5, "counts are told as they were sent");
}

// anthropic.md 13
#[test]
fn replay_reads_claude_on_vertex_ai() {
    let place = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5";
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2}});
    let begin = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}});
    let events = [
        begin,
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let stream: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    let mut streamed = interaction(&format!("{place}:streamRawPredict"), &Value::Null);
    streamed["response"]["headers"]["content-type"] = json!("text/event-stream");
    streamed["response"]["body_text"] = json!(stream);
    let whole = interaction(&format!("https://aiplatform.googleapis.com{place}:rawPredict"), &message);
    let other = interaction("/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", &message);
    let counted = "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict";
    let counted = interaction(counted, &json!({"input_tokens": 12}));
    let lines = replayed(&json!({"api": "vertex", "interactions": [streamed, whole, other, counted]}));
    for line in &lines[..2] {
        let told = (&line["api"], &line["text"], &line["usage"]["output_tokens"]);
        assert_eq!(told, (&json!("anthropic"), &json!("Hi"), &json!(2)), "{line}");
    }
    assert_eq!((&lines[2]["kind"], &lines[3]["kind"]), (&json!("other"), &json!("other")));
}

#[test]
fn models_are_described() {
    let offline = text(&run(&["models", "offline"]).stdout);
    assert!(offline.contains("no language model"), "{offline}");
    let json = text(&run(&["models", "anthropic/claude-opus", "--json"]).stdout);
    let row: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert!(row["capabilities"]["tool_result"]["media"].to_string().contains("application/pdf"));
    assert_eq!(run(&["models", "nobody/nothing"]).status.code(), Some(3));
}

// Any cell of the matrix is overridden by a file
#[test]
fn capabilities_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capabilities.toml");
    std::fs::write(
        &file,
        "[openai-chat.models.'gpt-4o']\ntool_result.media = ['+image/png']\nuser.media = ['-image/png']\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let example = run(&["wire", "--example"]).stdout;
    // The API cannot carry an image in a tool message, whatever the file says: it is said, not lost.
    let impossible = with_input(&["wire", "--model", "openai-chat/gpt-4o", "--capabilities", file], &example);
    assert_eq!(impossible.status.code(), Some(1));
    assert!(
        text(&impossible.stderr).contains("tool messages take only text"),
        "{}",
        text(&impossible.stderr)
    );
    std::fs::write(file, "[openai-chat.models.'gpt-4o']\nuser.media = ['-image/png']\n").unwrap();
    let output =
        with_input(&["wire", "--model", "openai-chat/gpt-4o", "--report", "--capabilities", file], &example);
    let request: Value = serde_json::from_slice(&output.stdout).unwrap();
    let outcomes: Vec<_> =
        request["report"].as_array().unwrap().iter().map(|row| row["outcome"].clone()).collect();
    // A PNG that is not taken becomes a JPEG.
    assert_eq!(outcomes, ["synthetic", "reencoded"]);
    std::fs::write(file, "[openai-chat]\nuser.medai = []\n").unwrap();
    let wrong = run(&["models", "--capabilities", file]);
    assert_eq!(wrong.status.code(), Some(3));
    assert!(text(&wrong.stderr).contains("medai"), "{}", text(&wrong.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn asks_a_real_model_by_http() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().call("call_1", "read_file", json!({"path": "invoice-2026-0417.pdf"})));
    mock.enqueue(Reply::new().text("It is due on 17 May 2026."));
    let url = format!("{}/v1", mock.url());
    let output = tokio::task::spawn_blocking(move || {
        let arguments = [
            "ask",
            QUESTION,
            "--files",
            "docs/examples/inbox",
            "--model",
            "anthropic/claude-sonnet-4-5",
            "--base-url",
            &url,
        ];
        attache(&arguments).env("ANTHROPIC_API_KEY", "sk-canary").output().unwrap()
    })
    .await
    .unwrap();
    assert_eq!(text(&output.stdout), "It is due on 17 May 2026.\n");
    assert!(!text(&output.stderr).contains("sk-canary"));
    let body = mock.requests()[1].json().to_string();
    assert!(body.contains(r#""name":"read_document""#), "it can ask for more of what it was shown");
    assert!(body.contains(r#""media_type":"application/pdf""#), "the PDF went natively into the result");
    assert!(mock.violations().is_empty(), "{:?}", mock.violations());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_as_json_has_its_causes() {
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with(|_| Reply::error(401, "Incorrect API key provided"));
    let url = format!("{}/v1", mock.url());
    let output = tokio::task::spawn_blocking(move || {
        let arguments = ["ask", "Hi", "--model", "openai-chat/gpt-4o", "--json", "--base-url", &url];
        attache(&arguments).env("OPENAI_API_KEY", "sk-canary").output().unwrap()
    })
    .await
    .unwrap();
    let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "finished", "{last}");
    let error = last["error"].as_str().unwrap();
    assert!(error.starts_with("the model could not be asked: "), "{error}");
    assert!(error.contains("Incorrect API key provided") && !error.contains("canary"), "{error}");
    assert_eq!(output.status.code(), Some(1));
}

// Ctrl-C cancels at once and cleanly
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text_pieces(vec!["word "; 10_000]).delay_between(Duration::from_millis(5)));
    let url = format!("{}/v1", mock.url());
    let arguments = [
        "ask",
        "talk",
        "--files",
        "docs/examples/inbox",
        "--model",
        "openai-chat/gpt-4o",
        "--base-url",
        &url,
    ];
    let mut child = attache(&arguments)
        .env("OPENAI_API_KEY", "sk-test")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(mock.wait_for_requests(1, Duration::from_secs(20)).await);
    let id = child.id().to_string();
    // The answer is under way: a server that has not begun to write does not notice that nobody listens.
    let child = tokio::task::spawn_blocking(move || {
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    });
    let child = child.await.unwrap();
    let signalled = Instant::now();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    assert!(signalled.elapsed() < Duration::from_secs(2), "{:?}", signalled.elapsed());
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cancelled"), "{}", text(&output.stderr));
    assert!(mock.wait_for_disconnect(Duration::from_secs(2)).await.is_some());
}
