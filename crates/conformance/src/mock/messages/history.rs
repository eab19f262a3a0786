//! Roles, order and the pairing of tool calls with their results (anthropic.md 3, 6).

use std::collections::HashSet;

use serde_json::Value;

use super::blocks::{Checker, Place, check_string, is_server_block, is_server_call, is_server_result};
use super::context::Context;
use super::models::Model;
use super::problems::{Check, array, bad, object, one_of, only, required, string};
use super::thinking;
use crate::mock::rules::Path;

/// A turn of one side: a message, or several where neighbours are merged.
struct Turn<'v> {
    role: &'v str,
    blocks: Vec<Block<'v>>,
}

#[derive(Clone, Copy)]
struct Block<'v> {
    kind: &'v str,
    value: &'v Value,
    message: usize,
    index: usize,
}

impl<'v> Block<'v> {
    fn text(&self, key: &str) -> &'v str {
        self.value.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

/// `messages.1`, or `messages.1.content.2` with a block.
fn at<T>(message: usize, block: Option<usize>, then: impl FnOnce(&Path<'_>) -> T) -> T {
    let root = Path::Root.key("messages");
    let path = root.index(message);
    match block {
        None => then(&path),
        Some(index) => then(&path.key("content").index(index)),
    }
}

pub(super) fn check(messages: &[Value], context: &Context<'_>, checker: &mut Checker<'_>) -> Check {
    let root = Path::Root.key("messages");
    for (index, message) in messages.iter().enumerate() {
        let path = root.index(index);
        let message = object(message, &path)?;
        only(message, &["role", "content"], &path)?;
        let role =
            one_of(string(message, "role", &path)?, &["user", "assistant", "system"], &path.key("role"))?;
        let place = match role {
            "user" => Place::User,
            "assistant" => Place::Assistant,
            _ => Place::System,
        };
        let prefills = role == "assistant" && index + 1 == messages.len();
        let path = path.key("content");
        match message.get("content").ok_or_else(|| required(&path))? {
            Value::String(text) => check_string(text, &path)?,
            content => match array(content, &path)? {
                [] if prefills => {}
                [] => return Err(bad(&path, format_args!("{role} messages must have non-empty content"))),
                blocks => checker.blocks(blocks, place, &path)?,
            },
        }
    }
    check_order(messages, context)?;
    let turns = turns(messages);
    check_pairs(&turns)?;
    check_server_calls(&turns)?;
    check_last(&turns, messages, context)
}

fn role_of(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn check_order(messages: &[Value], context: &Context<'_>) -> Check {
    let root = Path::Root.key("messages");
    if messages.first().map(role_of) != Some("user") {
        return Err(bad(&root, "first message must use the \"user\" role"));
    }
    let mut previous = "";
    for (index, message) in messages.iter().enumerate() {
        let role = role_of(message);
        if role == "system" {
            check_system(index, messages, context)?;
            continue;
        }
        if role == previous && context.rules.alternation_or(true) {
            let what = format!(
                "roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles in a row"
            );
            return Err(at(index, None, |path| bad(path, what)));
        }
        previous = role;
    }
    Ok(())
}

/// A system message stands behind a user message and before an assistant one.
fn check_system(index: usize, messages: &[Value], context: &Context<'_>) -> Check {
    if context.model.is_some_and(|model| !model.takes_system_messages()) {
        return Err(at(index, None, |path| bad(path, "role 'system' is not supported on this model")));
    }
    let before = index.checked_sub(1).and_then(|before| messages.get(before));
    let follows = before.is_some_and(|before| match role_of(before) {
        "user" => true,
        "assistant" => {
            let last = before.get("content").and_then(Value::as_array).and_then(|blocks| blocks.last());
            last.and_then(|block| block.get("type")?.as_str()).is_some_and(is_server_block)
        }
        _ => false,
    });
    let precedes = messages.get(index + 1).is_none_or(|after| role_of(after) == "assistant");
    if follows && precedes {
        return Ok(());
    }
    let what = "a system message must directly follow a user message and be the last message or be followed by an \
                assistant message";
    Err(at(index, None, |path| bad(path, what)))
}

/// The turns of the conversation; system messages are none.
fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (message, value) in messages.iter().enumerate() {
        let role = role_of(value);
        if role == "system" {
            continue;
        }
        let blocks = value.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let blocks = blocks.iter().enumerate().map(|(index, value)| Block {
            kind: value.get("type").and_then(Value::as_str).unwrap_or_default(),
            value,
            message,
            index,
        });
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(Turn { role, blocks: blocks.collect() }),
        }
    }
    turns
}

/// The conversation ends with the user, but for a paused turn and, on older models, a prefill.
fn check_last(turns: &[Turn<'_>], messages: &[Value], context: &Context<'_>) -> Check {
    let Some(last) = turns.last().filter(|turn| turn.role == "assistant") else { return Ok(()) };
    let paused = last.blocks.iter().any(|block| is_server_block(block.kind));
    if paused {
        return Ok(());
    }
    if thinking::forbids_prefill(context) {
        let what = if context.model.is_none_or(Model::rejects_prefill) {
            "This model does not support assistant message prefill. The conversation must end with a user message."
        } else {
            "When thinking is enabled, the final message must not be a prefilled assistant message."
        };
        return Err(bad(&Path::Root, what));
    }
    let content = messages.last().and_then(|message| message.get("content"));
    let text = match content {
        Some(Value::String(text)) => text,
        _ => last.blocks.last().map_or("", |block| block.text("text")),
    };
    if text.ends_with(char::is_whitespace) {
        let path = Path::Root.key("messages");
        return Err(bad(&path, "final assistant content cannot end with trailing whitespace"));
    }
    Ok(())
}

fn check_pairs(turns: &[Turn<'_>]) -> Check {
    let mut seen = HashSet::new();
    let mut expected: Vec<Block<'_>> = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        if turn.role == "user" {
            check_results(turn, &expected)?;
            expected.clear();
            continue;
        }
        expected = turn.blocks.iter().copied().filter(|block| block.kind == "tool_use").collect();
        for call in &expected {
            if !seen.insert(call.text("id")) {
                return Err(at(call.message, Some(call.index), |path| {
                    bad(path, "`tool_use` ids must be unique")
                }));
            }
        }
        if number + 1 == turns.len() {
            check_answered(&expected, &HashSet::new())?;
        }
    }
    Ok(())
}

fn check_results(turn: &Turn<'_>, expected: &[Block<'_>]) -> Check {
    let mut answered = HashSet::new();
    let mut others = false;
    for block in &turn.blocks {
        let place = |what: String| Err(at(block.message, Some(block.index), |path| bad(path, what)));
        if block.kind != "tool_result" {
            others = true;
            continue;
        }
        if others {
            return place("`tool_result` blocks must come first in the message".to_owned());
        }
        let id = block.text("tool_use_id");
        if !expected.iter().any(|call| call.text("id") == id) {
            return place(format!(
                "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a \
                 corresponding `tool_use` block in the previous message."
            ));
        }
        if !answered.insert(id) {
            return place(format!(
                "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            ));
        }
    }
    check_answered(expected, &answered)?;
    let from_code = |call: &Block<'_>| {
        let caller = call.value.get("caller").and_then(|caller| caller.get("type")?.as_str());
        caller.is_some_and(|caller| caller != "direct")
    };
    match expected.iter().find(|call| others && from_code(call)) {
        Some(call) => {
            let what = "the reply to a programmatic tool call must contain only `tool_result` blocks";
            Err(at(call.message, Some(call.index), |path| bad(path, what)))
        }
        None => Ok(()),
    }
}

fn check_answered(expected: &[Block<'_>], answered: &HashSet<&str>) -> Check {
    let missing: Vec<_> = expected.iter().filter(|call| !answered.contains(call.text("id"))).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let ids = missing.iter().map(|call| call.text("id")).collect::<Vec<_>>().join(", ");
    let what = format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must \
         have a corresponding `tool_result` block in the next message."
    );
    Err(at(first.message, None, |path| bad(path, what)))
}

/// Every server tool call but those of the last turn, which may be paused, has its result.
fn check_server_calls(turns: &[Turn<'_>]) -> Check {
    let blocks = || turns.iter().flat_map(|turn| &turn.blocks);
    let results: HashSet<&str> = blocks()
        .filter(|block| is_server_result(block.kind))
        .map(|block| block.text("tool_use_id"))
        .collect();
    let last = turns.iter().rposition(|turn| turn.role == "assistant");
    for (number, turn) in turns.iter().enumerate() {
        if Some(number) == last {
            continue;
        }
        let orphan = turn
            .blocks
            .iter()
            .find(|block| is_server_call(block.kind) && !results.contains(block.text("id")));
        if let Some(call) = orphan {
            let what = format!("`{}` {} has no result block", call.kind, call.text("id"));
            return Err(at(call.message, Some(call.index), |path| bad(path, what)));
        }
    }
    Ok(())
}
