//! Answers of callers to what an agent of ours asks.

use std::sync::Arc;

use attache_a2a::A2aServer;
use attache_core::{Message, UserPart};
use attache_testkit::{ScriptedModel, Turn};
use http::Method;
use serde_json::{Value, json};

use crate::server::{Ours, hello};

/// The messages that a model reads after an answer of such parts to what one of its calls asks, or the code of the refusal.
async fn answered(call: &str, parts: Value) -> Result<Vec<String>, i64> {
    let model = ScriptedModel::new([Turn::call(call, json!({})), Turn::text("Done.")]);
    let change = |server: A2aServer| server.caller_approves(true);
    let served = Ours::with(model.clone(), Arc::default(), Arc::default(), change).await;
    let task = served.rpc("ann", "SendMessage", hello()).await.unwrap()["task"].clone();
    let mut params = hello();
    params["message"]["taskId"] = task["id"].clone();
    params["message"]["parts"] = parts;
    let answered = served.rpc("ann", "SendMessage", params).await;
    let asked: Vec<String> = match model.requests().get(1) {
        Some(request) => request.messages.iter().skip(2).map(|message| match &**message {
            Message::ToolResults(results) => {
                let result = &results.results[0];
                let files = result.documents.iter().map(|document| match document.file_name() {
                    Some(name) => name.to_owned(),
                    None => String::from_utf8(document.bytes().unwrap().to_vec()).unwrap(),
                });
                let files: Vec<String> = files.collect();
                format!("{} {}", result.tree.model_text(), files.join(" ")).trim().to_owned()
            }
            Message::User(said) => {
                let words = said.shown().iter().map(|part| match part {
                    UserPart::Text(text) => text.text().to_owned(),
                    UserPart::Object(tree) => tree.json().to_owned(),
                    UserPart::Document(document) => document.file_name().unwrap_or_default().to_owned(),
                    _ => String::new(),
                });
                format!("said: {}", words.collect::<Vec<_>>().join(" "))
            }
            _ => String::new(),
        }),
        None => return Err(answered.unwrap_err()),
    }
    .collect();
    assert_eq!(answered.unwrap()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    Ok(asked)
}

// Files were refused where the question has a schema, and data beside words was dropped in silence.
#[tokio::test]
async fn all_that_an_answer_says_reaches_the_model() {
    let plan =
        || json!({"raw": "JVBERi0xLjcgcGxhbg==", "mediaType": "application/pdf", "filename": "plan.pdf"});
    let (rent, rooms) = (|| json!({"data": {"rent": 900}}), || json!({"data": {"rooms": 3}}));
    for (call, parts, expected) in [
        ("text", json!([{"text": "As in this plan"}, plan()]), Ok(vec!["As in this plan plan.pdf"])),
        ("text", json!([plan()]), Ok(vec!["plan.pdf plan.pdf"])),
        ("text", json!([rent(), {"text": "Berlin"}]), Ok(vec!["Berlin {\"rent\":900}"])),
        ("choice", json!([{"text": "Berlin"}, plan()]), Ok(vec!["Berlin plan.pdf"])),
        ("choice", json!([{"text": "Rome"}, plan()]), Err(-32602)),
        (
            "form",
            json!([{"text": "As agreed"}, rent(), rooms()]),
            Ok(vec!["{\"rent\":900} As agreed {\"rooms\":3}"]),
        ),
        ("form", json!([rooms(), rent(), plan()]), Ok(vec!["{\"rent\":900} plan.pdf {\"rooms\":3}"])),
        ("form", json!([rooms()]), Err(-32602)),
        ("which", json!([{"text": "Both"}, rent()]), Ok(vec!["Both {\"rent\":900}"])),
        ("pay", json!([{"text": "yes"}, plan()]), Err(-32602)),
        ("pay", json!([{"text": "Yes."}, {"data": {"approved": true}}]), Ok(vec!["paid"])),
        (
            "pay",
            json!([{"text": "too much"}, {"data": {"approved": false, "most": 5}}]),
            Ok(vec!["not executed: the caller says no", "said: too much {\"approved\":false,\"most\":5}"]),
        ),
    ] {
        let expected =
            expected.map(|asked: Vec<&str>| asked.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(answered(call, parts.clone()).await, expected, "{parts}");
    }
}

// It was read as if it had no parameters, so that `message` was said to be missing.
#[tokio::test]
async fn parameters_that_nest_too_deeply_are_said_to_be_unreadable() {
    let served = Ours::new([]).await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let params =
        format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{deep}}}]}}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{params}}}"#);
    for (path, body, code) in [("/", call, -32700), ("/message:send", params, 400)] {
        let (_, answer) = served.request(Method::POST, "ann", path, &body, "1.0").await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["error"]["message"], "the request is no JSON that can be read");
        assert!(path != "/" || answer["id"] == 7);
    }
}
