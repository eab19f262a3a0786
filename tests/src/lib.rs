//! What the tests across crates share: one list of conversations, and the APIs that they are rendered for.

mod api;
mod build;
pub mod real;
pub mod recorded;
mod scenario;

pub use api::{APIS, Api, Wire};
pub use scenario::{Scenario, scenarios};

/// The programs in the README and the guide compile.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/guide/tools.md")]
    struct Tools;
}
