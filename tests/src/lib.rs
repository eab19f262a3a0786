//! What the tests across crates share: one list of conversations, and the APIs that they are rendered for.

mod api;
mod build;
mod scenario;

pub use api::{APIS, Api, Wire};
pub use scenario::{Scenario, scenarios};
