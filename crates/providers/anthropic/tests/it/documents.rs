//! Documents: what the capability table declares is emitted, and nothing else is (C24, C25, C26).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_anthropic::MessagesCodec;
use attache_core::capability::{Matrix, Place};
use attache_core::{ChatRequest, ContentTree, Document, ErrorKind, Message, ToolResult, UserMessage};
use attache_transport::Codec as _;

/// A request with the document in that place.
fn with(document: Document, place: Place) -> ChatRequest {
    placed(document, place, &call(1, "files.read", "{}"))
}

#[test]
fn the_table_and_the_emitter_agree() {
    const MEDIA: [&str; 11] = [
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "application/pdf",
        "text/csv",
        "application/json",
        "image/tiff",
        "audio/mpeg",
        "video/mp4",
        "application/zip",
    ];
    let models = Matrix::bundled().patterns("anthropic");
    for model in
        models.into_iter().map(|pattern| pattern.replace('*', "")).chain(["claude-unheard-of".into()])
    {
        let codec = MessagesCodec::new(&model);
        for place in [Place::User, Place::ToolResult, Place::FailedResult, Place::AfterToolResults] {
            for media in MEDIA {
                let document = sample(media);
                let mut accepted = codec.capabilities().place(place).accepts(document.media_type());
                // A failed result has text blocks only; routing makes text of what reads as text.
                accepted &= place != Place::FailedResult;
                let request = with(document, place);
                let encoded = encode_for(&request, &codec).map_err(|error| error.kind());
                if accepted {
                    assert!(encoded.is_ok(), "{model} {} {media}", place.as_str());
                } else {
                    assert_eq!(
                        encoded.unwrap_err(),
                        ErrorKind::Unsupported,
                        "{model} {} {media}",
                        place.as_str()
                    );
                }
            }
        }
    }
    for media in ["image/png", "application/pdf", "text/csv"] {
        for place in [Place::User, Place::ToolResult, Place::AfterToolResults] {
            body(&with(sample(media), place));
        }
    }
}

#[test]
fn the_error_names_document_model_and_reason() {
    let fails = |document: Document, model: &str| {
        let error = encode_for(&with(document, Place::User), &MessagesCodec::new(model)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        error.message().to_owned()
    };
    let message = fails(pdf("a.pdf"), "claude-3-haiku-20240307");
    assert!(
        message.contains("claude-3-haiku-20240307 cannot take the pdf a.pdf (application/pdf)"),
        "{message}"
    );
    assert!(fails(pdf("a.pdf").with_media_type("audio/mpeg"), MODEL).contains("audio"));
    assert!(fails(pdf("a.pdf").without_bytes(), MODEL).contains("not loaded"));
    assert!(fails(Document::external("https://example.com/a.pdf"), MODEL).contains("not cleared"));
    let latin = Document::from_bytes(&b"caf\xe9"[..], "text/plain");
    assert!(fails(latin, MODEL).contains("not UTF-8"));
    for (bytes, media) in
        [("", "text/plain"), (" \n", "text/plain"), ("", "application/pdf"), ("", "image/png")]
    {
        let empty = Document::from_bytes(bytes.as_bytes(), media).with_media_type(media);
        assert!(fails(empty, MODEL).ends_with("it is empty"), "{bytes:?} {media}");
    }
}

// anthropic.md 4
#[test]
fn a_long_name_is_cut_to_a_title() {
    for (name, title) in [("\u{e9}".repeat(501), "\u{e9}".repeat(500)), ("a".repeat(500), "a".repeat(500))] {
        let sent = body(&with(pdf(&name), Place::User));
        let blocks = sent["messages"][0]["content"].as_array().unwrap();
        let block = blocks.iter().find(|block| block["type"] == "document").unwrap();
        assert_eq!(block["title"], title);
    }
}

#[test]
fn unrouted_documents_are_an_error() {
    let asked = call(1, "files.read", "{}");
    let mut result = ToolResult::ok(&asked, "x");
    result.documents = vec![pdf("a.pdf")];
    let turn = [Message::user("a"), assistant([asked.into()]), results([result])];
    let tree = ContentTree::parse(r#"{"mail":1}"#, vec![pdf("b.pdf")]).unwrap();
    let event = [Message::User(UserMessage::event(tree))];
    for (messages, place) in [(turn.to_vec(), "the result of call_1"), (event.to_vec(), "the message")] {
        let error = encode(&request(messages)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidHistory);
        assert!(error.message().starts_with(place), "{error}");
        assert!(error.message().contains("1 documents that were not routed"), "{error}");
    }
}

// The API cites all documents of a request or none
#[test]
fn a_document_that_cannot_be_cited_is_refused_where_others_are() {
    let asked = call(1, "files.read", "{}");
    let with = |document: Document, cites: Option<bool>| {
        let result = routed(ToolResult::ok(&asked, "x"), [document.into()]);
        let mut request =
            request([Message::user("Read it."), assistant([asked.clone().into()]), results([result])])
                .with_tools(tools());
        request.settings.citations = cites;
        request
    };
    let error = encode(&with(pdf("lease.pdf"), Some(true))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("all documents of a request or none"), "{error}");
    assert!(encode(&with(pdf("lease.pdf"), None)).is_ok());
    assert!(encode(&with(png("lease.png"), Some(true))).is_ok(), "an image is no document");
    let notes = Document::from_bytes(&b"The rent is EUR 900."[..], "text/plain");
    assert!(body(&with(notes, Some(true))).to_string().contains(r#""citations":{"enabled":true}"#));
}
