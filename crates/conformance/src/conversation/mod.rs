//! The conversations of the tests of providers: documents, tools, calls, results, and requests made of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation is a failed test")]

mod growing;
mod two_parts;

pub use growing::{Growing, Made, Step, steps, window};
pub use two_parts::two_parts;

use attache_core::capability::Place;
use attache_core::message::{ReplayData, Routed, UserOrigin};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, Completion, ContentTree, Document, DocumentId,
    MediaType, Message, ProviderCallId, StreamChunk, ToolCall, ToolCallId, ToolDefinition, ToolResult,
    ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_transport::EncodedRequest;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// An image of one pixel.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

/// The beginning of a PDF, with an id made of its name.
pub fn pdf(name: &str) -> Document {
    named(&b"%PDF-1.7 three pages"[..], "application/pdf", name)
}

/// [`PNG`], with an id made of its name.
pub fn png(name: &str) -> Document {
    named(PNG, "image/png", name)
}

fn named(bytes: &'static [u8], media: &str, name: &str) -> Document {
    let id = DocumentId::parse(format!("{name}-id")).unwrap();
    Document::from_bytes(bytes, media).with_id(id).with_file_name(name)
}

/// Bytes that pass for that media type.
pub fn sample(media: &str) -> Document {
    let bytes: &[u8] = match media {
        "image/png" => PNG,
        "image/jpeg" => b"\xff\xd8\xff\xe0jpeg",
        "image/gif" => b"GIF89a\x01\0\x01\0",
        "image/webp" => b"RIFF\x04\0\0\0WEBPVP8 ",
        "application/pdf" => b"%PDF-1.7 one page",
        _ => b"some text",
    };
    let document = Document::from_bytes(bytes, media).with_media_type(media);
    assert_eq!(document.media_type(), &MediaType::parse(media).unwrap());
    document
}

/// Two tools for files.
pub fn tools() -> ToolSet {
    let schema =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    ToolSet::new([
        ToolDefinition::new("files.list", "Lists the files of a folder.", schema("folder")),
        ToolDefinition::new("files.read", "Reads a file.", schema("path"))
            .with_examples([json!({"path": "inbox/invoice.pdf"})]),
    ])
    .unwrap()
}

/// A call with ids made of its number. The provider's begins with `kind`.
pub fn call(kind: &str, number: u32, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(name, Arguments::new(arguments))
        .with_id(ToolCallId::parse(format!("call_{number}")).unwrap())
        .with_provider_id(ProviderCallId::parse(format!("{kind}_{number}")))
}

/// A reply of these parts.
pub fn assistant(parts: impl IntoIterator<Item = Option<AssistantPart>>) -> Message {
    Message::Assistant(AssistantMessage::new(parts))
}

/// The results of a turn.
pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Message {
    Message::ToolResults(ToolResultsMessage::new(results))
}

/// A result as routing leaves it, with `content` behind its text.
pub fn routed(mut result: ToolResult, content: impl IntoIterator<Item = Option<UserPart>>) -> ToolResult {
    result.routed = Some(Routed::new(content.into_iter().flatten().collect(), 1));
    result
}

/// The data that a provider wants back with a part of a reply.
pub fn replay_data(family: &str, model: &str, data: &Value) -> ReplayData {
    ReplayData::new(family, model, RawValue::from_string(data.to_string()).unwrap())
}

/// A request of these messages.
pub fn request(messages: impl IntoIterator<Item = Message>) -> ChatRequest {
    ChatRequest::new(messages.into_iter().map(Message::shared))
}

/// A question, a turn of two calls, and their results, the second of which is given.
pub fn tool_turn(list: ToolCall, read: ToolCall, table: ToolResult) -> Vec<Message> {
    let files = ContentTree::value(&json!({"files": ["a.csv", "b.pdf"]}));
    let listed = ToolResult::new(&list, Default::default(), files);
    vec![
        Message::user("What is in the inbox?"),
        assistant([AssistantPart::text("Let me look."), list.into(), read.into()]),
        results([listed, table]),
    ]
}

/// A request with the document in that place, which `asked` returned where it is no user's.
pub fn placed(document: Document, place: Place, asked: &ToolCall) -> ChatRequest {
    let turn = |result: ToolResult| {
        vec![Message::user("Read it."), assistant([asked.clone().into()]), results([result])]
    };
    request(match place {
        Place::User => vec![Message::User(UserMessage::new([UserPart::text("Read it."), document.into()]))],
        Place::ToolResult => turn(routed(ToolResult::ok(asked, "x"), [document.into()])),
        Place::FailedResult => turn(routed(ToolResult::error(asked, "x"), [document.into()])),
        _ => {
            let mut beside = UserMessage::new([document.into()]);
            beside.origin = UserOrigin::ToolCallDocuments;
            let mut messages = turn(ToolResult::ok(asked, "x"));
            messages.push(Message::User(beside));
            messages
        }
    })
}

/// A request as `attache wire` shows it, with `body`, which its test has judged. No key is in it that has "canary" in it.
pub fn shown(encoded: &EncodedRequest, body: &Value) -> Value {
    let headers = encoded.parts.shown_headers().map(|(name, value)| (name.to_owned(), json!(value)));
    let headers: Map<String, Value> = headers.collect();
    assert!(!format!("{:?} {headers:?}", encoded.parts).contains("canary"));
    json!({
        "method": encoded.parts.method.as_str(),
        "url": encoded.parts.url,
        "headers": headers,
        "body": body,
    })
}

/// The reply at the end of a stream.
pub fn completion(chunks: impl IntoIterator<Item = StreamChunk>) -> Completion {
    match chunks.into_iter().last() {
        Some(StreamChunk::Done(completion)) => *completion,
        other => panic!("the last chunk is {other:?}"),
    }
}
