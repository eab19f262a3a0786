//! How reasoning is switched, as data.

use std::collections::BTreeMap;

use attache_core::Effort;
use attache_core::json::merge_members;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The members of a request body by which reasoning is switched. Which of them a model knows is a matter of its
/// capabilities: `off`, `effort`, `budget`, and `adaptive` for what is only switched on.
///
/// A path names a member, and with dots a member of a member: `reasoning.effort`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Thinking {
    /// The members that switch it off. Where none are given, the word `none` as an effort does.
    pub off: Map<String, Value>,
    /// The members that switch it on; they also stand beside an effort or a budget.
    pub on: Map<String, Value>,
    /// The path of the effort.
    pub effort: String,
    /// The server's words for efforts, where they are not `minimal`, `low`, `medium`, `high`, `xhigh` and `max`.
    pub words: BTreeMap<Effort, String>,
    /// The path of the budget in tokens.
    pub budget: String,
}

impl Default for Thinking {
    fn default() -> Self {
        Self {
            off: Map::new(),
            on: Map::new(),
            effort: "reasoning_effort".to_owned(),
            words: BTreeMap::new(),
            budget: String::new(),
        }
    }
}

impl Thinking {
    /// Writes what switches reasoning off.
    pub(crate) fn write_off(&self, body: &mut Map<String, Value>) {
        if self.off.is_empty() {
            put(body, &self.effort, Value::from("none"));
        } else {
            merge_members(body, &self.off);
        }
    }

    /// Writes what switches it on.
    pub(crate) fn write_on(&self, body: &mut Map<String, Value>) {
        merge_members(body, &self.on);
    }

    /// Writes an effort.
    pub(crate) fn write_effort(&self, effort: Effort, body: &mut Map<String, Value>) {
        self.write_on(body);
        let word = self.words.get(&effort).map_or(effort.as_str(), String::as_str);
        put(body, &self.effort, Value::from(word));
    }

    /// Writes a budget.
    pub(crate) fn write_budget(&self, tokens: u32, body: &mut Map<String, Value>) {
        self.write_on(body);
        put(body, &self.budget, Value::from(tokens));
    }
}

/// Sets the member at a path, making the objects on the way.
fn put(body: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        _ if path.is_empty() => {}
        None => {
            body.insert(path.to_owned(), value);
        }
        Some((name, rest)) => {
            let inner = body.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(thinking: &Value, write: impl FnOnce(&Thinking, &mut Map<String, Value>)) -> Value {
        let thinking: Thinking = serde_json::from_value(thinking.clone()).unwrap();
        let mut body = json!({"thinking": {"clear_thinking": false}}).as_object().unwrap().clone();
        write(&thinking, &mut body);
        Value::Object(body)
    }

    // openai.md C.1, C.2, C.5, C.9
    #[test]
    fn members_are_set_in_their_places() {
        let typed =
            json!({"off": {"thinking": {"type": "disabled"}}, "on": {"thinking": {"type": "enabled"}}});
        assert_eq!(
            body(&typed, |thinking, body| thinking.write_off(body)),
            json!({"thinking": {"clear_thinking": false, "type": "disabled"}})
        );
        assert_eq!(
            body(&typed, |thinking, body| thinking.write_effort(Effort::XHigh, body)),
            json!({"thinking": {"clear_thinking": false, "type": "enabled"}, "reasoning_effort": "xhigh"})
        );
        let nested = json!({"effort": "reasoning.effort", "words": {"x_high": "max"}, "budget": "reasoning.max_tokens"});
        let reasoning =
            |write: fn(&Thinking, &mut Map<String, Value>)| body(&nested, write)["reasoning"].clone();
        assert_eq!(
            reasoning(|thinking, body| thinking.write_effort(Effort::XHigh, body)),
            json!({"effort": "max"})
        );
        assert_eq!(reasoning(|thinking, body| thinking.write_budget(9, body)), json!({"max_tokens": 9}));
        assert_eq!(reasoning(|thinking, body| thinking.write_off(body)), json!({"effort": "none"}));
    }
}
