//! What one run has otherwise than its agent.

use std::any::Any;

use attache_core::{Extensions, ModelHandle, ModelSettings, Tool};

use crate::tools::Tools;

/// What one run has otherwise than its agent: a model, settings, more tools, on whose behalf it works, values for tools.
///
/// No log keeps them, so whoever [resumes](crate::Agent::resume_with) the run gives them again.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RunOptions {
    pub(crate) model: Option<ModelHandle>,
    pub(crate) settings: Option<ModelSettings>,
    pub(crate) tools: Tools,
    pub(crate) principal: Option<String>,
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
        self.settings = Some(settings);
        self
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

    /// Adds a value for tools to find by its type; it wins over the agent's of the same type.
    pub fn with_context<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// True if the run has a model, settings, tools or a principal of its own.
    pub(crate) fn vary(&self) -> bool {
        let Self { model, settings, tools, principal, extensions: _ } = self;
        model.is_some() || settings.is_some() || !tools.is_empty() || principal.is_some()
    }
}
