//! Lines that the user types, and questions to them.

pub(crate) mod approve;
pub(crate) mod reader;
