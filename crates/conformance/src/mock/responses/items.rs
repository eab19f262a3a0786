//! Input items: roles, ids, calls and their outputs, reasoning and what it produced (openai.md B.2, B.7).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::ids::NEEDS;
use super::{parts, tools};
use crate::mock::chat::problems::{
    Check, array, bad_value, invalid, missing, object, one_of, only, optional, optional_string, string,
    too_long, wrong_type,
};
use crate::mock::chat::tools::check_name;
use crate::mock::rules::{Path, Rules, Violation};

const MAX_CALL_ID: usize = 64;

/// Items of the provider's own tools, replayed as they came.
fn is_built_in(kind: &str) -> bool {
    kind.ends_with("_call")
        || kind.ends_with("_call_output")
        || kind.starts_with("mcp_")
        || matches!(
            kind,
            "compaction"
                | "program"
                | "program_output"
                | "additional_tools"
                | "tool_search_output"
                | "configuration_update"
        )
}

/// The beginning of an id, for the kinds whose ids are checked (D 26).
fn id_prefix(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "message" => "msg",
        "reasoning" => "rs",
        "function_call" => "fc",
        "function_call_output" => "fco",
        "custom_tool_call" => "ctc",
        _ => return None,
    })
}

struct Walk<'v> {
    rules: &'v Rules,
    /// Earlier items lie on the server.
    continues: bool,
    stored: bool,
    ids: HashSet<&'v str>,
    call_ids: HashSet<&'v str>,
    /// Calls without an output as yet.
    open: Vec<&'v str>,
    /// The id of the reasoning item right before; empty where it has none.
    reasoning: Option<&'v str>,
    /// The role of the message right before.
    role: &'v str,
}

pub(super) fn check(items: &[Value], continues: bool, stored: bool, rules: &Rules) -> Check {
    let root = Path::Root.key("input");
    let mut walk = Walk {
        rules,
        continues,
        stored,
        ids: HashSet::new(),
        call_ids: HashSet::new(),
        open: Vec::new(),
        reasoning: None,
        role: "",
    };
    for (index, item) in items.iter().enumerate() {
        let path = root.index(index);
        walk.item(object(item, &path)?, &path)?;
    }
    walk.follower("")?;
    walk.answered()
}

impl<'v> Walk<'v> {
    fn item(&mut self, item: &'v Map<String, Value>, path: &Path<'_>) -> Check {
        let kind = match optional(item, "type") {
            None => "message",
            Some(_) => string(item, "type", path)?,
        };
        let role = if kind == "message" { string(item, "role", path)? } else { "" };
        if !self.rules.compatible_fields() {
            self.id(item, kind, path)?;
            let produced = kind.ends_with("_call") || role == "assistant";
            self.follower(if produced { kind } else { "" })?;
        }
        self.reasoning = None;
        if self.rules.alternation_or(false) && role == self.role && matches!(role, "user" | "assistant") {
            let message = format!(
                "Invalid '{}': roles must alternate, got two '{role}' messages in a row.",
                path.bracketed()
            );
            return Err(invalid(path, "invalid_value", message));
        }
        self.role = role;
        match kind {
            "message" => self.message(item, role, path),
            "reasoning" => self.reasoning(item, path),
            "function_call" | "custom_tool_call" => self.call(item, kind, path),
            "function_call_output" | "custom_tool_call_output" => self.output(item, path),
            "item_reference" => {
                self.only(item, &["type", "id"], path)?;
                string(item, "id", path).map(drop)
            }
            "additional_tools" => self.more_tools(item, path),
            kind if is_built_in(kind) || self.rules.compatible_fields() => Ok(()),
            other => {
                let known = [
                    "message",
                    "reasoning",
                    "function_call",
                    "function_call_output",
                    "custom_tool_call",
                    "custom_tool_call_output",
                    "item_reference",
                    "compaction",
                ];
                Err(bad_value(&path.key("type"), other, &known))
            }
        }
    }

    fn only(&self, item: &Map<String, Value>, known: &[&str], path: &Path<'_>) -> Check {
        if self.rules.compatible_fields() { Ok(()) } else { only(item, known, path) }
    }

    /// The item's own id: of the right kind and unique. One that the mock gave to the product of a reasoning
    /// item demands that item (D 23).
    fn id(&mut self, item: &'v Map<String, Value>, kind: &str, path: &Path<'_>) -> Check {
        if optional(item, "id").is_none() {
            return Ok(());
        }
        let id = string(item, "id", path)?;
        if let Some(prefix) = id_prefix(kind)
            && !id.starts_with(prefix)
        {
            let path = path.key("id");
            let message = format!(
                "Invalid '{}': '{id}'. Expected an ID that begins with '{prefix}'.",
                path.bracketed()
            );
            return Err(invalid(&path, "invalid_value", message));
        }
        if kind != "item_reference" && !self.ids.insert(id) {
            let message = format!(
                "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
            );
            return Err(about_input(message));
        }
        match id.split_once(NEEDS) {
            Some((_, reasoning)) if self.reasoning != Some(reasoning) => {
                let message = format!(
                    "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{reasoning}'."
                );
                Err(about_input(message))
            }
            _ => Ok(()),
        }
    }

    /// After reasoning must come what it produced (D 22); an empty kind is nothing of that sort.
    fn follower(&self, kind: &str) -> Check {
        match self.reasoning {
            Some(id) if kind.is_empty() && !self.rules.compatible_fields() => {
                let message = format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following item."
                );
                Err(about_input(message))
            }
            _ => Ok(()),
        }
    }

    fn answered(&self) -> Check {
        match self.open.first() {
            Some(id) => Err(about_input(format!("No tool output found for function call {id}."))),
            None => Ok(()),
        }
    }

    fn message(&mut self, item: &Map<String, Value>, role: &str, path: &Path<'_>) -> Check {
        let roles = ["assistant", "system", "developer", "user"];
        if !roles.contains(&role) {
            return Err(bad_value(&path.key("role"), role, &roles));
        }
        self.only(item, &["type", "role", "content", "id", "status", "phase"], path)?;
        check_status(item, path)?;
        if let Some(phase) = optional(item, "phase") {
            one_of(phase, &["commentary", "final_answer"], &path.key("phase"))?;
        }
        if role != "assistant" {
            self.answered()?;
        }
        let path = path.key("content");
        match item.get("content") {
            None => Err(missing(&path)),
            Some(Value::String(_)) => Ok(()),
            Some(content @ Value::Array(_)) => parts::check(array(content, &path)?, role, &path, self.rules),
            Some(other) => Err(wrong_type(&path, "one of a string or array of objects", other)),
        }
    }

    fn reasoning(&mut self, item: &'v Map<String, Value>, path: &Path<'_>) -> Check {
        self.only(item, &["type", "id", "summary", "content", "encrypted_content", "status"], path)?;
        check_status(item, path)?;
        optional_string(item, "encrypted_content", path)?;
        let summary = path.key("summary");
        let texts = item.get("summary").ok_or_else(|| missing(&summary))?;
        check_texts(texts, "summary_text", &summary)?;
        if let Some(content) = optional(item, "content") {
            check_texts(content, "reasoning_text", &path.key("content"))?;
        }
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
        let has_blob = optional(item, "encrypted_content").is_some_and(|blob| blob != "");
        // D 24
        if !has_blob && !self.rules.compatible_fields() {
            if id.is_empty() {
                return Err(missing(&path.key("encrypted_content")));
            }
            if !self.stored {
                let message = format!(
                    "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with \
                     `store` set to true, or remove this item from your input."
                );
                return Err(
                    Violation::new(404, "invalid_request_error", message).with_path("input".to_owned())
                );
            }
        }
        self.reasoning = Some(id);
        Ok(())
    }

    fn call(&mut self, item: &'v Map<String, Value>, kind: &str, path: &Path<'_>) -> Check {
        let input = if kind == "function_call" { "arguments" } else { "input" };
        let known = ["type", "id", "call_id", "name", input, "status", "namespace", "caller", "async"];
        self.only(item, &known, path)?;
        check_status(item, path)?;
        let call_id = self.call_id(item, path)?;
        if !self.call_ids.insert(call_id) {
            let path = path.key("call_id");
            let message = format!("Invalid '{}': duplicate call_id '{call_id}'.", path.bracketed());
            return Err(invalid(&path, "invalid_value", message));
        }
        self.open.push(call_id);
        check_name(item, path)?;
        let text = string(item, input, path)?;
        if kind == "function_call" && !matches!(serde_json::from_str(text), Ok(Value::Object(_))) {
            let path = path.key("arguments");
            let message =
                format!("Invalid '{}': expected a string that holds a JSON object.", path.bracketed());
            return Err(invalid(&path, "invalid_value", message));
        }
        Ok(())
    }

    fn output(&mut self, item: &Map<String, Value>, path: &Path<'_>) -> Check {
        self.only(item, &["type", "id", "call_id", "output", "status"], path)?;
        check_status(item, path)?;
        let call_id = self.call_id(item, path)?;
        match self.open.iter().position(|open| *open == call_id) {
            Some(at) => _ = self.open.remove(at),
            None if self.continues && !self.call_ids.contains(call_id) => {}
            None => {
                let message = format!("No tool call found for function call output with call_id {call_id}.");
                return Err(about_input(message));
            }
        }
        let path = path.key("output");
        match item.get("output") {
            None => Err(missing(&path)),
            Some(Value::String(_)) => Ok(()),
            Some(list @ Value::Array(_)) => parts::check(array(list, &path)?, "tool", &path, self.rules),
            Some(other) => Err(wrong_type(&path, "one of a string or array of objects", other)),
        }
    }

    fn call_id<'i>(&self, item: &'i Map<String, Value>, path: &Path<'_>) -> Result<&'i str, Violation> {
        let id = string(item, "call_id", path)?;
        let path = path.key("call_id");
        if id.is_empty() {
            let message = format!(
                "Invalid '{}': empty string. Expected a string with minimum length 1, but got an empty string instead.",
                path.bracketed()
            );
            return Err(invalid(&path, "empty_string", message));
        }
        if id.len() > MAX_CALL_ID && !self.rules.compatible_fields() {
            return Err(too_long(&path, MAX_CALL_ID, id.len()));
        }
        Ok(id)
    }

    fn more_tools(&self, item: &Map<String, Value>, path: &Path<'_>) -> Check {
        let path = path.key("tools");
        let list = array(item.get("tools").ok_or_else(|| missing(&path))?, &path)?;
        for (index, tool) in list.iter().enumerate() {
            let path = path.index(index);
            tools::check_tool(object(tool, &path)?, &path, self.rules)?;
        }
        Ok(())
    }
}

fn about_input(message: String) -> Violation {
    Violation::invalid(message).with_path("input".to_owned())
}

fn check_status(item: &Map<String, Value>, path: &Path<'_>) -> Check {
    match optional(item, "status") {
        Some(status) => one_of(status, &["in_progress", "completed", "incomplete"], &path.key("status")),
        None => Ok(()),
    }
}

fn check_texts(texts: &Value, kind: &str, path: &Path<'_>) -> Check {
    let Some(texts) = texts.as_array() else { return Err(wrong_type(path, "an array", texts)) };
    for (index, text) in texts.iter().enumerate() {
        let path = path.index(index);
        let text = object(text, &path)?;
        one_of(text.get("type").ok_or_else(|| missing(&path.key("type")))?, &[kind], &path.key("type"))?;
        only(text, &["type", "text"], &path)?;
        string(text, "text", &path)?;
    }
    Ok(())
}
