//! The same documents through every API (C33).

use serde_json::{Value, json};

use super::{SeenDocument, SeenPlace, seen_documents};
use crate::digest::sha256_hex;
use crate::testing::{PDF, base64, png};
use crate::{Api, validate_chat, validate_converse, validate_gemini, validate_messages, validate_responses};

const TAG: &str =
    r#"<document tool-name="get" tool-call-id="call_7" document-short-id="7d41c0b2" filename="lease.pdf" />"#;

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn chat(parts: &[Value]) -> Vec<SeenDocument> {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": parts}]});
    assert_eq!(validate_chat(&body), Ok(()));
    seen_documents(Api::ChatCompletions, &body)
}

fn pdf_block() -> Value {
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": base64(PDF)});
    json!({"type": "document", "source": source})
}

fn image_block() -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64(png(2, 2))}})
}

// C33, C05, C06
#[test]
fn parts_of_compatible_servers_are_decoded() {
    let uri = |media: &str, bytes: &str| format!("data:{media};base64,{}", base64(bytes));
    let content = json!([
        {"type": "document_url", "document_name": "a.pdf", "document_url": uri("application/pdf", "%PDF-")},
        {"type": "image_url", "image_url": uri("image/png", "PNG")},
        {"type": "video_url", "video_url": {"url": uri("video/mp4", "ftyp")}},
    ]);
    let body = json!({"messages": [{"role": "user", "content": content}]});
    let seen = seen_documents(Api::ChatCompletions, &body);
    let told: Vec<_> = seen
        .iter()
        .map(|seen| (seen.media_type.as_str(), seen.file_name.as_deref(), seen.sha256.clone()))
        .collect();
    let hash = |bytes: &str| Some(sha256_hex(bytes.as_bytes()));
    let wanted = [
        ("application/pdf", Some("a.pdf"), hash("%PDF-")),
        ("image/png", None, hash("PNG")),
        ("video/mp4", None, hash("ftyp")),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn a_synthetic_message_is_decoded_with_its_labels() {
    let documents = chat(&[
        text("Documents extracted from tool call results:"),
        text(TAG),
        json!({"type": "file", "file": {
            "filename": "lease.pdf", "file_data": format!("data:application/pdf;base64,{}", base64(PDF)),
        }}),
        text(r#"<document tool-name="get" tool-call-id="call_8" document-short-id="b20f6e91" />"#),
        json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", base64(png(2, 2)))}}),
    ]);
    let [pdf, image] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!(pdf.place, SeenPlace::User);
    assert_eq!(pdf.tool_call_id.as_deref(), Some("call_7"));
    assert_eq!(pdf.media_type, "application/pdf");
    assert_eq!(pdf.file_name.as_deref(), Some("lease.pdf"));
    assert_eq!(pdf.sha256.as_deref(), Some(sha256_hex(PDF).as_str()));
    assert_eq!((pdf.bytes_len, &pdf.text), (PDF.len(), &None));
    assert_eq!(image.tool_call_id.as_deref(), Some("call_8"));
    assert_eq!((image.media_type.as_str(), &image.file_name), ("image/png", &None));
    assert_eq!(image.sha256.as_deref(), Some(sha256_hex(&png(2, 2)).as_str()));
}

// C33
#[test]
fn documents_inside_tool_results_carry_their_call() {
    let titled = json!({
        "type": "document", "title": "payments.csv", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"},
    });
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": [pdf_block(), text("read it")]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "call_7", "name": "get", "input": {}},
            {"type": "tool_use", "id": "call_8", "name": "get", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_7", "content": [text("{}"), image_block(), titled]},
            {"type": "tool_result", "tool_use_id": "call_8", "content": "none"},
            text(TAG),
            pdf_block(),
        ]},
    ]});
    assert_eq!(validate_messages(&body), Ok(()));
    let documents = seen_documents(Api::Messages, &body);
    let [own, image, table, synthetic] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!((own.place, &own.tool_call_id), (SeenPlace::User, &None));
    assert_eq!((image.place, image.tool_call_id.as_deref()), (SeenPlace::ToolResult, Some("call_7")));
    assert_eq!(table.text.as_deref(), Some("a,b"));
    assert_eq!((table.file_name.as_deref(), table.bytes_len), (Some("payments.csv"), 3));
    assert_eq!(table.sha256.as_deref(), Some(sha256_hex(b"a,b").as_str()));
    assert_eq!((synthetic.place, synthetic.tool_call_id.as_deref()), (SeenPlace::User, Some("call_7")));
    assert_eq!(synthetic.sha256, own.sha256);
}

// C33
#[test]
fn converse_names_its_documents_by_format() {
    let pdf = json!({"document": {"format": "pdf", "name": "Document 1", "source": {"bytes": base64(PDF)}}});
    let image = json!({"image": {"format": "png", "source": {"bytes": base64(png(2, 2))}}});
    let table = json!({"document": {"format": "csv", "name": "Document 2", "source": {"text": "a,b"}}});
    let stored = json!({"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/k"}}}});
    let call = |id: &str| json!({"toolUse": {"toolUseId": id, "name": "get", "input": {}}});
    let body = json!({
        "messages": [
            {"role": "user", "content": [{"text": TAG}, pdf, stored]},
            {"role": "assistant", "content": [call("call_7"), call("call_8")]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "call_7", "content": [{"text": "{}"}, image, table]}},
                {"toolResult": {"toolUseId": "call_8", "content": [{"json": {}}]}},
                {"text": TAG},
                {"text": "a,b\n1,2"},
            ]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "get", "inputSchema": {"json": {"type": "object"}}}}]},
    });
    assert_eq!(validate_converse("us.amazon.nova-pro-v1:0", &body), Ok(()));
    let documents = seen_documents(Api::Converse, &body);
    let [own, video, image, table, labelled] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!((own.place, own.tool_call_id.as_deref()), (SeenPlace::User, Some("call_7")));
    assert_eq!((own.media_type.as_str(), own.file_name.as_deref()), ("application/pdf", Some("Document 1")));
    assert_eq!(own.sha256.as_deref(), Some(sha256_hex(PDF).as_str()));
    assert_eq!((video.media_type.as_str(), video.reference.as_deref()), ("video/mp4", Some("s3://b/k")));
    assert_eq!((image.place, image.tool_call_id.as_deref()), (SeenPlace::ToolResult, Some("call_7")));
    assert_eq!((image.media_type.as_str(), image.bytes_len), ("image/png", 24));
    assert_eq!((table.media_type.as_str(), table.text.as_deref()), ("text/csv", Some("a,b")));
    assert_eq!(
        (labelled.text.as_deref(), labelled.file_name.as_deref()),
        (Some("a,b\n1,2"), Some("lease.pdf"))
    );
}

#[test]
fn text_behind_a_label_is_that_document() {
    let documents = chat(&[text("intro"), text(TAG), text("a,b\n1,2"), text("not a document")]);
    let [table] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!(table.text.as_deref(), Some("a,b\n1,2"));
    assert_eq!((table.media_type.as_str(), table.bytes_len), ("text/plain", 7));
    assert_eq!(table.file_name.as_deref(), Some("lease.pdf"));
    // Two labels in a row: the first one's document is missing, not replaced.
    let documents = chat(&[text(TAG), text("<document />"), text("x")]);
    assert_eq!((documents.len(), &documents[0].file_name), (1, &None));
}

#[test]
fn a_document_by_reference_has_no_bytes() {
    let documents = chat(&[
        json!({"type": "image_url", "image_url": {"url": "https://host/a.png"}}),
        json!({"type": "file", "file": {"file_id": "file-1"}}),
    ]);
    let seen: Vec<_> =
        documents.iter().map(|each| (each.reference.as_deref(), each.sha256.clone())).collect();
    assert_eq!(seen, [(Some("https://host/a.png"), None), (Some("file-1"), None)]);
    let body = json!({"messages": [{"role": "user", "content": [
        {"type": "document", "source": {"type": "url", "url": "https://host/a.pdf"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "content", "content": [text("a"), text("b")]}},
    ]}]});
    let documents = seen_documents(Api::Messages, &body);
    assert_eq!(documents[0].reference.as_deref(), Some("https://host/a.pdf"));
    assert_eq!(documents[1].reference.as_deref(), Some("file_1"));
    assert_eq!(documents[2].text.as_deref(), Some("a\nb"));
}

#[test]
fn bodies_without_messages_hold_none() {
    for api in Api::ALL {
        for body in [
            json!(null),
            json!({"messages": "x"}),
            json!({"messages": [{"role": "user", "content": "x"}, 1]}),
            json!({"input": "x", "contents": 1}),
            json!({"input": [1, {"role": "user", "content": "x"}], "contents": [1, {"parts": [1]}]}),
        ] {
            assert_eq!(seen_documents(api, &body), []);
        }
    }
}

#[test]
fn undecodable_data_is_seen_without_a_hash() {
    let body = json!({"messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%%"}},
    ]}]});
    let documents = seen_documents(Api::Messages, &body);
    assert_eq!((documents[0].bytes_len, &documents[0].sha256), (0, &None));
}

// C33
#[test]
fn responses_documents_stand_in_messages_and_outputs() {
    let image =
        json!({"type": "input_image", "image_url": format!("data:image/png;base64,{}", base64(png(2, 2)))});
    let pdf = json!({
        "type": "input_file", "filename": "lease.pdf", "file_data": format!("data:application/pdf;base64,{}", base64(PDF)),
    });
    let input = |text: &str| json!({"type": "input_text", "text": text});
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": [input("read"), pdf, {"type": "input_file", "file_url": "https://host/a.pdf"}]},
        {"type": "function_call", "call_id": "call_7", "name": "get", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_7", "output": [input("{}"), image]},
        {"type": "message", "role": "user", "content": [input(TAG), input("a,b"), {"type": "input_image", "file_id": "file-1"}]},
        {"role": "assistant", "content": "done"},
    ]});
    assert_eq!(validate_responses(&body), Ok(()));
    let documents = seen_documents(Api::Responses, &body);
    let [own, url, inside, table, file] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!(
        (own.place, own.file_name.as_deref(), own.bytes_len),
        (SeenPlace::User, Some("lease.pdf"), PDF.len())
    );
    assert_eq!(
        (own.media_type.as_str(), own.sha256.as_deref()),
        ("application/pdf", Some(sha256_hex(PDF).as_str()))
    );
    assert_eq!((url.reference.as_deref(), &url.sha256), (Some("https://host/a.pdf"), &None));
    assert_eq!((inside.place, inside.tool_call_id.as_deref()), (SeenPlace::ToolResult, Some("call_7")));
    assert_eq!(inside.sha256.as_deref(), Some(sha256_hex(&png(2, 2)).as_str()));
    assert_eq!((table.text.as_deref(), table.tool_call_id.as_deref()), (Some("a,b"), Some("call_7")));
    assert_eq!((file.reference.as_deref(), &file.tool_call_id), (Some("file-1"), &None));
}

// C33; both spellings and both alphabets of base64, gemini.md 1
#[test]
fn gemini_documents_stand_in_contents_and_function_responses() {
    let body = json!({"contents": [
        {"role": "user", "parts": [
            {"text": "read"},
            {"inlineData": {"mimeType": "application/pdf", "data": base64(PDF).trim_end_matches('='), "displayName": "lease.pdf"}},
            {"file_data": {"mime_type": "image/png", "file_uri": "https://host/a.png"}},
        ]},
        {"role": "model", "parts": [{"function_call": {"id": "call_7", "name": "get"}}, {"functionCall": {"name": "get"}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "call_7", "name": "get", "response": {}, "parts": [
                {"inlineData": {"mimeType": "image/png", "data": base64(png(2, 2))}},
            ]}},
            {"functionResponse": {"name": "get", "response": {}}},
        ]},
        {"role": "user", "parts": [{"text": TAG}, {"inline_data": {"mime_type": "text/plain", "data": "-_8="}}]},
        {"role": "user", "parts": [{"text": TAG}, {"text": "a,b"}]},
    ]});
    assert_eq!(validate_gemini("mock-model", &body), Ok(()));
    let documents = seen_documents(Api::Gemini, &body);
    let [own, url, inside, bytes, table] = documents.as_slice() else { panic!("{documents:?}") };
    assert_eq!((own.place, own.file_name.as_deref()), (SeenPlace::User, Some("lease.pdf")));
    assert_eq!(own.sha256.as_deref(), Some(sha256_hex(PDF).as_str()));
    assert_eq!(
        (url.reference.as_deref(), url.media_type.as_str()),
        (Some("https://host/a.png"), "image/png")
    );
    assert_eq!((inside.place, inside.tool_call_id.as_deref()), (SeenPlace::ToolResult, Some("call_7")));
    assert_eq!((inside.bytes_len, inside.media_type.as_str()), (png(2, 2).len(), "image/png"));
    assert_eq!((bytes.bytes_len, bytes.tool_call_id.as_deref()), (2, Some("call_7")));
    assert_eq!((table.text.as_deref(), table.file_name.as_deref()), (Some("a,b"), Some("lease.pdf")));
}
