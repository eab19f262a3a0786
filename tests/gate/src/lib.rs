//! The inputs of the gate: what everyday work of the library begins from. `benches/gate.rs` measures it.

mod conversation;
mod held;
mod model;
mod served;
mod whole;
mod wire;

pub use conversation::{
    agent, documents, history, started, started_about_document, started_behind_window, step, tools,
};
pub use held::Waiting;
pub use model::Instant;
pub use served::Served;
pub use whole::Whole;
pub use wire::{Api, Stream};
