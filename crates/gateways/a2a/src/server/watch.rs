//! Looks after tasks for whoever wants to be told of them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::error::Refusal;
use super::notify::Asked;
use super::shape::Shape;
use super::tasks::Tasks;
use crate::wire::{A2aState, A2aVersion};

/// The wait between two looks at a task that is not driven here; it doubles.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(30);
/// The time for which a task is watched.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

impl Tasks {
    /// Does what a caller asks about the notifications of one of its tasks.
    pub(crate) async fn notifications(
        self: &Arc<Self>,
        principal: &str,
        asked: Asked,
        params: &Value,
        version: A2aVersion,
    ) -> Result<Value, Refusal> {
        let Some(notifications) = &self.notifications else { return Err(Refusal::NoPush) };
        let text = |name: &str| params.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let is_old = version == A2aVersion::V0_3;
        // The older version calls the task `id` in all but one of them.
        let task = if is_old && asked != Asked::Set { text("id") } else { text("taskId") };
        let task = task.ok_or(Refusal::InvalidParams("the task is not named"))?;
        // Those of others are not there.
        self.view(principal, task).await?;
        let named = if is_old { text("pushNotificationConfigId") } else { text("id") };
        let targets = notifications.targets(task);
        let found = || match named {
            Some(id) => targets.iter().find(|target| target.id == id),
            None if is_old => targets.first(),
            None => None,
        };
        Ok(match asked {
            Asked::Set => {
                let config = if is_old { params.get("pushNotificationConfig") } else { Some(params) };
                let config = config.ok_or(Refusal::InvalidParams("`pushNotificationConfig` is missing"))?;
                self.notify(principal, task, config, version)?
            }
            Asked::Get => {
                let unknown = Refusal::InvalidParams("there is no such notification");
                found().ok_or(unknown)?.shown(task, version)
            }
            Asked::List => {
                let shown: Vec<Value> = targets.iter().map(|target| target.shown(task, version)).collect();
                if is_old { shown.into() } else { json!({"configs": shown, "nextPageToken": ""}) }
            }
            Asked::Delete => {
                let id = found().map(|target| target.id.clone());
                let mut by_task = notifications.lock();
                if let (Some(id), Some(kept)) = (id, by_task.get_mut(task)) {
                    kept.retain(|target| target.id != id);
                }
                if is_old { Value::Null } else { json!({}) }
            }
        })
    }

    /// Sends notifications of a task to an address of the caller, from now on.
    pub(crate) fn notify(
        self: &Arc<Self>,
        principal: &str,
        task: &str,
        config: &Value,
        version: A2aVersion,
    ) -> Result<Value, Refusal> {
        let notifications = self.notifications.as_ref().ok_or(Refusal::NoPush)?;
        let target = notifications.target(config, version)?;
        let shown = target.shown(task, version);
        if notifications.keep(task, target)? {
            let watching = watch(Arc::downgrade(self), principal.to_owned(), task.to_owned());
            tokio::spawn(watching);
        }
        Ok(shown)
    }

    /// Says whether what a caller asks for could be done, before its task begins.
    pub(crate) fn may_notify(&self, config: &Value, version: A2aVersion) -> Result<(), Refusal> {
        self.notifications.as_ref().ok_or(Refusal::NoPush)?.target(config, version).map(|_| ())
    }
}

/// Looks after a task until it is over, and tells of each state that it comes to: its questions and its end.
async fn watch(tasks: Weak<Tasks>, principal: String, task: String) {
    let (end, mut wait) = (Instant::now() + LIFETIME, FIRST_LOOK);
    let mut told: Option<(A2aState, u64)> = None;
    while Instant::now() < end {
        let Some(tasks) = tasks.upgrade() else { return };
        let Some(notifications) = &tasks.notifications else { return };
        let Ok((place, view)) = tasks.view(&principal, &task).await else { break };
        let state = (view.state, view.at);
        let stops = view.state.is_final() || view.state.is_waiting();
        if stops && told != Some(state) {
            told = Some(state);
            wait = FIRST_LOOK;
            for target in notifications.targets(&task) {
                let shape = Shape(target.version);
                let body = shape.wrapped(shape.task(&view, None, true)).to_string();
                target.send(&notifications.client, &body).await;
            }
        }
        if view.state.is_final() || notifications.targets(&task).is_empty() {
            break;
        }
        match tasks.is_driven(&place) {
            // It wakes us.
            true => tasks.stopped(&place).await,
            false => {
                drop(tasks);
                sleep(wait).await;
                wait = (wait * 2).min(LAST_LOOK);
            }
        }
    }
    if let Some(tasks) = tasks.upgrade()
        && let Some(notifications) = &tasks.notifications
    {
        notifications.lock().remove(&task);
    }
}
