//! The request that the parts of a check share.

use serde_json::{Map, Value};

use super::family::Family;
use super::problems::member;
use crate::mock::rules::Rules;

/// The request, its model and the rules that it is judged by.
pub(super) struct Context<'a> {
    pub(super) request: &'a Map<String, Value>,
    pub(super) model_id: &'a str,
    pub(super) family: Family,
    pub(super) rules: &'a Rules,
}

impl<'a> Context<'a> {
    pub(super) fn additional(&self) -> Option<&'a Map<String, Value>> {
        member(self.request, "additionalModelRequestFields")?.as_object()
    }

    /// The type of the `thinking` object that is handed to Claude.
    pub(super) fn thinking(&self) -> Option<&'a str> {
        self.additional()?.get("thinking")?.get("type")?.as_str()
    }

    pub(super) fn messages(&self) -> &'a [Value] {
        self.request.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}
