//! Holds the arguments of a call against the whole schema of its tool, before anything runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use attache_core::{Arguments, ToolDefinition};
use serde_json::Value;

use crate::tools::{Executor, ToolEntry};

impl ToolEntry {
    /// What the model is told instead of a call whose arguments do not fit: which paths, and what was expected there.
    pub(crate) fn unfit(&self, arguments: &Arguments) -> Option<String> {
        let definition = &self.spec.definition;
        let mended = match &self.executor {
            // A tool that panics here does so again when it is called, where it is caught and told.
            Executor::Tool(tool) => match catch_unwind(AssertUnwindSafe(|| tool.mended(arguments))) {
                Ok(Ok(mended)) => mended,
                Ok(Err(error)) => return Some(error.for_model().to_owned()),
                Err(_) => return None,
            },
            Executor::Family(_) | Executor::External => None,
        };
        let name = definition.name();
        let problem = match mended.map_or_else(|| arguments.object(), Ok) {
            Ok(object) => {
                let violations = self.schema.violations(&Value::Object(object));
                if violations.is_empty() {
                    return None;
                }
                let problems: Vec<String> = violations.iter().map(ToString::to_string).collect();
                format!("the arguments of {name} do not fit: {}", problems.join("; "))
            }
            Err(error) => format!("{name}: {error}"),
        };
        Some(problem + &allowed(definition))
    }
}

fn allowed(definition: &ToolDefinition) -> String {
    let properties = definition.input_schema().get("properties").and_then(Value::as_object);
    match properties.filter(|properties| !properties.is_empty()) {
        Some(properties) => {
            let names: Vec<_> = properties.keys().map(String::as_str).collect();
            format!("; allowed: {}", names.join(", "))
        }
        None => String::new(),
    }
}
