//! Room for the bodies of requests, for whatever serves agents.

use std::collections::HashMap;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::StreamExt as _;

/// The bytes of a body that take no room.
const SMALL: usize = 64 << 10;
/// The time after which there may be room again.
const AGAIN: Duration = Duration::from_secs(1);

/// The room for bodies that a server reads at a time, and the time in which one comes. Many that are large and slow fill no
/// memory with it, and one principal leaves some to the others.
#[derive(Debug)]
pub struct Bodies {
    most: usize,
    each: usize,
    time: Duration,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    /// By principal, as far as there is any.
    whose: HashMap<Arc<str>, usize>,
}

/// The reason why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It has more bytes than it may have.
    #[error("the body is too large")]
    TooLarge,
    /// There is no room for it now.
    #[error("as many bodies are read as may be")]
    Crowded,
    /// It did not come in time.
    #[error("the body did not come in time")]
    Slow,
    /// It was cut off.
    #[error("the body was cut off")]
    Broken,
}

impl BodyError {
    /// The time after which the same request may be read.
    pub fn retry_after(self) -> Option<Duration> {
        matches!(self, Self::Crowded).then_some(AGAIN)
    }
}

impl Bodies {
    /// Room for `most` bytes, each body beyond its first 64 KiB, or for `largest` bytes where that is more. One principal
    /// takes half of `most`, or `largest` bytes where that is more. A body comes within `time`.
    pub fn new(most: usize, largest: usize, time: Duration) -> Self {
        Self { most: most.max(largest), each: (most / 2).max(largest), time, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a body of at most `most` bytes.
    ///
    /// # Errors
    /// [`BodyError`], with which all of its room is free again.
    pub async fn read<E>(
        &self,
        principal: &str,
        pieces: impl Stream<Item = Result<Bytes, E>>,
        most: usize,
    ) -> Result<ReadBody<'_>, BodyError> {
        let reading = async {
            let mut read = ReadBody { bytes: Bytes::new(), bodies: self, taken: None };
            let mut pieces = pin!(pieces);
            let mut gathered = BytesMut::new();
            while let Some(piece) = pieces.next().await {
                let piece = piece.map_err(|_| BodyError::Broken)?;
                let length = gathered.len() + read.bytes.len() + piece.len();
                if length > most {
                    return Err(BodyError::TooLarge);
                }
                read.grow(principal, length)?;
                // Most bodies come in one piece, which is not copied.
                if length == piece.len() {
                    read.bytes = piece;
                } else {
                    gathered.extend_from_slice(&std::mem::take(&mut read.bytes));
                    gathered.extend_from_slice(&piece);
                }
            }
            if !gathered.is_empty() {
                read.bytes = gathered.freeze();
            }
            Ok(read)
        };
        tokio::time::timeout(self.time, reading).await.unwrap_or(Err(BodyError::Slow))
    }
}

/// A body that was read. It takes its room until it is dropped.
#[derive(Debug)]
pub struct ReadBody<'a> {
    bytes: Bytes,
    bodies: &'a Bodies,
    /// The principal whose room a large one takes, and the bytes of it.
    taken: Option<(Arc<str>, usize)>,
}

impl ReadBody<'_> {
    /// Takes the room of a body that has so many bytes now.
    fn grow(&mut self, principal: &str, bytes: usize) -> Result<(), BodyError> {
        let held = self.taken.as_ref().map_or(0, |(_, held)| *held);
        let more = bytes.saturating_sub(SMALL).saturating_sub(held);
        if more == 0 {
            return Ok(());
        }
        let mut taken = self.bodies.taken();
        let own = taken.whose.get(principal).copied().unwrap_or_default();
        if taken.all.saturating_add(more) > self.bodies.most || own.saturating_add(more) > self.bodies.each {
            return Err(BodyError::Crowded);
        }
        taken.all += more;
        let (principal, held) = self.taken.get_or_insert_with(|| (principal.into(), 0));
        *taken.whose.entry(Arc::clone(principal)).or_default() += more;
        *held += more;
        Ok(())
    }
}

impl Deref for ReadBody<'_> {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl Drop for ReadBody<'_> {
    fn drop(&mut self) {
        let Some((principal, held)) = self.taken.take() else { return };
        let mut taken = self.bodies.taken();
        taken.all = taken.all.saturating_sub(held);
        if let Some(own) = taken.whose.get_mut(&principal) {
            *own = own.saturating_sub(held);
            if *own == 0 {
                taken.whose.remove(&principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    // Whoever is told to try again would be told so for ever.
    #[tokio::test]
    async fn a_body_that_may_come_has_room_alone() {
        let bodies = Bodies::new(100 << 10, 1 << 20, Duration::from_secs(1));
        let read = async || {
            let piece = Ok::<_, ()>(Bytes::from(vec![b' '; 1 << 20]));
            bodies.read("ann", stream::iter([piece]), 1 << 20).await
        };
        let first = read().await.unwrap();
        let error = read().await.unwrap_err();
        assert_eq!((error, error.retry_after()), (BodyError::Crowded, Some(Duration::from_secs(1))));
        drop(first);
        assert_eq!(read().await.unwrap().len(), 1 << 20);
    }
}
