//! Closures as tools.

use std::future::Future;
use std::marker::PhantomData;

use attache_core::schemars::{JsonSchema, schema_for};
use attache_core::{
    Arguments, BoxFuture, Capture, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput, ToolSpec,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// A tool made of a closure; see [`tool_fn`].
pub struct FunctionTool<A, F> {
    spec: ToolSpec,
    function: F,
    arguments: PhantomData<fn(A)>,
}

/// A tool from a closure that takes its arguments as one struct. What a model only writes differently is mended, see
/// [`ToolDefinition::fitted`]. A closure that returns `()` yields no result.
///
/// ```
/// use attache_agent::tool_fn;
/// use attache_core::{Effect, ToolError, schemars::{self, JsonSchema}};
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
///
/// let add = tool_fn("add", "Adds two numbers", |Add { a, b }: Add| async move { Ok::<_, ToolError>(a + b) })
///     .with_effect(Effect::Read);
/// # let _ = add;
/// ```
pub fn tool_fn<A, R, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: impl Fn(A) -> Fut + Send + Sync + 'static,
) -> FunctionTool<A, impl Fn(A, ToolContext) -> Fut + Send + Sync + 'static>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + Send + Sync,
    Fut: Future<Output = Result<R, ToolError>> + Send,
{
    tool_fn_with_context(name, description, move |arguments, _context| function(arguments))
}

/// A tool from a closure that also takes the [`ToolContext`].
pub fn tool_fn_with_context<A, R, Fut, F>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: F,
) -> FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + Send + Sync,
    Fut: Future<Output = Result<R, ToolError>> + Send,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
{
    let definition = ToolDefinition::new(name, description, schema_for!(A).to_value());
    FunctionTool { spec: ToolSpec::new(definition), function, arguments: PhantomData }
}

impl<A, F> FunctionTool<A, F> {
    /// Says what a call changes.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.spec = self.spec.with_effect(effect);
        self
    }

    /// Declares the media types of the documents that it returns, such as `application/pdf` or `image/*`.
    #[must_use]
    pub fn with_produces(mut self, media: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.spec = self.spec.with_produces(media);
        self
    }

    /// Replaces what the loop knows of the tool.
    #[must_use]
    pub fn with_spec(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }
}

impl<A, R, Fut, F> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    R: Serialize + Send + Sync,
    Fut: Future<Output = Result<R, ToolError>> + Send,
    F: Fn(A, ToolContext) -> Fut + Send + Sync,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn mended(&self, arguments: &Arguments) -> Result<Option<Map<String, Value>>, ToolError> {
        self.spec.definition.fitted(arguments).map(Some)
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let fitted = self.spec.definition.fitted(arguments)?;
            let parsed: A = serde_json::from_value(Value::Object(fitted)).map_err(|error| {
                ToolError::new(format!("the arguments do not fit: {error}"))
                    .with_kind(ToolErrorKind::InvalidArguments)
            })?;
            let mut capture = Capture::new();
            if let Some(store) = &context.store_id {
                capture = capture.with_store_id(store.clone());
            }
            let call = || (self.function)(parsed, context);
            // What the closure does before its first await belongs to the call as well.
            let future = capture.run_blocking(call);
            let output = match capture.run(future).await {
                Ok(output) => output,
                Err(error) => return Err(capture.fail(error)),
            };
            Ok(ToolOutput::new(capture.finish(&output)?))
        })
    }
}

impl<A, F> std::fmt::Debug for FunctionTool<A, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FunctionTool").field(&self.spec.definition.name()).finish()
    }
}
