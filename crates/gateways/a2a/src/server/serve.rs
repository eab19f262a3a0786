//! The operations of the protocol, whichever way they are asked for.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_core::calendar::rfc3339;
use attache_core::fresh;
use attache_core::tool::Progress;
use axum::body::{Body, Bytes};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::Refusal;
use super::shape::Shape;
use super::step::Come;
use super::tasks::{Place, Tasks};
use super::view::Wanted;
use crate::wire::{A2aState, A2aVersion, Message, bare_message};

/// The time that an answer waits for a task that is waited for; the task goes on beyond it.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// The time between two signs of life on a stream.
const ALIVE: Duration = Duration::from_secs(15);
/// The wait between two looks at a task that is not driven here; it doubles.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(8);
/// The maximum number of tasks on a page of a list, and how many there are where nothing is said.
const LARGEST_PAGE: u64 = 100;
const PAGE: u64 = 50;

/// A message to the agent, with what is asked of the answer.
pub(crate) struct Sending {
    message: Message,
    history: Option<usize>,
    waits: bool,
    /// The notifications that it asks for, as they are written.
    notify: Option<Value>,
}

/// Reads a whole number that is not negative; protocol buffers may write it as a text.
fn count(value: Option<&Value>, what: &'static str) -> Result<Option<u64>, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => text.parse().map(Some).map_err(|_| Refusal::InvalidParams(what)),
        Some(value) => value.as_u64().map(Some).ok_or(Refusal::InvalidParams(what)),
    }
}

fn history(params: &Value) -> Result<Option<usize>, Refusal> {
    let count = count(params.get("historyLength"), "`historyLength` must be a whole number from 0")?;
    Ok(count.map(|count| usize::try_from(count).unwrap_or(usize::MAX)))
}

/// The id of a task in parameters.
pub(crate) fn id(params: &Value) -> Result<&str, Refusal> {
    let id = params.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    id.ok_or(Refusal::InvalidParams("`id` must be that of a task"))
}

/// Reads the parameters of a message.
pub(crate) fn sending(params: &Value, version: A2aVersion) -> Result<Sending, Refusal> {
    let message = params.get("message").filter(|message| message.is_object());
    let message = message.ok_or(Refusal::InvalidParams("`message` is missing"))?;
    let has = |name: &str| message.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if !has("messageId") {
        return Err(Refusal::InvalidParams("`messageId` is missing"));
    }
    let user = if version == A2aVersion::V0_3 { "user" } else { "ROLE_USER" };
    if message.get("role").and_then(Value::as_str) != Some(user) {
        return Err(Refusal::InvalidParams("`role` must be that of a user"));
    }
    if message.get("parts").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        return Err(Refusal::InvalidParams("`parts` must be a list that is not empty"));
    }
    let configuration = params.get("configuration").unwrap_or(&Value::Null);
    let flag = |name: &str| configuration.get(name).and_then(Value::as_bool);
    let waits = match version {
        // Clients of 0.3 wait unless they say otherwise, as those of 1.0 do.
        A2aVersion::V0_3 => flag("blocking") != Some(false),
        A2aVersion::V1 => flag("returnImmediately") != Some(true),
    };
    let configs = ["pushNotificationConfig", "taskPushNotificationConfig"];
    let notify = configs.iter().find_map(|name| configuration.get(name).filter(|config| !config.is_null()));
    let read =
        bare_message(&message.to_string()).ok_or(Refusal::InvalidParams("`message` cannot be read"))?;
    Ok(Sending { message: read, history: history(configuration)?, waits, notify: notify.cloned() })
}

/// The task of a message, with the notifications that it asks for. Nothing begins where they cannot be sent.
async fn begun(
    tasks: &Arc<Tasks>,
    principal: &str,
    message: Message,
    notify: Option<&Value>,
    shape: Shape,
) -> Result<Place, Refusal> {
    if let Some(config) = notify {
        tasks.may_notify(principal, message.task.as_deref(), config, shape.0)?;
    }
    let place = tasks.send(principal, message).await?;
    if let Some(config) = notify {
        tasks.notify(principal, &place.id, config, shape.0)?;
    }
    Ok(place)
}

/// A message, and the task that comes of it.
pub(crate) async fn send(
    tasks: &Arc<Tasks>,
    principal: &str,
    sending: Sending,
    shape: Shape,
) -> Result<Value, Refusal> {
    let place = begun(tasks, principal, sending.message, sending.notify.as_ref(), shape).await?;
    if sending.waits {
        let _ = tokio::time::timeout(LONGEST_WAIT, tasks.halted(principal, &place)).await;
    }
    let wanted = Wanted { history: sending.history, artifacts: true };
    let (_, view) = tasks.view(principal, &place.id, wanted).await?;
    Ok(shape.wrapped(shape.task(&view, true)))
}

pub(crate) async fn get(
    tasks: &Arc<Tasks>,
    principal: &str,
    params: &Value,
    shape: Shape,
) -> Result<Value, Refusal> {
    let wanted = Wanted { history: history(params)?, artifacts: true };
    let (_, view) = tasks.view(principal, id(params)?, wanted).await?;
    Ok(shape.task(&view, true))
}

pub(crate) async fn cancel(
    tasks: &Arc<Tasks>,
    principal: &str,
    params: &Value,
    shape: Shape,
) -> Result<Value, Refusal> {
    let view = tasks.cancel(principal, id(params)?).await?;
    Ok(shape.task(&view, true))
}

/// The tasks of the caller, a page of them. (A2A 1.0 section 3.1.4)
pub(crate) async fn list(tasks: &Arc<Tasks>, principal: &str, params: &Value) -> Result<Value, Refusal> {
    let shape = Shape(A2aVersion::V1);
    let text = |name: &str| params.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let size =
        count(params.get("pageSize"), "`pageSize` must be a whole number from 1 to 100")?.unwrap_or(PAGE);
    if !(1..=LARGEST_PAGE).contains(&size) {
        return Err(Refusal::InvalidParams("`pageSize` must be a whole number from 1 to 100"));
    }
    let state = match text("status") {
        None | Some("TASK_STATE_UNSPECIFIED") => None,
        Some(status) => match A2aState::parse(status) {
            A2aState::Unknown => return Err(Refusal::InvalidParams("`status` is none that is known")),
            state => Some(state),
        },
    };
    let no_token = Refusal::InvalidParams("`pageToken` is none of this list");
    let skipped: usize = text("pageToken").map_or(Ok(0), |token| token.parse().map_err(|_| no_token))?;
    // Fewer words than that say nothing of a list.
    let history = history(params)?.or(Some(0));
    let artifacts = match params.get("includeArtifacts") {
        Some(Value::String(text)) => text == "true",
        value => value.and_then(Value::as_bool) == Some(true),
    };
    let after = match text("statusTimestampAfter") {
        None => None,
        Some(after) => {
            Some(rfc3339(after).ok_or(Refusal::InvalidParams("`statusTimestampAfter` is no time"))?)
        }
    };
    // Whole seconds, as the parts of one are not read.
    let is_after =
        |at: u64| after.is_none_or(|after| i64::try_from(at / 1_000).is_ok_and(|seconds| seconds >= after));
    let mut listed = tasks.list(principal, text("contextId")).await?;
    listed.retain(|task| state.is_none_or(|state| task.state == state) && is_after(task.at));
    let total = listed.len();
    let page = listed.get(skipped..).ok_or(no_token)?;
    let page = page.get(..usize::try_from(size).unwrap_or(usize::MAX)).unwrap_or(page);
    let views = tasks.page(principal, page, Wanted { history, artifacts }).await?;
    let shown: Vec<Value> = views.iter().map(|view| shape.task(view, artifacts)).collect();
    let next = skipped.saturating_add(page.len());
    let token = if next < total { next.to_string() } else { String::new() };
    Ok(json!({"tasks": shown, "nextPageToken": token, "pageSize": shown.len(), "totalSize": total}))
}

/// A stream of events as they are written: inside of an answer to a request, or bare.
#[derive(Clone, Debug)]
pub(crate) struct Framing(pub(crate) Option<Value>);

impl Framing {
    fn event(&self, value: Value) -> Bytes {
        let value = match &self.0 {
            Some(id) => json!({"jsonrpc": "2.0", "id": id, "result": value}),
            None => value,
        };
        format!("data: {value}\n\n").into()
    }
}

/// The events of a task, from what it is now to its end, or to its question.
async fn stream(
    tasks: Arc<Tasks>,
    principal: String,
    task: &str,
    first: Wanted,
    shape: Shape,
    framing: Framing,
) -> Result<Response<Body>, Refusal> {
    let (place, first) = tasks.view(&principal, task, first).await?;
    let events = async_stream::stream! {
        yield Ok::<_, Infallible>(framing.event(shape.wrapped(shape.task(&first, true))));
        if first.state.is_final() || first.state.is_waiting() {
            yield Ok(framing.event(shape.status_event(&first)));
            return;
        }
        let mut told = Instant::now();
        let mut wait = FIRST_LOOK;
        let mut progress = tasks.progress(&place.id);
        loop {
            // One that is driven here says when it stops or asks.
            if tasks.step(&place.id).is_none() {
                // Another process drives it, or it waits for a result from elsewhere.
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LAST_LOOK);
            }
            let left = ALIVE.saturating_sub(told.elapsed());
            let seen = tokio::time::timeout(left, seen(&tasks, &principal, &place, &mut progress)).await;
            if let Ok(Some((word, come))) = &seen {
                told = Instant::now();
                yield Ok(framing.event(shape.status_event(&first.working(*word, come, now()))));
            } else if seen.is_ok() {
                let Ok((_, view)) = tasks.view(&principal, &place.id, Wanted::ANSWER).await else { return };
                if view.state.is_final() || view.state.is_waiting() {
                    for event in shape.last_events(&view) {
                        yield Ok(framing.event(event));
                    }
                    return;
                }
            }
            if told.elapsed() >= ALIVE {
                told = Instant::now();
                yield Ok(Bytes::from_static(b": still working\n\n"));
            }
        }
    };
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// The next progress of a call, or `None` once the task stops or asks.
async fn seen(
    tasks: &Arc<Tasks>,
    principal: &str,
    place: &Place,
    progress: &mut Option<watch::Receiver<Come>>,
) -> Option<(u64, Progress)> {
    while let Some(news) = progress {
        tokio::select! {
            biased;
            changed = news.changed() => {
                if changed.is_err() {
                    // Nobody drives it any more.
                    *progress = None;
                } else if let Come { word, newest: Some((_, progress)) } = news.borrow_and_update().clone() {
                    return Some((word, progress));
                }
            }
            () = tasks.halted(principal, place) => return None,
        }
    }
    tasks.halted(principal, place).await;
    None
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = fresh::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Begins or goes on with a task, and streams it.
pub(crate) async fn send_stream(
    tasks: Arc<Tasks>,
    principal: String,
    sending: Sending,
    shape: Shape,
    framing: Framing,
) -> Result<Response<Body>, Refusal> {
    let place = begun(&tasks, &principal, sending.message, sending.notify.as_ref(), shape).await?;
    let first = Wanted { history: sending.history, artifacts: true };
    stream(tasks, principal, &place.id, first, shape, framing).await
}

/// The rest of a task's stream; one that is over has none. (A2A 1.0 section 3.1.6)
pub(crate) async fn subscribe(
    tasks: Arc<Tasks>,
    principal: String,
    params: &Value,
    shape: Shape,
    framing: Framing,
) -> Result<Response<Body>, Refusal> {
    let task = id(params)?.to_owned();
    let (_, view) = tasks.view(&principal, &task, Wanted::STATE).await?;
    if view.state.is_final() {
        return Err(Refusal::Unsupported("the task is over"));
    }
    stream(tasks, principal, &task, Wanted::ALL, shape, framing).await
}

/// JSON with a status.
pub(crate) fn answered(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
