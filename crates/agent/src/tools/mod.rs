//! The tools of an agent: where they come from, how a call finds its tool, how it is run.

mod function;
mod invoke;
mod resolve;
mod validate;

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{
    DynToolHandler, Tool, ToolDefinition, ToolError, ToolHandler, ToolRefusal, ToolSet, ToolSetError,
    ToolSpec,
};

use crate::preflight::{Preflight, Screen};

use serde_json::Value;

pub use function::{FunctionTool, NoArguments, ToolFunction, ToolReply, tool_fn};
pub(crate) use invoke::{Invocation, invoke, shortened, unknown_effect};
pub(crate) use resolve::Resolved;
pub(crate) use validate::{Ready, Work};

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
    /// The model cannot be offered the tools.
    #[error("{model} cannot be offered the tools: {}", refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused {
        /// The model, `provider/model`.
        model: String,
        /// Which tools, and why.
        refused: Vec<ToolRefusal>,
    },
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
    /// What is known of them.
    pub(crate) preflight: Preflight,
}

impl Toolbox {
    pub(crate) fn empty() -> Self {
        Self { set: Arc::default(), entries: HashMap::new(), preflight: Preflight::default() }
    }
}

impl Tools {
    /// The tools that are known without asking anybody, checked.
    pub(crate) fn known(&self, screen: Screen<'_>) -> Result<Toolbox, ToolsError> {
        let mut list = List::default();
        for source in &self.sources {
            if let Some((spec, executor)) = source.known() {
                list.add(spec, executor)?;
            }
        }
        list.into_toolbox(screen).map(|(toolbox, _)| toolbox)
    }

    /// Lists all tools in the order in which they were added. A family that cannot be listed fails the run only if
    /// it is the only source, and so do tools of a family that the model cannot be offered; otherwise the others
    /// serve, and the failure is reported beside them.
    pub(crate) async fn list(&self, screen: Screen<'_>) -> Result<(Toolbox, Vec<ToolsError>), ToolsError> {
        let mut list = List::default();
        let mut failures = Vec::new();
        for source in &self.sources {
            if let Some((spec, executor)) = source.known() {
                list.add(spec, executor)?;
            }
            let Source::Family(family) = source else { continue };
            let specs = family.tools().await.unwrap_or_else(|error| {
                failures.push(listing(family.name(), &error));
                Vec::new()
            });
            for spec in specs {
                let spec = match spec.metadata.origin.is_empty() {
                    true => spec.with_origin(family.name()),
                    false => spec,
                };
                match list.add(spec, Executor::Family(Arc::clone(family))) {
                    Err(unusable @ ToolsError::Unusable { .. }) => failures.push(unusable),
                    added => added?,
                }
            }
        }
        let (toolbox, refused) = list.into_toolbox(screen)?;
        failures.extend(refused);
        if toolbox.entries.is_empty()
            && let Some(failure) = failures.pop()
        {
            return Err(failure);
        }
        Ok((toolbox, failures))
    }
}

impl Source {
    /// A tool that is known without asking anybody.
    fn known(&self) -> Option<(ToolSpec, Executor)> {
        match self {
            Self::One(tool) => Some((tool.spec().clone(), Executor::Tool(Arc::clone(tool)))),
            Self::External(definition) => {
                Some((ToolSpec::new(definition.clone()).with_origin("the caller"), Executor::External))
            }
            Self::Family(_) => None,
        }
    }
}

/// Tools while they are listed.
#[derive(Default)]
struct List {
    entries: HashMap<String, Entry>,
    order: Vec<ToolDefinition>,
}

impl List {
    /// Adds a tool, unless it is disabled.
    fn add(&mut self, spec: ToolSpec, executor: Executor) -> Result<(), ToolsError> {
        let name = spec.definition.name().to_owned();
        if let Some(problem) = spec.definition.problem() {
            return Err(ToolsError::Unusable { name, origin: origin(&spec), problem: problem.to_owned() });
        }
        if let Some(first) = self.entries.get(&name) {
            return Err(ToolsError::Duplicate { name, first: origin(&first.spec), second: origin(&spec) });
        }
        if !spec.metadata.enabled {
            return Ok(());
        }
        if let Err(problem) = readable(&spec.definition) {
            return Err(ToolsError::Unusable { name, origin: origin(&spec), problem });
        }
        self.order.push(spec.definition.clone());
        self.entries.insert(name, Entry { spec, executor });
        Ok(())
    }

    /// The tools as the model is offered them. Those of families that it cannot be offered are left out and reported.
    fn into_toolbox(mut self, screen: Screen<'_>) -> Result<(Toolbox, Vec<ToolsError>), ToolsError> {
        let mut left_out = Vec::new();
        loop {
            let set = ToolSet::new(self.order.iter().cloned())?.with_validation(true);
            let listed = self.order.iter().filter_map(|definition| self.entries.get(definition.name()));
            let (mut preflight, refused) = screen.look(&set, listed.map(|entry| &entry.spec));
            let of_family = |refusal: &ToolRefusal| {
                let entry = refusal.tool.as_ref().and_then(|tool| self.entries.get(tool));
                entry.is_some_and(|entry| matches!(entry.executor, Executor::Family(_)))
            };
            let (of_families, ours): (Vec<_>, Vec<_>) = refused.into_iter().partition(of_family);
            let model = screen.model.id().to_owned();
            if !ours.is_empty() {
                return Err(ToolsError::Refused { model, refused: ours });
            }
            if of_families.is_empty() {
                let failures = left_out.iter().map(|refused: &ToolRefusal| ToolsError::Refused {
                    model: model.clone(),
                    refused: vec![refused.clone()],
                });
                let failures = failures.collect();
                preflight.left_out = left_out;
                return Ok((Toolbox { set: Arc::new(set), entries: self.entries, preflight }, failures));
            }
            // Without them the others may have other names, so all are looked at again.
            let is_left_out =
                |name: &str| of_families.iter().any(|refused| refused.tool.as_deref() == Some(name));
            self.order.retain(|definition| !is_left_out(definition.name()));
            self.entries.retain(|name, _| !is_left_out(name));
            left_out.extend(of_families);
        }
    }
}

/// Says why arguments cannot be held against a tool's schema, if so.
fn readable(definition: &ToolDefinition) -> Result<(), String> {
    let root = definition.input_schema();
    let is_object = match root.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => true,
    };
    if !is_object {
        return Err("its arguments are an object, and its schema asks for something else".to_owned());
    }
    definition.schema().map(drop).map_err(|error| format!("its schema cannot be read: {error}"))
}

fn listing(family: &str, error: &ToolError) -> ToolsError {
    ToolsError::Listing { family: family.to_owned(), problem: error.for_model().to_owned() }
}

fn origin(spec: &ToolSpec) -> String {
    match spec.metadata.origin.as_str() {
        "" => "the agent".to_owned(),
        origin => origin.to_owned(),
    }
}
