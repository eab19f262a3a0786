//! Notifications that agents send of tasks.

use std::fmt;

use attache_core::Secret;
use attache_core::hash::hex;
use http::HeaderMap;
use ring::hmac;

use crate::client::handle::A2aHandle;
use crate::wire::{Event, Json, Node, event};

/// The header that repeats the token of a task. (A2A 0.3 section 9.5, 1.0 section 4.3.3)
const TOKEN: &str = "x-a2a-notification-token";
/// Larger notifications are not read.
const LARGEST: usize = 32 << 20;

/// The place where notifications of an agent's tasks arrive, and the secret that their tokens are made of.
///
/// Each task has a token of its own, so nothing has to be kept: whoever knows the secret can check it, in whichever
/// process the notification arrives.
#[derive(Clone)]
pub struct A2aPush {
    url: String,
    secret: Secret,
}

/// A notification that is none, or none of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum A2aPushError {
    /// No notifications were asked for.
    #[error("no notifications were asked for")]
    Unasked,
    /// It names no task.
    #[error("the notification names no task")]
    Malformed,
    /// Its token is missing, or none of that task.
    #[error("the notification has not the token of its task")]
    Forged,
}

impl A2aPush {
    /// Notifications to an address of yours; `secret` should be random, and of 32 characters or more.
    pub fn new(url: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self { url: url.into(), secret: secret.into() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.secret.expose().as_bytes())
    }

    /// The token of a task.
    pub(crate) fn token(&self, alias: &str, task: &str) -> String {
        hex(hmac::sign(&self.key(), signed(alias, task).as_bytes()).as_ref())
    }

    /// The task that a notification tells of. Only its id is believed.
    pub(crate) fn task(
        &self,
        alias: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<A2aHandle, A2aPushError> {
        if body.len() > LARGEST {
            return Err(A2aPushError::Malformed);
        }
        let text = std::str::from_utf8(body).map_err(|_| A2aPushError::Malformed)?;
        // Some wrap it like an answer.
        let json = Json::read(text).ok_or(A2aPushError::Malformed)?;
        let result = json.root().get("result").map_or(text, Node::raw);
        let (task, context) = match event(result) {
            Some(Event::Task(task)) => (task.id, task.context),
            Some(Event::Status { task, context, .. } | Event::Artifact { task, context, .. }) => {
                (task, context)
            }
            Some(Event::Message(message)) => (message.task.ok_or(A2aPushError::Malformed)?, message.context),
            None => return Err(A2aPushError::Malformed),
        };
        let token = headers.get(TOKEN).and_then(|token| token.to_str().ok()).ok_or(A2aPushError::Forged)?;
        let tag = tag_of(token).ok_or(A2aPushError::Forged)?;
        hmac::verify(&self.key(), signed(alias, &task).as_bytes(), &tag).map_err(|_| A2aPushError::Forged)?;
        Ok(A2aHandle::new(alias, task, context))
    }
}

fn signed(alias: &str, task: &str) -> String {
    format!("a2a-push\n{alias}\n{task}")
}

/// The tag that a token writes in hexadecimal digits.
fn tag_of(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let digits = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(digits).collect()
}

impl fmt::Debug for A2aPush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aPush").finish_non_exhaustive()
    }
}
