//! Tools: definition, metadata, execution, and handlers that provide families of tools.

mod arguments;
mod ask_people;
pub(crate) mod bind;
mod changed;
mod check;
mod context;
pub(crate) mod deferred;
mod definition;
mod digest;
mod documents;
pub(crate) mod error;
mod handler;
mod progress;
mod reference;
mod returned;
mod set;
mod view;

pub use ask_people::{Asking, People, Unanswered};
pub use changed::{WithOutcome, WithSpec};
pub use check::{SchemaLoosening, SchemaRefusal, SchemaReport};
pub use context::{Extensions, RunValues, ToolContext};
pub use deferred::Deferred;
pub use definition::{Approval, Effect, ToolDefinition, ToolMetadata, ToolSpec};
pub use documents::ConversationDocuments;
pub use error::{ToolError, ToolErrorKind};
pub use handler::{DynToolHandler, ToolHandler, ToolOutput};
pub use progress::{Hears, Listening, Progress};
pub use reference::DocumentRef;
pub use returned::ToolReturn;
pub use set::{ToolSet, ToolSetError, wire_name};
pub use view::DocumentView;

use serde_json::{Map, Value};

use crate::future::BoxFuture;
use crate::message::Arguments;

/// One executable tool.
///
/// Create one with `#[tool]` on a function or method, or from a closure with the agent crate. By hand:
///
/// ```
/// use attache_core::{BoxFuture, Capture, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
/// use attache_core::tool::ToolSpec;
/// use serde_json::{Map, Value, json};
///
/// struct Add(ToolSpec);
///
/// impl Tool for Add {
///     fn spec(&self) -> &ToolSpec { &self.0 }
///
///     fn run(&self, arguments: Map<String, Value>, _: ToolContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
///         Box::pin(async move {
///             let sum: f64 = ["a", "b"].iter().filter_map(|name| arguments.get(*name)?.as_f64()).sum();
///             Ok(ToolOutput::new(Capture::new().finish(&sum)?))
///         })
///     }
/// }
///
/// let schema = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
/// let add = Add(ToolSpec::new(ToolDefinition::new("add", "Adds two numbers", schema)));
/// assert_eq!(add.spec().definition.name(), "add");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "not a tool",
    note = "`#[tool]` on `fn look` leaves the function as it is and makes the tool beside it: pass `look_tool()`",
    note = "a closure becomes a tool by `tool_fn`, the methods of a `#[toolbox]` by `into_tools()`"
)]
pub trait Tool: Send + Sync {
    /// The definition for the model and the metadata for the loop.
    fn spec(&self) -> &ToolSpec;

    /// Reads the arguments that a model wrote. By default they are validated against the schema, and mere differences
    /// in notation, such as `"5"` for 5, are corrected. Your own implementation must make sure that they are valid:
    /// they are not checked again.
    ///
    /// # Errors
    /// An error whose text the model reads instead of a result.
    fn arguments(&self, written: &Arguments) -> Result<Map<String, Value>, ToolError> {
        self.spec().definition.coerce(written)
    }

    /// Runs it with arguments as [`arguments`](Self::arguments) yields them.
    ///
    /// # Cancellation
    /// The loop drops the future to cancel the call; what must not stop half-way belongs into a task of its own.
    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;

    /// Reads the arguments of a call and runs it.
    fn call<'a>(
        &'a self,
        written: &Arguments,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match self.arguments(written) {
            Ok(arguments) => self.run(arguments, context),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// The same tool with other metadata: another time limit, another effect, hidden from models.
    ///
    /// ```
    /// # use attache_core::Tool;
    /// # fn change(look: impl Tool + 'static) {
    /// let look = look.with_metadata(|metadata| metadata.timeout = Some(std::time::Duration::from_secs(5)));
    /// # }
    /// ```
    fn with_metadata(self, change: impl FnOnce(&mut ToolMetadata)) -> WithSpec<Self>
    where
        Self: Sized,
    {
        let mut spec = self.spec().clone();
        change(&mut spec.metadata);
        WithSpec::new(self, spec)
    }

    /// The same tool with another definition or other metadata: a name, a description, examples. A call must fit
    /// another schema and then its own.
    ///
    /// ```
    /// # use attache_core::Tool;
    /// # fn change(look: impl Tool + 'static) {
    /// let look = look.with_spec(|mut spec| {
    ///     spec.definition = spec.definition.with_name("archive.look").with_description("Looks into the archive.");
    ///     spec
    /// });
    /// # }
    /// ```
    fn with_spec(self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> WithSpec<Self>
    where
        Self: Sized,
    {
        let spec = change(self.spec().clone());
        WithSpec::new(self, spec)
    }

    /// The same tool, what comes of a call changed: an output in another form, an error that says less or more.
    ///
    /// ```
    /// # use attache_core::{Tool, ToolError};
    /// # fn change(look: impl Tool + 'static) {
    /// let look = look
    ///     .with_outcome(|outcome| outcome.map(|output| { let text = output.tree.model_text().to_uppercase(); output.with_text(&text) }))
    ///     .with_outcome(|outcome| outcome.map_err(|error| ToolError::new("the archive is closed").with_kind(error.kind())));
    /// # }
    /// ```
    fn with_outcome<F>(self, change: F) -> WithOutcome<Self, F>
    where
        Self: Sized,
        F: Fn(Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> + Send + Sync,
    {
        WithOutcome::new(self, change)
    }
}

impl<T: Tool + ?Sized> Tool for std::sync::Arc<T> {
    fn spec(&self) -> &ToolSpec {
        (**self).spec()
    }

    fn arguments(&self, written: &Arguments) -> Result<Map<String, Value>, ToolError> {
        (**self).arguments(written)
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (**self).run(arguments, context)
    }
}
