//! Path items, and those that they refer to.

use serde_json::Value;

use super::reference::{LONGEST_CHAIN, at, text};
use crate::error::HttpToolsError;

/// A path item and those that it refers to: what stands in one counts before what stands in the next.
#[derive(Clone)]
pub(super) struct PathItem<'d>(Vec<&'d Value>);

impl<'d> PathItem<'d> {
    /// As much of it as can be read, and the reason why that is not all.
    pub(super) fn read(document: &'d Value, item: &'d Value) -> (Self, Option<HttpToolsError>) {
        let (mut items, mut item) = (Vec::new(), item);
        let problem = loop {
            if !item.is_object() {
                break Some(HttpToolsError::new("it is no object"));
            }
            if items.len() >= LONGEST_CHAIN {
                break Some(HttpToolsError::new("its references lead in a circle"));
            }
            items.push(item);
            match text(item, "$ref").map(|reference| at(document, reference)) {
                None => break None,
                Some(Ok(next)) => item = next,
                Some(Err(error)) => break Some(error),
            }
        };
        (Self(items), problem)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'d Value> {
        self.0.iter().find_map(|item| item.get(name))
    }
}
