//! Errors of the protocol, as both ways to write them have them.

use http::StatusCode;
use serde_json::{Value, json};

/// A request that is not done, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Parse,
    InvalidRequest,
    UnknownMethod,
    InvalidParams(&'static str),
    Internal,
    TaskNotFound,
    NotCancelable,
    NoPush,
    Unsupported(&'static str),
    ContentType,
    NoExtendedCard,
    Version,
}

impl Refusal {
    /// The code of JSON-RPC, the status of HTTP with its word, the reason for programs, and the text.
    fn facts(self) -> (i64, u16, &'static str, &'static str, &'static str) {
        match self {
            Self::Parse => (-32700, 400, "INVALID_ARGUMENT", "", "the request is no JSON that can be read"),
            Self::InvalidRequest => {
                (-32600, 400, "INVALID_ARGUMENT", "", "the request is none of JSON-RPC 2.0")
            }
            Self::UnknownMethod => (-32601, 404, "NOT_FOUND", "", "there is no such method"),
            Self::InvalidParams(why) => (-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", why),
            Self::Internal => (-32603, 500, "INTERNAL", "", "something failed here"),
            Self::TaskNotFound => (-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", "there is no such task"),
            Self::NotCancelable => {
                (-32002, 409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "the task is over")
            }
            Self::NoPush => (
                -32003,
                400,
                "FAILED_PRECONDITION",
                "PUSH_NOTIFICATION_NOT_SUPPORTED",
                "no notifications are sent",
            ),
            Self::Unsupported(why) => (-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", why),
            Self::ContentType => (
                -32005,
                415,
                "INVALID_ARGUMENT",
                "CONTENT_TYPE_NOT_SUPPORTED",
                "a part of the message has a media type that the card does not name",
            ),
            Self::NoExtendedCard => (
                -32007,
                400,
                "FAILED_PRECONDITION",
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
                "there is no extended card",
            ),
            Self::Version => (
                -32009,
                400,
                "FAILED_PRECONDITION",
                "VERSION_NOT_SUPPORTED",
                "the version of the protocol is not spoken",
            ),
        }
    }

    fn details(self) -> Option<Value> {
        let reason = self.facts().3;
        let info = "type.googleapis.com/google.rpc.ErrorInfo";
        (!reason.is_empty()).then(|| json!([{"@type": info, "reason": reason, "domain": "a2a-protocol.org"}]))
    }

    /// The error as JSON-RPC has it.
    pub(crate) fn rpc(self) -> Value {
        let (code, _, _, _, message) = self.facts();
        let mut error = json!({"code": code, "message": message});
        if let (Some(error), Some(details)) = (error.as_object_mut(), self.details()) {
            error.insert("data".to_owned(), details);
        }
        error
    }

    /// The error as HTTP+JSON has it.
    pub(crate) fn rest(self) -> (StatusCode, Value) {
        let (_, status, word, _, message) = self.facts();
        let details = self.details().unwrap_or_else(|| json!([]));
        let error = json!({"code": status, "status": word, "message": message, "details": details});
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, json!({"error": error}))
    }
}
