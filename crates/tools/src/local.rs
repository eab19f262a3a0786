//! Tools whose work blocks or takes long, each call on a thread of its own.

#[cfg(feature = "files")]
use std::future::poll_fn;
#[cfg(feature = "files")]
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "files")]
use std::task::Poll;

use attache_core::blocking::on_thread;
use attache_core::tool::ToolSpec;
use attache_core::{
    BoxFuture, Capture, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
#[cfg(feature = "files")]
use tokio::runtime::Handle;
use tokio::sync::Notify;

type Work = dyn Fn(Map<String, Value>, &Call) -> Result<ToolOutput, ToolError> + Send + Sync;

/// A tool that works on a thread.
pub(crate) struct Local {
    spec: ToolSpec,
    work: Arc<Work>,
}

/// One call of it.
#[derive(Default)]
pub(crate) struct Call {
    pub(crate) stop: Stop,
    store_id: Option<String>,
    #[cfg(feature = "files")]
    runtime: Option<Handle>,
}

impl Call {
    /// Waits for a future on the runtime of the run; `None` if there is none, or nobody waits for the call any more.
    #[cfg(feature = "files")]
    pub(crate) fn wait<T>(&self, mut future: BoxFuture<'_, T>) -> Option<T> {
        self.runtime.as_ref()?.block_on(async {
            let mut stopped = pin!(self.stop.stopped());
            poll_fn(|context| match stopped.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => future.as_mut().poll(context).map(Some),
            })
            .await
        })
    }

    /// The output with its documents.
    pub(crate) fn output(&self, output: &(impl Serialize + 'static)) -> Result<ToolOutput, ToolError> {
        let mut capture = Capture::new();
        if let Some(store) = &self.store_id {
            capture = capture.with_store_id(store.clone());
        }
        Ok(ToolOutput::captured(capture, output)?)
    }
}

/// Is set when nobody waits for a call any more.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<(AtomicBool, Notify)>);

// Tools whose work is short do not look.
#[cfg(feature = "files")]
impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }

    /// The call waits for one thing at a time, so that one is woken.
    async fn stopped(&self) {
        self.0.1.notified().await;
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let (is_set, woken) = &*self.0.0;
        is_set.store(true, Ordering::Relaxed);
        woken.notify_one();
    }
}

impl Local {
    /// A tool of its typed arguments.
    pub(crate) fn tool<A: DeserializeOwned, O: Serialize + 'static>(
        spec: ToolSpec,
        work: impl Fn(A, &Call) -> Result<O, ToolError> + Send + Sync + 'static,
    ) -> Arc<dyn Tool> {
        let work = move |arguments: Map<String, Value>, call: &Call| {
            let arguments = serde_json::from_value(Value::Object(arguments));
            let arguments = arguments.map_err(|error| wrong(error.to_string()))?;
            call.output(&work(arguments, call)?)
        };
        Arc::new(Self { spec: spec.with_origin("attache-tools"), work: Arc::new(work) })
    }
}

/// A tool's definition, with the properties of its arguments.
pub(crate) fn spec(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ToolSpec::new(ToolDefinition::new(name, description, schema))
}

/// Arguments that do not fit.
pub(crate) fn wrong(text: impl Into<String>) -> ToolError {
    ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments)
}

impl Tool for Local {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let work = Arc::clone(&self.work);
        Box::pin(async move {
            let call = Call {
                stop: Stop::default(),
                store_id: context.store_id,
                #[cfg(feature = "files")]
                runtime: Handle::try_current().ok(),
            };
            let _stop = StopOnDrop(call.stop.clone());
            let done = on_thread("attache-tool", move || work(arguments, &call)).await;
            done.map_err(|error| ToolError::new("the tool failed").with_source(error))?
        })
    }
}
