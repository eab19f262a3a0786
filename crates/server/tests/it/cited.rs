//! Citations, in the words of each dialect.

use attache_agent::Agent;
use attache_core::citation::{AnswerSpan, How, Place, Source, Span};
use attache_core::{Citation, DocumentId, ToolCallId};
use attache_testkit::Turn;
use http::Request;
use serde_json::{Value, json};

use crate::common::{Client, Stage, named, server, text};

/// An answer behind other words that cites a page of a document, a place in a text, a page of the web and a tool.
fn turns() -> [Turn; 2] {
    let document = |name: &str| Source::Document { id: DocumentId::new(), name: Some(name.to_owned()) };
    let said = "Die Miete beträgt 900 €. Das ist üblich.";
    let claim = Span::new(0, said.find(" Das").unwrap()).map(AnswerSpan::Claim);
    let page = Source::Url { url: "https://example.org/rents".to_owned(), title: Some("Rents".to_owned()) };
    let lease = Citation::new(document("lease.pdf"), How::Native).with_place(Place::Pages(2, 3));
    let note = Citation::new(document("note.txt"), How::Native).with_document_span(Span::new(4, 12));
    [
        Turn::text("Ich sehe nach.").and_call("look", json!({})),
        Turn::text(said)
            .citing(lease.with_quote(Some("EUR 900")).with_answer_span(claim))
            .citing(note)
            .citing(Citation::new(page, How::Native))
            .citing(Citation::new(Source::Message, How::Native)),
    ]
}

// A36, A64: whole and streamed, in the shape of each API.
#[tokio::test]
async fn each_dialect_tells_citations_in_its_own_words() {
    let turns = std::iter::repeat_with(turns).take(9).flatten();
    let look = attache_agent::tool_fn("look", "", || Ok("seen"));
    let client = Client::new(server(Agent::builder(Stage::new(turns)).tool(look).citations(true)));
    let said = json!([{"role": "user", "content": "What is the rent?"}]);
    let chat = |stream| json!({"model": "papers", "stream": stream, "messages": said});
    let asked: [(&str, &str, Value); 9] = [
        ("chat", "/v1/chat/completions", chat(false)),
        ("chat_streamed", "/v1/chat/completions", chat(true)),
        ("chat_session", "/v1/chat/completions", chat(false)),
        ("responses", "/v1/responses", json!({"model": "papers", "input": "What is the rent?"})),
        (
            "responses_streamed",
            "/v1/responses",
            json!({"model": "papers", "input": "What is the rent?", "stream": true}),
        ),
        ("messages", "/v1/messages", json!({"model": "papers", "max_tokens": 100, "messages": said})),
        (
            "messages_streamed",
            "/v1/messages",
            json!({"model": "papers", "max_tokens": 100, "stream": true, "messages": said}),
        ),
        (
            "ui",
            "/v1/ui",
            json!({"id": "u", "messages": [{"role": "user", "parts": [{"type": "text", "text": "What is the rent?"}]}]}),
        ),
        (
            "ag_ui",
            "/v1/ag-ui",
            json!({"threadId": "t", "runId": "r", "messages": [{"id": "q", "role": "user", "content": "What is the rent?"}]}),
        ),
    ];
    let mut told = String::new();
    for (name, path, body) in asked {
        let request = Request::post(path).header("content-type", "application/json");
        // Its addresses are used as they are told, whatever it is called.
        let session = "a/b #1?";
        let request =
            if name == "chat_session" { request.header("x-attache-session", session) } else { request };
        let answer = text(client.send(request, body.to_string()).await).await;
        // The events that tell of citations, or the answer.
        let cites = |line: &&str| {
            line.contains("example.org") || line.contains("lease.pdf") || line.contains("note.txt")
        };
        let lines: Vec<&str> = answer.lines().filter(cites).collect();
        told.push_str(&format!("{name}\n{}\n\n", named(&lines.join("\n").replace("-source-", ".source-"))));
    }
    insta::assert_snapshot!("citations", told);
}

// A36, A64: Anthropic's API counts characters, documents and results of searches each by themselves.
#[tokio::test]
async fn messages_count_as_anthropic_does_and_make_no_place_up() {
    let nth = |index| Citation::new(Source::Nth { index, title: None }, How::Native);
    let call = Source::ToolResult { call_id: ToolCallId::parse("c").unwrap(), tool: Some("look".to_owned()) };
    let turn = || {
        Turn::text("Dort steht: „Die Miete beträgt 900 € im Monat“.")
            .citing(nth(1))
            .citing(Citation::new(call.clone(), How::Native))
    };
    let client = Client::new(server(Agent::builder(Stage::new([turn(), turn()])).citations(true)));
    let document = |text: &str| json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}});
    let lease = "Überschrift: Mietvertrag für Österreich\n\nDie Miete beträgt 900 € im Monat.\n";
    let content = json!([
        {"type": "search_result", "source": "https://example.org", "title": "found", "content": [{"type": "text", "text": "words"}]},
        document("Nothing of that."),
        document(lease),
        {"type": "text", "text": "The rent?"},
    ]);
    for stream in [false, true] {
        let body = json!({"model": "papers", "max_tokens": 100, "stream": stream, "messages": [{"role": "user", "content": content}]});
        let told = text(client.post("/v1/messages", body).await).await;
        let citations: Vec<Value> = match stream {
            false => {
                let whole: Value = serde_json::from_str(&told).unwrap();
                whole["content"][0]["citations"].as_array().unwrap_or_else(|| panic!("{told}")).clone()
            }
            true => {
                let events = crate::common::data(&told);
                events
                    .iter()
                    .map(|event| event["delta"]["citation"].clone())
                    .filter(Value::is_object)
                    .collect()
            }
        };
        // Nobody knows where in the document.
        let block = citations.iter().find(|cited| cited["type"] == "content_block_location");
        let block = block.unwrap_or_else(|| panic!("{told}"));
        assert_eq!((&block["document_index"], &block["start_block_index"]), (&json!(1), &json!(0)), "{told}");
        // The one result of a search in the request comes before it.
        let searched = citations.iter().find(|cited| cited["type"] == "search_result_location").unwrap();
        assert_eq!((&searched["search_result_index"], &searched["title"]), (&json!(1), &json!("look")));
        let place = citations.iter().find(|cited| cited["type"] == "char_location").unwrap();
        let (start, end) = (&place["start_char_index"], &place["end_char_index"]);
        let range = start.as_u64().unwrap() as usize..end.as_u64().unwrap() as usize;
        let passage: String = lease.chars().skip(range.start).take(range.len()).collect();
        assert_eq!(
            (passage.as_str(), &place["document_index"]),
            (place["cited_text"].as_str().unwrap(), &json!(1))
        );
        assert!(passage.contains("beträgt 900 €"), "{passage}");
    }
}
