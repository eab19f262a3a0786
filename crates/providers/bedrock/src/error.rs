//! Errors of the API: before a stream, inside it, and as JSON under status 200 (bedrock.md 8).

use attache_core::{ErrorKind, ProviderError};
use attache_transport::lenient::{Object, Text};
use attache_transport::{ErrorBody, ErrorResponse, excerpt, kind_of_status, one_line, tells_of_full_window};
use serde::Deserialize;

pub(crate) use attache_transport::configuration;

/// The outcome of what may fail as a provider, or we in its place, would tell it.
pub(crate) type Result<T, E = ProviderError> = std::result::Result<T, E>;

/// Reads a response with an error status.
pub(crate) fn read(response: &ErrorResponse) -> ProviderError {
    let status = response.status.as_u16();
    let body = Body::parse(response.body.as_bytes());
    let header = response.headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()).map(plain);
    let code = header.or_else(|| body.as_ref().and_then(|body| body.code.clone()));
    let Some(message) = body.as_ref().and_then(|body| body.message.as_deref()) else {
        // A page of a proxy or of the network in front of the API.
        let error = response.to_error();
        return match code {
            Some(code) => {
                let kind = kind_of(&code, "").unwrap_or(error.kind());
                response.error(kind, explained(&code).unwrap_or(error.message())).with_code(code)
            }
            None => error,
        };
    };
    let kind = code.as_deref().and_then(|code| kind_of(code, message));
    let kind = kind.or_else(|| kind_of_message(message)).unwrap_or_else(|| match status {
        403 => ErrorKind::Permission,
        status => kind_of_status(status),
    });
    describe(response.error(kind, with_hint(message)), message, code)
}

/// Reads an `exception` frame.
pub(crate) fn exception(kind: &str, payload: &[u8]) -> ProviderError {
    let body = Body::parse(payload).unwrap_or_default();
    let code = Some(plain(kind)).filter(|code| !code.is_empty()).or(body.code);
    coded(code, body.message.as_deref(), body.original_message.as_deref())
}

/// Reads an `error` frame, which has headers alone.
pub(crate) fn frame(code: Option<&str>, message: Option<&str>) -> ProviderError {
    coded(code.map(plain).filter(|code| !code.is_empty()), message, None)
}

fn coded(code: Option<String>, message: Option<&str>, original: Option<&str>) -> ProviderError {
    let filled = |text: &&str| !text.trim().is_empty();
    let named = || code.as_deref().map(|code| explained(code).unwrap_or(code));
    let text = message.filter(filled).or(original.filter(filled)).or_else(named);
    let text = text.unwrap_or("the provider reported an error without saying which").to_owned();
    let text = text.as_str();
    let kind = code.as_deref().and_then(|code| kind_of(code, text)).or_else(|| kind_of_message(text));
    let error = ProviderError::new(kind.unwrap_or(ErrorKind::Api), with_hint(text));
    describe(error, text, code)
}

/// Reads a JSON body under status 200 that is no reply.
pub(crate) fn of_foreign_shape(json: &[u8]) -> ProviderError {
    let error = match Body::parse(json) {
        Some(Body { code: Some(code), message, .. }) => coded(Some(code), message.as_deref(), None),
        Some(Body { message: Some(message), .. }) => coded(None, Some(&message), None),
        _ => match ErrorBody::parse(json) {
            Some(body) if body.message.is_some() => body.to_error(),
            _ => ProviderError::new(ErrorKind::Malformed, "the reply is not a message of the API"),
        },
    };
    error.with_response_body(excerpt(json))
}

/// An error object: `{"message"}`, with `__type` from some of the services in front, which one of them puts into
/// `Output`.
#[derive(Default)]
struct Body {
    code: Option<String>,
    message: Option<String>,
    original_message: Option<String>,
}

impl Body {
    fn parse(json: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            message: Option<String>,
            #[serde(rename = "Message")]
            upper: Option<String>,
            #[serde(rename = "__type")]
            kind: Option<String>,
            #[serde(rename = "originalMessage")]
            original: Option<String>,
            #[serde(rename = "Output", default, borrow)]
            output: Object<Output<'a>>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Output<'a> {
            #[serde(rename = "__type", borrow)]
            kind: Text<'a>,
        }
        let Wire { message, upper, kind, original, output } = serde_json::from_slice(json).ok()?;
        let kind = kind.or_else(|| output.0?.kind.filled());
        let filled = |text: &String| !text.trim().is_empty();
        Some(Self {
            code: kind.map(|kind| plain(&kind)).filter(filled),
            message: message.filter(filled).or(upper.filter(filled)),
            original_message: original,
        })
    }
}

/// The name of an exception: without the address behind it and the namespace before it.
fn plain(kind: &str) -> String {
    let kind = kind.split([':', ',']).next().unwrap_or_default();
    kind.rsplit('#').next().unwrap_or_default().trim().to_owned()
}

/// The kind that an exception's name and wording stand for. Frames write names with a small first letter. The
/// wording of messages is unstable, so it only refines.
fn kind_of(code: &str, message: &str) -> Option<ErrorKind> {
    let lower = code.to_ascii_lowercase();
    Some(match lower.strip_suffix("exception").unwrap_or(&lower) {
        "validation" | "serialization" | "malformedquerystring" => {
            kind_of_message(message).unwrap_or(ErrorKind::InvalidRequest)
        }
        "accessdenied" | "optinrequired" => ErrorKind::Permission,
        "unrecognizedclient"
        | "invalidsignature"
        | "expiredtoken"
        | "invalidclienttokenid"
        | "requestexpired"
        | "signaturedoesnotmatch"
        | "incompletesignature"
        | "missingauthenticationtoken"
        | "notauthorized"
        | "invalidtoken" => ErrorKind::Authentication,
        "resourcenotfound" | "unknownoperation" => ErrorKind::NotFound,
        "servicequotaexceeded" => ErrorKind::QuotaExceeded,
        "throttling" | "throttled" | "toomanyrequests" | "toomanytokens" => ErrorKind::RateLimited,
        // A model that was imported takes a while to come up.
        "modelnotready" | "modelerror" | "modelstreamerror" | "internalserver" | "internalfailure"
        | "serviceunavailable" | "modelunavailable" | "conflict" => ErrorKind::Overloaded,
        "modeltimeout" | "requesttimeout" => ErrorKind::Timeout,
        _ => return None,
    })
}

/// The words for an exception that comes with none.
fn explained(code: &str) -> Option<&'static str> {
    code.to_ascii_lowercase()
        .starts_with("unknownoperation")
        .then_some("this address has no such operation: check the base URL")
}

/// The API's messages about requests that it does not take.
fn kind_of_message(message: &str) -> Option<ErrorKind> {
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if tells_of_full_window(&message) {
        Some(ErrorKind::ContextTooLong)
    } else if says(&["model identifier is invalid", "model id is invalid"]) {
        Some(ErrorKind::NotFound)
    } else if says(&HISTORY) {
        Some(ErrorKind::InvalidHistory)
    } else if says(&UNSUPPORTED) {
        Some(ErrorKind::Unsupported)
    } else {
        None
    }
}

const HISTORY: [&str; 15] = [
    "is blank",
    "must contain non-whitespace text",
    "object at messages.",
    "must alternate between user and assistant",
    "must start with a user message",
    "must end with a user message",
    "expected toolresult blocks",
    "number of toolresult blocks",
    "toolconfig field must be defined",
    "cannot contain reasoning content",
    "duplicate document names",
    "documents in a request",
    "`tool_use` ids",
    "invalid `signature`",
    "thinking.signature",
];

const UNSUPPORTED: [&str; 4] =
    ["doesn't support", "doesn\u{2019}t support", "does not support", "isn't supported with"];

/// The message, with what helps where the API does not say it: newer models have no throughput on demand under their
/// bare id.
fn with_hint(message: &str) -> String {
    let mut line = one_line(message);
    if line.contains("on-demand throughput") {
        line.push_str(" (put the prefix of a region before the model id, such as us., eu. or global.)");
    }
    line
}

fn describe(error: ProviderError, message: &str, code: Option<String>) -> ProviderError {
    let lower = message.to_ascii_lowercase();
    // Quotas of a day do not come back in time.
    let lasting = lower.contains("per day") && error.kind() == ErrorKind::RateLimited;
    let error = error.with_code(code).with_param(param(message).map(str::to_owned));
    if lasting { error.with_retryable(false) } else { error }
}

/// The field that a message names: `The text field … at messages.1.content.0 is blank`.
fn param(message: &str) -> Option<&str> {
    let at = message.find("messages.").or_else(|| message.find("tools."))?;
    let field = message.get(at..)?;
    let end =
        field.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_')).unwrap_or(field.len());
    field.get(..end).map(|field| field.trim_end_matches('.')).filter(|field| field.contains('.'))
}
