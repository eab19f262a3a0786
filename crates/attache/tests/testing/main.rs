//! The tests that the guide's page `testing.md` shows, as they stand there.

mod function;
mod scripted;
mod snapshot;
mod test_model;
