//! The value that a run is asked for, as the fold knows it.

use attache_core::structured::StructuredError;
use attache_core::{Arguments, ToolCall, ToolChoice, ToolResult};
use serde_json::Value;

use super::extract;
use super::spec::{OutputMode, OutputSpec, VALUE};
use crate::log::{Disposition, ToolOutcome};

/// The value that a run is asked for, and what the model gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    pub(crate) spec: OutputSpec,
    /// The number of times that the model was asked to mend its answer.
    tries: u32,
    /// The value that the last reply gave, or what does not fit.
    pub(crate) structured: Option<Result<Value, StructuredError>>,
}

/// Words for a call beside the final answer.
pub(crate) const ANSWERED: &str = "not executed: final answer given";

impl Output {
    pub(crate) fn new(spec: OutputSpec) -> Self {
        Self { spec, tries: 0, structured: None }
    }

    /// The name of the tool that takes the value.
    pub(crate) fn tool(&self) -> Option<&str> {
        (self.spec.mode == OutputMode::Tool).then_some(self.spec.name.as_str())
    }

    /// True if this is that tool.
    pub(crate) fn is_tool(&self, name: &str) -> bool {
        self.tool() == Some(name)
    }

    /// True if the last reply gave a value that fits.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self.structured, Some(Ok(_)))
    }

    /// Counts another try. False if there is none left.
    pub(crate) fn try_again(&mut self) -> bool {
        self.tries += 1;
        self.tries <= self.spec.retries
    }

    /// Reads the value in an answer's text.
    pub(crate) fn read_text(&mut self, text: &str) {
        self.structured = Some(extract::find(&self.spec.schema, text));
    }

    /// The word to a model whose text is not the value.
    pub(crate) fn hint(&self) -> String {
        match (&self.structured, self.spec.mode) {
            (Some(Err(StructuredError::NotJson(_))) | None, OutputMode::Tool) => {
                format!("Give your final answer by calling {}.", self.spec.name)
            }
            (Some(Err(error)), OutputMode::Tool) => {
                format!("{}. Give the whole answer again by calling {}.", sentence(error), self.spec.name)
            }
            (Some(Err(error)), _) => {
                format!("{}. Give the whole answer again, as JSON alone.", sentence(error))
            }
            (_, _) => "Give your final answer as JSON alone.".to_owned(),
        }
    }

    /// Answers the calls of a reply that give the value: the first that fits is the answer.
    pub(crate) fn take_calls(&mut self, calls: &[ToolCall]) -> Vec<ToolOutcome> {
        let mut outcomes = Vec::new();
        // Its retries are its own: none of them is one that the limits of tools count.
        let disposition = Disposition::Executed;
        for call in calls {
            if !self.is_tool(&call.name) {
                continue;
            }
            let result = if self.is_given() {
                ToolResult::error(call, ANSWERED)
            } else {
                match self.read_arguments(&call.arguments) {
                    Ok(value) => {
                        self.structured = Some(Ok(value));
                        ToolResult::ok(call, "The final answer is taken.")
                    }
                    Err(error) => {
                        let text =
                            format!("{}. Call {} again with the whole answer.", sentence(&error), call.name);
                        self.structured = Some(Err(error));
                        ToolResult::error(call, &text)
                    }
                }
            };
            outcomes.push(ToolOutcome { call_id: call.id.clone(), result, disposition });
        }
        outcomes
    }

    fn read_arguments(&self, arguments: &Arguments) -> Result<Value, StructuredError> {
        let object = arguments.object().map_err(|error| StructuredError::NotJson(error.to_string()))?;
        let mut value = Value::Object(object);
        if self.spec.is_wrapped()
            && let Some(inner) = value.get_mut(VALUE)
        {
            value = inner.take();
        }
        self.spec.schema.fitted(value)
    }

    /// The choice of tools that lets the model give the value. `forces` is false where no tool can be forced.
    pub(crate) fn choice(&self, asked: ToolChoice, landing: bool, tools: usize, forces: bool) -> ToolChoice {
        if self.spec.mode != OutputMode::Tool {
            return asked;
        }
        match (landing || tools == 1, asked) {
            (_, ToolChoice::Tool(name)) if !landing => ToolChoice::Tool(name),
            _ if !forces => ToolChoice::Auto,
            (true, _) => ToolChoice::Tool(self.spec.name.clone()),
            (false, _) => ToolChoice::Required,
        }
    }
}

fn sentence(error: &StructuredError) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
