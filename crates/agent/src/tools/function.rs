//! Closures as tools.

use std::future::Future;
use std::marker::PhantomData;

use attache_core::schemars::{JsonSchema, schema_for};
use attache_core::tool::ToolSpec;
use attache_core::{
    Approval, BoxFuture, Capture, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// A tool made of a closure; see [`tool_fn`].
pub struct FunctionTool<F, M> {
    spec: ToolSpec,
    function: F,
    form: PhantomData<fn() -> M>,
}

/// A tool from a closure, sync or async. It takes its arguments as one struct, the [`ToolContext`], both in this
/// order, or nothing, and returns a `Result`, in which `?` makes a [`ToolError`] of other errors. Arguments that a
/// model only writes differently are mended, see [`ToolDefinition::coerce`]. A closure that returns `Ok(())` yields no
/// result.
///
/// ```
/// use attache_agent::tool_fn;
/// use attache_core::{Effect, ToolContext, schemars::{self, JsonSchema}};
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
///
/// let add = tool_fn("add", "Adds two numbers", |Add { a, b }: Add| async move { Ok(a + b) })
///     .with_effect(Effect::Read);
/// let subtract = tool_fn("subtract", "Subtracts a number", |Add { a, b }: Add| Ok(a - b));
/// let who = tool_fn("who", "Says who asks", |context: ToolContext| Ok(context.principal));
/// let ping = tool_fn("ping", "Does nothing", || Ok(()));
/// # let _ = (add, subtract, who, ping);
/// ```
pub fn tool_fn<F, M>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: F,
) -> FunctionTool<F, M>
where
    F: ToolFunction<M>,
{
    let definition = ToolDefinition::new(name, description, schema_for!(F::Arguments).to_value());
    FunctionTool { spec: ToolSpec::new(definition), function, form: PhantomData }
}

/// A closure that [`tool_fn`] takes. `M` tells the forms apart; it is found by the compiler.
#[diagnostic::on_unimplemented(
    message = "`tool_fn` cannot make a tool of this closure",
    note = "it takes one struct that implements `Deserialize` and `JsonSchema`, a `ToolContext`, both in this order, or \
            nothing",
    note = "it returns `Result<_, ToolError>` of a value that implements `Serialize`, or a future of one; `?` makes a \
            `ToolError` of other errors"
)]
pub trait ToolFunction<M>: Send + Sync + 'static {
    /// The type that the model fills.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// The type that it yields.
    type Output: Serialize + Send + Sync + 'static;

    /// Calls it. Its work before its first await is done at once.
    ///
    /// # Errors
    /// The function failed.
    fn call(
        &self,
        arguments: Self::Arguments,
        context: ToolContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// The return value of a closure: a result, or a future of one. `M` tells them apart.
pub trait ToolReply<M>: Send {
    /// The value.
    type Output: Serialize + Send + Sync + 'static;

    /// The result.
    ///
    /// # Errors
    /// The closure failed.
    fn settled(self) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// The mark of a closure that returns a result.
#[derive(Clone, Copy, Debug)]
pub struct Now(());
/// The mark of a closure that returns a future.
#[derive(Clone, Copy, Debug)]
pub struct Later(());

// One type of errors alone, so that the compiler finds the type of `Ok(…)` and of what `?` converts into.
impl<R: Serialize + Send + Sync + 'static> ToolReply<Now> for Result<R, ToolError> {
    type Output = R;

    fn settled(self) -> impl Future<Output = Result<R, ToolError>> + Send {
        std::future::ready(self)
    }
}

impl<R, Fut> ToolReply<Later> for Fut
where
    R: Serialize + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ToolError>> + Send,
{
    type Output = R;

    fn settled(self) -> impl Future<Output = Result<R, ToolError>> + Send {
        self
    }
}

macro_rules! form {
    ($mark:ty, ($($parameter:ty),*), $arguments:ty, [$($generic:ident)?], |$given:pat_param, $context:pat_param| ($($passed:expr),*)) => {
        impl<F, M, R, $($generic)?> ToolFunction<$mark> for F
        where
            F: Fn($($parameter),*) -> R + Send + Sync + 'static,
            R: ToolReply<M>,
            $($generic: DeserializeOwned + JsonSchema + Send,)?
        {
            type Arguments = $arguments;
            type Output = R::Output;

            fn call(
                &self,
                $given: $arguments,
                $context: ToolContext,
            ) -> impl Future<Output = Result<R::Output, ToolError>> + Send {
                self($($passed),*).settled()
            }
        }
    };
}

form!((M,), (), NoArguments, [], |_, _| ());
form!((M, A), (A), A, [A], |arguments, _| (arguments));
form!((M, ToolContext, ()), (ToolContext), NoArguments, [], |_, context| (context));
form!((M, A, ToolContext), (A, ToolContext), A, [A], |arguments, context| (arguments, context));

impl<F: ToolFunction<M>, M> FunctionTool<F, M> {
    /// A tool whose schema is known at run time only, such as one from a configuration. The closure takes the arguments
    /// as a [`serde_json::Map`], or as a type of its own that reads what the schema describes; calls that do not fit the schema never
    /// reach it.
    ///
    /// ```
    /// use attache_agent::FunctionTool;
    /// use attache_core::{ToolDefinition, ToolError};
    /// use serde_json::{Map, Value, json};
    ///
    /// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    /// let definition = ToolDefinition::new("weather", "Tells the weather", schema);
    /// let weather = FunctionTool::from_schema(definition, |arguments: Map<String, Value>| async move {
    ///     Ok::<_, ToolError>(format!("It rains there: {}.", arguments["city"]))
    /// });
    /// # let _ = weather;
    /// ```
    pub fn from_schema(definition: ToolDefinition, function: F) -> Self {
        Self { spec: ToolSpec::new(definition), function, form: PhantomData }
    }
}

impl<F, M> FunctionTool<F, M> {
    /// Says what a call changes.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.spec = self.spec.with_effect(effect);
        self
    }

    /// Says whether somebody must approve a call before it runs.
    #[must_use]
    pub fn with_approval(mut self, approval: Approval) -> Self {
        self.spec = self.spec.with_approval(approval);
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

impl<F, M> Tool for FunctionTool<F, M>
where
    F: ToolFunction<M>,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let parsed = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
                ToolError::new(format!("the arguments do not fit: {error}"))
                    .with_kind(ToolErrorKind::InvalidArguments)
            })?;
            let mut capture = Capture::new();
            if let Some(store) = &context.store_id {
                capture = capture.with_store_id(store.clone());
            }
            let call = || self.function.call(parsed, context);
            // The work of the closure before its first await belongs to the call as well.
            let future = capture.run_blocking(call);
            let output = match capture.run(future).await {
                Ok(output) => output,
                Err(error) => return Err(capture.fail(error)),
            };
            Ok(ToolOutput::captured(capture, &output)?)
        })
    }
}

impl<F, M> std::fmt::Debug for FunctionTool<F, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FunctionTool").field(&self.spec.definition.name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use attache_core::Arguments;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Add {
        a: i64,
        b: i64,
    }

    async fn text(tool: impl Tool, arguments: &str) -> String {
        let mut context = ToolContext::new();
        context.principal = Some("ada".to_owned());
        match tool.call(&Arguments::new(arguments), context).await {
            Ok(output) => output.tree.model_text().into_owned(),
            Err(error) => error.for_model().to_owned(),
        }
    }

    async fn add(Add { a, b }: Add) -> Result<i64, ToolError> {
        tokio::task::yield_now().await;
        Ok(i64::from(u8::try_from(a)?) + b)
    }

    // S08
    #[tokio::test]
    async fn closures_of_every_form() {
        let given = r#"{"a": 1, "b": "2"}"#;
        assert_eq!(text(tool_fn("t", "", |Add { a, b }: Add| Ok(a - b)), given).await, "-1");
        let checked = |Add { a, b }: Add| Ok(i64::from(u8::try_from(a)?) + b);
        assert_eq!(text(tool_fn("t", "", checked), given).await, "3");
        assert_eq!(text(tool_fn("t", "", add), given).await, "3");
        assert_eq!(text(tool_fn("t", "", add), r#"{"a": 256, "b": 0}"#).await, "the tool failed");
        let both = |add: Add, context: ToolContext| async move { Ok((add.a, context.principal)) };
        assert_eq!(text(tool_fn("t", "", both), given).await, r#"[1,"ada"]"#);
        let both = |add: Add, context: ToolContext| Ok((add.b, context.principal));
        assert_eq!(text(tool_fn("t", "", both), given).await, r#"[2,"ada"]"#);
        let context = |context: ToolContext| async move { Ok(context.principal) };
        assert_eq!(text(tool_fn("t", "", context), "").await, "ada");
        assert_eq!(text(tool_fn("t", "", |context: ToolContext| Ok(context.step)), "").await, "0");
        assert_eq!(text(tool_fn("t", "", || async { Ok("later") }), "").await, "later");
        let nothing = tool_fn("t", "", || Ok(()));
        assert_eq!(nothing.spec().definition.input_schema()["properties"], serde_json::json!({}));
        assert_eq!(text(nothing, "").await, attache_core::tree::NO_RESULT);
    }
}
