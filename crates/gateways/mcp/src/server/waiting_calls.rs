//! Calls that wait for an answer of the user, where the client calls again with it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use attache_core::tool::{Deferred, ToolSpec};
use attache_core::{Arguments, fresh};
use serde_json::{Map, Value};

use super::paused::Paused;

/// The maximum number of calls of a principal that wait.
const MOST: usize = 100;
/// The maximum number of calls that wait in all.
const MOST_OF_ALL: usize = 10_000;
/// The time that one waits.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The calls that wait, the oldest first. A client holds the number of one, which nobody can guess, and nothing else: it
/// can change nothing of what it was asked about.
#[derive(Default)]
pub(super) struct HeldCalls(Mutex<VecDeque<Entry>>);

struct Entry {
    state: String,
    principal: Arc<str>,
    tool: String,
    digest: String,
    since: Instant,
    held: Held,
}

/// The state of a call that waits.
pub(super) enum Held {
    /// A tool waits for its approval, as it was when that was asked for, with the arguments that were shown.
    Approval(Box<ToolSpec>, Map<String, Value>),
    /// A tool has asked the user this.
    Question(Box<Deferred>),
    /// An agent has paused.
    Agent(Box<Paused>),
}

impl HeldCalls {
    /// Keeps a call, and says by what it is found.
    pub(super) fn put(
        &self,
        principal: &Arc<str>,
        tool: &str,
        arguments: &Map<String, Value>,
        held: Held,
    ) -> String {
        let (state, now) = (fresh::uuid().to_string(), Instant::now());
        let entry = Entry {
            state: state.clone(),
            principal: Arc::clone(principal),
            tool: tool.to_owned(),
            digest: Arguments::from(arguments).digest(),
            since: now,
            held,
        };
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| now.duration_since(entry.since) < LIFETIME);
        let own = |entry: &Entry| entry.principal == *principal;
        if entries.iter().filter(|entry| own(entry)).count() >= MOST
            && let Some(first) = entries.iter().position(own)
        {
            entries.remove(first);
        }
        if entries.len() >= MOST_OF_ALL {
            entries.pop_front();
        }
        entries.push_back(entry);
        state
    }

    /// Takes the call that waits, if it is the same one of the same principal. Each is had once.
    pub(super) fn take(
        &self,
        principal: &Arc<str>,
        tool: &str,
        arguments: &Map<String, Value>,
        state: &str,
    ) -> Option<Held> {
        let digest = Arguments::from(arguments).digest();
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().position(|entry| {
            entry.state == state
                && entry.principal == *principal
                && entry.tool == tool
                && entry.digest == digest
                && entry.since.elapsed() < LIFETIME
        });
        found.and_then(|at| entries.remove(at)).map(|entry| entry.held)
    }
}

#[cfg(test)]
mod tests {
    use attache_core::ToolDefinition;
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    fn approval() -> Held {
        Held::Approval(Box::new(ToolSpec::new(ToolDefinition::new("pay", "", json!({})))), Map::new())
    }

    #[test]
    fn an_approval_is_for_one_call_of_one_principal_and_is_used_once() {
        let (calls, ann): (_, Arc<str>) = (HeldCalls::default(), "ann".into());
        let arguments = map(&json!({"to": "Bob", "amount": {"eur": 5, "cent": 0}}));
        let state = calls.put(&ann, "pay", &arguments, approval());
        let take = |principal: &Arc<str>, tool: &str, arguments: &Value, state: &str| {
            calls.take(principal, tool, &map(arguments), state).is_some()
        };
        let same = json!({"amount": {"cent": 0, "eur": 5}, "to": "Bob"});
        assert!(!take(&"bob".into(), "pay", &same, &state));
        assert!(!take(&ann, "give", &same, &state));
        assert!(!take(&ann, "pay", &json!({"to": "Bob", "amount": {"eur": 500, "cent": 0}}), &state));
        assert!(!take(&ann, "pay", &same, "another"));
        assert!(take(&ann, "pay", &same, &state));
        assert!(!take(&ann, "pay", &same, &state), "it was used");
    }

    #[test]
    fn the_calls_that_wait_are_bounded_for_each_principal() {
        let (calls, ann): (_, Arc<str>) = (HeldCalls::default(), "ann".into());
        let bob = calls.put(&"bob".into(), "pay", &Map::new(), approval());
        let states: Vec<_> = (0..=MOST).map(|_| calls.put(&ann, "pay", &Map::new(), approval())).collect();
        assert!(calls.take(&ann, "pay", &Map::new(), &states[0]).is_none(), "the oldest went");
        assert!(calls.take(&ann, "pay", &Map::new(), &states[MOST]).is_some());
        assert!(calls.take(&"bob".into(), "pay", &Map::new(), &bob).is_some());
    }
}
