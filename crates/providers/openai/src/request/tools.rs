//! Schemas of tools as servers take them (openai.md A.3, B.4).

use std::borrow::Cow;

use attache_core::capability::StructuredOutput;
use attache_core::schema::{Strict, Subset};
use attache_core::settings::Unsupported;
use attache_core::structured::OutputSchema;
use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{ChatRequest, ModelCapabilities, ModelSettings, ToolChoice, ToolDefinition, ToolSet};
use attache_transport::{
    Refusals, StrictForms, check_tools, described, extra_tools, plain_tool, refuse_allowed, strict_answer,
    strict_loosened,
};
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::profile::{Profile, ToolSchemas};

/// The keywords that OpenAI does not take at the root of a tool's schema, strict or not; one such tool fails the whole
/// request.
const NOT_AT_THE_ROOT: [&str; 5] = ["anyOf", "oneOf", "allOf", "enum", "not"];
/// Tools in one request at OpenAI.
const MAX_TOOLS: usize = 128;
/// Levels of nesting that are looked at.
const MAX_DEPTH: usize = 64;

/// The subset in which the server enforces schemas of tools, if it does. Others take no `strict`, or do nothing.
pub(crate) fn subset(capabilities: &ModelCapabilities, rule: ToolSchemas) -> Option<Subset> {
    let enforces = matches!(
        capabilities.structured_output,
        StructuredOutput::JsonSchema | StructuredOutput::JsonSchemaAlone
    );
    (enforces && rule != ToolSchemas::AsGiven).then(|| rule.subset())
}

/// A tool as the server takes it.
pub(crate) struct Written<'d> {
    pub(crate) description: String,
    pub(crate) parameters: Cow<'d, Value>,
    /// The server holds the model to the schema.
    pub(crate) strict: bool,
}

/// A tool as the server takes it. `forms` are the strict ones of its request.
pub(crate) fn written<'d>(
    definition: &'d ToolDefinition,
    rule: ToolSchemas,
    forms: Option<&'d StrictForms>,
) -> Result<Written<'d>> {
    let strict = forms.and_then(|forms| forms.of_tool(definition));
    let parameters = match strict {
        Some(strict) => Cow::Borrowed(strict.schema()),
        // That it may lose something was decided before.
        None => compile(definition, rule, true, &mut Refusals::new("", None))?.0,
    };
    let description = described(definition, strict.is_none_or(Strict::keeps_form));
    Ok(Written { description, parameters, strict: strict.is_some() })
}

/// The schema of an answer in the strict subset, if it is to be enforced. Servers that enforce more take it too.
pub(crate) fn answer<'s>(
    schema: &'s OutputSchema,
    strict: bool,
    rule: ToolSchemas,
    refusals: &mut Refusals<'_>,
) -> Result<Option<&'s Value>> {
    if !strict {
        return Ok(None);
    }
    strict_answer(schema, rule.subset(), "it is sent as it is, and not enforced", refusals)
}

/// The schema as the server takes it without enforcing it, and what it lost. A loss needs leave, unless calls are held
/// to it here, as `validated` says.
fn compile<'d>(
    definition: &'d ToolDefinition,
    rule: ToolSchemas,
    validated: bool,
    refusals: &mut Refusals<'_>,
) -> Result<(Cow<'d, Value>, Vec<SchemaLoosening>)> {
    if rule == ToolSchemas::AsGiven {
        return Ok((Cow::Borrowed(definition.input_schema()), Vec::new()));
    }
    let (mut schema, loosened) = plain_tool(definition, &NOT_AT_THE_ROOT, validated, refusals)?;
    if lacks_items(&schema, 0) {
        add_items(schema.to_mut(), 0);
    }
    Ok((schema, loosened))
}

/// The tools of the server's own, which only the extra members of the profile and of the options can name.
///
/// # Errors
/// [`ErrorKind::Configuration`] for what is no list.
pub(crate) fn hosted<'a>(profile: &'a Profile, settings: &'a ModelSettings) -> Result<Vec<&'a Value>> {
    Ok(extra_tools(&profile.extra_body)?.iter().chain(extra_tools(&settings.extra_body)?).collect())
}

/// Writes them behind the tools of the request, the head of which ends in the last of these.
pub(crate) fn write_hosted(hosted: &[&Value], are_first: bool, head: &mut String) {
    for (at, tool) in hosted.iter().enumerate() {
        head.push_str(if are_first && at == 0 { ",\"tools\":[" } else { "," });
        head.push_str(&tool.to_string());
    }
}

/// The mode of a choice among allowed tools (openai.md A.3, B.4), if that is to be sent: a choice of none, or of one, says
/// all there is to say. A call that is demanded where none can be forced leaves the choice to the model, among the same
/// tools.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where no such list is known, unless the caller allows it.
pub(crate) fn allowed(
    request: &ChatRequest,
    capabilities: &ModelCapabilities,
    can_force: bool,
    refusals: &mut Refusals<'_>,
) -> Result<Option<&'static str>> {
    if !capabilities.allowed_tools {
        return refuse_allowed(request, refusals).map(|()| None);
    }
    let mode = match request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required if can_force => "required",
        ToolChoice::Required | ToolChoice::Tool(_) if !can_force => "auto",
        _ => return Ok(None),
    };
    Ok((request.allowed_tools.is_some() && !request.tools.is_empty()).then_some(mode))
}

/// The names on the wire of the allowed tools, in the order of the tools.
pub(crate) fn allowed_functions(request: &ChatRequest) -> impl Iterator<Item = &str> {
    let is_allowed =
        |name: &str| request.allowed_tools.iter().flat_map(|names| &**names).any(|allowed| allowed == name);
    request.tools.iter().filter(move |(_, tool)| is_allowed(tool.name())).map(|(wire, _)| wire)
}

/// A tool of the server's own as a choice among tools names it.
pub(crate) fn reference(hosted: &Value) -> Value {
    let kind = hosted.get("type").and_then(Value::as_str).unwrap_or_default();
    let named = hosted.get(kind).and_then(|tool| tool.get("name")).map(|name| json!({"name": name}));
    let members = ["type", "name", "server_label"].into_iter();
    let mut reference: Map<String, Value> =
        members.filter_map(|member| Some((member.to_owned(), hosted.get(member)?.clone()))).collect();
    reference.extend(named.map(|named| (kind.to_owned(), named)));
    Value::Object(reference)
}

/// Refuses schemas that would lose something, unless calls are held to it here or the caller allows it.
pub(crate) fn may_loosen(
    capabilities: &ModelCapabilities,
    tools: &ToolSet,
    rule: ToolSchemas,
    forms: Option<&StrictForms>,
    refusals: &mut Refusals<'_>,
) -> Result<()> {
    let subset = subset(capabilities, rule);
    for (_, definition) in tools.iter() {
        strict_loosened(tools, definition, forms, subset, refusals)?;
    }
    if tools.is_validated() || rule == ToolSchemas::AsGiven {
        return Ok(());
    }
    for (_, definition) in tools.iter() {
        if forms.and_then(|forms| forms.of_tool(definition)).is_none() {
            compile(definition, rule, false, refusals)?;
        }
    }
    Ok(())
}

/// The fate of the schemas, by the code that writes them.
pub(crate) fn check(
    capabilities: &ModelCapabilities,
    rule: ToolSchemas,
    tools: &ToolSet,
    policy: Option<Unsupported>,
) -> SchemaReport {
    if !tools.is_empty() && !capabilities.tools {
        return SchemaReport::refusing(format!("{} does not call tools", capabilities.model));
    }
    let mut refusals = Refusals::new(&capabilities.model, policy).saying("left out");
    let most = (rule != ToolSchemas::AsGiven).then_some(MAX_TOOLS);
    let subset = subset(capabilities, rule);
    let forms = StrictForms::of_tools(tools, subset, None);
    check_tools(tools, most, |definition| {
        let mut loosened = strict_loosened(tools, definition, forms.as_ref(), subset, &mut refusals)?;
        if forms.as_ref().and_then(|forms| forms.of_tool(definition)).is_none() {
            loosened.extend(compile(definition, rule, tools.is_validated(), &mut refusals)?.1);
        }
        Ok(loosened)
    })
}

/// The schemas right below one.
fn children(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    schema.iter().flat_map(|(keyword, value)| {
        let (one, list, map) = match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(map)) => {
                (None, None, Some(map))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => (None, Some(list), None),
            ("items" | "additionalProperties" | "not", value) => (Some(value), None, None),
            _ => (None, None, None),
        };
        let named = map.into_iter().flat_map(Map::values);
        one.into_iter().chain(list.into_iter().flatten()).chain(named)
    })
}

fn is_array_without_items(schema: &Map<String, Value>) -> bool {
    let is_array = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        Some(kind) => kind == "array",
        None => false,
    };
    is_array && !schema.contains_key("items")
}

fn lacks_items(schema: &Value, depth: usize) -> bool {
    let Value::Object(members) = schema else { return false };
    depth < MAX_DEPTH
        && (is_array_without_items(members) || children(members).any(|child| lacks_items(child, depth + 1)))
}

/// Says of arrays that their items may be anything, which goes without saying elsewhere and is demanded here.
fn add_items(schema: &mut Value, depth: usize) {
    let Value::Object(members) = schema else { return };
    if depth >= MAX_DEPTH {
        return;
    }
    if is_array_without_items(members) {
        members.insert("items".to_owned(), json!({}));
    }
    for (keyword, value) in members.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(map)) => {
                map.values_mut().for_each(|child| add_items(child, depth + 1));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(|child| add_items(child, depth + 1));
            }
            ("items" | "additionalProperties" | "not", child) => add_items(child, depth + 1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(schema: Value) -> (Value, usize) {
        let definition = ToolDefinition::new("t", "", schema);
        let mut refusals = Refusals::new("", None);
        let (schema, loosened) = compile(&definition, ToolSchemas::OpenAi, true, &mut refusals).unwrap();
        (schema.into_owned(), loosened.len())
    }

    // openai.md B.4
    #[test]
    fn tools_of_the_server_stay_allowed() {
        for (hosted, named) in [
            (json!({"type": "web_search", "filters": {}}), json!({"type": "web_search"})),
            (
                json!({"type": "mcp", "server_label": "wiki", "server_url": "https://wiki.example"}),
                json!({"type": "mcp", "server_label": "wiki"}),
            ),
            (
                json!({"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}}),
                json!({"type": "custom", "custom": {"name": "sql"}}),
            ),
        ] {
            assert_eq!(reference(&hosted), named);
        }
    }

    // openai.md A.3: `invalid_function_parameters`
    #[test]
    fn roots_are_plain_and_arrays_have_items() {
        let (schema, loosened) = compiled(json!({"type": "object",
            "properties": {"a": {"type": ["array", "null"]}, "b": {"anyOf": [{"type": "array"}]}},
            "not": {"required": ["a", "b"]}}));
        assert_eq!(
            schema,
            json!({"type": "object", "properties": {
                "a": {"type": ["array", "null"], "items": {}}, "b": {"anyOf": [{"type": "array", "items": {}}]}}})
        );
        assert_eq!(loosened, 1);
        let plain =
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}});
        let definition = ToolDefinition::new("t", "", plain);
        assert!(matches!(
            written(&definition, ToolSchemas::OpenAi, None).unwrap().parameters,
            Cow::Borrowed(_)
        ));
    }
}
