//! Failures of a provider.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::response::ResponseInfo;
use crate::usage::{ModelUsage, Usage};

/// The kind of a provider error, which callers can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A key, URL or option is missing or wrong on the client side; nothing was sent.
    Configuration,
    /// The provider rejected the key.
    Authentication,
    /// The key lacks the permission for this.
    Permission,
    /// The model, endpoint or item does not exist.
    NotFound,
    /// Too many requests or tokens at the moment.
    RateLimited,
    /// The quota or balance is used up; waiting does not help.
    QuotaExceeded,
    /// The provider has no capacity at the moment, or failed internally.
    Overloaded,
    /// The conversation exceeds the model's context window.
    ContextTooLong,
    /// The provider rejected the request as invalid.
    InvalidRequest,
    /// The history violates a rule of the API (pairing, order, blank content).
    InvalidHistory,
    /// The model or API does not support something in the request (media, caching, tools, an option).
    Unsupported,
    /// The provider refused to answer the prompt.
    Refused,
    /// The connection could not be made, or broke before a response.
    Network,
    /// A timeout was exceeded.
    Timeout,
    /// The stream ended prematurely.
    StreamCut,
    /// The response violates the protocol.
    Malformed,
    /// A reply with neither text nor calls.
    EmptyResponse,
    /// The caller cancelled.
    Cancelled,
    /// The other side of a handle was dropped.
    Closed,
    /// Any other error that the provider reported.
    Api,
}

/// All kinds.
const ALL: [ErrorKind; 20] = [
    ErrorKind::Configuration,
    ErrorKind::Authentication,
    ErrorKind::Permission,
    ErrorKind::NotFound,
    ErrorKind::RateLimited,
    ErrorKind::QuotaExceeded,
    ErrorKind::Overloaded,
    ErrorKind::ContextTooLong,
    ErrorKind::InvalidRequest,
    ErrorKind::InvalidHistory,
    ErrorKind::Unsupported,
    ErrorKind::Refused,
    ErrorKind::Network,
    ErrorKind::Timeout,
    ErrorKind::StreamCut,
    ErrorKind::Malformed,
    ErrorKind::EmptyResponse,
    ErrorKind::Cancelled,
    ErrorKind::Closed,
    ErrorKind::Api,
];
// None is missing, as long as `Api` stays the last one.
const _: () = assert!(ALL.len() == ErrorKind::Api as usize + 1);

impl ErrorKind {
    /// The name in JSON and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Authentication => "authentication",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::RateLimited => "rate_limited",
            Self::QuotaExceeded => "quota_exceeded",
            Self::Overloaded => "overloaded",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidHistory => "invalid_history",
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::StreamCut => "stream_cut",
            Self::Malformed => "malformed",
            Self::EmptyResponse => "empty_response",
            Self::Cancelled => "cancelled",
            Self::Closed => "closed",
            Self::Api => "api",
        }
    }

    /// Returns the kind with that name.
    pub fn parse(word: &str) -> Option<Self> {
        ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// True if the setup of the calling program is wrong: a key, its permissions, an address or an option. Messages of
    /// such errors are for the operator of the program, not for its users.
    pub fn is_of_setup(self) -> bool {
        matches!(self, Self::Configuration | Self::Authentication | Self::Permission)
    }

    /// True if the same request may work later, unless the provider says otherwise.
    fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Overloaded | Self::Network | Self::Timeout | Self::StreamCut)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure of a provider.
///
/// `Display` is one line without prompts, keys or bodies; the cause is [`source`](StdError::source), and the response
/// body is available on request.
pub struct ProviderError(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    retryable: Option<bool>,
    retry_after: Option<Duration>,
    status: Option<u16>,
    code: Option<String>,
    param: Option<String>,
    request_id: Option<String>,
    response_body: Option<String>,
    response: Option<Box<ResponseInfo>>,
    usage: Option<Box<Usage>>,
    usage_by_model: Vec<ModelUsage>,
    streamed: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ProviderError {
    /// Creates an error of `kind` with a one-line message for people: lower case, no full stop, no secrets.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            retryable: None,
            retry_after: None,
            status: None,
            code: None,
            param: None,
            request_id: None,
            response_body: None,
            response: None,
            usage: None,
            usage_by_model: Vec::new(),
            streamed: false,
            source: None,
        }))
    }

    /// Replaces the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Overrides the default of the kind about retrying.
    #[must_use]
    pub fn with_retryable(mut self, retryable: impl Into<Option<bool>>) -> Self {
        self.0.retryable = retryable.into();
        self
    }

    /// Sets the time that the provider asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.0.retry_after = wait.into();
        self
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: impl Into<Option<u16>>) -> Self {
        self.0.status = status.into();
        self
    }

    /// Sets the provider's own code or type of the error.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Option<String>>) -> Self {
        self.0.code = code.into();
        self
    }

    /// Sets the request field that the provider objects to.
    #[must_use]
    pub fn with_param(mut self, param: impl Into<Option<String>>) -> Self {
        self.0.param = param.into();
        self
    }

    /// Sets the provider's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.0.request_id = id.into();
        self
    }

    /// Sets the response body; the caller must have limited its size and removed keys.
    #[must_use]
    pub fn with_response_body(mut self, body: impl Into<Option<String>>) -> Self {
        self.0.response_body = body.into();
        self
    }

    /// Sets the head of the response.
    #[must_use]
    pub fn with_response(mut self, response: impl Into<Option<Box<ResponseInfo>>>) -> Self {
        self.0.response = response.into();
        self
    }

    /// Adds tokens that the provider counted for a reply that failed. Counts that it did not report add nothing.
    #[must_use]
    pub fn with_usage(mut self, usage: &Usage) -> Self {
        match &mut self.0.usage {
            _ if *usage == Usage::default() => {}
            Some(sum) => sum.add(usage),
            none => *none = Some(Box::new(usage.clone())),
        }
        self
    }

    /// Sets the parts of the usage by model, if models other than the one that was asked used tokens.
    #[must_use]
    pub fn with_usage_by_model(mut self, parts: Vec<ModelUsage>) -> Self {
        self.0.usage_by_model = parts;
        self
    }

    /// Adds the tokens of an attempt before this one, which failed, too. Both times `model` was asked, `provider/model`.
    #[must_use]
    pub fn with_earlier(self, earlier: &ProviderError, model: &str) -> Self {
        let Some(usage) = earlier.usage() else { return self };
        let parts = match self.usage_by_model().is_empty() && earlier.usage_by_model().is_empty() {
            true => Vec::new(),
            false => [earlier.usage_of_models(model), self.usage_of_models(model)].concat(),
        };
        self.with_usage(usage).with_usage_by_model(parts)
    }

    /// Marks that chunks have already been delivered, so that a retry would repeat them.
    #[must_use]
    pub fn after_output(mut self) -> Self {
        self.0.streamed = true;
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind of problem.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// True if the same request may succeed later and a retry does not repeat output. Always false after output was
    /// delivered: this is for layers that retry automatically.
    pub fn is_retryable(&self) -> bool {
        !self.0.streamed && self.is_transient()
    }

    /// True if the same request may succeed later, even after output was delivered: this is for callers that discard
    /// that output and retry.
    pub fn is_transient(&self) -> bool {
        self.0.retryable.unwrap_or_else(|| self.0.kind.is_transient())
    }

    /// The time that the provider asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The HTTP status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The provider's own code or type of the error.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The request field that the provider objects to.
    pub fn param(&self) -> Option<&str> {
        self.0.param.as_deref()
    }

    /// The provider's id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The response body, limited in size; never part of `Display`.
    pub fn response_body(&self) -> Option<&str> {
        self.0.response_body.as_deref()
    }

    /// The head of the provider's response, if there was one: rate limits, headers.
    pub fn response(&self) -> Option<&ResponseInfo> {
        self.0.response.as_deref()
    }

    /// The token usage of the failed call, including earlier attempts. `None` if the provider reported none.
    pub fn usage(&self) -> Option<&Usage> {
        self.0.usage.as_deref()
    }

    /// The parts of [`usage`](Self::usage) by model, if models other than the one that was asked used tokens. Empty if
    /// all of it is that of the model that was asked.
    pub fn usage_by_model(&self) -> &[ModelUsage] {
        &self.0.usage_by_model
    }

    /// The usage of each model: the [parts](Self::usage_by_model), or all of it as that of `model`, which was asked. Input or
    /// output that was not reported counts as 0. Empty if nothing was reported.
    pub fn usage_of_models(&self, model: &str) -> Vec<ModelUsage> {
        let all =
            || self.usage().map(|usage| ModelUsage::new(model, usage.clone().with_unreported_as_zero()));
        match self.usage_by_model() {
            [] => all().into_iter().collect(),
            parts => parts.to_vec(),
        }
    }

    /// True if chunks had been delivered before.
    pub fn is_after_output(&self) -> bool {
        self.0.streamed
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(status) = self.0.status {
            write!(f, " (HTTP {status})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderError")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("status", &self.0.status)
            .field("code", &self.0.code)
            .field("param", &self.0.param)
            .field("request_id", &self.0.request_id)
            .field("retryable", &self.is_retryable())
            .field("retry_after", &self.0.retry_after)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for ProviderError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P25, P26
    #[test]
    fn retrying_is_decided_in_one_place() {
        assert!(ProviderError::new(ErrorKind::Overloaded, "x").is_retryable());
        assert!(!ProviderError::new(ErrorKind::QuotaExceeded, "x").is_retryable());
        assert!(!ProviderError::new(ErrorKind::EmptyResponse, "x").is_retryable());
        assert!(ProviderError::new(ErrorKind::Api, "x").with_retryable(true).is_retryable());
        let cut = ProviderError::new(ErrorKind::StreamCut, "x").after_output();
        assert!(!cut.is_retryable() && cut.is_transient() && cut.is_after_output());
        assert!(!ProviderError::new(ErrorKind::QuotaExceeded, "x").is_transient());
    }

    #[test]
    fn bodies_stay_out_of_sight() {
        let error = ProviderError::new(ErrorKind::Api, "the provider refused")
            .with_response_body("canary".to_owned());
        assert!(!format!("{error} {error:?}").contains("canary"));
        assert_eq!(error.response_body(), Some("canary"));
    }
}
