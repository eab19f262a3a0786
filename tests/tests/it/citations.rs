//! The citations of providers, as each codec reads them, streamed and whole.

use attache_core::citation::{Citation, Place, Source};
use attache_core::{AssistantMessage, AssistantPart, StreamChunk};
use attache_tests::recorded::{PROTOCOLS, codec, recordings};
use attache_transport::replay;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// The message of a body.
fn message(protocol: &str, body: &str) -> AssistantMessage {
    let codec = codec(protocol).unwrap();
    let replay = replay(&*codec, StatusCode::OK, &HeaderMap::new(), [body.to_owned()]);
    assert!(replay.error.is_none(), "{protocol}: {:?}", replay.error);
    replay.completion.message
}

/// A citation in one line: source, place, quote, and the words of the answer that it holds for.
fn line(citation: &Citation, answer: &str) -> String {
    let source = match &citation.source {
        Source::Url { url, title } => format!("{url} {}", title.as_deref().unwrap_or("-")),
        Source::Foreign { id, title } => format!("#{id} {}", title.as_deref().unwrap_or("-")),
        Source::Nth { index, title } => format!("{index}. {}", title.as_deref().unwrap_or("-")),
        other => format!("{other:?}"),
    };
    let place = match &citation.place {
        Some(Place::Pages(first, last)) => format!(" pages {first}-{last}"),
        Some(Place::Block(block)) => format!(" block {block}"),
        other => other.as_ref().map_or_else(String::new, |place| format!("{place:?}")),
    };
    let quote = citation.quote.as_deref().map_or_else(String::new, |quote| format!(" «{quote}»"));
    let claim = citation.in_answer.map_or("?", |place| place.span().of(answer).unwrap());
    format!("{source}{place}{quote}: {claim}")
}

/// The citations among the chunks of a body, each with the text that stands before it.
fn live(protocol: &str, body: &str) -> Vec<(Citation, String)> {
    let codec = codec(protocol).unwrap();
    let replay = replay(&*codec, StatusCode::OK, &HeaderMap::new(), [body.to_owned()]);
    let (mut said, mut told) = (String::new(), Vec::new());
    for chunk in replay.chunks {
        match chunk {
            StreamChunk::Content(text) => said.push_str(&text),
            StreamChunk::Citation(citation) => told.push((*citation, said.clone())),
            _ => {}
        }
    }
    told
}

/// Each citation of a message comes as a chunk, when its text has ended.
fn check_live(protocol: &str, body: &str, message: &AssistantMessage) {
    let live = live(protocol, body);
    let answer = message.text();
    for (citation, said) in &live {
        let end = usize::try_from(citation.in_answer.unwrap().span().end).unwrap();
        assert_eq!(said, &answer[..end], "{protocol}");
    }
    assert_eq!(live.into_iter().map(|(citation, _)| citation).collect::<Vec<_>>(), message.citations);
}

fn lines(message: &AssistantMessage) -> Vec<String> {
    let answer = message.text();
    message.citations.iter().map(|citation| line(citation, &answer)).collect()
}

/// Server-sent events of these data.
fn events(events: &[(&str, Value)]) -> String {
    events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect()
}

#[test]
fn anthropic() {
    let cited = json!([
        {"type": "page_location", "cited_text": "EUR 900. ", "document_index": 0, "document_title": "lease.pdf",
         "start_page_number": 2, "end_page_number": 3},
        {"type": "search_result_location", "source": "doc-7", "title": "lease", "cited_text": "EUR 900",
         "search_result_index": 0, "start_block_index": 4, "end_block_index": 5},
        {"type": "char_location", "cited_text": "900", "document_index": 1, "document_title": null,
         "start_char_index": 3, "end_char_index": 6},
        {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "nine",
         "encrypted_index": "x"},
    ]);
    let whole = json!({"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [{"type": "text", "text": "So: "}, {"type": "text", "text": "Rent is 900", "citations": cited}]});
    let mut stream = vec![
        (
            "message_start",
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
            "model": "claude-x", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        ),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "So: "}}),
        ),
        ("content_block_stop", json!({"type": "content_block_stop", "index": 0})),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "text", "text": "", "citations": []}}),
        ),
    ];
    // They come before their text.
    for cited in cited.as_array().unwrap() {
        stream.push((
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "citations_delta", "citation": cited}}),
        ));
    }
    stream.extend([
        ("content_block_delta", json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Rent is 900"}})),
        ("content_block_stop", json!({"type": "content_block_stop", "index": 1})),
        ("message_delta", json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}})),
        ("message_stop", json!({"type": "message_stop"})),
    ]);
    for body in [whole.to_string(), events(&stream)] {
        let message = message("anthropic", &body);
        assert_eq!(
            lines(&message),
            [
                "0. lease.pdf pages 2-2 «EUR 900. »: Rent is 900",
                "#doc-7 lease block 5 «EUR 900»: Rent is 900",
                "1. - «900»: Rent is 900",
                "https://a.example A «nine»: Rent is 900",
            ]
        );
        check_live("anthropic", &body, &message);
        let AssistantPart::Text(text) = &message.parts[1] else { panic!() };
        let kept: Value = serde_json::from_str(text.replay().unwrap().json()).unwrap();
        assert_eq!(kept, json!({"citations": cited}), "what goes back is what came");
    }
}

#[test]
fn bedrock() {
    let of = |location: Value| json!({"title": "lease", "sourceContent": [{"text": "EUR 900"}], "location": location});
    let cited = json!([
        of(json!({"documentChar": {"documentIndex": 0, "start": 12, "end": 19}})),
        of(json!({"documentPage": {"documentIndex": 1, "start": 2, "end": 4}})),
        of(json!({"documentChunk": {"documentIndex": 2, "start": 0, "end": 1}})),
        of(json!({"searchResultLocation": {"searchResultIndex": 3, "start": 0, "end": 1}})),
        of(json!({"web": {"url": "https://a.example", "domain": "a.example"}})),
    ]);
    let body = json!({"output": {"message": {"role": "assistant", "content": [
        {"text": "It is "}, {"citationsContent": {"content": [{"text": "900"}], "citations": cited}}]}},
        "stopReason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}});
    assert_eq!(
        lines(&message("bedrock-converse", &body.to_string())),
        [
            "0. lease «EUR 900»: 900",
            "1. lease pages 2-3 «EUR 900»: 900",
            "2. lease block 1 «EUR 900»: 900",
            "#3 lease block 1 «EUR 900»: 900",
            "https://a.example lease «EUR 900»: 900",
        ]
    );
}

#[test]
fn openai_responses_and_chat() {
    let text = "Rent rose ([city.example](https://city.example/a)).";
    let end = text.len() - 2;
    let annotations = json!([
        {"type": "url_citation", "start_index": 10, "end_index": end, "url": "https://city.example/a", "title": "A"},
        {"type": "file_citation", "index": 9, "file_id": "file_1", "filename": "lease.pdf"},
        {"type": "container_file_citation", "container_id": "cntr_1", "file_id": "cfile_1", "filename": "t.csv",
         "start_index": 0, "end_index": 4},
        // OpenRouter's word for not knowing.
        {"type": "url_citation", "start_index": 0, "end_index": 0, "url": "https://b.example"},
    ]);
    let item = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": annotations}]});
    let response = json!({"id": "r", "object": "response", "status": "completed", "model": "m", "output": [item],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}});
    let expected = [
        "https://city.example/a A: ([city.example](https://city.example/a)",
        "#file_1 lease.pdf: ?",
        "#cfile_1 t.csv: Rent",
        "https://b.example -: ?",
    ];
    let stream = events(&[
        (
            "response.created",
            json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}),
        ),
        (
            "response.output_item.added",
            json!({"type": "response.output_item.added", "output_index": 0,
            "item": {"id": "msg_1", "type": "message", "role": "assistant", "content": []}}),
        ),
        (
            "response.output_text.delta",
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
            "item_id": "msg_1", "delta": text}),
        ),
        (
            "response.output_item.done",
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        ),
        ("response.completed", json!({"type": "response.completed", "response": response})),
    ]);
    for body in [response.to_string(), stream] {
        assert_eq!(lines(&message("openai-responses", &body)), expected);
    }
    let chat = json!({"id": "c", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {
        "role": "assistant", "content": text, "annotations": [{"type": "url_citation", "url_citation":
            {"start_index": 10, "end_index": end, "url": "https://city.example/a", "title": "A"}}]}}]});
    assert_eq!(lines(&message("openai-chat", &chat.to_string())), expected[..1]);
}

#[test]
fn mistral_and_perplexity() {
    let body = json!({"id": "c", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant",
        "content": [{"type": "text", "text": "Rent is 900"}, {"type": "reference", "reference_ids": [0, "b"]},
            {"type": "text", "text": " a month."}]}}]});
    assert_eq!(lines(&message("openai-chat", &body.to_string())), ["#0 -: Rent is 900", "#b -: Rent is 900"]);

    let results = json!([{"title": "A", "url": "https://a.example", "snippet": "nine", "source": "web"},
        {"title": "B", "url": "https://b.example", "source": "web"}]);
    let urls = json!(["https://a.example", "https://b.example"]);
    let chunk = |delta: &str, finish: Value| {
        json!({"id": "c", "model": "sonar", "citations": urls, "search_results": results,
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": delta}, "finish_reason": finish}]})
    };
    let streamed = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        chunk("One [2], two [1]", Value::Null),
        chunk(" [7].", json!("stop"))
    );
    let whole = json!({"id": "c", "model": "sonar", "citations": urls, "search_results": results,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "One [2], two [1] [7]."}}]});
    for body in [whole.to_string(), streamed] {
        let expected = ["https://b.example B: [2]", "https://a.example A «nine»: [1]"];
        assert_eq!(lines(&message("openai-chat", &body)), expected);
    }
    // xAI lists what it met, without marks.
    let listed = json!({"id": "c", "model": "grok", "citations": urls,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "One."}}]});
    assert_eq!(
        lines(&message("openai-chat", &listed.to_string())),
        ["https://a.example -: ?", "https://b.example -: ?"]
    );
}

#[test]
fn gemini() {
    let body = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Miete: 900 € fix"}, {"text": "um."}]},
        "finishReason": "STOP", "groundingMetadata": {
            "groundingChunks": [
                {"retrievedContext": {"title": "lease.pdf", "text": "EUR 900", "pageNumber": 2}},
                {"web": {"uri": "https://a.example", "title": "A"}},
                {"retrievedContext": {"uri": "gs://b/l.pdf", "title": "l.pdf", "ragChunk": {"pageSpan": {"firstPage": 3, "lastPage": 4}}}}],
            "groundingSupports": [
                {"segment": {"endIndex": 18, "text": "Miete: 900 € fix"}, "groundingChunkIndices": [0, 1]},
                // Its start is a byte off.
                {"segment": {"startIndex": 6, "endIndex": 12, "text": "900 €"}, "groundingChunkIndices": [2]},
                {"segment": {"partIndex": 1, "startIndex": 0, "endIndex": 2, "text": "um"}, "groundingChunkIndices": [1, 9]}]}}],
        "usageMetadata": {"promptTokenCount": 1}});
    assert_eq!(
        lines(&message("gemini", &body.to_string())),
        [
            "#lease.pdf lease.pdf pages 2-2 «EUR 900»: Miete: 900 € fix",
            "https://a.example A: Miete: 900 € fix",
            "#gs://b/l.pdf l.pdf pages 3-4: 900 €",
            "https://a.example A: um",
        ]
    );
}

#[test]
fn cohere() {
    let cited = json!({"start": 8, "end": 15, "text": "900 EUR", "type": "TEXT_CONTENT", "content_index": 1,
        "sources": [{"type": "tool", "id": "doc-7", "tool_output": {"text": "x"}},
            {"type": "document", "id": "d2", "document": {"title": "Lease"}}]});
    let plan = json!({"start": 0, "end": 1, "text": "I", "type": "PLAN", "sources": [{"id": "no"}]});
    let whole = json!({"id": "c", "finish_reason": "COMPLETE", "message": {"role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm, 900 EUR."}, {"type": "text", "text": "Rent is 900 EUR."}],
        "citations": [cited, plan]}});
    let stream = events(&[
        (
            "message-start",
            json!({"type": "message-start", "id": "c", "delta": {"message": {"role": "assistant"}}}),
        ),
        (
            "content-start",
            json!({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "thinking", "thinking": "Hm, 900 EUR."}}}}),
        ),
        (
            "content-start",
            json!({"type": "content-start", "index": 1, "delta": {"message": {"content": {"type": "text", "text": ""}}}}),
        ),
        (
            "content-delta",
            json!({"type": "content-delta", "index": 1, "delta": {"message": {"content": {"text": "Rent is 900 EUR."}}}}),
        ),
        (
            "citation-start",
            json!({"type": "citation-start", "index": 0, "delta": {"message": {"citations": cited}}}),
        ),
        ("message-end", json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}})),
    ]);
    for body in [whole.to_string(), stream] {
        assert_eq!(lines(&message("cohere", &body)), ["#doc-7 -: 900 EUR", "#d2 Lease: 900 EUR"]);
    }
}

/// The citations of a body as another reader of its JSON finds them: addresses, with the words they hold for where the
/// provider repeats these.
fn independent(value: &Value, found: &mut Vec<(String, Option<String>)>) {
    match value {
        Value::Object(members) => {
            let chunks = &value["groundingChunks"];
            for support in value["groundingSupports"].as_array().into_iter().flatten() {
                for index in support["groundingChunkIndices"].as_array().into_iter().flatten() {
                    let uri = chunks[index.as_u64().unwrap() as usize]["web"]["uri"].as_str().unwrap();
                    found.push((uri.to_owned(), support["segment"]["text"].as_str().map(str::to_owned)));
                }
            }
            for (name, value) in members {
                if name == "url_citation" || value["type"] == "url_citation" {
                    found.extend(value["url"].as_str().map(|url| (url.to_owned(), None)));
                }
                independent(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| independent(item, found)),
        _ => {}
    }
}

// The recorded traffic of real providers, against another reader of the same JSON.
#[test]
fn recorded_citations() {
    let mut cited = 0;
    for recorded in recordings().unwrap() {
        if !PROTOCOLS.contains(&recorded.protocol.as_str()) {
            continue;
        }
        let body = recorded.response.body.bytes();
        let text = String::from_utf8_lossy(&body);
        let mut expected = Vec::new();
        let json = |data: &str| serde_json::from_str::<Value>(data).ok();
        match json(&text) {
            Some(value) => independent(&value, &mut expected),
            None => {
                let events = text.lines().filter_map(|line| json(line.strip_prefix("data: ")?));
                events.for_each(|event| independent(&event, &mut expected));
            }
        }
        let codec = recorded.codec().unwrap();
        let status = StatusCode::from_u16(recorded.response.status).unwrap();
        let message = replay(&*codec, status, &recorded.response.headers, [body.clone()]).completion.message;
        let answer = message.text();
        let is_perplexity = text.contains("\"search_results\"");
        if is_perplexity {
            let value = json(&text).unwrap();
            let urls: Vec<_> =
                value["citations"].as_array().unwrap().iter().map(|url| url.as_str().unwrap()).collect();
            assert!(!message.citations.is_empty(), "{}", recorded.protocol);
            for citation in &message.citations {
                let Source::Url { url, .. } = &citation.source else { panic!() };
                let place = urls.iter().position(|known| known == url).unwrap();
                if let Some(marker) = citation.in_answer {
                    assert_eq!(marker.span().of(&answer), Some(&*format!("[{}]", place + 1)));
                }
            }
            cited += 1;
            continue;
        }
        let found: Vec<_> = message
            .citations
            .iter()
            .map(|citation| {
                let Source::Url { url, .. } = &citation.source else { panic!("{citation:?}") };
                let words = citation.in_answer.and_then(|place| place.span().of(&answer)).map(str::to_owned);
                (url.clone(), words)
            })
            .collect();
        assert_eq!(found, expected, "{}: {}", recorded.protocol, recorded.name);
        cited += usize::from(!found.is_empty());
    }
    assert!(cited >= 3, "the recordings that cite are there: {cited}");
}
