//! Sessions: conversations of principals that go on over many runs, each kept in a store.

mod clock;
mod closing;
mod error;
mod guard;
mod id;
mod journal;
mod live;
mod memory;
mod one;
mod search_words;
mod sessions;
mod settings;
mod store;
mod title;
mod turn;
mod weave;

pub use error::SessionError;
pub use id::SessionId;
pub use memory::MemorySessions;
pub use one::Session;
pub use search_words::{words_of_entry, words_of_message};
pub use sessions::Sessions;
pub use settings::Busy;
pub use store::{
    Adopt, Append, Appended, Beginning, Cleared, Delivery, Fork, ForkedFrom, Idle, OpenSession, Opened,
    Orphan, RunInfo, SessionInfo, SessionState, SessionStore, StopRequest, StoredRun, Take, Taken,
};
