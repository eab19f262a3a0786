//! Tools: definition, metadata, execution, and families of tools behind one door.

pub(crate) mod bind;
mod check;
mod context;
mod definition;
mod documents;
mod error;
mod handler;
mod reference;
mod returned;
mod set;

pub use check::{ToolLoosening, ToolRefusal, ToolsCheck};
pub use context::{Extensions, ToolContext};
pub use definition::{Effect, ToolDefinition, ToolMetadata, ToolSpec};
pub use documents::ConversationDocuments;
pub use error::{ToolError, ToolErrorKind};
pub use handler::{DynToolHandler, ToolHandler, ToolOutput};
pub use reference::DocumentRef;
pub use returned::ToolReturn;
pub use set::{ToolSet, ToolSetError, wire_name};

use serde_json::{Map, Value};

use crate::message::Arguments;
use crate::provider::BoxFuture;

/// One executable tool.
///
/// `#[tool]` on a function or method makes one; so do closures in the agent crate. By hand:
///
/// ```
/// use attache_core::{Arguments, BoxFuture, Capture, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, ToolSpec};
/// use serde_json::json;
///
/// struct Add(ToolSpec);
///
/// impl Tool for Add {
///     fn spec(&self) -> &ToolSpec { &self.0 }
///
///     fn call<'a>(&'a self, arguments: &'a Arguments, _context: ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
///         Box::pin(async move {
///             let given = arguments.object()?;
///             let sum: f64 = ["a", "b"].iter().filter_map(|name| given.get(*name)?.as_f64()).sum();
///             Ok(ToolOutput::new(Capture::new().finish(&sum)?))
///         })
///     }
/// }
///
/// let schema = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
/// let add = Add(ToolSpec::new(ToolDefinition::new("add", "Adds two numbers", schema)));
/// assert_eq!(add.spec().definition.name(), "add");
/// ```
pub trait Tool: Send + Sync {
    /// The definition for the model, and the metadata for the loop.
    fn spec(&self) -> &ToolSpec;

    /// The arguments as it reads them, where it mends what is only written differently, such as `"5"` for 5. The loop
    /// holds them against the whole schema before it calls the tool, with the arguments as they were written. By
    /// default nothing is mended.
    ///
    /// # Errors
    /// The text that the model is told instead of a call, if they cannot be mended.
    fn mended(&self, arguments: &Arguments) -> Result<Option<Map<String, Value>>, ToolError> {
        let _ = arguments;
        Ok(None)
    }

    /// Runs it.
    ///
    /// # Cancellation
    /// The loop drops the future to cancel the call; what must not stop half-way belongs into a task of its own.
    fn call<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}
