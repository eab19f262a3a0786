//! Tools and the choice among them (bedrock.md 3, 11).

use std::borrow::Cow;

use attache_core::schema::{Refusal, Strict, bare_root};
use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{ModelSettings, ToolChoice, ToolDefinition, ToolSet};
use attache_transport::claude::{Compiled, WrittenTool, check_claude_tools, force_refused};
use attache_transport::{Codec as _, Refusals, described, plain_tool, refuse_allowed, write_json};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::capabilities::ToolSchema;
use crate::codec::{Ask, ConverseCodec};
use crate::error::{self, Result};

/// A tool as the API wants it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    tool_spec: Spec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Schema<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

#[derive(Serialize)]
struct Schema<'a> {
    json: &'a Value,
}

/// Writes a tool as a JSON object.
pub(super) fn write(tool: &WrittenTool<'_>, text: &mut String) -> Result<()> {
    let description = described(tool.definition, tool.strict.is_none_or(Strict::keeps_form));
    add(text, tool.name, &description, tool.schema, tool.strict.is_some())
}

/// Stands for tools of the history where a request offers none: the API demands tools as long as it holds calls.
pub(super) fn render_called(called: &[String]) -> Result<String> {
    let mut text = String::new();
    for name in called {
        text.push_str(if text.is_empty() { "" } else { "," });
        add(&mut text, name, "", &json!({"type": "object", "properties": {}}), false)?;
    }
    Ok(text)
}

fn add(text: &mut String, name: &str, description: &str, schema: &Value, strict: bool) -> Result<()> {
    let tool = Tool { tool_spec: Spec { name, description, input_schema: Schema { json: schema }, strict } };
    write_json(&tool, text)
}

/// The keywords that most models do not take at the root of a tool's schema; one such tool would fail the whole
/// request.
const NOT_AT_THE_ROOT: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The schema as the model takes it, and what it lost. A loss needs leave, unless calls are held to it here.
pub(super) fn compile<'t>(
    tools: &ToolSet,
    definition: &'t ToolDefinition,
    rule: ToolSchema,
    refusals: &mut Refusals<'_>,
) -> Result<Compiled<'t>> {
    let name = definition.name();
    let refused = if rule == ToolSchema::Any { &[][..] } else { &NOT_AT_THE_ROOT[..] };
    let (mut schema, mut loosened) = plain_tool(definition, refused, tools.is_validated(), refusals)?;
    if rule == ToolSchema::BareRoot {
        match bare_root(&schema) {
            Ok(bare) => {
                let dropped = constraints(&schema).filter(|keyword| bare.get(keyword).is_none());
                loosened.extend(dropped.map(|keyword| {
                    let why = "the model takes nothing but type, properties and required at the root; it was left out";
                    SchemaLoosening::new(name, "", keyword, why)
                }));
                schema = Cow::Owned(bare);
            }
            Err(Refusal { problem, .. }) => {
                let why =
                    format!("the schema of the tool {name} cannot be written without definitions: {problem}");
                refusals.refuse("tools", &why, "the model may call it with anything")?;
                let why = format!("{problem}, and the model takes no definitions; it may call with anything");
                loosened.push(SchemaLoosening::new(name, "", "properties", why));
                schema = Cow::Owned(json!({"type": "object", "properties": {}}));
            }
        }
    }
    Ok((schema, loosened))
}

/// The keywords at a root that say something about values.
fn constraints(schema: &Value) -> impl Iterator<Item = &str> {
    const ABOUT_IT: [&str; 9] =
        ["$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples"];
    let keywords = schema.as_object().into_iter().flatten().map(|(keyword, _)| keyword.as_str());
    keywords.filter(|keyword| !ABOUT_IT.contains(keyword))
}

/// The fate of the schemas, by the code that writes them.
pub(crate) fn check(codec: &ConverseCodec, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
    check_claude_tools(tools, codec.capabilities(), codec.model(), settings, |definition, refusals| {
        compile(tools, definition, codec.family().tool_schema, refusals)
    })
}

/// The word about the choice among tools.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Choice {
    /// `toolConfig.toolChoice`.
    pub(super) member: Option<Value>,
    /// `additionalModelRequestFields.tool_choice`: what only the model's own API can say. Never beside the other.
    pub(super) own: Option<Value>,
    /// No tool may be called, and none need be declared.
    pub(super) none: bool,
}

/// Reads the choice among tools. `has_tools` says whether any are offered, `has_calls` whether the history holds some.
pub(super) fn choice(
    ask: Ask<'_>,
    has_tools: bool,
    has_calls: bool,
    manual_thinking: bool,
    refusals: &mut Refusals<'_>,
) -> Result<Choice> {
    let Ask { request, settings, codec, .. } = ask;
    let (capabilities, family) = (codec.capabilities(), codec.family());
    refuse_allowed(request, refusals)?;
    let forced = match &request.tool_choice {
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required => Some(None),
        ToolChoice::Tool(name) => Some(Some(name)),
        _ => return Err(error::configuration("this choice of tools is not known here")),
    };
    if !has_tools {
        return match forced {
            Some(_) => Err(error::configuration("a tool call is required, but no tool is offered")),
            // Those that were called are declared, but there is nothing to call.
            None => Ok(Choice { own: own(family.own_tool_choice && has_calls, "none"), ..Choice::default() }),
        };
    }
    if request.tool_choice == ToolChoice::None {
        if family.own_tool_choice {
            return Ok(Choice { own: own(true, "none"), ..Choice::default() });
        }
        if has_calls {
            let note =
                "the API cannot forbid calls once the history holds some; the model may still make one";
            refusals.note("tool_choice", note);
        }
        return Ok(Choice { none: !has_calls, ..Choice::default() });
    }
    let mut choice = Choice::default();
    if let Some(name) = forced {
        choice.member = force(ask, name, manual_thinking, refusals)?;
    }
    if settings.parallel_tool_calls == Some(true) && !capabilities.parallel_tools {
        refusals.refuse("parallel_tool_calls", "the model makes one call at a time", "one may come")?;
    }
    if settings.parallel_tool_calls == Some(false) && capabilities.parallel_tools {
        if family.own_tool_choice {
            // The two ways to choose must not meet, so the choice moves.
            let mut own = match choice.member.take() {
                Some(Value::Object(member)) => own_form(&member),
                _ => Map::from_iter([("type".to_owned(), json!("auto"))]),
            };
            own.insert("disable_parallel_tool_use".to_owned(), json!(true));
            choice.own = Some(Value::Object(own));
        } else {
            refusals.refuse(
                "parallel_tool_calls",
                "the API has no such option",
                "there may be several calls",
            )?;
        }
    }
    Ok(choice)
}

fn own(applies: bool, kind: &str) -> Option<Value> {
    applies.then(|| json!({"type": kind}))
}

/// A choice of this API as the model's own API writes it.
fn own_form(member: &Map<String, Value>) -> Map<String, Value> {
    let mut own = Map::new();
    for (kind, value) in member {
        own.insert("type".to_owned(), json!(kind));
        if let Some(name) = value.get("name") {
            own.insert("name".to_owned(), name.clone());
        }
    }
    own
}

/// The member that forces a call: of one tool, or of any.
fn force(
    ask: Ask<'_>,
    name: Option<&String>,
    manual_thinking: bool,
    refusals: &mut Refusals<'_>,
) -> Result<Option<Value>> {
    let Ask { request, codec, .. } = ask;
    if force_refused(codec.capabilities(), manual_thinking, refusals)? {
        return Ok(None);
    }
    let Some(name) = name else { return Ok(Some(json!({"any": {}}))) };
    if request.tools.get(name).is_none() {
        return Err(error::configuration(format!("the required tool {name:?} is not offered")));
    }
    // Where there is one tool, any is that one.
    if !codec.family().forced_by_name {
        if request.tools.len() > 1 {
            let why = "the model can be forced to call some tool, but not which";
            refusals.refuse("tool_choice", why, "it calls any")?;
        }
        return Ok(Some(json!({"any": {}})));
    }
    Ok(Some(json!({"tool": {"name": request.tools.wire_name(name)}})))
}
