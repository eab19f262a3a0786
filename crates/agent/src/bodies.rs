//! Room for the bodies of requests and answers, for whatever serves agents.

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
    room: Arc<Room>,
    time: Duration,
}

#[derive(Debug)]
struct Room {
    most: usize,
    each: usize,
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
    #[error("too many request bodies are being read; try again later")]
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
        let (most, each) = (most.max(largest), (most / 2).max(largest));
        Self { room: Arc::new(Room { most, each, taken: Mutex::default() }), time }
    }

    /// Takes the room of a body of so many bytes that is not read here, such as one that goes out. One alone has room whatever
    /// its size.
    ///
    /// # Errors
    /// [`BodyError::Crowded`].
    pub fn take(&self, principal: &str, bytes: usize) -> Result<BodyRoom, BodyError> {
        let mut room = BodyRoom { room: Arc::clone(&self.room), taken: None };
        room.hold(principal, bytes)?;
        Ok(room)
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
    ) -> Result<ReadBody, BodyError> {
        let reading = async {
            let mut read = ReadBody { bytes: Bytes::new(), room: self.take(principal, 0)? };
            let mut pieces = pin!(pieces);
            let mut gathered = BytesMut::new();
            while let Some(piece) = pieces.next().await {
                let piece = piece.map_err(|_| BodyError::Broken)?;
                let length = gathered.len() + read.bytes.len() + piece.len();
                if length > most {
                    return Err(BodyError::TooLarge);
                }
                read.room.hold(principal, length)?;
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
pub struct ReadBody {
    bytes: Bytes,
    room: BodyRoom,
}

/// The room of a body, which is free again once this is dropped.
#[derive(Debug)]
pub struct BodyRoom {
    room: Arc<Room>,
    /// The principal whose room a large one takes, and the bytes of it.
    taken: Option<(Arc<str>, usize)>,
}

impl BodyRoom {
    /// Takes the room of a body that has so many bytes now: more or less than before.
    ///
    /// # Errors
    /// [`BodyError::Crowded`], with which it has its room of before.
    pub fn hold(&mut self, principal: &str, bytes: usize) -> Result<(), BodyError> {
        let (needed, held) = (bytes.saturating_sub(SMALL), self.taken.as_ref().map_or(0, |(_, held)| *held));
        let more = needed.saturating_sub(held);
        if more == 0 {
            self.free(held - needed);
            return Ok(());
        }
        let Room { most, each, .. } = *self.room;
        let mut taken = self.room.taken();
        let own = taken.whose.get(principal).copied().unwrap_or_default();
        // A body that is alone always fits: a client that is told to try again would otherwise be told so for ever.
        let fits = |held: usize, most: usize| held == 0 || held.saturating_add(more) <= most;
        if !fits(taken.all, most) || !fits(own, each) {
            return Err(BodyError::Crowded);
        }
        taken.all += more;
        let (principal, held) = self.taken.get_or_insert_with(|| (principal.into(), 0));
        *taken.whose.entry(Arc::clone(principal)).or_default() += more;
        *held += more;
        Ok(())
    }

    fn free(&mut self, bytes: usize) {
        let Some((principal, held)) = &mut self.taken else { return };
        *held -= bytes;
        let mut taken = self.room.taken();
        taken.all = taken.all.saturating_sub(bytes);
        if let Some(own) = taken.whose.get_mut(principal) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                taken.whose.remove(principal);
            }
        }
    }
}

impl Room {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for ReadBody {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl Drop for BodyRoom {
    fn drop(&mut self) {
        let held = self.taken.as_ref().map_or(0, |(_, held)| *held);
        self.free(held);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    // A document may be larger than all of the room.
    #[test]
    fn one_body_alone_has_room_whatever_its_size() {
        let bodies = Bodies::new(1 << 20, 0, Duration::from_secs(1));
        let mut large = bodies.take("ann", 8 << 20).unwrap();
        assert_eq!(bodies.take("bob", 1 << 20).unwrap_err(), BodyError::Crowded);
        assert!(bodies.take("bob", 64 << 10).is_ok(), "a small one takes none");
        assert_eq!(large.hold("ann", 9 << 20), Err(BodyError::Crowded));
        large.hold("ann", 500 << 10).unwrap();
        assert!(bodies.take("bob", 500 << 10).is_ok(), "it needs less now");
        drop(large);
        let _half = bodies.take("ann", 500 << 10).unwrap();
        assert!(bodies.take("ann", 500 << 10).is_err(), "a principal has half of it");
        assert!(bodies.take("bob", 500 << 10).is_ok());
    }

    // A client that is told to try again would be told so for ever.
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
