//! Tools and the choice among them (anthropic.md 6).

use std::borrow::Cow;

use attache_core::schema::{Strict, Subset};
use attache_core::tool::SchemaReport;
use attache_core::{ModelSettings, ProviderError, ToolChoice, ToolSet};
use attache_transport::claude::{check_claude_tools, force_refused};
use attache_transport::{
    Codec as _, Refusals, StrictForms, forces_tool, plain_tool, refuse_allowed, strict_loosened, write_json,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::codec::{Ask, MessagesCodec};
use crate::error;

/// The tools as JSON objects joined by commas; empty if there are none.
pub(super) fn render(
    tools: &ToolSet,
    subset: Option<Subset>,
    forms: Option<&StrictForms>,
    refusals: &mut Refusals<'_>,
) -> Result<String, ProviderError> {
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
    let mut text = String::new();
    for (name, definition) in tools.iter() {
        strict_loosened(tools, definition, forms, subset, refusals)?;
        let strict = forms.and_then(|forms| forms.of_tool(definition));
        let input_schema = match strict {
            Some(strict) => Cow::Borrowed(strict.schema()),
            None => plain_tool(definition, &NOT_AT_THE_ROOT, tools.is_validated(), refusals)?.0,
        };
        let input_schema = &*input_schema;
        // Examples of another form would be refused.
        let input_examples = if strict.is_none_or(Strict::keeps_form) { definition.examples() } else { &[] };
        let description = definition.description();
        let description = if description.trim().is_empty() { "" } else { description };
        let tool = Tool { name, description, input_schema, input_examples, strict: strict.is_some() };
        text.push_str(if text.is_empty() { "" } else { "," });
        write_json(&tool, &mut text)?;
    }
    Ok(text)
}

/// The keywords that the API does not take at the root of a tool's schema; one such tool would fail the whole request.
const NOT_AT_THE_ROOT: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The fate of the schemas, by the code that writes them.
pub(crate) fn check(codec: &MessagesCodec, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
    let (capabilities, subset) = (codec.capabilities(), codec.subset());
    check_claude_tools(tools, capabilities, codec.model(), subset, settings, |definition, refusals| {
        Ok(plain_tool(definition, &NOT_AT_THE_ROOT, tools.is_validated(), refusals)?.1)
    })
}

/// The member `tool_choice`, if one is to be sent.
pub(super) fn choice(
    ask: Ask<'_>,
    manual_thinking: bool,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Value>, ProviderError> {
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
