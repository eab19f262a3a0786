//! Cache points (bedrock.md 6).

use serde_json::{Value, json};

use super::{CLAUDE, LLAMA_4, NOVA, breaks, image, keeps, pdf, text, tool};

fn point() -> Value {
    json!({"cachePoint": {"type": "default"}})
}

fn lasting(ttl: &str) -> Value {
    json!({"cachePoint": {"type": "default", "ttl": ttl}})
}

fn content(blocks: &[Value]) -> impl FnOnce(&mut Value) + use<> {
    let blocks = blocks.to_vec();
    move |body| body["messages"][0]["content"] = blocks.into()
}

#[test]
fn points_stand_behind_what_they_close() {
    for model in [CLAUDE, NOVA] {
        keeps(model, content(&[text("x"), point()]));
        keeps(model, content(&[text("x"), image(), point()]));
        keeps(model, |body| body["system"] = json!([text("x"), point()]));
    }
    // bedrock.md (a) 23
    breaks(CLAUDE, "messages.0.content.0.cachePoint", "first block", content(&[point(), text("x")]));
    breaks(
        CLAUDE,
        "messages.0.content.2.cachePoint",
        "follow another",
        content(&[text("x"), point(), point()]),
    );
    breaks(CLAUDE, "messages.0.content.2.cachePoint", "a document", content(&[text("x"), pdf("a"), point()]));
    keeps(CLAUDE, content(&[text("x"), point(), pdf("a")]));
    breaks(CLAUDE, "system.0.cachePoint", "first block", |body| body["system"] = json!([point(), text("x")]));
}

#[test]
fn families_cache_what_they_can() {
    let tools = |body: &mut Value| body["toolConfig"] = json!({"tools": [tool(), point()]});
    keeps(CLAUDE, tools);
    breaks(NOVA, "toolConfig.tools.1.cachePoint", "doesn't support", tools);
    breaks(LLAMA_4, "messages.0.content.1.cachePoint", "doesn't support", content(&[text("x"), point()]));
}

#[test]
fn there_are_four_at_most() {
    let with = |count: usize| {
        let pairs = (0..count).flat_map(|_| [text("x"), point()]);
        content(&pairs.collect::<Vec<_>>())
    };
    keeps(CLAUDE, with(4));
    breaks(CLAUDE, "", "A maximum of 4", with(5));
    breaks(CLAUDE, "", "Found 5", |body| {
        with(3)(body);
        body["system"] = json!([text("x"), point()]);
        body["toolConfig"] = json!({"tools": [tool(), point()]});
    });
}

#[test]
fn longer_lives_come_first_and_are_known() {
    let both = |system: &str, user: &str| {
        let (system, user) = (json!([text("x"), lasting(system)]), json!([text("x"), lasting(user)]));
        move |body: &mut Value| {
            body["system"] = system;
            body["messages"][0]["content"] = user;
        }
    };
    keeps(CLAUDE, both("1h", "5m"));
    keeps(CLAUDE, both("1h", "1h"));
    breaks(CLAUDE, "messages.0.content.1.cachePoint.ttl", "must not come after", both("5m", "1h"));
    breaks(CLAUDE, "system.1.cachePoint.ttl", "[5m, 1h]", both("2h", "5m"));
    let older = "us.anthropic.claude-sonnet-4-20250514-v1:0";
    breaks(older, "system.1.cachePoint.ttl", "doesn't support", both("1h", "5m"));
    breaks(NOVA, "system.1.cachePoint.ttl", "doesn't support", both("1h", "5m"));
    let mut typeless = point();
    typeless["cachePoint"]["type"] = "ephemeral".into();
    breaks(CLAUDE, "messages.0.content.1.cachePoint.type", "[default]", content(&[text("x"), typeless]));
}
