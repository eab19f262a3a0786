//! Tools and the choice among them (cohere.md 2).

use serde_json::{Map, Value};

use crate::mock::chat::problems::{Check, array, invalid, one_of, optional};
use crate::mock::chat::tools::check_plain;
use crate::mock::rules::Path;

pub(super) fn check(request: &Map<String, Value>) -> Check {
    let path = Path::Root.key("tools");
    if let Some(tools) = optional(request, "tools") {
        for (index, tool) in array(tools, &path)?.iter().enumerate() {
            check_plain(tool, &path.index(index))?;
        }
    }
    let Some(choice) = optional(request, "tool_choice") else { return Ok(()) };
    let path = Path::Root.key("tool_choice");
    one_of(choice, &["REQUIRED", "NONE"], &path)?;
    if choice == "REQUIRED" && optional(request, "tools").is_none() {
        return Err(invalid(&path, "invalid_value", "'REQUIRED' needs 'tools'."));
    }
    Ok(())
}
