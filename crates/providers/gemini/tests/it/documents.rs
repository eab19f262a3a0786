//! Documents: what the capability table declares is emitted, and nothing else is (C24, C25, C26).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use crate::common::*;
use attache_core::capability::{Matrix, Place};
use attache_core::{ChatRequest, ContentTree, Document, ErrorKind, Message, ToolResult, UserMessage};
use attache_gemini::GenerateCodec;
use attache_transport::Codec as _;

/// A request with the document in that place.
fn with(document: Document, place: Place) -> ChatRequest {
    placed(document, place, &call(1, "files.read", "{}"))
}

// C24, C26, C33: what a row declares can be sent, the strict mock takes it, and nothing else can be sent
#[test]
fn the_table_and_the_emitter_agree() {
    const OTHERS: [&str; 5] =
        ["image/gif", "image/tiff", "audio/midi", "application/zip", "application/msword"];
    for (family, unheard) in [("gemini", "gemini-9-ultra"), ("vertex", "gemini-9-ultra")] {
        let patterns = Matrix::bundled().patterns(family);
        for model in patterns.into_iter().map(|pattern| pattern.replace('*', "")).chain([unheard.into()]) {
            let codec = match family {
                "vertex" => GenerateCodec::vertex(&model).with_project("p", "global"),
                _ => GenerateCodec::new(&model),
            };
            let declared = &codec.capabilities().user.media;
            let declared = declared.iter().map(String::as_str).filter(|media| *media != "text");
            let media: Vec<&str> = declared.chain(["text/csv", "application/json"]).chain(OTHERS).collect();
            for place in [Place::User, Place::ToolResult, Place::FailedResult, Place::AfterToolResults] {
                for media in &media {
                    let document = sample(media);
                    let accepted = codec.capabilities().place(place).accepts(document.media_type());
                    let request = with(document, place);
                    match encode_for(&request, &codec) {
                        Ok(_) if accepted => {
                            body_for(&request, &codec);
                        }
                        Err(error) if !accepted => assert_eq!(error.kind(), ErrorKind::Unsupported),
                        other => panic!("{family}/{model} {} {media}: {other:?}", place.as_str()),
                    }
                }
            }
        }
    }
}

// gemini.md 12: the API's own words
#[test]
fn media_types_in_the_words_of_the_api() {
    // With the heads that such files have, which say less than their types.
    for (media, head, word) in [
        ("audio/mp4", "\0\0\0\x20ftypM4A ", "audio/m4a"),
        ("audio/x-m4a", "\0\0\0\x20ftypmp42", "audio/m4a"),
        ("audio/webm;codecs=opus", "", "audio/webm"),
        ("video/quicktime", "\0\0\0\x14ftypqt  ", "video/mov"),
        ("video/x-msvideo", "RIFF....AVI LIST", "video/avi"),
        ("video/x-ms-wmv", "", "video/wmv"),
        ("audio/x-aiff", "FORM....AIFF", "audio/aiff"),
        ("audio/wav", "RIFF....WAVEfmt ", "audio/wav"),
    ] {
        let mut bytes = head.as_bytes().to_vec();
        if media.contains("webm") {
            bytes = b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm".to_vec();
        }
        bytes.extend(b"\0\x01\x02\xff");
        let body = body(&with(Document::from_bytes(bytes, media), Place::User));
        assert_eq!(body["contents"][0]["parts"][1]["inlineData"]["mimeType"], word, "{media}");
    }
}

#[test]
fn the_error_names_document_model_and_reason() {
    let fails = |document: Document, model: &str| {
        let error = encode_for(&with(document, Place::User), &GenerateCodec::new(model)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        error.message().to_owned()
    };
    let message = fails(pdf("a.pdf"), "gemma-3-27b-it");
    assert!(message.contains("gemma-3-27b-it cannot take the pdf a.pdf (application/pdf)"), "{message}");
    assert!(fails(pdf("a.pdf").with_media_type("audio/midi"), MODEL).contains("audio"));
    assert!(fails(pdf("a.pdf").without_bytes(), MODEL).contains("not loaded"));
    assert!(fails(Document::external("https://example.com/a.pdf"), MODEL).contains("not cleared"));
    let latin = Document::from_bytes(&b"caf\xe9"[..], "text/plain");
    assert!(fails(latin, MODEL).contains("not UTF-8"));
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
