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
use attache_conformance::validate_converse;
use attache_core::{AssistantPart, ChatRequest, Message, ProviderCallId, ToolCall, Transcript};
use attache_transport::Codec as _;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The messages at the time of each request, with documents where the model takes them: two inside the results of one
/// turn, others beside them.
fn conversation(steps: &[Step], model: &str) -> Vec<Vec<Arc<Message>>> {
    let codec = of(model);
    Growing { takes: codec.capabilities(), most_inside: 2, call: &made, thought: &thought }.requests(steps)
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
            if let Some(window) = window(&requests, cut) {
                let fresh = bytes(&ask(window.clone()), model);
                prop_assert!(fresh == bytes(&ask(window).with_transcript(transcript), model));
                prop_assert_eq!(validate_converse(model, &serde_json::from_slice(&fresh).unwrap()), Ok(()));
            }
        }
    }
}
