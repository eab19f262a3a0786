//! The differences between two JSON values, by pointer.

use std::fmt;

use serde_json::Value;

/// The maximum number of differences that are listed.
const MAX: usize = 100;

/// A place where two JSON values differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The JSON pointer of the place.
    pub pointer: String,
    /// The value that was expected there, `None` where nothing was.
    pub expected: Option<Value>,
    /// The value that is there, `None` where nothing is.
    pub actual: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        write!(f, "{}: expected {}, got {}", self.pointer, show(&self.expected), show(&self.actual))
    }
}

/// Compares two JSON values; the order of members does not matter, the order of items does.
///
/// A value at or below an ignored pointer is not compared; a segment `*` of such a pointer stands for any
/// member or item. At most 100 differences are listed.
pub fn json_differences(expected: &Value, actual: &Value, ignored: &[String]) -> Vec<Difference> {
    let ignored: Vec<Vec<String>> = ignored.iter().map(|pointer| segments(pointer)).collect();
    let mut found = Vec::new();
    compare(Some(expected), Some(actual), &mut Vec::new(), &ignored, &mut found);
    found
}

fn segments(pointer: &str) -> Vec<String> {
    // The empty pointer is that of the whole value.
    if pointer.is_empty() {
        return Vec::new();
    }
    let names = pointer.strip_prefix('/').unwrap_or(pointer).split('/');
    names.map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()
}

fn compare(
    expected: Option<&Value>,
    actual: Option<&Value>,
    at: &mut Vec<String>,
    ignored: &[Vec<String>],
    found: &mut Vec<Difference>,
) {
    let skip = |pattern: &Vec<String>| {
        pattern.len() == at.len() && pattern.iter().zip(at.iter()).all(|(want, is)| want == "*" || want == is)
    };
    if found.len() >= MAX || expected == actual || ignored.iter().any(skip) {
        return;
    }
    let mut child = |key: String, expected: Option<&Value>, actual: Option<&Value>, at: &mut Vec<String>| {
        at.push(key);
        compare(expected, actual, at, ignored, found);
        at.pop();
    };
    match (expected, actual) {
        (Some(Value::Object(wanted)), Some(Value::Object(given))) => {
            for (key, value) in wanted {
                child(key.clone(), Some(value), given.get(key), at);
            }
            for (key, value) in given.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
                child(key.clone(), None, Some(value), at);
            }
        }
        (Some(Value::Array(wanted)), Some(Value::Array(given))) => {
            for index in 0..wanted.len().max(given.len()) {
                child(index.to_string(), wanted.get(index), given.get(index), at);
            }
        }
        _ => {
            let escaped = at.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1")));
            found.push(Difference {
                pointer: escaped.collect(),
                expected: expected.cloned(),
                actual: actual.cloned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::json_differences;

    #[test]
    fn differences_are_found_by_pointer() {
        let expected = json!({"a": [1, {"b/c": 2}], "gone": true, "same": null});
        let actual = json!({"same": null, "a": [1, {"b/c": 3}, 4], "new": 0});
        let found = json_differences(&expected, &actual, &[]);
        let pointers: Vec<&str> = found.iter().map(|difference| difference.pointer.as_str()).collect();
        assert_eq!(pointers, ["/a/1/b~1c", "/a/2", "/gone", "/new"]);
        assert_eq!(found[0].to_string(), "/a/1/b~1c: expected 2, got 3");
        assert_eq!(found[2].to_string(), "/gone: expected true, got nothing");
    }

    #[test]
    fn ignored_pointers_take_wildcards() {
        let expected = json!({"messages": [{"id": "a", "x": 1}, {"id": "b", "x": 2}]});
        let actual = json!({"messages": [{"id": "c", "x": 1}, {"id": "d", "x": 3}]});
        let found = json_differences(&expected, &actual, &["/messages/*/id".to_owned()]);
        assert_eq!(found.len(), 1);
        assert_eq!(json_differences(&expected, &actual, &["/messages".to_owned()]), []);
        assert_eq!(json_differences(&expected, &actual, &[String::new()]), []);
    }
}
