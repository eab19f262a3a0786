//! Replies to schemas in the subsets that APIs enforce, brought back to the schemas that were given.

use attache_core::schema::{Strict, Subset};
use attache_core::structured::OutputSchema;
use attache_core::tool::SchemaLoosening;
use attache_core::{ProviderError, ToolDefinition, ToolSet};
use serde_json::Value;

use crate::refused_options::Refusals;

mod restoring;

pub(crate) use restoring::Restoring;

/// Strict tools in one request at Anthropic, which answers more with an error. (anthropic.md 6)
const MAX_TOOLS: usize = 20;

/// The schemas of a request in a subset that its API enforces.
#[derive(Clone, Debug, PartialEq)]
pub struct StrictForms {
    subset: Subset,
    /// Wire names and definitions of the tools.
    tools: Vec<(String, ToolDefinition)>,
    answer: bool,
}

impl StrictForms {
    /// The schema of the answer in this subset.
    pub fn of_answer(subset: Subset) -> Self {
        Self { subset, tools: Vec::new(), answer: true }
    }

    /// The strict ones among `tools`, as many as the API takes beside the schema of the answer, where it is held to
    /// one; `None` if there is neither, or if the API enforces nothing.
    pub fn of_tools(tools: &ToolSet, subset: Option<Subset>, answer: Option<&OutputSchema>) -> Option<Self> {
        let subset = subset?;
        let mut schemas: Vec<&Strict> =
            answer.and_then(|answer| answer.strict(subset).ok()).into_iter().collect();
        let mut taken = Vec::new();
        for (wire, definition) in tools.iter().filter(|(_, definition)| definition.is_strict()) {
            let Ok(strict) = definition.strict_schema(subset) else { continue };
            if subset == Subset::Anthropic && taken.len() == MAX_TOOLS {
                continue;
            }
            schemas.push(strict);
            if subset.takes_together(&schemas) {
                taken.push((wire.to_owned(), definition.clone()));
            } else {
                schemas.pop();
            }
        }
        let answer = answer.is_some();
        (answer || !taken.is_empty()).then_some(Self { subset, tools: taken, answer })
    }

    /// These and the schema of the answer.
    #[must_use]
    pub fn with_answer(forms: Option<Self>, subset: Subset) -> Self {
        Self { answer: true, ..forms.unwrap_or_else(|| Self::of_answer(subset)) }
    }

    /// The wire names of the tools.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|(wire, _)| wire.as_str())
    }

    /// The schema that the calls of a tool follow, where it is strict here.
    pub fn of_tool(&self, definition: &ToolDefinition) -> Option<&Strict> {
        self.find(|_, known| known.name() == definition.name())
    }

    fn find(&self, is_it: impl Fn(&str, &ToolDefinition) -> bool) -> Option<&Strict> {
        let (_, definition) = self.tools.iter().find(|(wire, definition)| is_it(wire, definition))?;
        definition.strict_schema(self.subset).ok()
    }

    /// The same, if it asks for another form than was given.
    fn of_calls(&self, is_it: impl Fn(&str, &ToolDefinition) -> bool) -> Option<&Strict> {
        self.find(is_it).filter(|strict| !strict.keeps_form())
    }
}

/// The parts of a strict tool's schema that the API does not hold it to. `forms` are those of the request, `subset` is
/// the one that the API enforces.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) if it cannot be strict at all, unless calls are
/// held to its schema here or the caller allows it.
pub fn strict_loosened(
    tools: &ToolSet,
    definition: &ToolDefinition,
    forms: Option<&StrictForms>,
    subset: Option<Subset>,
    refusals: &mut Refusals<'_>,
) -> Result<Vec<SchemaLoosening>, ProviderError> {
    if !definition.is_strict() {
        return Ok(Vec::new());
    }
    let name = definition.name();
    let Some(strict) = forms.and_then(|forms| forms.of_tool(definition)) else {
        let why = why_not(definition, subset);
        if !tools.is_validated() {
            refusals.refuse("tools", &format!("the tool {name} cannot be strict: {why}"), "it is not")?;
        }
        return Ok(vec![SchemaLoosening::new(name, "", "strict", why)]);
    };
    let unsaid = strict.unsaid().iter().map(|unsaid| {
        let why = "the API does not enforce it; the model reads it in a description";
        SchemaLoosening::new(name, unsaid.pointer.as_str(), unsaid.keyword.as_str(), why)
    });
    let mut loosened: Vec<SchemaLoosening> = unsaid.collect();
    if !definition.examples().is_empty() && !strict.keeps_form() {
        let why = "the strict schema asks for another form than the examples have; they were left out";
        loosened.push(SchemaLoosening::new(name, "", "examples", why));
    }
    Ok(loosened)
}

fn why_not(definition: &ToolDefinition, subset: Option<Subset>) -> String {
    match subset.map(|subset| definition.strict_schema(subset)) {
        None => "the model is not held to schemas of tools here".to_owned(),
        Some(Err(refusal)) => format!("the schema has no strict form: {refusal}"),
        Some(Ok(_)) => format!("one request takes {MAX_TOOLS} strict tools, and {}", Subset::TOGETHER),
    }
}

/// The schema of an answer in a subset, with a note of what that does not enforce. `None` if it has no such form and
/// the caller allows `instead`.
///
/// # Errors
/// [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported) if it has no such form.
pub fn strict_answer<'s>(
    schema: &'s OutputSchema,
    subset: Subset,
    instead: &str,
    refusals: &mut Refusals<'_>,
) -> Result<Option<&'s Value>, ProviderError> {
    let strict = match schema.strict(subset) {
        Ok(strict) => strict,
        Err(refusal) => {
            let why = format!("the schema has no equivalent in the API's subset: {refusal}");
            refusals.refuse("response_format", &why, instead)?;
            return Ok(None);
        }
    };
    if !strict.unsaid().is_empty() {
        let unsaid: Vec<String> = strict.unsaid().iter().map(ToString::to_string).collect();
        let note = format!(
            "the API does not enforce {}; the model reads it in the description, and the answer is held to it here",
            unsaid.join(", ")
        );
        refusals.note("response_format", note);
    }
    Ok(Some(strict.schema()))
}
