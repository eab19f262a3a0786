//! The schemas of tools, which are sent as they are, and which of them may be called.

use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{ChatRequest, ModelSettings, ProviderError, ToolChoice, ToolDefinition, ToolSet};
use attache_transport::{Codec as _, Refusals, check_choice, check_tools, refuse_allowed, strict_loosened};

use crate::codec::CohereCodec;

/// Holds tools against the model; their schemas are sent as they are.
pub(crate) fn check(codec: &CohereCodec, tools: &ToolSet, config: &ModelSettings) -> SchemaReport {
    if !tools.is_empty() && !codec.capabilities().tools {
        return SchemaReport::refusing(format!("{} does not call tools", codec.model()));
    }
    let mut refusals = Refusals::new(codec.model(), config.unsupported);
    check_tools(tools, None, |definition| loosened(codec, tools, definition, &mut refusals))
}

/// The losses of a strict tool: the API enforces the schemas of all tools or of none.
pub(super) fn loosened(
    codec: &CohereCodec,
    tools: &ToolSet,
    definition: &ToolDefinition,
    refusals: &mut Refusals<'_>,
) -> Result<Vec<SchemaLoosening>, ProviderError> {
    if codec.strict_tools { Ok(Vec::new()) } else { strict_loosened(tools, definition, None, None, refusals) }
}

/// The member that says which tools the model may call.
pub(super) fn tool_choice(
    codec: &CohereCodec,
    request: &ChatRequest,
    settings: &ModelSettings,
    refusals: &mut Refusals<'_>,
) -> Result<Option<&'static str>, ProviderError> {
    let (capabilities, has_tools) = (codec.capabilities(), !request.tools.is_empty());
    refuse_allowed(request, refusals)?;
    check_choice(&request.tool_choice, &request.tools, has_tools, capabilities)?;
    let mut choice = match &request.tool_choice {
        ToolChoice::None => has_tools.then_some("NONE"),
        ToolChoice::Required => Some("REQUIRED"),
        ToolChoice::Tool(_) => {
            // Of one tool it is the same.
            if request.tools.len() > 1 {
                let why = "no single tool can be forced";
                refusals.refuse("tool_choice", why, "any of them must be called")?;
            }
            Some("REQUIRED")
        }
        _ => None,
    };
    if choice.is_some() && !capabilities.forced_tools {
        refusals.refuse("tool_choice", "the model chooses tools by itself", "it decides")?;
        choice = None;
    }
    // The number of calls at a time is the model's own affair.
    let asked = settings.parallel_tool_calls.filter(|_| has_tools);
    if asked.is_some_and(|parallel| parallel != capabilities.parallel_tools) {
        refusals.leave_out("parallel_tool_calls", "it cannot be chosen")?;
    }
    Ok(choice)
}
