//! Catalogs: many tools, by name.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use attache_core::near::near;
use attache_core::tool::ToolSpec;
use attache_core::{BoxFuture, Tool, ToolError};

use crate::tools::{Tools, ToolsError};

/// Tools by name. [`Catalog`] keeps them in memory; a program may keep them elsewhere, such as in a database.
///
/// An agent that is given one ([`Tools::with_catalog`]) lists it when a run begins and takes a tool when it is called,
/// so that whoever keeps the tools decides each time if there is one. Listing and taking must not take long.
pub trait ToolCatalog: Send + Sync + 'static {
    /// A short name for messages and logs.
    fn name(&self) -> &str {
        "catalog"
    }

    /// A number that is another one whenever [`list`](Self::list) would yield others.
    fn version(&self) -> u64;

    /// The specs of all tools, in an order that stays.
    ///
    /// # Errors
    /// The tools cannot be listed now.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ToolSpec>, ToolError>>;

    /// The tool of that name, with what [`list`](Self::list) says of it: one with another definition, effect, approval
    /// or origin than a run was offered is not called in that run.
    ///
    /// # Errors
    /// The tool cannot be had now.
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Tool>>, ToolError>>;
}

/// Tools in memory, by name. Clones share them; tools can be added and removed while agents use it.
///
/// ```
/// use attache_agent::{Catalog, tool_fn};
///
/// let catalog = Catalog::new();
/// catalog.add(tool_fn("add", "Adds numbers", || Ok(3)))?;
/// catalog.add(tool_fn("subtract", "Subtracts numbers", || Ok(1)))?;
/// let tools = catalog.select(["add"])?; // Agent::builder(model).tool_set(tools)
/// let error = catalog.select(["substract"]).unwrap_err();
/// assert_eq!(error.to_string(), r#"there is no tool named "substract"; did you mean subtract?"#);
/// # let _ = tools;
/// # Ok::<(), attache_agent::ToolsError>(())
/// ```
#[derive(Clone, Default)]
pub struct Catalog(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    /// In the order in which they came.
    tools: Vec<Arc<dyn Tool>>,
    by_name: HashMap<String, usize>,
    version: u64,
}

impl Catalog {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tools that are shared already, such as those of a toolbox or of a discovery.
    ///
    /// # Errors
    /// [`ToolsError::Duplicate`] if two have one name.
    pub fn of(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, ToolsError> {
        let catalog = Self::new();
        for tool in tools {
            catalog.add(tool)?;
        }
        Ok(catalog)
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// [`ToolsError::Duplicate`] if there is one of that name.
    pub fn add(&self, tool: impl Tool + 'static) -> Result<(), ToolsError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        let spec = tool.spec();
        let name = spec.definition.name().to_owned();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = known.by_name.get(&name).and_then(|at| known.tools.get(*at)) {
            let (first, second) = (origin(first.spec()), origin(spec));
            return Err(ToolsError::Duplicate { name, first, second });
        }
        let at = known.tools.len();
        known.by_name.insert(name, at);
        known.tools.push(tool);
        known.version += 1;
        Ok(())
    }

    /// Takes a tool out. Runs that were offered it cannot call it any more.
    pub fn remove(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let at = known.by_name.remove(name)?;
        if at >= known.tools.len() {
            return None;
        }
        let removed = known.tools.remove(at);
        for place in known.by_name.values_mut().filter(|place| **place > at) {
            *place -= 1;
        }
        known.version += 1;
        Some(removed)
    }

    /// The tool of that name.
    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let known = self.known();
        known.by_name.get(name).and_then(|at| known.tools.get(*at)).map(Arc::clone)
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.known().tools.len()
    }

    /// True if there is no tool.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A line for each tool: its name, and the first line of its description. Disabled tools are left out.
    pub fn summaries(&self) -> Vec<(String, String)> {
        let known = self.known();
        let shown = known.tools.iter().map(|tool| tool.spec()).filter(|spec| spec.metadata.enabled);
        shown
            .map(|spec| {
                (spec.definition.name().to_owned(), first_line(spec.definition.description()).to_owned())
            })
            .collect()
    }

    /// The tools of these names.
    ///
    /// # Errors
    /// [`ToolsError::Missing`] if there is none of a name, with names that are near it.
    pub fn select<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Tools, ToolsError> {
        let known = self.known();
        let tools = names.into_iter().map(|name| {
            let tool = known.by_name.get(name).and_then(|at| known.tools.get(*at));
            let names = || known.tools.iter().map(|tool| tool.spec().definition.name());
            tool.map(Arc::clone).ok_or_else(|| missing(name, names()))
        });
        Ok(Tools::new().with_all(tools.collect::<Result<Vec<_>, _>>()?))
    }

    fn known(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolCatalog for Catalog {
    fn version(&self) -> u64 {
        self.known().version
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ToolSpec>, ToolError>> {
        let specs = self.known().tools.iter().map(|tool| tool.spec().clone()).collect();
        Box::pin(std::future::ready(Ok(specs)))
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Tool>>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.find(name))))
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.known();
        f.debug_list().entries(known.tools.iter().map(|tool| tool.spec().definition.name())).finish()
    }
}

impl Tools {
    /// The tools of these names from any catalog; those of a [`Catalog`] in memory are [selected](Catalog::select)
    /// without waiting.
    ///
    /// # Errors
    /// [`ToolsError::Missing`] if there is none of a name, with names that are near it, and [`ToolsError::Listing`] if
    /// the catalog fails.
    pub async fn named<'n>(
        catalog: &dyn ToolCatalog,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, ToolsError> {
        let failed = |error: ToolError| ToolsError::Listing {
            family: catalog.name().to_owned(),
            problem: error.for_model().to_owned(),
        };
        let mut tools = Vec::new();
        for name in names {
            match catalog.get(name).await.map_err(failed)? {
                Some(tool) => tools.push(tool),
                None => {
                    let listed = catalog.list().await.map_err(failed)?;
                    return Err(missing(name, listed.iter().map(|spec| spec.definition.name())));
                }
            }
        }
        Ok(Self::new().with_all(tools))
    }
}

fn missing<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> ToolsError {
    let near = near(name, names).into_iter().map(str::to_owned).collect();
    ToolsError::Missing { name: name.to_owned(), near }
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default().trim()
}

/// Where a tool comes from, in a few words.
pub(crate) fn origin(spec: &ToolSpec) -> String {
    match spec.metadata.origin.as_str() {
        "" => "the agent".to_owned(),
        origin => origin.to_owned(),
    }
}
