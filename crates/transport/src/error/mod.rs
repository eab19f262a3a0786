//! Error responses as [`ProviderError`]s.

mod body;
mod headers;
mod too_long;

use attache_core::response::ResponseInfo;
use attache_core::{ErrorKind, ProviderError, line};
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};

pub use self::body::ErrorBody;
pub use self::too_long::tells_of_full_window;

use crate::redact::Redactor;

/// A function that makes an error of a response with an error status; [`ErrorResponse::to_error`] is the default.
pub type ErrorReader = fn(&ErrorResponse) -> ProviderError;

/// The bytes of an error body that are kept.
pub(crate) const BODY_LIMIT: usize = 64 << 10;

/// The length of a provider's message that is shown.
const MESSAGE_LIMIT: usize = 500;

/// A response with an error status: bounded to 64 KiB and free of the request's secrets. Its `Debug` shows the
/// status alone.
#[derive(Clone)]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The HTTP status.
    pub status: StatusCode,
    /// The response headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub body: String,
}

/// The beginning of a body, for [`ProviderError::with_response_body`]: at most 64 KiB.
pub fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..BODY_LIMIT).unwrap_or(body)).into_owned()
}

impl ErrorResponse {
    /// An error response as it was received or recorded; `body` is cut to 64 KiB and what looks like a key is
    /// removed.
    pub fn new(status: StatusCode, headers: HeaderMap, body: &[u8]) -> Self {
        Self::redacted(status, headers, body, &Redactor::new())
    }

    /// The same without the secrets that `redactor` knows.
    pub(crate) fn redacted(status: StatusCode, headers: HeaderMap, body: &[u8], redactor: &Redactor) -> Self {
        // No encoding was asked for; what is encoded is no text.
        let body = if content_encoding(&headers).is_some() { &[] } else { body };
        let body = String::from_utf8_lossy(body.get(..BODY_LIMIT).unwrap_or(body));
        Self { status, headers, body: redactor.redact(&body).into_owned() }
    }

    /// The error that the common shapes give: kind from the code, the type, the message and the status, in this
    /// order; message, code and parameter from the body; request id and the wait asked for from the headers;
    /// `x-should-retry` obeyed.
    pub fn to_error(&self) -> ProviderError {
        let body = ErrorBody::parse(self.body.as_bytes()).unwrap_or_default();
        let status = self.status.as_u16();
        let kind = match body.kind_under(Some(status)) {
            // Too large stays too large, also where it is called a rate limit.
            Some(kind) if status != 413 || kind == ErrorKind::ContextTooLong => kind,
            _ => kind_of_status(status),
        };
        let message = body.message.as_deref().map_or_else(|| self.message_of_text(), shortened);
        let error = self.error(kind, message).with_code(body.code.or(body.error_type)).with_param(body.param);
        match error.request_id() {
            Some(_) => error,
            None => error.with_request_id(body.request_id),
        }
    }

    /// An error of `kind` with `message`, and status, headers, body, request id, wait and `x-should-retry` filled in.
    pub fn error(&self, kind: ErrorKind, message: impl Into<String>) -> ProviderError {
        let response = ResponseInfo::new(self.headers.clone());
        ProviderError::new(kind, message)
            .with_status(self.status.as_u16())
            .with_request_id(response.request_id().map(str::to_owned))
            .with_retry_after(headers::retry_after(&response, self.status))
            .with_response(Box::new(response))
            .with_retryable(headers::should_retry(&self.headers))
            .with_response_body(Some(self.body.clone()).filter(|body| !body.is_empty()))
    }

    /// The message of `common`, as an error of another kind.
    pub fn as_kind(&self, kind: ErrorKind, common: &ProviderError) -> ProviderError {
        self.error(kind, common.message())
            .with_code(common.code().map(str::to_owned))
            .with_param(common.param().map(str::to_owned))
            .with_request_id(common.request_id().map(str::to_owned))
    }

    /// The message of a body that is no JSON.
    fn message_of_text(&self) -> String {
        let text = self.body.trim();
        if self.status.is_redirection() {
            "the server redirects, which is not followed; check the base URL".to_owned()
        } else if let Some(encoding) = content_encoding(&self.headers) {
            format!("the server answered with an error in the encoding {encoding}, which was not asked for")
        } else if text.is_empty() {
            "the server answered with an error and no message".to_owned()
        } else if text.starts_with('<') {
            match html_title(text) {
                Some(title) => format!("the server answered with a web page: {}", shortened(title)),
                None => "the server answered with a web page".to_owned(),
            }
        } else {
            shortened(text)
        }
    }
}

/// The content encoding of an answer, if it has one. Some servers have words for none, or name a charset there.
pub fn content_encoding(headers: &HeaderMap) -> Option<&str> {
    const NONE: [&str; 5] = ["identity", "", "none", "utf-8", "utf8"];
    let encoding = headers.get(CONTENT_ENCODING)?.to_str().unwrap_or("unknown");
    (!NONE.iter().any(|none| encoding.eq_ignore_ascii_case(none))).then_some(encoding)
}

impl std::fmt::Debug for ErrorResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ErrorResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A message as one line of at most 500 characters.
pub fn one_line(text: &str) -> String {
    line::one_line(text, MESSAGE_LIMIT)
}

/// The same without a full stop.
fn shortened(text: &str) -> String {
    let mut line = one_line(text);
    line.truncate(line.trim_end_matches('.').len());
    line
}

fn html_title(page: &str) -> Option<&str> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower.get(start..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    page.get(start..end).map(str::trim).filter(|title| !title.is_empty())
}

/// The kind that an HTTP status stands for. 409 and 425 count as [`ErrorKind::Overloaded`], since they may work
/// later. (openai.md 0.3, anthropic.md 11, runtime.md 17)
pub fn kind_of_status(status: u16) -> ErrorKind {
    match status {
        // Redirects are not followed: the base URL is wrong.
        300..=399 => ErrorKind::Configuration,
        401 => ErrorKind::Authentication,
        402 => ErrorKind::QuotaExceeded,
        403 | 407 | 451 => ErrorKind::Permission,
        404 | 410 => ErrorKind::NotFound,
        408 | 504 | 524 => ErrorKind::Timeout,
        409 | 424 | 425 | 498 => ErrorKind::Overloaded,
        429 => ErrorKind::RateLimited,
        499 => ErrorKind::Api,
        400..=499 => ErrorKind::InvalidRequest,
        501 | 505 => ErrorKind::Unsupported,
        500..=599 => ErrorKind::Overloaded,
        _ => ErrorKind::Api,
    }
}

/// The kind that a provider's error code or type stands for; `None` for one that says less than the status does,
/// such as `invalid_request_error`. (openai.md 0.3, anthropic.md 11)
pub fn kind_of_code(code: &str) -> Option<ErrorKind> {
    Some(match code.to_ascii_lowercase().as_str() {
        "context_length_exceeded" | "model_context_window_exceeded" => ErrorKind::ContextTooLong,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "billing_error"
        | "exceeded_current_quota_error"
        | "enforced_spend_limit_reached"
        | "contract_spend_limit_reached" => ErrorKind::QuotaExceeded,
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "rate_limit_reached_error"
        | "too_many_requests"
        | "ramp_limit_exceeded" => ErrorKind::RateLimited,
        "overloaded_error"
        | "overloaded"
        | "engine_overloaded_error"
        | "server_error"
        | "api_error"
        | "internal_server_error"
        | "internal_error"
        | "service_unavailable"
        | "capacity_exceeded"
        | "conflict_error" => ErrorKind::Overloaded,
        "timeout_error" | "timeout" | "request_timeout" => ErrorKind::Timeout,
        "authentication_error" | "invalid_api_key" | "invalid_authentication_error" | "unauthorized" => {
            ErrorKind::Authentication
        }
        "permission_error" | "permission_denied" | "unsupported_country_region_territory" => {
            ErrorKind::Permission
        }
        "not_found_error" | "model_not_found" | "not_found" | "resource_not_found_error" => {
            ErrorKind::NotFound
        }
        "content_filter" | "content_policy_violation" | "invalid_prompt" => ErrorKind::Refused,
        "unsupported_parameter" | "unsupported_value" | "unsupported_file" => ErrorKind::Unsupported,
        "request_too_large" => ErrorKind::InvalidRequest,
        _ => return None,
    })
}

/// `error` of a reply that had begun, with the head of the answer.
pub(crate) fn with_response(error: ProviderError, response: ResponseInfo) -> ProviderError {
    let id = error.request_id().or(response.request_id()).map(str::to_owned);
    error.with_request_id(id).with_response(Box::new(response))
}

/// A mistake on our side: [`ErrorKind::Configuration`].
pub fn configuration(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::Configuration, text)
}

/// A wish that a model or API cannot fulfil: [`ErrorKind::Unsupported`].
pub fn unsupported(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::Unsupported, text)
}

/// A history that breaks a rule of an API: [`ErrorKind::InvalidHistory`].
pub fn invalid_history(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::InvalidHistory, text)
}

/// A reply that its protocol does not know: [`ErrorKind::Malformed`].
pub fn malformed(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::Malformed, text)
}

#[cfg(test)]
mod tests;
