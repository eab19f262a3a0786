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
use attache_conformance::conversation::{Growing, Made, Step, steps, window};
use attache_conformance::validate_messages;
use attache_core::{AssistantPart, ChatRequest, Message, ProviderCallId, ToolCall, Transcript};
use attache_transport::Codec as _;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The messages at the time of each request.
fn conversation(steps: &[Step]) -> Vec<Vec<Arc<Message>>> {
    let codec = codec();
    Growing { takes: codec.capabilities(), most_inside: 20, call: &made, thought: &thought }.requests(steps)
}

fn made(step: u32, at: u32, made: &Made) -> ToolCall {
    let mut call = call(1000 * step + at, "files.read", r#"{ "path" : "a" }"#);
    if made.foreign {
        call.provider_id = ProviderCallId::parse(format!("functions.read:{at}"));
    }
    call
}

fn thought(step: u32) -> Option<AssistantPart> {
    thinking("t", &format!("s{step}"))
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
        let window = window(&requests, cut);
        prop_assume!(window.is_some());
        let window = window.unwrap();
        let fresh = bytes(&ask(window.clone()));
        prop_assert!(fresh == bytes(&ask(window).with_transcript(transcript)));
        prop_assert_eq!(validate_messages(&serde_json::from_slice(&fresh).unwrap()), Ok(()));
    }
}
