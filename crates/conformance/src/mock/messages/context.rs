//! The request that the parts of a check share.

use serde_json::{Map, Value};

use super::models::Model;
use crate::mock::rules::Rules;

/// The version that has no sampling parameters.
pub(super) const WITHOUT_SAMPLING: &str = "2026-10-21";

/// The request, its model and the rules that it is judged by.
pub(super) struct Context<'a> {
    pub(super) request: &'a Map<String, Value>,
    pub(super) model: Option<Model>,
    pub(super) rules: &'a Rules,
}

impl Context<'_> {
    /// The type of the `thinking` object, if there is one.
    pub(super) fn thinking(&self) -> Option<&str> {
        self.request.get("thinking")?.get("type")?.as_str()
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.request.get(key) == Some(&Value::Bool(true))
    }

    pub(super) fn output_format(&self) -> Option<&Value> {
        self.request.get("output_config")?.get("format").filter(|format| !format.is_null())
    }

    /// True if a tool call is forced.
    pub(super) fn forces_tool(&self) -> bool {
        let choice = self.request.get("tool_choice").and_then(|choice| choice.get("type")?.as_str());
        matches!(choice, Some("any" | "tool"))
    }
}
