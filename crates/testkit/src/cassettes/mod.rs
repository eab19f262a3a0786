//! Recording what a provider says, and replaying it.

mod diff;
mod player;

pub use attache_transport::cassette::Recorder;

pub use self::player::Player;
