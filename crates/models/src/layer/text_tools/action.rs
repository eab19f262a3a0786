//! Reads an action of a reply: the tool's name and its arguments.

use attache_core::{ToolDefinition, ToolSet};
use serde_json::{Map, Value};

use super::json::{balanced, keywords, read};
use super::marker::{Form, Look, Marker, closings, find_any, look};

/// The meaning of the text behind an action's marker.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::layer) enum Action {
    /// A call, complete. The text that follows is none of it.
    Call(Call),
    /// A call that is not closed.
    Cut(Call),
    /// An answer that is written as an action.
    Answer(String),
    /// The model wants no tool; the rest follows.
    None(usize),
    /// Nothing that can be read.
    Unclear,
    /// More text may decide.
    More,
}

/// A call: the tool as the model names it, and its arguments as text.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::layer) struct Call {
    pub(in crate::layer) name: String,
    pub(in crate::layer) arguments: String,
}

/// The tools and the leniency by which actions are read.
#[derive(Clone, Copy, Debug)]
pub(in crate::layer) struct Reader<'a> {
    pub(in crate::layer) tools: &'a ToolSet,
    pub(in crate::layer) is_lenient: bool,
}

const NAMES: [&str; 4] = ["name", "tool", "action", "function"];
const ARGUMENTS: [&str; 6] = ["arguments", "parameters", "action_input", "input", "args", "tool_input"];

impl Reader<'_> {
    /// Reads the text behind an action's marker. `is_all` says that nothing follows.
    pub(in crate::layer) fn action(self, text: &str, form: Form, is_all: bool) -> Action {
        match form {
            Form::Tag => self.tagged(text, is_all),
            Form::Label => self.labelled(text, is_all),
        }
    }

    fn tagged(self, text: &str, is_all: bool) -> Action {
        let open = if is_all { Action::Unclear } else { Action::More };
        let Some((body, at)) = unfenced(text, is_all) else { return open };
        if is_json(body) {
            return self.json(body, is_all);
        }
        let end = find_any(text, closings(Marker::Action)).map(|(end, _)| end);
        let inside = match (end, is_all) {
            (Some(end), _) => text.get(at..end).unwrap_or_default(),
            (None, true) => body,
            (None, false) => return Action::More,
        };
        self.labelled(inside, true)
    }

    /// The action that a text begins with as JSON.
    fn json(self, text: &str, is_all: bool) -> Action {
        match balanced(text).and_then(|end| text.get(..end)) {
            Some(json) => self.object(json).unwrap_or(Action::Unclear),
            None if is_all => Action::Cut(self.beginning(text)),
            None => Action::More,
        }
    }

    fn labelled(self, text: &str, is_all: bool) -> Action {
        let open = if is_all { Action::Unclear } else { Action::More };
        let Some((body, at)) = unfenced(text, is_all) else { return open };
        if is_json(body) {
            return self.json(body, is_all);
        }
        let Some(line) = body.lines().next().filter(|_| is_all || body.contains('\n')) else { return open };
        let name = bare_name(line);
        if is_none(&name) {
            return Action::None(at + line.len());
        }
        if let Some((head, _)) = line.split_once('(')
            && is_name(&bare_name(head))
        {
            return self.call_syntax(&bare_name(head), body.get(head.len()..).unwrap_or_default(), is_all);
        }
        if name.eq_ignore_ascii_case("final answer") || name.eq_ignore_ascii_case("final_answer") {
            return self.written_answer(body.get(line.len()..).unwrap_or_default(), is_all);
        }
        if name.is_empty() || name.chars().count() > 100 {
            return Action::Unclear;
        }
        let rest = body.get(line.len()..).unwrap_or_default();
        self.input(&name, rest, is_all)
    }

    /// The arguments behind the line of a name.
    fn input(self, name: &str, rest: &str, is_all: bool) -> Action {
        let call = |arguments: String| Call { name: name.to_owned(), arguments };
        let below = rest.trim_start();
        if below.is_empty() {
            return if is_all { Action::Call(call(String::new())) } else { Action::More };
        }
        let (input, is_labelled) = match look(below, is_all) {
            Look::More => return Action::More,
            Look::Found(Marker::Input, _, length) => (below.get(length..).unwrap_or_default(), true),
            Look::Found(..) => return Action::Call(call(String::new())),
            Look::Text => (below, false),
        };
        let Some((body, _)) = unfenced(input, is_all) else {
            return if is_all { Action::Call(call(String::new())) } else { Action::More };
        };
        if is_json(body) {
            return match balanced(body).and_then(|end| body.get(..end)) {
                Some(json) => Action::Call(call(self.arguments_text(name, json))),
                None if is_all => Action::Cut(call(body.to_owned())),
                None => Action::More,
            };
        }
        if !is_labelled {
            return Action::Call(call(String::new()));
        }
        match bare_input(body, is_all) {
            Some(text) => Action::Call(call(self.arguments_text(name, text))),
            None => Action::More,
        }
    }

    /// The text behind `Action: Final Answer`.
    fn written_answer(self, rest: &str, is_all: bool) -> Action {
        if !is_all {
            return Action::More;
        }
        let below = rest.trim_start();
        let text = match look(below, true) {
            Look::Found(Marker::Input | Marker::Answer, _, length) => below.get(length..).unwrap_or_default(),
            _ => below,
        };
        Action::Answer(text.trim().to_owned())
    }

    /// `(…)` behind a name.
    fn call_syntax(self, name: &str, rest: &str, is_all: bool) -> Action {
        let call = |arguments: String| Call { name: name.to_owned(), arguments };
        let Some(inside) = balanced(rest).and_then(|end| rest.get(1..end.saturating_sub(1))) else {
            return if is_all { Action::Cut(call(rest.to_owned())) } else { Action::More };
        };
        let inside = inside.trim();
        if inside.is_empty() || inside.starts_with('{') {
            return Action::Call(call(self.arguments_text(name, inside)));
        }
        if let Some(members) = keywords(inside, self.is_lenient) {
            return Action::Call(call(Value::Object(members).to_string()));
        }
        match read(inside, self.is_lenient) {
            Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
                match self.only_parameter(name) {
                    Some(parameter) => {
                        Action::Call(call(Value::Object(Map::from_iter([(parameter, value)])).to_string()))
                    }
                    None => Action::Unclear,
                }
            }
            _ => Action::Unclear,
        }
    }

    /// A JSON action: an object that names a tool. Of several the first.
    pub(in crate::layer) fn object(self, json: &str) -> Option<Action> {
        let mut value = read(json, self.is_lenient)?;
        if let Value::Array(items) = &mut value {
            value = items.first_mut()?.take();
        }
        let members = value.as_object()?;
        let called = members.get("function").filter(|inner| inner.is_object());
        let members = called.and_then(Value::as_object).unwrap_or(members);
        let name = NAMES.iter().find_map(|name| members.get(*name).and_then(Value::as_str))?;
        let arguments = ARGUMENTS.iter().find_map(|name| members.get(*name));
        let name = bare_name(name);
        if name.eq_ignore_ascii_case("final answer")
            || name.eq_ignore_ascii_case("final_answer") && self.known(&name).is_none()
        {
            return Some(Action::Answer(arguments.map(text_of).unwrap_or_default()));
        }
        if is_none(&name) {
            return Some(Action::None(json.len()));
        }
        let arguments = match arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => self.arguments_text(&name, text),
            Some(other) => other.to_string(),
        };
        Some(Action::Call(Call { name, arguments }))
    }

    /// The call that a whole text is, if it is nothing but that of a tool that is offered.
    pub(in crate::layer) fn whole(self, text: &str) -> Option<Action> {
        let (body, _) = unfenced(text, true)?;
        let body = body.trim_end().trim_end_matches('`').trim_end();
        let action = if is_json(body) {
            if balanced(body)? != body.len() {
                return None;
            }
            self.object(body)?
        } else {
            let (head, _) = body.split_once('(')?;
            let name = bare_name(head);
            let rest = body.get(head.len()..)?;
            if head.contains(char::is_whitespace) || balanced(rest)? != rest.len() {
                return None;
            }
            self.call_syntax(&name, rest, true)
        };
        match &action {
            Action::Call(call) => self.known(&call.name).is_some().then_some(action),
            Action::Answer(_) => Some(action),
            _ => None,
        }
    }

    /// The beginning of a JSON action, as far as it names a tool.
    fn beginning(self, json: &str) -> Call {
        let named = NAMES.iter().find_map(|key| {
            let (_, rest) = json.split_once(&format!("\"{key}\""))?;
            let (_, rest) = rest.split_once('"')?;
            Some(rest.split_once('"')?.0.to_owned())
        });
        Call { name: named.unwrap_or_default(), arguments: json.to_owned() }
    }

    /// The tool that the model means.
    pub(in crate::layer) fn known(self, name: &str) -> Option<ToolDefinition> {
        let exact = self.tools.get(self.tools.internal_name(name)).cloned();
        let folded = || {
            let mut same = self.tools.iter().filter(|(wire, tool)| {
                wire.eq_ignore_ascii_case(name) || tool.name().eq_ignore_ascii_case(name)
            });
            let (_, only) = same.next()?;
            same.next().is_none().then(|| only.clone())
        };
        exact.or_else(folded)
    }

    fn only_parameter(self, name: &str) -> Option<String> {
        let tool = self.known(name)?;
        let properties = tool.input_schema().get("properties")?.as_object()?;
        let mut names = properties.keys();
        let only = names.next()?;
        names.next().is_none().then(|| only.clone())
    }

    /// Arguments as JSON: an object as it is, anything else as the only parameter of the tool.
    fn arguments_text(self, name: &str, text: &str) -> String {
        let text = text.trim();
        if text.is_empty() || text == "{}" || is_none(text) {
            return String::new();
        }
        let value = read(text, self.is_lenient);
        match (value, self.only_parameter(name)) {
            (Some(Value::Object(_)), _) if serde_json::from_str::<Value>(text).is_ok() => text.to_owned(),
            (Some(object @ Value::Object(_)), _) => object.to_string(),
            // A text that holds the object.
            (Some(Value::String(inner)), _) if inner.trim_start().starts_with('{') => inner,
            (Some(value), Some(only)) => Value::Object(Map::from_iter([(only, value)])).to_string(),
            (None, Some(only)) if !text.starts_with(['{', '[']) => {
                Value::Object(Map::from_iter([(only, Value::from(text))])).to_string()
            }
            (_, _) => text.to_owned(),
        }
    }
}

/// True if a text begins an object or an array of objects; a name may stand in brackets.
fn is_json(text: &str) -> bool {
    let inside = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || inside.is_some_and(|inside| inside.starts_with('{'))
}

/// The text behind white space and the opening of a fence, and where it begins. `None` while that may go on.
fn unfenced(text: &str, is_all: bool) -> Option<(&str, usize)> {
    let mut body = text.trim_start();
    if !is_all && (body.len() < 3 && body.chars().all(|c| c == '`')) {
        return None;
    }
    if body.starts_with("```") {
        let (_, inside) = body.split_once('\n')?;
        body = inside.trim_start();
    }
    if body.is_empty() {
        return None;
    }
    Some((body, text.len() - body.len()))
}

/// Bare text behind `Action Input:`, until a marker or a fence. `None` while more may follow.
fn bare_input(text: &str, is_all: bool) -> Option<&str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_last = at + line.len() == text.len();
        if at > 0 {
            match look(line, is_all || !is_last) {
                Look::Found(..) => return text.get(..at).map(str::trim),
                Look::More => return None,
                Look::Text if line.trim_start().starts_with("```") => return text.get(..at).map(str::trim),
                Look::Text => {}
            }
        }
        at += line.len();
    }
    is_all.then(|| text.trim())
}

/// A name without quotes, brackets, emphasis and what stands behind it.
pub(in crate::layer) fn bare_name(text: &str) -> String {
    let is_frame = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '[' | ']' | '*' | ':' | '：' | '<' | '>' | '.')
    };
    text.trim_matches(is_frame).to_owned()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
}

fn is_none(name: &str) -> bool {
    const NONE: [&str; 9] =
        ["none", "n/a", "na", "no tool", "no tools", "no action", "nothing", "no tool needed", "null"];
    let name = name.trim().trim_end_matches('.');
    NONE.iter().any(|none| name.eq_ignore_ascii_case(none))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
