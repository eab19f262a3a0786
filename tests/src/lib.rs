//! What crosses attache's crates: wire snapshots, cassettes, end to end.
