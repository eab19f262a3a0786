//! Runs under way in this process, and those who look at them.
//!
//! One task polls a run and keeps what happens in a ring that is bounded in entries and bytes. A viewer is a place in
//! that ring: it has no queue, so that one who reads slowly, or not at all, costs nothing and stalls nobody. A viewer that
//! falls behind the beginning of the ring is given a view of the run so far and goes on from there.

mod drive;
mod entry;
mod event_buffer;
mod follow;
mod inside;
mod log;
mod origins;
mod run;
mod run_rules;
mod runs;
mod sight;
mod text;
mod tools_inside;
mod view;
mod viewer;

pub(crate) use entry::{Broken, Entry, What, is_reply_of};
pub(crate) use event_buffer::Bounds;
pub(crate) use follow::{Follower, LOG, Next};
pub(crate) use log::{Stand, failure, left_by, so_far};
pub(crate) use origins::Origins;
pub(crate) use run::{Live, NewRun, Parking};
pub use run_rules::OnDisconnect;
pub(crate) use run_rules::{ClientCalls, Rules};
pub(crate) use runs::{Runs, TooMany};
pub(crate) use sight::Sight;
pub(crate) use view::{Block, CallState, CallView, View};
pub(crate) use viewer::{Seen, Viewer};
