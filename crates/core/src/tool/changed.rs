//! Tools that are treated otherwise than they say, and left as they are.

use std::fmt;

use serde_json::{Map, Value};

use crate::future::BoxFuture;
use crate::message::Arguments;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};

/// A tool with another definition or other metadata; see [`Tool::with_spec`].
#[derive(Clone, Debug)]
pub struct WithSpec<T> {
    tool: T,
    spec: ToolSpec,
    /// True if calls are held against its own schema first.
    is_redefined: bool,
}

impl<T: Tool> WithSpec<T> {
    pub(super) fn new(tool: T, spec: ToolSpec) -> Self {
        let (given, own) = (&tool.spec().definition, &spec.definition);
        let is_redefined = given.name() != own.name() || given.input_schema() != own.input_schema();
        Self { tool, spec, is_redefined }
    }
}

impl<T: Tool> Tool for WithSpec<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn arguments(&self, written: &Arguments) -> Result<Map<String, Value>, ToolError> {
        if !self.is_redefined {
            return self.tool.arguments(written);
        }
        let own = &self.spec.definition;
        let fitted = if own.is_strict() { own.check(written) } else { own.coerce(written) };
        self.tool.arguments(&Arguments::new(Value::Object(fitted?).to_string()))
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.tool.run(arguments, context)
    }
}

/// A tool whose outcome is changed; see [`Tool::with_outcome`].
#[derive(Clone)]
pub struct WithOutcome<T, F> {
    tool: T,
    change: F,
}

impl<T, F> WithOutcome<T, F> {
    pub(super) fn new(tool: T, change: F) -> Self {
        Self { tool, change }
    }
}

impl<T, F> Tool for WithOutcome<T, F>
where
    T: Tool,
    F: Fn(Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> + Send + Sync,
{
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn arguments(&self, written: &Arguments) -> Result<Map<String, Value>, ToolError> {
        self.tool.arguments(written)
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { (self.change)(self.tool.run(arguments, context).await) })
    }
}

impl<T: fmt::Debug, F> fmt::Debug for WithOutcome<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithOutcome").field(&self.tool).finish()
    }
}
