//! The tools of an agent: where they come from, how a call finds its tool, how it is run.

mod catalog;
mod disclosure;
mod error;
mod function;
mod handling;
mod index;
mod invoke;
mod layers;
mod listing;
mod resolve;
mod toolbox;
mod validate;

use std::sync::Arc;

use attache_core::tool::ToolSpec;
use attache_core::{Tool, ToolDefinition, ToolHandler};

pub use catalog::{Catalog, ToolCatalog};
pub use disclosure::Disclosure;
pub use error::ToolsError;
pub use function::{FunctionTool, NoArguments, ToolFunction, ToolReply, tool_fn};
pub(crate) use handling::{Handling, ONE_CALL, StepHook, TOOLS_OFF};
pub use handling::{Refusal, RefusalReason, StepTools, StepView};
pub(crate) use invoke::{Invocation, invoke};
pub(crate) use layers::{DETAIL, SEARCH, is_ours, shown};
pub(crate) use listing::{Door, Family, is_same};
pub(crate) use resolve::Resolved;
pub(crate) use toolbox::{Listed, ToolWarning, Toolbox};
pub(crate) use validate::{Ready, Work};

/// Tools, families of tools, and definitions whose calls the caller answers.
#[derive(Clone, Default)]
pub struct Tools {
    sources: Vec<Source>,
}

#[derive(Clone)]
enum Source {
    One(Arc<dyn Tool>),
    Family(Family),
    External(ToolDefinition),
}

impl Tools {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.sources.push(Source::One(Arc::new(tool)));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The names of the tools and families.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| match source {
            Source::One(tool) => tool.spec().definition.name(),
            Source::Family(family) => family.name(),
            Source::External(definition) => definition.name(),
        })
    }

    /// The name of the tool with which a model reads more of a document.
    pub(crate) fn reader(&self) -> Option<String> {
        self.sources.iter().find_map(|source| match source {
            Source::One(tool) if tool.spec().metadata.reads_documents && tool.spec().metadata.enabled => {
                Some(tool.spec().definition.name().to_owned())
            }
            Source::One(_) | Source::Family(_) | Source::External(_) => None,
        })
    }

    /// Adds tools that are shared already, such as those of a toolbox.
    #[must_use]
    pub fn with_all(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.sources.extend(tools.into_iter().map(Source::One));
        self
    }

    /// Adds a family of tools. Its list is asked for when a run first needs it.
    #[must_use]
    pub fn with_handler(mut self, handler: impl ToolHandler) -> Self {
        self.sources.push(Source::Family(Family::new(Door::Handler(Arc::new(handler)))));
        self
    }

    /// Adds the tools of a catalog. It is listed when a run first needs it, and again when it has changed.
    #[must_use]
    pub fn with_catalog(mut self, catalog: impl ToolCatalog) -> Self {
        self.sources.push(Source::Family(Family::new(Door::Catalog(Arc::new(catalog)))));
        self
    }

    /// Adds a tool whose calls the caller answers.
    #[must_use]
    pub fn with_external(mut self, definition: ToolDefinition) -> Self {
        self.sources.push(Source::External(definition));
        self
    }

    /// Adds the tools of another set.
    #[must_use]
    pub fn merged(mut self, other: Tools) -> Self {
        self.sources.extend(other.sources);
        self
    }
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.sources.iter().map(|source| match source {
            Source::One(tool) => tool.spec().definition.name().to_owned(),
            Source::Family(family) => format!("{}/*", family.name()),
            Source::External(definition) => definition.name().to_owned(),
        });
        f.debug_list().entries(names).finish()
    }
}

/// The way a call is run.
#[derive(Clone)]
pub(crate) enum Executor {
    Tool(Arc<dyn Tool>),
    Family(Door),
    External,
}

/// A tool with what runs it.
#[derive(Clone)]
pub(crate) struct ToolEntry {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) executor: Executor,
}
