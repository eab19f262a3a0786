//! Thinking (anthropic.md 8).

use serde_json::{Value, json};

use super::{Rules, after_user, assistant, breaks, call, judged, keeps, result, text, user};

fn thinking(model: &'static str, thinking: Value) -> impl FnOnce(&mut Value) {
    move |body| {
        body["model"] = json!(model);
        body["max_tokens"] = json!(4000);
        body["thinking"] = thinking;
    }
}

fn manual(budget: u64) -> Value {
    json!({"type": "enabled", "budget_tokens": budget})
}

#[test]
fn modes_depend_on_the_model() {
    let mode = |mode: &str| json!({"type": mode});
    keeps(thinking("claude-sonnet-4-5", manual(1024)));
    keeps(thinking("claude-sonnet-4-6", manual(1024)));
    keeps(thinking("claude-sonnet-4-6", mode("adaptive")));
    keeps(thinking("claude-opus-5", json!({"type": "adaptive", "display": "summarized"})));
    keeps(thinking("claude-sonnet-5", mode("disabled")));
    keeps(thinking("claude-opus-5-2", mode("between_tools")));
    let words = "is not supported for this model";
    breaks("thinking.type", words, thinking("claude-sonnet-4-5", mode("adaptive")));
    breaks("thinking.type", words, thinking("claude-opus-4-7", manual(1024)));
    breaks("thinking.type", words, thinking("claude-fable-5", mode("disabled")));
    breaks("thinking.type", "'adaptive'", thinking("mock-model", mode("on")));
    breaks(
        "thinking.disabled.display",
        "Extra inputs",
        thinking("mock-model", json!({"type": "disabled", "display": "omitted"})),
    );
    breaks(
        "thinking.display",
        "'omitted'",
        thinking("mock-model", json!({"type": "adaptive", "display": "full"})),
    );
}

#[test]
fn opus_5_thinks_above_effort_high() {
    let with = |effort: &'static str| {
        move |body: &mut Value| {
            thinking("claude-opus-5", json!({"type": "disabled"}))(body);
            body["output_config"] = json!({"effort": effort});
        }
    };
    keeps(with("high"));
    breaks("thinking.type", "`disabled` is not supported", with("max"));
}

#[test]
fn a_budget_is_over_1024_and_under_max_tokens() {
    keeps(thinking("mock-model", manual(3999)));
    breaks("thinking.enabled.budget_tokens", "1024", thinking("mock-model", manual(1023)));
    breaks(
        "thinking.enabled.budget_tokens",
        "Field required",
        thinking("mock-model", json!({"type": "enabled"})),
    );
    breaks("", "`max_tokens` must be greater", thinking("mock-model", manual(4000)));
    let beta = Rules::new().with_anthropic_betas(["interleaved-thinking-2025-05-14"]);
    assert_eq!(judged(&beta, thinking("mock-model", manual(9000))), Ok(()));
}

#[test]
fn manual_thinking_fixes_the_sampling() {
    let with = |key: &'static str, value: Value| {
        move |body: &mut Value| {
            thinking("claude-sonnet-4-5", manual(2000))(body);
            body[key] = value;
        }
    };
    keeps(with("temperature", json!(1)));
    breaks("", "only be set to 1", with("temperature", json!(0.5)));
    breaks("", "`top_k` must be unset", with("top_k", json!(5)));
}

// anthropic.md (a) 6, 8
#[test]
fn thinking_blocks_are_signed() {
    let with = |block: Value| after_user(vec![assistant(&[block, text("x")]), user(&[text("go")])]);
    let path = "messages.1.content.0.thinking";
    keeps(with(json!({"type": "thinking", "thinking": "", "signature": "s"})));
    keeps(with(json!({"type": "redacted_thinking", "data": "d"})));
    breaks(
        &format!("{path}.signature"),
        "Field required",
        with(json!({"type": "thinking", "thinking": "x"})),
    );
    breaks(
        &format!("{path}.signature"),
        "at least 1",
        with(json!({"type": "thinking", "thinking": "x", "signature": ""})),
    );
    breaks(
        &format!("{path}.signature"),
        "valid string",
        with(json!({"type": "thinking", "thinking": "x", "signature": null})),
    );
    breaks(
        "messages.1.content.0.redacted_thinking.data",
        "Field required",
        with(json!({"type": "redacted_thinking"})),
    );
    breaks(
        &format!("{path}.cache_control"),
        "Extra inputs",
        with(json!({
            "type": "thinking", "thinking": "x", "signature": "s", "cache_control": {"type": "ephemeral"},
        })),
    );
}

// anthropic.md (a) 4
#[test]
fn an_open_tool_loop_begins_with_its_thinking() {
    let thought = json!({"type": "thinking", "thinking": "t", "signature": "s"});
    let with = |blocks: &[Value]| {
        let messages = vec![assistant(blocks), user(&[result("a")])];
        move |body: &mut Value| {
            thinking("claude-sonnet-4-5", manual(2000))(body);
            after_user(messages)(body);
        }
    };
    keeps(with(&[thought, call("a")]));
    keeps(with(&[json!({"type": "redacted_thinking", "data": "d"}), call("a")]));
    breaks("messages.1.content.0.type", "but found `tool_use`", with(&[call("a")]));
    // A finished loop needs none.
    keeps(|body| {
        thinking("claude-sonnet-4-5", manual(2000))(body);
        after_user(vec![assistant(&[text("x")]), user(&[text("go")])])(body);
    });
}
