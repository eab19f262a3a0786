//! Calls that a server works on as tasks: by the extension of the newer era (`io.modelcontextprotocol/tasks`), or as
//! version 2025-11-25 has them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use attache_core::tool::Deferred;
use attache_core::{DocumentStore, ResultStatus, StoreError, ToolCall, ToolError, ToolResult};
use attache_transport::{percent_decoded, percent_encoded};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, ContentBlock,
    CustomRequest, GetTaskParams, GetTaskRequest, InputRequests, InputResponses, ServerResult,
    UpdateTaskParams, UpdateTaskRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::config::{Config, Door};
use super::connection::Link;
use super::error_text::cut;
use super::output::McpOutput;

/// The wait between two looks at a task whose server names none; it grows to the other.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(10);
/// The waits that a server may name.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(60);
/// The time for a cancellation behind a call that was dropped.
const CANCELLING: Duration = Duration::from_secs(10);
/// Longer ids are no ids.
const LONGEST_ID: usize = 1_000;

/// The word of a server about a task whose call was deferred.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpUpdate {
    /// It is worked on, with the server's word on how far it is.
    Working(Option<String>),
    /// The server asks people: `prompt` is the question, and the answer fits `schema`. [`McpServer::answer`] goes on with
    /// the task.
    ///
    /// [`McpServer::answer`]: crate::McpServer::answer
    Asks(Box<Deferred>),
    /// It is over, also if it failed.
    Done(Box<McpOutput>),
}

impl McpOutput {
    /// The result of a deferred call, for `deliver`. Its documents are put into the store that the agent reads.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn into_result(
        self,
        call: &ToolCall,
        store: &dyn DocumentStore,
    ) -> Result<ToolResult, StoreError> {
        let status = if self.is_error { ResultStatus::Error } else { ResultStatus::Ok };
        ToolResult::stored(call, status, &self, store).await
    }
}

/// A task of a server, as the handle of a deferred call names it: `mcp-task://ALIAS/TOOL/TASK`, with `?old` behind it
/// where the protocol is that of 2025-11-25.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) alias: String,
    pub(crate) tool: String,
    pub(crate) id: String,
    pub(crate) is_old: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = |text: &str| percent_encoded(text.as_bytes());
        let era = if self.is_old { "?old" } else { "" };
        write!(f, "mcp-task://{}/{}/{}{era}", step(&self.alias), step(&self.tool), step(&self.id))
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let rest = text.strip_prefix("mcp-task://").ok_or(())?;
        let (rest, is_old) = rest.strip_suffix("?old").map_or((rest, false), |rest| (rest, true));
        let mut steps = rest.split('/').map(|step| String::from_utf8(percent_decoded(step)).map_err(|_| ()));
        let mut step = || steps.next().unwrap_or(Err(()));
        let place = Self { alias: step()?, tool: step()?, id: step()?, is_old };
        if steps.next().is_some() || place.id.is_empty() { Err(()) } else { Ok(place) }
    }
}

/// The state of a task as its server tells it.
pub(crate) struct Seen {
    pub(crate) state: State,
    /// The server's word on it.
    pub(crate) said: Option<String>,
    /// The wait that it wishes before the next look.
    pub(crate) wait: Option<Duration>,
}

/// The states of a task.
pub(crate) enum State {
    Working,
    /// It asks; the older protocol does so over the connection of the request for the result.
    Asks(InputRequests),
    /// It is over. The older protocol has the result elsewhere.
    Completed(Option<Value>),
    Failed(Option<Value>),
    Cancelled,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    task_id: String,
    status: String,
    status_message: Option<String>,
    #[serde(alias = "pollInterval")]
    poll_interval_ms: Option<f64>,
    input_requests: Option<InputRequests>,
    result: Option<Value>,
    error: Option<Value>,
}

impl Seen {
    /// A task of which nothing new is known.
    pub(crate) fn working() -> Self {
        Self { state: State::Working, said: None, wait: None }
    }

    /// Reads a task, of either era.
    fn read(config: &Config, value: Value) -> Option<(String, Self)> {
        let told = Told::deserialize(value).ok()?;
        let id = told.task_id;
        if id.is_empty() || id.len() > LONGEST_ID || id.chars().any(char::is_control) {
            return None;
        }
        let state = match told.status.as_str() {
            "working" => State::Working,
            "input_required" => State::Asks(told.input_requests.unwrap_or_default()),
            "completed" => State::Completed(told.result),
            "failed" => State::Failed(told.error),
            "cancelled" => State::Cancelled,
            _ => return None,
        };
        let named = told.poll_interval_ms.filter(|wait| wait.is_finite() && *wait >= 0.0);
        let wait = named.map(|wait| Duration::from_secs_f64((wait / 1_000.0).min(LONGEST.as_secs_f64())));
        let said = told.status_message.map(|said| cut(&config.redactor().redact(&said), 500));
        Some((id, Self { state, said, wait: wait.map(|wait| wait.max(SHORTEST)) }))
    }

    /// The task that an answer to a call begins, if it does.
    pub(crate) fn begun(config: &Config, answer: &ServerResult) -> Option<(String, bool, Self)> {
        let (value, is_old) = match answer {
            ServerResult::CreateTaskResult(begun) => (serde_json::to_value(&begun.task).ok()?, false),
            ServerResult::CustomResult(result) => (result.0.get("task")?.clone(), true),
            _ => return None,
        };
        Self::read(config, value).map(|(id, seen)| (id, is_old, seen))
    }

    /// The task that an answer to a look at it tells of, with its id.
    pub(crate) fn looked(config: &Config, answer: &ServerResult) -> Option<(String, Self)> {
        let value = match answer {
            ServerResult::GetTaskResult(result) => serde_json::to_value(&result.task).ok()?,
            ServerResult::CustomResult(result) => result.0.clone(),
            _ => return None,
        };
        Self::read(config, value)
    }
}

/// The waits between looks.
pub(crate) struct Pace(Duration);

impl Pace {
    pub(crate) fn new() -> Self {
        Self(FIRST_LOOK)
    }

    /// The next wait: the one that the server wishes, or one that grows.
    pub(crate) fn next(&mut self, wished: Option<Duration>) -> Duration {
        wished.unwrap_or_else(|| {
            let wait = self.0;
            self.0 = (wait * 2).min(LAST_LOOK);
            wait
        })
    }
}

/// The word with which a server of the older protocol refuses a call since it is a task, or since it is none, as the SDK
/// in TypeScript says it in a result.
pub(crate) fn refusal(result: &CallToolResult) -> Option<String> {
    let [ContentBlock::Text(said)] = &*result.content else { return None };
    let is_told = result.is_error == Some(true) && said.text.starts_with("MCP error -32601");
    is_told.then(|| said.text.clone())
}

/// True if a refusal is in the words of a known SDK about calls that must be tasks, or must not: those in TypeScript
/// (`taskSupport`, `task augmentation`), Python (`task-augmented`) and Rust (`task-based`). The word alone may stand in
/// the name of a tool, or of a method of a server behind it.
pub(crate) fn is_about_kind(said: &str) -> bool {
    let said = said.to_lowercase();
    ["tasksupport", "task augment", "task-augment", "task-based"].iter().any(|words| said.contains(words))
}

/// A call that asks to be a task, as version 2025-11-25 has it.
pub(crate) fn old_call(params: &CallToolRequestParams, lasts: Option<Duration>) -> ClientRequest {
    let mut task = json!({});
    if let (Some(lasts), Some(task)) = (lasts, task.as_object_mut()) {
        task.insert("ttl".to_owned(), u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX).into());
    }
    let params = json!({"name": params.name, "arguments": params.arguments, "task": task});
    ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params)))
}

pub(crate) fn look(id: &str) -> ClientRequest {
    ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(id)))
}

/// The request for the result, which the older protocol answers once it is there.
pub(crate) fn old_result(id: &str) -> ClientRequest {
    ClientRequest::CustomRequest(CustomRequest::new("tasks/result", Some(json!({"taskId": id}))))
}

pub(crate) fn update(id: &str, answers: InputResponses) -> ClientRequest {
    ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(UpdateTaskParams::new(id, answers)))
}

pub(crate) fn cancel(id: &str) -> ClientRequest {
    ClientRequest::CancelTaskRequest(CancelTaskRequest::new(CancelTaskParams::new(id)))
}

/// The failure of a task, by the error that its server names.
pub(crate) fn failed(config: &Config, said: Option<&str>, error: Option<&Value>) -> ToolError {
    let told = error.and_then(|error| error.get("message")?.as_str()).or(said).unwrap_or_default();
    let told = cut(&config.redactor().redact(told), 1_000);
    let colon = if told.is_empty() { "" } else { ": " };
    ToolError::new(format!("the server {:?} says that its task failed{colon}{told}", config.alias))
}

/// Cancels the task of a call that is dropped, at most for ten seconds.
pub(crate) struct CancelGuard {
    config: Arc<Config>,
    link: Arc<Link>,
    task: Option<String>,
}

impl CancelGuard {
    pub(crate) fn new(config: &Arc<Config>, link: &Arc<Link>, task: &str) -> Self {
        Self { config: Arc::clone(config), link: Arc::clone(link), task: Some(task.to_owned()) }
    }

    /// Leaves the task alone from here on.
    pub(crate) fn let_go(&mut self) {
        self.task = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let Some(task) = self.task.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (config, link) = (Arc::clone(&self.config), Arc::clone(&self.link));
        runtime.spawn(async move {
            let cancelled = timeout(CANCELLING, async {
                // The tasks of a child process are gone with it, and another one would know nothing of them.
                let session = match config.door {
                    Door::Command(_) => link.standing().await?,
                    Door::Endpoint(_) => link.session(&config).await.ok()?,
                };
                session.ask(cancel(&task)).await.ok()
            });
            if !matches!(cancelled.await, Ok(Some(_))) {
                tracing::debug!(server = config.alias, "a task could not be cancelled");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_lead_back_to_their_tasks() {
        for is_old in [false, true] {
            let place = Place { alias: "a b".into(), tool: "x/y?old".into(), id: "1/2?3".into(), is_old };
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for other in
            ["mcp-task://a/b", "mcp-task://a/b/", "mcp-task://a/b/c/d", "mcp://a/b", "", "a2a://a/b/c"]
        {
            assert_eq!(other.parse::<Place>(), Err(()), "{other}");
        }
    }
}
