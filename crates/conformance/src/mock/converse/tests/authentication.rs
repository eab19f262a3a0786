//! Keys, signatures and paths over real sockets (bedrock.md 1, 8).

use std::time::{SystemTime, UNIX_EPOCH};

use super::{NOVA, body};
use crate::testing::{Answer, Request};
use crate::{Api, MockProvider, Reply, Rules};

#[tokio::test]
async fn a_bearer_key_is_enough() {
    let mock = MockProvider::start().await.expect("a free port");
    mock.respond_with(|_| Reply::new().text("Hi"));
    let answer = Request::converse(mock.url(), NOVA, &body()).send().await.expect("an answer");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-amzn-requestid"), "req_mock_0");
    assert_eq!(mock.requests()[0].api, Some(Api::Converse));
    for (header, kind) in [
        ("", "MissingAuthenticationTokenException"),
        ("Basic eDp5", "AccessDeniedException"),
        ("Bearer ", "AccessDeniedException"),
        // Nobody said which key signs.
        (
            "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0",
            "IncompleteSignatureException",
        ),
    ] {
        let mut request = Request::converse(mock.url(), NOVA, &body()).without_header("authorization");
        if !header.is_empty() {
            request = request.header("authorization", header);
        }
        refused(&request.send().await.expect("an answer"), kind);
    }
}

#[track_caller]
fn refused(answer: &Answer, kind: &str) {
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(answer.header("x-amzn-errortype").split(':').next(), Some(kind));
    assert!(answer.json()["message"].is_string());
}

fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // The civil date of a day count; the verifier counts the other way.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!(
        "{:04}{month:02}{day:02}T{:02}{:02}{:02}Z",
        era * 400 + year,
        rest / 3600,
        rest % 3600 / 60,
        rest % 60
    )
}

const SECRET: &str = "secret/of+a+test";

/// A request signed for `path`, as the canonical request spells it.
fn signed(url: &str, canonical_path: &str, token: Option<&str>) -> Request {
    use super::super::sigv4::{hex, hmac};
    let (stamp, body) = (now(), body().to_string());
    let host = url.strip_prefix("http://").expect("an http URL");
    let names = if token.is_some() { "host;x-amz-date;x-amz-security-token" } else { "host;x-amz-date" };
    let mut headers = format!("host:{host}\nx-amz-date:{stamp}\n");
    if let Some(token) = token {
        headers.push_str(&format!("x-amz-security-token:{token}\n"));
    }
    let hash = crate::sha256_hex(body.as_bytes());
    let canonical = format!("POST\n{canonical_path}\n\n{headers}\n{names}\n{hash}");
    let date = &stamp[..8];
    let scope = format!("{date}/us-east-1/bedrock/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", crate::sha256_hex(canonical.as_bytes()));
    let mut key = format!("AWS4{SECRET}").into_bytes();
    for part in [date, "us-east-1", "bedrock", "aws4_request"] {
        key = hmac(&key, part.as_bytes()).to_vec();
    }
    let signature = hex(&hmac(&key, to_sign.as_bytes()));
    let authorization =
        format!("AWS4-HMAC-SHA256 Credential=AKID/{scope}, SignedHeaders={names}, Signature={signature}");
    let request = Request::converse(url, NOVA, &super::body())
        .without_header("authorization")
        .header("authorization", &authorization)
        .header("x-amz-date", &stamp);
    match token {
        Some(token) => request.header("x-amz-security-token", token),
        None => request,
    }
}

// bedrock.md (a) 17
#[tokio::test]
async fn a_signature_covers_the_path_as_encoded_twice() {
    let rules = Rules::new().with_aws_credentials("AKID", SECRET);
    let mock = MockProvider::start_with(Some(rules)).await.expect("a free port");
    mock.respond_with(|_| Reply::new().text("Hi"));
    let twice = "/model/us.amazon.nova-lite-v1%253A0/converse";
    let answer = signed(mock.url(), twice, None).send().await.expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let once = "/model/us.amazon.nova-lite-v1%3A0/converse";
    let answer = signed(mock.url(), once, None).send().await.expect("an answer");
    refused(&answer, "InvalidSignatureException");
    let tampered =
        signed(mock.url(), twice, None).without_header("x-amz-date").header("x-amz-date", "20200101T000000Z");
    refused(&tampered.send().await.expect("an answer"), "InvalidSignatureException");
    let answer = signed(mock.url(), twice, Some("token")).send().await.expect("an answer");
    refused(&answer, "UnrecognizedClientException");
    let shown = format!("{:?}", mock.requests());
    assert!(!shown.contains("AWS4-HMAC") && !shown.contains("\"token\""), "{shown}");
}

#[tokio::test]
async fn temporary_keys_come_with_their_token() {
    let rules = Rules::new().with_aws_credentials("AKID", SECRET).with_aws_session_token("token");
    assert!(!format!("{rules:?}").contains(SECRET) && !format!("{rules:?}").contains("\"token\""));
    let mock = MockProvider::start_with(Some(rules)).await.expect("a free port");
    mock.respond_with(|_| Reply::new().text("Hi"));
    let twice = "/model/us.amazon.nova-lite-v1%253A0/converse";
    for (token, status) in [(Some("token"), 200), (Some("other"), 403), (None, 403)] {
        let answer = signed(mock.url(), twice, token).send().await.expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
}

#[tokio::test]
async fn errors_have_their_type_in_a_header() {
    let mock = MockProvider::start().await.expect("a free port");
    for (status, kind) in [
        (400, "ValidationException"),
        (404, "ResourceNotFoundException"),
        (408, "ModelTimeoutException"),
        (424, "ModelErrorException"),
        (429, "ThrottlingException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
    ] {
        mock.enqueue(Reply::error(status, "no"));
        let answer = Request::converse(mock.url(), NOVA, &body()).send().await.expect("an answer");
        assert_eq!(answer.status.as_u16(), status);
        let expected = format!("{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/");
        assert_eq!(answer.header("x-amzn-errortype"), expected);
        assert_eq!(answer.json(), serde_json::json!({"message": "no"}));
    }
    mock.enqueue(Reply::error(429, "cold").error_kind("ModelNotReadyException"));
    let answer = Request::converse(mock.url(), NOVA, &body()).send().await.expect("an answer");
    assert!(answer.header("x-amzn-errortype").starts_with("ModelNotReadyException:"));
}

// bedrock.md (a) 18
#[tokio::test]
async fn the_model_is_one_segment_of_the_path() {
    let mock = MockProvider::start().await.expect("a free port");
    mock.respond_with(|_| Reply::new().text("Hi"));
    let send = |path: &str| {
        let request = Request::post(mock.url(), path, body().to_string())
            .header("authorization", "Bearer k")
            .header("content-type", "application/json");
        async { request.send().await.expect("an answer") }
    };
    let arn =
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.amazon.nova-lite-v1%3A0";
    assert_eq!(send(&format!("/model/{arn}/converse")).await.status, 200);
    assert_eq!(send("/gateway/model/amazon.nova-lite-v1:0/converse").await.status, 200);
    assert_eq!(
        send("/model/a%20b/converse").await.json()["message"],
        "The provided model identifier is invalid."
    );
    assert_eq!(send("/model/%zz/converse").await.status, 400);
    assert_eq!(send("/model/arn:aws:x/us.amazon.nova-lite-v1:0/converse").await.status, 404);
    assert_eq!(send("/model//converse").await.status, 404);
    let get = Request::get(mock.url(), "/model/x/converse").send().await.expect("an answer");
    assert_eq!(get.status, 405);
    assert!(get.header("x-amzn-errortype").starts_with("UnknownOperationException"));
}
