//! Properties of growing conversations on Responses: invariants 3 to 5.

#![cfg(test)]

use std::sync::Arc;

use attache_core::message::{Routed, UserOrigin};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, Document, Message, ProviderCallId, ToolCall,
    ToolDefinition, ToolResult, ToolResultsMessage, ToolSet, Transcript, UserMessage, UserPart,
};
use attache_openai::{ResponsesCodec, SystemPlace};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::items::{asks, at, encode, judged, kept, profile, says, thought};

/// A piece of conversation that may be sent when it is over.
#[derive(Clone, Debug)]
enum Step {
    User(String),
    System(String),
    /// Of another server, with calls or without.
    Foreign {
        text: String,
        calls: Vec<(Option<String>, String, String)>,
        documents: bool,
    },
    /// Output items of one of our models: reasoning, messages, calls, and one that we do not know.
    Own {
        model: bool,
        items: Vec<(u8, u8)>,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let text = "[ -~é\n\"\\\\]{0,40}";
    let call =
        (proptest::option::of("[a-z.:]{1,2}|x{70}"), "tool\\.[ab]|gone", "|\\{\\}|\\{\"a\":1\\}|\\{\"a\"");
    prop_oneof![
        3 => text.prop_map(Step::User),
        1 => text.prop_map(Step::System),
        3 => (text, prop::collection::vec(call, 0..4), any::<bool>())
            .prop_map(|(text, calls, documents)| Step::Foreign { text, calls, documents }),
        4 => (any::<bool>(), prop::collection::vec((0u8..5, 0u8..4), 0..7))
            .prop_map(|(model, items)| Step::Own { model, items }),
    ]
}

/// The messages of a step; `at` makes ids of items differ between answers, as they do.
fn messages(name: &str, at_step: usize, step: &Step) -> Vec<Arc<Message>> {
    let (parts, text, documents) = match step {
        Step::User(text) => return vec![Message::user(text.as_str()).shared()],
        Step::System(text) => return vec![Message::system(text.as_str()).shared()],
        Step::Foreign { text, calls, documents } => {
            let calls = calls.iter().map(|(id, name, arguments)| {
                let id = id.as_ref().and_then(ProviderCallId::parse);
                ToolCall::new(name.as_str(), Arguments::new(arguments.as_str())).with_provider_id(id).into()
            });
            (
                [AssistantPart::text(text.as_str())].into_iter().chain(calls).collect(),
                text.as_str(),
                *documents,
            )
        }
        Step::Own { model, items } => {
            let items = items.iter().enumerate().map(|(at, (kind, number))| {
                let id = |kind: &str| format!("{kind}_{at_step}_{at}");
                match kind {
                    0 => thought(&id("rs"), "gAAA"),
                    1 => says(&id("msg"), ["", "a", "é\"", "  "][usize::from(*number)]),
                    // Few different ids, so that they repeat.
                    2 => asks(&id("fc"), &format!("call_{number}"), "tool_a"),
                    3 => json!({"type": "reasoning", "id": id("rs"), "summary": []}),
                    _ => json!({"type": "web_search_call", "id": id("ws"), "status": "completed"}),
                }
            });
            let codec = at(name, if *model { MODEL } else { "gpt-5.5" });
            (kept(&codec, &items.collect::<Vec<_>>()), "x", false)
        }
    };
    let asks = AssistantMessage::new(parts);
    let results = asks.tool_calls().map(|call| {
        let mut result = ToolResult::ok(call, text);
        result.routed = Some(Routed::new(UserPart::text("a note").into_iter().collect(), 1));
        result
    });
    let results = ToolResultsMessage::new(results.collect::<Vec<_>>());
    let has_calls = asks.has_tool_calls();
    let mut all = vec![Message::Assistant(asks).shared()];
    if has_calls {
        all.push(Message::ToolResults(results).shared());
    }
    if documents && has_calls {
        let png = Document::from_bytes(&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "image/png");
        let mut synthetic = UserMessage::new([UserPart::text("[x.png]"), png.into()]);
        synthetic.origin = UserOrigin::ToolCallDocuments;
        all.push(Message::User(synthetic).shared());
    }
    all
}

const MODEL: &str = "gpt-5.6";

fn tools() -> Arc<ToolSet> {
    let names = ["tool.a", "tool.b"].map(|name| ToolDefinition::new(name, "does", json!({})));
    Arc::new(ToolSet::new(names).unwrap())
}

fn codec(name: &str, merged: bool) -> ResponsesCodec {
    let mut profile = profile(name);
    if merged {
        profile.system_place = SystemPlace::MergedFirst;
    }
    let matrix = attache_core::capability::Matrix::bundled();
    let capabilities = matrix.resolve("openai-responses", MODEL);
    ResponsesCodec::new(profile, MODEL).with_capabilities(capabilities)
}

fn body(codec: &ResponsesCodec, request: &ChatRequest) -> String {
    String::from_utf8(encode(codec, request).parts.body.to_vec()).unwrap()
}

/// The text between the brackets of the items.
fn items(body: &str) -> &str {
    let start = body.find("\"input\":[").unwrap() + "\"input\":[".len();
    let tail = ["],\"store\":", "],\"include\":", "],\"stream\":"];
    let end = tail.iter().filter_map(|tail| body.rfind(tail)).min().unwrap();
    &body[start..end]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_request_is_a_prefix_of_the_next(
        steps in prop::collection::vec(step(), 1..8),
        name in prop::sample::select(vec!["openai", "xai-responses", "deepseek-responses", "openrouter-responses"]),
        merged in any::<bool>(),
    ) {
        let codec = codec(name, merged);
        let (tools, transcript) = (tools(), Transcript::new());
        // Instructions at the start are one message, so they must be complete before anything is sent.
        let mut history = vec![Message::user("start").shared()];
        let mut before = String::new();
        for (at, step) in steps.iter().enumerate() {
            history.extend(messages(name, at, step));
            let request = ChatRequest::new(history.iter().cloned()).with_tools(Arc::clone(&tools));
            let fresh = body(&codec, &request);
            let kept = body(&codec, &request.with_transcript(transcript.clone()));
            prop_assert_eq!(&kept, &fresh, "a transcript changes nothing");
            let now = items(&fresh);
            prop_assert!(now.starts_with(&before), "{} does not start with {}", now, before);
            let value: Value = serde_json::from_str(&fresh).unwrap();
            judged(&codec, &value);
            before = now.to_owned();
        }
    }

    #[test]
    fn a_window_keeps_the_rest_as_it_was(steps in prop::collection::vec(step(), 3..8), evicted in 1usize..3) {
        let codec = codec("openai", false);
        let transcript = Transcript::new();
        let pieces: Vec<_> = steps.iter().enumerate().map(|(at, step)| messages("openai", at, step)).collect();
        let request = |from: usize| {
            let start = [Message::user("start").shared()];
            ChatRequest::new(start.into_iter().chain(pieces[from..].concat()))
        };
        body(&codec, &request(0).with_transcript(transcript.clone()));
        let windowed = body(&codec, &request(evicted).with_transcript(transcript));
        prop_assert_eq!(windowed, body(&codec, &request(evicted)));
    }
}
