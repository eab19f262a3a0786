//! A request stays the prefix of the next one, and every request is legal: over generated conversations that grow, with
//! and without the state that was kept of them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::sync::Arc;

use crate::common::*;
use attache_conformance::validate_messages;
use attache_core::{
    AssistantPart, ChatRequest, ContentTree, Message, ToolCall, ToolResult, Transcript, UserMessage, UserPart,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// One step of an agent: what it says, which calls it makes, how they end, what happens beside them.
#[derive(Clone, Debug)]
struct Step {
    text: String,
    thought: bool,
    calls: Vec<Call>,
    event: bool,
}

#[derive(Clone, Debug)]
struct Call {
    foreign: bool,
    failed: bool,
    document: bool,
    result: String,
}

fn calls() -> impl Strategy<Value = Call> {
    (any::<bool>(), any::<bool>(), any::<bool>(), "[ a-z\"\\\\\n\u{e9}]{0,8}").prop_map(
        |(foreign, failed, document, result)| Call { foreign, failed, document: document && !failed, result },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = ("[ a-z\n]{0,6}", any::<bool>(), prop::collection::vec(calls(), 0..14), any::<bool>())
        .prop_map(|(text, thought, calls, event)| Step { text, thought, calls, event });
    prop::collection::vec(step, 1..7)
}

/// The messages at the time of each request.
fn conversation(steps: &[Step]) -> Vec<Vec<Arc<Message>>> {
    let mut messages = vec![Message::system("You are a clerk.").shared(), Message::user("Go.").shared()];
    let mut requests = vec![messages.clone()];
    for (number, step) in (0_u32..).zip(steps) {
        let calls: Vec<ToolCall> = (0_u32..)
            .zip(&step.calls)
            .map(|(at, made)| {
                let mut call = call(1000 * number + at, "files.read", r#"{ "path" : "a" }"#);
                if made.foreign {
                    call.provider_id = attache_core::ProviderCallId::parse(format!("functions.read:{at}"));
                }
                call
            })
            .collect();
        let thought = if step.thought { thinking("t", &format!("s{number}")) } else { None };
        let parts = [thought, AssistantPart::text(step.text.as_str())];
        messages
            .push(assistant(parts.into_iter().chain(calls.iter().map(|call| call.clone().into()))).shared());
        let results_of = calls.iter().zip(&step.calls).map(|(call, made)| {
            let status = if made.failed { attache_core::ResultStatus::Error } else { Default::default() };
            let result = ToolResult::new(call, status, ContentTree::text(&made.result));
            let document = made.document.then(|| UserPart::Document(pdf("b.pdf")));
            routed(result, [document])
        });
        messages.push(match calls.is_empty() {
            true => Message::user("Go on.").shared(),
            false => results(results_of).shared(),
        });
        if step.event {
            let event = UserMessage::event(ContentTree::value(&json!({"event": number})));
            messages.push(Message::User(event).shared());
        }
        requests.push(messages.clone());
    }
    requests
}

fn bytes(request: &ChatRequest) -> Vec<u8> {
    encode(request).unwrap().parts.body.to_vec()
}

/// Role and block of each content block in order, without markers.
fn blocks(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| {
        message["content"].as_array().unwrap().iter().map(|block| {
            let mut block = block.clone();
            block.as_object_mut().unwrap().shift_remove("cache_control");
            json!([message["role"], block])
        })
    });
    blocks.collect()
}

/// Where markers stand, counted in blocks, tools and system included.
fn marked(body: &Value) -> Vec<usize> {
    let lists = [&body["tools"], &body["system"]].into_iter().filter_map(Value::as_array);
    let messages =
        body["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_array());
    let all = lists.chain(messages).flatten();
    all.enumerate().filter(|(_, block)| block.get("cache_control").is_some()).map(|(at, _)| at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    // Invariants 3, 4 and 5; E17, E18, P20, P27
    #[test]
    fn growing_conversations(steps in steps()) {
        let (transcript, tools) = (Transcript::new(), Arc::new(tools()));
        let mut before: Option<(Vec<Value>, Vec<usize>)> = None;
        for messages in conversation(&steps) {
            let request = ChatRequest::new(messages).with_tools(Arc::clone(&tools));
            let fresh = bytes(&request);
            let kept = bytes(&request.with_transcript(transcript.clone()));
            prop_assert!(fresh == kept, "what is kept changes nothing");
            let body: Value = serde_json::from_slice(&fresh).unwrap();
            prop_assert_eq!(validate_messages(&body), Ok(()));
            let (blocks, marked) = (blocks(&body), marked(&body));
            prop_assert!(marked.len() <= 4);
            if let Some((earlier, earlier_marked)) = before {
                prop_assert_eq!(blocks.get(..earlier.len()).unwrap_or_default(), &earlier);
                // The end of the last request is read again.
                let end = earlier_marked.last().unwrap();
                let reads = |at: &usize| at >= end && at - end < 20;
                prop_assert!(marked.iter().any(reads), "{:?} reads nothing of {:?}", marked, earlier_marked);
            }
            before = Some((blocks, marked));
        }
    }

    // The window cuts rounds away at the front.
    #[test]
    fn shrinking_conversations(steps in steps(), cut in 0_usize..6) {
        let requests = conversation(&steps);
        let (transcript, tools) = (Transcript::new(), Arc::new(tools()));
        let all = requests.last().unwrap();
        let ask = |messages: Vec<Arc<Message>>| ChatRequest::new(messages).with_tools(Arc::clone(&tools));
        bytes(&ask(all.clone()).with_transcript(transcript.clone()));
        // From a user message on, the system message kept.
        let from = requests.get(cut.min(requests.len() - 1)).unwrap().len();
        let starts = |message: &Arc<Message>| matches!(&**message, Message::User(_));
        let rest = all.iter().skip(from).skip_while(|message| !starts(message)).cloned();
        let window: Vec<_> = all.iter().take(1).cloned().chain(rest).collect();
        prop_assume!(window.len() > 1);
        let fresh = bytes(&ask(window.clone()));
        prop_assert!(fresh == bytes(&ask(window).with_transcript(transcript)));
        prop_assert_eq!(validate_messages(&serde_json::from_slice(&fresh).unwrap()), Ok(()));
    }
}
