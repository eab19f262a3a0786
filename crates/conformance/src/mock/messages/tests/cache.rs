//! Cache markers (anthropic.md 7).

use serde_json::{Value, json};

use super::{after_user, assistant, breaks, call, keeps, user};

fn marked(ttl: &str) -> Value {
    json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": ttl}})
}

fn blocks(blocks: &[Value]) -> impl FnOnce(&mut Value) + use<> {
    let blocks = json!(blocks);
    move |body| body["messages"][0]["content"] = blocks
}

// anthropic.md (a) 18
#[test]
fn at_most_four_markers() {
    let markers = |count: usize| vec![marked("5m"); count];
    keeps(blocks(&markers(4)));
    breaks("", "A maximum of 4 blocks with cache_control may be provided. Found 5.", blocks(&markers(5)));
    // The automatic marker counts, and so do those of tools and system.
    keeps(|body| {
        blocks(&markers(3))(body);
        body["cache_control"] = json!({"type": "ephemeral"});
    });
    breaks("", "Found 5", |body| {
        blocks(&markers(4))(body);
        body["cache_control"] = json!({"type": "ephemeral"});
    });
    breaks("", "Found 5", |body| {
        blocks(&markers(3))(body);
        body["system"] = json!([marked("5m")]);
        body["tools"] = json!([{
            "name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"},
        }]);
    });
}

// anthropic.md (a) 19
#[test]
fn lifetimes_do_not_grow_along_the_prefix() {
    keeps(blocks(&[marked("1h"), marked("5m")]));
    breaks(
        "messages.0.content.1.cache_control.ttl",
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
        blocks(&[marked("5m"), marked("1h")]),
    );
    breaks("messages.0.content.0.cache_control.ttl", "must not come after", |body| {
        blocks(&[marked("1h")])(body);
        body["system"] = json!([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]);
    });
}

// anthropic.md (a) 20
#[test]
fn markers_stand_on_results_and_not_inside_them() {
    let with = |outer: Value, inner: Value| {
        let result = json!({
            "type": "tool_result", "tool_use_id": "t", "cache_control": outer,
            "content": [{"type": "text", "text": "x", "cache_control": inner}],
        });
        after_user(vec![assistant(&[call("t")]), user(&[result])])
    };
    let marker = json!({"type": "ephemeral"});
    let mut plain =
        json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}]});
    plain["cache_control"] = marker.clone();
    keeps(after_user(vec![assistant(&[call("t")]), user(&[plain])]));
    breaks(
        "messages.2.content.0.tool_result.content.0.cache_control",
        "set it on the outer block",
        with(marker.clone(), marker),
    );
}

#[test]
fn markers_have_a_known_shape() {
    let with = |marker: Value| blocks(&[json!({"type": "text", "text": "x", "cache_control": marker})]);
    keeps(with(json!({"type": "ephemeral"})));
    keeps(with(Value::Null));
    breaks("messages.0.content.0.cache_control.type", "'ephemeral'", with(json!({"type": "forever"})));
    breaks("messages.0.content.0.cache_control.ttl", "'1h'", with(json!({"type": "ephemeral", "ttl": "1d"})));
    breaks(
        "messages.0.content.0.cache_control.x",
        "Extra inputs",
        with(json!({"type": "ephemeral", "x": 1})),
    );
}
