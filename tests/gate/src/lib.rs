//! The inputs of the gate: what everyday work of the library begins from. `benches/gate.rs` measures it.

mod conversation;
mod model;
mod wire;

pub use conversation::{agent, documents, history, started, step, tools};
pub use model::Instant;
pub use wire::{Api, Stream};
