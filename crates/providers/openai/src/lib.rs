//! attache provider crate for Chat Completions and compatible servers.
