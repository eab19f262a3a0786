//! The wishes of a request, held against the abilities of a model. Codecs name the members.

use attache_core::capability::ReasoningReplay;
use attache_core::{ChatRequest, Effort, ErrorKind, ModelCapabilities, ProviderError, ToolChoice, ToolSet};
use serde_json::{Map, Value};

use crate::refused_options::Refusals;

/// True if the model knows a way of reasoning: `adaptive`, `budget`, `effort`, `off`.
pub fn knows(capabilities: &ModelCapabilities, way: &str) -> bool {
    capabilities.reasoning.iter().any(|known| known == way)
}

/// True if the model can reason at all. One that cannot has it off already.
pub fn can_reason(capabilities: &ModelCapabilities) -> bool {
    !capabilities.reasoning.is_empty() || capabilities.reasoning_replay != ReasoningReplay::None
}

/// The budget in the place of an effort, where a model takes only budgets and the caller allows the nearest.
pub fn budget_for(effort: Effort) -> u32 {
    match effort {
        Effort::Minimal | Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        _ => 32_000,
    }
}

/// Adds a member, if it has a value.
pub fn set_member(members: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        members.insert(name.to_owned(), value.into());
    }
}

/// True if a call of a tool is demanded.
pub fn forces_tool(choice: &ToolChoice) -> bool {
    matches!(choice, ToolChoice::Required | ToolChoice::Tool(_))
}

/// Refuses a list of allowed tools, which [`ChatRequest::narrow`] leaves to the APIs that take one.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if there is one, unless the caller allows it.
pub fn refuse_allowed(request: &ChatRequest, refusals: &mut Refusals<'_>) -> Result<(), ProviderError> {
    match &request.allowed_tools {
        None => Ok(()),
        Some(_) => refusals.refuse("allowed_tools", "the API takes no such list", "it may call all of them"),
    }
}

/// Checks that a demanded tool is offered, and that the model calls tools at all where it is offered some.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a model that calls none, [`ErrorKind::InvalidRequest`] for a choice that names none.
pub fn check_choice(
    choice: &ToolChoice,
    tools: &ToolSet,
    has_tools: bool,
    capabilities: &ModelCapabilities,
) -> Result<(), ProviderError> {
    if has_tools && !capabilities.tools {
        let text = format!("{} does not call tools", capabilities.model);
        return Err(ProviderError::new(ErrorKind::Unsupported, text).with_param("tools".to_owned()));
    }
    let text = match choice {
        ToolChoice::Required if !has_tools => "a tool is required, but none is offered".to_owned(),
        ToolChoice::Tool(name) if tools.get(name).is_none() => {
            format!("the tool {name} is required, but not offered")
        }
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_) => return Ok(()),
        _ => "this tool choice is unknown here".to_owned(),
    };
    Err(ProviderError::new(ErrorKind::InvalidRequest, text).with_param("tool_choice".to_owned()))
}
