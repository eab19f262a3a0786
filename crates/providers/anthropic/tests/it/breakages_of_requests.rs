//! Reported breakages of other clients that a request causes, by their numbers in anthropic.md (a).
//! Tokens are not counted here (28), and how many images a request may hold is a matter of routing (30).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common;
use crate::common::*;
use attache_anthropic::MessagesCodec;
use attache_core::message::OpaquePart;
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{
    Arguments, AssistantPart, Effort, ErrorKind, Message, ModelSettings, ProviderCallId, Reasoning,
    ReasoningPart, ToolCall, ToolCallId, ToolDefinition, ToolResult, ToolSet, UserMessage, UserPart,
};
use serde_json::{Value, json};

fn blocks(body: &Value, message: usize) -> &Vec<Value> {
    body["messages"][message]["content"].as_array().unwrap()
}

fn error(messages: impl IntoIterator<Item = Message>) -> attache_core::ProviderError {
    encode(&request(messages)).unwrap_err()
}

#[test]
fn a01_calls_need_results() {
    let asks = assistant([call(1, "files.list", "{}").into(), call(2, "files.read", "{}").into()]);
    for history in [
        vec![Message::user("a"), asks.clone()],
        vec![Message::user("a"), asks.clone(), Message::user("b")],
        vec![Message::user("a"), asks, results([ToolResult::ok(&call(1, "files.list", "{}"), "x")])],
    ] {
        let error = error(history);
        assert_eq!(error.kind(), ErrorKind::InvalidHistory);
        assert!(error.message().contains("call_2 (files.read)"), "{error}");
    }
}

#[test]
fn a02_results_need_calls() {
    let stray = || ToolResult::ok(&call(9, "files.list", "{}"), "x");
    let asks = assistant([call(1, "files.list", "{}").into()]);
    for history in [
        vec![Message::user("a"), results([stray()])],
        vec![
            Message::user("a"),
            asks.clone(),
            results([ToolResult::ok(&call(1, "files.list", "{}"), "x"), stray()]),
        ],
        vec![
            Message::user("a"),
            asks,
            results([1, 1].map(|n| ToolResult::ok(&call(n, "files.list", "{}"), "x"))),
        ],
    ] {
        assert_eq!(error(history).kind(), ErrorKind::InvalidHistory);
    }
}

// E04 and E17 too

#[test]
fn a03_calls_without_text_keep_their_results() {
    let body = body(&request([
        Message::user("a"),
        assistant([AssistantPart::text(" \n"), call(1, "files.list", "{}").into()]),
        results([ToolResult::ok(&call(1, "files.list", "{}"), "x")]),
    ]));
    assert_eq!(
        blocks(&body, 1),
        &vec![json!({"type": "tool_use", "id": "toolu_1", "name": "files_list", "input": {}})]
    );
    assert_eq!((blocks(&body, 2).len(), &blocks(&body, 2)[0]["tool_use_id"]), (1, &json!("toolu_1")));
}

#[test]
fn a04_thinking_stands_before_the_calls_it_led_to() {
    let turn = |parts: Vec<Option<AssistantPart>>| {
        request([
            Message::user("a"),
            assistant(parts),
            results([ToolResult::ok(&call(1, "files.list", "{}"), "x")]),
        ])
    };
    let budget = ModelSettings::new().with_reasoning(Reasoning::Budget(2048));
    let thought =
        turn(vec![thinking("t", "s"), call(1, "files.list", "{}").into()]).with_settings(budget.clone());
    assert_eq!(blocks(&body(&thought), 1)[0]["type"], "thinking");

    // Begun without thinking, an open loop cannot go on with it.
    let unthought = turn(vec![call(1, "files.list", "{}").into()]);
    let strict = unthought.clone().with_settings(budget.clone());
    assert_eq!(encode(&strict).unwrap_err().kind(), ErrorKind::Unsupported);
    let lax = unthought.with_settings(budget.with_unsupported(Unsupported::Degrade));
    let encoded = encode(&lax).unwrap();
    assert_eq!(encoded.degradations[0].option, "reasoning");
    assert_eq!(body(&lax).get("thinking"), None);
}

#[test]
fn a06_foreign_thinking_stays_out() {
    let signed = |family: &str, model: &str| {
        let replay = replay_data(family, model, &json!({"signature": "s"}));
        Some(AssistantPart::Reasoning(ReasoningPart::new("t").with_replay(replay)))
    };
    let body = body(&request([
        Message::user("a"),
        assistant([
            signed("openai-responses", "gpt-5"),
            signed("anthropic", "claude-opus-4-8"),
            Some(AssistantPart::Reasoning(ReasoningPart::new("unsigned"))),
            AssistantPart::text("b"),
            Some(AssistantPart::Opaque(OpaquePart::new(
                "item",
                replay_data("openai-responses", "gpt-5", &json!({})),
            ))),
        ]),
        Message::user("c"),
    ]));
    assert_eq!(blocks(&body, 1).len(), 1);
    // A message that is left without anything is left out, and its neighbours join.
    let body = super_short([signed("gemini", "gemini-3")]);
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
}

fn super_short(parts: impl IntoIterator<Item = Option<AssistantPart>>) -> Value {
    body(&request([Message::user("a"), assistant(parts), Message::user("b")]))
}

#[test]
fn a09_no_text_is_blank() {
    let options = ModelSettings::new().with_system("  ");
    let asked = call(1, "files.list", "{}");
    let request = request([
        Message::system("\n"),
        Message::user(" "),
        Message::user("a"),
        assistant([AssistantPart::text(""), asked.clone().into()]),
        results([ToolResult::ok(&asked, "   ")]),
        Message::user("\t"),
    ]);
    let body = body(&request.with_settings(options));
    assert_eq!(body.get("system"), None);
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    assert_eq!(blocks(&body, 2)[0]["content"], "Tool execution succeeded, but returned no result.");
}

#[test]
fn a11_the_end_is_the_users() {
    let ends = || request([Message::user("a"), assistant([AssistantPart::text("b  \n")])]);
    assert_eq!(encode(&ends()).unwrap_err().kind(), ErrorKind::InvalidHistory);
    // Older models continue a text, which must not end in white space.
    let body = body_for(&ends(), &MessagesCodec::new("claude-sonnet-4-5"));
    assert_eq!(blocks(&body, 1)[0]["text"], "b");
    // Also where the parts behind it are not written.
    let unsigned = || Some(AssistantPart::Reasoning(ReasoningPart::new("unsigned")));
    let behind = request([Message::user("a"), assistant([AssistantPart::text("b \n"), unsigned()])]);
    let body = body_for(&behind, &MessagesCodec::new("claude-sonnet-4-5"));
    assert_eq!(*blocks(&body, 1), [json!({"type": "text", "text": "b"})]);
    // Every model continues a turn that its provider paused.
    let paused = request([Message::user("a"), assistant([server_call("srvtoolu_1")])]);
    assert_eq!(blocks(&common::body(&paused), 1)[0]["type"], "server_tool_use");
}

fn server_call(id: &str) -> Option<AssistantPart> {
    let block = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}});
    Some(AssistantPart::Opaque(OpaquePart::new("server_tool_use", replay_data("anthropic", MODEL, &block))))
}

#[test]
fn a15_combinators_at_the_root_of_a_tool() {
    let schema =
        json!({"type": "object", "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]});
    let tools = ToolSet::new([ToolDefinition::new("mcp_x___y", "", schema)]).unwrap();
    let request = request([Message::user("a")]).with_tools(tools);
    let error = encode(&request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("mcp_x___y"), "{error}");
    let lax = request.with_settings(ModelSettings::new().with_unsupported(Unsupported::Degrade));
    assert_eq!(encode(&lax).unwrap().degradations.len(), 1);
    assert_eq!(
        body(&lax)["tools"][0]["input_schema"],
        json!({"type": "object", "properties": {"a": {"type": "string"}}})
    );
}

#[test]
fn a16_names_are_legal_and_map_back() {
    let long = "x".repeat(90);
    let names = ["calculator.add", "calculator_add", "a/b c", &long];
    let tools = ToolSet::new(names.map(|name| ToolDefinition::new(name, "", json!({})))).unwrap();
    let body = body(&request([Message::user("a")]).with_tools(tools.clone()));
    for (tool, name) in body["tools"].as_array().unwrap().iter().zip(names) {
        let wire = tool["name"].as_str().unwrap();
        assert!(wire.len() <= 64 && wire.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
        assert_eq!(tools.internal_name(wire), name);
    }
    let called = reply(
        &[start(0, &json!({"type": "tool_use", "id": "t", "name": "files_list", "input": {}})), stop(0)],
        "tool_use",
    );
    assert_eq!(completion(&called).message.tool_calls().next().unwrap().name, "files.list");
}

// and a31

#[test]
fn a17_ids_of_elsewhere_are_mapped_alike() {
    let made = |id: &str, provider_id: Option<&str>| {
        ToolCall::new("files.list", Arguments::new("{}"))
            .with_id(ToolCallId::parse(id).unwrap())
            .with_provider_id(provider_id.and_then(ProviderCallId::parse))
    };
    let calls = [
        made("call_a", Some("functions.x:0")),
        made("call_b", Some("toolu_1")),
        made("call_c", Some("toolu_1")),
        made("call_d", None),
        made("functions.y:1", None),
        made("call_e", Some("functions.x:0")),
    ];
    let mut messages = vec![Message::user("a")];
    for call in &calls {
        messages.push(assistant([call.clone().into()]));
        messages.push(results([ToolResult::ok(call, "x")]));
    }
    let body = body(&request(messages));
    let ids: Vec<_> = (0..calls.len())
        .map(|at| {
            (blocks(&body, 2 * at + 1)[0]["id"].clone(), blocks(&body, 2 * at + 2)[0]["tool_use_id"].clone())
        })
        .collect();
    let expected = ["functions_x_0", "toolu_1", "call_c", "call_d", "functions_y_1", "call_e"];
    assert_eq!(ids, expected.map(|id| (json!(id), json!(id))));
}

#[test]
fn a17_a_result_that_lost_the_providers_id() {
    let asked = call(1, "files.list", "{}");
    let mut result = ToolResult::ok(&asked, "x");
    result.provider_id = None;
    let body = body(&request([Message::user("a"), assistant([asked.into()]), results([result])]));
    assert_eq!(blocks(&body, 2)[0]["tool_use_id"], "toolu_1");
}

fn long_conversation(steps: u32) -> Vec<Message> {
    let mut messages = vec![Message::system("s"), Message::user("a")];
    for number in 0..steps {
        let asked: Vec<ToolCall> = (0..12).map(|at| call(100 * number + at, "files.list", "{}")).collect();
        messages.push(assistant(asked.iter().map(|call| call.clone().into())));
        messages.push(results(asked.iter().map(|call| ToolResult::ok(call, "x"))));
    }
    messages
}

fn markers(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("cache_control").cloned());
            members.values().for_each(|member| markers(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| markers(item, found)),
        _ => {}
    }
}

// P27

#[test]
fn a18_at_most_four_markers_and_a19_of_one_lifetime() {
    for (policy, marker) in [
        (CachePolicy::Short, json!({"type": "ephemeral"})),
        (CachePolicy::Long, json!({"type": "ephemeral", "ttl": "1h"})),
    ] {
        for steps in 0..6 {
            let request = request(long_conversation(steps)).with_tools(tools());
            let mut found = Vec::new();
            markers(&body(&request.with_settings(ModelSettings::new().with_cache(policy))), &mut found);
            assert!((3..=4).contains(&found.len()), "{}", found.len());
            assert!(found.iter().all(|found| *found == marker));
        }
    }
    let options = ModelSettings::new().with_extra_body("cache_control", json!({"type": "ephemeral"}));
    let mut found = Vec::new();
    markers(&body(&request(long_conversation(3)).with_tools(tools()).with_settings(options)), &mut found);
    assert_eq!(found.len(), 4, "the caller's own marker counts");
}

#[test]
fn a18_the_callers_markers_on_tools_count() {
    let search =
        |marker: Value| json!({"type": "web_search_20250305", "name": "web_search", "cache_control": marker});
    let fetch = json!({"type": "web_fetch_20250910", "name": "web_fetch"});
    let short = || json!({"type": "ephemeral"});
    let found = |extra: Value, settings: ModelSettings, steps| {
        let request = request(long_conversation(steps)).with_tools(tools());
        let request = request.with_settings(settings.with_extra_body("tools", extra));
        let mut found = Vec::new();
        encode(&request).map(|_| markers(&body(&request), &mut found)).map_err(|error| error.to_string())?;
        Ok::<_, String>(found)
    };
    // A step of more than 20 blocks has a marker more; the marked tool is the last one, or the first of two.
    for extra in [json!([search(short())]), json!([search(short()), fetch])] {
        for steps in 0..4 {
            let found = found(extra.clone(), ModelSettings::new(), steps).unwrap();
            assert!((3..=4).contains(&found.len()), "{steps}: {}", found.len());
        }
    }
    let unmarked = found(json!([search(Value::Null)]), ModelSettings::new(), 0).unwrap();
    assert_eq!(unmarked.iter().filter(|marker| !marker.is_null()).count(), 3, "tools, system, the end");

    // a19
    let long = || ModelSettings::new().with_cache(CachePolicy::Long);
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(found(json!([search(hour.clone())]), long(), 1).unwrap(), vec![hour.clone(); 4]);
    let error = found(json!([search(short())]), long(), 1).unwrap_err();
    assert!(error.contains("an hour may not stand behind"), "{error}");
    let lax = long().with_unsupported(Unsupported::Degrade);
    assert_eq!(found(json!([search(short())]), lax, 1).unwrap(), vec![short(); 4]);
    let whole = ModelSettings::new().with_extra_body("cache_control", hour.clone());
    assert_eq!(found(json!([fetch]), whole, 1).unwrap(), vec![hour; 4]);
}

#[test]
fn a18_long_steps_have_a_marker_in_their_midst() {
    let marked = |calls: u32| -> Vec<usize> {
        let asked: Vec<ToolCall> = (0..calls).map(|at| call(at, "files.list", "{}")).collect();
        let messages = [
            Message::system("s"),
            Message::user("a"),
            assistant(asked.iter().map(|call| call.clone().into())),
            results(asked.iter().map(|call| ToolResult::ok(call, "x"))),
        ];
        let body = body(&request(messages).with_tools(tools()));
        let mut tools = Vec::new();
        markers(&body["tools"], &mut tools);
        let has = |message: &usize| {
            let mut found = Vec::new();
            markers(&body["messages"][*message], &mut found);
            !found.is_empty()
        };
        (0..3).filter(has).chain(tools.iter().map(|_| 9)).collect()
    };
    // The end, the end before, and the tools; or, after more than 20 blocks, the calls instead of the tools.
    assert_eq!(marked(10), [0, 2, 9]);
    assert_eq!(marked(11), [0, 1, 2]);
}

#[test]
fn a20_results_are_marked_and_not_their_insides() {
    let asked = call(1, "files.read", "{}");
    let result = routed(ToolResult::ok(&asked, "x"), [pdf("a.pdf").into()]);
    let body = body(
        &request([Message::user("a"), assistant([asked.into()]), results([result])]).with_tools(tools()),
    );
    let result = &blocks(&body, 2)[0];
    assert_eq!(result["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(result["content"].as_array().unwrap().len(), 2);
    assert!(result["content"].as_array().unwrap().iter().all(|block| block.get("cache_control").is_none()));
}

#[test]
fn a22_options_are_held_against_the_model() {
    let tried = |model: &str, options: ModelSettings| {
        encode_for(&request([Message::user("a")]).with_settings(options), &MessagesCodec::new(model))
            .map_err(|error| error.kind())
    };
    let temperature = || ModelSettings::new().with_temperature(0.2);
    assert!(tried("claude-sonnet-4-5", temperature()).is_ok());
    assert_eq!(tried("claude-opus-4-7", temperature()).unwrap_err(), ErrorKind::Unsupported);
    assert!(tried("claude-3-5-haiku-latest", temperature().with_top_p(0.9)).is_ok());
    assert_eq!(
        tried("claude-sonnet-4-5", temperature().with_top_p(0.9)).unwrap_err(),
        ErrorKind::Unsupported
    );
    let budget = || ModelSettings::new().with_reasoning(Reasoning::Budget(4096));
    assert!(tried("claude-sonnet-4-5", budget()).is_ok());
    assert_eq!(tried("claude-opus-5", budget()).unwrap_err(), ErrorKind::Unsupported);
    assert_eq!(
        tried("claude-sonnet-4-5", budget().with_temperature(0.2)).unwrap_err(),
        ErrorKind::Unsupported
    );
}

#[test]
fn a23_the_version_is_pinned() {
    let version = |codec: &MessagesCodec| {
        let encoded = encode_for(&request([Message::user("a")]), codec).unwrap();
        let header = encoded.parts.shown_headers().find(|(name, _)| *name == "anthropic-version");
        header.map(|(_, value)| value.to_owned()).unwrap()
    };
    assert_eq!(version(&codec()), "2023-06-01");
    let newer = MessagesCodec::new("claude-sonnet-4-5").with_version("2026-10-21");
    assert_eq!(version(&newer), "2026-10-21");
    let sampled = request([Message::user("a")]).with_settings(ModelSettings::new().with_temperature(0.1));
    assert_eq!(encode_for(&sampled, &newer).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a25_server_calls_that_nobody_answered() {
    let answer = |id: &str| {
        let block = json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []});
        Some(AssistantPart::Opaque(OpaquePart::new(
            "web_search_tool_result",
            replay_data("anthropic", MODEL, &block),
        )))
    };
    let kinds = |messages: Vec<Message>| -> Vec<String> {
        let body = body(&request(messages));
        let messages =
            body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
        messages
            .flat_map(|message| message["content"].as_array().unwrap().clone())
            .map(|block| block["type"].as_str().unwrap().to_owned())
            .collect()
    };
    let parts = || [AssistantPart::text("t"), server_call("s1"), answer("s1"), server_call("s2")];
    let pairs = ["text", "server_tool_use", "web_search_tool_result"];
    // Interrupted by the user; paused; continued, in a message of its own.
    assert_eq!(kinds(vec![Message::user("a"), assistant(parts()), Message::user("b")]), pairs);
    let paused = vec![Message::user("a"), assistant(parts())];
    assert_eq!(kinds(paused.clone()).len(), 4);
    let mut continued = paused;
    continued.extend([assistant([answer("s2"), AssistantPart::text("u")]), Message::user("b")]);
    assert_eq!(kinds(continued).len(), 6);
    // Code at the provider waits for the client's tools.
    let asked = call(1, "files.list", "{}");
    let waits = vec![
        Message::user("a"),
        assistant([server_call("s3"), asked.clone().into()]),
        results([ToolResult::ok(&asked, "x")]),
    ];
    assert_eq!(kinds(waits), ["server_tool_use", "tool_use"]);
    // A window that has moved on shows what answers, and no longer what called.
    let parts = [answer("s4"), AssistantPart::text("t")];
    let moved = vec![Message::user("a"), assistant(parts), Message::user("b")];
    assert_eq!(kinds(moved), ["text"]);
    let given_up = vec![
        Message::user("a"),
        assistant([server_call("s5"), AssistantPart::text("t")]),
        Message::user("b"),
        assistant([answer("s5"), AssistantPart::text("u")]),
        Message::user("c"),
    ];
    assert_eq!(kinds(given_up), ["text", "text"]);
}

#[test]
fn a33_a_turn_that_was_handed_over_goes_back_without_what_was_cut() {
    let fallback =
        json!({"type": "fallback", "from": {"model": MODEL}, "to": {"model": "b"}, "trigger": null});
    let body = reply(
        &[
            start(0, &json!({"type": "text", "text": "I "})),
            start(1, &json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})),
            start(2, &json!({"type": "tool_use", "id": "t1", "name": "files_list", "input": {}})),
            start(3, &fallback),
            start(4, &json!({"type": "tool_use", "id": "t2", "name": "files_list", "input": {}})),
        ],
        "tool_use",
    );
    let message = completion(&body).message;
    let answers: Vec<_> = message.tool_calls().map(|call| ToolResult::ok(call, "x")).collect();
    let body = common::body(&request([Message::user("a"), Message::Assistant(message), results(answers)]));
    let kinds: Vec<_> = blocks(&body, 1).iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "fallback", "tool_use"]);
    assert_eq!(blocks(&body, 1)[1], fallback);
    assert_eq!(blocks(&body, 2).len(), 1);
}

#[test]
fn a27_efforts_are_held_against_the_model() {
    let asked = |effort: Effort| {
        request([Message::user("a")])
            .with_settings(ModelSettings::new().with_reasoning(Reasoning::Effort(effort)))
    };
    let known = body(&asked(Effort::Max));
    assert_eq!(
        (&known["output_config"], &known["thinking"]),
        (&json!({"effort": "max"}), &json!({"type": "adaptive"}))
    );
    let error = encode(&asked(Effort::XHigh)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("low, medium, high, max, not xhigh"), "{error}");
    let mut lax = asked(Effort::XHigh);
    lax.settings.unsupported = Some(Unsupported::Degrade);
    assert_eq!(body(&lax)["output_config"], json!({"effort": "high"}));
    assert_eq!(encode(&lax).unwrap().degradations[0].option, "reasoning");
}

#[test]
fn a29_what_is_too_large_never_enters() {
    let huge = attache_core::Document::from_bytes([PNG, &[0; 4_000_000]].concat(), "image/png");
    let error = error([Message::User(UserMessage::new([UserPart::text("a"), huge.into()]))]);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("3932160"), "{error}");
}

#[test]
fn a32_an_image_needs_no_text() {
    let image = Message::User(UserMessage::new([UserPart::text(""), png("a.png").into()]));
    assert_eq!(blocks(&body(&request([image])), 0).len(), 1);
}
