//! Errors that this family of APIs reports in its own way. The parts that all APIs share are read by the transport.

use std::error::Error as StdError;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{ErrorBody, ErrorResponse, excerpt, kind_of_status};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use attache_transport::configuration;

/// The outcome of what may fail as a provider, or we in its place, would tell it.
pub(crate) type Result<T, E = ProviderError> = std::result::Result<T, E>;

use attache_transport::lenient::{Count, Object, Text};

/// Reads a response with an error status (openai.md 0.3).
pub(crate) fn read(response: &ErrorResponse) -> ProviderError {
    let common = response.to_error();
    let body = ErrorBody::parse(response.body.as_bytes()).unwrap_or_default();
    // Some servers call every error `api_error`; what is wrong with a request the status says (openai.md C.13).
    let is_unspecific = body.error_type.as_deref() == Some("api_error")
        && common.kind() == ErrorKind::Overloaded
        && response.status.is_client_error();
    let by_status = || is_unspecific.then(|| (kind_of_status(response.status.as_u16()), None));
    let special = special(&body, response.body.as_bytes(), Some(response.status.as_u16()));
    match special.or_else(by_status) {
        Some((kind, None)) => response.as_kind(kind, &common),
        Some((kind, retryable)) => response.as_kind(kind, &common).with_retryable(retryable),
        None => common,
    }
}

/// Reads an error under a success status: in a stream, or in the place of an answer.
pub(crate) fn reported(json: &[u8]) -> ProviderError {
    let body = ErrorBody::parse(json).unwrap_or_else(|| {
        let mut body = ErrorBody::default();
        body.message = Some(excerpt(json));
        body
    });
    let common = body.to_error();
    let error = match special(&body, json, None) {
        Some((kind, retryable)) => ProviderError::new(kind, common.message())
            .with_status(common.status())
            .with_code(common.code().map(str::to_owned))
            .with_param(common.param().map(str::to_owned))
            .with_request_id(common.request_id().map(str::to_owned))
            .with_retryable(retryable),
        None => common,
    };
    error.with_response_body(excerpt(json))
}

/// True if a member that is there holds anything.
pub(crate) fn is_set(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| !matches!(raw.get(), "null" | "\"\"" | "false" | "{}"))
}

/// A reply that would take too much room.
pub(crate) fn too_many(what: &str) -> ProviderError {
    attache_transport::malformed(format!("the reply has too many {what}"))
}

/// A frame or body that is not what the protocol says.
pub(crate) fn malformed(json: &[u8], source: impl Into<Box<dyn StdError + Send + Sync>>) -> ProviderError {
    ProviderError::new(ErrorKind::Malformed, "the answer is not valid JSON")
        .with_response_body(excerpt(json))
        .with_source(source)
}

/// JSON that is no answer of this API: an error that is reported in its place, or the answer of another endpoint.
pub(crate) fn no_answer(json: &[u8]) -> ProviderError {
    if is_error(json) {
        return reported(json);
    }
    ProviderError::new(ErrorKind::Malformed, "the answer is not one of this API")
        .with_response_body(excerpt(json))
}

/// True if JSON is an error object of any shape.
pub(crate) fn is_error(json: &[u8]) -> bool {
    ErrorBody::parse(json).is_some_and(|body| body.message.is_some() || body.code.is_some())
}

/// A response that failed without saying why.
pub(crate) fn failed(json: &[u8]) -> ProviderError {
    ProviderError::new(ErrorKind::Api, "the response failed, the provider does not say why")
        .with_response_body(excerpt(json))
}

/// A response that was cancelled at the server.
pub(crate) fn cancelled(json: &[u8]) -> ProviderError {
    ProviderError::new(ErrorKind::Cancelled, "the response was cancelled at the provider")
        .with_response_body(excerpt(json))
}

/// A response that goes on in the background, which nobody here waits for.
pub(crate) fn unfinished(status: &str, json: &[u8]) -> ProviderError {
    let text = format!("the response is not finished but {status}: background mode is not supported");
    ProviderError::new(ErrorKind::Unsupported, text).with_response_body(excerpt(json))
}

/// Kind of the errors that only this family says so, and whether trying again helps where the kind does not tell.
fn special(body: &ErrorBody, json: &[u8], status: Option<u16>) -> Option<(ErrorKind, Option<bool>)> {
    if body.kind() == Some(ErrorKind::ContextTooLong) {
        return None;
    }
    if let Some(code) = base_resp(json) {
        return business_kind(code).map(|kind| (kind, None));
    }
    let message = body.message.as_deref().unwrap_or_default().to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().all(|word| message.contains(word));
    let kind = match (body.error_type.as_deref(), body.code.as_deref()) {
        (Some("invalid_model"), _) => ErrorKind::NotFound,
        (Some("exceed_context_size_error"), _) => ErrorKind::ContextTooLong,
        // A request that is larger than what may be used in a minute never goes through; a shorter one does.
        _ if says(&["request too large", "tokens per min"]) => {
            return Some((ErrorKind::ContextTooLong, Some(false)));
        }
        (_, Some("data_inspection_failed")) => ErrorKind::Refused,
        // openai.md C.12
        (_, Some("tokens_limit_reached")) => ErrorKind::ContextTooLong,
        (_, Some("previous_response_not_found" | "invalid_encrypted_content")) => ErrorKind::InvalidHistory,
        // The model's call did not fit the tool's schema; another try may (openai.md C.7, D 55).
        (_, Some("tool_use_failed")) => return Some((ErrorKind::InvalidRequest, Some(true))),
        (_, code) => match numbered_kind(json, status).or_else(|| failure_kind(code?)) {
            Some(kind) => kind,
            // The server's template refuses the messages: trying again changes nothing (openai.md C.16).
            None if says(&["jinja"]) => return Some((ErrorKind::InvalidRequest, Some(false))),
            None if says(&["incorrect api key"]) => ErrorKind::Authentication,
            None if UNPAIRED.iter().any(|words| says(words)) => ErrorKind::InvalidHistory,
            None => return None,
        },
    };
    Some((kind, None))
}

/// Words of messages about histories that break the rules of an API, which stand there together.
const UNPAIRED: [&[&str]; 9] = [
    &["tool_call_id", "tool_calls"],
    &["role 'assistant'", "must not be empty"],
    &["number of function calls and responses"],
    &["reasoning_content", "passed back"],
    &["no tool output found"],
    &["no tool call found"],
    &["provided without its required"],
    &["duplicate item found"],
    &["item with id", "not found"],
];

/// Codes of responses that failed (openai.md B.3), where they are not those of all APIs.
fn failure_kind(code: &str) -> Option<ErrorKind> {
    Some(match code {
        "bio_policy"
        | "cyber_policy"
        | "misalignment_policy_violation"
        | "image_content_policy_violation" => ErrorKind::Refused,
        "data_residency_mismatch" => ErrorKind::Permission,
        "vector_store_timeout" => ErrorKind::Timeout,
        "invalid_image"
        | "invalid_image_format"
        | "invalid_image_mode"
        | "invalid_image_url"
        | "invalid_base64_image"
        | "image_file_not_found"
        | "image_file_too_large"
        | "image_parse_error"
        | "image_too_large"
        | "image_too_small"
        | "empty_image_file"
        | "unsupported_image_media_type"
        | "failed_to_download_image" => ErrorKind::InvalidRequest,
        _ => return None,
    })
}

/// The business code of a `base_resp`, which comes under status 200 and is no HTTP status (openai.md C.3, D 50).
pub(crate) fn base_resp(json: &[u8]) -> Option<u64> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Body {
        base_resp: Object<BaseResp>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct BaseResp {
        status_code: Count,
    }
    let body: Object<Body> = serde_json::from_slice(json).ok()?;
    body.0?.base_resp.0?.status_code.0.filter(|code| *code != 0)
}

fn business_kind(code: u64) -> Option<ErrorKind> {
    Some(match code {
        1000 | 1013 => ErrorKind::Overloaded,
        1002 | 1039 => ErrorKind::RateLimited,
        1004 | 2049 => ErrorKind::Authentication,
        1008 => ErrorKind::QuotaExceeded,
        1026 | 1027 => ErrorKind::Refused,
        1042 | 2013 => ErrorKind::InvalidRequest,
        _ => return None,
    })
}

/// The kinds of the codes of GLM: four digits, in an error object without a type. Others number their errors, too,
/// and a status of the server's says more than a number (openai.md C.2, C.6).
fn numbered_kind(json: &[u8], status: Option<u16>) -> Option<ErrorKind> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Body<'a> {
        #[serde(borrow)]
        error: Object<Numbered<'a>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Numbered<'a> {
        #[serde(borrow)]
        code: Text<'a>,
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
    }
    let body: Object<Body<'_>> = serde_json::from_slice(json).ok()?;
    let error = body.0?.error.0?;
    if error.kind.get().is_some() || status.is_some_and(|status| status >= 500) {
        return None;
    }
    Some(match error.code.get()? {
        "1000" | "1001" | "1002" | "1003" | "1004" => ErrorKind::Authentication,
        "1113" | "1304" | "1308" | "1309" | "1310" => ErrorKind::QuotaExceeded,
        "1210" | "1213" | "1214" | "1215" => ErrorKind::InvalidRequest,
        "1211" => ErrorKind::NotFound,
        "1234" => ErrorKind::Overloaded,
        "1261" => ErrorKind::ContextTooLong,
        "1301" => ErrorKind::Refused,
        "1302" | "1303" | "1305" | "1312" => ErrorKind::RateLimited,
        _ => return None,
    })
}
