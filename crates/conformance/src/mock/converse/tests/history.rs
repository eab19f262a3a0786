//! Order and pairing (bedrock.md 3).

use serde_json::{Value, json};

use super::{
    CLAUDE, CLAUDE_5, GPT, GPT_OSS, LLAMA_4, MISTRAL, NOVA, NOVA_2, after_user, assistant, breaks, call,
    image, keeps, pdf, result, returned, round, text, user, validate_converse_with,
};
use crate::Rules;

fn reasoning() -> Value {
    json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}})
}

// bedrock.md (a) 7
#[test]
fn roles_alternate() {
    let twice = || after_user(vec![user(&[text("again")])]);
    breaks(NOVA, "messages.1", "must alternate between user and assistant roles", twice());
    let mut body = super::body();
    twice()(&mut body);
    assert_eq!(validate_converse_with(NOVA, &body, &Rules::new().with_alternation(false)), Ok(()));
    keeps(NOVA, after_user(vec![assistant(&[text("x")]), user(&[text("y")])]));
}

#[test]
fn the_user_begins_and_ends() {
    let leading = |body: &mut Value| {
        body["messages"] = json!([assistant(&[text("x")]), user(&[text("y")])]);
    };
    breaks(NOVA, "messages.0", "must start with a user message", leading);
    breaks(GPT_OSS, "messages.0", "must start with a user message", leading);
    keeps(CLAUDE, leading);
    keeps("moonshot.kimi-k2-thinking", leading);

    let last = || after_user(vec![assistant(&[text("x")])]);
    breaks(NOVA, "messages.1", "must end with a user message", last());
    breaks(CLAUDE_5, "", "does not support assistant message prefill", last());
    keeps(CLAUDE, last());
    breaks(CLAUDE, "messages.1.content", "trailing whitespace", after_user(vec![assistant(&[text("x ")])]));
}

#[test]
fn there_is_a_message_and_something_in_it() {
    breaks(NOVA, "messages", "at least one message", |body| body["messages"] = json!([]));
    breaks(NOVA, "messages", "must not be null", |body| *body = json!({}));
    // bedrock.md (a) 3
    let words = "The content field in the Message object at messages.0 is empty";
    breaks(NOVA, "messages.0.content", words, |body| body["messages"][0]["content"] = json!([]));
    breaks(NOVA, "messages.0.content", "must be a list", |body| body["messages"][0]["content"] = json!("hi"));
}

#[test]
fn only_new_models_take_the_system_role() {
    let system = || after_user(vec![json!({"role": "system", "content": [text("x")]})]);
    keeps(CLAUDE_5, system());
    breaks(CLAUDE, "messages.1", "system role", system());
    breaks(NOVA, "messages.1", "system role", system());
}

// bedrock.md (a) 8, 9
#[test]
fn every_call_has_one_result_in_the_next_message() {
    let calls = || assistant(&[call("a"), call("b")]);
    for model in [CLAUDE, NOVA, LLAMA_4] {
        keeps(model, after_user(vec![calls(), user(&[result("b"), result("a")])]));
    }
    let expected = "Expected toolResult blocks at messages.2.content for the following Ids: b";
    breaks(NOVA, "messages.2.content", expected, after_user(vec![calls(), user(&[result("a")])]));
    breaks(
        NOVA,
        "messages.2.content",
        expected,
        after_user(vec![calls(), user(&[result("a"), result("a")])]),
    );
    let apart = vec![calls(), user(&[result("a")]), assistant(&[text("x")]), user(&[result("b")])];
    breaks(NOVA, "messages.2.content", expected, after_user(apart));
    breaks(NOVA, "messages.2.content", "for the following Ids: a, b", after_user(vec![calls()]));
    let exceeds =
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks";
    breaks(NOVA, "messages.2.content", exceeds, round(&[result("a"), result("x")]));
    breaks(NOVA, "messages.0.content", "exceeds", |body| {
        after_user(vec![])(body);
        body["messages"][0]["content"] = json!([result("a")]);
    });
}

#[test]
fn ids_are_unique_where_they_must_be() {
    let twice = || assistant(&[call("a"), call("a")]);
    breaks(NOVA, "messages.1.content", "must be unique", after_user(vec![twice(), user(&[result("a")])]));
    let again = || {
        let round = || [assistant(&[call("a")]), user(&[result("a")])];
        after_user([round(), round()].concat())
    };
    keeps(NOVA, again());
    breaks(CLAUDE, "messages.3.content", "must be unique", again());
}

#[test]
fn results_of_server_tools_stand_beside_their_calls() {
    let server = json!({"toolUse": {"toolUseId": "s", "name": "nova_code_interpreter", "input": {}, "type": "server_tool_use"}});
    let found = json!({"toolResult": {"toolUseId": "s", "type": "nova_code_interpreter_result", "content": [{"json": {}}]}});
    keeps(NOVA_2, after_user(vec![assistant(&[server, found.clone()]), user(&[text("more")])]));
    let mut untyped = found;
    untyped["toolResult"].as_object_mut().expect("an object").remove("type");
    let path = "messages.1.content.0.toolResult";
    breaks(NOVA_2, path, "server tools", after_user(vec![assistant(&[untyped])]));
}

// bedrock.md (a) 12
#[test]
fn content_beside_a_result_depends_on_the_family() {
    let beside = |block: Value| round(&[result("a"), text("see"), block]);
    keeps(CLAUDE, beside(image()));
    let words = "cannot stand in one message with toolResult blocks";
    breaks(CLAUDE, "messages.2.content", words, beside(pdf("Document 1")));
    keeps(NOVA, beside(image()));
    keeps(NOVA, beside(pdf("Document 1")));
    for model in [LLAMA_4, MISTRAL] {
        breaks(model, "messages.2.content", "The text block", round(&[result("a"), text("x")]));
        // The way out: media in a later message, behind an answer.
        let later = vec![
            assistant(&[call("a")]),
            user(&[result("a")]),
            assistant(&[text(".")]),
            user(&[text("x"), image()]),
        ];
        keeps(model, after_user(later));
    }
    let merged = || after_user(vec![assistant(&[call("a")]), user(&[result("a")]), user(&[text("x")])]);
    let mut body = super::body();
    merged()(&mut body);
    let merging = Rules::new().with_alternation(false);
    assert!(validate_converse_with(LLAMA_4, &body, &merging).is_err(), "the server merges again");
    breaks(CLAUDE, "messages.2.content", "must come first", round(&[text("x"), result("a")]));
}

// bedrock.md 3: a result is not empty
#[test]
fn results_hold_something() {
    let empty = || returned(&[]);
    keeps(CLAUDE, empty());
    breaks(NOVA, "messages.2.content.0.toolResult.content", "cannot be empty", empty());
    let failed = json!({"toolResult": {"toolUseId": "a", "status": "error", "content": []}});
    breaks(CLAUDE, "messages.2.content.0.toolResult.content", "cannot be empty", round(&[failed]));
}

// bedrock.md (a) 13, 14, 15, 16
#[test]
fn reasoning_goes_back_signed_to_claude_and_encrypted_to_those_that_encrypt_it() {
    let replayed = |block: Value| after_user(vec![assistant(&[block, text("x")]), user(&[text("y")])]);
    keeps(CLAUDE, replayed(reasoning()));
    let empty = json!({"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}});
    keeps(CLAUDE, replayed(empty));
    let unsigned = || json!({"reasoningContent": {"reasoningText": {"text": "hm"}}});
    let at = "messages.1.content.0.reasoningContent";
    let field = format!("{at}.reasoningText.signature");
    breaks(CLAUDE, &field, "thinking.signature: Field required", replayed(unsigned()));
    let flat = json!({"reasoningContent": {"text": "hm", "signature": "s"}});
    breaks(CLAUDE, &format!("{at}.text"), "extraneous key [text]", replayed(flat));
    let words = "User messages cannot contain reasoning content.";
    for block in [unsigned(), reasoning()] {
        for model in [NOVA_2, GPT_OSS, "us.deepseek.r1-v1:0"] {
            let mut body = super::body();
            replayed(block.clone())(&mut body);
            body.as_object_mut().expect("an object").remove("toolConfig");
            let violation = super::validate_converse(model, &body).expect_err("a broken rule");
            assert!(violation.message.starts_with(words), "{violation}");
        }
    }
    let encrypted = json!({"reasoningContent": {"redactedContent": "cnNu"}});
    for model in [GPT, "us.xai.grok-4.6"] {
        keeps(model, replayed(encrypted.clone()));
        breaks(
            model,
            &format!("{at}.reasoningText.text"),
            "This model doesn't support",
            replayed(reasoning()),
        );
    }
    breaks(CLAUDE, "messages.0.content.0.reasoningContent", words, |body| {
        body["messages"][0] = user(&[reasoning()]);
    });
    let alone = || after_user(vec![assistant(&[reasoning()]), user(&[text("y")])]);
    breaks(CLAUDE_5, "messages.1.content", "prefill", alone());
    keeps(CLAUDE, alone());
}

#[test]
fn an_open_tool_loop_begins_with_its_reasoning() {
    let turn = |blocks: &[Value]| {
        let messages = vec![assistant(blocks), user(&[result("a")])];
        move |body: &mut Value| {
            after_user(messages)(body);
            body["additionalModelRequestFields"] =
                json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
        }
    };
    keeps(CLAUDE, turn(&[reasoning(), call("a")]));
    breaks(CLAUDE, "messages.1.content.0", "must start with a thinking block", turn(&[call("a")]));
}
