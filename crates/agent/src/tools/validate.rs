//! Reads the arguments of a call by the schema of its tool, before anything runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use attache_core::tool::ToolSpec;
use attache_core::{Arguments, Tool};
use serde_json::{Map, Value};

use crate::tools::{Door, Executor, ToolEntry};

/// A tool and what one call asks of it.
pub(crate) struct Ready {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) work: Work,
}

/// The way a call is run.
pub(crate) enum Work {
    /// The tool, with the arguments as it takes them.
    Tool(Arc<dyn Tool>, Map<String, Value>),
    /// A family, which reads the arguments as they are written.
    Family(Door),
    /// The caller.
    External,
}

impl ToolEntry {
    /// The function that runs a call with these arguments; or the text that the model is told instead, if they do not
    /// fit: which paths, and what was expected there.
    pub(crate) fn ready(&self, arguments: &Arguments) -> Result<Ready, String> {
        let work = match &self.executor {
            Executor::Tool(tool) => match catch_unwind(AssertUnwindSafe(|| tool.arguments(arguments))) {
                Ok(Ok(read)) => Work::Tool(Arc::clone(tool), read),
                Ok(Err(error)) => return Err(error.for_model().to_owned()),
                Err(_) => return Err("the tool failed unexpectedly".to_owned()),
            },
            Executor::Family(family) => match self.unfit(arguments) {
                None => Work::Family(family.clone()),
                Some(problem) => return Err(problem),
            },
            Executor::External => match self.unfit(arguments) {
                None => Work::External,
                Some(problem) => return Err(problem),
            },
        };
        Ok(Ready { spec: Arc::clone(&self.spec), work })
    }

    /// The text that the model is told instead of a call whose arguments, as they are written, do not fit.
    pub(crate) fn unfit(&self, arguments: &Arguments) -> Option<String> {
        let definition = &self.spec.definition;
        let read = match &self.executor {
            // A tool of a catalog reads them itself when it is there.
            Executor::Family(Door::Catalog(_)) => definition.coerce(arguments),
            _ => definition.check(arguments),
        };
        read.err().map(|error| error.for_model().to_owned())
    }
}
