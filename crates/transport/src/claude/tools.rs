//! Tools as APIs of Claude take them.

use std::borrow::Cow;
use std::sync::Arc;

use attache_core::schema::Subset;
use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{
    ModelCapabilities, ModelSettings, ProviderError, ResponseFormat, ToolDefinition, ToolSet,
};
use serde_json::Value;

use crate::refused_options::Refusals;
use crate::strict::{StrictForms, strict_loosened};
use crate::tool_schema::{check_tools, plain_root};

/// The tools of a conversation as they were written last, unless that took a degradation, and the names of the strict
/// ones.
#[derive(Debug, Default)]
pub struct WrittenTools(Option<(Vec<String>, Arc<str>)>);

impl WrittenTools {
    /// The tools by `write`, joined by commas; written once for as long as they stay the same. Whoever has others
    /// makes a new one.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) for a model that calls none, unless the caller
    /// allows it; and those of `write`.
    pub fn get(
        &mut self,
        tools: &ToolSet,
        capabilities: &ModelCapabilities,
        forms: Option<&StrictForms>,
        refusals: &mut Refusals<'_>,
        write: impl FnOnce(&mut Refusals<'_>) -> Result<String, ProviderError>,
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
        let written: Arc<str> = Arc::from(write(refusals)?);
        if refusals.count() == before {
            self.0 = Some((strict().map(str::to_owned).collect(), Arc::clone(&written)));
        }
        Ok(written)
    }
}

/// A tool's schema without the keywords `refused` at its root, and what it lost. A loss needs leave, unless calls
/// are held to it here, as `validated` says.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) without leave.
pub fn plain_tool<'s>(
    definition: &'s ToolDefinition,
    refused: &[&'static str],
    validated: bool,
    refusals: &mut Refusals<'_>,
) -> Result<(Cow<'s, Value>, Vec<SchemaLoosening>), ProviderError> {
    let given = definition.input_schema();
    let Some(plain) = plain_root(given, refused) else {
        return Ok((Cow::Borrowed(given), Vec::new()));
    };
    if !validated {
        let what = match plain.dropped.first().copied().unwrap_or_default() {
            "type" => "is not of an object".to_owned(),
            what => format!("has {what} at its root"),
        };
        let why = format!("the schema of the tool {} {what}", definition.name());
        refusals.refuse("tools", &why, "its branches were put side by side")?;
    }
    let loosened = plain.loosened(definition.name());
    Ok((Cow::Owned(plain.schema), loosened))
}

/// The fate of the schemas, by the code that writes them: `compile`, for those that are not strict.
pub fn check_claude_tools(
    tools: &ToolSet,
    capabilities: &ModelCapabilities,
    model: &str,
    subset: Option<Subset>,
    settings: &ModelSettings,
    compile: impl Fn(&ToolDefinition, &mut Refusals<'_>) -> Result<Vec<SchemaLoosening>, ProviderError>,
) -> SchemaReport {
    let mut refusals = Refusals::new(model, settings.unsupported);
    if !tools.is_empty() && !capabilities.tools {
        let refused = refusals.refuse("tools", "the model calls no tools", "there are none");
        return refused
            .map_or_else(|error| SchemaReport::refusing(error.message()), |()| SchemaReport::new());
    }
    let answer = settings.response_format.as_ref().and_then(ResponseFormat::schema);
    let forms = StrictForms::of_tools(tools, subset, answer);
    check_tools(tools, None, |definition| {
        let mut loosened = strict_loosened(tools, definition, forms.as_ref(), subset, &mut refusals)?;
        if forms.as_ref().and_then(|forms| forms.of_tool(definition)).is_none() {
            loosened.extend(compile(definition, &mut refusals)?);
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
