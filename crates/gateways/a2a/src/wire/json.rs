//! JSON that is looked at in place: its containers are found once, in one pass without recursion, so that any part of it
//! is reached in time that does not grow with what is nested beside or around it.

use serde::de::IgnoredAny;

/// More containers than these are not looked at.
const MOST_CONTAINERS: usize = 2_000_000;

/// A well-formed JSON text with the places of its containers.
#[derive(Debug)]
pub(crate) struct Json<'a> {
    text: &'a str,
    /// Begin and end of each array and object, by their begin.
    containers: Vec<(u32, u32)>,
}

/// A value in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'j> {
    json: &'j Json<'j>,
    start: usize,
    end: usize,
}

impl<'a> Json<'a> {
    /// Reads a text; `None` for what is no JSON, or too much.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim();
        u32::try_from(text.len()).ok()?;
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        let mut containers: Vec<(u32, u32)> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let (mut in_text, mut escaped) = (false, false);
        for (at, byte) in text.bytes().enumerate() {
            let place = u32::try_from(at).ok()?;
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_text => escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'[' | b'{' => {
                    if containers.len() >= MOST_CONTAINERS {
                        return None;
                    }
                    open.push(containers.len());
                    containers.push((place, place));
                }
                b']' | b'}' => containers.get_mut(open.pop()?)?.1 = place + 1,
                _ => {}
            }
        }
        Some(Self { text, containers })
    }

    /// All of it.
    pub(crate) fn root(&self) -> Node<'_> {
        Node { json: self, start: 0, end: self.text.len() }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The place of the next byte that is no white space, nor a comma or colon.
    fn skip(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')) {
            at += 1;
        }
        at
    }

    /// The value that begins there.
    fn value(&self, start: usize) -> Option<Node<'_>> {
        let end = match self.byte(start)? {
            b'[' | b'{' => {
                let place = u32::try_from(start).ok()?;
                let found = self.containers.binary_search_by_key(&place, |(start, _)| *start).ok()?;
                self.containers.get(found)?.1 as usize
            }
            b'"' => {
                let mut at = start + 1;
                loop {
                    match self.byte(at)? {
                        b'\\' => at += 2,
                        b'"' => break at + 1,
                        _ => at += 1,
                    }
                }
            }
            b']' | b'}' => return None,
            _ => {
                let rest = self.text.get(start..)?;
                let length = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
                start + length
            }
        };
        Some(Node { json: self, start, end })
    }
}

impl<'j> Node<'j> {
    /// The text of the value.
    pub(crate) fn raw(self) -> &'j str {
        self.json.text.get(self.start..self.end).unwrap_or_default()
    }

    /// The place of the value in the text.
    pub(crate) fn place(self) -> std::ops::Range<usize> {
        self.start..self.end
    }

    fn begins(self, with: u8) -> bool {
        self.json.byte(self.start) == Some(with)
    }

    /// The value itself, if it is an object.
    pub(crate) fn object(self) -> Option<Self> {
        self.begins(b'{').then_some(self)
    }

    /// The value of a string.
    pub(crate) fn text(self) -> Option<String> {
        self.begins(b'"').then(|| serde_json::from_str(self.raw()).ok()).flatten()
    }

    /// True for `true`.
    pub(crate) fn is_true(self) -> bool {
        self.raw() == "true"
    }

    /// The items of an array; none of anything else.
    pub(crate) fn items(self) -> Values<'j> {
        Values { json: self.json, at: self.start + 1, is_over: !self.begins(b'[') }
    }

    /// The member of that name, of an object. The last one counts, as it does to most readers.
    pub(crate) fn get(self, name: &str) -> Option<Self> {
        let mut values = Values { json: self.json, at: self.start + 1, is_over: !self.begins(b'{') };
        let mut found = None;
        while let (Some(key), Some(value)) = (values.next(), values.next()) {
            let inside = key.raw().get(1..key.raw().len().saturating_sub(1)).unwrap_or_default();
            // A text with escapes is another one than it looks like.
            let is_named = match inside.contains('\\') {
                true => key.text().as_deref() == Some(name),
                false => inside == name,
            };
            if is_named {
                found = Some(value);
            }
        }
        found
    }
}

/// Values one behind the other: items, or names and values in turn.
#[derive(Clone, Debug)]
pub(crate) struct Values<'j> {
    json: &'j Json<'j>,
    at: usize,
    is_over: bool,
}

impl<'j> Iterator for Values<'j> {
    type Item = Node<'j>;

    fn next(&mut self) -> Option<Node<'j>> {
        if self.is_over {
            return None;
        }
        let value = self.json.value(self.json.skip(self.at));
        match &value {
            Some(value) => self.at = value.end,
            None => self.is_over = true,
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The same value by way of nodes.
    fn rebuilt(node: Node<'_>) -> Value {
        if node.object().is_some() {
            let names: serde_json::Map<String, Value> = serde_json::from_str(node.raw()).unwrap();
            let members = names.keys().map(|name| (name.clone(), rebuilt(node.get(name).unwrap())));
            return Value::Object(members.collect());
        }
        match node.begins(b'[') {
            true => node.items().map(rebuilt).collect(),
            false => serde_json::from_str(node.raw()).unwrap(),
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~é\"\\\\\n]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map("[a-c\"\\\\{},:]{0,3}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nodes_are_the_values_of_the_text(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            prop_assert_eq!(rebuilt(Json::read(&text).unwrap().root()), value);
        }

        #[test]
        fn texts_that_are_no_json_are_none(text in "[\\[\\]{}\":,a0 ]{0,40}") {
            let known = serde_json::from_str::<Value>(&text).is_ok();
            prop_assert_eq!(Json::read(&text).is_some(), known);
        }
    }

    #[test]
    fn names_are_read_with_their_escapes() {
        let json = Json::read(r#"{"\u0061":1,"b":{"a":2},"c":"a"}"#).unwrap();
        assert_eq!(json.root().get("a").unwrap().raw(), "1");
        assert!(json.root().get("d").is_none() && json.root().get("c").unwrap().get("a").is_none());
        let quotes = Json::read(r#"{"\\\"":1,"\"":2}"#).unwrap();
        assert_eq!(quotes.root().get("\\\"").unwrap().raw(), "1");
        assert_eq!(rebuilt(json.root().get("b").unwrap()), json!({"a": 2}));
    }
}
