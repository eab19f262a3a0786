//! Bodies: JSON, forms, forms of several parts, documents.

use attache_core::tool::ConversationDocuments;
use attache_core::{Document, Message, ToolContext, ToolErrorKind, UserMessage};
use attache_http_tools::{BodyFormat, Endpoint, Parameter, Style};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{call, call_in, echoed, echoing, here, value};

fn with(documents: &[&Document]) -> ToolContext {
    let parts = documents.iter().map(|document| (*document).clone().into());
    let messages = [Message::User(UserMessage::new(parts)).shared()];
    let mut context = ToolContext::new();
    context.documents = ConversationDocuments::of(&messages);
    context
}

#[tokio::test]
async fn a_form_of_one_line() {
    let endpoint = Endpoint::post("x", "/")
        .with_body_format(BodyFormat::Form)
        .with_parameter(Parameter::body("a", json!({"type": "string"})))
        .with_parameter(Parameter::body("b", json!({"type": "array", "items": {}})))
        .with_parameter(Parameter::body("c", json!({"type": "object"})))
        .with_parameter(Parameter::body("d", json!({"type": "object"})).with_style(Style::DeepObject, true));
    let tools = here(echoing()).with_endpoint(endpoint).unwrap();
    let sent =
        echoed(&tools, "x", json!({"a": "x&y=z ü", "b": [1, 2], "c": {"k": 1}, "d": {"k": {"l": "m"}}}))
            .await;
    assert_eq!(sent["body"], "a=x%26y%3Dz%20%C3%BC&b=1&b=2&c=%7B%22k%22%3A1%7D&d%5Bk%5D%5Bl%5D=m");
    assert_eq!(sent["headers"]["content-type"], "application/x-www-form-urlencoded");
}

/// The parts of a form, as a reader of MIME would have them: heads and contents.
fn parts(content_type: &str, body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let boundary = content_type.split_once("boundary=").unwrap().1;
    let opening = format!("--{boundary}\r\n");
    let (between, closing) = (format!("\r\n--{boundary}\r\n"), format!("\r\n--{boundary}--\r\n"));
    let body = body.strip_prefix(opening.as_bytes()).unwrap().strip_suffix(closing.as_bytes()).unwrap();
    let mut rest = body;
    let mut parts = Vec::new();
    let find = |text: &[u8], what: &[u8]| text.windows(what.len()).position(|window| window == what);
    loop {
        let (part, after) = match find(rest, between.as_bytes()) {
            Some(at) => (&rest[..at], Some(&rest[at + between.len()..])),
            None => (rest, None),
        };
        let blank = find(part, b"\r\n\r\n").unwrap();
        parts.push((String::from_utf8(part[..blank].to_vec()).unwrap(), part[blank + 4..].to_vec()));
        match after {
            Some(after) => rest = after,
            None => return parts,
        }
    }
}

/// Answers with the parts that it was sent: heads, and contents in hexadecimal digits.
fn reading() -> Router {
    Router::new().fallback(|request: Request| async move {
        let media_type = request.headers()["content-type"].to_str().unwrap().to_owned();
        let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
        let parts = parts(&media_type, &body);
        let told: Vec<Value> = parts
            .into_iter()
            .map(|(head, content)| {
                json!([head, content.iter().map(|byte| format!("{byte:02x}")).collect::<String>()])
            })
            .collect();
        axum::Json(told)
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_form_of_several_parts_holds_documents_with_their_names_and_types() {
    let pdf = Document::from_bytes(&b"%PDF-1.4\r\n--attache-\r\n\0\xff"[..], "application/pdf")
        .with_file_name("a \"b\"\r\nc.pdf");
    let png = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let endpoint = Endpoint::post("upload", "/")
        .with_body_format(BodyFormat::Multipart)
        .with_parameter(Parameter::body("note", json!({"type": "string"})))
        .with_parameter(Parameter::body("meta", json!({"type": "object"})))
        .with_parameter(Parameter::document("file").required())
        .with_parameter(Parameter::documents("more"));
    let tools = here(reading()).with_endpoint(endpoint).unwrap();
    let arguments = json!({
        "note": "ü\r\n--x", "meta": {"k": [1]}, "file": pdf.id(), "more": [png.id(), {"documentId": pdf.id()}],
    });
    let sent = value(&call_in(&tools, "upload", arguments, with(&[&pdf, &png])).await.unwrap());
    let quoted = "Content-Disposition: form-data; name=\"file\"; filename=\"a %22b%22%0D%0Ac.pdf\"\r\nContent-Type: application/pdf";
    assert_eq!(
        sent,
        json!([
            ["Content-Disposition: form-data; name=\"note\"", hex("ü\r\n--x".as_bytes())],
            [
                "Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json",
                hex(b"{\"k\":[1]}")
            ],
            [quoted, hex(&pdf.bytes().unwrap())],
            [
                "Content-Disposition: form-data; name=\"more\"; filename=\"document.png\"\r\nContent-Type: image/png",
                hex(&png.bytes().unwrap())
            ],
            [quoted.replace("\"file\"", "\"more\""), hex(&pdf.bytes().unwrap())],
        ])
    );
}

#[tokio::test]
async fn a_document_is_a_whole_body_or_base64_in_json() {
    let pdf = Document::from_bytes(&b"%PDF-1.4 x"[..], "application/pdf");
    let tools = here(echoing())
        .with_endpoint(
            Endpoint::put("raw", "/")
                .with_whole_body(Parameter::document("file").required(), "application/octet-stream"),
        )
        .unwrap()
        .with_endpoint(Endpoint::post("json", "/").with_parameter(Parameter::document("file")))
        .unwrap();
    let raw = value(&call_in(&tools, "raw", json!({"file": pdf.id()}), with(&[&pdf])).await.unwrap());
    assert_eq!(
        (&raw["body"], &raw["headers"]["content-type"]),
        (&json!("%PDF-1.4 x"), &json!("application/pdf"))
    );
    let json = value(&call_in(&tools, "json", json!({"file": pdf.id()}), with(&[&pdf])).await.unwrap());
    assert_eq!(json["body"], r#"{"file":"JVBERi0xLjQgeA=="}"#);
}

// A document of another conversation is none of this one.
#[tokio::test]
async fn a_document_that_the_conversation_does_not_hold_is_not_sent() {
    let other = Document::inline("canary");
    let tools = here(Router::new().fallback(|| async { StatusCode::IM_A_TEAPOT }))
        .with_endpoint(Endpoint::post("x", "/").with_parameter(Parameter::document("file")))
        .unwrap();
    let error = call(&tools, "x", json!({"file": other.id()})).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
}

#[tokio::test]
async fn a_whole_body_is_one_argument() {
    let tools = here(echoing())
        .with_endpoint(
            Endpoint::post("json", "/")
                .with_whole_body(Parameter::body("rows", json!({"type": "array"})), "application/json"),
        )
        .unwrap()
        .with_endpoint(
            Endpoint::post("text", "/")
                .with_whole_body(Parameter::body("query", json!({"type": "string"})), "application/sql"),
        )
        .unwrap();
    let json = echoed(&tools, "json", json!({"rows": [1, {"a": null}]})).await;
    assert_eq!(
        (&json["body"], &json["headers"]["content-type"]),
        (&json!("[1,{\"a\":null}]"), &json!("application/json"))
    );
    let text = echoed(&tools, "text", json!({"query": "select \"a\""})).await;
    assert_eq!(
        (&text["body"], &text["headers"]["content-type"]),
        (&json!("select \"a\""), &json!("application/sql"))
    );
    assert_eq!(echoed(&tools, "json", json!({})).await["body"], "");
}
