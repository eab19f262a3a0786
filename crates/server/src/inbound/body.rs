//! Bodies, read within bounds.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use crate::auth::Principal;
use crate::fault::Fault;
use crate::limits::ServerLimits;

/// The bytes of a body that take no room.
const SMALL: usize = 64 << 10;

/// The room for bodies that are read at a time, and the time in which one comes.
pub(crate) struct Bodies {
    most: usize,
    /// The most of it that one principal has, so that others are heard meanwhile.
    each: usize,
    taken: Mutex<Taken>,
    time: Duration,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// By principal, as far as there is any.
    whose: HashMap<Arc<str>, usize>,
}

impl Bodies {
    /// Room for `limits.bodies` bytes, half of it for one principal, or as much as one request needs.
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        let each = (limits.bodies / 2).max(limits.body).max(limits.upload);
        Self { most: limits.bodies, each, taken: Mutex::default(), time: limits.body_time }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body that was read. It takes its room until it is dropped.
pub(crate) struct Read<'a> {
    bytes: Bytes,
    bodies: &'a Bodies,
    principal: &'a Principal,
    taken: usize,
}

impl Read<'_> {
    /// Takes the room of a body that has so many bytes now.
    fn grow(&mut self, bytes: usize) -> Result<(), Fault> {
        let more = bytes.saturating_sub(SMALL).saturating_sub(self.taken);
        if more == 0 {
            return Ok(());
        }
        let mut taken = self.bodies.taken();
        let own = taken.whose.get(self.principal.name()).copied().unwrap_or_default();
        if taken.all.saturating_add(more) > self.bodies.most || own.saturating_add(more) > self.bodies.each {
            return Err(Fault::crowded());
        }
        taken.all += more;
        match taken.whose.get_mut(self.principal.name()) {
            Some(own) => *own += more,
            None => {
                taken.whose.insert(self.principal.name().into(), more);
            }
        }
        self.taken += more;
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
        if self.taken == 0 {
            return;
        }
        let mut taken = self.bodies.taken();
        taken.all = taken.all.saturating_sub(self.taken);
        if let Some(own) = taken.whose.get_mut(self.principal.name()) {
            *own = own.saturating_sub(self.taken);
            if *own == 0 {
                taken.whose.remove(self.principal.name());
            }
        }
    }
}

/// Reads a body of at most `most` bytes, which comes in time.
pub(crate) async fn bytes<'a>(
    bodies: &'a Bodies,
    principal: &'a Principal,
    body: Body,
    most: usize,
) -> Result<Read<'a>, Fault> {
    let reading = async {
        let mut read = Read { bytes: Bytes::new(), bodies, principal, taken: 0 };
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
