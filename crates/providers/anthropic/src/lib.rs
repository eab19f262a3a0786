//! attache provider crate for the Anthropic Messages API.
