//! Families of tools: listed when a run first needs them, each on its own.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_core::{DynToolHandler, ToolSpec};
use futures_util::FutureExt;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

use crate::tools::ToolsError;

/// How long a family may take to list its tools.
const LISTING: Duration = Duration::from_secs(10);
/// How long a family is left alone that could not list its tools.
const BACKOFF: Duration = Duration::from_secs(30);

/// A family and its tools, which are listed once for all agents and runs that share it.
#[derive(Clone)]
pub(crate) struct Family {
    pub(crate) handler: Arc<dyn DynToolHandler>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    listed: OnceCell<Arc<[ToolSpec]>>,
    failed: Mutex<Option<(Instant, String)>>,
}

impl Family {
    pub(crate) fn new(handler: impl DynToolHandler + 'static) -> Self {
        Self { handler: Arc::new(handler), state: Arc::default() }
    }

    pub(crate) fn name(&self) -> &str {
        self.handler.name()
    }

    /// Its tools. A family that fails or does not answer is asked again when some time has passed.
    pub(crate) async fn tools(&self) -> Result<Arc<[ToolSpec]>, ToolsError> {
        if let Some(listed) = self.state.listed.get() {
            return Ok(Arc::clone(listed));
        }
        if let Some((at, problem)) = &*self.failed()
            && at.elapsed() < BACKOFF
        {
            return Err(self.listing(problem.clone()));
        }
        let list = self.state.listed.get_or_try_init(|| async {
            let specs = self.handler.tools().await.map_err(|error| error.for_model().to_owned())?;
            let named = |spec: ToolSpec| match spec.metadata.origin.is_empty() {
                true => spec.with_origin(self.name()),
                false => spec,
            };
            Ok::<_, String>(specs.into_iter().map(named).collect())
        });
        let problem = match timeout(LISTING, AssertUnwindSafe(list).catch_unwind()).await {
            Ok(Ok(Ok(listed))) => return Ok(Arc::clone(listed)),
            Ok(Ok(Err(problem))) => problem,
            Ok(Err(_)) => "it failed unexpectedly".to_owned(),
            Err(_) => format!("it did not answer within {} s", LISTING.as_secs()),
        };
        *self.failed() = Some((Instant::now(), problem.clone()));
        Err(self.listing(problem))
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, Option<(Instant, String)>> {
        self.state.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listing(&self, problem: String) -> ToolsError {
        ToolsError::Listing { family: self.name().to_owned(), problem }
    }
}
