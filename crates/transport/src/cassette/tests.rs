//! Recordings read, and written again.

use std::path::PathBuf;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::{Cassette, CassetteError, Interaction, RecordedBody, RecordedCall, RecordedResponse};

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cassettes"))
}

fn load(file: &str) -> Cassette {
    Cassette::load(fixtures().join(file)).expect("a readable recording")
}

#[test]
fn bodies_of_every_kind_give_their_bytes() {
    let chat = load("openai-chat/pyd_test_dbos_test_complex_agent_run_in_workflow_1c10.json");
    let response = &chat.interactions[0].response;
    assert!(response.body.bytes().starts_with(b"data: {"));
    assert!(response.headers["content-type"].to_str().expect("text").starts_with("text/event-stream"));
    let bedrock =
        load("bedrock-converse/pyd_test_bedrock_test_bedrock_model_stream_empty_text_delta_2c0a.json");
    let binary =
        bedrock.interactions.iter().any(|each| matches!(each.response.body, RecordedBody::Binary(_)));
    assert!(binary);
    let cut = load("openai-chat/pyd_test_openai_test_document_as_binary_content_input_with_tool_8af5.json");
    let elided = &cut.interactions[0].request.elided[0];
    assert_eq!((elided.pointer.as_str(), elided.chars), ("/messages/0/content/1/file/file_data", 17716));
}

#[test]
fn a_file_that_is_no_recording_is_an_error() {
    let with = |request: Value, response: Value| {
        Cassette::parse(&json!({"interactions": [{"request": request, "response": response}]}).to_string())
    };
    let request = json!({"method": "POST", "uri": "/", "body": {}});
    assert!(with(request.clone(), json!({"status": 200, "unknown": 1})).is_ok());
    for response in [
        json!({"status": 200, "body": {}, "body_text": "x"}),
        json!({"status": 200, "body_base64": "%"}),
        json!({"status": 200, "headers": {"a b": "x"}}),
        json!({"status": 200, "headers": {"a": 1}}),
    ] {
        let error = with(request.clone(), response).expect_err("a contradiction");
        assert!(matches!(error, CassetteError::Invalid { interaction: 0, .. }), "{error}");
    }
    assert!(matches!(Cassette::parse("{}"), Err(CassetteError::Parse(_))));
    assert!(matches!(Cassette::load(fixtures().join("none.json")), Err(CassetteError::Read { .. })));
}

#[test]
fn a_written_recording_reads_the_same() {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.append("x-twice", HeaderValue::from_static("1"));
    headers.append("x-twice", HeaderValue::from_static("2"));
    let bodies: [(&'static [u8], RecordedBody); 5] = [
        (br#"{"b": 1, "a":[]}"#, RecordedBody::Json(Bytes::from_static(br#"{"b": 1, "a":[]}"#))),
        (b"data: {}\n\n", RecordedBody::Text(Bytes::from_static(b"data: {}\n\n"))),
        (b"{}\n{}\n", RecordedBody::Text(Bytes::from_static(b"{}\n{}\n"))),
        (b"", RecordedBody::Text(Bytes::new())),
        (b"\xff\x00", RecordedBody::Binary(Bytes::from_static(b"\xff\x00"))),
    ];
    for (bytes, expected) in bodies {
        let body = RecordedBody::of(Bytes::from_static(bytes));
        assert_eq!(body, expected);
        let mut call = RecordedCall::new("POST", "https://host/v1?a=b");
        call.headers = headers.clone();
        call.body = body.clone();
        let response = RecordedResponse::new(200, headers.clone(), body);
        let mut cassette = Cassette::new("anthropic");
        cassette.interactions.push(Interaction::new(call, response));
        let read = Cassette::parse(&cassette.to_json()).expect("what was written");
        let [interaction] = read.interactions.as_slice() else { panic!("{read:?}") };
        assert_eq!(read.api, "anthropic");
        assert_eq!(
            (interaction.request.method.as_str(), interaction.request.uri.as_str()),
            ("POST", "https://host/v1?a=b")
        );
        assert_eq!((&interaction.request.body, &interaction.response.body), (&expected, &expected));
        // Headers of one name are one, as HTTP has it.
        assert_eq!(interaction.response.headers["x-twice"], "1, 2");
        assert_eq!(interaction.response.headers["content-type"], "application/json");
    }
}
