//! Thinking: its configuration and its replay (anthropic.md 8).

use serde_json::Value;

use super::context::Context;
use super::models::{Model, Modes};
use super::problems::{Check, bad, object, one_of, only, required, string};
use crate::mock::rules::Path;

const MIN_BUDGET: u64 = 1024;

pub(super) fn check(context: &Context<'_>) -> Check {
    let root = Path::Root;
    let path = root.key("thinking");
    let Some(thinking) = context.request.get("thinking") else { return Ok(()) };
    let thinking = object(thinking, &path)?;
    let mode = string(thinking, "type", &path)?;
    one_of(mode, &["adaptive", "enabled", "disabled", "between_tools"], &path.key("type"))?;
    let known: &[&str] = match mode {
        "enabled" => &["type", "budget_tokens", "display"],
        "disabled" => &["type"],
        _ => &["type", "display"],
    };
    let (adaptive, binding) = (path.key(mode), thinking.get("block_binding"));
    let is_known = mode != "disabled" && context.rules.has_beta("thinking-binding-controls");
    let known = [known, if is_known { &["block_binding"][..] } else { &[] }].concat();
    only(thinking, &known, &adaptive)?;
    if let Some(binding) = binding {
        let at = adaptive.key("block_binding");
        let binding = object(binding, &at)?;
        only(binding, &["prefix_mismatch_behavior"], &at)?;
        let behavior = string(binding, "prefix_mismatch_behavior", &at)?;
        one_of(behavior, &["error", "drop_block"], &at.key("prefix_mismatch_behavior"))?;
    }
    if thinking.get("display").is_some_and(|display| !display.is_null()) {
        one_of(string(thinking, "display", &path)?, &["summarized", "omitted"], &path.key("display"))?;
    }
    check_mode(mode, context)?;
    if mode == "enabled" {
        check_manual(thinking.get("budget_tokens"), context)?;
    }
    Ok(())
}

fn check_mode(mode: &str, context: &Context<'_>) -> Check {
    let Some(model) = context.model else { return Ok(()) };
    let allowed = match (model.modes(), mode) {
        (Modes::Unknown, _) | (Modes::Both, "adaptive" | "enabled" | "disabled") => true,
        (Modes::Manual, mode) => matches!(mode, "enabled" | "disabled"),
        (Modes::Adaptive, "disabled") => !model.thinks_above_high() || !wants_more_than_high(context),
        (Modes::Adaptive | Modes::Always, "adaptive") => true,
        _ => false,
    };
    if allowed {
        return Ok(());
    }
    let path = Path::Root.key("thinking");
    Err(bad(&path.key("type"), format_args!("`{mode}` is not supported for this model")))
}

fn wants_more_than_high(context: &Context<'_>) -> bool {
    let effort = context.request.get("output_config").and_then(|config| config.get("effort")?.as_str());
    matches!(effort, Some("xhigh" | "max"))
}

/// Manual thinking: its budget, and what it does not go with.
fn check_manual(budget: Option<&Value>, context: &Context<'_>) -> Check {
    let root = Path::Root;
    let (thinking, request) = (root.key("thinking"), context.request);
    let enabled = thinking.key("enabled");
    let path = enabled.key("budget_tokens");
    let budget = budget.ok_or_else(|| required(&path))?;
    let Some(budget) = budget.as_u64().filter(|budget| *budget >= MIN_BUDGET) else {
        return Err(bad(&path, format_args!("Input should be greater than or equal to {MIN_BUDGET}")));
    };
    let max_tokens = request.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    if budget >= max_tokens && !context.rules.has_beta("interleaved-thinking") {
        return Err(bad(&root, "`max_tokens` must be greater than `thinking.budget_tokens`"));
    }
    if request.get("temperature").is_some_and(|value| !value.is_null() && value.as_f64() != Some(1.0)) {
        return Err(bad(&root, "`temperature` may only be set to 1 when thinking is enabled"));
    }
    if request.get("top_k").is_some_and(|value| !value.is_null()) {
        return Err(bad(&root, "`top_k` must be unset when thinking is enabled"));
    }
    if context.forces_tool() {
        return Err(bad(&root, "Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(())
}

/// With manual thinking, the assistant message of an open tool loop begins with its thinking.
pub(super) fn check_replay(messages: &[Value], context: &Context<'_>) -> Check {
    if context.thinking() != Some("enabled") {
        return Ok(());
    }
    let kind = |block: &Value| block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let first = |message: &Value| message.get("content")?.as_array()?.first().map(kind);
    let is = |message: &Value, role: &str| message.get("role").and_then(Value::as_str) == Some(role);
    let Some(last) = messages.last() else { return Ok(()) };
    if !is(last, "user") || first(last).as_deref() != Some("tool_result") {
        return Ok(());
    }
    let Some(at) = messages.iter().rposition(|message| is(message, "assistant")) else { return Ok(()) };
    match messages.get(at).and_then(first).as_deref() {
        None | Some("thinking" | "redacted_thinking") => Ok(()),
        Some(found) => {
            let root = Path::Root.key("messages");
            let (message, what) = (
                root.index(at),
                format!(
                    "Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a \
                     final `assistant` message must start with a thinking block."
                ),
            );
            let content = message.key("content");
            let block = content.index(0);
            Err(bad(&block.key("type"), what))
        }
    }
}

/// True if the request's thinking, or its model's, forbids a prefill.
pub(super) fn forbids_prefill(context: &Context<'_>) -> bool {
    // A model that nobody knows is taken for a new one.
    context.model.is_none_or(Model::rejects_prefill)
        || context.thinking().is_some_and(|mode| mode != "disabled")
}
