//! Families of tools and catalogs: listed when a run first needs them, each on its own, and again when they have
//! changed.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_core::ToolError;
use attache_core::tool::{DynToolHandler, ToolSpec};
use futures_util::FutureExt;
use tokio::time::{Instant, timeout};

use crate::tools::ToolsError;
use crate::tools::catalog::ToolCatalog;

/// How long a family may take to list its tools.
const LISTING: Duration = Duration::from_secs(10);
/// How long a family is left alone that could not list its tools.
const BACKOFF: Duration = Duration::from_secs(30);

/// The words for a tool that is not listed any more.
pub(crate) const GONE: &str = "this tool is not available any more";
/// The words for a tool that is another one than was offered.
pub(crate) const CHANGED: &str =
    "not executed: the tool has changed since it was offered; as it is now it can be called in the next step";

/// True if a tool of the family or catalog `of` means the same as when it was offered.
pub(crate) fn is_same(offered: &ToolSpec, now: &ToolSpec, of: &str) -> bool {
    let origin = match now.metadata.origin.as_str() {
        "" => of,
        origin => origin,
    };
    let (one, other) = (&offered.definition, &now.definition);
    one.name() == other.name()
        && one.description() == other.description()
        && one.input_schema() == other.input_schema()
        && offered.metadata.effect == now.metadata.effect
        && offered.metadata.approval == now.metadata.approval
        && offered.metadata.origin == origin
}

/// Tools behind one door.
#[derive(Clone)]
pub(crate) enum Door {
    Handler(Arc<dyn DynToolHandler>),
    Catalog(Arc<dyn ToolCatalog>),
}

impl Door {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Handler(handler) => handler.name(),
            Self::Catalog(catalog) => catalog.name(),
        }
    }

    fn version(&self) -> u64 {
        match self {
            Self::Handler(handler) => handler.version(),
            Self::Catalog(catalog) => catalog.version(),
        }
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        match self {
            Self::Handler(handler) => handler.tools().await,
            Self::Catalog(catalog) => catalog.list().await,
        }
    }
}

/// A family and its tools, which are listed once for all agents and runs that share it.
#[derive(Clone)]
pub(crate) struct Family {
    pub(crate) door: Door,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The tools that it listed, and its version then.
    listed: Mutex<Option<(u64, Arc<[ToolSpec]>)>>,
    /// Held while it lists, so that runs which begin together ask it once.
    asking: tokio::sync::Mutex<()>,
    failed: Mutex<Option<(Instant, String)>>,
}

impl Family {
    pub(crate) fn new(door: Door) -> Self {
        Self { door, state: Arc::default() }
    }

    pub(crate) fn name(&self) -> &str {
        self.door.name()
    }

    /// A number that is another one when it would list others.
    pub(crate) fn version(&self) -> u64 {
        self.door.version()
    }

    /// Its tools. A family that fails or does not answer is asked again when some time has passed.
    pub(crate) async fn tools(&self) -> Result<Arc<[ToolSpec]>, ToolsError> {
        if let Some(listed) = self.listed() {
            return Ok(listed);
        }
        if let Some((at, problem)) = &*self.failed()
            && at.elapsed() < BACKOFF
        {
            return Err(self.listing(problem.clone()));
        }
        let list = async {
            let _asking = self.state.asking.lock().await;
            if let Some(listed) = self.listed() {
                return Ok(listed);
            }
            // Tools that change while it lists are listed again.
            let version = self.version();
            let specs = self.door.list().await.map_err(|error| error.for_model().to_owned())?;
            let named = |spec: ToolSpec| match spec.metadata.origin.is_empty() {
                true => spec.with_origin(self.name()),
                false => spec,
            };
            let specs: Arc<[ToolSpec]> = specs.into_iter().map(named).collect();
            *lock(&self.state.listed) = Some((version, Arc::clone(&specs)));
            Ok::<_, String>(specs)
        };
        let problem = match timeout(LISTING, AssertUnwindSafe(list).catch_unwind()).await {
            Ok(Ok(Ok(listed))) => return Ok(listed),
            Ok(Ok(Err(problem))) => problem,
            Ok(Err(_)) => "it failed unexpectedly".to_owned(),
            Err(_) => format!("it did not answer within {} s", LISTING.as_secs()),
        };
        *self.failed() = Some((Instant::now(), problem.clone()));
        Err(self.listing(problem))
    }

    /// True if it is behind that door. A catalog says itself what there is when a tool is taken.
    pub(crate) fn handles(&self, door: &Door) -> bool {
        match (&self.door, door) {
            (Door::Handler(own), Door::Handler(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }

    /// The reason why a tool that was offered is not called, as far as the family lists its tools now.
    pub(crate) async fn bars(&self, offered: &ToolSpec) -> Option<&'static str> {
        let listed = self.tools().await.ok()?;
        let name = offered.definition.name();
        let now = listed.iter().find(|spec| spec.definition.name() == name && spec.metadata.enabled);
        match now {
            None => Some(GONE),
            Some(now) => (!is_same(offered, now, self.name())).then_some(CHANGED),
        }
    }

    fn listed(&self) -> Option<Arc<[ToolSpec]>> {
        let version = self.version();
        let listed = lock(&self.state.listed);
        listed.as_ref().filter(|(of, _)| *of == version).map(|(_, listed)| Arc::clone(listed))
    }

    fn failed(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        lock(&self.state.failed)
    }

    fn listing(&self, problem: String) -> ToolsError {
        ToolsError::Listing { family: self.name().to_owned(), problem }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
