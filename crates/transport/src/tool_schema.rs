//! Schemas of tools where an API takes less than JSON Schema at their roots, and what codecs say of tools beforehand.

use std::borrow::Cow;

use attache_core::schema::plain_root;
use attache_core::tool::{SchemaLoosening, SchemaRefusal, SchemaReport};
use attache_core::{ProviderError, ToolDefinition, ToolSet};
use serde_json::Value;

use crate::refused_options::Refusals;

/// Asks `compile`, which encodes too, about each of the tools: what it loosens, or why it cannot be offered. With more
/// than `most` tools none can be offered.
pub fn check_tools<'t>(
    tools: &'t ToolSet,
    most: Option<usize>,
    mut compile: impl FnMut(&'t ToolDefinition) -> Result<Vec<SchemaLoosening>, ProviderError>,
) -> SchemaReport {
    let mut check = SchemaReport::new();
    for (_, definition) in tools.iter() {
        match compile(definition) {
            Ok(loosened) => check.loosened.extend(loosened),
            Err(error) => {
                check.refused.push(SchemaRefusal::new(definition.name().to_owned(), error.message()))
            }
        }
    }
    if let Some(most) = most.filter(|most| tools.len() > *most) {
        let why = format!("the API takes at most {most} tools, and there are {}", tools.len());
        check.refused.push(SchemaRefusal::new(None, why));
    }
    check
}

/// A tool's description with its examples, for APIs that have no member for them. Those of another form would mislead,
/// which `shown` says.
pub fn described(definition: &ToolDefinition, shown: bool) -> String {
    let mut description = definition.description().trim().to_owned();
    for (at, example) in definition.examples().iter().filter(|_| shown).enumerate() {
        description.push_str(if at == 0 { "\n\nExamples of arguments:\n" } else { "\n" });
        description.push_str(&example.to_string());
    }
    description.drain(..description.len() - description.trim_start().len());
    description
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
    let loosened = loosened(definition.name(), &plain.dropped);
    Ok((Cow::Owned(plain.schema), loosened))
}

/// The loosened keywords, as a report says it of a tool.
fn loosened(tool: &str, dropped: &[&'static str]) -> Vec<SchemaLoosening> {
    let why = |keyword: &str| match keyword {
        "anyOf" | "oneOf" | "allOf" => "the API takes no branches at the root; they were put side by side",
        "additionalProperties" | "unevaluatedProperties" => {
            "it would forbid what only some branches know, now that they stand side by side"
        }
        "type" => "the API takes nothing but an object at the root",
        _ => "the API takes no such keyword at the root; it was left out",
    };
    dropped.iter().map(|keyword| SchemaLoosening::new(tool, "", *keyword, why(keyword))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_asked_about_one_by_one() {
        let tools = ["a", "b"].map(|name| ToolDefinition::new(name, "", json!({})));
        let tools = ToolSet::new(tools).unwrap();
        let check = check_tools(&tools, Some(1), |tool| match tool.name() {
            "a" => Ok(vec![SchemaLoosening::new("a", "", "anyOf", "why")]),
            _ => Err(ProviderError::new(attache_core::ErrorKind::Unsupported, "it cannot")),
        });
        assert_eq!(check.loosened[0].to_string(), "tool `a`: anyOf at the root: why");
        let refused: Vec<_> = check.refused.iter().map(ToString::to_string).collect();
        assert_eq!(refused, ["tool `b`: it cannot", "the API takes at most 1 tools, and there are 2"]);
    }
}
