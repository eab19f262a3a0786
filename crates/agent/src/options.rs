//! The options of one run alone.

use std::any::Any;

use attache_core::hash::StableHash;
use attache_core::tool::Extensions;
use attache_core::{ModelHandle, ModelSettings, Tool};

use crate::tools::Tools;

/// The options of one run alone: a model, settings, more instructions and tools, a principal, values for tools.
///
/// No log keeps them, so whoever [resumes](crate::Agent::resume_with) the run gives them again.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RunOptions {
    pub(crate) model: Option<ModelHandle>,
    /// Boxed, since each run has room for them.
    pub(crate) settings: Option<Box<ModelSettings>>,
    pub(crate) instructions: Option<Box<str>>,
    pub(crate) tools: Tools,
    pub(crate) principal: Option<String>,
    pub(crate) streaming: Option<bool>,
    pub(crate) extensions: Extensions,
}

impl RunOptions {
    /// All as the agent has it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks another model.
    pub fn with_model(mut self, model: impl Into<ModelHandle>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Asks the model with these settings, in place of the agent's.
    pub fn with_settings(mut self, settings: ModelSettings) -> Self {
        self.settings = Some(Box::new(settings));
        self
    }

    /// Adds instructions, which stand behind the agent's own. A later run of a session does without them, unless it is
    /// given them again; blank ones are none.
    pub fn with_instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions =
            Some(text.into()).filter(|text| !text.trim().is_empty()).map(String::into_boxed_str);
        self
    }

    /// The agent's instructions with those of the run.
    pub(crate) fn instructions(&self, own: Option<&str>) -> Option<String> {
        match (own, &self.instructions) {
            (Some(own), Some(more)) => Some(format!("{own}\n\n{more}")),
            (own, more) => own.or(more.as_deref()).map(str::to_owned),
        }
    }

    /// Adds a tool to the agent's. A run whose tools have one name twice fails when it starts.
    pub fn with_tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools = self.tools.with(tool);
        self
    }

    /// Adds tools to the agent's.
    pub fn with_tools(mut self, tools: Tools) -> Self {
        self.tools = self.tools.merged(tools);
        self
    }

    /// Says on whose behalf the run works; tools learn it.
    pub fn with_principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Asks for replies piece by piece or, where nobody looks on while they are made, whole: that costs less.
    pub fn with_streaming(mut self, streaming: bool) -> Self {
        self.streaming = Some(streaming);
        self
    }

    /// Adds a value for tools to find by its type; it wins over the agent's of the same type.
    pub fn with_context<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// True if the run has anything but values for tools of its own.
    pub(crate) fn vary(&self) -> bool {
        self.is_other() || self.streaming.is_some()
    }

    /// True if the run has a model, settings, instructions, tools or a principal of its own.
    fn is_other(&self) -> bool {
        self.offers_anew() || self.principal.is_some() || self.instructions.is_some()
    }

    /// True if the run's tools are not offered as the agent's are.
    pub(crate) fn offers_anew(&self) -> bool {
        self.model.is_some() || self.settings.is_some() || !self.tools.is_empty()
    }

    /// A number for all that the run is told, by which it finds its log again and notices other options: for all but values
    /// for tools and the way in which replies come.
    pub(crate) fn number(&self) -> Option<u64> {
        let Self { model, settings, instructions, tools, principal, streaming: _, extensions: _ } = self;
        self.is_other().then(|| {
            let mut hash = StableHash::new();
            hash = hash.text(model.as_ref().map_or("", |model| model.id()));
            hash = hash.text(principal.as_deref().unwrap_or_default());
            // Headers, which may be secret, show no value.
            hash = hash.text(&settings.as_ref().map_or_else(String::new, |settings| format!("{settings:?}")));
            if let Some(instructions) = instructions {
                hash = hash.text("instructions").text(instructions);
            }
            tools.names().fold(hash, StableHash::text).finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A run inside a tool finds its log by its question, and another principal's is none of its own.
    #[test]
    fn each_option_but_values_makes_another_number() {
        let tool = || crate::tool_fn("extra", "", || Ok(()));
        let options = [
            RunOptions::new().with_principal("ann"),
            RunOptions::new().with_principal("bob"),
            RunOptions::new().with_settings(ModelSettings::new().with_max_tokens(5_u32)),
            RunOptions::new().with_settings(ModelSettings::new()),
            RunOptions::new().with_instructions("Be brief."),
            RunOptions::new().with_instructions("Be kind."),
            RunOptions::new().with_tool(tool()),
            RunOptions::new().with_tool(tool()).with_principal("ann"),
        ];
        let mut numbers: Vec<u64> = options.iter().filter_map(RunOptions::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), options.len());
        let none = RunOptions::new().with_context(5_u8).with_streaming(false).with_instructions(" ");
        assert_eq!(none.number(), None);
    }
}
