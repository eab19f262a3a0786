//! Which schemas take `null`.

use std::collections::HashMap;

use serde_json::Value;

use super::merge::resolve;

/// References and branches inside each other that are looked into.
const MAX_HOPS: usize = 8;

/// Knows of references what they lead to.
pub(super) struct Nulls<'s> {
    root: &'s Value,
    /// True if the schema at that address takes `null`, as far as that many hops tell.
    known: HashMap<(usize, usize), bool>,
}

impl<'s> Nulls<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, known: HashMap::new() }
    }

    /// True if a schema takes `null`.
    pub(super) fn takes(&mut self, schema: &Value) -> bool {
        self.takes_within(schema, MAX_HOPS)
    }

    fn takes_within(&mut self, schema: &Value, hops: usize) -> bool {
        let (Value::Object(members), Some(hops)) = (schema, hops.checked_sub(1)) else {
            return *schema == Value::Bool(true);
        };
        let list = |keyword: &str| members.get(keyword).and_then(Value::as_array);
        let own = match members.get("type") {
            None => true,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
            Some(kind) => kind == "null" || members.get("nullable") == Some(&Value::Bool(true)),
        };
        own && list("enum").is_none_or(|values| values.contains(&Value::Null))
            && members.get("const").is_none_or(Value::is_null)
            && ["anyOf", "oneOf"]
                .into_iter()
                .filter_map(list)
                .all(|list| list.iter().any(|part| self.takes_within(part, hops)))
            && list("allOf").is_none_or(|list| list.iter().all(|part| self.takes_within(part, hops)))
            && members.get("$ref").is_none_or(|target| self.leads_there(target, hops))
    }

    fn leads_there(&mut self, reference: &Value, hops: usize) -> bool {
        let Ok(target) = resolve(self.root, reference, "") else { return true };
        let key = (std::ptr::from_ref(target).addr(), hops);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let takes = self.takes_within(target, hops);
        self.known.insert(key, takes);
        takes
    }
}
