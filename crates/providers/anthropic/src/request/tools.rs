//! Tools and the choice among them (fact sheet §6).

use attache_core::{ProviderError, ToolChoice, ToolSet};
use attache_transport::{Codec as _, Refusals, root_combinator, without_root_combinators};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Ask;
use crate::error;

/// The tools as JSON objects joined by commas; empty if there are none.
pub(super) fn render(tools: &ToolSet, refusals: &mut Refusals<'_>) -> Result<String, ProviderError> {
    #[derive(Serialize)]
    struct Tool<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        input_schema: &'a Value,
        #[serde(skip_serializing_if = "<[Value]>::is_empty")]
        input_examples: &'a [Value],
    }
    let mut text = String::new();
    for (name, definition) in tools.iter() {
        let given = definition.input_schema();
        let loosened;
        let input_schema = match unfit_root(given) {
            None => given,
            Some(problem) => {
                let why = format!("the schema of the tool {} {problem}", definition.name());
                refusals.refuse("tools", &why, "its branches were put side by side")?;
                loosened = without_root_combinators(given);
                &loosened
            }
        };
        let description = definition.description();
        let description = if description.trim().is_empty() { "" } else { description };
        let tool = Tool { name, description, input_schema, input_examples: definition.examples() };
        let json = serde_json::to_string(&tool).map_err(|cause| {
            let message = format!("the tool {} cannot be written as JSON", definition.name());
            error::configuration(message).with_source(cause)
        })?;
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&json);
    }
    Ok(text)
}

/// What the API does not take at the root of a tool's schema; one such tool would fail the whole request.
fn unfit_root(schema: &Value) -> Option<String> {
    if let Some(keyword) = root_combinator(schema) {
        return Some(format!("has {keyword} at its root"));
    }
    (schema.get("type").and_then(Value::as_str) != Some("object")).then(|| "is not of an object".to_owned())
}

/// The member `tool_choice`, if one is to be sent.
pub(super) fn choice(
    ask: Ask<'_>,
    manual_thinking: bool,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Value>, ProviderError> {
    let Ask { request, config, codec } = ask;
    let mut member = Map::new();
    let kind = match &request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "any",
        ToolChoice::Tool(_) => "tool",
        _ => return Err(error::configuration("this choice of tools is not known here")),
    };
    let forced = matches!(kind, "any" | "tool");
    let others = config.extra_body.get("tools").and_then(Value::as_array);
    if request.tools.is_empty() && others.is_none_or(Vec::is_empty) {
        return if forced {
            Err(error::configuration("a tool call is required, but no tool is offered"))
        } else {
            Ok(None)
        };
    }
    if !codec.capabilities().tools {
        // What that means for the tools themselves is decided with them.
        return Ok(None);
    }
    let refused = if !forced {
        None
    } else if !codec.capabilities().forced_tools {
        Some("the model cannot be forced to call a tool")
    } else if manual_thinking {
        Some("a tool cannot be forced while a thinking budget is set")
    } else {
        None
    };
    if let Some(why) = refused {
        refusals.refuse("tool_choice", why, "the model decides")?;
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
    if kind != "none" && config.parallel_tool_calls == Some(false) {
        member.insert("disable_parallel_tool_use".to_owned(), json!(true));
    }
    let default = kind == "auto" && member.len() == 1;
    Ok((!default).then_some(Value::Object(member)))
}
