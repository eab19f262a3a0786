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
use attache_conformance::validate_converse;
use attache_core::{
    AssistantPart, ChatRequest, ContentTree, Message, ToolCall, ToolResult, Transcript, UserMessage,
    UserOrigin, UserPart,
};
use attache_transport::Codec as _;
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

/// The messages at the time of each request, with documents where the model takes them.
fn conversation(steps: &[Step], model: &str) -> Vec<Vec<Arc<Message>>> {
    let takes = of(model).capabilities().clone();
    let (pdf_type, png_type) = (pdf("x").media_type().clone(), png("x").media_type().clone());
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
        let mut beside = Vec::new();
        let results_of: Vec<ToolResult> = calls
            .iter()
            .zip(&step.calls)
            .enumerate()
            .map(|(at, (call, made))| {
                let status = if made.failed { attache_core::ResultStatus::Error } else { Default::default() };
                let result = ToolResult::new(call, status, ContentTree::text(&made.result));
                // The results of one turn hold five documents at most.
                let inside = made.document && at < 5 && takes.tool_result.accepts(&pdf_type);
                if made.document && !inside {
                    for document in [pdf("b.pdf"), png("b.png")] {
                        let media = document.media_type();
                        if [&pdf_type, &png_type].contains(&media) && takes.beside_result.accepts(media) {
                            beside.extend([UserPart::text("A file:"), document.into()]);
                        }
                    }
                }
                routed(result, [inside.then(|| UserPart::Document(pdf("b.pdf")))])
            })
            .collect();
        messages.push(match calls.is_empty() {
            true => Message::user("Go on.").shared(),
            false => results(results_of).shared(),
        });
        if !beside.is_empty() {
            let mut synthetic = UserMessage::new(beside);
            synthetic.origin = UserOrigin::ToolCallDocuments;
            messages.push(Message::User(synthetic).shared());
        }
        if step.event {
            let event = UserMessage::event(ContentTree::value(&json!({"event": number})));
            messages.push(Message::User(event).shared());
        }
        requests.push(messages.clone());
    }
    requests
}

fn bytes(request: &ChatRequest, model: &str) -> Vec<u8> {
    encode_for(request, &of(model)).unwrap().parts.body.to_vec()
}

fn is_point(block: &Value) -> bool {
    block.get("cachePoint").is_some()
}

/// Role and block of each content block in order, without cache points.
fn blocks(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| {
        let blocks = message["content"].as_array().unwrap().iter().filter(|block| !is_point(block));
        blocks.map(|block| json!([message["role"], block]))
    });
    blocks.collect()
}

/// Where cache points stand in the messages, counted in blocks.
fn marked(body: &Value) -> Vec<usize> {
    let messages = body["messages"].as_array().unwrap().iter();
    let all = messages.filter_map(|message| message["content"].as_array()).flatten();
    let mut count = 0;
    let mut marked = Vec::new();
    for block in all {
        match is_point(block) {
            true => marked.push(count),
            false => count += 1,
        }
    }
    marked
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    // Invariants 3, 4 and 5; E17, E18, P20, P27
    #[test]
    fn growing_conversations(steps in steps()) {
        let tools = Arc::new(tools());
        for model in MODELS {
            let transcript = Transcript::new();
            let mut before: Option<(Vec<Value>, Vec<usize>)> = None;
            for messages in conversation(&steps, model) {
                let request = ChatRequest::new(messages).with_tools(Arc::clone(&tools));
                let fresh = bytes(&request, model);
                let kept = bytes(&request.with_transcript(transcript.clone()), model);
                prop_assert!(fresh == kept, "what is kept changes nothing");
                let body: Value = serde_json::from_slice(&fresh).unwrap();
                prop_assert_eq!(validate_converse(model, &body), Ok(()), "{}", body);
                let (blocks, marked) = (blocks(&body), marked(&body));
                if let Some((earlier, earlier_marked)) = before {
                    prop_assert_eq!(blocks.get(..earlier.len()).unwrap_or_default(), &earlier);
                    // The end of the last request is read again.
                    if let Some(end) = earlier_marked.last() {
                        let reads = |at: &usize| at >= end && at - end < 20;
                        prop_assert!(marked.iter().any(reads), "{:?} reads nothing of {:?}", marked, earlier_marked);
                    }
                }
                before = Some((blocks, marked));
            }
        }
    }

    // The window cuts rounds away at the front.
    #[test]
    fn shrinking_conversations(steps in steps(), cut in 0_usize..6) {
        for model in MODELS {
            let requests = conversation(&steps, model);
            let (transcript, tools) = (Transcript::new(), Arc::new(tools()));
            let all = requests.last().unwrap();
            let ask = |messages: Vec<Arc<Message>>| ChatRequest::new(messages).with_tools(Arc::clone(&tools));
            bytes(&ask(all.clone()).with_transcript(transcript.clone()), model);
            // From a user message on, the system message kept.
            let from = requests.get(cut.min(requests.len() - 1)).unwrap().len();
            let starts = |message: &Arc<Message>| matches!(&**message, Message::User(_));
            let rest = all.iter().skip(from).skip_while(|message| !starts(message)).cloned();
            let window: Vec<_> = all.iter().take(1).cloned().chain(rest).collect();
            if window.len() > 1 {
                let fresh = bytes(&ask(window.clone()), model);
                prop_assert!(fresh == bytes(&ask(window).with_transcript(transcript), model));
                prop_assert_eq!(validate_converse(model, &serde_json::from_slice(&fresh).unwrap()), Ok(()));
            }
        }
    }
}
