//! Errors of the API, before and inside a stream (gemini.md 9).

use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{ErrorBody, ErrorResponse, excerpt, kind_of_status, one_line, tells_of_full_window};
use serde_json::Value;

pub(crate) use attache_transport::{configuration, invalid_history, malformed, unsupported};

/// The outcome of what may fail as a provider, or we in its place, would tell it.
pub(crate) type Result<T, E = ProviderError> = std::result::Result<T, E>;

/// Reads a response with an error status.
pub(crate) fn read(response: &ErrorResponse) -> ProviderError {
    let status = response.status.as_u16();
    let Some(body) = Body::parse(response.body.as_bytes()) else {
        // A page of a proxy or of the network in front of the API.
        return response.to_error();
    };
    let kind = body.kind().unwrap_or_else(|| kind_of_status(status));
    body.describe(response.error(kind, body.message()))
}

/// Reads an error object under status 200.
pub(crate) fn in_stream(json: &[u8]) -> ProviderError {
    let Some(body) = Body::parse(json) else { return of_foreign_shape(json) };
    let by_status = body.code.filter(|code| (400..600).contains(code)).map(kind_of_status);
    let kind = body.kind().or(by_status).unwrap_or(ErrorKind::Api);
    body.describe(ProviderError::new(kind, body.message())).with_response_body(excerpt(json))
}

/// Reads a JSON body under status 200 that is neither a reply nor an error of this API.
pub(crate) fn of_foreign_shape(json: &[u8]) -> ProviderError {
    let error = match ErrorBody::parse(json) {
        Some(body) if body.message.is_some() => body.to_error(),
        _ => malformed("the reply is not what the API sends"),
    };
    error.with_response_body(excerpt(json))
}

/// That the prompt was refused: there is no candidate then, but a reason (gemini.md 7).
pub(crate) fn blocked(reason: &str, message: &str) -> ProviderError {
    let said = one_line(message.trim_end_matches('.'));
    let text = match said.is_empty() {
        true => format!("the prompt was blocked ({reason})"),
        false => format!("the prompt was blocked ({reason}): {said}"),
    };
    ProviderError::new(ErrorKind::Refused, text).with_code(reason.to_owned())
}

/// An error object: `{"error":{"code","message","status","details"}}`, or a list of one.
struct Body {
    code: Option<u16>,
    status: Option<String>,
    message: String,
    details: Details,
}

/// The details of an error, as far as their types are known.
#[derive(Default)]
struct Details {
    /// `google.rpc.ErrorInfo`
    reason: Option<String>,
    /// `google.rpc.RetryInfo`
    retry_after: Option<Duration>,
    /// `google.rpc.QuotaFailure`
    quota: Option<String>,
    /// `google.rpc.BadRequest`
    field: Option<String>,
}

impl Body {
    fn parse(json: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(json).ok()?;
        let object = value.as_array().map_or(Some(&value), |list| list.first())?;
        let error = object.get("error")?.as_object()?;
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            code: error.get("code").and_then(Value::as_u64).and_then(|code| code.try_into().ok()),
            status: Some(text("status").to_owned()).filter(|word| !word.is_empty()),
            message: text("message").to_owned(),
            details: error.get("details").map(Details::read).unwrap_or_default(),
        })
    }

    fn message(&self) -> String {
        match (one_line(self.message.trim().trim_end_matches('.')), &self.status) {
            (line, Some(status)) if line.is_empty() => status.clone(),
            (line, None) if line.is_empty() => {
                "the provider reported an error without saying which".to_owned()
            }
            (line, _) => line,
        }
    }

    /// The kind that status, details and wording stand for. The wording of messages is unstable, so it only refines.
    fn kind(&self) -> Option<ErrorKind> {
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let reason = self.details.reason.as_deref().unwrap_or_default();
        if reason.starts_with("API_KEY_") || says(&["api key not valid", "api key expired"]) {
            return Some(ErrorKind::Authentication);
        }
        Some(match self.status.as_deref()? {
            "INVALID_ARGUMENT" | "OUT_OF_RANGE" if tells_of_full_window(&message) => {
                ErrorKind::ContextTooLong
            }
            "INVALID_ARGUMENT" if says(&HISTORY) => ErrorKind::InvalidHistory,
            "INVALID_ARGUMENT" if says(&UNSUPPORTED) => ErrorKind::Unsupported,
            "INVALID_ARGUMENT" | "OUT_OF_RANGE" | "ALREADY_EXISTS" => ErrorKind::InvalidRequest,
            "FAILED_PRECONDITION" if says(&["billing"]) => ErrorKind::QuotaExceeded,
            "FAILED_PRECONDITION" if says(&["location"]) => ErrorKind::Permission,
            "FAILED_PRECONDITION" => ErrorKind::InvalidRequest,
            "UNAUTHENTICATED" => ErrorKind::Authentication,
            "PERMISSION_DENIED" => ErrorKind::Permission,
            "NOT_FOUND" => ErrorKind::NotFound,
            // A quota that is counted by the day, or bought in advance, does not come back within a request's time.
            "RESOURCE_EXHAUSTED" if self.is_spent() || says(&["prepa", "credits are depleted"]) => {
                ErrorKind::QuotaExceeded
            }
            "RESOURCE_EXHAUSTED" => ErrorKind::RateLimited,
            "CANCELLED" => ErrorKind::Api,
            "DEADLINE_EXCEEDED" => ErrorKind::Timeout,
            "INTERNAL" | "UNAVAILABLE" | "ABORTED" | "UNKNOWN" | "DATA_LOSS" => ErrorKind::Overloaded,
            "UNIMPLEMENTED" => ErrorKind::Unsupported,
            _ => return None,
        })
    }

    fn is_spent(&self) -> bool {
        self.details.quota.as_deref().is_some_and(|quota| quota.contains("PerDay"))
    }

    fn describe(&self, error: ProviderError) -> ProviderError {
        let wait = error.retry_after().or(self.details.retry_after);
        error
            .with_code(self.status.clone())
            .with_param(self.details.field.clone().or_else(|| param(&self.message).map(str::to_owned)))
            .with_retry_after(wait)
    }
}

impl Details {
    fn read(details: &Value) -> Self {
        let mut read = Self::default();
        for detail in details.as_array().into_iter().flatten() {
            let text = |name: &str| detail.get(name).and_then(Value::as_str).map(str::to_owned);
            let first = |list: &str, name: &str| {
                detail
                    .get(list)?
                    .as_array()?
                    .iter()
                    .find_map(|entry| Some(entry.get(name)?.as_str()?.to_owned()))
            };
            match detail.get("@type").and_then(Value::as_str).and_then(|kind| kind.rsplit('.').next()) {
                Some("ErrorInfo") => read.reason = text("reason"),
                Some("RetryInfo") => read.retry_after = text("retryDelay").and_then(|wait| seconds(&wait)),
                Some("QuotaFailure") => read.quota = first("violations", "quotaId"),
                Some("BadRequest") => read.field = first("fieldViolations", "field"),
                _ => {}
            }
        }
        read
    }
}

/// The API's messages about histories that break its rules (gemini.md 2, 4).
const HISTORY: [&str; 8] = [
    "missing a thought_signature",
    "thought signature is not valid",
    "function call turn comes immediately after",
    "function response turn comes immediately after",
    "number of function response parts",
    "use a valid role",
    "must alternate",
    "must have a text parameter",
];

const UNSUPPORTED: [&str; 5] =
    ["is unsupported", "unsupported mime type", "is not supported", "are not supported", "is not enabled"];

/// The field that a message names: `Unknown name "x" at 'tools[0]': …`.
fn param(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once(" at '")?;
    let (field, _) = rest.split_once('\'')?;
    (!field.is_empty()).then_some(field)
}

/// A duration as protocol buffers write it: `34s`, `1.5s`.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests;
