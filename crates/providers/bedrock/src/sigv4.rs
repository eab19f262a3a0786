//! Signature Version 4 (bedrock.md 1).

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use attache_core::calendar::date_of;
use attache_core::hash::hex;
use attache_core::{BoxFuture, ErrorKind, ProviderError, Secret};
use attache_transport::{Authorizer, EncodedBody, RequestParts, percent_decoded, percent_encoded, shown_url};
use http::header::AUTHORIZATION;
use http::{HeaderName, Uri};
use http_body::Body as _;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use crate::credentials::source::{CredentialSource, Credentials};
use crate::error::{self, Result};

/// The service that signatures are made for; not the name in the address.
const SERVICE: &str = "bedrock";

/// Credentials that end sooner than this are fetched anew.
const LEAD: Duration = Duration::from_secs(300);

/// How long fetching credentials may take.
const FETCH_TIME: Duration = Duration::from_secs(60);

/// Signs each attempt at a request with credentials of AWS.
///
/// Credentials are fetched at the first request, kept until five minutes before they expire, and fetched once more
/// when the API says that they have expired or are not known. However many requests need them at once, they are
/// fetched once.
///
/// ```
/// use attache_bedrock::{Bedrock, ConverseCodec, Credentials, SigV4};
/// use attache_core::LlmProvider;
///
/// let codec = ConverseCodec::new("eu.amazon.nova-lite-v1:0").with_region("eu-west-1");
/// let keys = Credentials::new("AKIA…", "secret");
/// let model = Bedrock::new(codec, SigV4::new("eu-west-1", keys))?;
/// assert_eq!(model.model_id(), "bedrock/eu.amazon.nova-lite-v1:0");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Debug)]
pub struct SigV4 {
    region: String,
    source: Arc<dyn CredentialSource>,
    current: Mutex<Arc<OnceCell<Credentials>>>,
}

impl SigV4 {
    /// Signs for `region` with what `source` yields; [`Credentials`] are a source that never changes.
    pub fn new(region: impl Into<String>, source: impl CredentialSource) -> Self {
        Self { region: region.into(), source: Arc::new(source), current: Mutex::default() }
    }

    fn cell(&self) -> Arc<OnceCell<Credentials>> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts an empty cell in the place of `used`, unless somebody did already.
    fn forget(&self, used: &Arc<OnceCell<Credentials>>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, used) {
            *current = Arc::default();
        }
    }

    /// The credentials to sign with now.
    async fn credentials(&self) -> Result<Credentials> {
        let cell = self.cell();
        if cell.get().is_some_and(|known| known.ends_within(LEAD)) {
            self.forget(&cell);
        }
        let cell = self.cell();
        let fetching = cell.get_or_try_init(|| self.source.fetch());
        let fetched = tokio::time::timeout(FETCH_TIME, fetching).await.map_err(|_| {
            ProviderError::new(ErrorKind::Timeout, "no credentials of AWS came within a minute")
        })?;
        fetched.cloned()
    }
}

impl Authorizer for SigV4 {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let credentials = self.credentials().await?;
            *request = signed(request, &credentials, &self.region, SERVICE, SystemTime::now())?;
            Ok(())
        })
    }

    fn refused(&self, request: &RequestParts, error: &ProviderError) -> bool {
        const GONE: [&str; 6] = [
            "ExpiredToken",
            "ExpiredTokenException",
            "InvalidClientTokenId",
            "InvalidToken",
            "UnrecognizedClientException",
            "RequestExpired",
        ];
        if !error.code().is_some_and(|code| GONE.contains(&code)) || !self.source.may_change() {
            return false;
        }
        let cell = self.cell();
        // Those that were fetched since are not the ones that were refused.
        if cell.get().is_some_and(|known| request.holds_secret(known.access_key_id())) {
            self.forget(&cell);
        }
        true
    }
}

impl From<SigV4> for attache_transport::Auth {
    fn from(signer: SigV4) -> Self {
        Self::Signer(Arc::new(signer))
    }
}

/// The request with what proves who sends it.
fn signed(
    request: &RequestParts,
    credentials: &Credentials,
    region: &str,
    service: &str,
    now: SystemTime,
) -> Result<RequestParts> {
    let (date, time) = timestamp(now);
    let stamp = format!("{date}T{time}Z");
    let uri: Uri = request.url.trim().parse().map_err(|_| {
        error::configuration(format!("{} is no URL that can be signed", shown_url(&request.url)))
    })?;
    let mut headers = vec![("host".to_owned(), host(&uri)), ("x-amz-date".to_owned(), stamp.clone())];
    let content_type = request.shown_headers().find(|(name, _)| *name == "content-type");
    // A type that the caller's own headers hide is sent, but not vouched for.
    if let Some((name, value)) = content_type.filter(|(_, value)| *value != "***") {
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    if let Some(token) = credentials.session_token() {
        headers.push(("x-amz-security-token".to_owned(), token.expose().to_owned()));
    }
    headers.sort();
    let signing = Signing {
        method: request.method.as_str(),
        uri: &uri,
        headers: &headers,
        payload_hash: &hash_of(&request.body),
        scope: &format!("{date}/{region}/{service}/aws4_request"),
        stamp: &stamp,
    };
    let authorization = signing.authorization(credentials);
    let mut request = request
        .clone()
        .with_header(HeaderName::from_static("x-amz-date"), stamp)
        .with_secret_header(AUTHORIZATION, "", &Secret::new(authorization));
    if let Some(token) = credentials.session_token() {
        request = request.with_secret_header(HeaderName::from_static("x-amz-security-token"), "", token);
    }
    Ok(request)
}

/// The parts of a request that a signature covers.
struct Signing<'a> {
    method: &'a str,
    uri: &'a Uri,
    /// Names in lower case, sorted, with trimmed values.
    headers: &'a [(String, String)],
    payload_hash: &'a str,
    /// `date/region/service/aws4_request`.
    scope: &'a str,
    stamp: &'a str,
}

impl Signing<'_> {
    /// The value of the header.
    fn authorization(&self, credentials: &Credentials) -> String {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let lines: String = self.headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{}",
            self.method,
            canonical_path(self.uri.path()),
            canonical_query(self.uri.query().unwrap_or_default()),
            self.payload_hash
        );
        let hash = hex(&Sha256::digest(canonical.as_bytes()));
        let to_sign = format!("AWS4-HMAC-SHA256\n{}\n{}\n{hash}", self.stamp, self.scope);
        let secret = format!("AWS4{}", credentials.secret_access_key().expose());
        let key = self.scope.split('/').fold(secret.into_bytes(), |key, part| keyed(&key, part));
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={names}, Signature={}",
            credentials.access_key_id().expose(),
            self.scope,
            hex(&keyed(&key, &to_sign))
        )
    }
}

/// HMAC with SHA-256 (RFC 2104).
fn keyed(key: &[u8], message: &str) -> Vec<u8> {
    let hashed = (key.len() > BLOCK).then(|| Sha256::digest(key));
    let mut block = [0_u8; BLOCK];
    for (to, from) in block.iter_mut().zip(hashed.as_ref().map_or(key, |hashed| hashed.as_slice())) {
        *to = *from;
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().to_vec()
}

/// The bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// The host as it is sent: with its port, unless that is the usual one.
fn host(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let usual = if uri.scheme_str() == Some("http") { 80 } else { 443 };
    match uri.port_u16() {
        Some(port) if port != usual => format!("{host}:{port}"),
        _ => host.to_owned(),
    }
}

/// The path without dots and doubled slashes, encoded once more than it is sent. (bedrock.md (a) 17)
fn canonical_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let mut canonical: String =
        segments.iter().map(|segment| format!("/{}", percent_encoded(segment.as_bytes()))).collect();
    if canonical.is_empty() || path.ends_with('/') {
        canonical.push('/');
    }
    canonical
}

/// The query's parameters in order.
fn canonical_query(query: &str) -> String {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_encoded(&percent_decoded(name)), percent_encoded(&percent_decoded(value)))
        })
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// The hash of exactly the bytes that will be sent, piece by piece.
fn hash_of(body: &EncodedBody) -> String {
    let mut body = body.clone();
    let mut context = Context::from_waker(Waker::noop());
    let mut hasher = Sha256::new();
    // A body in memory is always ready.
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
        if let Some(bytes) = frame.data_ref() {
            hasher.update(bytes);
        }
    }
    hex(&hasher.finalize())
}

/// Date and time of day, `20150830` and `123600`, in UTC.
fn timestamp(now: SystemTime) -> (String, String) {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date_of(i64::try_from(days).unwrap_or_default());
    let date = format!("{year:04}{month:02}{day:02}");
    (date, format!("{:02}{:02}{:02}", second / 3_600, second / 60 % 60, second % 60))
}

#[cfg(test)]
mod tests;
