//! The operations that a request may ask for, by method and by address.

use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::error::Refusal;
use super::notify::Asked;
use crate::wire::{A2aVersion, Json};

/// The operations of both versions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    Push(Asked),
    ExtendedCard,
}

impl Operation {
    /// True if a caller may ask for it, who may read tasks if `may_read`.
    pub(super) fn is_open(self, may_read: bool) -> bool {
        may_read || matches!(self, Self::Send | Self::Stream | Self::Cancel | Self::ExtendedCard)
    }
}

/// The operation of a method, and the version that has it.
pub(super) fn operation(method: &str) -> Option<(Operation, A2aVersion)> {
    let operation = match method {
        "message/send" | "SendMessage" => Operation::Send,
        "message/stream" | "SendStreamingMessage" => Operation::Stream,
        "tasks/get" | "GetTask" => Operation::Get,
        "ListTasks" => Operation::List,
        "tasks/cancel" | "CancelTask" => Operation::Cancel,
        "tasks/resubscribe" | "SubscribeToTask" => Operation::Subscribe,
        "agent/getAuthenticatedExtendedCard" | "GetExtendedAgentCard" => Operation::ExtendedCard,
        "tasks/pushNotificationConfig/set" | "CreateTaskPushNotificationConfig" => {
            Operation::Push(Asked::Set)
        }
        "tasks/pushNotificationConfig/get" | "GetTaskPushNotificationConfig" => Operation::Push(Asked::Get),
        "tasks/pushNotificationConfig/list" | "ListTaskPushNotificationConfigs" => {
            Operation::Push(Asked::List)
        }
        "tasks/pushNotificationConfig/delete" | "DeleteTaskPushNotificationConfig" => {
            Operation::Push(Asked::Delete)
        }
        _ => return None,
    };
    // The names of 0.3 are paths.
    let version = if method.contains('/') { A2aVersion::V0_3 } else { A2aVersion::V1 };
    Some((operation, version))
}

/// The operation that an address stands for, with the parameters that it names.
pub(super) fn addressed(method: &Method, path: &str) -> Option<(Operation, Vec<(&'static str, String)>)> {
    let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
    let read = |name: &'static str, step: &str| {
        let text = String::from_utf8(attache_transport::percent_decoded(step)).ok();
        text.map(|text| (name, text))
    };
    let (id, of) = (|task: &str| read("id", task).into_iter().collect(), |task: &str| read("taskId", task));
    Some(match (method.as_str(), steps.as_slice()) {
        ("POST", ["message:send"]) => (Operation::Send, Vec::new()),
        ("POST", ["message:stream"]) => (Operation::Stream, Vec::new()),
        ("GET", ["tasks"]) => (Operation::List, Vec::new()),
        ("GET", ["extendedAgentCard"]) => (Operation::ExtendedCard, Vec::new()),
        (method, ["tasks", task, "pushNotificationConfigs", rest @ ..]) => {
            let (asked, config) = match (method, rest) {
                ("POST", []) => (Asked::Set, None),
                ("GET", []) => (Asked::List, None),
                ("GET", [config]) => (Asked::Get, Some(*config)),
                ("DELETE", [config]) => (Asked::Delete, Some(*config)),
                _ => return None,
            };
            let config = config.and_then(|config| read("id", config));
            (Operation::Push(asked), of(task).into_iter().chain(config).collect())
        }
        ("GET" | "POST", ["tasks", task]) => match (method.as_str(), task.rsplit_once(':')) {
            ("POST", Some((task, "cancel"))) => (Operation::Cancel, id(task)),
            (_, Some((task, "subscribe"))) => (Operation::Subscribe, id(task)),
            ("GET", None) => (Operation::Get, id(task)),
            _ => return None,
        },
        _ => return None,
    })
}

/// The id of a request of JSON-RPC, and its method with the parameters.
pub(super) fn called(body: &[u8]) -> (Value, Result<(String, Value), Refusal>) {
    let text = String::from_utf8_lossy(body);
    let Some(parsed) = Json::read(&text) else { return (Value::Null, Err(Refusal::Parse)) };
    let member = |name: &str| {
        let value = parsed.root().object()?.get(name)?;
        serde_json::from_str::<Value>(value.raw()).ok()
    };
    let has = |name: &str| parsed.root().object().is_some_and(|object| object.get(name).is_some());
    let (id, method) = (member("id").unwrap_or_default(), member("method"));
    let has_id = id.is_string() || id.is_number();
    let method = method.as_ref().and_then(Value::as_str);
    let is_valid = member("jsonrpc") == Some(json!("2.0")) && (has_id || id.is_null());
    let called = match method.filter(|_| is_valid) {
        Some(method) => match (has("params"), member("params")) {
            (_, Some(params)) => Ok((method.to_owned(), params)),
            (false, None) => Ok((method.to_owned(), json!({}))),
            // It nests too deeply, say.
            (true, None) => Err(Refusal::Parse),
        },
        None => Err(Refusal::InvalidRequest),
    };
    (if has_id { id } else { Value::Null }, called)
}

/// The version that a client asks for; none is 0.3, or whatever the method is of. (A2A 1.0 section 3.6.2)
pub(super) fn check_version(headers: &HeaderMap, query: Option<&str>) -> Result<(), Refusal> {
    let said = headers.get("a2a-version").and_then(|version| version.to_str().ok()).map(str::trim);
    let in_query = || query?.split('&').find_map(|pair| pair.strip_prefix("A2A-Version="));
    let version = said.or_else(in_query).unwrap_or_default();
    // Patches of a version are one to both sides.
    let mut numbers = version.splitn(3, '.');
    let (major, minor, patch) = (numbers.next().unwrap_or_default(), numbers.next(), numbers.next());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (major, minor) {
        ("", None) => Ok(()),
        ("0", Some("3")) | ("1", Some("0")) if patch.is_none_or(is_number) => Ok(()),
        _ => Err(Refusal::Version),
    }
}
