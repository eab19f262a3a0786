//! The mandatory cases of version 0.3, by the names of the kit's functions.

use attache::transport::RequestParts;
use serde_json::{Value, json};

use crate::kit::{Answer, Client, Ours, Way, answered};

fn message(text: &str) -> Value {
    json!({"message": {"kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": text}]}})
}

struct Old<'o>(Client<'o>);

impl Old<'_> {
    async fn call(&self, method: &str, params: Value) -> Result<Value, i64> {
        let body = json!({"jsonrpc": "2.0", "id": "old-1", "method": method, "params": params});
        let answer = self.0.raw(&body.to_string()).await;
        assert_eq!((answer.status, answer.kind()), (200, "application/json"));
        let answer = answer.json();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("old-1")));
        match answer.get("error") {
            Some(error) => {
                assert!(error["message"].is_string() && answer.get("result").is_none(), "{answer}");
                Err(error["code"].as_i64().unwrap())
            }
            None => Ok(answer["result"].clone()),
        }
    }

    async fn task(&self, text: &str) -> Value {
        let task = self.call("message/send", message(text)).await.unwrap();
        is_task(&task);
        task
    }
}

/// A task as section 6 has it.
fn is_task(task: &Value) {
    assert_eq!(task["kind"], "task");
    let states = [
        "submitted",
        "working",
        "input-required",
        "completed",
        "canceled",
        "failed",
        "rejected",
        "auth-required",
    ];
    assert!(states.contains(&task["status"]["state"].as_str().unwrap()), "{task}");
    assert!(task["id"].is_string() && task["contextId"].is_string(), "{task}");
    for message in task["history"].as_array().into_iter().flatten() {
        assert_eq!(message["kind"], "message");
        assert!(
            ["user", "agent"].contains(&message["role"].as_str().unwrap())
                && message["messageId"].is_string()
        );
        assert!(
            message["parts"].as_array().unwrap().iter().all(|part| part["kind"].is_string()),
            "{message}"
        );
    }
    for artifact in task["artifacts"].as_array().into_iter().flatten() {
        assert!(artifact["artifactId"].is_string());
        assert!(
            artifact["parts"].as_array().unwrap().iter().all(|part| part["kind"].is_string()),
            "{artifact}"
        );
    }
}

fn code(answer: &Answer) -> i64 {
    assert_eq!(answer.status, 200, "errors of JSON-RPC are answers");
    answer.json()["error"]["code"].as_i64().unwrap()
}

pub(crate) async fn cases() {
    let ours = Ours::serve(|profile| profile, |server| server).await;
    let old = Old(Client { version: None, ..ours.as_(Way::Rpc) });

    // test_rejects_malformed_json, test_raw_invalid_json
    for body in [r#"{"jsonrpc": "2.0", "method": "message/send", "params": {"foo": "bar"}"#, "{", "", "\u{0}"]
    {
        assert_eq!(code(&old.0.raw(body).await), -32700, "{body:?}");
    }
    // test_rejects_invalid_json_rpc_requests, test_invalid_jsonrpc_version, test_missing_method_field
    for (body, expected) in [
        (r#"{"jsonrpc": "aaa", "method": "message/send", "params": {}}"#, -32600),
        (r#"{"jsonrpc": "1.0", "id": 1, "method": "message/send", "params": {}}"#, -32600),
        (r#"{"method": "message/send", "id": 1, "params": {}}"#, -32600),
        (r#"{"jsonrpc": "2.0", "params": {}}"#, -32600),
        (r#"{"jsonrpc": "2.0", "method": "message/send", "params": {}, "id": {"bad": "type"}}"#, -32600),
        (r#"{"jsonrpc": "2.0", "method": "message/sendXXX", "id": "3", "params": {}}"#, -32601),
        (r#"{"jsonrpc": "2.0", "method": "message/send", "id": "4", "params": "not_a_dict"}"#, -32602),
        (r#"{"jsonrpc": "2.0", "method": "message/send", "id": "4", "params": {"": "not_a_dict"}}"#, -32602),
    ] {
        assert_eq!(code(&old.0.raw(body).await), expected, "{body}");
    }
    // test_rejects_unknown_method, test_rejects_invalid_params, test_message_send_invalid_params
    assert_eq!(old.call("nonexistent/method", json!({})).await, Err(-32601));
    assert_eq!(old.call("message/send", json!({"message": {"parts": "invalid"}})).await, Err(-32602));
    assert_eq!(old.call("message/send", json!({"message": {"kind": "message"}})).await, Err(-32602));
    // test_duplicate_request_ids: each request is one of its own.
    let (first, second) = (old.task("hello").await, old.task("hello").await);
    assert_ne!(first["id"], second["id"]);
    // test_message_send_valid_text, …_file_part, …_data_part
    assert_eq!(first["status"]["state"], "completed");
    for part in [
        json!({"kind": "file", "file": {"name": "a.txt", "mimeType": "text/plain", "uri": "https://example.com/a.txt"}}),
        json!({"kind": "file", "file": {"name": "a.txt", "mimeType": "text/plain", "bytes": "aGk="}}),
        json!({"kind": "data", "data": {"key": "value", "number": 123, "nested": {"array": [1, 2, 3]}}}),
    ] {
        let mut params = message("hello");
        params["message"]["parts"] = json!([part]);
        is_task(&old.call("message/send", params).await.unwrap());
    }
    // test_message_send_continue_task, and the transition from a question to the end
    let asking = old.task("ask").await;
    assert_eq!(asking["status"]["state"], "input-required");
    let mut params = message("Berlin");
    params["message"]["taskId"] = asking["id"].clone();
    let over = old.call("message/send", params.clone()).await.unwrap();
    assert_eq!((&over["id"], &over["status"]["state"]), (&asking["id"], &json!("completed")));
    assert_eq!(old.call("message/send", params).await, Err(-32004));
    let mut params = message("hello");
    params["message"]["taskId"] = json!("non-existent-task-id");
    assert_eq!(old.call("message/send", params).await, Err(-32001));
    // test_tasks_get_valid, …_with_history_length, …_nonexistent
    let seen = old.call("tasks/get", json!({"id": over["id"]})).await.unwrap();
    is_task(&seen);
    assert_eq!(seen["status"], over["status"]);
    let short = old.call("tasks/get", json!({"id": over["id"], "historyLength": 1})).await.unwrap();
    assert_eq!(short["history"].as_array().unwrap().len(), 1);
    assert_eq!(old.call("tasks/get", json!({"id": "non-existent-task-id"})).await, Err(-32001));
    assert_eq!(old.call("tasks/get", json!({})).await, Err(-32602));
    // test_tasks_cancel_valid, …_nonexistent, and one that is over
    let mut params = message("wait");
    params["configuration"] = json!({"blocking": false});
    let working = old.call("message/send", params).await.unwrap();
    let cancelled = old.call("tasks/cancel", json!({"id": working["id"]})).await.unwrap();
    is_task(&cancelled);
    assert_eq!(cancelled["status"]["state"], "canceled");
    assert_eq!(old.call("tasks/cancel", json!({"id": working["id"]})).await, Err(-32002));
    assert_eq!(old.call("tasks/cancel", json!({"id": "non-existent-task-id"})).await, Err(-32001));
    // test_push_notification_not_supported_error_32003, test_content_type_not_supported_error_32005
    let config =
        json!({"taskId": over["id"], "pushNotificationConfig": {"url": "https://example.com/webhook"}});
    assert_eq!(old.call("tasks/pushNotificationConfig/set", config).await, Err(-32003));
    let mut params = message("hello");
    params["message"]["parts"] = json!([{"kind": "file", "file": {"name": "a", "mimeType": "application/x-totally-unsupported-format", "bytes": "VGVzdA=="}}]);
    assert_eq!(old.call("message/send", params).await, Err(-32005));
    // test_authenticated_extended_card: there is none.
    assert_eq!(old.call("agent/getAuthenticatedExtendedCard", json!({})).await, Err(-32007));
    // test_agent_card_mandatory_fields and its relatives
    let card = answered(&RequestParts::get(format!("{}/.well-known/agent-card.json", ours.url))).await.json();
    for member in ["name", "description", "version", "url", "protocolVersion", "preferredTransport"] {
        assert!(card[member].as_str().is_some_and(|text| !text.is_empty()), "{member}");
    }
    assert_eq!((&card["protocolVersion"], &card["url"]), (&json!("0.3.0"), &json!(ours.url)));
    assert!(card["capabilities"].is_object() && !card["skills"].as_array().unwrap().is_empty());
    for member in ["defaultInputModes", "defaultOutputModes"] {
        assert!(card[member].as_array().unwrap().iter().all(Value::is_string), "{member}");
    }
    // test_auth_enforcement
    let nobody = Client { user: None, ..old.0 };
    assert_eq!(
        nobody.raw(r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}"#).await.status,
        401
    );
}
