//! The choice of tools, as members of the request body.

use attache_core::ToolChoice;
use attache_transport::check_choice;
use serde_json::{Value, json};

use crate::error::Result;
use crate::request::options::Writer;

pub(super) fn tool_choice(writer: &mut Writer<'_>) -> Result<()> {
    let request = writer.request;
    check_choice(&request.tool_choice, &request.tools, writer.has_tools, writer.capabilities)?;
    let choice = match &request.tool_choice {
        ToolChoice::None => writer.has_tools.then(|| Value::from("none")),
        ToolChoice::Required => Some(Value::from("required")),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "name": request.tools.wire_name(name)})),
        _ => None,
    };
    // openai.md D 2
    let unforced = (!writer.capabilities.forced_tools).then_some("no tool can be forced");
    let function = |name: &str| json!({"type": "function", "name": name});
    writer.choose(
        choice,
        unforced,
        function,
        |mode, tools| json!({"type": "allowed_tools", "mode": mode, "tools": tools}),
    )?;
    writer.parallel(writer.settings.parallel_tool_calls)
}
