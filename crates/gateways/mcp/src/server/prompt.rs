//! Prompts that clients offer to their users.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use attache_core::{BoxFuture, ToolError, UserMessage, UserPart};
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use super::blocks::Blocks;
use super::toolbox::title;
use super::values::Values;

type Make =
    dyn Fn(BTreeMap<String, String>) -> BoxFuture<'static, Result<UserMessage, ToolError>> + Send + Sync;

/// A message that clients offer to their users, made by a function of yours, with documents.
///
/// ```
/// use attache_core::{Document, UserMessage, UserPart};
/// use attache_mcp::{McpPrompt, McpService};
///
/// let compare = McpPrompt::new("compare", "Compares a lease with ours", |arguments| async move {
///     let city = arguments.get("city").cloned().unwrap_or_default();
///     let ours = Document::new("The rent is 900.").with_file_name("ours.txt");
///     Ok(UserMessage::new([
///         UserPart::text(format!("Compare the lease of {city} with ours.")),
///         Some(UserPart::Document(ours)),
///     ]))
/// })
/// .with_argument("city", "The city of the lease", true)
/// .with_values("city", ["Bergen", "Oslo"]);
/// let service = McpService::new("leases").with_prompt(compare);
/// # let _ = service;
/// ```
#[derive(Clone)]
#[must_use]
pub struct McpPrompt {
    name: String,
    description: String,
    arguments: Vec<(String, String, bool)>,
    pub(super) values: Values,
    make: Arc<Make>,
}

impl McpPrompt {
    /// A prompt of that name. The function gets the arguments that the user gave.
    pub fn new<F, M>(name: impl Into<String>, description: impl Into<String>, make: F) -> Self
    where
        F: Fn(BTreeMap<String, String>) -> M + Send + Sync + 'static,
        M: Future<Output = Result<UserMessage, ToolError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            description: description.into(),
            arguments: Vec::new(),
            values: Values::default(),
            make: Arc::new(move |arguments| Box::pin(make(arguments))),
        }
    }

    /// Adds an argument, which users may have to give.
    pub fn with_argument(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        is_required: bool,
    ) -> Self {
        self.arguments.push((name.into(), description.into(), is_required));
        self
    }

    /// Offers values for an argument, for clients that complete what their user types.
    pub fn with_values(mut self, name: &str, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.values.add(name, values);
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn described(&self) -> Prompt {
        let arguments = self.arguments.iter().map(|(name, description, is_required)| {
            PromptArgument::new(name).with_description(description).with_required(*is_required)
        });
        let arguments: Vec<_> = arguments.collect();
        let arguments = (!arguments.is_empty()).then_some(arguments);
        Prompt::new(&self.name, Some(&self.description), arguments).with_title(title(&self.name))
    }

    pub(super) async fn get(
        &self,
        request: GetPromptRequestParams,
        mut blocks: Blocks<'_>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let invalid = |text: String| Err(ErrorData::invalid_params(text, None));
        let mut given = BTreeMap::new();
        for (name, value) in request.arguments.unwrap_or_default() {
            match value {
                _ if !self.arguments.iter().any(|(known, ..)| *known == name) => {
                    let name: String = name.chars().take(80).collect();
                    return invalid(format!("the prompt has no argument {name:?}"));
                }
                Value::String(text) => given.insert(name, text),
                other => given.insert(name, other.to_string()),
            };
        }
        let is_missing =
            |(name, _, is_required): &&(String, String, bool)| *is_required && !given.contains_key(name);
        if let Some((name, ..)) = self.arguments.iter().find(is_missing) {
            return invalid(format!("the prompt needs the argument {name:?}"));
        }
        let message = match (self.make)(given).await {
            Ok(message) => message,
            Err(error) => return invalid(error.for_model().to_owned()),
        };
        for part in message.shown() {
            match part {
                UserPart::Text(text) => blocks.text(text.text()),
                UserPart::Document(document) => blocks.document(document),
                UserPart::Object(tree) => blocks.tree(tree, tree.documents(), 0),
                _ => blocks.text("[a part that cannot be handed over]"),
            }
        }
        let (content, _) = blocks.finish();
        let messages = content.into_iter().map(|block| PromptMessage::new(Role::User, block));
        let mut result = GetPromptResult::new(messages.collect());
        result.description = Some(self.description.clone());
        Ok(result.into())
    }
}

impl fmt::Debug for McpPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpPrompt").field("name", &self.name).finish_non_exhaustive()
    }
}
