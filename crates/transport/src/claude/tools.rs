//! Tools as APIs of Claude take them.

use std::borrow::Cow;
use std::sync::Arc;

use attache_core::capability::StructuredOutput;
use attache_core::schema::{Strict, Subset};
use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{
    ModelCapabilities, ModelSettings, ProviderError, ResponseFormat, ToolDefinition, ToolSet,
};
use serde_json::Value;

use crate::refused_options::Refusals;
use crate::strict::{StrictForms, strict_loosened};
use crate::tool_schema::check_tools;

/// The tools of a conversation as they were written last, unless that took a degradation, and the names of the strict
/// ones.
#[derive(Debug, Default)]
pub struct WrittenTools(Option<(Vec<String>, Arc<str>)>);

impl WrittenTools {
    /// The tools, each by `write`, joined by commas; written once for as long as they stay the same. For other tools make a
    /// new one. `compile` yields the schema of one that is not strict.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for a model that calls none, unless the caller
    /// allows it; and those of `compile` and `write`.
    pub fn get<'t>(
        &mut self,
        tools: &'t ToolSet,
        capabilities: &ModelCapabilities,
        forms: Option<&'t StrictForms>,
        refusals: &mut Refusals<'_>,
        compile: impl Fn(&'t ToolDefinition, &mut Refusals<'_>) -> Result<Compiled<'t>, ProviderError>,
        write: impl Fn(&WrittenTool<'_>, &mut String) -> Result<(), ProviderError>,
    ) -> Result<Arc<str>, ProviderError> {
        if tools.is_empty() {
            return Ok(Arc::default());
        }
        if !capabilities.tools {
            refusals.refuse("tools", "the model calls no tools", "there are none")?;
            return Ok(Arc::default());
        }
        let strict = || forms.into_iter().flat_map(StrictForms::tool_names);
        if let Some((names, written)) = &self.0
            && strict().eq(names)
        {
            return Ok(Arc::clone(written));
        }
        let before = refusals.count();
        let mut text = String::new();
        for (name, definition) in tools.iter() {
            strict_loosened(tools, definition, forms, subset(capabilities), refusals)?;
            let strict = forms.and_then(|forms| forms.of_tool(definition));
            let schema = match strict {
                Some(strict) => Cow::Borrowed(strict.schema()),
                None => compile(definition, refusals)?.0,
            };
            text.push_str(if text.is_empty() { "" } else { "," });
            write(&WrittenTool { name, definition, schema: &schema, strict }, &mut text)?;
        }
        let written: Arc<str> = Arc::from(text);
        if refusals.count() == before {
            self.0 = Some((strict().map(str::to_owned).collect(), Arc::clone(&written)));
        }
        Ok(written)
    }
}

/// A schema as an API takes it, and what it lost.
pub type Compiled<'t> = (Cow<'t, Value>, Vec<SchemaLoosening>);

/// A tool that is written.
#[derive(Debug)]
#[non_exhaustive]
pub struct WrittenTool<'t> {
    /// Its name on the wire.
    pub name: &'t str,
    /// The tool.
    pub definition: &'t ToolDefinition,
    /// Its schema as the API takes it.
    pub schema: &'t Value,
    /// The form in which calls are held to the schema, if they are.
    pub strict: Option<&'t Strict>,
}

/// The subset in which the APIs enforce schemas, if they do for this model.
fn subset(capabilities: &ModelCapabilities) -> Option<Subset> {
    (capabilities.structured_output == StructuredOutput::JsonSchema).then_some(Subset::Anthropic)
}

/// The schemas that are said in that subset: those of strict tools and, if it is to have one, that of the answer.
pub fn strict_forms(
    tools: &ToolSet,
    settings: &ModelSettings,
    capabilities: &ModelCapabilities,
    has_answer: bool,
) -> Option<StrictForms> {
    let answer = settings.response_format.as_ref().and_then(ResponseFormat::schema);
    StrictForms::of_tools(tools, subset(capabilities), answer.filter(|_| has_answer))
}

/// The fate of the schemas, by the code that writes them: `compile`, for those that are not strict.
pub fn check_claude_tools<'t>(
    tools: &'t ToolSet,
    capabilities: &ModelCapabilities,
    model: &str,
    settings: &ModelSettings,
    compile: impl Fn(&'t ToolDefinition, &mut Refusals<'_>) -> Result<Compiled<'t>, ProviderError>,
) -> SchemaReport {
    let mut refusals = Refusals::new(model, settings.unsupported);
    if !tools.is_empty() && !capabilities.tools {
        let refused = refusals.refuse("tools", "the model calls no tools", "there are none");
        return refused
            .map_or_else(|error| SchemaReport::refusing(error.message()), |()| SchemaReport::new());
    }
    let forms = strict_forms(tools, settings, capabilities, true);
    check_tools(tools, None, |definition| {
        let subset = subset(capabilities);
        let mut loosened = strict_loosened(tools, definition, forms.as_ref(), subset, &mut refusals)?;
        if forms.as_ref().and_then(|forms| forms.of_tool(definition)).is_none() {
            loosened.extend(compile(definition, &mut refusals)?.1);
        }
        Ok(loosened)
    })
}

/// True if a call of a tool cannot be demanded, which is then refused; `has_budget` says that a thinking budget is set.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) if it cannot, unless the caller allows it.
pub fn force_refused(
    capabilities: &ModelCapabilities,
    has_budget: bool,
    refusals: &mut Refusals<'_>,
) -> Result<bool, ProviderError> {
    let why = if !capabilities.forced_tools {
        "the model cannot be forced to call a tool"
    } else if has_budget {
        "a tool cannot be forced while a thinking budget is set"
    } else {
        return Ok(false);
    };
    refusals.refuse("tool_choice", why, "the model decides")?;
    Ok(true)
}
