//! Tools and the choice among them (gemini.md 5).

use attache_core::capability::StructuredOutput;
use attache_core::schema::{Dialect, Loosened, loosen};
use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{ModelSettings, ToolChoice, ToolDefinition, ToolSet};
use attache_transport::{
    Codec as _, Refusals, check_tools, described, forces_tool, refuse_allowed, write_json,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::codec::{Ask, GenerateCodec};
use crate::error::{Result, configuration};

/// The tools as one JSON object of declarations; empty if there are none.
pub(super) fn render(tools: &ToolSet) -> Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Declaration<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        parameters_json_schema: &'a Value,
    }
    let mut text = String::new();
    for (name, definition) in tools.iter() {
        let description = described(definition, true);
        // The model reads in descriptions what the API does not enforce, as it does for every other provider.
        let (schema, _) = compile(definition);
        let declaration = Declaration { name, description: &description, parameters_json_schema: &schema };
        text.push_str(if text.is_empty() { r#"{"functionDeclarations":["# } else { "," });
        write_json(&declaration, &mut text)?;
    }
    if !text.is_empty() {
        text.push_str("]}");
    }
    Ok(text)
}

/// The keywords and formats of schemas that the API knows (gemini.md 5).
pub(super) const DIALECT: Dialect = Dialect::new(
    &["type", "required", "minItems", "maxItems", "minimum", "maximum", "$id", "$anchor", "propertyOrdering"],
    &["date-time", "date", "time", "int32", "int64", "float", "double"],
);

/// Declarations in one request.
const MAX_DECLARATIONS: usize = 512;

/// The schema as the API takes it, and what it is not told. The model reads it in a description.
fn compile(definition: &ToolDefinition) -> (Value, Vec<SchemaLoosening>) {
    let Loosened { schema, unsaid, .. } = loosen(definition.input_schema(), &DIALECT);
    let why = "the API takes no such keyword there; the model reads it in a description";
    let unsaid = unsaid.into_iter();
    let loosened = unsaid.map(|it| SchemaLoosening::new(definition.name(), it.pointer, it.keyword, why));
    (schema, loosened.collect())
}

/// The fate of the schemas, by the code that writes them.
pub(crate) fn check(codec: &GenerateCodec, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
    if !tools.is_empty() && !codec.capabilities().tools {
        let mut refusals = Refusals::new(codec.model(), settings.unsupported);
        let refused = refusals.refuse("tools", "the model calls no tools", "there are none");
        return refused
            .map_or_else(|error| SchemaReport::refusing(error.message()), |()| SchemaReport::new());
    }
    let enforces = enforces(codec);
    check_tools(tools, Some(MAX_DECLARATIONS), |definition| {
        let mut loosened = compile(definition).1;
        if definition.is_strict() && !enforces {
            if !tools.is_validated() {
                may_be_loose(definition, &mut Refusals::new(codec.model(), settings.unsupported))?;
            }
            loosened.push(SchemaLoosening::new(definition.name(), "", "strict", NOT_ENFORCED));
        }
        Ok(loosened)
    })
}

const NOT_ENFORCED: &str = "the model is not held to schemas of tools here";

/// True if the model can be held to the schemas of tools.
fn enforces(codec: &GenerateCodec) -> bool {
    let knows_schemas = matches!(
        codec.capabilities().structured_output,
        StructuredOutput::JsonSchema | StructuredOutput::JsonSchemaAlone
    );
    knows_schemas && codec.capabilities().strict_tools
}

fn may_be_loose(definition: &ToolDefinition, refusals: &mut Refusals<'_>) -> Result<()> {
    let why = format!("the tool {} cannot be strict: {NOT_ENFORCED}", definition.name());
    refusals.refuse("tools", &why, "it is not")
}

/// The mode of a choice among some of the tools: `AUTO` takes no list of names, and `VALIDATED` is the same with the
/// arguments held to their schemas.
fn mode_among(choice: &ToolChoice) -> Option<&'static str> {
    match choice {
        ToolChoice::Auto => Some("VALIDATED"),
        ToolChoice::Required => Some("ANY"),
        _ => None,
    }
}

/// The member `toolConfig`, if one is to be sent.
pub(super) fn choice(ask: Ask<'_>, refusals: &mut Refusals<'_>) -> Result<Option<Value>> {
    let Ask { request, settings, codec, .. } = ask;
    let forced = forces_tool(&request.tool_choice);
    if request.tools.is_empty() {
        // A choice without declarations is refused by the API; tools of its own are not chosen this way.
        return match forced {
            true => Err(configuration("a tool call is required, but no tool is offered")),
            false => Ok(None),
        };
    }
    if !codec.capabilities().tools {
        // The consequence for the tools themselves is decided with them.
        return Ok(None);
    }
    let several = codec.capabilities().parallel_tools;
    match settings.parallel_tool_calls.filter(|_| request.tool_choice != ToolChoice::None) {
        Some(false) if several => {
            let why = "the API cannot keep a model from several calls in one reply";
            refusals.refuse("parallel_tool_calls", why, "several may come")?;
        }
        Some(true) if !several => {
            refusals.refuse("parallel_tool_calls", "the model makes one call at a time", "one may come")?;
        }
        // The model's way without being told.
        _ => {}
    }
    let mut wanted = &request.tool_choice;
    if forced && !codec.capabilities().forced_tools {
        refusals.refuse("tool_choice", "the model cannot be forced to call a tool", "the model decides")?;
        wanted = &ToolChoice::Auto;
    }
    let mut strict = request.tools.iter().filter(|(_, definition)| definition.is_strict()).peekable();
    let mut choice_of_model = None;
    if strict.peek().is_some() {
        if enforces(codec) {
            choice_of_model = Some(json!({"functionCallingConfig": {"mode": "VALIDATED"}}));
        } else if !request.tools.is_validated() {
            strict.try_for_each(|(_, definition)| may_be_loose(definition, refusals))?;
        }
    }
    if !codec.capabilities().allowed_tools {
        refuse_allowed(request, refusals)?;
    } else if let Some(allowed) = &request.allowed_tools
        && let Some(mode) = mode_among(wanted)
    {
        let names = request.tools.iter().filter(|(_, tool)| allowed.iter().any(|name| name == tool.name()));
        let names: Vec<&str> = names.map(|(wire, _)| wire).collect();
        return Ok(Some(json!({"functionCallingConfig": {"mode": mode, "allowedFunctionNames": names}})));
    }
    let choice = match wanted {
        ToolChoice::Auto => return Ok(choice_of_model),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) if request.tools.get(name).is_some() => {
            json!({"mode": "ANY", "allowedFunctionNames": [request.tools.wire_name(name)]})
        }
        ToolChoice::Tool(name) => {
            return Err(configuration(format!("the required tool {name:?} is not offered")));
        }
        _ => return Err(configuration("this choice of tools is not known here")),
    };
    Ok(Some(json!({"functionCallingConfig": choice})))
}
