//! The request of a model.

use attache_core::{Arguments, DocumentRef, ToolError, ToolErrorKind};
use serde_json::{Map, Value, json};

use super::ranges::{self, Range};

/// One call, read.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) document: DocumentRef,
    pub(super) part: Part,
    /// Words to look for inside the part.
    pub(super) query: Option<String>,
}

/// Which part of a document is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// All of it, from the start.
    All,
    /// Pages, sheets or slides.
    Units(Vec<Range>),
    /// Lines of its text.
    Lines(Vec<Range>),
}

/// The schema of the arguments. Everything is a string: what models get right most often.
pub(super) fn schema() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "object",
        "properties": {
            "id": text("The id of the document, as its label or the result that it came in shows it"),
            "pages": text("Its pages, sheets or slides by number, such as \"3\", \"3-5\" or \"2,7-9\""),
            "range": text("Lines of its text, such as \"100-200\"; not together with pages"),
            "query": text("Words to look for: the passages that match best are shown, each with its page and lines"),
        },
        "required": ["id"],
    })
}

/// The arguments by their own names and as strings, as the schema has them: names and forms that models use instead
/// are forgiven, and what is blank counts as not given.
pub(super) fn named(arguments: &Arguments) -> Result<Map<String, Value>, ToolError> {
    let mut given = arguments.object()?;
    let mut named = Map::new();
    if let Some(id) = first(&mut given, &["id", "document", "documentId", "document_id", "reference"]) {
        let id: DocumentRef = serde_json::from_value(id).map_err(|error| misfit("id", &error.to_string()))?;
        named.insert("id".to_owned(), id.as_str().into());
    }
    let further: [(&[&str], &str); 3] = [
        (&["pages", "page", "sheets", "sheet", "slides", "slide"], ","),
        (&["range", "lines", "line"], ","),
        (&["query", "search", "q"], " "),
    ];
    for (names, separator) in further {
        if let (Some(text), Some(name)) = (words(&mut given, names, separator)?, names.first()) {
            named.insert((*name).to_owned(), text.into());
        }
    }
    Ok(named)
}

/// Reads arguments as [`named`] yields them.
pub(super) fn read(given: &Map<String, Value>) -> Result<Request, ToolError> {
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    let ranges_of = |name: &str| -> Result<Option<Vec<Range>>, ToolError> {
        let parsed = text(name).map(ranges::parse).transpose();
        parsed.map_err(|problem| misfit(name, &problem))
    };
    let document = text("id").and_then(DocumentRef::parse).ok_or_else(|| misfit("id", "is missing"))?;
    let part = match (ranges_of("pages")?, ranges_of("range")?) {
        (None, None) => Part::All,
        (Some(units), None) => Part::Units(units),
        // A single line is where to begin.
        (None, Some(lines)) => match lines.as_slice() {
            [(first, last)] if first == last => Part::Lines(vec![(*first, usize::MAX)]),
            _ => Part::Lines(lines),
        },
        (Some(_), Some(_)) => return Err(misfit("range", "cannot be given together with `pages`")),
    };
    Ok(Request { document, part, query: text("query").map(str::to_owned) })
}

fn misfit(name: &str, problem: &str) -> ToolError {
    ToolError::new(format!("`{name}` {problem}; allowed: id, pages, range, query"))
        .with_kind(ToolErrorKind::InvalidArguments)
}

/// The first of these arguments that says anything.
fn first(given: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| given.remove(*name).filter(|value| !is_blank(value)))
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        _ => false,
    }
}

/// A text, a number, or a list of them, as one text.
fn words(
    given: &mut Map<String, Value>,
    names: &[&str],
    separator: &str,
) -> Result<Option<String>, ToolError> {
    let Some(value) = first(given, names) else { return Ok(None) };
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        // A whole number, however it is written.
        Value::Number(number) => match number.as_f64().filter(|value| value.fract() == 0.0) {
            Some(value) => Some(format!("{value:.0}")),
            None => Some(number.to_string()),
        },
        _ => None,
    };
    let words = match &value {
        Value::Array(items) => items.iter().filter(|item| !is_blank(item)).map(word).collect(),
        value => word(value).map(|word| vec![word]),
    };
    match words {
        Some(words) => Ok(Some(words.join(separator))),
        None => Err(misfit(names.first().copied().unwrap_or_default(), "must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &Value) -> Result<(Part, Option<String>), String> {
        named(&Arguments::new(arguments.to_string()))
            .and_then(|given| read(&given))
            .map(|request| {
                assert_eq!(request.document.as_str(), "d-1");
                (request.part, request.query)
            })
            .map_err(|error| error.for_model().to_owned())
    }

    #[test]
    fn one_call_in_many_forms() {
        let pages = |first, last| Ok((Part::Units(vec![(first, last)]), None));
        for arguments in [
            json!({"id": "d-1", "pages": "3-5"}),
            json!({"id": {"attache.document": "stored", "documentId": "d-1"}, "pages": [3, 4, "5"]}),
            json!({"document": "d-1", "pages": "", "page": "3-5", "range": null, "query": " "}),
            json!({"documentId": "d-1", "slides": ["3", 4.0, 5], "range": ""}),
        ] {
            assert_eq!(asked(&arguments), pages(3, 5), "{arguments}");
        }
        assert_eq!(asked(&json!({"id": "d-1", "pages": 3})), pages(3, 3));
        assert_eq!(asked(&json!({"id": "d-1"})), Ok((Part::All, None)));
        assert_eq!(
            asked(&json!({"id": "d-1", "lines": 100})),
            Ok((Part::Lines(vec![(100, usize::MAX)]), None)),
            "from there on"
        );
        assert_eq!(
            asked(&json!({"id": "d-1", "pages": "2", "query": ["rent", "due"]})),
            Ok((Part::Units(vec![(2, 2)]), Some("rent due".to_owned())))
        );
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (arguments, problem) in [
            (json!({}), "`id` is missing; allowed: id, pages, range, query"),
            (json!({"id": 7}), "`id` invalid type: integer `7`, expected the id of a document"),
            (json!({"id": "d-1", "pages": 0}), "`pages` is counted from 1"),
            (json!({"id": "d-1", "pages": -2.5}), "`pages` must be numbers"),
            (json!({"id": "d-1", "pages": {"from": 3}}), "`pages` must be a string"),
            (
                json!({"id": "d-1", "pages": "1", "range": "2"}),
                "`range` cannot be given together with `pages`",
            ),
            (json!({"id": "d-1", "query": true}), "`query` must be a string"),
            (json!([]), "the arguments must be a JSON object, not an array"),
        ] {
            let told = asked(&arguments).unwrap_err();
            assert!(told.starts_with(problem), "{arguments}: {told}");
        }
    }
}
