//! The markup of calls in the families of models.

use std::sync::Arc;

use attache_core::{ToolDefinition, ToolSet};
use serde_json::{Map, Value};

use crate::layer::text_tools::action::{Action, Reader};
use crate::layer::text_tools::json::{balanced, read};
use crate::layer::text_tools::parser::{Parser, Reading};

/// The marks that may stand around and between calls.
const WRAPPERS: [&str; 16] = [
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "[TOOL_CALLS]",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|python_tag|>",
    "<|eom_id|>",
    "</function>",
];

/// A call that was found.
pub(super) struct Found<'a> {
    pub(super) name: String,
    /// As JSON.
    pub(super) arguments: String,
    /// The call as it was written, without what stands around it.
    pub(super) raw: &'a str,
}

impl<'a> Found<'a> {
    fn new(name: String, arguments: String, raw: &'a str) -> Self {
        Self { name, arguments, raw: raw.trim() }
    }
}

/// The beginning of a text that ends with `behind`.
fn before<'a>(text: &'a str, behind: &str) -> &'a str {
    text.get(..text.len().saturating_sub(behind.len())).unwrap_or(text)
}

/// True if a text has words outside of tags.
pub(super) fn has_words(text: &str) -> bool {
    let mut is_inside = false;
    text.chars().any(|c| {
        is_inside = (is_inside || c == '<') && c != '>';
        !is_inside && c.is_alphanumeric()
    })
}

/// The call of a reply in the text protocol, if no words follow it but an observation that the model invents.
pub(super) fn protocol_call<'a>(text: &'a str, tools: &ToolSet) -> Option<Found<'a>> {
    let mut parser = Parser::new(Arc::new(tools.clone()), true);
    let _shown = parser.push(text);
    let Reading::Call(call) = parser.finish(false).1 else { return None };
    let begin = ["Action:", "<ACTION>"].iter().filter_map(|marker| text.find(marker)).min().unwrap_or(0);
    let raw = text.get(begin..).unwrap_or(text);
    let end = raw.find("Observation").unwrap_or(raw.len());
    let raw = raw.get(..end).unwrap_or(raw);
    let input = Some(call.arguments.trim()).filter(|input| !input.is_empty() && *input != "{}");
    let behind = match input {
        Some(input) => raw.rsplit_once(input).map(|(_, behind)| behind),
        // Behind the line of the name, and that of an input that says nothing.
        None => raw.split_once('\n').map(|(_, below)| match below.trim_start().starts_with("Action Input") {
            true => below.trim_start().split_once('\n').map_or("", |(_, below)| below),
            false => below,
        }),
    };
    (!behind.is_some_and(has_words)).then(|| Found::new(call.name, call.arguments, raw))
}

/// The calls of a text that begins with one, and the text behind them.
pub(super) fn family_calls<'a>(text: &'a str, reader: Reader<'_>) -> Option<(Vec<Found<'a>>, &'a str)> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut is_delimited = false;
    let is_fenced = text.starts_with("```");
    if is_fenced {
        let (_, inside) = text.split_once('\n')?;
        rest = inside.trim_end().strip_suffix("```")?;
    }
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == ',');
        if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| rest.starts_with(**wrapper)) {
            rest = rest.strip_prefix(wrapper)?;
            is_delimited = true;
        } else if rest.starts_with(['{', '[']) {
            let json = rest.get(..balanced(rest)?)?;
            objects(json, reader, &mut found)?;
            rest = rest.strip_prefix(json)?;
        } else if let Some(body) = rest.strip_prefix("<function=") {
            let (name, body) = body.split_once('>')?;
            let (body, behind) = body.split_once("</function>").unwrap_or((body, ""));
            let arguments = parameters(body, "<parameter=", "</parameter>", name, reader)?;
            found.push(Found::new(unquoted(name), arguments, before(rest, behind)));
            (rest, is_delimited) = (behind, true);
        } else if let Some(body) = rest.strip_prefix("<invoke name=") {
            let (name, body) = body.split_once('>')?;
            let (body, behind) = body.split_once("</invoke>").unwrap_or((body, ""));
            let name = unquoted(name);
            let arguments = parameters(body, "<parameter name=", "</parameter>", &name, reader)?;
            found.push(Found::new(name, arguments, before(rest, behind)));
            (rest, is_delimited) = (behind, true);
        } else if found.is_empty() || is_delimited {
            let Some(((name, arguments), behind)) = named(rest, reader, is_delimited || is_fenced) else {
                break;
            };
            found.push(Found::new(name, arguments, before(rest, behind)));
            rest = behind;
        } else {
            break;
        }
    }
    (is_delimited || rest.trim().is_empty()).then_some((found, rest))
}

/// A name with its arguments behind it: `name{…}`, `name[ARGS]{…}`, `functions.name:0<|tool_call_argument_begin|>{…}`,
/// `name(…)`, or a name and `<arg_key>`.
fn named<'a>(text: &'a str, reader: Reader<'_>, is_delimited: bool) -> Option<((String, String), &'a str)> {
    if !is_delimited {
        return None;
    }
    let length = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')))?;
    let (name, behind) = text.split_at_checked(length)?;
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    if name.is_empty() || reader.known(name).is_none() {
        return None;
    }
    let behind = behind.trim_start();
    let body = behind.strip_prefix("<|tool_call_argument_begin|>").or_else(|| behind.strip_prefix("[ARGS]"));
    let body = body.unwrap_or(behind).trim_start();
    if body.starts_with('{') {
        let json = body.get(..balanced(body)?)?;
        return Some(((name.to_owned(), json.to_owned()), body.strip_prefix(json)?));
    }
    if body.starts_with("<arg_key>") {
        let (arguments, behind) = pairs(body, name, reader)?;
        return Some(((name.to_owned(), arguments), behind));
    }
    if body.starts_with('(') {
        let call = text.get(..text.len() - body.len() + balanced(body)?)?;
        return match reader.whole(call)? {
            Action::Call(read) => Some(((read.name, read.arguments), text.strip_prefix(call)?)),
            _ => None,
        };
    }
    None
}

/// The calls of an object or of all objects of an array.
fn objects<'a>(json: &'a str, reader: Reader<'_>, found: &mut Vec<Found<'a>>) -> Option<()> {
    let value: Value = read(json, true)?;
    let items = match value {
        Value::Array(items) => items,
        other => vec![other],
    };
    for item in items {
        match reader.object(&item.to_string())? {
            Action::Call(call) => found.push(Found::new(call.name, call.arguments, json)),
            _ => return None,
        }
    }
    Some(())
}

/// The arguments inside XML: an object as JSON, or elements.
fn parameters(body: &str, open: &str, close: &str, tool: &str, reader: Reader<'_>) -> Option<String> {
    let body = body.trim();
    if body.starts_with('{') {
        return (balanced(body)? == body.len()).then(|| body.to_owned());
    }
    let schema = reader.known(&unquoted(tool))?;
    let mut members = Map::new();
    let mut rest = body;
    while let Some((_, behind)) = rest.split_once(open) {
        let (name, behind) = behind.split_once('>')?;
        let (value, behind) = behind.split_once(close)?;
        let name = unquoted(name);
        let value = typed(&schema, &name, decoded(without_frame(value)));
        members.insert(name, value);
        rest = behind;
    }
    rest.trim().is_empty().then(|| Value::Object(members).to_string())
}

/// The arguments of `<arg_key>…</arg_key><arg_value>…</arg_value>`, and the text behind them. Values stand there as they
/// are, without entities.
fn pairs<'a>(body: &'a str, tool: &str, reader: Reader<'_>) -> Option<(String, &'a str)> {
    let schema = reader.known(tool)?;
    let mut members = Map::new();
    let mut rest = body;
    while let Some(behind) = rest.strip_prefix("<arg_key>") {
        let (name, behind) = behind.split_once("</arg_key>")?;
        let inside = behind.trim_start().strip_prefix("<arg_value>")?;
        // A value may hold the mark of its end: what follows that one is no element.
        let is_end = |behind: &str| {
            behind.is_empty() || ["<arg_key>", "</tool_call>"].iter().any(|next| behind.starts_with(next))
        };
        let mut ends = inside.match_indices(VALUE_END);
        let (value, behind) = ends.find_map(|(at, end)| {
            let behind = inside.get(at + end.len()..)?.trim_start();
            is_end(behind).then_some((inside.get(..at)?, behind))
        })?;
        let name = name.trim().to_owned();
        let value = typed(&schema, &name, without_frame(value).to_owned());
        members.insert(name, value);
        rest = behind;
    }
    Some((Value::Object(members).to_string(), rest))
}

const VALUE_END: &str = "</arg_value>";

/// A value without the line breaks that frame it, one on either side.
fn without_frame(value: &str) -> &str {
    let inside = value.strip_prefix('\n').unwrap_or(value);
    inside.strip_suffix('\n').filter(|_| inside.len() < value.len()).unwrap_or(inside)
}

/// A text as the schema wants it: a text stays one, and of anything else the schema says the rest.
fn typed(tool: &ToolDefinition, name: &str, value: String) -> Value {
    let kind = tool.input_schema().get("properties").and_then(|known| known.get(name)?.get("type"));
    let read = match kind {
        Some(kind) if kind != "string" => serde_json::from_str(value.trim()).ok(),
        _ => None,
    };
    read.unwrap_or(Value::String(value))
}

fn unquoted(name: &str) -> String {
    name.trim().trim_matches(['"', '\'']).to_owned()
}

/// The five entities of XML, once.
fn decoded(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        plain.push_str(before);
        let known =
            [("lt;", '<'), ("gt;", '>'), ("amp;", '&'), ("quot;", '"'), ("apos;", '\''), ("#39;", '\'')];
        match known.iter().find_map(|(name, c)| Some((*c, behind.strip_prefix(name)?))) {
            Some((c, behind)) => {
                plain.push(c);
                rest = behind;
            }
            None => {
                plain.push('&');
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    plain
}
