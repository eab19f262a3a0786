//! A request as the quirks of servers look at it.

use serde_json::{Map, Value};

use crate::mock::rules::Violation;

/// Models that think unless they are told not to (openai.md C.1, C.2, C.4, C.5).
const THINKERS: &[&str] = &[
    "deepseek-flash",
    "deepseek-v4",
    "deepseek-reasoner",
    "glm-4.7",
    "glm-5",
    "kimi-k2.5",
    "kimi-k2.6",
    "kimi-k2.7",
    "kimi-k2-thinking",
    "kimi-k3",
    "qwq",
];

/// Models that always think (openai.md C.2, C.3, C.4).
pub(super) const ALWAYS_THINKING: &[&str] = &["glm-5.3", "kimi-k2.7-code", "kimi-k3", "minimax-m2"];

/// A request whose `messages` are a list.
pub(super) struct Asked<'v> {
    pub(super) request: &'v Map<String, Value>,
    pub(super) messages: &'v [Value],
    /// The model's name in lower case, without the publisher before a slash.
    pub(super) model: String,
}

impl<'v> Asked<'v> {
    pub(super) fn is_any(&self, models: &[&str]) -> bool {
        models.iter().any(|start| self.model.starts_with(start))
    }

    /// A field that is set; `null` counts as absent.
    pub(super) fn field(&self, key: &str) -> Option<&'v Value> {
        self.request.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn has_tools(&self) -> bool {
        self.field("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
    }

    /// True if the model will think.
    pub(super) fn thinks(&self) -> bool {
        if self.is_any(ALWAYS_THINKING) {
            return true;
        }
        let mode = self.field("thinking").and_then(|thinking| thinking.get("type")?.as_str());
        let switch = self.field("enable_thinking").and_then(Value::as_bool);
        match (mode, switch, text(self.field("reasoning_effort"))) {
            (Some(mode), _, _) => mode != "disabled",
            (None, Some(switch), _) => switch,
            (None, None, "none") => false,
            _ => self.is_any(THINKERS) || self.model.ends_with("-thinking"),
        }
    }
}

pub(super) fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// The server's refusal; its code, where it has one, says more than the status.
pub(super) fn refused(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> Violation {
    Violation::invalid(message).with_code(code).with_path(path.into())
}
