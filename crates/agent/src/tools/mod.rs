//! The tools of an agent: where they come from, how a call finds its tool, how it is run.

mod function;
mod invoke;
mod resolve;

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{
    DynToolHandler, Tool, ToolDefinition, ToolError, ToolHandler, ToolSet, ToolSetError, ToolSpec,
};

pub use function::{FunctionTool, NoArguments, tool_fn, tool_fn_with_context};
pub(crate) use invoke::{Invocation, invoke, shortened, unknown_effect};
pub(crate) use resolve::Resolved;

/// Tools, families of tools, and definitions whose calls the caller answers.
#[derive(Clone, Default)]
pub struct Tools {
    sources: Vec<Source>,
}

#[derive(Clone)]
enum Source {
    One(Arc<dyn Tool>),
    Family(Arc<dyn DynToolHandler>),
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

    /// Adds tools that are shared already, such as those of a toolbox.
    #[must_use]
    pub fn with_all(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.sources.extend(tools.into_iter().map(Source::One));
        self
    }

    /// Adds a family of tools. Its list is asked for when a run first needs it.
    #[must_use]
    pub fn with_handler(mut self, handler: impl ToolHandler) -> Self {
        self.sources.push(Source::Family(Arc::new(handler)));
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

/// Why the tools of an agent cannot be offered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// Two tools have one name.
    #[error("two tools are named {name:?}: one of {first}, one of {second}")]
    Duplicate {
        /// The name.
        name: String,
        /// Where the first comes from.
        first: String,
        /// Where the second comes from.
        second: String,
    },
    /// A tool has parameters that no schema can say.
    #[error("the tool {name:?} of {origin} cannot be offered: {problem}")]
    Unusable {
        /// The name.
        name: String,
        /// Where it comes from.
        origin: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The tools do not go together.
    #[error(transparent)]
    Set(#[from] ToolSetError),
    /// A family could not list its tools.
    #[error("the tools of {family} cannot be listed: {problem}")]
    Listing {
        /// The family.
        family: String,
        /// What it said.
        problem: String,
    },
}

/// What runs a call.
#[derive(Clone)]
pub(crate) enum Executor {
    Tool(Arc<dyn Tool>),
    Family(Arc<dyn DynToolHandler>),
    External,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) spec: ToolSpec,
    pub(crate) executor: Executor,
}

/// The tools of a run, listed and checked.
pub(crate) struct Toolbox {
    pub(crate) set: Arc<ToolSet>,
    pub(crate) entries: HashMap<String, Entry>,
}

impl Toolbox {
    pub(crate) fn empty() -> Self {
        Self { set: Arc::new(ToolSet::default()), entries: HashMap::new() }
    }
}

impl Tools {
    /// Names that clash among the tools known without asking anybody.
    pub(crate) fn check(&self) -> Result<(), ToolsError> {
        let mut entries = HashMap::new();
        for source in &self.sources {
            match source {
                Source::One(tool) => add(&mut entries, tool.spec().clone(), Executor::External)?,
                Source::External(definition) => {
                    add(&mut entries, ToolSpec::new(definition.clone()), Executor::External)?;
                }
                Source::Family(_) => {}
            }
        }
        Ok(())
    }

    /// Lists all tools in the order in which they were added. A family that cannot be listed fails the run only if
    /// it is the only source; otherwise the others serve, and the failure is reported beside them.
    pub(crate) async fn list(&self) -> Result<(Toolbox, Vec<ToolsError>), ToolsError> {
        let mut entries = HashMap::new();
        let mut order = Vec::new();
        let mut failures = Vec::new();
        for source in &self.sources {
            let listed: Vec<(ToolSpec, Executor)> = match source {
                Source::One(tool) => vec![(tool.spec().clone(), Executor::Tool(Arc::clone(tool)))],
                Source::External(definition) => {
                    let spec = ToolSpec::new(definition.clone()).with_origin("the caller");
                    vec![(spec, Executor::External)]
                }
                Source::Family(family) => match family.tools().await {
                    Ok(specs) => {
                        let named = |spec: ToolSpec| match spec.metadata.origin.is_empty() {
                            true => spec.with_origin(family.name()),
                            false => spec,
                        };
                        specs
                            .into_iter()
                            .map(|spec| (named(spec), Executor::Family(Arc::clone(family))))
                            .collect()
                    }
                    Err(error) => {
                        failures.push(listing(family.name(), &error));
                        Vec::new()
                    }
                },
            };
            for (spec, executor) in listed.into_iter().filter(|(spec, _)| spec.metadata.enabled) {
                order.push(spec.definition.clone());
                add(&mut entries, spec, executor)?;
            }
        }
        if entries.is_empty()
            && let Some(failure) = failures.pop()
        {
            return Err(failure);
        }
        let set = ToolSet::new(order)?;
        Ok((Toolbox { set: Arc::new(set), entries }, failures))
    }
}

fn listing(family: &str, error: &ToolError) -> ToolsError {
    ToolsError::Listing { family: family.to_owned(), problem: error.for_model().to_owned() }
}

fn add(entries: &mut HashMap<String, Entry>, spec: ToolSpec, executor: Executor) -> Result<(), ToolsError> {
    let name = spec.definition.name().to_owned();
    if let Some(problem) = spec.definition.problem() {
        return Err(ToolsError::Unusable { name, origin: origin(&spec), problem: problem.to_owned() });
    }
    if let Some(first) = entries.get(&name) {
        return Err(ToolsError::Duplicate { name, first: origin(&first.spec), second: origin(&spec) });
    }
    entries.insert(name, Entry { spec, executor });
    Ok(())
}

fn origin(spec: &ToolSpec) -> String {
    match spec.metadata.origin.as_str() {
        "" => "the agent".to_owned(),
        origin => origin.to_owned(),
    }
}
