//! Recorded provider traffic: serving it, and what its answers hold.

mod index;
mod player;

#[cfg(test)]
mod tests;

pub use self::index::{
    CassetteIndex, Expectation, ExpectedCall, ExpectedError, ExpectedThinking, ExpectedUsage, IndexedCassette,
};
pub use self::player::{CassettePlayer, PlayerOptions, RequestMismatch};
