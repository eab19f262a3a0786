//! The cache of what a provider has rendered of a conversation.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A cache that belongs to a conversation, so that each message is rendered only once per wire format.
///
/// The driver of a conversation creates one and puts a clone into each [`ChatRequest`](crate::ChatRequest). A provider
/// takes out what it rendered before, extends it and puts it back; a concurrent request finds nothing and renders
/// again. The content is only a cache: losing it costs time, never correctness.
#[derive(Clone, Default)]
pub struct Transcript(Arc<Mutex<Vec<Slot>>>);

/// A key and its value. A conversation has a few: one for each wire form in which it is told.
type Slot = (String, Option<Box<dyn Any + Send>>);

impl Transcript {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes out the value under `key` (the wire format: API family, profile, tool names), if it is a `T`.
    pub fn take<T: Any + Send>(&self, key: &str) -> Option<T> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let boxed = slots.iter_mut().find(|(known, _)| known == key)?.1.take()?;
        drop(slots);
        boxed.downcast().ok().map(|value| *value)
    }

    /// Puts `value` under `key` for the next request.
    pub fn put<T: Any + Send>(&self, key: &str, value: T) {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.iter_mut().find(|(known, _)| known == key) {
            Some((_, slot)) => *slot = Some(Box::new(value)),
            None => slots.push((key.to_owned(), Some(Box::new(value)))),
        }
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transcript")
    }
}

#[cfg(test)]
mod tests {
    use super::Transcript;

    #[test]
    fn take_empties_the_slot() {
        let transcript = Transcript::new();
        let shared = transcript.clone();
        shared.put("a", 7_u32);
        assert_eq!(transcript.take::<u32>("a"), Some(7));
        assert_eq!(transcript.take::<u32>("a"), None);
        shared.put("b", 'b');
        shared.put("a", 8_u32);
        shared.put("a", 9_u32);
        assert_eq!((transcript.take("a"), transcript.take("b")), (Some(9_u32), Some('b')));
    }
}
