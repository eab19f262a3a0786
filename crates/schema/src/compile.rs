//! Reads a schema once.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::error::SchemaError;
use super::keywords::{Keywords, Place, Read, escaped, strings};
use super::pattern::{MAX_COMPILED, Pattern};
use super::rules::{ArrayRules, Condition, Contains, Id, Node, ObjectRules, Properties, Rules};
use super::schema::{Schema, Unchecked};
use super::values::Choices;

/// Levels of nesting.
const MAX_DEPTH: usize = 64;
/// Schemas inside a schema.
const MAX_NODES: usize = 20_000;
/// Bytes of the name and of the value of a tag.
const MAX_TAG: usize = 256;
/// Bytes of the pointers of all schemas: a long name stands in the pointer of each schema below it.
const MAX_POINTERS: usize = 16 << 20;

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`] for malformed keywords, references that lead outside the schema, to nothing or endlessly back to
    /// themselves, and schemas beyond the limits (64 levels, 20,000 schemas, 16 MiB of their pointers).
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        compile_indexed(schema).map(|(schema, _)| schema)
    }
}

/// Compiles a schema, with the number of each schema inside it by its pointer.
pub(crate) fn compile_indexed(root: &Value) -> Result<(Schema, HashMap<String, Id>), SchemaError> {
    let mut reader = Reader {
        root,
        ids: HashMap::new(),
        waiting: VecDeque::new(),
        named: HashMap::new(),
        nodes: Vec::new(),
        tracks: false,
        unchecked: Vec::new(),
        values: 20 * MAX_NODES,
        pointers: MAX_POINTERS,
        patterns: MAX_COMPILED,
    };
    let mut place = Place { pointer: String::new(), base: String::new(), depth: 0 };
    reader.find_names(&mut place, root)?;
    reader.id(&place, root)?;
    while let Some((id, place, schema)) = reader.waiting.pop_front() {
        let node = reader.node(&place, schema)?;
        if let Some(slot) = reader.nodes.get_mut(id) {
            *slot = node;
        }
    }
    let Reader { nodes, tracks, unchecked, ids, .. } = reader;
    endless(&nodes)?;
    let mut schema = Schema { nodes, tracks, unchecked };
    find_tags(&mut schema);
    Ok((schema, ids))
}

/// Notes which properties have one value, where that and the name are short.
fn find_tags(schema: &mut Schema) {
    let tags_of = |rules: &ObjectRules| {
        let is_tag = |value: &Value| match value {
            Value::String(text) => text.len() <= MAX_TAG,
            value => !value.is_array() && !value.is_object(),
        };
        let tag = |(name, id): (&str, Id)| {
            let only = schema.rules(id)?.only_value().filter(|only| name.len() <= MAX_TAG && is_tag(only))?;
            Some((name.to_owned(), only.clone()))
        };
        rules.properties.iter().filter_map(tag).collect::<Vec<_>>()
    };
    let of_node = |node: &Node| match node {
        Node::Rules(rules) => rules.object.as_deref().map(tags_of).unwrap_or_default(),
        Node::Anything | Node::Nothing => Vec::new(),
    };
    let tags: Vec<Vec<(String, Value)>> = schema.nodes.iter().map(of_node).collect();
    for (node, tags) in schema.nodes.iter_mut().zip(tags) {
        if let Node::Rules(rules) = node
            && let Some(object) = &mut rules.object
        {
            object.tags = tags;
        }
    }
}

struct Reader<'s> {
    root: &'s Value,
    /// The schemas that were read already, by pointer.
    ids: HashMap<String, Id>,
    waiting: VecDeque<(Id, Place, &'s Value)>,
    /// Pointers of schemas with a name of their own: an `$id`, or a base and an anchor.
    named: HashMap<String, String>,
    nodes: Vec<Node>,
    tracks: bool,
    unchecked: Vec<Unchecked>,
    /// The values that may still be looked through for names; each schema holds some members and lists beside its
    /// schemas.
    values: usize,
    /// The bytes that pointers and compiled patterns may still have.
    pointers: usize,
    patterns: usize,
}

impl<'s> Reader<'s> {
    /// Notes what references may name. Names are looked for in all objects; those in data do no harm.
    fn find_names(&mut self, place: &mut Place, value: &Value) -> Read<()> {
        if place.depth > 4 * MAX_DEPTH || self.values == 0 {
            return Err(place.error("it is too large or nested too deep"));
        }
        self.values -= 1;
        let mut outer = None;
        if let Some(id) = value.get("$id").and_then(Value::as_str) {
            self.spend(place, 2 * place.pointer.len())?;
            outer = Some(std::mem::replace(&mut place.base, place.pointer.clone()));
            self.named.entry(id.trim_end_matches('#').to_owned()).or_insert_with(|| place.pointer.clone());
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = value.get(keyword).and_then(Value::as_str) {
                self.spend(place, place.pointer.len() + place.base.len())?;
                let name = format!("{}#{anchor}", place.base);
                self.named.entry(name).or_insert_with(|| place.pointer.clone());
            }
        }
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    self.find_names_below(place, &escaped(name), value)?;
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    self.find_names_below(place, &at.to_string(), value)?;
                }
            }
            _ => {}
        }
        if let Some(outer) = outer {
            place.base = outer;
        }
        Ok(())
    }

    fn find_names_below(&mut self, place: &mut Place, name: &str, value: &Value) -> Read<()> {
        let length = place.pointer.len();
        place.pointer.push('/');
        place.pointer.push_str(name);
        place.depth += 1;
        self.find_names(place, value)?;
        place.depth -= 1;
        place.pointer.truncate(length);
        Ok(())
    }

    /// Takes bytes of pointers.
    fn spend(&mut self, place: &Place, bytes: usize) -> Read<()> {
        let left = self.pointers.checked_sub(bytes);
        self.pointers = left.ok_or_else(|| {
            // The place alone may be too long to be read.
            let pointer = super::words::cut(&place.pointer, 200);
            SchemaError { pointer, problem: "the names of its schemas are too long together".to_owned() }
        })?;
        Ok(())
    }

    /// The number of the schema at a place; it is read later, if it was not before.
    fn id(&mut self, place: &Place, schema: &'s Value) -> Read<Id> {
        if let Some(id) = self.ids.get(&place.pointer) {
            return Ok(*id);
        }
        if place.depth > MAX_DEPTH {
            return Err(place.error(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        let id = self.nodes.len();
        if id >= MAX_NODES {
            return Err(place.error(format!("there are more than {MAX_NODES} schemas")));
        }
        self.spend(place, place.pointer.len() + place.base.len())?;
        self.nodes.push(Node::Anything);
        self.ids.insert(place.pointer.clone(), id);
        let place = Place { depth: place.depth + 1, ..place.clone() };
        self.waiting.push_back((id, place, schema));
        Ok(id)
    }

    fn node(&mut self, place: &Place, schema: &'s Value) -> Read<Node> {
        let members = match schema {
            Value::Bool(true) => return Ok(Node::Anything),
            Value::Bool(false) => return Ok(Node::Nothing),
            Value::Object(members) => members,
            _ => return Err(place.error("a schema must be an object, true or false")),
        };
        let mut place = place.clone();
        if members.get("$id").is_some_and(Value::is_string) {
            place.base.clone_from(&place.pointer);
        }
        let place = &place;
        let keywords = Keywords { place, members };
        let mut rules = Rules { kinds: keywords.kinds()?, ..Rules::default() };
        rules.constant = keywords.get("const").cloned();
        rules.choices = keywords.list("enum")?.map(|choices| Choices::new(choices.to_vec()));
        rules.reference = self.reference(&keywords)?;
        rules.all_of = self.schemas(&keywords, "allOf")?;
        rules.any_of = self.schemas(&keywords, "anyOf")?;
        rules.one_of = self.schemas(&keywords, "oneOf")?;
        rules.not = self.schema(&keywords, "not")?;
        if let Some(when) = self.schema(&keywords, "if")? {
            let (then, otherwise) = (self.schema(&keywords, "then")?, self.schema(&keywords, "else")?);
            rules.condition = Some(Condition { when, then, otherwise });
        }
        rules.numbers = keywords.numbers(rules.kinds)?;
        rules.min_length = keywords.count("minLength")?;
        rules.max_length = keywords.count("maxLength")?;
        if let Some(text) = keywords.text("pattern")? {
            rules.pattern = Some(self.pattern(place, "pattern", text));
        }
        rules.object = self.object(&keywords)?;
        rules.array = self.array(&keywords)?;
        Ok(Node::Rules(Box::new(rules)))
    }

    fn object(&mut self, keywords: &Keywords<'_, 's>) -> Read<Option<Box<ObjectRules>>> {
        const KEYWORDS: [&str; 11] = [
            "properties",
            "required",
            "patternProperties",
            "additionalProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
            "unevaluatedProperties",
        ];
        if !KEYWORDS.iter().any(|keyword| keywords.get(keyword).is_some()) {
            return Ok(None);
        }
        let mut rules = ObjectRules {
            required: keywords.names("required")?,
            additional: self.schema(keywords, "additionalProperties")?,
            names: self.schema(keywords, "propertyNames")?,
            min: keywords.count("minProperties")?,
            max: keywords.count("maxProperties")?,
            unevaluated: self.schema(keywords, "unevaluatedProperties")?,
            ..ObjectRules::default()
        };
        self.tracks |= rules.unevaluated.is_some();
        let named = self.map(keywords, "properties")?;
        rules.properties =
            Properties::new(named.into_iter().map(|(name, id)| (Box::from(name), id)).collect());
        for (text, id) in self.map(keywords, "patternProperties")? {
            rules.by_pattern.push((self.pattern(keywords.place, "patternProperties", text), id));
        }
        for (name, id) in self.map(keywords, "dependentSchemas")? {
            rules.dependent_schemas.push((name.to_owned(), id));
        }
        // Older drafts have one keyword for both.
        for keyword in ["dependentRequired", "dependencies"] {
            for (name, value) in keywords.object(keyword)? {
                let below = || keywords.place.below(keyword).below(name);
                match value {
                    Value::Array(names) => {
                        rules.dependent_required.push((name.clone(), strings(names, below)?));
                    }
                    schema if keyword == "dependencies" => {
                        rules.dependent_schemas.push((name.clone(), self.id(&below(), schema)?));
                    }
                    _ => return Err(below().error("it must be a list of names")),
                }
            }
        }
        rules.cost = rules.cost_of_names();
        Ok(Some(Box::new(rules)))
    }

    fn array(&mut self, keywords: &Keywords<'_, 's>) -> Read<Option<Box<ArrayRules>>> {
        const KEYWORDS: [&str; 7] =
            ["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"];
        if !KEYWORDS.iter().any(|keyword| keywords.get(keyword).is_some()) {
            return Ok(None);
        }
        let mut rules = ArrayRules {
            prefix: self.schemas(keywords, "prefixItems")?,
            min: keywords.count("minItems")?,
            max: keywords.count("maxItems")?,
            unique: keywords.get("uniqueItems") == Some(&Value::Bool(true)),
            unevaluated: self.schema(keywords, "unevaluatedItems")?,
            ..ArrayRules::default()
        };
        self.tracks |= rules.unevaluated.is_some();
        // Older drafts have a list here, and what follows it in `additionalItems`.
        if keywords.get("items").is_some_and(Value::is_array) {
            rules.prefix = self.schemas(keywords, "items")?;
            rules.items = self.schema(keywords, "additionalItems")?;
        } else {
            rules.items = self.schema(keywords, "items")?;
        }
        if let Some(schema) = self.schema(keywords, "contains")? {
            let min = keywords.count("minContains")?.unwrap_or(1);
            rules.contains = Some(Contains { schema, min, max: keywords.count("maxContains")? });
        }
        Ok(Some(Box::new(rules)))
    }

    fn pattern(&mut self, place: &Place, keyword: &'static str, text: &str) -> Pattern {
        let (pattern, problem) = Pattern::new(text, &mut self.patterns);
        if let Some(why) = problem {
            self.unchecked.push(Unchecked { pointer: place.pointer.clone(), keyword, why });
        }
        pattern
    }

    /// The schema under a keyword.
    fn schema(&mut self, keywords: &Keywords<'_, 's>, keyword: &str) -> Read<Option<Id>> {
        let Some(schema) = keywords.get(keyword) else { return Ok(None) };
        self.id(&keywords.place.below(keyword), schema).map(Some)
    }

    /// The list of schemas under a keyword.
    fn schemas(&mut self, keywords: &Keywords<'_, 's>, keyword: &str) -> Read<Vec<Id>> {
        let Some(list) = keywords.list(keyword)? else { return Ok(Vec::new()) };
        let place = keywords.place.below(keyword);
        list.iter().enumerate().map(|(at, schema)| self.id(&place.below(&at.to_string()), schema)).collect()
    }

    /// The named schemas under a keyword.
    fn map(&mut self, keywords: &Keywords<'_, 's>, keyword: &str) -> Read<Vec<(&'s str, Id)>> {
        let mut named = keywords.object(keyword)?.peekable();
        if named.peek().is_none() {
            return Ok(Vec::new());
        }
        let place = keywords.place.below(keyword);
        named.map(|(name, schema)| Ok((name.as_str(), self.id(&place.below(name), schema)?))).collect()
    }

    fn reference(&mut self, keywords: &Keywords<'_, 's>) -> Read<Option<Id>> {
        let place = keywords.place;
        // A dynamic one stands for the same where nothing is fetched.
        let given = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().find_map(|name| keywords.get(name));
        let Some(given) = given else { return Ok(None) };
        let Some(reference) = given.as_str() else { return Err(place.error("$ref must be a text")) };
        let shown = super::words::cut(reference, 80);
        let Some((pointer, base)) = self.resolve(place, reference) else {
            return Err(place.error(format!("the reference {shown} is not in the schema")));
        };
        self.spend(place, pointer.len() + base.len())?;
        let Some(schema) = self.root.pointer(&pointer) else {
            return Err(place.error(format!("the reference {shown} leads nowhere in the schema")));
        };
        // The depth of a schema says nothing when it is referred to.
        self.id(&Place { pointer, base, depth: 0 }, schema).map(Some)
    }

    /// The pointer of what a reference names, and the base that holds there.
    fn resolve(&self, place: &Place, reference: &str) -> Option<(String, String)> {
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = match resource {
            "" => place.base.clone(),
            named => self.named.get(named)?.clone(),
        };
        let fragment = unescaped(fragment)?;
        if fragment.is_empty() {
            return Some((base.clone(), base));
        }
        if fragment.starts_with('/') {
            let inside = format!("{base}{fragment}");
            // Many give a part an `$id` and still refer to what stands at the root.
            let found = self.root.pointer(&inside).is_some();
            return Some(if found { (inside, base) } else { (fragment, String::new()) });
        }
        let pointer = self.named.get(&format!("{base}#{fragment}"))?;
        Some((pointer.clone(), base))
    }
}

/// Refuses schemas that hold a value against themselves before they look into it.
fn endless(nodes: &[Node]) -> Result<(), SchemaError> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Closed,
    }
    let mut states = vec![State::New; nodes.len()];
    for start in 0..nodes.len() {
        let mut path = vec![(start, false)];
        while let Some((id, left)) = path.pop() {
            let Some(state) = states.get_mut(id) else { continue };
            if left {
                *state = State::Closed;
                continue;
            }
            match *state {
                State::Closed => continue,
                State::Open => {
                    let problem = "a reference leads back to itself without end".to_owned();
                    return Err(SchemaError { pointer: String::new(), problem });
                }
                State::New => *state = State::Open,
            }
            path.push((id, true));
            if let Some(Node::Rules(rules)) = nodes.get(id) {
                path.extend(rules.in_place().map(|next| (next, false)));
            }
        }
    }
    Ok(())
}

/// A fragment without its percent signs; `None` if it is no text.
fn unescaped(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}
