//! The files that providers keep, over sockets.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{messages_body, start};
use crate::testing::{Answer, PDF, Request, base64, png};
use crate::{Api, MockProvider, Reply, Rules, sha256_hex};

/// A form of these fields and a file.
fn form(fields: &[(&str, &str)], name: &str, media_type: &str, content: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, value) in fields {
        let part = format!("--b\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n");
        body.extend(part.as_bytes());
    }
    let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=";
    body.extend(format!("{head}\"{name}\"\r\nContent-Type: {media_type}\r\n\r\n").as_bytes());
    body.extend(content);
    body.extend(b"\r\n--b--\r\n");
    body
}

fn openai(mock: &MockProvider, body: Vec<u8>) -> Request {
    Request::post(mock.url(), "/v1/files", body)
        .header("authorization", "Bearer sk-test")
        .header("content-type", "multipart/form-data; boundary=b")
}

fn anthropic(mock: &MockProvider, body: Vec<u8>) -> Request {
    Request::post(mock.url(), "/v1/files", body)
        .header("x-api-key", "sk-ant-test")
        .header("anthropic-version", "2023-06-01")
        .header("anthropic-beta", "files-api-2025-04-14")
        .header("content-type", "multipart/form-data; boundary=b")
}

fn begin(mock: &MockProvider, size: usize, media_type: &str) -> Request {
    let body = json!({"file": {"displayName": "a.pdf", "mimeType": media_type}});
    Request::google(Method::POST, mock.url(), "/upload/v1beta/files", Some(&body))
        .header("x-goog-upload-protocol", "resumable")
        .header("x-goog-upload-command", "start")
        .header("x-goog-upload-header-content-length", &size.to_string())
        .header("x-goog-upload-header-content-type", media_type)
}

async fn finish(mock: &MockProvider, begun: &Answer, content: &[u8]) -> Answer {
    let url = begun.header("x-goog-upload-url");
    let path = url.strip_prefix("https://generativelanguage.googleapis.com").expect("the API's own address");
    let request = Request::post(mock.url(), path, content.to_vec())
        .header("x-goog-upload-command", "upload, finalize")
        .header("x-goog-upload-offset", "0");
    request.send().await.expect("an answer")
}

async fn sent(request: Request) -> Answer {
    request.send().await.expect("an answer")
}

/// A Messages request with a document of that source.
async fn asked(mock: &MockProvider, block: &str, id: &str, beta: bool) -> Answer {
    let mut body = messages_body();
    let source = json!({"type": "file", "file_id": id});
    body["messages"][0]["content"] =
        json!([{"type": block, "source": source}, {"type": "text", "text": "?"}]);
    let request = Request::messages(mock.url(), &body);
    sent(if beta { request.header("anthropic-beta", "x,files-api-2025-04-14") } else { request }).await
}

#[tokio::test]
async fn files_of_anthropic_are_uploaded_named_and_deleted() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new().text("Hi"));
    let fields = [("expires_in_seconds", "3600")];
    let answer = sent(anthropic(&mock, form(&fields, "a.pdf", "application/pdf", PDF))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let file = answer.json();
    assert_eq!(
        (&file["type"], &file["filename"], &file["size_bytes"]),
        (&json!("file"), &json!("a.pdf"), &json!(9))
    );
    let id = file["id"].as_str().expect("an id");
    let [kept] = &mock.files()[..] else { panic!("one file") };
    assert_eq!((kept.api, kept.id.as_str(), &kept.bytes[..]), (Api::Messages, id, PDF));

    assert_eq!(asked(&mock, "document", id, true).await.status, 200);
    let refused = asked(&mock, "document", id, false).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["type"]),
        (400, &json!("invalid_request_error"))
    );
    assert_eq!(asked(&mock, "image", id, true).await.status, 400, "it is no image");
    let missing = asked(&mock, "document", "file_none", true).await;
    assert_eq!(missing.status, 404);
    assert_eq!(
        missing.json()["error"],
        json!({"type": "not_found_error", "message": "File not found: file_none"})
    );

    // A file that is only named is known by its content.
    let requests = mock.requests();
    let documents = mock.seen_documents(&requests[1]);
    let [document] = &documents[..] else { panic!("one document") };
    assert_eq!((document.sha256.as_deref(), document.bytes_len), (Some(sha256_hex(PDF).as_str()), PDF.len()));
    assert_eq!(document.reference.as_deref(), Some(id));

    let gone = Request::delete(mock.url(), &format!("/v1/files/{id}"))
        .header("x-api-key", "sk-ant-test")
        .header("anthropic-version", "2023-06-01")
        .header("anthropic-beta", "files-api-2025-04-14");
    assert_eq!(sent(gone).await.json(), json!({"id": id, "type": "file_deleted"}));
    assert!(mock.files().is_empty());
    assert_eq!(asked(&mock, "document", id, true).await.status, 404);
    assert_eq!(mock.seen_documents(&requests[1])[0].bytes_len, PDF.len(), "what was sent was sent");
}

#[tokio::test]
async fn files_of_openai_are_uploaded_named_and_expire() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new().text("Hi"));
    let fields = [
        ("purpose", "user_data"),
        ("expires_after[anchor]", "created_at"),
        ("expires_after[seconds]", "3600"),
    ];
    let file = sent(openai(&mock, form(&fields, "a.pdf", "application/pdf", PDF))).await.json();
    assert_eq!(
        (&file["object"], &file["purpose"], &file["bytes"]),
        (&json!("file"), &json!("user_data"), &json!(9))
    );
    let seconds = file["expires_at"].as_u64().zip(file["created_at"].as_u64());
    assert_eq!(seconds.map(|(end, start)| end - start), Some(3_600));
    let id = file["id"].as_str().expect("an id");
    let image = form(&[("purpose", "vision")], "a.png", "image/png", &png(4, 4));
    let image = sent(openai(&mock, image)).await.json();
    assert!(image.get("expires_at").is_none(), "it is kept until it is deleted");

    let responses = |part: Value| {
        let body = json!({"model": "gpt-5.1", "input": [{"role": "user", "content": [part]}]});
        sent(Request::responses(mock.url(), &body))
    };
    let chat = |id: &str| {
        let part = json!({"type": "file", "file": {"file_id": id}});
        let body = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": [part]}]});
        sent(Request::chat(mock.url(), &body))
    };
    assert_eq!(responses(json!({"type": "input_file", "file_id": id})).await.status, 200);
    assert_eq!(responses(json!({"type": "input_image", "file_id": image["id"]})).await.status, 200);
    assert_eq!(responses(json!({"type": "input_image", "file_id": id})).await.status, 400);
    assert_eq!(chat(id).await.status, 200);
    mock.expire_files();
    let missing = responses(json!({"type": "input_file", "file_id": id})).await;
    assert_eq!(
        (missing.status.as_u16(), &missing.json()["error"]["param"]),
        (404, &json!("input[0].content[0].file_id"))
    );
    assert_eq!(chat(id).await.status, 404);
    let look = Request::get(mock.url(), &format!("/v1/files/{id}")).header("authorization", "Bearer sk-test");
    assert_eq!(sent(look).await.json()["error"]["message"], format!("No such File object: {id}"));
}

#[tokio::test]
async fn files_of_gemini_are_uploaded_processed_and_named() {
    let mock =
        MockProvider::start_with(Some(Rules::new().with_file_processing(1))).await.expect("a free port");
    mock.respond_with(|_| Reply::new().text("Hi"));
    let begun = sent(begin(&mock, PDF.len(), "application/pdf")).await;
    assert_eq!((begun.status.as_u16(), begun.header("x-goog-upload-status")), (200, "active"));
    assert!(mock.files().is_empty());
    let finished = finish(&mock, &begun, PDF).await;
    assert_eq!(finished.header("x-goog-upload-status"), "final");
    let file = &finished.json()["file"];
    assert_eq!((&file["state"], &file["sizeBytes"]), (&json!("PROCESSING"), &json!("9")));
    let (name, uri) = (file["name"].as_str().expect("a name"), file["uri"].as_str().expect("a uri"));

    let ask = |uri: &str| {
        let part = json!({"fileData": {"mimeType": "application/pdf", "fileUri": uri}});
        let body = json!({"contents": [{"role": "user", "parts": [part, {"text": "?"}]}]});
        sent(Request::gemini(mock.url(), "gemini-2.5-flash", false, &body))
    };
    let early = ask(uri).await;
    let short = name.trim_start_matches("files/");
    assert_eq!(early.status, 400);
    let said = format!("The File {short} is not in an ACTIVE state and usage is not allowed.");
    assert_eq!(early.json()["error"]["message"], said);
    let path = format!("/v1beta/{name}");
    let look = |method| sent(Request::google(method, mock.url(), &path, None));
    assert_eq!(look(Method::GET).await.json()["state"], "ACTIVE");
    assert_eq!(ask(uri).await.status, 200);
    // Addresses that are none of its files are somebody else's.
    assert_eq!(ask("https://www.youtube.com/watch?v=1").await.status, 200);
    assert_eq!(look(Method::DELETE).await.json(), json!({}));
    let gone = ask(uri).await;
    assert_eq!((gone.status.as_u16(), &gone.json()["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    let said = format!("You do not have permission to access the File {short} or it may not exist.");
    assert_eq!(gone.json()["error"]["message"], said);
}

#[tokio::test]
async fn a_wrong_upload_is_refused_with_its_reason() {
    let mock = start().await;
    let pdf = |fields: &[(&str, &str)]| form(fields, "a.pdf", "application/pdf", PDF);
    let user_data = [("purpose", "user_data")];
    for (request, said) in [
        (openai(&mock, pdf(&[])), "'purpose'"),
        (openai(&mock, pdf(&[("purpose", "fun")])), "'purpose'"),
        (openai(&mock, pdf(&[("purpose", "vision"), ("name", "x")])), "Unknown parameter: 'name'"),
        (openai(&mock, pdf(&[user_data[0], ("expires_after[seconds]", "3600")])), "anchor"),
        (
            openai(
                &mock,
                pdf(&[
                    user_data[0],
                    ("expires_after[anchor]", "created_at"),
                    ("expires_after[seconds]", "60"),
                ]),
            ),
            "expires_after.seconds",
        ),
        (openai(&mock, form(&user_data, "a.pdf", "application/pdf", b"")), "File is empty"),
        (openai(&mock, form(&user_data, "a.pdf", "application/pdf", b"no PDF")), "not that of its content"),
        (openai(&mock, b"--b\r\n".to_vec()), "has no end"),
        (openai(&mock, pdf(&user_data)).without_header("content-type"), "expected multipart/form-data"),
        (openai(&mock, pdf(&user_data)).without_header("authorization"), "API key"),
        (anthropic(&mock, pdf(&[("purpose", "user_data")])), "Extra inputs"),
        (anthropic(&mock, pdf(&[("expires_in_seconds", "60")])), "3600 to 7776000"),
        (anthropic(&mock, form(&[], "a/b.pdf", "application/pdf", PDF)), "Invalid filename"),
        (anthropic(&mock, pdf(&[])).without_header("anthropic-beta"), "files-api-2025-04-14"),
        (anthropic(&mock, pdf(&[])).without_header("x-api-key"), "x-api-key"),
        (begin(&mock, 0, "application/pdf"), "no length"),
        (begin(&mock, 9, "application/pdf").without_header("x-goog-upload-protocol"), "resumable"),
        (begin(&mock, 9, "application/pdf").without_header("x-goog-upload-command"), "is not known"),
        (begin(&mock, 9, "application/pdf").without_header("x-goog-api-key"), "API Key"),
    ] {
        let answer = sent(request).await;
        assert!(answer.status.is_client_error() && answer.text().contains(said), "{said}: {}", answer.text());
    }
    let begun = sent(begin(&mock, 100, "application/pdf")).await;
    assert!(finish(&mock, &begun, PDF).await.text().contains("not as long"));
    assert_eq!(finish(&mock, &begun, PDF).await.status, 404, "an address serves once");
    assert!(mock.files().is_empty());
}

#[tokio::test]
async fn files_belong_to_their_key_and_end_as_told() {
    let rules = Rules::new().with_file_lifetime(Duration::ZERO);
    let mock = MockProvider::start_with(Some(rules)).await.expect("a free port");
    let fields = [("purpose", "user_data")];
    let pdf = || form(&fields, "a.pdf", "application/pdf", PDF);
    assert_eq!(sent(openai(&mock, pdf())).await.status, 200);
    assert!(mock.files().is_empty(), "its time is over");
    mock.enqueue_for_files(Reply::error(500, "busy"));
    assert_eq!(sent(openai(&mock, pdf())).await.status, 500);
    assert_eq!(mock.file_requests().len(), 2);

    let mock = start().await;
    let id = sent(openai(&mock, pdf())).await.json()["id"].as_str().expect("an id").to_owned();
    let other =
        Request::get(mock.url(), &format!("/v1/files/{id}")).header("authorization", "Bearer sk-other");
    assert_eq!(sent(other).await.status, 404);
    let inline = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": [{"type": "file",
        "file": {"filename": "a.pdf", "file_data": format!("data:application/pdf;base64,{}", base64(PDF))}}]}]});
    mock.enqueue(Reply::new());
    assert_eq!(sent(Request::chat(mock.url(), &inline)).await.status, 200);
}
