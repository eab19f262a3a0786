//! Verification of AWS Signature Version 4, written from its description and not from any client of ours: canonical
//! request, string to sign, derived key (bedrock.md 1).

use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, Method, Uri};
use sha2::{Digest as _, Sha256};

use super::problems::forbidden;
use crate::digest::sha256_hex;
use crate::mock::credentials::Credentials;
use crate::mock::rules::Violation;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "bedrock";
/// The maximum number of seconds that the clock of a signer may be off.
const MAX_SKEW: u64 = 300;
/// The block of SHA-256.
const BLOCK: usize = 64;

/// A request as it was sent.
pub(super) struct Signed<'a> {
    pub(super) method: &'a Method,
    pub(super) uri: &'a Uri,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

/// The parts of an `authorization` header.
struct Authorization<'a> {
    access_key: &'a str,
    date: &'a str,
    region: &'a str,
    service: &'a str,
    signed_headers: &'a str,
    signature: &'a str,
}

pub(super) fn is_signed(authorization: &str) -> bool {
    authorization.starts_with(ALGORITHM)
}

/// Verifies the signature of a request, now.
pub(super) fn verify(request: &Signed<'_>, credentials: Option<&Credentials>) -> Result<(), Violation> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    verify_at(request, credentials, SERVICE, now)
}

fn verify_at(
    request: &Signed<'_>,
    credentials: Option<&Credentials>,
    service: &str,
    now: u64,
) -> Result<(), Violation> {
    let header = text(request.headers, "authorization");
    let Some(authorization) = Authorization::parse(header) else {
        return Err(incomplete(
            "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature'",
        ));
    };
    let stamp = text(request.headers, "x-amz-date");
    let Some(signed_at) = seconds(stamp) else {
        return Err(incomplete("Authorization header requires existence of a valid 'X-Amz-Date' header."));
    };
    let Some(credentials) = credentials.filter(|own| own.access_key == authorization.access_key) else {
        return Err(unknown_token());
    };
    let token = request.headers.get("x-amz-security-token").map(|token| token.as_bytes());
    if token != credentials.session_token.as_deref().map(str::as_bytes) {
        return Err(unknown_token());
    }
    if authorization.service != service {
        return Err(mismatch(format!("Credential should be scoped to correct service: '{service}'.")));
    }
    if !stamp.starts_with(authorization.date) || authorization.date.len() != 8 {
        return Err(mismatch(format!(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{}' != '{stamp}'.",
            authorization.date
        )));
    }
    if now.abs_diff(signed_at) > MAX_SKEW {
        let what = if signed_at < now { "expired" } else { "not yet current" };
        return Err(mismatch(format!("Signature {what}: {stamp} is over 5 minutes off.")));
    }
    check_signed_headers(request.headers, authorization.signed_headers)?;
    let own_hash = sha256_hex(request.body);
    let stated = text(request.headers, "x-amz-content-sha256");
    if !stated.is_empty() && stated != own_hash {
        return Err(mismatch("The provided 'x-amz-content-sha256' header does not match what was computed."));
    }

    let canonical = canonical_request(request, authorization.signed_headers, &own_hash);
    let scope = format!("{}/{}/{service}/aws4_request", authorization.date, authorization.region);
    let to_sign = format!("{ALGORITHM}\n{stamp}\n{scope}\n{}", sha256_hex(canonical.as_bytes()));
    let mut key = format!("AWS4{}", credentials.secret_key).into_bytes();
    for part in [authorization.date, authorization.region, service, "aws4_request"] {
        key = hmac(&key, part.as_bytes()).to_vec();
    }
    let signature = hmac(&key, to_sign.as_bytes());
    if hex(&signature) == authorization.signature {
        return Ok(());
    }
    Err(mismatch(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
         Key and signing method. Consult the service documentation for details.",
    ))
}

fn incomplete(message: &str) -> Violation {
    forbidden("IncompleteSignatureException", message)
}

fn unknown_token() -> Violation {
    forbidden("UnrecognizedClientException", "The security token included in the request is invalid.")
}

fn mismatch(message: impl Into<String>) -> Violation {
    forbidden("InvalidSignatureException", message)
}

/// Host and all of Amazon's own headers must be signed; the list is sorted and in lower case.
fn check_signed_headers(headers: &HeaderMap, signed: &str) -> Result<(), Violation> {
    let names: Vec<&str> = signed.split(';').collect();
    if !names.is_sorted() || names.iter().any(|name| !headers.contains_key(*name)) {
        return Err(mismatch(format!(
            "SignedHeaders is not a sorted list of headers that were sent: {signed}"
        )));
    }
    let own = headers.keys().map(http::HeaderName::as_str).filter(|name| name.starts_with("x-amz-"));
    match own.chain(["host"]).find(|name| !names.contains(name)) {
        Some(name) => Err(mismatch(format!("'{name}' must be a 'SignedHeader' in the AWS Authorization."))),
        None => Ok(()),
    }
}

fn canonical_request(request: &Signed<'_>, signed_headers: &str, hash: &str) -> String {
    let mut headers = String::new();
    for name in signed_headers.split(';') {
        let values = request.headers.get_all(name).into_iter();
        let values = values.map(|value| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
        });
        headers.push_str(&format!("{name}:{}\n", values.collect::<Vec<_>>().join(",")));
    }
    format!(
        "{}\n{}\n{}\n{headers}\n{signed_headers}\n{hash}",
        request.method,
        // The path goes over the wire encoded, and is encoded once more to be signed.
        encode(request.uri.path()),
        canonical_query(request.uri.query().unwrap_or_default()),
    )
}

fn canonical_query(query: &str) -> String {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<_> = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    pairs.sort_unstable();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// Percent-encodes all but unreserved characters and slashes.
fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 16);
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

pub(super) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block.iter_mut().zip(Sha256::digest(key)).for_each(|(slot, byte)| *slot = byte);
    } else {
        block.iter_mut().zip(key).for_each(|(slot, byte)| *slot = *byte);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The seconds since 1970 of `20260131T235959Z`.
fn seconds(stamp: &str) -> Option<u64> {
    let digits = stamp.strip_suffix('Z')?;
    let (date, time) = digits.split_once('T')?;
    if date.len() != 8
        || time.len() != 6
        || !format!("{date}{time}").bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let number = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(date, 0, 4)?, number(date, 4, 6)?, number(date, 6, 8)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    Some(((since_1970 * 24 + number(time, 0, 2)?) * 60 + number(time, 2, 4)?) * 60 + number(time, 4, 6)?)
}

impl<'a> Authorization<'a> {
    fn parse(header: &'a str) -> Option<Self> {
        let fields = header.strip_prefix(ALGORITHM)?;
        let field = |name: &str| {
            let mut fields = fields.split(',').map(str::trim);
            fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
        };
        let mut scope = field("Credential")?.rsplitn(5, '/');
        let (end, service, region, date, access_key) =
            (scope.next()?, scope.next()?, scope.next()?, scope.next()?, scope.next()?);
        (end == "aws4_request").then_some(Self {
            access_key,
            date,
            region,
            service,
            signed_headers: field("SignedHeaders")?,
            signature: field("Signature")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

    use super::{Credentials, Signed, encode, hex, hmac, seconds, verify_at};

    #[test]
    fn stamps_are_seconds() {
        assert_eq!(seconds("19700101T000000Z"), Some(0));
        assert_eq!(seconds("20150830T123600Z"), Some(1_440_938_160));
        assert_eq!(seconds("20240229T235959Z"), Some(1_709_251_199));
        for bad in ["", "20150830T1236Z", "20151330T123600Z", "20150830 123600Z", "+2150830T123600Z"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    // RFC 4231, cases 2 and 6.
    #[test]
    fn the_keyed_hash_is_the_standards() {
        assert_eq!(
            hex(&hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(&hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    // bedrock.md 1: `%3A` on the wire is `%253A` in what is signed.
    #[test]
    fn the_path_is_encoded_once_more() {
        assert_eq!(
            encode("/model/amazon.nova-lite-v1%3A0/converse"),
            "/model/amazon.nova-lite-v1%253A0/converse"
        );
    }

    fn credentials() -> Credentials {
        Credentials {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        }
    }

    /// The example that the vendor's description of the signature works through: a query, three signed headers.
    #[test]
    fn the_published_example_verifies() {
        let uri: Uri = "/?Action=ListUsers&Version=2010-05-08".parse().expect("a path");
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "iam.amazonaws.com"),
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("x-amz-date", "20150830T123600Z"),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
                 SignedHeaders=content-type;host;x-amz-date, \
                 Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
            ),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let verify = |headers: &HeaderMap, body: &[u8], now: u64| {
            let request = Signed { method: &Method::GET, uri: &uri, headers, body };
            verify_at(&request, Some(&credentials()), "iam", now).map_err(|violation| violation.kind)
        };
        let now = 1_440_938_160;
        assert_eq!(verify(&headers, b"", now), Ok(()));
        assert_eq!(verify(&headers, b"", now + 300), Ok(()));
        let invalid = Err("InvalidSignatureException");
        assert_eq!(verify(&headers, b"", now + 301), invalid);
        assert_eq!(verify(&headers, b"", now - 301), invalid);
        assert_eq!(verify(&headers, b"x", now), invalid);
        let mut other = headers.clone();
        other.insert("host", HeaderValue::from_static("sts.amazonaws.com"));
        assert_eq!(verify(&other, b"", now), invalid);
        let mut unsigned = headers.clone();
        unsigned.insert("x-amz-target", HeaderValue::from_static("x"));
        assert_eq!(verify(&unsigned, b"", now), invalid);
        let mut without_date = headers.clone();
        without_date.remove("x-amz-date");
        assert_eq!(verify(&without_date, b"", now), Err("IncompleteSignatureException"));
        let mut temporary = headers;
        temporary.insert("x-amz-security-token", HeaderValue::from_static("t"));
        assert_eq!(verify(&temporary, b"", now), Err("UnrecognizedClientException"));
    }
}
