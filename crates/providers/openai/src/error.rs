//! Errors that this family of APIs reports in its own way. The parts that all APIs share are read by the transport.

use std::error::Error as StdError;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{ErrorBody, ErrorResponse, excerpt, kind_of_status};
use serde::Deserialize;

pub(crate) use attache_transport::configuration;

use attache_transport::lenient::{Count, Object};

/// Reads a response with an error status (openai.md 0.3).
pub(crate) fn read(response: &ErrorResponse) -> ProviderError {
    let common = response.to_error();
    let body = ErrorBody::parse(response.body.as_bytes()).unwrap_or_default();
    // Some servers call every error `api_error`; what is wrong with a request the status says (openai.md C.13).
    let unspecific =
        body.error_type.as_deref() == Some("api_error") && common.kind() == ErrorKind::Overloaded;
    let by_status = || {
        let client_error = unspecific && response.status.is_client_error();
        client_error.then(|| Special { kind: kind_of_status(response.status.as_u16()), retryable: None })
    };
    match special(&body, response.body.as_bytes()).or_else(by_status) {
        Some(special) => {
            let error = response.as_kind(special.kind, &common);
            match special.retryable {
                Some(retryable) => error.with_retryable(retryable),
                None => error,
            }
        }
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
    let error = match special(&body, json) {
        Some(special) => ProviderError::new(special.kind, common.message())
            .with_status(common.status())
            .with_code(common.code().map(str::to_owned))
            .with_param(common.param().map(str::to_owned))
            .with_request_id(common.request_id().map(str::to_owned))
            .with_retryable(special.retryable),
        None => common,
    };
    error.with_response_body(excerpt(json))
}

/// A frame or body that is not what the protocol says.
pub(crate) fn malformed(json: &[u8], source: impl Into<Box<dyn StdError + Send + Sync>>) -> ProviderError {
    ProviderError::new(ErrorKind::Malformed, "the answer is not valid JSON")
        .with_response_body(excerpt(json))
        .with_source(source)
}

/// JSON that is no answer of this API, such as that of another endpoint.
pub(crate) fn no_answer(json: &[u8]) -> ProviderError {
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

#[derive(Clone, Copy, Debug, PartialEq)]
struct Special {
    kind: ErrorKind,
    retryable: Option<bool>,
}

/// The errors that only this family says so.
fn special(body: &ErrorBody, json: &[u8]) -> Option<Special> {
    let of = |kind| Some(Special { kind, retryable: None });
    if let Some(code) = base_resp(json) {
        return of(business_kind(code)?);
    }
    let message = body.message.as_deref().unwrap_or_default().to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().all(|word| message.contains(word));
    match body.error_type.as_deref() {
        Some("invalid_model") => return of(ErrorKind::NotFound),
        Some("exceed_context_size_error") => return of(ErrorKind::ContextTooLong),
        _ => {}
    }
    // A request that is larger than what may be used in a minute never goes through; a shorter one does.
    if says(&["request too large", "tokens per min"]) {
        return Some(Special { kind: ErrorKind::ContextTooLong, retryable: Some(false) });
    }
    match body.code.as_deref() {
        Some("data_inspection_failed") => return of(ErrorKind::Refused),
        // openai.md C.12
        Some("tokens_limit_reached") => return of(ErrorKind::ContextTooLong),
        Some("previous_response_not_found" | "invalid_encrypted_content") => {
            return of(ErrorKind::InvalidHistory);
        }
        // The model's call did not fit the tool's schema; another try may (openai.md C.7, D 55).
        Some("tool_use_failed") => {
            return Some(Special { kind: ErrorKind::InvalidRequest, retryable: Some(true) });
        }
        Some(code) if code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit()) => {
            if let Some(kind) = numbered_kind(code) {
                return of(kind);
            }
        }
        Some(code) => {
            if let Some(kind) = failure_kind(code) {
                return of(kind);
            }
        }
        None => {}
    }
    if says(&["jinja"]) {
        // The server's template refuses the messages: trying again changes nothing (openai.md C.16).
        return Some(Special { kind: ErrorKind::InvalidRequest, retryable: Some(false) });
    }
    if says(&["incorrect api key"]) {
        return of(ErrorKind::Authentication);
    }
    let unpaired = says(&["tool_call_id", "tool_calls"])
        || says(&["role 'assistant'", "must not be empty"])
        || says(&["number of function calls and responses"])
        || says(&["reasoning_content", "passed back"])
        || says(&["no tool output found"])
        || says(&["no tool call found"])
        || says(&["provided without its required"])
        || says(&["duplicate item found"])
        || says(&["item with id", "not found"]);
    if unpaired { of(ErrorKind::InvalidHistory) } else { None }
}

/// Codes of responses that failed (openai.md B.3), where they are not those of all APIs.
fn failure_kind(code: &str) -> Option<ErrorKind> {
    Some(match code {
        "bio_policy" | "misalignment_policy_violation" | "image_content_policy_violation" => {
            ErrorKind::Refused
        }
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
fn base_resp(json: &[u8]) -> Option<u64> {
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

/// Codes of four digits as text (openai.md C.2).
fn numbered_kind(code: &str) -> Option<ErrorKind> {
    Some(match code {
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
