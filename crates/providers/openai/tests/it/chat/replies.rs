//! Texts and calls in all combinations: rows E01 to E17.

#![cfg(test)]

use attache_core::citation::Source;
use attache_core::{AssistantPart, FinishReason, StreamChunk};
use serde_json::{Value, json};

use crate::common;
use crate::common::{calls, delta, reply, sse, whole};

fn call(id: &str, name: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}})
}

/// A whole answer of several generations.
fn generations(messages: &[(Value, &str)]) -> String {
    let choices: Vec<_> = messages
        .iter()
        .enumerate()
        .map(
            |(index, (message, finish))| json!({"index": index, "message": message, "finish_reason": finish}),
        )
        .collect();
    json!({"id": "c", "choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 5}}).to_string()
}

/// The same generations as a stream that interleaves them.
fn streamed(messages: &[(Value, &str)]) -> String {
    let mut chunks: Vec<_> = messages
        .iter()
        .enumerate()
        .map(|(index, (message, _))| json!({"choices": [{"index": index, "delta": message}]}))
        .collect();
    chunks.extend(messages.iter().enumerate().map(
        |(index, (_, finish))| json!({"choices": [{"index": index, "delta": {}, "finish_reason": finish}]}),
    ));
    chunks.push(json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}));
    sse(&chunks)
}

fn both(messages: &[(Value, &str)]) -> attache_core::Completion {
    let (whole, streamed) = (reply(&generations(messages)), reply(&streamed(messages)));
    assert_eq!((whole.message.text(), calls(&whole)), (streamed.message.text(), calls(&streamed)));
    assert_eq!(
        (&whole.finish_reason, &whole.raw_finish_reason),
        (&streamed.finish_reason, &streamed.raw_finish_reason)
    );
    assert_eq!(whole.usage, streamed.usage);
    whole
}

fn names(completion: &attache_core::Completion) -> Vec<String> {
    completion.message.tool_calls().map(|call| call.name.clone()).collect()
}

#[test]
fn e01_plain_text() {
    for message in [
        json!({"role": "assistant", "content": "Hello"}),
        json!({"role": "assistant", "content": "Hello", "tool_calls": null}),
        json!({"role": "assistant", "content": "Hello", "tool_calls": []}),
    ] {
        for body in
            [whole(message.clone(), "stop"), sse(&[delta(message, None), delta(json!({}), Some("stop"))])]
        {
            let reply = reply(&body);
            assert_eq!((reply.message.parts.len(), reply.message.text().as_str()), (1, "Hello"));
            assert_eq!(reply.finish_reason, FinishReason::Stop);
        }
    }
}

#[test]
fn e02_text_and_parallel_calls() {
    let message = json!({"content": "Let me see", "tool_calls": [call("a", "f"), call("b", "g")]});
    let reply = both(&[(message, "tool_calls")]);
    assert!(matches!(
        &reply.message.parts[..],
        [AssistantPart::Text(_), AssistantPart::ToolCall(f), AssistantPart::ToolCall(g)] if f.name == "f" && g.name == "g"
    ));
}

#[test]
fn e05_e06_calls_of_all_generations() {
    let reply = both(&[
        (json!({"content": ""}), "stop"),
        (json!({"content": null, "tool_calls": [call("a", "f")]}), "tool_calls"),
    ]);
    assert_eq!(names(&reply), ["f"]);
    let reply = both(&[
        (json!({"tool_calls": [call("a", "f")]}), "tool_calls"),
        (json!({"tool_calls": [call("b", "g"), call("c", "h")]}), "tool_calls"),
    ]);
    assert_eq!(names(&reply), ["f", "g", "h"]);
}

#[test]
fn e07_texts_that_say_something_are_joined() {
    let reply = both(&[
        (json!({"content": "x"}), "stop"),
        (json!({"content": " \n"}), "stop"),
        (json!({"content": "y", "tool_calls": [call("a", "f")]}), "tool_calls"),
    ]);
    assert_eq!(reply.message.text(), "x\ny");
    assert_eq!(reply.message.parts.len(), 2, "one text part, one call");
}

#[test]
fn e08_e10_text_in_one_and_a_call_in_another() {
    let reply =
        both(&[(json!({"content": "x"}), "stop"), (json!({"tool_calls": [call("a", "f")]}), "tool_calls")]);
    assert_eq!((reply.message.text().as_str(), names(&reply)), ("x", vec!["f".to_owned()]));
    assert_eq!(reply.raw_finish_reason.as_deref(), Some("tool_calls"), "the later one wins");
    assert_eq!(reply.usage.input_tokens, Some(7), "once, not for each generation");
}

#[test]
fn e10_reasoning_of_all_generations_is_kept() {
    let reply = both(&[
        (json!({"content": "x", "reasoning": "a"}), "stop"),
        (json!({"reasoning": "b", "tool_calls": [call("a", "f")]}), "tool_calls"),
    ]);
    assert_eq!(reply.message.thinking(), "ab");
}

#[test]
fn e11_without_calls_the_first_that_says_something_counts() {
    let reply = both(&[
        (json!({"content": " "}), "length"),
        (json!({"content": "y"}), "stop"),
        (json!({"content": "z"}), "stop"),
    ]);
    assert_eq!((reply.message.text().as_str(), reply.raw_finish_reason.as_deref()), ("y", Some("stop")));
    let reply = both(&[(json!({"content": "x"}), "length"), (json!({"content": "y"}), "stop")]);
    assert_eq!((reply.message.text().as_str(), reply.finish_reason), ("x", FinishReason::Length));
}

#[test]
fn e12_e13_null_or_missing_content_beside_calls() {
    for message in
        [json!({"content": null, "tool_calls": [call("a", "f")]}), json!({"tool_calls": [call("a", "f")]})]
    {
        let reply = both(&[(message, "tool_calls")]);
        assert!(matches!(&reply.message.parts[..], [AssistantPart::ToolCall(_)]));
    }
}

// The loop decides what to do about it.
#[test]
fn e14_e15_nothing_at_all_is_an_empty_message() {
    for nothing in [
        json!({}),
        json!({"content": null}),
        json!({"content": ""}),
        json!({"content": " \n "}),
        json!({"content": []}),
    ] {
        let reply = both(&[(nothing, "stop")]);
        assert!(reply.message.parts.is_empty());
        assert_eq!(reply.finish_reason, FinishReason::Stop);
    }
    assert!(reply("data: [DONE]\n\n").message.parts.is_empty());
}

#[test]
fn e16_reasoning_alone_is_reported() {
    let reply = both(&[(json!({"content": "", "reasoning_content": "hm"}), "stop")]);
    assert_eq!((reply.message.text().as_str(), reply.message.thinking().as_str()), ("", "hm"));
}

// P24
#[test]
fn partial_content_is_kept_whatever_ended_it() {
    for (word, reason) in [
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("new", FinishReason::Other("new".to_owned())),
    ] {
        let reply = both(&[(json!({"content": "half"}), word)]);
        assert_eq!((reply.message.text().as_str(), reply.finish_reason), ("half", reason));
    }
}

#[test]
fn a_refusal_is_a_text_of_its_own() {
    for message in [
        json!({"content": null, "refusal": "I can't help with that."}),
        json!({"content": [{"type": "refusal", "refusal": "I can't help with that."}]}),
    ] {
        let reply = both(&[(message, "stop")]);
        assert_eq!(reply.message.refusal().as_deref(), Some("I can't help with that."));
        assert_eq!((reply.message.text().as_str(), reply.finish_reason), ("", FinishReason::Refusal));
    }
}

// P07: blank text that turns out to be the start of a text is handed out with it, other blank text never
#[test]
fn blank_text_waits_until_something_visible_follows() {
    let blanks = [delta(json!({"content": "\n"}), None), delta(json!({"content": "\n"}), None)];
    let mut chunks = blanks.to_vec();
    chunks.push(delta(json!({"content": "Hi"}), Some("stop")));
    let replay = common::replay(&sse(&chunks));
    let contents: Vec<_> =
        replay.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Content(_))).collect();
    assert_eq!(contents, [&StreamChunk::Content("\n\nHi".to_owned())]);
    let blank = common::replay(&sse(&[
        blanks[0].clone(),
        delta(json!({"tool_calls": [call("a", "f")]}), Some("tool_calls")),
    ]));
    assert!(!blank.chunks.iter().any(|chunk| matches!(chunk, StreamChunk::Content(_))));
}

// Names that the wire cannot hold are mapped back.
#[test]
fn names_are_ours_again() {
    use attache_core::{ToolDefinition, ToolSet};
    use attache_openai::{ChatCodec, Profile};
    use attache_transport::{ChunkSink, Codec as _};
    let tools = ToolSet::new([ToolDefinition::new("math.add", "", json!({}))]).unwrap();
    let mut decoder = ChatCodec::new(Profile::openai_chat(), "m").decoder(tools.into(), Vec::new());
    let mut out = ChunkSink::new();
    let body = whole(json!({"tool_calls": [call("a", "math_add"), call("b", "unknown")]}), "tool_calls");
    decoder.push(body.as_bytes(), &mut out).unwrap();
    decoder.finish(&mut out).unwrap();
    let chunks: Vec<_> = std::iter::from_fn(|| out.pop()).collect();
    assert!(matches!(&chunks[0], StreamChunk::ToolCallDelta { name: Some(name), .. } if name == "math_add"));
    let Some(StreamChunk::Done(reply)) = chunks.last() else { panic!("no end") };
    assert_eq!(names(reply), ["math.add", "unknown"]);
}

// openai.md A.5: of an answer that is spoken the transcript is the text, the sound is kept
#[test]
fn the_transcript_of_speech_is_the_text() {
    let sound = json!({"id": "audio_1", "transcript": "Good morning", "data": "UklGRg==", "expires_at": 7});
    let whole = reply(&whole(json!({"content": null, "audio": sound}), "stop"));
    let streamed = reply(&sse(&[
        delta(
            json!({"role": "assistant", "content": null, "audio": {"id": "audio_1", "transcript": "Good "}}),
            None,
        ),
        delta(json!({"audio": {"transcript": "morning"}}), None),
        delta(json!({"audio": {"data": "UklGRg=="}}), None),
        delta(json!({"audio": {"expires_at": 7}}), Some("stop")),
    ]));
    for reply in [&whole, &streamed] {
        assert_eq!(reply.message.text(), "Good morning");
        let made: Vec<_> = reply.message.documents().map(|document| document.bytes().unwrap()).collect();
        assert_eq!((made, kept(reply)), (vec!["RIFF".into()], vec![]));
    }
    // A text of its own is what is read.
    let both = reply(&common::whole(json!({"content": "Hi", "audio": sound}), "stop"));
    assert_eq!(both.message.text(), "Hi");
}

/// The opaque parts of a reply.
fn kept(completion: &attache_core::Completion) -> Vec<(&str, Value)> {
    let parts = completion.message.parts.iter().filter_map(|part| match part {
        AssistantPart::Opaque(part) => {
            Some((part.kind.as_str(), serde_json::from_str(part.replay.json()).unwrap()))
        }
        _ => None,
    });
    parts.collect()
}

// openai.md A.5, C.9: citations and pictures stand beside the content
#[test]
fn citations_and_pictures_are_kept() {
    let cite = |url: &str| json!({"type": "url_citation", "url_citation": {"url": url}});
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}});
    let message = json!({"content": "Hi", "annotations": [cite("a"), cite("b")], "images": [picture]});
    let whole = reply(&whole(message, "stop"));
    let streamed = reply(&sse(&[
        delta(json!({"content": "Hi", "annotations": [cite("a")]}), None),
        delta(json!({"content": "", "annotations": [cite("b")], "images": [picture]}), None),
        delta(json!({}), Some("stop")),
    ]));
    for reply in [whole, streamed] {
        assert_eq!(reply.message.text(), "Hi");
        assert_eq!(kept(&reply), [("annotations", json!([cite("a"), cite("b")]))]);
        assert_eq!(reply.message.documents().count(), 1);
    }
    for nothing in [json!([]), Value::Null, json!("")] {
        let message = json!({"content": "Hi", "annotations": nothing, "images": nothing, "audio": nothing});
        assert_eq!(kept(&reply(&common::whole(message, "stop"))), []);
    }
}

// openai.md A.5
#[test]
fn logprobs_are_kept_for_who_asked_for_them() {
    let token = |text: &str| json!({"token": text, "logprob": -0.5, "bytes": null, "top_logprobs": []});
    let likely = |mut choice: Value, name: &str, tokens: &[&str]| {
        let list: Vec<_> = tokens.iter().map(|text| token(text)).collect();
        choice["choices"][0][name] = json!({"content": list, "refusal": null});
        choice
    };
    let whole: Value = serde_json::from_str(&whole(json!({"content": "ab"}), "stop")).unwrap();
    let whole = likely(likely(whole, "logprobs", &["a", "b"]), "reasoning_logprobs", &["c"]);
    let streamed = [
        likely(delta(json!({"reasoning": "c"}), None), "reasoning_logprobs", &["c"]),
        likely(delta(json!({"content": "a"}), None), "logprobs", &["a"]),
        likely(delta(json!({"content": "b"}), None), "logprobs", &["b"]),
        likely(delta(json!({}), Some("stop")), "logprobs", &[]),
    ];
    for body in [whole.to_string(), sse(&streamed)] {
        let metadata = reply(&body).message.metadata;
        assert_eq!(metadata.get("logprobs"), Some(&json!([token("a"), token("b")])), "{body}");
        assert_eq!(metadata.get("reasoning_logprobs"), Some(&json!([token("c")])));
    }
    let mut none = delta(json!({"content": "a"}), Some("stop"));
    none["choices"][0]["logprobs"] = Value::Null;
    assert!(reply(&sse(&[none])).message.metadata.is_empty());
}

// openai.md A.5
#[test]
fn moderation_is_metadata() {
    let scores = json!({"model": "omni", "output": {"flagged": false}});
    let moderated = |mut chunk: Value| {
        chunk["moderation"] = scores.clone();
        chunk
    };
    let text = || delta(json!({"content": "a"}), None);
    let end = || delta(json!({}), Some("stop"));
    let whole: Value = serde_json::from_str(&whole(json!({"content": "a"}), "stop")).unwrap();
    for body in [
        moderated(whole).to_string(),
        sse(&[text(), end(), moderated(json!({"id": "c", "choices": []}))]),
        sse(&[moderated(text()), end()]),
    ] {
        let reply = reply(&body);
        assert_eq!(reply.message.metadata.get("moderation"), Some(&scores), "{body}");
        assert_eq!(reply.message.text(), "a");
    }
    let mut none = delta(json!({"content": "a"}), Some("stop"));
    none["moderation"] = Value::Null;
    assert!(reply(&sse(&[none])).message.metadata.is_empty());
}

// openai.md C.7
#[test]
fn documents_and_calls_that_groq_cites_are_citations() {
    let cite = |kind: &str, of: Value| json!({"type": kind, kind: of});
    let annotations = json!([
        cite("document_citation", json!({"document_id": "d1", "start_index": 0, "end_index": 2})),
        cite("function_citation", json!({"tool_call_id": "c1", "start_index": 3, "end_index": 5})),
    ]);
    let done = reply(&whole(json!({"content": "It rains.", "annotations": annotations}), "stop"));
    let cited: Vec<_> = done.message.citations.iter().map(|cited| cited.source.clone()).collect();
    let foreign = |id: &str| Source::Foreign { id: id.to_owned(), title: None };
    assert_eq!(cited, [foreign("d1"), foreign("c1")]);
}

// openai.md C.7
#[test]
fn what_tools_of_the_server_did_is_kept_and_their_pages_are_cited() {
    let begun = json!({"index": 0, "type": "search", "arguments": "{\"query\": \"rain\"}"});
    let mut ended = begun.clone();
    ended["output"] = json!("Title: Rain");
    ended["search_results"] = json!({"results": [
        {"title": "Rain", "url": "https://a.example/", "content": "It rains.", "score": 0.9},
        {"title": "Sun", "url": "https://b.example/", "content": "It shines.", "score": 0.1}]});
    let cited = |reply: &attache_core::Completion| -> Vec<Value> {
        let citations = reply.message.citations.iter();
        citations.map(|cited| json!([cited.source, cited.quote])).collect()
    };
    let page = |at: &str, title: &str, quote: &str| {
        let source = Source::Url { url: format!("https://{at}.example/"), title: Some(title.to_owned()) };
        json!([source, quote])
    };
    let (rain, sun) = (page("a", "Rain", "It rains."), page("b", "Sun", "It shines."));
    let message = json!({"content": "It rains.", "executed_tools": [ended]});
    let whole = reply(&whole(message, "stop"));
    let streamed = reply(&sse(&[
        delta(json!({"role": "assistant", "executed_tools": [begun]}), None),
        delta(json!({"executed_tools": [ended]}), None),
        delta(json!({"content": "It rains."}), None),
        delta(json!({}), Some("stop")),
    ]));
    assert_eq!(kept(&whole), [("executed_tools", json!([ended]))]);
    assert_eq!(kept(&streamed), [("executed_tools", json!([begun, ended]))]);
    for reply in [whole, streamed] {
        assert_eq!(cited(&reply), [rain.clone(), sun.clone()]);
    }
    let message = json!({"content": "It shines [2].", "executed_tools": [ended]});
    assert_eq!(
        cited(&reply(&common::whole(message, "stop"))),
        std::slice::from_ref(&sun),
        "as the answer marks it"
    );
    // The pages of one search count as it names them, also one again or without an address.
    let named = |pages: Value| json!({"index": 0, "type": "search", "search_results": {"results": pages}});
    let rain_page = &ended["search_results"]["results"][0];
    let sun_page = &ended["search_results"]["results"][1];
    for first in [rain_page.clone(), json!({"title": "None"})] {
        let tool = named(json!([rain_page, first, sun_page]));
        let message = json!({"content": "It shines [3].", "executed_tools": [tool]});
        assert_eq!(cited(&reply(&common::whole(message, "stop"))), std::slice::from_ref(&sun));
    }
    // Marks of several searches are those of nobody knows which.
    let both = json!([named(json!([rain_page])), named(json!([sun_page, rain_page]))]);
    let done = reply(&common::whole(json!({"content": "It rains [1].", "executed_tools": both}), "stop"));
    assert_eq!(cited(&done), [rain, sun]);
    assert!(done.message.citations.iter().all(|cited| cited.in_answer.is_none()));
}

// Perplexity and others say in each chunk everything so far, or the same once more.
#[test]
fn what_each_chunk_says_again_is_kept_once() {
    let cite =
        |at: u32| json!({"type": "url_citation", "url_citation": {"url": format!("https://{at}.example/")}});
    for lists in [
        [json!([cite(1)]), json!([cite(1), cite(2)]), json!([cite(1), cite(2)])],
        [json!([cite(1)]), json!([cite(2)]), json!([cite(2)])],
        [cite(1), json!([cite(1)]), cite(2)],
    ] {
        let chunks = lists.iter().map(|list| delta(json!({"content": "a", "annotations": list}), None));
        let chunks: Vec<_> = chunks.chain([delta(json!({}), Some("stop"))]).collect();
        assert_eq!(kept(&reply(&sse(&chunks))), [("annotations", json!([cite(1), cite(2)]))], "{lists:?}");
    }
}

// openai.md A.7
#[test]
fn members_that_are_no_list_are_lists_of_one() {
    let image = json!({"type": "image_url", "image_url": {"url": "https://a.example/x.png"}});
    let detail = json!({"type": "reasoning.text", "text": "Hm."});
    let done = reply(&whole(json!({"content": "Hi", "images": image, "reasoning_details": detail}), "stop"));
    assert_eq!((done.message.text(), done.message.thinking()), ("Hi".to_owned(), "Hm.".to_owned()));
    assert_eq!(kept(&done), [("images", json!([image]))]);
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]});
    let body = json!({"object": "response", "id": "resp_1", "status": "completed", "output": said});
    let codec = attache_openai::ResponsesCodec::from("m");
    let replay =
        attache_transport::replay(&codec, http::StatusCode::OK, &http::HeaderMap::new(), [body.to_string()]);
    assert_eq!(replay.completion.message.text(), "Hi");
}

// Old servers of Hugging Face
#[test]
fn one_that_stands_in_the_place_of_a_list_is_read() {
    let whole_call = json!({"index": 0, "id": "0", "type": "function", "function": {"name": "f", "description": null, "arguments": {"a": 1}}});
    let reply_whole = reply(&whole(json!({"tool_calls": whole_call}), "eos_token"));
    let piece = |name: Value, arguments: &str| {
        let call = json!({"index": 0, "id": "0", "type": "function", "function": {"name": name, "arguments": arguments}});
        delta(json!({"role": "assistant", "tool_calls": call}), None)
    };
    let streamed = reply(&sse(&[
        piece(json!("f"), "{\"a\""),
        piece(Value::Null, ":1}"),
        delta(json!({"content": ""}), Some("eos_token")),
    ]));
    for reply in [reply_whole, streamed] {
        assert_eq!(calls(&reply), [("f".to_owned(), Some("0".to_owned()), "{\"a\":1}".to_owned())]);
    }
    let part = json!({"type": "text", "text": "Hi"});
    assert_eq!(reply(&whole(json!({"content": part}), "stop")).message.text(), "Hi");
    let streamed = sse(&[delta(json!({"content": part}), None), delta(json!({}), Some("stop"))]);
    assert_eq!(reply(&streamed).message.text(), "Hi");
    let thinking = json!({"type": "thinking", "thinking": {"type": "text", "text": "Hm"}, "signature": "s"});
    let message = reply(&whole(json!({"content": thinking}), "stop")).message;
    assert_eq!(message.thinking(), "Hm");
}

// openai.md D 58, D 59
#[test]
fn counts_are_not_lost_to_empty_ones() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 5});
    let said = delta(json!({"content": "Hi"}), Some("stop"));
    for chunks in [
        [said.clone(), json!({"choices": [], "usage": usage}), json!({"choices": [], "usage": {}})],
        [
            said,
            json!({"choices": [], "usage": {}, "x_groq": {"usage": usage}}),
            json!({"choices": [], "x_groq": {"usage": {}}}),
        ],
    ] {
        let reply = reply(&sse(&chunks));
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (Some(7), Some(5)));
    }
}
