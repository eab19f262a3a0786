//! Recorded provider traffic: what its answers hold.

mod index;

#[cfg(test)]
mod tests;

pub use self::index::{
    CassetteIndex, Expectation, ExpectedCall, ExpectedError, ExpectedThinking, ExpectedUsage, IndexedCassette,
};
