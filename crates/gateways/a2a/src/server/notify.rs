//! Notifications of tasks to addresses that callers name.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use attache_core::{Secret, fresh};
use attache_transport::{AddressGuard, HttpClient, Origin, RequestParts, Timeouts};
use bytes::Bytes;
use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::error::Refusal;
use super::places::Places;
use crate::address::has_user;
use crate::wire::A2aVersion;

/// The header that repeats the token of a caller. (A2A 0.3 section 9.5, 1.0 section 4.3.3)
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");
/// The maximum number of notifications that one task has, that all tasks of one principal have, and that all tasks
/// have.
const MOST_OF_TASK: usize = 10;
const MOST_OF_PRINCIPAL: usize = 1_000;
const MOST: usize = 100_000;
/// The maximum number of tasks of which anybody is told at once, each with its documents in memory. The others wait.
const MOST_TOLD: usize = 16;
/// The longest text in what a caller writes.
const LONGEST: usize = 4_096;
/// The time for one notification.
const SENDING: Duration = Duration::from_secs(30);

/// The addresses to which an [`A2aServer`](crate::A2aServer) sends notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum A2aTargets {
    /// Public ones with TLS.
    Public,
    /// Any, for agents whose callers are trusted.
    Any,
}

/// The operations on notifications of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Set,
    Get,
    List,
    Delete,
}

/// One address to which notifications of a task go.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) id: String,
    url: String,
    token: Option<Secret>,
    scheme: Option<String>,
    credentials: Option<Secret>,
    pub(crate) version: A2aVersion,
}

/// A task of which somebody is told.
pub(crate) struct Watched {
    principal: Arc<str>,
    /// The turn of the principal to wait for a place, the same for all of its tasks.
    turn: Arc<Mutex<()>>,
    pub(crate) targets: Vec<Target>,
}

type ByTask = HashMap<String, Watched>;

/// The notifications that callers asked for. They are kept in memory.
pub(crate) struct Notifications {
    pub(crate) client: HttpClient,
    pub(crate) places: Arc<Places>,
    is_guarded: bool,
    by_task: std::sync::Mutex<ByTask>,
}

impl Notifications {
    pub(crate) fn new(to: A2aTargets) -> Self {
        let client = match to {
            A2aTargets::Any => HttpClient::shared(),
            A2aTargets::Public => HttpClient::guarded(Timeouts::default(), AddressGuard::new(), false),
        };
        Self {
            client,
            places: Arc::new(Places::new(MOST_TOLD)),
            is_guarded: to == A2aTargets::Public,
            by_task: std::sync::Mutex::default(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ByTask> {
        self.by_task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn targets(&self, task: &str) -> Vec<Target> {
        self.lock().get(task).map(|watched| watched.targets.clone()).unwrap_or_default()
    }

    /// The turn of the principal of a task to wait for a place: its tasks wait one behind the other, beside those of others.
    pub(crate) fn turn(&self, task: &str) -> Option<Arc<Mutex<()>>> {
        self.lock().get(task).map(|watched| Arc::clone(&watched.turn))
    }

    /// Reads what a caller asks for, in either version.
    pub(crate) fn target(&self, config: &Value, version: A2aVersion) -> Result<Target, Refusal> {
        let text = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str).filter(|text| !text.is_empty());
            match text.is_some_and(|text| text.len() > LONGEST || text.chars().any(char::is_control)) {
                true => Err(Refusal::InvalidParams("the notification has a text that cannot be used")),
                false => Ok(text.map(str::to_owned)),
            }
        };
        let url =
            text(config.get("url"))?.ok_or(Refusal::InvalidParams("`url` of the notification is missing"))?;
        let is_allowed = Origin::parse(&url).is_some_and(|origin| !self.is_guarded || origin.is_secure());
        if !is_allowed || has_user(&url) {
            return Err(Refusal::InvalidParams("notifications go to public https addresses alone"));
        }
        let authentication = config.get("authentication").unwrap_or(&Value::Null);
        let scheme = match authentication.get("schemes") {
            Some(schemes) => text(schemes.get(0))?,
            None => text(authentication.get("scheme"))?,
        };
        let is_word =
            |scheme: &String| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        if scheme.as_ref().is_some_and(|scheme| !is_word(scheme)) {
            return Err(Refusal::InvalidParams("the scheme of the notification cannot be used"));
        }
        Ok(Target {
            id: text(config.get("id"))?.unwrap_or_else(|| fresh::uuid().to_string()),
            url,
            token: text(config.get("token"))?.map(Secret::new),
            credentials: text(authentication.get("credentials"))?.map(Secret::new),
            scheme,
            version,
        })
    }

    /// Says whether a target could be kept; its task may not be there yet.
    pub(crate) fn has_room(&self, principal: &str, task: Option<&str>, id: &str) -> Result<(), Refusal> {
        has_room(&self.lock(), principal, task, id)
    }

    /// Keeps a target. True if nobody watches its task yet.
    pub(crate) fn keep(&self, principal: &str, task: &str, target: Target) -> Result<bool, Refusal> {
        let mut by_task = self.lock();
        has_room(&by_task, principal, Some(task), &target.id)?;
        let is_new = !by_task.contains_key(task);
        let known = by_task.values().find(|watched| *watched.principal == *principal);
        let turn = known.map(|watched| Arc::clone(&watched.turn));
        let watched = by_task.entry(task.to_owned()).or_insert_with(|| Watched {
            principal: principal.into(),
            turn: turn.unwrap_or_default(),
            targets: Vec::new(),
        });
        let targets = &mut watched.targets;
        match targets.iter_mut().find(|known| known.id == target.id) {
            Some(known) => *known = target,
            None => targets.push(target),
        }
        Ok(is_new)
    }

    /// Forgets a task of which nobody is to be told any more: all are deleted, or all have been told of its end. None that
    /// comes meanwhile is lost.
    pub(crate) fn is_done(&self, task: &str, is_final: bool, reached: &[String]) -> bool {
        let mut by_task = self.lock();
        let mut left = by_task.get(task).into_iter().flat_map(|watched| &watched.targets);
        let is_done = left.all(|target| is_final && reached.contains(&target.id));
        if is_done {
            by_task.remove(task);
        }
        is_done
    }
}

fn has_room(by_task: &ByTask, principal: &str, task: Option<&str>, id: &str) -> Result<(), Refusal> {
    let of_task = task.and_then(|task| by_task.get(task)).map_or(&[][..], |watched| &watched.targets);
    let (mut own, mut all) = (0, 0);
    for watched in by_task.values() {
        let count = watched.targets.len();
        all += count;
        own += if *watched.principal == *principal { count } else { 0 };
    }
    let is_known = of_task.iter().any(|target| target.id == id);
    match is_known || (of_task.len() < MOST_OF_TASK && own < MOST_OF_PRINCIPAL && all < MOST) {
        true => Ok(()),
        false => Err(Refusal::Unsupported("there are too many notifications")),
    }
}

impl Target {
    /// The target as a caller is shown it: without what is secret.
    pub(crate) fn shown(&self, task: &str, version: A2aVersion) -> Value {
        let mut shown = json!({"id": self.id, "url": self.url});
        if let (Some(shown), Some(scheme)) = (shown.as_object_mut(), &self.scheme) {
            let authentication = match version {
                A2aVersion::V0_3 => json!({"schemes": [scheme]}),
                A2aVersion::V1 => json!({"scheme": scheme}),
            };
            shown.insert("authentication".to_owned(), authentication);
        }
        match version {
            A2aVersion::V0_3 => json!({"taskId": task, "pushNotificationConfig": shown}),
            A2aVersion::V1 => {
                if let Some(shown) = shown.as_object_mut() {
                    shown.insert("taskId".to_owned(), task.into());
                }
                shown
            }
        }
    }

    /// Sends it once; yields the problem where it may be taken the next time.
    pub(crate) async fn send(&self, client: &HttpClient, body: Bytes) -> Result<(), String> {
        let mut parts = RequestParts::post_json(self.url.clone(), body);
        if let Some(token) = &self.token {
            parts = parts.with_secret_header(TOKEN, "", token);
        }
        if let Some(credentials) = &self.credentials {
            let scheme = self.scheme.as_deref().unwrap_or("Bearer");
            parts = parts.with_secret_header(AUTHORIZATION, &format!("{scheme} "), credentials);
        }
        match timeout(SENDING, client.answer(&parts)).await {
            Ok(Ok(reply)) if reply.status().is_success() => Ok(()),
            // Nobody follows it elsewhere, and it is not taken any better the next time.
            Ok(Ok(reply)) if !matches!(reply.status().as_u16(), 408 | 429 | 500..) => {
                tracing::warn!(status = reply.status().as_u16(), "a notification of a task is refused");
                Ok(())
            }
            Ok(Ok(reply)) => Err(reply.status().to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it takes too long".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_takes_no_room_from_another() {
        let notifications = Notifications::new(A2aTargets::Any);
        let target = |id: usize| {
            let config = json!({"url": "http://ann.example/hook", "id": id.to_string()});
            notifications.target(&config, A2aVersion::V1).unwrap()
        };
        let keep = |principal: &str, task: usize, id: usize| {
            notifications.keep(principal, &format!("{principal}-{task}"), target(id)).is_ok()
        };
        assert!((0..1_000).all(|number| keep("ann", number / 10, number % 10)));
        assert!(!keep("ann", 100, 0) && notifications.has_room("ann", None, "0").is_err());
        // One of hers may be another still, and the next caller has as many.
        assert!(keep("ann", 0, 0) && notifications.has_room("bob", None, "0").is_ok() && keep("bob", 0, 0));
    }
}
