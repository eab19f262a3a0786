//! Several candidates make one message (E05 to E11).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::citation::{AnswerSpan, Source};
use attache_core::{AssistantPart, FinishReason, StreamChunk};
use serde_json::{Value, json};

fn candidate(index: u64, parts: &Value, finish: &str) -> Value {
    json!({"content": {"parts": parts, "role": "model"}, "index": index, "finishReason": finish})
}

/// The shape of a reply of several candidates, the same whole and streamed.
fn merged(all: &[Value]) -> (Vec<String>, FinishReason) {
    let whole = whole(&candidates(all));
    let chunks: Vec<Value> = all.iter().map(|one| candidates(std::slice::from_ref(one))).collect();
    let streamed = completion(&sse(&chunks));
    assert_eq!(shape(&whole), shape(&streamed));
    assert_eq!(whole.usage, streamed.usage);
    for body in [candidates(all).to_string().into_bytes(), sse(&chunks)] {
        let said = decode(&body).unwrap().into_iter().filter_map(|chunk| match chunk {
            StreamChunk::Content(text) => Some(text),
            _ => None,
        });
        assert_eq!(said.collect::<String>(), whole.message.text(), "what was streamed is what is there");
    }
    (shape(&whole), whole.finish_reason)
}

fn called(name: &str) -> Value {
    json!([{"functionCall": {"name": name, "args": {}}}])
}

// E05, E06, E08, E09
#[test]
fn calls_of_all_candidates_are_collected() {
    let (parts, reason) =
        merged(&[candidate(0, &json!([{"text": ""}]), "STOP"), candidate(1, &called("files_list"), "STOP")]);
    assert_eq!((parts, reason), (vec!["call files.list {}".to_owned()], FinishReason::ToolCalls));
    let (parts, _) =
        merged(&[candidate(0, &called("files_list"), "STOP"), candidate(1, &called("files_read"), "STOP")]);
    assert_eq!(parts, ["call files.list {}", "call files.read {}"]);
    let (parts, _) = merged(&[
        candidate(0, &json!([{"text": "I look."}]), "STOP"),
        candidate(1, &called("files_read"), "STOP"),
    ]);
    assert_eq!(parts, [r#"text "I look.""#, "call files.read {}"]);
}

// E07
#[test]
fn texts_are_joined_by_line_feeds() {
    let (parts, _) = merged(&[
        candidate(0, &json!([{"text": "x"}]), "STOP"),
        candidate(1, &json!([{"text": " "}]), "STOP"),
        candidate(2, &json!([{"text": "y"}, {"functionCall": {"name": "files_read", "args": {}}}]), "STOP"),
    ]);
    assert_eq!(parts[0], r#"text "x""#);
    let whole = whole(&candidates(&[
        candidate(0, &json!([{"text": "x"}]), "STOP"),
        candidate(1, &json!([{"text": "y", "thoughtSignature": "c2ln"}]), "STOP"),
        candidate(2, &called("files_read"), "STOP"),
    ]));
    assert_eq!(whole.message.text(), "x\ny");
    assert_eq!(shape(&whole)[1], r#"text "\ny" {"text":"y","thoughtSignature":"c2ln"}"#);
}

// E10
#[test]
fn signatures_and_the_last_reason_are_kept() {
    let (parts, reason) = merged(&[
        candidate(0, &json!([{"text": "hm", "thought": true, "thoughtSignature": "czE="}]), "STOP"),
        candidate(
            1,
            &json!([{"functionCall": {"name": "files_read", "args": {}}, "thoughtSignature": "czI="}]),
            "MAX_TOKENS",
        ),
    ]);
    assert_eq!(
        parts,
        [r#"thought "hm" {"thoughtSignature":"czE="}"#, r#"call files.read {} {"thoughtSignature":"czI="}"#]
    );
    assert_eq!(reason, FinishReason::Length);
}

// E11
#[test]
fn without_calls_the_first_that_says_something_counts() {
    let (parts, _) = merged(&[
        candidate(0, &json!([{"text": ""}]), "STOP"),
        candidate(1, &json!([{"text": "Red"}]), "STOP"),
        candidate(2, &json!([{"text": "Blue"}]), "STOP"),
    ]);
    assert_eq!(parts, [r#"text "Red""#]);
}

// gemini.md 7: chunks of different candidates interleave
#[test]
fn candidates_are_kept_apart_by_index() {
    let piece = |index: u64, text: &str, finish: Option<&str>| {
        candidates(&[json!({"content": {"parts": [{"text": text}]}, "index": index, "finishReason": finish})])
    };
    let stream = sse(&[
        piece(0, "Re", None),
        piece(1, "Bl", None),
        piece(0, "d", Some("STOP")),
        piece(1, "ue", Some("STOP")),
    ]);
    assert_eq!(completion(&stream).message.text(), "Red");
}

// gemini.md 8
#[test]
fn images_that_a_search_found_are_cited() {
    let image = |image: Value| json!({"image": image});
    let support =
        |index: u64| json!({"segment": {"endIndex": 4, "text": "Blue"}, "groundingChunkIndices": [index]});
    let answer = json!({"content": {"parts": [{"text": "Blue."}]}, "finishReason": "STOP", "groundingMetadata": {
        "groundingChunks": [
            image(json!({"sourceUri": "https://a/page", "imageUri": "https://a/x.png", "title": "A", "domain": "a"})),
            image(json!({"imageUri": "https://b/x.png"})),
            image(json!({"title": "nothing"})),
        ],
        "groundingSupports": [support(0), support(1), support(2)]}});
    let message = whole(&candidates(&[answer])).message;
    let cited: Vec<_> = message.citations.iter().map(|citation| citation.source.clone()).collect();
    let page =
        |url: &str, title: Option<&str>| Source::Url { url: url.to_owned(), title: title.map(str::to_owned) };
    assert_eq!(cited, [page("https://a/page", Some("A")), page("https://b/x.png", None)]);
}

// gemini.md 8
#[test]
fn grounding_of_several_events_is_one() {
    let web = |name: &str| json!({"web": {"uri": format!("https://{name}"), "title": name}});
    let support =
        |text: &str, index: u64| json!({"segment": {"text": text}, "groundingChunkIndices": [index]});
    let event = |text: &str, grounding: Value| {
        candidates(&[json!({"content": {"parts": [{"text": text}]}, "groundingMetadata": grounding})])
    };
    let end = || candidates(&[json!({"finishReason": "STOP"})]);
    let first = json!({"webSearchQueries": ["q"], "searchEntryPoint": {"renderedContent": "1"},
        "groundingChunks": [web("a"), web("b")], "groundingSupports": [support("Red", 0)]});
    let new = json!({"webSearchQueries": ["q", "r"], "searchEntryPoint": {"renderedContent": "2"},
        "groundingChunks": [web("c")], "groundingSupports": [support("Blue", 2), support("Blue", 1)]});
    // Servers that say everything again, or nothing new.
    let all = json!({"webSearchQueries": ["q", "r"], "searchEntryPoint": {"renderedContent": "2"},
        "groundingChunks": [web("a"), web("b"), web("c")],
        "groundingSupports": [support("Red", 0), support("Blue", 2), support("Blue", 1)]});
    let supports = json!({"groundingChunks": null, "groundingSupports": [support("Blue", 1)], "searchEntryPoint": {"renderedContent": "2"}});
    for later in [vec![new.clone()], vec![new, supports], vec![all.clone()], vec![all.clone(), all.clone()]] {
        let mut events = vec![event("Red, ", first.clone()), event("Blue", json!({}))];
        events.extend(later.into_iter().map(|grounding| event("", grounding)));
        events.push(end());
        let message = completion(&sse(&events)).message;
        let cited: Vec<_> = message
            .citations
            .iter()
            .map(|citation| match (&citation.source, citation.in_answer) {
                (Source::Url { url, .. }, Some(AnswerSpan::Claim(span))) => {
                    (url.as_str(), span.of("Red, Blue").unwrap())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(cited, [("https://a", "Red"), ("https://c", "Blue"), ("https://b", "Blue")]);
        let kept = message.parts.iter().find_map(|part| match part {
            AssistantPart::Opaque(part) if part.kind == "groundingMetadata" => Some(part.replay.json()),
            _ => None,
        });
        assert_eq!(serde_json::from_str::<Value>(kept.unwrap()).unwrap(), all);
    }
}

// gemini.md 7
#[test]
fn the_likelihood_of_tokens_is_metadata() {
    let of = |token: &str| json!({"chosenCandidates": [{"token": token, "logProbability": -0.5}]});
    let one = |text: &str, finish: Option<&str>| json!({"content": {"parts": [{"text": text}]}, "finishReason": finish, "logprobsResult": of(text)});
    let streamed = completion(&sse(&[candidates(&[one("a", None)]), candidates(&[one("b", Some("STOP"))])]));
    assert_eq!(streamed.message.metadata.get("logprobs"), Some(&json!([of("a"), of("b")])));
    assert_eq!(streamed.message.text(), "ab");
    let whole = whole(&candidates(&[one("a", Some("STOP"))])).message;
    assert_eq!(whole.metadata.get("logprobs"), Some(&json!([of("a")])));
}

// gemini.md 7
#[test]
fn a_reply_that_can_be_gone_on_with_says_how() {
    let one = |text: &str, finish: Option<&str>, token: Option<&str>| json!({"content": {"parts": [{"text": text}]}, "finishReason": finish, "continuationToken": token});
    let cut = |token| one("b", Some("CONTINUATION"), token);
    let stream = |all: &[Value]| {
        let events: Vec<Value> = all.iter().map(|one| candidates(std::slice::from_ref(one))).collect();
        completion(&sse(&events))
    };
    for (reply, token) in [
        (whole(&candidates(&[cut(Some("dG9r"))])), Some("dG9r")),
        (stream(&[one("a", None, Some("b2xk")), cut(Some("dG9r"))]), Some("dG9r")),
        (stream(&[one("a", None, Some("b2xk")), cut(None)]), Some("b2xk")),
        (stream(&[one("a", None, Some("b2xk")), one("b", Some("STOP"), None)]), None),
    ] {
        assert_eq!(reply.message.metadata.get("continuationToken"), token.map(|token| json!(token)).as_ref());
        let expected = if token.is_some() { FinishReason::Length } else { FinishReason::Stop };
        assert_eq!(reply.finish_reason, expected);
    }
}
