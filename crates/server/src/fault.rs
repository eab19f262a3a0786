//! The failures that clients are told, in the shape that clients of OpenAI know.

use std::num::NonZeroU64;
use std::time::Duration;

use attache_agent::{
    DecideError, EndReason, JournalError, Outcome, RunError, SessionError, SessionId, SubmitError,
};
use attache_core::{ErrorKind, ProviderError};
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::causes::with_causes;
use crate::json::Object;
use crate::live::TooMany;

/// A failure as a client is told of it. It holds nothing secret.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    /// The class of failure, in OpenAI's words.
    kind: &'static str,
    code: &'static str,
    message: String,
    param: Option<&'static str>,
    /// The seconds after which the client may try again.
    retry_after: Option<NonZeroU64>,
    /// The run that is in the way.
    run: Option<Box<str>>,
    /// The limit of the server that the request is beyond, as its numbers name it.
    pub(crate) limit: Option<&'static str>,
    /// True if clients must not send the request again by themselves.
    is_final: bool,
}

/// The class of what the client did wrong.
const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";
/// The code of a token that does not count.
const BAD_TOKEN: &str = "invalid_token";
/// The code of a session in which another run is under way.
const BUSY: &str = "session_busy";
/// The header by which clients of OpenAI and Anthropic learn that they must not send a request again.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl Fault {
    fn new(status: StatusCode, kind: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let (param, retry_after, run, limit) = (None, None, None, None);
        Self { status, kind, code, message, param, retry_after, run, limit, is_final: false }
    }

    /// A request that makes no sense.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID, "invalid_request", message)
    }

    /// A member of a request that asks for something that is not done here.
    pub(crate) fn unsupported(param: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID, "unsupported_parameter", message).at(param)
    }

    /// Something that is not there, or is somebody else's.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, INVALID, "not_found", format!("there is no such {what}"))
    }

    pub(crate) fn no_model(name: &str) -> Self {
        let message = format!("there is no model {name:?}; GET /v1/models names them");
        Self::new(StatusCode::NOT_FOUND, INVALID, "model_not_found", message).at("model")
    }

    pub(crate) fn no_method() -> Self {
        let message = "the route does not know this method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, INVALID, "method_not_allowed", message)
    }

    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        let fault = Self::new(StatusCode::CONFLICT, INVALID, code, message);
        // A run that is in the way passes, and nothing else does.
        Self { is_final: code != BUSY, ..fault }
    }

    pub(crate) fn too_large(most: usize) -> Self {
        let message = format!("the body has more than {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, INVALID, "too_large", message)
    }

    pub(crate) fn slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, INVALID, "timeout", "the body did not come in time")
    }

    /// A request without a key, or with one that does not count.
    pub(crate) fn unauthenticated(has_key: bool) -> Self {
        let message = match has_key {
            true => "the API key is not valid: it is wrong, has expired, or was removed",
            false => "an API key is needed: Authorization: Bearer …",
        };
        Self::new(StatusCode::UNAUTHORIZED, INVALID, "invalid_api_key", message)
    }

    /// A request whose caller the program around the server does not know, where it alone is asked.
    pub(crate) fn unknown_caller() -> Self {
        let message = "the caller of this request is not accepted";
        Self::new(StatusCode::UNAUTHORIZED, INVALID, "invalid_api_key", message)
    }

    /// A token that does not count.
    #[cfg(feature = "jwt")]
    pub(crate) fn bad_token(message: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, INVALID, BAD_TOKEN, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, INVALID, "forbidden", message)
    }

    fn too_many(limit: &'static str, message: impl Into<String>, seconds: u64) -> Self {
        let fault = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "too_many", message);
        Self { retry_after: NonZeroU64::new(seconds), limit: Some(limit), ..fault }
    }

    /// A request that came too soon after the others of its principal.
    pub(crate) fn too_fast(seconds: u64) -> Self {
        let message = format!("there were too many requests; the next one may come in {seconds} s");
        let fault = Self::too_many("requests", message, seconds);
        Self { code: "rate_limit_exceeded", ..fault }
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, SERVER, "unavailable", message)
    }

    /// There is no room for the body of a request.
    pub(crate) fn crowded(again: Option<Duration>) -> Self {
        let fault = Self::unavailable("the server reads as much of other requests as it may");
        Self {
            retry_after: again.and_then(|again| NonZeroU64::new(again.as_secs())),
            limit: Some("bodies"),
            ..fault
        }
    }

    /// There is no room for a document on its way out.
    pub(crate) fn crowded_out(again: Option<Duration>) -> Self {
        let message = "the server sends as much of other documents as it may".to_owned();
        Self { message, limit: Some("documents"), ..Self::crowded(again) }
    }

    /// An upload of a type that the server does not take.
    pub(crate) fn wrong_type(media_type: &str) -> Self {
        let message = format!("documents of the type {media_type} are not taken");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID, "unsupported_media_type", message)
    }

    /// A document of which nothing can be shown.
    #[cfg(feature = "previews")]
    pub(crate) fn no_preview(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, INVALID, "no_preview", message)
    }

    /// Something of ours failed. The client learns no more than that; the log does.
    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = with_causes(error), "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, SERVER, "internal", "the server failed")
    }

    /// The task that worked on it is gone.
    pub(crate) fn broken() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, SERVER, "internal", "the server failed")
    }

    /// A run that ended without an answer.
    pub(crate) fn unanswered(reason: &EndReason, detail: Option<&str>) -> Self {
        let message = match detail {
            Some(detail) => format!("the run ended without an answer ({reason}): {detail}"),
            None => format!("the run ended without an answer: {reason}"),
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, SERVER, reason.as_str(), message)
    }

    /// A run that waits for an approval, which nobody can give where no session keeps the run. Clients do not try this
    /// status again by themselves, as they do others: the tools before would run once more.
    pub(crate) fn needs_session(outcome: &Outcome) -> Self {
        let asked = outcome.approvals.iter().map(|asked| asked.call.name.as_str());
        let later = outcome.deferred.iter().map(|request| request.call.name.as_str());
        let names = |calls: &mut dyn Iterator<Item = &str>| calls.collect::<Vec<_>>().join(", ");
        let (code, message) = match outcome.reason {
            EndReason::PendingApproval => (
                "approval_required",
                format!(
                    "calls need approval and were not run: {}; ask in a session (the header X-Attache-Session), where somebody can decide",
                    names(&mut { asked })
                ),
            ),
            _ => (
                "session_required",
                format!(
                    "results of calls come later: {}; ask in a session (the header X-Attache-Session), where somebody can deliver them",
                    names(&mut { later })
                ),
            ),
        };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, INVALID, code, message)
    }

    /// Says after how many seconds the client may try again.
    #[cfg(any(feature = "jwt", feature = "previews"))]
    pub(crate) fn after(mut self, seconds: u64) -> Self {
        self.retry_after = NonZeroU64::new(seconds);
        self
    }

    /// A request that is beyond a limit of the server.
    #[cfg(feature = "previews")]
    pub(crate) fn beyond(mut self, limit: &'static str) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The failure of a run. Clients send a request again by themselves, which begins another run: the tools of this one
    /// would run once more, and its session would hear the question twice.
    pub(crate) fn of_run(self, run: &str, has_calls: bool) -> Self {
        Self { is_final: has_calls || SessionId::of_run(run).is_some(), ..self }
    }

    pub(crate) fn at(mut self, param: &'static str) -> Self {
        self.param = Some(param);
        self
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// The code of a response that failed, of those that OpenAI's Responses know.
    pub(crate) fn responses_code(&self) -> &'static str {
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_exceeded",
            StatusCode::BAD_REQUEST => "invalid_prompt",
            _ => "server_error",
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Writes the object that stands under `error`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        Object::begin(out)
            .text("message", &self.message)
            .with("type", self.kind)
            .with("param", &self.param)
            .with("code", self.code)
            .maybe("run", self.run.as_ref())
            .maybe("retryAfter", self.retry_after.as_ref())
            .end();
    }

    /// Writes the object that stands under `error` in Anthropic's words.
    pub(crate) fn write_messages(&self, out: &mut Vec<u8>) {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
            StatusCode::GATEWAY_TIMEOUT => "timeout_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "api_error",
        };
        Object::begin(out).with("type", kind).text("message", &self.message).with("code", self.code).end();
    }

    fn of_provider(error: &ProviderError) -> Self {
        let status = match error.kind() {
            ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::ContextTooLong
            | ErrorKind::InvalidRequest
            | ErrorKind::InvalidHistory
            | ErrorKind::Unsupported
            | ErrorKind::Refused => StatusCode::BAD_REQUEST,
            // The key that is wrong is ours.
            _ => StatusCode::BAD_GATEWAY,
        };
        let kind = match error.kind() {
            ErrorKind::RateLimited => "rate_limit_error",
            _ if status == StatusCode::BAD_REQUEST => INVALID,
            _ => SERVER,
        };
        let code = match error.kind() {
            ErrorKind::ContextTooLong => "context_length_exceeded",
            kind => kind.as_str(),
        };
        let message = if error.kind().is_of_setup() {
            "the server cannot ask its model".to_owned()
        } else {
            error.to_string()
        };
        let retry_after = error.retry_after().and_then(|wait| NonZeroU64::new(wait.as_secs().max(1)));
        Self { retry_after, ..Self::new(status, kind, code, message) }
    }
}

impl From<&RunError> for Fault {
    fn from(error: &RunError) -> Self {
        // The run has not begun.
        if let Some(error) = error.session_error() {
            return Self::of_session(error);
        }
        if let Some(DecideError::Open { ids }) = error.decide_error() {
            return Self::conflict("approvals_open", format!("calls wait for approval: {}", ids.join(", ")));
        }
        let run = error.partial();
        let fault = match (error.provider_error(), error.reason()) {
            (Some(error), _) => Self::of_provider(error),
            (None, EndReason::EmptyResponse | EndReason::InvalidAnswer | EndReason::ToolAbort) => {
                let fault = Self::unanswered(error.reason(), run.detail.as_deref());
                Self { status: StatusCode::BAD_GATEWAY, ..fault }
            }
            _ => Self::internal(error),
        };
        fault.of_run(&run.run_id, !run.calls.is_empty())
    }
}

impl Fault {
    fn of_session(error: &SessionError) -> Self {
        match error {
            SessionError::NotFound => Self::not_found("session"),
            SessionError::Busy { run } => {
                let fault = Self::conflict(BUSY, error.to_string());
                Self { run: Some(run.as_str().into()), ..fault }
            }
            SessionError::Approved { run, .. } => {
                let fault = Self::conflict("approvals_open", error.to_string());
                Self { run: Some(run.as_str().into()), ..fault }
            }
            SessionError::QueueFull { .. } => Self::too_many("queue", error.to_string(), 1),
            SessionError::InvalidId | SessionError::Nul { .. } => Self::invalid(error.to_string()),
            SessionError::Journal(JournalError::Empty) => Self::not_found("run"),
            error => Self::internal(error),
        }
    }
}

impl From<SessionError> for Fault {
    fn from(error: SessionError) -> Self {
        Self::of_session(&error)
    }
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Self {
        Self::internal(&error)
    }
}

impl From<DecideError> for Fault {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::Unknown { .. } => Self::not_found("approval"),
            DecideError::Decided { .. } => Self::conflict("decided", error.to_string()),
            DecideError::Closed { .. } => Self::conflict("closed", error.to_string()),
            DecideError::Open { .. } => Self::conflict("approvals_open", error.to_string()),
            error => Self::internal(&error),
        }
    }
}

impl From<SubmitError> for Fault {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::UnknownCall { .. } | SubmitError::NotAwaiting => Self::not_found("call"),
            SubmitError::DuplicateResult { .. }
            | SubmitError::ChatLoopClosed
            | SubmitError::Overdue { .. }
            | SubmitError::NotYet { .. } => Self::conflict("answered", error.to_string()),
            SubmitError::Unfit { .. } => {
                let fault = Self::invalid(error.to_string());
                Self { status: StatusCode::UNPROCESSABLE_ENTITY, ..fault }
            }
            SubmitError::InboxFull { .. } => Self::too_many("messages", error.to_string(), 1),
            SubmitError::Journal(JournalError::Fenced) => {
                Self::conflict(BUSY, "another run of the session goes on")
            }
            error @ SubmitError::Store(_) => {
                tracing::error!(error = with_causes(&error), "the documents of a result are not kept");
                Self::unavailable("the documents of the result cannot be kept now")
            }
            error => Self::internal(&error),
        }
    }
}

impl From<TooMany> for Fault {
    fn from(too_many: TooMany) -> Self {
        match too_many {
            TooMany::Principal(most) => {
                Self::too_many("runs", format!("{most} runs are under way already"), 1)
            }
            TooMany::Closed => Self::unavailable("the server stops"),
            TooMany::Driven => Self::conflict("under_way", "the run is under way"),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut body = Vec::with_capacity(256);
        Object::begin(&mut body).by("error", |out| self.write(out)).end();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.get()));
        }
        if self.is_final {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = match self.code {
                // RFC 6750, 3
                BAD_TOKEN => "Bearer error=\"invalid_token\"",
                _ => "Bearer",
            };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        // A dialect with a shape of its own writes the body anew.
        response.extensions_mut().insert(self);
        response
    }
}
