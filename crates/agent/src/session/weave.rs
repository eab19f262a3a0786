//! The messages of a run as ranges of those of its session.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use attache_core::{Message, MessageId};

/// The messages that a session has, and where each stands.
#[derive(Debug, Default)]
pub(super) struct Woven {
    messages: Vec<Arc<Message>>,
    places: HashMap<MessageId, Vec<usize>>,
}

impl Woven {
    pub(super) fn new(messages: Vec<Arc<Message>>) -> Self {
        let mut places: HashMap<_, Vec<usize>> = HashMap::with_capacity(messages.len());
        for (at, message) in messages.iter().enumerate() {
            places.entry(message.id().clone()).or_default().push(at);
        }
        Self { messages, places }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// The place of a message whose stored form is the same.
    fn place(&self, message: &Arc<Message>) -> Option<usize> {
        let is_same = |known: &Arc<Message>| {
            Arc::ptr_eq(known, message)
                || matches!(
                    (serde_json::to_value(known), serde_json::to_value(message)),
                    (Ok(known), Ok(message)) if known == message
                )
        };
        let places = self.places.get(message.id())?;
        places.iter().rev().copied().find(|at| self.messages.get(*at).is_some_and(is_same))
    }

    /// The messages as ranges, and those that the session has not had until now, which stand behind the others.
    pub(super) fn weave(&self, messages: &[Arc<Message>]) -> (Vec<Range<u64>>, Vec<Arc<Message>>) {
        let (mut ranges, mut new): (Vec<Range<u64>>, Vec<_>) = (Vec::new(), Vec::new());
        for message in messages {
            let at = self.place(message).unwrap_or_else(|| {
                new.push(Arc::clone(message));
                self.messages.len() + new.len() - 1
            });
            let at = u64::try_from(at).unwrap_or(u64::MAX);
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => ranges.push(at..at.saturating_add(1)),
            }
        }
        (ranges, new)
    }
}

/// The messages of these ranges; `None` if one is out of bounds.
pub(super) fn unweave(messages: &[Arc<Message>], ranges: &[Range<u64>]) -> Option<Vec<Arc<Message>>> {
    let place = |at: u64| usize::try_from(at).ok();
    let mut woven = Vec::new();
    for range in ranges {
        woven.extend(messages.get(place(range.start)?..place(range.end)?)?.iter().cloned());
    }
    Some(woven)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Arc<Message> {
        Message::user(text).shared()
    }

    #[test]
    fn a_conversation_that_goes_on_is_one_range() {
        let messages: Vec<_> = ["a", "b", "c"].map(told).to_vec();
        let woven = Woven::new(messages.clone());
        let longer: Vec<_> = messages.iter().cloned().chain([told("d"), told("e")]).collect();
        let (ranges, new) = woven.weave(&longer);
        assert_eq!((&ranges[..], new.len()), (std::slice::from_ref(&(0..5)), 2));
        let all: Vec<_> = messages.into_iter().chain(new).collect();
        assert_eq!(unweave(&all, &ranges).unwrap(), longer);
    }

    #[test]
    fn messages_that_left_or_changed_break_the_range() {
        let messages: Vec<_> = ["a", "b", "c", "d"].map(told).to_vec();
        let woven = Woven::new(messages.clone());
        let mut changed = (*messages[2]).clone();
        if let Message::User(user) = &mut changed {
            user.metadata = user.metadata.clone().with("changed", true);
        }
        // One that was loaded again is the same message at another address.
        let again = Arc::new((*messages[3]).clone());
        let now = vec![Arc::clone(&messages[0]), changed.shared(), again];
        let (ranges, new) = woven.weave(&now);
        assert_eq!((ranges.clone(), new.len()), (vec![0..1, 4..5, 3..4], 1));
        let all: Vec<_> = messages.into_iter().chain(new).collect();
        assert_eq!(unweave(&all, &ranges).unwrap(), now);
        assert_eq!(unweave(&all, &[0..1, 3..6]), None);
    }
}
