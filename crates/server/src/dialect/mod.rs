//! Projections of a run: each is a pure function of what happens, and writes bytes.

pub(crate) mod chat;
pub(crate) mod event;
pub(crate) mod events;
pub(crate) mod message;
pub(crate) mod typed;
pub(crate) mod usage;

use std::sync::Arc;

use crate::live::{Entry, View};

/// A form in which a run is told over a stream of server-sent events.
pub(crate) trait Dialect: Send + 'static {
    /// Writes what a client is told of an entry, if anything.
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>);

    /// Writes what a client needs that is told of the run so far, in the place of entries that are gone.
    fn view(&mut self, view: &View, last: u64, out: &mut Vec<u8>);
}

/// The things that a client may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The arguments and results of tools.
    pub(crate) details: bool,
    /// The model's reasoning.
    pub(crate) thinking: bool,
}
