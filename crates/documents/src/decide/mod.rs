//! The decision about each document: for itself, and among the others.

pub(crate) mod all;
pub(crate) mod budget;
pub(crate) mod decider;
pub(crate) mod document;
pub(crate) mod place;
pub(crate) mod rendered;
pub(crate) mod repeats;
pub(crate) mod treatment;
mod url;
pub(crate) mod words;
