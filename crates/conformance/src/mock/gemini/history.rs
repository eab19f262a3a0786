//! Turns: roles, calls and their responses, thought signatures (gemini.md 2, 4).

use serde_json::Value;

use super::context::Context;
use super::proto::{Check, Platform, invalid};
use crate::members::{list, member, text};
use crate::mock::rules::{Path, Violation};

/// The parts of a content, by sort.
struct Turn<'v> {
    model: bool,
    calls: Vec<&'v Value>,
    responses: Vec<&'v Value>,
    /// The part of the first call.
    first_call: Option<&'v Value>,
    parts: usize,
}

impl<'v> Turn<'v> {
    fn of(content: &'v Value) -> Self {
        let parts = list(content, "parts");
        let all = |name: &str| parts.iter().filter_map(|part| member(part, name)).collect();
        Self {
            model: text(content, "role") == "model",
            calls: all("function_call"),
            responses: all("function_response"),
            first_call: parts.iter().find(|part| member(part, "function_call").is_some()),
            parts: parts.len(),
        }
    }
}

/// Checks the contents; `cached` says that others stand before them in a cache.
pub(super) fn check(contents: &[Value], cached: bool, context: &Context<'_>) -> Check {
    let root = Path::Root.key("contents");
    let turns: Vec<Turn<'_>> = contents.iter().map(Turn::of).collect();
    if let Some(first) = turns.first().filter(|turn| turn.model && !cached) {
        return Err(if first.calls.is_empty() {
            invalid(&root.index(0), "Please ensure that multiturn requests begin with a user turn.")
        } else {
            call_out_of_place(&root.index(0))
        });
    }
    let mut open: &[&Value] = &[];
    let mut previous: Option<&Turn<'_>> = None;
    for (index, turn) in turns.iter().enumerate() {
        check_turn(turn, previous, open, &root.index(index))?;
        open = &turn.calls;
        previous = Some(turn);
    }
    if !open.is_empty() {
        return Err(wrong_count(&root.index(turns.len().saturating_sub(1))));
    }
    check_signatures(&turns, context)?;
    check_said(contents, context)
}

/// Refuses two neighbours of the same role.
pub(super) fn check_alternation(contents: &[Value]) -> Check {
    let is_model = |content: &Value| text(content, "role") == "model";
    let neighbours = contents.iter().zip(contents.iter().skip(1));
    match neighbours.enumerate().find(|(_, (one, other))| is_model(one) == is_model(other)) {
        Some((index, _)) => {
            let contents = Path::Root.key("contents");
            let message = "Please ensure that multiturn requests alternate between user and model.";
            Err(invalid(&contents.index(index + 1), message))
        }
        None => Ok(()),
    }
}

fn check_turn(turn: &Turn<'_>, previous: Option<&Turn<'_>>, open: &[&Value], path: &Path<'_>) -> Check {
    if turn.model && !turn.responses.is_empty() {
        return Err(invalid(path, "A function response cannot stand in a content of role model."));
    }
    if !turn.model && !turn.calls.is_empty() {
        return Err(invalid(path, "A function call cannot stand in a content of role user."));
    }
    if !turn.calls.is_empty() && previous.is_some_and(|previous| previous.model) {
        return Err(call_out_of_place(path));
    }
    if !open.is_empty() && turn.responses.len() != open.len() {
        return Err(wrong_count(path));
    }
    if turn.responses.is_empty() {
        return Ok(());
    }
    if open.is_empty() {
        let message =
            "Please ensure that function response turn comes immediately after a function call turn.";
        return Err(invalid(path, message));
    }
    if turn.parts != turn.responses.len() {
        let message = "A content with function response parts cannot hold other parts, put them in a content of their own.";
        return Err(invalid(path, message));
    }
    check_pairs(open, &turn.responses, path)
}

/// Each response belongs to a call: by its id where it has one, else by name.
fn check_pairs(calls: &[&Value], responses: &[&Value], path: &Path<'_>) -> Check {
    let mut open: Vec<&Value> = calls.to_vec();
    for (index, response) in responses.iter().enumerate() {
        let (id, name) = (text(response, "id"), text(response, "name"));
        let at = open.iter().position(|call| {
            let same_id = id.is_empty() || text(call, "id").is_empty() || text(call, "id") == id;
            same_id && text(call, "name") == name
        });
        let Some(at) = at else {
            let parts = path.key("parts");
            let message = format!(
                "Function response `{name}` with id `{id}` does not match a function call before it."
            );
            return Err(invalid(&parts.index(index), message));
        };
        open.remove(at);
    }
    Ok(())
}

/// The first call of every step since the last message of the user's own carries its signature.
fn check_signatures(turns: &[Turn<'_>], context: &Context<'_>) -> Check {
    if !context.model.is_some_and(super::models::Model::is_third_generation) {
        return Ok(());
    }
    let start = turns.iter().rposition(|turn| !turn.model && turn.responses.is_empty()).unwrap_or(0);
    for (index, turn) in turns.iter().enumerate().skip(start) {
        if let Some(part) = turn.first_call
            && text(part, "thought_signature").is_empty()
        {
            let name = turn.calls.first().map_or("", |call| text(call, "name"));
            let message = format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
                 correctly, and missing thought_signature may lead to degraded model performance. Additional data, \
                 function call `default_api:{name}` , position {index}. Please refer to \
                 https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            );
            let contents = Path::Root.key("contents");
            return Err(invalid(&contents.index(index), message));
        }
    }
    Ok(())
}

/// Words and images of an image model of Gemini 3 carry its signature: the text that a content begins with, thoughts apart,
/// and each image. Vertex does not look.
fn check_said(contents: &[Value], context: &Context<'_>) -> Check {
    let draws = context.id.starts_with("gemini-3") && context.id.contains("image");
    if !draws || context.platform == Platform::Vertex {
        return Ok(());
    }
    let said = contents.iter().enumerate().filter(|(_, content)| text(content, "role") == "model");
    for (at, content) in said {
        let parts = list(content, "parts");
        let first = parts.iter().position(|part| member(part, "thought") != Some(&Value::Bool(true)));
        for (index, part) in parts.iter().enumerate() {
            let is_image = member(part, "inline_data").is_some();
            let is_first_text = first == Some(index) && member(part, "text").is_some();
            if (is_image || is_first_text) && text(part, "thought_signature").is_empty() {
                let kind = if is_image { "Image" } else { "Text" };
                let (position, place) = (at + 1, index + 1);
                let message = format!(
                    "{kind} part is missing a thought_signature in content position {position}, part position {place}."
                );
                return Err(invalid(&Path::Root.key("contents").index(at), message));
            }
        }
    }
    Ok(())
}

fn call_out_of_place(path: &Path<'_>) -> Violation {
    let message = "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    invalid(path, message)
}

fn wrong_count(path: &Path<'_>) -> Violation {
    let message = "Please ensure that the number of function response parts is equal to the number of function call parts of \
                   the function call turn.";
    invalid(path, message)
}
