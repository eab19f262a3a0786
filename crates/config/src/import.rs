//! Servers in the files of other clients.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::checked::{Masks, Unset};
use crate::problem::Problem;
use crate::sections::{CommandLine, McpServerSection};
use crate::variables::{Lookup, filled};

/// The words on what was found.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) problems: Vec<Problem>,
    pub(crate) notes: Vec<Problem>,
    /// The servers that lack variables or files.
    pub(crate) unset: Vec<Unset>,
    /// The values of variables.
    pub(crate) masks: Masks,
}

/// The servers of the text, by their names. Members that only other clients know are let be: the file is theirs.
pub(crate) fn imported(
    place: &Path,
    text: &str,
    lookup: Lookup<'_>,
) -> (BTreeMap<String, McpServerSection>, Said) {
    let (mut servers, mut said) = (BTreeMap::new(), Said::default());
    let value: Value = match serde_json::from_str(&without_comments(text)) {
        Ok(value) => value,
        Err(error) => {
            let line = Some(error.line());
            said.problems.push(Problem { line, ..Problem::of_file(place, format!("is no JSON: {error}")) });
            return (servers, said);
        }
    };
    let found = ["mcpServers", "servers"].iter().find_map(|key| Some((*key, value.get(key)?.as_object()?)));
    let Some((key, found)) = found else {
        let hint = Some("other clients write {\"mcpServers\": {…}}".to_owned());
        said.problems.push(Problem { hint, ..Problem::of_file(place, "has no `mcpServers`") });
        return (servers, said);
    };
    for (name, entry) in found {
        let quoted = Value::from(name.as_str()).to_string();
        let line = text.find(&quoted).map(|at| crate::toml_places::line_of(text, at));
        let problem = |message: String, hint: Option<String>| Problem {
            file: place.to_owned(),
            line,
            path: format!("{key}.{name}"),
            message,
            hint,
        };
        let folder = place.parent().unwrap_or(Path::new(""));
        let masks = RefCell::new(&mut said.masks);
        let fill = |text: &str| match filled(text, folder, lookup) {
            Ok(None) => Ok(text.to_owned()),
            Ok(Some(filled)) => {
                filled.values.into_iter().for_each(|(value, written)| masks.borrow_mut().add(value, written));
                Ok(filled.text)
            }
            Err(unfilled) => Err(problem(unfilled.message, Some(unfilled.hint))),
        };
        let Some(entry) = entry.as_object() else {
            said.problems.push(problem("must be an object".to_owned(), None));
            continue;
        };
        let is_off = |name: &str, off: bool| entry.get(name).and_then(Value::as_bool) == Some(off);
        if is_off("disabled", true) || is_off("enabled", false) {
            continue;
        }
        if entry.get("type").or_else(|| entry.get("transport")).and_then(Value::as_str) == Some("sse") {
            said.notes.push(problem(
                "is left out: it uses the old transport over server-sent events, not streamable HTTP"
                    .to_owned(),
                None,
            ));
            continue;
        }
        match section(entry, &fill) {
            Ok(section) => {
                servers.insert(name.clone(), section);
            }
            // Such as a variable that is not set, or one of those that only that client knows: `${input:key}`.
            Err(problem) => {
                said.unset.push(Unset { section: "mcp", name: name.clone(), problems: vec![problem] });
            }
        }
    }
    (servers, said)
}

/// The text with spaces in the place of comments, and of commas behind which nothing comes: editors take them. Each line
/// and column stays where it is.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let (mut in_string, mut comma, mut before) = (false, None, '{');
    let blank = |c: char| if c == '\n' { c } else { ' ' };
    while let Some(c) = characters.next() {
        if in_string {
            kept.push(c);
            match c {
                '\\' => kept.extend(characters.next()),
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match (c, characters.peek()) {
            ('/', Some('/')) => {
                kept.push(' ');
                while let Some(c) = characters.next_if(|c| *c != '\n') {
                    kept.push(blank(c));
                }
                continue;
            }
            ('/', Some('*')) => {
                kept.push(' ');
                kept.extend(characters.next().map(blank));
                let mut last = ' ';
                for c in characters.by_ref() {
                    kept.push(blank(c));
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            (',', _) => comma = Some(kept.len()).filter(|_| !matches!(before, '{' | '[' | ',' | ':')),
            ('}' | ']', _) => {
                if let Some(at) = comma.take() {
                    kept.replace_range(at..=at, " ");
                }
            }
            (c, _) if c.is_whitespace() => {}
            (c, _) => {
                comma = None;
                in_string = c == '"';
            }
        }
        if !c.is_whitespace() {
            before = c;
        }
        kept.push(c);
    }
    kept
}

/// Fills the variables of a text in.
type Fill<'f> = dyn Fn(&str) -> Result<String, Problem> + 'f;

/// A server, with its mistakes as [`Fill`] tells them.
fn section(entry: &Map<String, Value>, fill: &Fill<'_>) -> Result<McpServerSection, Problem> {
    let text =
        |names: &[&str]| names.iter().find_map(|name| entry.get(*name)?.as_str()).map(fill).transpose();
    let texts = |name: &str| -> Result<Vec<String>, Problem> {
        let items = entry.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(fill).collect()
    };
    let pairs = |name: &str| -> Result<BTreeMap<String, String>, Problem> {
        let members = entry.get(name).and_then(Value::as_object).into_iter().flatten();
        let texts = members.filter_map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (!value.is_null()).then_some((name.clone(), text))
        });
        texts.map(|(name, text)| Ok((name, fill(&text)?))).collect()
    };
    Ok(McpServerSection {
        command: text(&["command"])?.map(|program| CommandLine::Line(vec![program])),
        args: texts("args")?,
        env: pairs("env")?,
        folder: text(&["cwd"])?,
        url: text(&["url", "serverUrl", "httpUrl"])?,
        headers: pairs("headers")?,
        ..McpServerSection::default()
    })
}
