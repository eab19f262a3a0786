//! Properties of growing conversations: invariants 3 to 5.

#![cfg(test)]

use std::sync::Arc;

use attache_conformance::validate_chat;
use attache_core::message::{Routed, UserOrigin};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, Document, Message, ProviderCallId, ToolCall,
    ToolDefinition, ToolResult, ToolResultsMessage, ToolSet, Transcript, UserMessage, UserPart,
};
use attache_openai::{ChatCodec, Profile};
use attache_transport::{Ask, Codec as _};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A piece of conversation that may be sent when it is over.
#[derive(Clone, Debug)]
enum Step {
    User(String),
    Says(String),
    Calls { text: String, calls: Vec<(Option<String>, String, String)>, documents: bool },
    System(String),
}

fn step() -> impl Strategy<Value = Step> {
    let text = "[ -~é\n\"\\\\]{0,40}";
    let call =
        (proptest::option::of("[a-z.:]{1,6}|x{70}"), "tool\\.[ab]|gone", "|\\{\\}|\\{\"a\":1\\}|\\{\"a\"");
    prop_oneof![
        3 => text.prop_map(Step::User),
        2 => text.prop_map(Step::Says),
        3 => (text, prop::collection::vec(call, 1..4), any::<bool>())
            .prop_map(|(text, calls, documents)| Step::Calls { text, calls, documents }),
        1 => text.prop_map(Step::System),
    ]
}

fn messages(step: &Step) -> Vec<Arc<Message>> {
    match step {
        Step::User(text) => vec![Message::user(text.as_str()).shared()],
        Step::Says(text) => vec![Message::assistant(text.as_str()).shared()],
        Step::System(text) => vec![Message::system(text.as_str()).shared()],
        Step::Calls { text, calls, documents } => {
            let calls: Vec<_> = calls
                .iter()
                .map(|(id, name, arguments)| {
                    let id = id.as_ref().and_then(ProviderCallId::parse);
                    ToolCall::new(name.as_str(), Arguments::new(arguments.as_str())).with_provider_id(id)
                })
                .collect();
            let parts = calls.iter().map(|call| Some(AssistantPart::ToolCall(call.clone())));
            let asks = AssistantMessage::new([AssistantPart::text(text.as_str())].into_iter().chain(parts));
            let results = calls.iter().map(|call| {
                let mut result = ToolResult::ok(call, text);
                result.routed = Some(Routed::new(UserPart::text("a note").into_iter().collect(), 1));
                result
            });
            let results = ToolResultsMessage::new(results);
            let mut all = vec![Message::Assistant(asks).shared(), Message::ToolResults(results).shared()];
            if *documents {
                let png = Document::from_bytes(&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "image/png");
                let mut synthetic = UserMessage::new([UserPart::text("[x.png]"), png.into()]);
                synthetic.origin = UserOrigin::ToolCallDocuments;
                all.push(Message::User(synthetic).shared());
            }
            all
        }
    }
}

fn tools() -> Arc<ToolSet> {
    let names = ["tool.a", "tool.b"].map(|name| ToolDefinition::new(name, "does", json!({})));
    Arc::new(ToolSet::new(names).unwrap())
}

fn body(codec: &ChatCodec, request: &ChatRequest) -> Result<String, attache_core::ErrorKind> {
    let encoded = codec.encode(Ask::new(request, &request.settings, None)).map_err(|error| error.kind())?;
    Ok(String::from_utf8(encoded.parts.body.to_vec()).unwrap())
}

/// The text between the brackets of the messages.
fn items(body: &str) -> &str {
    let start = body.find("\"messages\":[").unwrap() + "\"messages\":[".len();
    let end = body.rfind("],\"stream\":true").unwrap();
    &body[start..end]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_request_is_a_prefix_of_the_next(steps in prop::collection::vec(step(), 1..8), merged in any::<bool>()) {
        let profile = if merged { Profile::compatible("c", "http://localhost/v1") } else { (*Profile::openai_chat()).clone() };
        let matrix = attache_core::capability::Matrix::bundled().merged_with("[compatible]\nuser.media = ['+image/png']").unwrap();
        let capabilities = matrix.resolve(&profile.family, "gpt-4o");
        let codec = ChatCodec::new(profile, "gpt-4o").with_capabilities(capabilities);
        let (tools, transcript) = (tools(), Transcript::new());
        // Instructions at the start are one message, so they must be complete before anything is sent.
        let mut history = vec![Message::user("start").shared()];
        let mut before = String::new();
        for step in &steps {
            history.extend(messages(step));
            let request = ChatRequest::new(history.iter().cloned()).with_tools(Arc::clone(&tools));
            let fresh = body(&codec, &request).unwrap();
            let kept = body(&codec, &request.with_transcript(transcript.clone())).unwrap();
            prop_assert_eq!(&kept, &fresh, "a transcript changes nothing");
            let now = items(&fresh);
            prop_assert!(now.starts_with(&before), "{} does not start with {}", now, before);
            let value: Value = serde_json::from_str(&fresh).unwrap();
            if !merged {
                prop_assert!(validate_chat(&value).is_ok(), "{:?} in {}", validate_chat(&value), fresh);
            }
            before = now.to_owned();
        }
    }

    #[test]
    fn a_window_keeps_the_rest_as_it_was(steps in prop::collection::vec(step(), 3..8), evicted in 1usize..3) {
        let codec = ChatCodec::new(Profile::openai_chat(), "gpt-4o");
        let transcript = Transcript::new();
        let pieces: Vec<_> = steps.iter().map(messages).collect();
        let request = |from: usize| {
            let start = [Message::user("start").shared()];
            ChatRequest::new(start.into_iter().chain(pieces[from..].concat()))
        };
        body(&codec, &request(0).with_transcript(transcript.clone())).unwrap();
        let windowed = body(&codec, &request(evicted).with_transcript(transcript)).unwrap();
        let fresh = body(&codec, &request(evicted)).unwrap();
        prop_assert_eq!(windowed, fresh);
    }
}
