//! Roles, order and the pairing of tool calls with their results (bedrock.md 3, 5).

use std::collections::HashSet;

use serde_json::Value;

use super::blocks::{Checker, Place};
use super::context::Context;
use super::family::Family;
use super::problems::{Check, object, of_model, one_of, only, refused, required_list, string};
use crate::mock::messages::Claude;
use crate::mock::rules::{Path, Violation};

const ROLES: &[&str] = &["user", "assistant", "system"];

/// A turn of one side: a message, or several where neighbours are merged.
struct Turn<'v> {
    role: &'v str,
    /// The index of its first message.
    message: usize,
    blocks: Vec<&'v Value>,
}

impl<'v> Turn<'v> {
    /// The tool calls that the client must run; those of server tools have their results beside them.
    fn calls(&self) -> impl Iterator<Item = &'v str> {
        let calls = self.blocks.iter().filter_map(|block| block.get("toolUse"));
        calls.filter(|call| call.get("type").is_none_or(Value::is_null)).map(id_of)
    }

    fn results(&self) -> impl Iterator<Item = &'v str> {
        self.blocks.iter().filter_map(|block| block.get("toolResult")).map(id_of)
    }
}

fn id_of(block: &Value) -> &str {
    block.get("toolUseId").and_then(Value::as_str).unwrap_or_default()
}

fn role_of(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// `messages.1`, or `messages.1.content`.
fn at<T>(message: usize, content: bool, then: impl FnOnce(&Path<'_>) -> T) -> T {
    let root = Path::Root.key("messages");
    let path = root.index(message);
    if content { then(&path.key("content")) } else { then(&path) }
}

pub(super) fn check<'a>(messages: &'a [Value], context: &Context<'_>, checker: &mut Checker<'a>) -> Check {
    let root = Path::Root.key("messages");
    for (index, message) in messages.iter().enumerate() {
        let path = root.index(index);
        let message = object(message, &path)?;
        only(message, &["role", "content"], &path)?;
        let place = match one_of(string(message, "role", &path)?, ROLES, &path.key("role"))? {
            "user" => Place::User,
            "assistant" => Place::Assistant,
            _ => Place::System,
        };
        let blocks = required_list(message, "content", &path)?;
        if blocks.is_empty() {
            let message = format!(
                "The content field in the Message object at {} is empty. Add a ContentBlock object to the content \
                 field and try again.",
                path.dotted()
            );
            return Err(refused(&path.key("content"), message));
        }
        checker.message(blocks, place, &path.key("content"))?;
    }
    check_order(messages, context)?;
    let turns = turns(messages);
    check_pairs(&turns, context)?;
    check_company(&turns, context)?;
    check_reasoning(&turns, context)?;
    check_last(&turns, context)
}

fn check_order(messages: &[Value], context: &Context<'_>) -> Check {
    let mut previous = "";
    for (index, message) in messages.iter().enumerate() {
        let role = role_of(message);
        if role == "system" {
            if index == 0 || !claude(context).is_some_and(Claude::takes_system_messages) {
                let what = "This model doesn't support the system role here. Try again with user and assistant roles.";
                return Err(at(index, false, |path| refused(path, what)));
            }
            continue;
        }
        if index == 0 && role == "assistant" && !context.family.takes_leading_assistant() {
            let what = "A conversation must start with a user message. Try again with a conversation that starts with a \
                        user message.";
            return Err(at(index, false, |path| refused(path, what)));
        }
        if role == previous && context.rules.alternation_or(true) {
            let what = "A conversation must alternate between user and assistant roles. Make sure the conversation \
                        alternates between user and assistant roles and try again.";
            return Err(at(index, false, |path| refused(path, what)));
        }
        previous = role;
    }
    Ok(())
}

fn claude(context: &Context<'_>) -> Option<Claude> {
    match context.family {
        Family::Claude(claude) => claude,
        _ => None,
    }
}

/// The turns of the conversation; system messages are none.
fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (message, value) in messages.iter().enumerate() {
        let role = role_of(value);
        let blocks = value.get("content").and_then(Value::as_array).into_iter().flatten();
        match turns.last_mut() {
            _ if role == "system" => {}
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(Turn { role, message, blocks: blocks.collect() }),
        }
    }
    turns
}

/// Every call has one result, in the user turn directly after it.
fn check_pairs(turns: &[Turn<'_>], context: &Context<'_>) -> Check {
    let mut seen = HashSet::new();
    let mut expected: Vec<&str> = Vec::new();
    for turn in turns {
        if turn.role == "user" {
            check_results(turn, &expected)?;
            expected.clear();
            continue;
        }
        expected = turn.calls().collect();
        let mut own = HashSet::new();
        for id in &expected {
            // Claude wants ids to be unique in the conversation, the others in their turn.
            if !own.insert(*id) || (!seen.insert(*id) && context.family.is_claude()) {
                return Err(at(turn.message, true, |path| of_model(path, "`tool_use` ids must be unique")));
            }
        }
    }
    match turns.last().filter(|turn| turn.role == "assistant" && !expected.is_empty()) {
        Some(turn) => Err(unanswered(turn.message + 1, &expected)),
        None => Ok(()),
    }
}

fn check_results(turn: &Turn<'_>, expected: &[&str]) -> Check {
    let results: Vec<&str> = turn.results().collect();
    if results.len() > expected.len() {
        let what = format!(
            "The number of toolResult blocks at messages.{}.content exceeds the number of toolUse blocks of previous turn.",
            turn.message
        );
        return Err(at(turn.message, true, |path| refused(path, what)));
    }
    let missing: Vec<&str> = expected.iter().copied().filter(|id| !results.contains(id)).collect();
    if missing.is_empty() { Ok(()) } else { Err(unanswered(turn.message, &missing)) }
}

fn unanswered(message: usize, ids: &[&str]) -> Violation {
    let what = format!(
        "Expected toolResult blocks at messages.{message}.content for the following Ids: {}",
        ids.join(", ")
    );
    at(message, true, |path| refused(path, what))
}

/// Checks the blocks beside tool results.
fn check_company(turns: &[Turn<'_>], context: &Context<'_>) -> Check {
    for turn in turns.iter().filter(|turn| turn.role == "user" && turn.results().next().is_some()) {
        let is_result = |block: &&&Value| block.get("toolResult").is_some();
        let results_after_others = turn.blocks.iter().skip_while(is_result).any(|block| is_result(&block));
        if results_after_others && context.family.is_claude() {
            let what = "`tool_result` blocks must come first in the message";
            return Err(at(turn.message, true, |path| of_model(path, what)));
        }
        let kinds = turn.blocks.iter().filter_map(|block| block.as_object()?.keys().next());
        let mut others = kinds.filter(|kind| *kind != "toolResult");
        if let Some(kind) = others.find(|kind| !context.family.takes_beside_result(kind)) {
            let what = format!(
                "The {kind} block at messages.{}.content cannot stand in one message with toolResult blocks for this model.",
                turn.message
            );
            return Err(at(turn.message, true, |path| refused(path, what)));
        }
    }
    Ok(())
}

/// Claude's reasoning: never alone in a turn; with a budget, the turn of an open tool loop begins with it.
fn check_reasoning(turns: &[Turn<'_>], context: &Context<'_>) -> Check {
    let is_reasoning = |block: &&Value| block.get("reasoningContent").is_some();
    for turn in turns.iter().filter(|turn| turn.role == "assistant") {
        if turn.blocks.iter().all(is_reasoning) && claude(context).is_none_or(|claude| claude.at_least(5, 0))
        {
            return Err(at(turn.message, true, |path| of_model(path, NO_PREFILL)));
        }
    }
    let open = turns.last().is_some_and(|turn| turn.role == "user" && turn.results().next().is_some());
    if !open || context.thinking() != Some("enabled") {
        return Ok(());
    }
    let Some(turn) = turns.iter().rfind(|turn| turn.role == "assistant") else { return Ok(()) };
    match turn.blocks.first() {
        None => Ok(()),
        Some(block) if is_reasoning(block) => Ok(()),
        Some(_) => {
            let what = "Expected `thinking` or `redacted_thinking`. When `thinking` is enabled, a final `assistant` \
                        message must start with a thinking block.";
            Err(at(turn.message, true, |path| of_model(&path.index(0), what)))
        }
    }
}

const NO_PREFILL: &str =
    "This model does not support assistant message prefill. The conversation must end with a user message.";

/// The conversation ends with the user; only older Claude models take the beginning of an answer.
fn check_last(turns: &[Turn<'_>], context: &Context<'_>) -> Check {
    let Some(last) = turns.last().filter(|turn| turn.role == "assistant") else { return Ok(()) };
    let thinks = context.thinking().is_some_and(|mode| mode != "disabled");
    if claude(context).is_some_and(|claude| !claude.rejects_prefill()) && !thinks {
        let text = last.blocks.last().and_then(|block| block.get("text")?.as_str()).unwrap_or_default();
        if text.ends_with(char::is_whitespace) {
            let what = "final assistant content cannot end with trailing whitespace";
            return Err(at(last.message, true, |path| of_model(path, what)));
        }
        return Ok(());
    }
    if context.family.is_claude() {
        return Err(of_model(&Path::Root, NO_PREFILL));
    }
    let what = "A conversation must end with a user message. Try again with a conversation that ends with a user \
                message.";
    Err(at(last.message, false, |path| refused(path, what)))
}
