//! Observers of agents while they run.

mod guarded;
mod observer;
mod watched;

pub use observer::{
    ModelCall, ModelCallObserver, ObservedRun, Observer, OpenedRun, RunObserver, ToolCallEnd,
    ToolCallObserver, ToolCallStart,
};
pub(crate) use watched::{Watched, WatchedTool, Watching};
