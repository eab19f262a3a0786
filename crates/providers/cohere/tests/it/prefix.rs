//! Properties of growing conversations: invariants 3 to 5.

use std::sync::Arc;

use attache_core::message::{OpaquePart, ReplayData, Routed};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, Message, ProviderCallId, ToolCall, ToolResult,
    ToolSet, Transcript, UserPart,
};
use attache_transport::{Ask, Codec as _};
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::common::{MODEL, answers, codec, tools};

/// A piece of conversation that may be sent when it is over.
#[derive(Clone, Debug)]
enum Step {
    User(String),
    Says(String),
    Calls { text: String, calls: Vec<(Option<String>, String, String)> },
    System(String),
}

fn step() -> impl Strategy<Value = Step> {
    let text = "[ -~é\n\"\\\\]{0,40}";
    let call =
        (proptest::option::of("[a-z.:]{1,3}"), "weather\\.now|clock|gone", "|\\{\\}|\\{\"a\":1\\}|\\{\"a\"");
    prop_oneof![
        3 => text.prop_map(Step::User),
        2 => text.prop_map(Step::Says),
        3 => (text, prop::collection::vec(call, 1..4)).prop_map(|(text, calls)| Step::Calls { text, calls }),
        1 => text.prop_map(Step::System),
    ]
}

fn messages(step: &Step) -> Vec<Arc<Message>> {
    match step {
        Step::User(text) => vec![Message::user(text.as_str()).shared()],
        Step::Says(text) => vec![Message::assistant(text.as_str()).shared()],
        Step::System(text) => vec![Message::system(text.as_str()).shared()],
        Step::Calls { text, calls } => {
            let calls: Vec<_> = calls
                .iter()
                .map(|(id, name, arguments)| {
                    let id = id.as_ref().and_then(ProviderCallId::parse);
                    ToolCall::new(name.as_str(), Arguments::new(arguments.as_str())).with_provider_id(id)
                })
                .collect();
            let raw = RawValue::from_string(Value::from(text.as_str()).to_string()).unwrap();
            let plan = OpaquePart::new("tool_plan", ReplayData::new("cohere", MODEL, raw));
            let parts = calls.iter().map(|call| Some(AssistantPart::ToolCall(call.clone())));
            let parts = [AssistantPart::text(text.as_str()), Some(AssistantPart::Opaque(plan))]
                .into_iter()
                .chain(parts);
            let results = calls.iter().map(|call| {
                let mut result = ToolResult::ok(call, text);
                result.routed = Some(Routed::new(UserPart::text("a note").into_iter().collect(), 1));
                result
            });
            vec![Message::Assistant(AssistantMessage::new(parts)).shared(), answers(results)]
        }
    }
}

fn body(request: &ChatRequest) -> String {
    let encoded = codec().encode(Ask::new(request, &request.settings, None)).unwrap();
    String::from_utf8(encoded.parts.body.to_vec()).unwrap()
}

/// The text between the brackets of the messages.
fn items(body: &str) -> &str {
    let start = body.find("\"messages\":[").unwrap() + "\"messages\":[".len();
    &body[start..body.rfind("],\"stream\":true").unwrap()]
}

/// No blank text, and every result directly after its call.
fn check(body: &str) -> Result<(), TestCaseError> {
    let body: Value = serde_json::from_str(body).unwrap();
    let mut open: Vec<&str> = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            prop_assert_eq!(Some(open.remove(0)), message["tool_call_id"].as_str());
        } else {
            prop_assert!(open.is_empty());
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str()));
        if let Some(blocks) = message["content"].as_array() {
            prop_assert!(
                blocks.iter().all(|block| block["text"].as_str().is_some_and(|text| !text.trim().is_empty()))
            );
        }
    }
    prop_assert!(open.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_request_is_a_prefix_of_the_next(steps in prop::collection::vec(step(), 1..8)) {
        let (tools, transcript): (Arc<ToolSet>, _) = (Arc::new(tools()), Transcript::new());
        let mut history = vec![Message::user("start").shared()];
        let mut before = String::new();
        for step in &steps {
            history.extend(messages(step));
            let request = ChatRequest::new(history.iter().cloned()).with_tools(Arc::clone(&tools));
            let fresh = body(&request);
            prop_assert_eq!(&body(&request.with_transcript(transcript.clone())), &fresh, "a transcript changes nothing");
            let now = items(&fresh);
            prop_assert!(now.starts_with(&before), "{} does not start with {}", now, before);
            check(&fresh)?;
            before = now.to_owned();
        }
    }

    #[test]
    fn a_window_keeps_the_rest_as_it_was(steps in prop::collection::vec(step(), 3..8), evicted in 1_usize..3) {
        let transcript = Transcript::new();
        let pieces: Vec<_> = steps.iter().map(messages).collect();
        let request = |from: usize| {
            let start = [Message::user("start").shared()];
            ChatRequest::new(start.into_iter().chain(pieces[from..].concat()))
        };
        body(&request(0).with_transcript(transcript.clone()));
        prop_assert_eq!(body(&request(evicted).with_transcript(transcript)), body(&request(evicted)));
    }
}
