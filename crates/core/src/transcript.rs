//! The slot in which a provider keeps what it rendered of a conversation.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A cache that travels with a conversation, so that a message is rendered once for a wire form.
///
/// The driver of a conversation makes one and puts a clone into each [`ChatRequest`](crate::ChatRequest). A
/// provider takes what it rendered before, extends it and puts it back; a second request at the same time finds
/// nothing and renders anew. Its content is a memo: losing it costs time, never correctness.
#[derive(Clone, Default)]
pub struct Transcript(Arc<Mutex<Vec<Slot>>>);

/// A key and its value. A conversation has a few: one for each wire form in which it is told.
type Slot = (String, Option<Box<dyn Any + Send>>);

impl Transcript {
    /// An empty slot.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes out what was put under `key` (the wire form: API family, profile, tool names), if it is a `T`.
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
