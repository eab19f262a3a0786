//! Roles, order and pairing (anthropic.md 3, 6).

use serde_json::{Value, json};

use super::{Rules, after_user, assistant, breaks, call, judged, keeps, result, text, user};

// anthropic.md (a) 1
#[test]
fn every_call_is_answered_in_the_next_message() {
    let words = "ids were found without `tool_result` blocks immediately after: b";
    keeps(after_user(vec![
        assistant(&[call("a"), call("b")]),
        user(&[result("b"), result("a"), text("go")]),
    ]));
    breaks("messages.1", words, after_user(vec![assistant(&[call("a"), call("b")]), user(&[result("a")])]));
    breaks(
        "messages.1",
        words,
        after_user(vec![assistant(&[call("b")]), json!({"role": "user", "content": "go"})]),
    );
    breaks("messages.1", words, after_user(vec![assistant(&[call("b")])]));
}

// anthropic.md (a) 2
#[test]
fn every_result_has_its_call_in_the_message_before() {
    let words = "unexpected `tool_use_id` found in `tool_result` blocks: x";
    breaks("messages.0.content.0", words, |body| body["messages"] = json!([user(&[result("x")])]));
    breaks(
        "messages.2.content.1",
        words,
        after_user(vec![assistant(&[call("a")]), user(&[result("a"), result("x")])]),
    );
    breaks(
        "messages.4.content.0",
        "blocks: a",
        after_user(vec![
            assistant(&[call("a")]),
            user(&[result("a")]),
            assistant(&[text("ok")]),
            user(&[result("a")]),
        ]),
    );
    breaks(
        "messages.2.content.1",
        "must have a single result",
        after_user(vec![assistant(&[call("a")]), user(&[result("a"), result("a")])]),
    );
}

#[test]
fn results_come_first() {
    breaks(
        "messages.2.content.1",
        "must come first",
        after_user(vec![assistant(&[call("a")]), user(&[text("here"), result("a")])]),
    );
}

// anthropic.md (a) 31
#[test]
fn call_ids_are_unique_over_the_conversation() {
    breaks(
        "messages.1.content.1",
        "ids must be unique",
        after_user(vec![assistant(&[call("a"), call("a")])]),
    );
    breaks(
        "messages.3.content.0",
        "ids must be unique",
        after_user(vec![
            assistant(&[call("a")]),
            user(&[result("a")]),
            assistant(&[call("a")]),
            user(&[result("a")]),
        ]),
    );
}

#[test]
fn replies_to_programmatic_calls_hold_results_only() {
    let with = |caller: &str, more: &[Value]| {
        let mut call = call("a");
        call["caller"] = json!({"type": caller});
        let blocks: Vec<Value> = [result("a")].into_iter().chain(more.iter().cloned()).collect();
        after_user(vec![assistant(&[call]), user(&blocks)])
    };
    keeps(with("direct", &[text("go")]));
    keeps(with("code_execution_20260120", &[]));
    breaks("messages.1.content.0", "only `tool_result`", with("code_execution_20260120", &[text("go")]));
}

#[test]
fn the_user_begins() {
    breaks("messages", "first message must use the \"user\" role", |body| {
        body["messages"] = json!([assistant(&[text("hi")]), user(&[text("hi")])]);
    });
    breaks("messages.0.role", "'assistant'", |body| body["messages"][0]["role"] = json!("tool"));
}

#[test]
fn roles_alternate_unless_the_server_may_merge() {
    let two_users = || after_user(vec![user(&[text("and")])]);
    breaks("messages.1", "multiple \"user\" roles in a row", two_users());
    let lax = Rules::new().with_alternation(false);
    assert_eq!(judged(&lax, two_users()), Ok(()));
    // Merged, the results of both messages answer the calls; text between them is still in the way.
    let split = |between: &[Value]| {
        let second: Vec<Value> = between.iter().cloned().chain([result("b")]).collect();
        after_user(vec![assistant(&[call("a"), call("b")]), user(&[result("a")]), user(&second)])
    };
    assert_eq!(judged(&lax, split(&[])), Ok(()));
    assert!(judged(&lax, split(&[text("x")])).is_err());
    breaks("messages.3", "in a row", split(&[]));
}

// anthropic.md (a) 11
#[test]
fn late_models_take_no_prefill() {
    let with = |model: &'static str, prefill: &'static str| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            after_user(vec![json!({"role": "assistant", "content": prefill})])(body);
        }
    };
    keeps(with("claude-sonnet-4-5", "{"));
    for model in ["claude-opus-4-6", "claude-sonnet-4-6", "claude-sonnet-5", "claude-fable-5", "mock-model"] {
        breaks("", "does not support assistant message prefill", with(model, "{"));
    }
    breaks("messages", "trailing whitespace", with("claude-sonnet-4-5", "{ "));
    breaks("", "must not be a prefilled", |body| {
        with("claude-sonnet-4-5", "{")(body);
        body["max_tokens"] = json!(4000);
        body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    });
    keeps(|body| {
        body["model"] = json!("claude-sonnet-4-5");
        after_user(vec![assistant(&[])])(body);
    });
}

#[test]
fn a_paused_turn_may_be_last() {
    let paused = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    keeps(after_user(vec![assistant(&[text("let me see"), paused])]));
}

// anthropic.md (a) 25
#[test]
fn server_calls_have_results() {
    let searching = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let then = [user(&[text("and?")]), assistant(&[text("so")]), user(&[text("ok")])];
    let with = |blocks: &[Value]| after_user([assistant(blocks)].into_iter().chain(then.clone()).collect());
    keeps(with(&[searching.clone(), found]));
    breaks("messages.1.content.0", "srvtoolu_1 has no result", with(&[searching]));
}

#[test]
fn system_messages_depend_on_model_and_place() {
    let with = |model: &'static str, messages: Vec<Value>| {
        move |body: &mut Value| {
            body["model"] = json!(model);
            after_user(messages)(body);
        }
    };
    let system = json!({"role": "system", "content": "be brief"});
    keeps(with("claude-opus-5", vec![system.clone()]));
    keeps(with("claude-opus-4-8", vec![system.clone(), assistant(&[text("ok")]), user(&[text("go")])]));
    breaks("messages.1", "not supported on this model", with("claude-opus-4-6", vec![system.clone()]));
    let place = "must directly follow a user message";
    breaks("messages.1", place, with("claude-opus-5", vec![system.clone(), user(&[text("go")])]));
    breaks("messages.2", place, with("claude-opus-5", vec![assistant(&[text("ok")]), system]));
}
