//! The schemas of tools: they are sent as they are.

use attache_core::tool::{SchemaLoosening, SchemaReport};
use attache_core::{ModelSettings, ProviderError, ToolDefinition, ToolSet};
use attache_transport::{Codec as _, Refusals, check_tools, strict_loosened};

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
