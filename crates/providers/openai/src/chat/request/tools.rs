//! The choice of tools, as members of the request body.

use attache_core::ToolChoice;
use attache_core::capability::ReasoningExcludes;
use attache_transport::{check_choice, forces_tool};
use serde_json::{Value, json};

use super::reasoning::Reasons;
use crate::error::Result;
use crate::profile::NamedTool;
use crate::request::head::Offered;
use crate::request::options::Writer;

pub(super) fn tool_choice(writer: &mut Writer<'_>, reasons: Reasons<'_>) -> Result<Offered> {
    let (profile, capabilities, request) = (writer.profile, writer.capabilities, writer.request);
    check_choice(&request.tool_choice, &request.tools, writer.has_tools, capabilities)?;
    let mut offered = Offered::All;
    let choice = match &request.tool_choice {
        ToolChoice::None => writer.has_tools.then(|| Value::from("none")),
        ToolChoice::Tool(name) if profile.named_tool == NamedTool::Choice => {
            Some(json!({"type": "function", "function": {"name": request.tools.wire_name(name)}}))
        }
        ToolChoice::Tool(name) => {
            offered = Offered::One(name.clone());
            Some(Value::from("required"))
        }
        ToolChoice::Required => Some(Value::from("required")),
        _ => None,
    };
    // openai.md D 2
    let unforced = if reasons.exclude(ReasoningExcludes::ForcedTools) {
        Some("no tool can be forced while the model reasons")
    } else {
        (!capabilities.forced_tools).then_some("no tool can be forced")
    };
    if unforced.is_some() && forces_tool(&request.tool_choice) {
        offered = Offered::All;
    }
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    writer.choose(
        choice,
        unforced,
        function,
        |mode, tools| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}),
    )?;
    let can = capabilities.parallel_tools;
    let by_default = (profile.parallel_on_request && can).then_some(true);
    let asked = writer.settings.parallel_tool_calls.or(by_default);
    // Several calls are what comes anyway where they cannot be chosen.
    let anyway = asked == Some(true) && can && !capabilities.parallel_choice;
    writer.parallel(asked.filter(|_| !anyway))?;
    Ok(offered)
}
