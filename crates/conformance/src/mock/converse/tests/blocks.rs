//! Unions, text, calls and results (bedrock.md 3).

use serde_json::{Value, json};

use super::{
    CLAUDE, MISTRAL, NOVA, WRITER, after_user, assistant, breaks, call, keeps, returned, round, text, user,
};

fn with(block: Value) -> impl FnOnce(&mut Value) {
    move |body| body["messages"][0]["content"] = json!([block])
}

#[test]
fn a_block_is_a_union_of_exactly_one_member() {
    breaks(NOVA, "messages.0.content.0", "must have a member", with(json!({})));
    let two = json!({"text": "x", "cachePoint": {"type": "default"}});
    breaks(NOVA, "messages.0.content.0.cachePoint", "exactly one member", with(two));
    // bedrock.md (a) 25
    let foreign = json!({"text": "x", "cache_control": {"type": "ephemeral"}});
    let words =
        "Malformed input request: #/messages/0/content/0: extraneous key [cache_control] is not permitted";
    breaks(NOVA, "messages.0.content.0.cache_control", words, with(foreign));
    breaks(
        NOVA,
        "messages.0.content.0.type",
        "extraneous key [type]",
        with(json!({"type": "text", "text": "x"})),
    );
    keeps(NOVA, with(json!({"text": "x", "image": null})));
}

// E04, bedrock.md (a) 1, 2
#[test]
fn text_is_not_blank_anywhere() {
    for blank in ["", " ", "\n\n"] {
        let words = "The text field in the ContentBlock object at messages.0.content.0 is blank.";
        breaks(NOVA, "messages.0.content.0", words, with(text(blank)));
        let round = after_user(vec![assistant(&[text(blank), call("a")]), user(&[super::result("a")])]);
        breaks(CLAUDE, "messages.1.content.0", "is blank", round);
        let path = "messages.2.content.0.toolResult.content.0";
        breaks(CLAUDE, path, "is blank", returned(&[text(blank)]));
        breaks(NOVA, "system.0", "is blank", |body| body["system"] = json!([text(blank)]));
        // bedrock.md (a) 27
        let cited = json!({"citationsContent": {"content": [text(blank)]}});
        let path = "messages.1.content.0.citationsContent.content.0";
        breaks(CLAUDE, path, "is blank", after_user(vec![assistant(&[cited])]));
    }
    keeps(NOVA, with(text(".")));
    keeps(NOVA, |body| body["system"] = json!([]));
}

// bedrock.md (a) 24
#[test]
fn the_input_of_a_call_is_an_object() {
    for input in [json!("{}"), json!(null), json!([])] {
        let mut call = call("a");
        call["toolUse"]["input"] = input;
        let words = "Provide a json object for the field";
        breaks(NOVA, "messages.1.content.0.toolUse.input", words, after_user(vec![assistant(&[call])]));
    }
}

#[test]
fn ids_and_names_have_their_alphabets() {
    let named = |key: &str, value: &str| {
        let (mut call, mut result) = (call("a"), super::result("a"));
        call["toolUse"][key] = value.into();
        if key == "toolUseId" {
            result["toolResult"][key] = value.into();
        }
        after_user(vec![assistant(&[call]), user(&[result])])
    };
    keeps(NOVA, named("toolUseId", "tooluse_1.a:b-c"));
    keeps(CLAUDE, named("toolUseId", "tooluse_1-c"));
    let path = "messages.1.content.0.toolUse.toolUseId";
    breaks(CLAUDE, path, "'^[a-zA-Z0-9_-]+$'", named("toolUseId", "a.b"));
    for id in ["", "a b", "a|b", &"x".repeat(65)] {
        breaks(NOVA, path, "regular expression pattern", named("toolUseId", id));
    }
    keeps(NOVA, named("name", "a-b_C9"));
    for name in ["", "a.b", "ä", &"x".repeat(65)] {
        breaks(NOVA, "messages.1.content.0.toolUse.name", "regular expression", named("name", name));
    }
    // The model of an answer may add it, the request must not.
    breaks(NOVA, "messages.1.content.0.toolUse.type", "[server_tool_use]", named("type", "tool_use"));
}

#[test]
fn results_have_a_status_where_the_family_takes_one() {
    let with = |status: &str| {
        let result = json!({"toolResult": {"toolUseId": "a", "status": status, "content": [text("x")]}});
        round(&[result])
    };
    keeps(CLAUDE, with("error"));
    breaks(CLAUDE, "messages.2.content.0.toolResult.status", "[success, error]", with("failed"));
    breaks(WRITER, "messages.2.content.0.toolResult.status", "doesn't support", with("success"));
}

#[test]
fn json_results_are_objects() {
    keeps(MISTRAL, returned(&[json!({"json": {"result": -3}})]));
    for value in [json!([1]), json!("x"), json!(1)] {
        let path = "messages.2.content.0.toolResult.content.0.json";
        breaks(NOVA, path, "Provide a json object", returned(&[json!({"json": value})]));
    }
    let path = "messages.2.content.0.toolResult.content.0.cachePoint";
    breaks(CLAUDE, path, "extraneous key", returned(&[json!({"cachePoint": {"type": "default"}})]));
}

#[test]
fn blocks_stand_where_they_belong() {
    breaks(NOVA, "messages.0.content.0.toolUse", "extraneous key", |body| {
        after_user(vec![])(body);
        body["messages"][0]["content"] = json!([call("a")]);
    });
    let shown = after_user(vec![assistant(&[super::image()])]);
    breaks(CLAUDE, "messages.1.content.0.image", "extraneous key", shown);
    let found = json!({"searchResult": {"source": "s", "title": "t", "content": [text("x")]}});
    keeps(CLAUDE, with(found.clone()));
    // All that can be cited is, or nothing.
    let cited = json!({"searchResult": {"source": "s", "title": "t", "content": [text("x")], "citations": {"enabled": true}}});
    keeps(CLAUDE, super::round(&[super::result("a"), cited.clone(), cited.clone()]));
    let path = "messages.2.content.2.searchResult.citations";
    breaks(CLAUDE, path, "all or none", super::round(&[super::result("a"), cited.clone(), found.clone()]));
    let path = "messages.2.content.3.document.citations";
    let beside = super::round(&[super::result("a"), text("x"), cited, super::pdf("Document 1")]);
    breaks(CLAUDE, path, "all or none", beside);
    breaks(NOVA, "messages.0.content.0.searchResult", "doesn't support", with(found));
}
