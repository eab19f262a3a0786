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
use attache_conformance::validate_gemini;
use attache_core::{ChatRequest, Message, ProviderCallId, ToolCall, Transcript};
use attache_transport::Codec as _;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The messages at the time of each request.
fn conversation(steps: &[Step]) -> Vec<Vec<Arc<Message>>> {
    let codec = codec();
    let thought = |_| thinking("t", Some("c2ln"));
    Growing { takes: codec.capabilities(), most_inside: 20, call: &made, thought: &thought }.requests(steps)
}

fn made(step: u32, at: u32, made: &Made) -> ToolCall {
    let mut call = call(1000 * step + at, "files.read", r#"{ "path" : "a" }"#);
    if made.foreign {
        call.provider_id = ProviderCallId::parse("functions.read:0");
    } else if at == 0 {
        call = call.with_replay(replay_of(MODEL, "c2ln"));
    }
    call
}

fn bytes(request: &ChatRequest) -> Vec<u8> {
    encode(request).unwrap().parts.body.to_vec()
}

/// Role and part of each part in order.
fn parts(body: &Value) -> Vec<Value> {
    let contents = body["contents"].as_array().unwrap().iter();
    let parts = contents.flat_map(|content| {
        content["parts"].as_array().unwrap().iter().map(|part| json!([content["role"], part]))
    });
    parts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    // Invariants 3, 4 and 5; E17, E18, P20
    #[test]
    fn growing_conversations(steps in steps()) {
        let (transcript, tools) = (Transcript::new(), Arc::new(tools()));
        let mut before: Vec<Value> = Vec::new();
        for messages in conversation(&steps) {
            let request = ChatRequest::new(messages).with_tools(Arc::clone(&tools));
            let fresh = bytes(&request);
            let kept = bytes(&request.with_transcript(transcript.clone()));
            prop_assert!(fresh == kept, "what is kept changes nothing");
            let body: Value = serde_json::from_slice(&fresh).unwrap();
            prop_assert_eq!(validate_gemini(MODEL, &body), Ok(()));
            let parts = parts(&body);
            prop_assert_eq!(parts.get(..before.len()).unwrap_or_default(), &before);
            before = parts;
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
        prop_assert_eq!(validate_gemini(MODEL, &serde_json::from_slice(&fresh).unwrap()), Ok(()));
    }
}
