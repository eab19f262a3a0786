//! Answers that are values of a schema: how they are asked for, read and held to it.

mod extract;
mod partial;
mod spec;
mod state;
mod typed;

pub(crate) use partial::{Partial, Piece};
pub(crate) use spec::reasons;
pub use spec::{OutputMode, OutputSpec};
pub(crate) use state::{ANSWERED, Output};
pub use typed::{Typed, TypedError, TypedItem, TypedRun};
