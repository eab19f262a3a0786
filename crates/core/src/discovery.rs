//! Discovery of the tools that are linked into a program.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::tool::Tool;

pub use inventory;

/// Finds the tools that `#[tool]` and `#[toolbox]` define anywhere in the linked crates, without a list of them.
/// Feature `discovery`.
///
/// Module paths and types restrict the search; a tool is found if it matches one of them. The tools are sorted by
/// module path and function, independent of the linking order.
///
/// A crate that the program does not mention is not linked: mention it with `use orders as _;`. A type whose methods
/// are tools is created with `Default`; a type without `Default` is [left out](Self::left_out) and must be passed to
/// the agent manually.
///
/// ```no_run
/// use attache_core::Discovery;
///
/// # #[derive(Default)] struct Archive;
/// let tools = Discovery::new().under("shop::orders").of::<Archive>().tools();
/// # let _: Vec<std::sync::Arc<dyn attache_core::Tool>> = tools; // Agent::builder(model).tools(tools)
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Discovery {
    modules: Vec<String>,
    types: Vec<TypeId>,
}

impl Discovery {
    /// Finds all linked tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds the tools in a module or below it, such as `shop::orders`.
    pub fn under(mut self, module: impl Into<String>) -> Self {
        self.modules.push(module.into());
        self
    }

    /// Finds the tools of a type.
    pub fn of<T: 'static>(mut self) -> Self {
        self.types.push(TypeId::of::<T>());
        self
    }

    /// Returns the tools.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.found().into_iter().filter_map(|found| (found.make)()).flatten().collect()
    }

    /// The types that have tool methods but no `Default`, by module path and name.
    pub fn left_out(&self) -> Vec<String> {
        let unmade =
            self.found().into_iter().filter(|found| found.of_type.is_some() && (found.make)().is_none());
        unmade.map(|found| format!("{}::{}", found.module, found.item)).collect()
    }

    fn found(&self) -> Vec<&'static Registration> {
        let mut found: Vec<_> =
            inventory::iter::<Registration>.into_iter().filter(|found| self.wants(found)).collect();
        found.sort_by_key(|found| (found.module, found.item));
        found
    }

    fn wants(&self, found: &Registration) -> bool {
        let within = |module: &String| {
            let rest = found.module.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let is_all = self.modules.is_empty() && self.types.is_empty();
        is_all
            || self.modules.iter().any(within)
            || found.of_type.is_some_and(|of_type| self.types.contains(&of_type()))
    }
}

/// A place in the program that defines tools.
#[derive(Debug)]
pub struct Registration {
    module: &'static str,
    /// The function or the type.
    item: &'static str,
    of_type: Option<fn() -> TypeId>,
    make: fn() -> Option<Vec<Arc<dyn Tool>>>,
}

impl Registration {
    /// Creates the registration of an attribute.
    pub const fn new(
        module: &'static str,
        item: &'static str,
        of_type: Option<fn() -> TypeId>,
        make: fn() -> Option<Vec<Arc<dyn Tool>>>,
    ) -> Self {
        Self { module, item, of_type, make }
    }
}

inventory::collect!(Registration);

/// Makes a value by its `Default`, where the type has one: a method of the type itself comes before [`NotMade`].
#[derive(Debug)]
pub struct MadeWithDefault<T>(PhantomData<T>);

#[expect(clippy::new_without_default, reason = "the expansion needs one way to make it")]
impl<T> MadeWithDefault<T> {
    /// The maker.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Default> MadeWithDefault<T> {
    /// The value.
    pub fn made(&self) -> Option<T> {
        Some(T::default())
    }
}

/// Makes nothing of a type without a `Default`.
pub trait NotMade<T> {
    /// Nothing.
    fn made(&self) -> Option<T>;
}

impl<T> NotMade<T> for MadeWithDefault<T> {
    fn made(&self) -> Option<T> {
        None
    }
}
