//! Bodies, read within bounds.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use crate::fault::Fault;

/// The bytes of a body that take no room.
const SMALL: usize = 64 << 10;

/// The room for bodies that are read at a time, and the time in which one comes.
pub(crate) struct Bodies {
    most: usize,
    taken: AtomicUsize,
    time: Duration,
}

impl Bodies {
    pub(crate) fn new(most: usize, time: Duration) -> Self {
        Self { most, taken: AtomicUsize::new(0), time }
    }
}

/// A body that was read. It takes its room until it is dropped.
pub(crate) struct Read<'a> {
    bytes: Bytes,
    bodies: &'a Bodies,
    taken: usize,
}

impl Read<'_> {
    /// Takes the room of a body that has so many bytes now.
    fn grow(&mut self, bytes: usize) -> Result<(), Fault> {
        let more = bytes.saturating_sub(SMALL).saturating_sub(self.taken);
        if more > 0 {
            let fits = |taken: usize| taken.checked_add(more).filter(|taken| *taken <= self.bodies.most);
            let taken = self.bodies.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
            taken.map_err(|_| Fault::crowded())?;
            self.taken += more;
        }
        Ok(())
    }
}

impl Deref for Read<'_> {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl Drop for Read<'_> {
    fn drop(&mut self) {
        self.bodies.taken.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

/// Reads a body of at most `most` bytes, which comes in time.
pub(crate) async fn bytes(bodies: &Bodies, body: Body, most: usize) -> Result<Read<'_>, Fault> {
    let reading = async {
        let mut read = Read { bytes: Bytes::new(), bodies, taken: 0 };
        let mut stream = body.into_data_stream();
        let mut gathered = BytesMut::new();
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|_| Fault::invalid("the body was cut off"))?;
            let length = gathered.len() + read.bytes.len() + piece.len();
            if length > most {
                return Err(Fault::too_large(most));
            }
            read.grow(length)?;
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
    tokio::time::timeout(bodies.time, reading).await.unwrap_or_else(|_| Err(Fault::slow()))
}

/// Reads JSON.
pub(crate) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| Fault::invalid(format!("the body cannot be read: {error}")))
}

/// Reads a member that may be null, which is the same as if it were not there.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}
