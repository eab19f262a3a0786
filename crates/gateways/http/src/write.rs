//! Values as paths, queries and forms have them. (OpenAPI's parameter styles, RFC 6570)

use attache_core::{ToolError, ToolErrorKind};
use attache_transport::percent_encoded;
use serde_json::{Map, Value};

use crate::parameter::{Parameter, Place, Style};

/// Deeper objects are none of a query.
const DEEPEST: usize = 8;
/// The maximum number of names in a message.
const MOST_NAMES: usize = 10;

/// The text of a value that stands alone; `None` for null.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}

/// A value as a text of the media type that its declaration names: JSON, or the text that it is.
fn of_type(media_type: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) if !is_json(media_type) => text.clone(),
        value => value.to_string(),
    };
    percent_encoded(text.as_bytes())
}

/// A scalar with everything encoded that is no letter, digit or one of `-._~`.
fn encoded(value: &Value) -> Option<String> {
    scalar(value).map(|text| percent_encoded(text.as_bytes()))
}

fn encoded_all<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<String> {
    values.into_iter().filter_map(encoded).collect()
}

fn pairs(object: &Map<String, Value>) -> Vec<(String, String)> {
    object
        .iter()
        .filter_map(|(key, value)| Some((percent_encoded(key.as_bytes()), encoded(value)?)))
        .collect()
}

fn joined(pairs: &[(String, String)], between: &str, after: &str) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}{between}{value}")).collect();
    pairs.join(after)
}

/// A value of a path parameter. `None` if nothing is left of it.
///
/// # Errors
/// If members of an object would be parameters that nobody declared.
pub(crate) fn in_path(parameter: &Parameter, value: &Value) -> Result<Option<String>, ToolError> {
    refuse_lost(parameter, value)?;
    Ok(segment(parameter, value))
}

fn segment(parameter: &Parameter, value: &Value) -> Option<String> {
    if let Some(media_type) = &parameter.part_type {
        let text = Some(value).filter(|value| !value.is_null()).map(|value| of_type(media_type, value));
        return text.filter(|text| !text.is_empty());
    }
    let (style, explode) = (parameter.style(), parameter.explodes());
    let name = percent_encoded(parameter.name.as_bytes());
    let text = match value {
        Value::Array(items) => {
            let items = encoded_all(items);
            if items.is_empty() {
                return None;
            }
            match style {
                Style::Label => format!(".{}", items.join(if explode { "." } else { "," })),
                Style::Matrix if explode => {
                    items.iter().map(|item| format!(";{name}={item}")).collect::<String>()
                }
                Style::Matrix => format!(";{name}={}", items.join(",")),
                _ => items.join(","),
            }
        }
        Value::Object(object) => {
            let pairs = pairs(object);
            if pairs.is_empty() {
                return None;
            }
            match (style, explode) {
                (Style::Label, true) => format!(".{}", joined(&pairs, "=", ".")),
                (Style::Label, false) => format!(".{}", joined(&pairs, ",", ",")),
                (Style::Matrix, true) => format!(";{}", joined(&pairs, "=", ";")),
                (Style::Matrix, false) => format!(";{name}={}", joined(&pairs, ",", ",")),
                (_, true) => joined(&pairs, "=", ","),
                (_, false) => joined(&pairs, ",", ","),
            }
        }
        value => {
            let text = encoded(value)?;
            match style {
                Style::Label => format!(".{text}"),
                Style::Matrix => format!(";{name}={text}"),
                _ => text,
            }
        }
    };
    (!text.is_empty()).then_some(text)
}

/// Adds what a parameter says to a query or a form of one line: names and values, encoded. Null says nothing.
///
/// A name comes from the declaration alone: members of an object that stand for themselves are those that its schema
/// names, so that no argument can add a parameter.
///
/// # Errors
/// If members of an object would be lost.
pub(crate) fn in_query(
    parameter: &Parameter,
    value: &Value,
    into: &mut Vec<(String, String)>,
) -> Result<(), ToolError> {
    refuse_lost(parameter, value)?;
    write(parameter, value, into);
    Ok(())
}

fn refuse_lost(parameter: &Parameter, value: &Value) -> Result<(), ToolError> {
    let lost = lost(parameter, value);
    if lost.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = lost.iter().take(MOST_NAMES).map(|name| format!("{name:?}")).collect();
    let argument = &parameter.argument;
    let text = format!("{argument:?} has members that it cannot be sent with: {}", names.join(", "));
    Err(ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments))
}

/// The members of an object that have no place in a path or a query.
fn lost<'v>(parameter: &Parameter, value: &'v Value) -> Vec<&'v str> {
    let is_text = matches!(parameter.place, Place::Path | Place::Query) && parameter.part_type.is_some();
    let mut lost = Vec::new();
    match (value, parameter.style(), parameter.explodes()) {
        _ if is_text => {}
        (_, Style::DeepObject, _) => {
            if let Value::Object(object) = value {
                lost.extend(named(object).filter(|name| !parameter.takes_member(name)));
            }
            // The members of the deepest object that is written as one count too.
            bracketed(value, DEEPEST + 1, &mut lost);
        }
        (Value::Object(object), Style::Form | Style::Label | Style::Matrix, true) => {
            lost.extend(named(object).filter(|name| !parameter.names_member(name)));
        }
        _ => {}
    }
    lost
}

/// The names of members that say something.
fn named(object: &Map<String, Value>) -> impl Iterator<Item = &str> {
    object.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str())
}

/// Adds the names of members, at any depth, with a bracket in them: it would be read as another depth.
fn bracketed<'v>(value: &'v Value, deepest: usize, into: &mut Vec<&'v str>) {
    let Some(deepest) = deepest.checked_sub(1) else { return };
    match value {
        Value::Object(object) => {
            into.extend(named(object).filter(|name| name.contains(['[', ']'])));
            object.values().for_each(|member| bracketed(member, deepest, into));
        }
        Value::Array(items) => items.iter().for_each(|item| bracketed(item, deepest, into)),
        _ => {}
    }
}

fn write(parameter: &Parameter, value: &Value, into: &mut Vec<(String, String)>) {
    // A parameter with a media type stands as a text of that type.
    if let Some(media_type) = parameter.part_type.as_deref().filter(|_| parameter.place == Place::Query)
        && !value.is_null()
    {
        return into.push((percent_encoded(parameter.name.as_bytes()), of_type(media_type, value)));
    }
    let (style, explode) = (parameter.style(), parameter.explodes());
    let name = percent_encoded(parameter.name.as_bytes());
    match value {
        Value::Null => {}
        Value::Array(items) if style == Style::DeepObject => deep_items(&name, items, DEEPEST, into),
        Value::Array(items) => {
            let items = encoded_all(items);
            match (style, explode) {
                (_, true) => into.extend(items.into_iter().map(|item| (name.clone(), item))),
                _ if items.is_empty() => {}
                (Style::SpaceDelimited, _) => into.push((name, items.join("%20"))),
                (Style::PipeDelimited, _) => into.push((name, items.join("%7C"))),
                _ => into.push((name, items.join(","))),
            }
        }
        Value::Object(object) => match (style, explode) {
            (Style::DeepObject, _) => {
                let named = object.iter().filter(|(key, _)| parameter.takes_member(key));
                deep_members(&name, named, DEEPEST, into);
            }
            (Style::Form, true) => {
                let named = object.iter().filter(|(key, _)| parameter.names_member(key));
                let pairs =
                    named.filter_map(|(key, value)| Some((percent_encoded(key.as_bytes()), encoded(value)?)));
                into.extend(pairs);
            }
            _ => {
                let between = match style {
                    Style::SpaceDelimited => "%20",
                    Style::PipeDelimited => "%7C",
                    _ => ",",
                };
                let pairs = pairs(object);
                if !pairs.is_empty() {
                    into.push((name, joined(&pairs, between, between)));
                }
            }
        },
        value => into.extend(encoded(value).map(|text| (name, text))),
    }
}

fn deep_members<'v>(
    name: &str,
    members: impl IntoIterator<Item = (&'v String, &'v Value)>,
    deepest: usize,
    into: &mut Vec<(String, String)>,
) {
    // A bracket in a name would be read as another depth.
    for (key, value) in members.into_iter().filter(|(key, _)| !key.contains(['[', ']'])) {
        deep(&format!("{name}%5B{}%5D", percent_encoded(key.as_bytes())), value, deepest, into);
    }
}

fn deep_items(name: &str, items: &[Value], deepest: usize, into: &mut Vec<(String, String)>) {
    for (at, item) in items.iter().enumerate() {
        // Items that hold more are told apart by their place.
        match item {
            Value::Object(_) | Value::Array(_) => deep(&format!("{name}%5B{at}%5D"), item, deepest, into),
            item => deep(&format!("{name}%5B%5D"), item, deepest, into),
        }
    }
}

fn deep(name: &str, value: &Value, deepest: usize, into: &mut Vec<(String, String)>) {
    match (value, deepest.checked_sub(1)) {
        (Value::Object(object), Some(deepest)) => deep_members(name, object, deepest, into),
        (Value::Array(items), Some(deepest)) => deep_items(name, items, deepest, into),
        (value, _) => into.extend(encoded(value).map(|text| (name.to_owned(), text))),
    }
}

/// Names and values behind one another.
pub(crate) fn line(pairs: &[(String, String)]) -> String {
    joined(pairs, "=", "&")
}

/// True for JSON and the types that are written in it.
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json") || essence.to_ascii_lowercase().ends_with("+json")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"properties": {"R": {}, "G": {}, "B": {}, "a": {}, "b": {}, "d": {}}})
    }

    fn path(style: Style, explode: bool, value: &Value) -> String {
        match in_path(&Parameter::path("color", schema()).with_style(style, explode), value) {
            Ok(text) => text.unwrap(),
            Err(error) => error.for_model().to_owned(),
        }
    }

    fn query(style: Style, explode: bool, value: &Value) -> String {
        let mut pairs = Vec::new();
        let parameter = Parameter::query("color", schema()).with_style(style, explode);
        match in_query(&parameter, value, &mut pairs) {
            Ok(()) => line(&pairs),
            Err(error) => error.for_model().to_owned(),
        }
    }

    // The table "Style Examples" of OpenAPI 3.0.4, with delimiters encoded as 3.0.4 asks for.
    #[test]
    fn styles_of_openapi() {
        let (text, array, object) =
            (json!("blue"), json!(["blue", "black", "brown"]), json!({"R": 100, "G": 200, "B": 150}));
        use Style::{DeepObject, Form, Label, Matrix, PipeDelimited, Simple, SpaceDelimited};
        for (style, explode, of_text, of_array, of_object) in [
            (Matrix, false, ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
            (Matrix, true, ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
            (Label, false, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
            (Label, true, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
            (Simple, false, "blue", "blue,black,brown", "R,100,G,200,B,150"),
            (Simple, true, "blue", "blue,black,brown", "R=100,G=200,B=150"),
        ] {
            assert_eq!(path(style, explode, &text), of_text);
            assert_eq!(path(style, explode, &array), of_array);
            assert_eq!(path(style, explode, &object), of_object);
        }
        for (style, explode, value, written) in [
            (Form, true, &text, "color=blue"),
            (Form, false, &array, "color=blue,black,brown"),
            (Form, true, &array, "color=blue&color=black&color=brown"),
            (Form, false, &object, "color=R,100,G,200,B,150"),
            (Form, true, &object, "R=100&G=200&B=150"),
            (SpaceDelimited, false, &array, "color=blue%20black%20brown"),
            (SpaceDelimited, false, &object, "color=R%20100%20G%20200%20B%20150"),
            (PipeDelimited, false, &array, "color=blue%7Cblack%7Cbrown"),
            (PipeDelimited, false, &object, "color=R%7C100%7CG%7C200%7CB%7C150"),
            (DeepObject, true, &object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        ] {
            assert_eq!(query(style, explode, value), written, "{style:?} {explode}");
        }
    }

    #[test]
    fn deep_objects_hold_lists_and_objects() {
        let value = json!({"a": ["x", "y"], "b": [{"c": 1}], "d": null});
        assert_eq!(
            query(Style::DeepObject, true, &value),
            "color%5Ba%5D%5B%5D=x&color%5Ba%5D%5B%5D=y&color%5Bb%5D%5B0%5D%5Bc%5D=1"
        );
    }

    // A20
    #[test]
    fn members_of_an_object_add_no_parameter_that_is_not_declared() {
        let more = json!({"R": 1, "admin": "true", "none": null});
        let refused = "\"color\" has members that it cannot be sent with: \"admin\"";
        assert_eq!(query(Style::Form, true, &more), refused);
        // A path has parameters of its own.
        for style in [Style::Matrix, Style::Label] {
            assert_eq!(path(style, true, &more), refused);
        }
        assert_eq!(path(Style::Matrix, false, &more), ";color=R,1,admin,true");
        assert_eq!(path(Style::Simple, true, &more), "R=1,admin=true");
        let deep = query(Style::DeepObject, true, &json!({"R": {"a][b": 1, "c": 2}, "admin": 1}));
        assert_eq!(deep, "\"color\" has members that it cannot be sent with: \"admin\", \"a][b\"");
        let deepest = (0..DEEPEST).fold(json!({"a][b": 1}), |inside, _| json!({ "a": inside }));
        assert!(query(Style::DeepObject, true, &deepest).contains("cannot be sent with: \"a][b\""));
        let mut pairs = Vec::new();
        let open = json!({"type": "object", "properties": {"R": {}}, "additionalProperties": true});
        let open = Parameter::query("color", open).with_style(Style::DeepObject, true);
        in_query(&open, &json!({"any": 1}), &mut pairs).unwrap();
        assert_eq!(line(&pairs), "color%5Bany%5D=1");
    }

    // As schemars writes an object that may be left out.
    #[test]
    fn members_of_a_definition_can_be_sent() {
        let schema = json!({
            "properties": {"filter": {"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}]}},
            "$defs": {"Filter": {"type": "object", "properties": {"state": {"type": "string"}}}},
        });
        let endpoint = crate::Endpoint::get("list", "/").with_schema(schema);
        let mut pairs = Vec::new();
        let parameter = endpoint.parameters.first().unwrap();
        in_query(parameter, &json!({"state": "open"}), &mut pairs).unwrap();
        assert_eq!(line(&pairs), "state=open");
        assert!(in_query(parameter, &json!({"admin": "true"}), &mut pairs).is_err());
    }

    #[test]
    fn nothing_is_written_for_null_and_nothing() {
        for nothing in [json!(null), json!([]), json!([null]), json!({})] {
            assert_eq!(query(Style::Form, true, &nothing), "");
            assert_eq!(query(Style::Form, false, &nothing), "");
            assert!(in_path(&Parameter::path("x", json!({})), &nothing).unwrap().is_none());
        }
        assert!(in_path(&Parameter::path("x", json!({})), &json!("")).unwrap().is_none());
    }
}
