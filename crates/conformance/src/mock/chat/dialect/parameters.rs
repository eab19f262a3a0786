//! Quirks of the request's own fields.

use serde_json::Value;

use super::super::problems::Check;
use super::asked::{ALWAYS_THINKING, Asked, refused, text};
use crate::mock::rules::Violation;

impl Asked<'_> {
    pub(super) fn known_fields(&self, known: &[&str]) -> Check {
        match self.request.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let message = format!("body.{key}: Extra inputs are not permitted");
                Err(Violation { status: 422, ..refused("extra_forbidden", key, message) })
            }
        }
    }

    pub(super) fn no_fields(&self, fields: &[&'static str]) -> Check {
        match fields.iter().find(|field| self.field(field).is_some()) {
            None => Ok(()),
            Some(field) => Err(refused("invalid_parameter", *field, format!("{field} is not supported"))),
        }
    }

    pub(super) fn range(&self, field: &str, above: bool, from: f64, to: f64) -> Check {
        let Some(value) = self.field(field).and_then(Value::as_f64) else { return Ok(()) };
        if value <= to && (value > from || (!above && value >= from)) {
            return Ok(());
        }
        let open = if above { '(' } else { '[' };
        Err(refused("invalid_parameter", field, format!("{field} must be within {open}{from}, {to}]")))
    }

    pub(super) fn efforts(&self, models: &[(&str, &[&str])]) -> Check {
        let effort = text(self.field("reasoning_effort"));
        let Some((_, efforts)) = models.iter().find(|(start, _)| self.model.starts_with(start)) else {
            return Ok(());
        };
        if effort.is_empty() || efforts.contains(&effort) {
            return Ok(());
        }
        let message = format!("reasoning_effort '{effort}' is not supported by this model: {efforts:?}");
        Err(refused("invalid_parameter", "reasoning_effort", message))
    }

    pub(super) fn thinking_stays_on(&self) -> Check {
        let mode = self.field("thinking").and_then(|thinking| thinking.get("type")?.as_str());
        if mode == Some("disabled") && self.is_any(ALWAYS_THINKING) {
            return Err(refused("invalid_parameter", "thinking.type", "this model cannot stop thinking"));
        }
        Ok(())
    }

    pub(super) fn fixed_temperature(&self) -> Check {
        let only = if self.thinks() { 1.0 } else { 0.6 };
        match self.field("temperature").and_then(Value::as_f64) {
            Some(value) if self.model.starts_with("kimi") && value != only => {
                let message = format!("invalid temperature: only {only} is allowed for this model");
                Err(refused("invalid_parameter", "temperature", message))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn stream_while_thinking(&self) -> Check {
        if self.thinks() && self.field("stream") != Some(&Value::Bool(true)) {
            let message = "parameter.enable_thinking must be set to false for non-streaming calls";
            return Err(refused("invalid_parameter_error", "enable_thinking", message));
        }
        Ok(())
    }

    pub(super) fn no_penalties(&self, models: &[&str]) -> Check {
        let fields = ["presence_penalty", "frequency_penalty", "stop"];
        if self.is_any(models) { self.no_fields(&fields) } else { Ok(()) }
    }

    pub(super) fn one_reasoning_budget(&self) -> Check {
        let set = |key: &str| self.field("reasoning").is_some_and(|reasoning| reasoning.get(key).is_some());
        if set("effort") && set("max_tokens") {
            let message = "Only one of \"reasoning.effort\" and \"reasoning.max_tokens\" can be specified";
            return Err(refused("invalid_value", "reasoning", message));
        }
        Ok(())
    }

    pub(super) fn reasoning_format(&self) -> Check {
        let format = text(self.field("reasoning_format"));
        let problem = if format.is_empty() {
            return Ok(());
        } else if self.field("include_reasoning").is_some() {
            "cannot specify both `reasoning_format` and `include_reasoning`"
        } else if format == "raw" && (self.has_tools() || self.asks_for_json()) {
            "`reasoning_format` must not be `raw` with tools or JSON"
        } else {
            return Ok(());
        };
        Err(refused("invalid_parameter", "reasoning_format", problem))
    }

    /// The choices that are taken, always or while thinking.
    pub(super) fn choice(&self, taken: &[&str], while_thinking: bool) -> Check {
        let Some(choice) = self.field("tool_choice") else { return Ok(()) };
        if (while_thinking && !self.thinks()) || taken.contains(&text(Some(choice))) {
            return Ok(());
        }
        let mode = if while_thinking { " in thinking mode" } else { "" };
        let message = format!("tool_choice {choice} is not supported{mode}, use one of {taken:?}");
        Err(refused("invalid_request_error", "tool_choice", message))
    }

    pub(super) fn no_strict_tools(&self) -> Check {
        let tools = self.field("tools").and_then(Value::as_array).into_iter().flatten();
        let strict = |tool: &Value| tool.get("function").is_some_and(|spec| spec.get("strict").is_some());
        match tools.enumerate().find(|(_, tool)| strict(tool)) {
            None => Ok(()),
            Some((index, _)) => {
                let path = format!("tools[{index}].function.strict");
                Err(refused("invalid_parameter", path, "strict tools are not supported"))
            }
        }
    }

    fn format(&self) -> &str {
        self.field("response_format").map_or("", |format| text(format.get("type")))
    }

    fn asks_for_json(&self) -> bool {
        matches!(self.format(), "json_object" | "json_schema")
    }

    pub(super) fn formats(&self, kinds: &[&str]) -> Check {
        let format = self.format();
        if format.is_empty() || kinds.contains(&format) {
            return Ok(());
        }
        let message = format!("'response_format.type' must be one of {kinds:?}, got '{format}'");
        Err(refused("invalid_request_error", "response_format.type", message))
    }

    pub(super) fn no_format_with_tools(&self) -> Check {
        if self.has_tools() && self.asks_for_json() {
            let message = "json mode cannot be combined with tool/function calling";
            return Err(refused("invalid_request_error", "response_format", message));
        }
        Ok(())
    }

    pub(super) fn no_json_while_thinking(&self) -> Check {
        if self.format() == "json_object" && self.thinks() {
            let message = "Json mode response is not supported when enable_thinking is true";
            return Err(refused("invalid_parameter_error", "response_format", message));
        }
        Ok(())
    }
}
