use std::sync::atomic::{AtomicUsize, Ordering};

use attache_core::ErrorKind;
use serde::Deserialize;

use super::*;

/// Signatures of the newest client of AWS in another language; the first two are examples that AWS published.
const VECTORS: &str = include_str!("vectors.json");

#[derive(Deserialize)]
struct Vector {
    name: String,
    method: String,
    url: String,
    body: String,
    content_type: Option<String>,
    session_token: Option<String>,
    region: String,
    service: String,
    unix: u64,
    authorization: String,
}

fn keys() -> Credentials {
    Credentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
}

/// The request as it would be sent.
fn sent(request: &RequestParts) -> Vec<(String, String)> {
    request.shown_headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

// bedrock.md 1, (a) 17, 18
#[test]
fn signatures_are_those_of_other_clients() {
    let vectors: Vec<Vector> = serde_json::from_str(VECTORS).unwrap();
    for vector in vectors {
        let mut request = RequestParts::get(vector.url);
        request.method = vector.method.parse().unwrap();
        request.body = EncodedBody::from(vector.body);
        if let Some(content_type) = vector.content_type {
            request = request.with_header(http::header::CONTENT_TYPE, content_type);
        }
        let credentials = match vector.session_token {
            Some(token) => keys().with_session_token(token),
            None => keys(),
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(vector.unix);
        let signed = signed(&request, &credentials, &vector.region, &vector.service, now).unwrap();
        // A redactor takes the secrets of the request out of a text.
        let redacted = signed.redactor().redact(&vector.authorization).into_owned();
        assert_eq!(redacted, "***", "{}", vector.name);
        let headers = sent(&signed);
        let (date, time) = timestamp(now);
        assert!(headers.contains(&("x-amz-date".to_owned(), format!("{date}T{time}Z"))));
        let has_token = headers.iter().any(|(name, _)| name == "x-amz-security-token");
        assert_eq!(has_token, credentials.session_token().is_some());
        assert!(!format!("{signed:?} {credentials:?}").contains("AKID"));
    }
}

#[test]
fn paths_are_encoded_twice_and_queries_once() {
    assert_eq!(canonical_path("/model/a%3A0/converse"), "/model/a%253A0/converse");
    assert_eq!(canonical_path("/a/./b/../c//d/"), "/a/c/d/");
    assert_eq!((canonical_path(""), canonical_path("/")), ("/".to_owned(), "/".to_owned()));
    assert_eq!(canonical_query("b=%3a&a&b=1"), "a=&b=%3A&b=1");
    assert_eq!(percent_encoded("ü a/b~".as_bytes()), "%C3%BC%20a%2Fb~");
}

#[test]
fn dates() {
    for (seconds, date, time) in [
        (0, "19700101", "000000"),
        (951_827_696, "20000229", "123456"),
        (4_107_542_399, "21000228", "235959"),
        (4_107_542_400, "21000301", "000000"),
    ] {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(timestamp(now), (date.to_owned(), time.to_owned()));
    }
}

/// Yields other keys each time, after a while.
#[derive(Debug, Default)]
struct Counted {
    fetched: AtomicUsize,
    short_lived: bool,
}

impl CredentialSource for Arc<Counted> {
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials, ProviderError>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            let number = self.fetched.fetch_add(1, Ordering::SeqCst);
            let lives = Duration::from_secs(if self.short_lived { 299 } else { 900 });
            Ok(Credentials::new(format!("AKID{number}"), "secret").with_expiry(SystemTime::now() + lives))
        })
    }
}

async fn sign(signer: &SigV4) -> RequestParts {
    let mut request = RequestParts::post_json("https://example.com/model/a/converse", "{}".to_owned());
    signer.authorize(&mut request).await.unwrap();
    request
}

#[tokio::test]
async fn credentials_are_fetched_once_and_again_when_refused() {
    let source = Arc::new(Counted::default());
    let signer = SigV4::new("us-east-1", Arc::clone(&source));
    tokio::join!(sign(&signer), sign(&signer));
    assert_eq!(source.fetched.load(Ordering::SeqCst), 1);
    let error = |code: &str| ProviderError::new(ErrorKind::Authentication, "x").with_code(code.to_owned());
    let (sent, late) = (sign(&signer).await, sign(&signer).await);
    assert!(!signer.refused(&sent, &error("AccessDeniedException")));
    assert!(!signer.refused(&sent, &ProviderError::new(ErrorKind::Network, "x")));
    sign(&signer).await;
    assert_eq!(source.fetched.load(Ordering::SeqCst), 1);
    assert!(signer.refused(&sent, &error("ExpiredTokenException")));
    // A request that is given up leaves them to be fetched by the next.
    assert!(futures_util::FutureExt::now_or_never(sign(&signer)).is_none());
    sign(&signer).await;
    sign(&signer).await;
    assert!(signer.refused(&late, &error("ExpiredTokenException")), "the newer ones are worth an attempt");
    sign(&signer).await;
    assert_eq!(source.fetched.load(Ordering::SeqCst), 2);

    let fixed = SigV4::new("us-east-1", keys());
    assert!(!fixed.refused(&late, &error("ExpiredTokenException")), "there are no others");
}

#[tokio::test]
async fn credentials_that_are_about_to_expire_are_not_used() {
    let source = Arc::new(Counted { short_lived: true, ..Counted::default() });
    let signer = SigV4::new("us-east-1", Arc::clone(&source));
    sign(&signer).await;
    sign(&signer).await;
    assert_eq!(source.fetched.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_address_that_cannot_be_signed_is_an_error_without_its_secrets() {
    let mut request = RequestParts::get("https://ann:canary@ example.com/");
    let error = SigV4::new("us-east-1", keys()).authorize(&mut request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(!error.to_string().contains("canary"), "{error}");
}

// RFC 4231, cases 2 and 6
#[test]
fn keys_of_any_length() {
    assert_eq!(
        hex(&keyed(b"Jefe", "what do ya want for nothing?")),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    assert_eq!(
        hex(&keyed(&[0xaa; 131], "Test Using Larger Than Block-Size Key - Hash Key First")),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    );
}
