//! Sessions: conversations of principals that go on over many runs, each kept in a store.

mod clock;
mod closing;
mod error;
mod id;
mod journal;
mod lease;
mod live;
mod memory;
mod one;
mod records;
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
pub use records::{
    Adopt, Append, Appended, Beginning, Cleared, Delivery, Fork, ForkedFrom, Idle, OpenSession, Opened,
    Orphan, RunInfo, SessionInfo, SessionState, StopRequest, StoredRun, Take, Taken,
};
pub use search_words::{words_of_entries, words_of_message};
pub use sessions::Sessions;
pub use settings::Busy;
pub use store::SessionStore;
