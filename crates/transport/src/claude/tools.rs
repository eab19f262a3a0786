//! Tools as APIs of Claude take them.

use std::sync::Arc;

use attache_core::schema::Subset;
use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{
    ModelCapabilities, ModelSettings, ProviderError, ResponseFormat, ToolDefinition, ToolSet,
};

use crate::refused_options::Refusals;
use crate::strict::{StrictForms, strict_loosened};
use crate::tool_schema::check_tools;

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
