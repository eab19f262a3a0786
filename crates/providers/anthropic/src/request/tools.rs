//! Tools and the choice among them (anthropic.md 6).

use attache_core::schema::Strict;
use attache_core::tool::SchemaReport;
use attache_core::{ModelSettings, ToolChoice, ToolDefinition, ToolSet};
use attache_transport::claude::{Compiled, WrittenTool, check_claude_tools, force_refused};
use attache_transport::{Codec as _, Refusals, forces_tool, plain_tool, refuse_allowed, write_json};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::codec::{Ask, MessagesCodec};
use crate::error::{self, Result};

/// Writes a tool as a JSON object.
pub(super) fn write(tool: &WrittenTool<'_>, text: &mut String) -> Result<()> {
    #[derive(Serialize)]
    struct Tool<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        input_schema: &'a Value,
        #[serde(skip_serializing_if = "<[Value]>::is_empty")]
        input_examples: &'a [Value],
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
    }
    let WrittenTool { name, definition, schema: input_schema, strict, .. } = *tool;
    // Examples of another form would be refused.
    let input_examples = if strict.is_none_or(Strict::keeps_form) { definition.examples() } else { &[] };
    let description = definition.description();
    let description = if description.trim().is_empty() { "" } else { description };
    write_json(&Tool { name, description, input_schema, input_examples, strict: strict.is_some() }, text)
}

/// The keywords that the API does not take at the root of a tool's schema; one such tool would fail the whole request.
const NOT_AT_THE_ROOT: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The schema as the API takes it. A loss needs leave, unless calls are held to it here.
pub(super) fn compile<'t>(
    tools: &ToolSet,
    definition: &'t ToolDefinition,
    refusals: &mut Refusals<'_>,
) -> Result<Compiled<'t>> {
    plain_tool(definition, &NOT_AT_THE_ROOT, tools.is_validated(), refusals)
}

/// The fate of the schemas, by the code that writes them.
pub(crate) fn check(codec: &MessagesCodec, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
    check_claude_tools(tools, codec.capabilities(), codec.model(), settings, |definition, refusals| {
        compile(tools, definition, refusals)
    })
}

/// The member `tool_choice`, if one is to be sent.
pub(super) fn choice(
    ask: Ask<'_>,
    manual_thinking: bool,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Value>> {
    let Ask { request, settings, codec, .. } = ask;
    refuse_allowed(request, refusals)?;
    let mut member = Map::new();
    let kind = match &request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "any",
        ToolChoice::Tool(_) => "tool",
        _ => return Err(error::configuration("this choice of tools is not known here")),
    };
    let forced = forces_tool(&request.tool_choice);
    let others = settings.extra_body.get("tools").and_then(Value::as_array);
    if request.tools.is_empty() && others.is_none_or(Vec::is_empty) {
        return if forced {
            Err(error::configuration("a tool call is required, but no tool is offered"))
        } else {
            Ok(None)
        };
    }
    if !codec.capabilities().tools {
        // The consequence for the tools themselves is decided with them.
        return Ok(None);
    }
    if forced && force_refused(codec.capabilities(), manual_thinking, refusals)? {
        member.insert("type".to_owned(), json!("auto"));
    } else {
        member.insert("type".to_owned(), json!(kind));
        if let ToolChoice::Tool(name) = &request.tool_choice {
            if request.tools.get(name).is_none() {
                return Err(error::configuration(format!("the required tool {name:?} is not offered")));
            }
            member.insert("name".to_owned(), json!(request.tools.wire_name(name)));
        }
    }
    if kind != "none" && settings.parallel_tool_calls == Some(false) {
        member.insert("disable_parallel_tool_use".to_owned(), json!(true));
    }
    let default = kind == "auto" && member.len() == 1;
    Ok((!default).then_some(Value::Object(member)))
}
