//! The facts about an agent's tools before a run: the parts of their schemas that the model's dialect cannot say, and
//! the fate of the documents that they declare.

mod media;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use attache_core::tool::{SchemaLoosening, SchemaRefusal, SchemaReport, ToolSpec};
use attache_core::{Converter, ModelHandle, ModelSettings, ToolSet};

use crate::tools::Disclosure;
pub(crate) use media::reads;
pub use media::{DeclaredMedia, MediaFate};

/// The facts about tools before they are offered to a model; see [`Agent::preflight`](crate::Agent::preflight).
///
/// Its `Display` is a line for each finding, and nothing where all is well.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Preflight {
    /// The model, `provider/model`.
    pub model: String,
    /// Keywords of the tools' schemas that the provider is not told, or does not hold the model to. Calls are held to
    /// them before a tool runs.
    pub loosened: Vec<SchemaLoosening>,
    /// Keywords that calls cannot be held to.
    pub unchecked: Vec<UncheckedKeyword>,
    /// The media types that tools declare, and what becomes of them.
    pub media: Vec<DeclaredMedia>,
    /// Tools of families that are not offered.
    pub left_out: Vec<SchemaRefusal>,
}

/// A keyword of a tool's schema that calls cannot be held to, such as a pattern that looks around.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UncheckedKeyword {
    /// The tool's internal name.
    pub tool: String,
    /// The schema that has the keyword, as a JSON pointer into the tool's schema.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for UncheckedKeyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "tool `{}`: {} at {place} is not checked: {}", self.tool, self.keyword, self.why)
    }
}

impl Preflight {
    /// True if there is nothing that somebody should know.
    pub fn is_clean(&self) -> bool {
        self.loosened.is_empty() && self.warnings().next().is_none()
    }

    /// The documents that the model will not see, the arguments that are not checked, and the tools that are not
    /// offered: a line each. Schemas that are only loosened are not among them, since calls are held to it all the
    /// same.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let media = self.media.iter().filter(|media| media.fate == MediaFate::Note);
        let left_out = self.left_out.iter().map(|refused| format!("{refused}; it is not offered"));
        left_out
            .chain(self.unchecked.iter().map(ToString::to_string))
            .chain(media.map(|media| media.told(&self.model)))
    }

    /// Adds what was found of other tools.
    pub(crate) fn extend(&mut self, other: Self) {
        self.loosened.extend(other.loosened);
        self.unchecked.extend(other.unchecked);
        self.media.extend(other.media);
    }

    /// The warnings of a run about some tools: a line for each warning, and one for all that is loosened.
    pub(crate) fn told_of(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut about = self.clone();
        // Told as what cannot be offered.
        about.left_out.clear();
        about.loosened.retain(|loosened| wanted(&loosened.tool));
        about.unchecked.retain(|unchecked| wanted(&unchecked.tool));
        about.media.retain(|media| wanted(&media.tool));
        let mut lines: Vec<String> = about.warnings().collect();
        if let Some(first) = about.loosened.first() {
            let (count, model) = (about.loosened.len(), &self.model);
            let text = format!(
                "{model} does not hold calls to {count} keywords of these tools' schemas, the first: {first}"
            );
            lines.push(text);
        }
        lines
    }
}

impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let native = |media: &&DeclaredMedia| !matches!(media.fate, MediaFate::Native | MediaFate::Note);
        let lines = self.warnings();
        let lines = lines.chain(self.loosened.iter().map(ToString::to_string));
        let lines = lines.chain(self.media.iter().filter(native).map(|media| media.told(&self.model)));
        for (at, line) in lines.enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&line)?;
        }
        Ok(())
    }
}

/// The model and options that tools are held against.
#[derive(Clone, Copy)]
pub(crate) struct Screen<'a> {
    pub(crate) model: &'a ModelHandle,
    pub(crate) settings: &'a ModelSettings,
    pub(crate) converters: &'a [Arc<dyn Converter>],
    /// The limits beyond which tools are shown in layers.
    pub(crate) disclosure: Option<Disclosure>,
}

impl Screen<'_> {
    /// The tools that cannot be offered, and what is known of the others.
    pub(crate) fn look<'t>(
        &self,
        set: &ToolSet,
        tools: impl Iterator<Item = &'t ToolSpec>,
    ) -> (Preflight, Vec<SchemaRefusal>) {
        let SchemaReport { loosened, refused, .. } = self.model.check_tools(set, self.settings);
        let mut preflight = Preflight { model: self.model.id().to_owned(), loosened, ..Preflight::default() };
        for spec in tools {
            let tool = spec.definition.name();
            let unchecked = spec.definition.schema().map(|schema| schema.unchecked()).unwrap_or_default();
            preflight.unchecked.extend(unchecked.iter().map(|unchecked| UncheckedKeyword {
                tool: tool.to_owned(),
                pointer: unchecked.pointer.clone(),
                keyword: unchecked.keyword.to_owned(),
                why: unchecked.why.clone(),
            }));
            let declared = spec.metadata.produces.iter();
            preflight.media.extend(declared.map(|media| DeclaredMedia {
                tool: tool.to_owned(),
                media: media.clone(),
                fate: media::fate(media, self.model.capabilities(), self.converters),
            }));
        }
        (preflight, refused)
    }
}
