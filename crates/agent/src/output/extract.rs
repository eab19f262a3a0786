//! Finds the value that an answer's text holds.

use attache_core::structured::{OutputSchema, StructuredError};
use serde_json::{Deserializer, Value};

/// The number of places of a text where a value is looked for.
const MAX_PLACES: usize = 64;

/// The value in a text: all of it, the inside of a fence, or the last JSON in it that fits.
///
/// # Errors
/// The fault of the JSON that was found, or else of the text.
pub(super) fn find(schema: &OutputSchema, text: &str) -> Result<Value, StructuredError> {
    let whole = schema.read(text);
    let Err(StructuredError::NotJson(_)) = &whole else { return whole };
    let mut found = whole;
    for inside in fenced(text).take(MAX_PLACES) {
        match schema.read(inside) {
            Err(StructuredError::NotJson(_)) => {}
            Err(_) if found.is_ok() => {}
            read => found = read,
        }
    }
    if found.is_ok() {
        return found;
    }
    let mut rest = text;
    for _ in 0..MAX_PLACES {
        let Some(place) = rest.find(['{', '[']) else { break };
        rest = rest.get(place..).unwrap_or_default();
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let read = values.next();
        let length = match read {
            Some(Ok(value)) => {
                let length = values.byte_offset();
                match schema.fitted(value) {
                    Ok(value) => found = Ok(value),
                    Err(error) if found.is_err() => found = Err(error),
                    Err(_) => {}
                }
                length
            }
            _ => 1,
        };
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    found
}

/// The insides of the fences in a text, without the words behind their openings.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split("```").skip(1).step_by(2);
    pieces.filter_map(|piece| piece.split_once('\n').map(|(_, inside)| inside))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> OutputSchema {
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
            "additionalProperties": false})
        .into()
    }

    #[test]
    fn a_value_is_found_in_what_models_write_around_it() {
        for text in [
            "{\"n\": 7}",
            " \n{\"n\": \"7\"}\n",
            "```json\n{\"n\": 7}\n```",
            "Here it is:\n```\n{\"n\": 7}\n```\nAnything else?",
            "Such as {\"n\": 1}, but really {\"n\": 7}.",
            "I read {a}, [b] and {\"m\": 1}: {\"n\": 7}",
            "{\"n\": 7} {\"other\": true}",
        ] {
            assert_eq!(find(&schema(), text), Ok(json!({"n": 7})), "{text}");
        }
        let word: OutputSchema = json!({"type": "string"}).into();
        assert_eq!(find(&word, "So:\n```json\n\"K\"\n```"), Ok(json!("K")));
    }

    #[test]
    fn a_text_without_the_value_says_what_does_not_fit() {
        assert!(matches!(find(&schema(), "I cannot."), Err(StructuredError::NotJson(_))));
        assert!(matches!(find(&schema(), "Look: {\"n\": \"x\"}"), Err(StructuredError::Unfit(_))));
        assert!(matches!(find(&schema(), "```\n{\"m\": 1}\n```"), Err(StructuredError::Unfit(_))));
    }

    #[test]
    fn hostile_texts_end_soon() {
        for text in ["[".repeat(200_000), "{".repeat(200_000), "{\"a\":".repeat(50_000), "```".repeat(50_000)]
        {
            assert!(find(&schema(), &text).is_err());
        }
    }
}
