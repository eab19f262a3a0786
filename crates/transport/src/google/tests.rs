use std::io::Write as _;
use std::sync::{Arc, Mutex as StdMutex};

use attache_core::{ErrorKind, Secret};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::auth::Environment;

/// A key that was made for this test and opens nothing, and its other half.
const KEY: &str = include_str!("../../tests/fixtures/test-only.pem");
const PUBLIC: &[u8] = include_bytes!("../../tests/fixtures/test-only.public.der");

/// A server that answers its requests one after the other; its address, and what it was asked.
async fn server(answers: Vec<Value>) -> (String, Arc<StdMutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(StdMutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        for answer in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            loop {
                let mut piece = [0; 4096];
                let count = socket.read(&mut piece).await.unwrap();
                text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if length.is_none_or(|length| body.len() >= length.parse().unwrap()) {
                    break;
                }
            }
            seen.lock().unwrap().push(text);
            let status = if answer.get("error").is_some() { "400 Bad Request" } else { "200 OK" };
            let body = answer.to_string();
            let head =
                format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    (host, asked)
}

fn asked(seen: &StdMutex<Vec<String>>) -> Vec<String> {
    seen.lock().unwrap().clone()
}

fn environment(pairs: &[(&str, &str)]) -> Environment {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Environment::new(move |name| {
        pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    })
}

fn token(token: &str, seconds: u64) -> Value {
    json!({"access_token": token, "expires_in": seconds, "token_type": "Bearer"})
}

async fn authorized(credentials: &GoogleCredentials) -> RequestParts {
    let mut request = RequestParts::get("https://host/x");
    credentials.authorize(&mut request).await.unwrap();
    assert!(!format!("{request:?} {credentials:?}").contains("canary"));
    request
}

/// The text of base64 without padding.
fn decoded(part: &str) -> Vec<u8> {
    BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()
}

#[tokio::test]
async fn the_machine_is_asked_once_and_again_when_a_token_is_refused() {
    let (host, seen) = server(vec![token("canary", 3600), token("canary", 3600)]).await;
    let variables = [("GCE_METADATA_HOST", host.as_str()), ("GOOGLE_CLOUD_QUOTA_PROJECT", "payer")];
    let credentials = GoogleCredentials::find(&environment(&variables)).unwrap();
    authorized(&credentials).await;
    let request = authorized(&credentials).await;
    assert!(request.shown_headers().any(|pair| pair == ("authorization", "***")));
    assert!(request.shown_headers().any(|pair| pair == ("x-goog-user-project", "payer")));
    assert!(!credentials.refused(&request, &ProviderError::new(ErrorKind::Permission, "no")));
    assert!(credentials.refused(&request, &ProviderError::new(ErrorKind::Authentication, "old")));
    authorized(&credentials).await;
    let asked = asked(&seen);
    assert_eq!(asked.len(), 2);
    assert!(asked[0].starts_with("GET /computeMetadata/v1/instance/service-accounts/default/token "));
    assert!(asked[0].contains("metadata-flavor: Google\r\n"));
}

#[tokio::test]
async fn refresh_tokens_are_exchanged() {
    // Such a token ends too soon to be kept.
    let (host, seen) = server(vec![token("canary", 10), token("canary", 10)]).await;
    let file = json!({"type": "authorized_user", "client_id": "id", "client_secret": "canary-s",
        "refresh_token": "1//canary", "quota_project_id": "p", "token_uri": "https://elsewhere"});
    let (mut source, project) = file::read(&file.to_string()).unwrap();
    if let Source::Refresh { url, .. } = &mut source {
        assert_eq!(url, jwt::TOKEN_URL);
        *url = format!("http://{host}/token");
    }
    let credentials = GoogleCredentials::of(source, project);
    let request = authorized(&credentials).await;
    assert!(request.shown_headers().any(|pair| pair == ("x-goog-user-project", "p")));
    authorized(&credentials).await;
    let form = "grant_type=refresh_token&client_id=id&client_secret=canary-s&refresh_token=1%2F%2Fcanary";
    let asked = asked(&seen);
    assert!(asked.len() == 2 && asked.iter().all(|asked| asked.ends_with(form)), "{asked:?}");
}

// google.aip.dev/auth/4112
#[tokio::test]
async fn service_accounts_sign_for_their_tokens() {
    let (host, seen) = server(vec![token("canary", 3600)]).await;
    let file = json!({"type": "service_account", "project_id": "p", "private_key_id": "k1", "private_key": KEY,
        "client_email": "robot@p.iam.gserviceaccount.com", "token_uri": "https://elsewhere"});
    let (mut source, project) = file::read(&file.to_string()).unwrap();
    if let Source::ServiceAccount { url, .. } = &mut source {
        assert_eq!(url, jwt::TOKEN_URL);
        *url = format!("http://{host}/token");
    }
    let credentials = GoogleCredentials::of(source, project);
    assert!(format!("{credentials:?}").contains("robot@p"));
    authorized(&credentials).await;
    let asked = asked(&seen);
    let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let assertion = asked[0].split_once(form).unwrap().1;
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, PUBLIC)
        .verify(signed.as_bytes(), &decoded(signature))
        .unwrap();
    let (head, claims) = signed.split_once('.').unwrap();
    let (head, claims): (Value, Value) =
        (serde_json::from_slice(&decoded(head)).unwrap(), serde_json::from_slice(&decoded(claims)).unwrap());
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
    assert_eq!(claims["iss"], "robot@p.iam.gserviceaccount.com");
    assert_eq!(claims["aud"], "https://oauth2.googleapis.com/token");
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3600);
}

// google.aip.dev/auth/4117
#[tokio::test]
async fn tokens_of_a_workload_are_exchanged_for_those_of_a_service_account() {
    let (host, seen) = server(vec![
        json!({"value": "canary-own"}),
        token("canary-sts", 3600),
        json!({"accessToken": "canary", "expireTime": "2099-01-01T00:00:00Z"}),
    ])
    .await;
    let impersonated =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken";
    let file = json!({"type": "external_account", "audience": "//iam.googleapis.com/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token",
        "service_account_impersonation_url": impersonated,
        "credential_source": {"url": format!("http://{host}/own"), "headers": {"Metadata": "True"},
            "format": {"type": "json", "subject_token_field_name": "value"}}});
    let (mut source, project) = file::read(&file.to_string()).unwrap();
    if let Source::Impersonated { by, url, .. } = &mut source {
        assert_eq!(url, impersonated);
        *url = format!("http://{host}/impersonate");
        if let Source::Federated(federated) = &mut **by {
            federated.url = format!("http://{host}/sts");
        }
    }
    let credentials = GoogleCredentials::of(source, project);
    authorized(&credentials).await;
    authorized(&credentials).await;
    let asked = asked(&seen);
    assert_eq!(asked.len(), 3, "the token is kept");
    assert!(asked[0].contains("metadata: True\r\n"));
    assert!(
        asked[1].contains("subject_token=canary-own")
            && asked[1].contains("audience=%2F%2Fiam.googleapis.com%2Fx")
    );
    assert!(asked[2].contains("authorization: Bearer canary-sts\r\n"));
    assert!(
        asked[2]
            .ends_with(r#"{"scope":["https://www.googleapis.com/auth/cloud-platform"],"lifetime":"3600s"}"#)
    );
}

#[tokio::test]
async fn the_token_of_a_workload_may_stand_in_a_file() {
    let (host, seen) = server(vec![token("canary", 3600)]).await;
    let path = std::env::temp_dir().join(format!("attache-subject-{}", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(b"canary-own\n").unwrap();
    let file = json!({"type": "external_account", "audience": "a", "subject_token_type": "t",
        "token_url": "https://sts.googleapis.com/v1/token", "workforce_pool_user_project": "7",
        "credential_source": {"file": path}});
    let (mut source, project) = file::read(&file.to_string()).unwrap();
    if let Source::Federated(federated) = &mut source {
        federated.url = format!("http://{host}/sts");
    }
    authorized(&GoogleCredentials::of(source, project)).await;
    std::fs::remove_file(path).unwrap();
    let asked = asked(&seen);
    assert!(
        asked[0].contains("subject_token=canary-own&options=%7B%22userProject%22%3A%227%22%7D"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_refusal_says_why_and_no_secret() {
    let refusal =
        json!({"error": "invalid_grant", "error_description": "Token has been expired or revoked."});
    let (host, _) = server(vec![refusal]).await;
    let source = Source::Refresh {
        url: format!("http://{host}"),
        client_id: String::new(),
        client_secret: Secret::new(""),
        refresh_token: Secret::new("canary"),
    };
    let credentials = GoogleCredentials::of(source, None);
    let error = credentials.authorize(&mut RequestParts::get("https://host")).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Authentication, false));
    assert!(
        error.message().contains("invalid_grant: Token has been expired or revoked")
            && !format!("{error:?}").contains("canary"),
        "{error:?}"
    );
}

#[test]
fn unreadable_files_are_told_before_anything_is_sent() {
    let elsewhere = r#"{"type": "external_account", "token_url": "https://evil.example/.googleapis.com",
        "credential_source": {"file": "canary"}}"#;
    let executable = r#"{"type": "external_account", "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"executable": {"command": "canary"}}}"#;
    // Each is a source of AWS, or names two.
    let sources = [
        r#"{"environment_id": "aws1", "url": "http://169.254.169.254/canary"}"#,
        r#"{"environment_id": "aws1", "file": "canary"}"#,
        r#"{"file": "canary", "url": "https://canary.example"}"#,
    ];
    let workloads = sources.map(|source| {
        let token_url = "https://sts.googleapis.com/v1/token";
        format!(
            r#"{{"type": "external_account", "token_url": "{token_url}", "credential_source": {source}}}"#
        )
    });
    for file in workloads.iter().map(String::as_str).chain([
        r#"{"type": "service_account", "private_key": "canary"}"#,
        r#"{"type": "gdch_service_account", "private_key": "canary"}"#,
        "canary",
        elsewhere,
        executable,
    ]) {
        let error = GoogleCredentials::from_json(file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(!format!("{error:?}").contains("canary"));
    }
    let error = GoogleCredentials::find(&environment(&[])).unwrap_err();
    assert!(error.message().contains("GOOGLE_ACCESS_TOKEN"), "{error}");
    let missing = environment(&[("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/at/all.json")]);
    assert_eq!(GoogleCredentials::find(&missing).unwrap_err().kind(), ErrorKind::Configuration);
    assert!(GoogleCredentials::find(&environment(&[("K_SERVICE", "s")])).is_ok());
}
