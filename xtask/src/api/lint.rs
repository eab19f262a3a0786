//! Rules for what is public, held against rustdoc's JSON. Clippy has the one on enums (`exhaustive_enums`).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::shell::Failure;

/// Whose types may stand in public signatures, the standard library and our own crates apart (docs/ARCHITECTURE.md,
/// "Serialisation").
const FOREIGN: [&str; 7] = ["http", "bytes", "serde", "serde_core", "serde_json", "futures_core", "schemars"];

const STANDARD: [&str; 4] = ["std", "core", "alloc", "proc_macro"];

/// Prefixes of conversions, and how they take `self`: by what they cost.
const CONVERSIONS: [(&str, &[Receiver]); 3] = [
    ("as_", &[Receiver::Shared, Receiver::Exclusive, Receiver::Copied]),
    ("to_", &[Receiver::Shared, Receiver::Copied]),
    ("into_", &[Receiver::Owned, Receiver::Copied]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiver {
    None,
    Owned,
    /// By value, which costs nothing.
    Copied,
    Shared,
    Exclusive,
}

/// The deliberate exceptions: a rule, an item and the reason in each line. An item that ends with `*` stands for all
/// whose path begins so.
pub(super) struct Exceptions {
    lines: Vec<(String, String)>,
    met: BTreeSet<usize>,
}

impl Exceptions {
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(file)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let read = |line: &str| {
            let mut words = line.split_whitespace();
            let (rule, item) = (words.next()?.to_owned(), words.next()?.to_owned());
            // The reason.
            words.next().map(|_| (rule, item))
        };
        let lines = lines
            .map(|line| read(line).ok_or_else(|| format!("`{line}` is no rule, item and reason")))
            .collect::<Result<_, _>>()?;
        Ok(Self { lines, met: BTreeSet::new() })
    }

    fn has(&mut self, rule: &str, item: &str) -> bool {
        let names = |name: &str| match name.strip_suffix('*') {
            Some(beginning) => item.starts_with(beginning),
            None => name == item,
        };
        let found = self.lines.iter().position(|(known, name)| known == rule && names(name));
        self.met.extend(found);
        found.is_some()
    }

    pub(super) fn unused(&self) -> Vec<String> {
        let lines = self.lines.iter().enumerate().filter(|(at, _)| !self.met.contains(at));
        lines
            .map(|(_, (rule, item))| format!("nothing breaks {rule} at {item}: the exception can go"))
            .collect()
    }
}

/// Every broken rule of a crate, in a line each.
pub(super) fn problems(json: &Value, exceptions: &mut Exceptions) -> Vec<String> {
    let mut found = Found { json, exceptions, problems: BTreeSet::new() };
    let items = json.get("index").and_then(Value::as_object).into_iter().flatten();
    for (_, item) in items.filter(|(_, item)| item.get("crate_id").is_some_and(|id| id == 0)) {
        found.item(item);
    }
    found.problems.into_iter().collect()
}

struct Found<'j> {
    json: &'j Value,
    exceptions: &'j mut Exceptions,
    problems: BTreeSet<String>,
}

impl<'j> Found<'j> {
    fn item(&mut self, item: &'j Value) {
        let Some((kind, inner)) = item.get("inner").and_then(Value::as_object).and_then(|i| i.iter().next())
        else {
            return;
        };
        let path = || format!("{}::{}", self.krate(), name(item));
        match kind.as_str() {
            "function" if self.json.pointer(&format!("/paths/{}", id(item))).is_some() => {
                self.function(&path(), item, inner, false);
            }
            "struct" | "enum" | "trait" | "type_alias" => {
                let path = path();
                self.named(&path, name(item));
                self.type_named(&path, name(item));
                self.foreign(&path, inner);
                if kind == "struct" {
                    self.error_struct(&path, item, inner);
                }
                if kind == "trait" {
                    for member in self.members(inner, "items") {
                        self.member(&path, member, false);
                    }
                }
                for field in self.members(inner.pointer("/kind/plain").unwrap_or(inner), "fields") {
                    self.member(&path, field, false);
                }
                for variant in self.members(inner, "variants") {
                    self.member(&path, variant, false);
                }
                let implementations = self.members(inner, "impls");
                let copies = |implementation: &&Value| {
                    implementation.pointer("/inner/impl/trait/path").is_some_and(|path| path == "Copy")
                };
                let is_copy = implementations.iter().any(copies);
                for implementation in implementations {
                    self.implementation(&path, implementation, is_copy);
                }
            }
            _ => {}
        }
    }

    /// The items of a type itself, and the traits of others that it implements.
    fn implementation(&mut self, path: &str, item: &'j Value, is_copy: bool) {
        let Some(inner) = item.pointer("/inner/impl") else { return };
        if inner.get("is_synthetic") == Some(&Value::Bool(true))
            || inner.get("blanket_impl").is_some_and(|blanket| !blanket.is_null())
        {
            return;
        }
        if let Some(implemented) = inner.get("trait").filter(|implemented| !implemented.is_null()) {
            self.resolved(path, implemented);
            self.foreign(path, implemented);
            return;
        }
        for member in self.members(inner, "items") {
            self.member(path, member, is_copy);
        }
    }

    fn member(&mut self, parent: &str, item: &'j Value, is_copy: bool) {
        let path = format!("{parent}::{}", name(item));
        let Some((kind, inner)) = item.get("inner").and_then(Value::as_object).and_then(|i| i.iter().next())
        else {
            return;
        };
        match kind.as_str() {
            "function" => self.function(&path, item, inner, is_copy),
            "struct_field" => self.foreign(&path, inner),
            "variant" => {
                self.named(&path, name(item));
                let kind = inner.get("kind").unwrap_or(inner);
                let fields = self.members(kind.get("struct").unwrap_or(kind), "fields");
                let tuple = self.members(kind, "tuple");
                for field in fields.into_iter().chain(tuple) {
                    self.foreign(&path, field.get("inner").unwrap_or(field));
                }
            }
            _ => {}
        }
    }

    fn function(&mut self, path: &str, item: &Value, inner: &'j Value, is_copy: bool) {
        let name = name(item);
        self.named(path, name);
        self.foreign(path, inner);
        let docs = item.get("docs").and_then(Value::as_str).unwrap_or_default();
        if fails(inner) && !docs.lines().any(|line| line.trim() == "# Errors") {
            self.tell("errors", path, "returns a Result and has no `# Errors` in its documentation");
        }
        let receiver = match receiver(inner) {
            Receiver::Owned if is_copy => Receiver::Copied,
            other => other,
        };
        if name.starts_with("get_") && receiver != Receiver::None {
            self.tell("getter", path, "is a getter, which is named by what it gets, without `get_`");
        }
        if name.starts_with("with_") && matches!(receiver, Receiver::Shared | Receiver::Exclusive) {
            self.tell("with", path, "is named `with_`, which takes `self` and gives it back");
        }
        for (prefix, receivers) in CONVERSIONS {
            if name.starts_with(prefix) && receiver != Receiver::None && !receivers.contains(&receiver) {
                self.tell("conversion", path, &format!("takes `self` otherwise than `{prefix}` says"));
            }
        }
    }

    /// A tool is a tool (S09).
    fn named(&mut self, path: &str, name: &str) {
        if name.to_lowercase().contains("function") {
            self.tell("function", path, "says function: if it means a tool, it says so");
        }
    }

    /// Users write `schema::Error`, and no `schema::SchemaError`.
    fn type_named(&mut self, path: &str, name: &str) {
        let krate = self.krate();
        let short = krate.strip_prefix("attache_").unwrap_or(&krate);
        let (short, lower) = (short.replace('_', ""), name.to_lowercase());
        // A longer word, such as `Converted`, is another.
        let rest = lower.strip_prefix(&short).and_then(|rest| name.get(name.len() - rest.len()..));
        let repeats = rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()));
        if lower.starts_with("attache") || repeats {
            self.tell("repeats", path, "repeats the name of its crate");
        }
    }

    fn error_struct(&mut self, path: &str, item: &Value, inner: &Value) {
        let plain = inner.pointer("/kind/plain");
        let fields = plain.and_then(|plain| plain.get("fields")?.as_array()).map_or(0, Vec::len);
        let has_hidden = plain.and_then(|plain| plain.get("has_stripped_fields")?.as_bool()).unwrap_or(true);
        let attributes = item.get("attrs").and_then(Value::as_array).into_iter().flatten();
        let is_open = attributes.into_iter().any(|attribute| attribute == "non_exhaustive");
        if name(item).ends_with("Error") && fields > 0 && !has_hidden && !is_open {
            self.tell(
                "exhaustive",
                path,
                "is an error whose fields are all public: it is `#[non_exhaustive]`",
            );
        }
    }

    /// Every type that a signature names, at any depth.
    fn foreign(&mut self, path: &str, value: &'j Value) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    // The methods of a type have paths of their own.
                    if !matches!(key.as_str(), "impls" | "implementations" | "items") {
                        if matches!(key.as_str(), "resolved_path" | "trait") {
                            self.resolved(path, value);
                        }
                        self.foreign(path, value);
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.foreign(path, value)),
            _ => {}
        }
    }

    fn resolved(&mut self, path: &str, value: &Value) {
        let Some(id) = value.get("id").and_then(Value::as_u64) else { return };
        let Some(owner) = self.json.pointer(&format!("/paths/{id}/crate_id")).and_then(Value::as_u64) else {
            return;
        };
        let owner = self.json.pointer(&format!("/external_crates/{owner}/name")).and_then(Value::as_str);
        let Some(owner) = owner else { return };
        if !FOREIGN.contains(&owner) && !STANDARD.contains(&owner) && !owner.starts_with("attache") {
            let named = value.get("path").and_then(Value::as_str).unwrap_or_default();
            self.tell("foreign", path, &format!("names {named} of {owner}"));
        }
    }

    fn tell(&mut self, rule: &str, path: &str, problem: &str) {
        if !self.exceptions.has(rule, path) {
            self.problems.insert(format!("{rule} {path}: {problem}"));
        }
    }

    fn members(&self, value: &Value, list: &str) -> Vec<&'j Value> {
        let ids = value.get(list).and_then(Value::as_array).into_iter().flatten();
        let ids = ids.filter_map(Value::as_u64);
        ids.filter_map(|id| self.json.pointer(&format!("/index/{id}"))).collect()
    }

    fn krate(&self) -> String {
        let root = self.json.get("root").and_then(Value::as_u64).unwrap_or_default();
        self.json.pointer(&format!("/index/{root}")).map(name).unwrap_or_default().to_owned()
    }
}

fn name(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn id(item: &Value) -> u64 {
    item.get("id").and_then(Value::as_u64).unwrap_or_default()
}

/// True if a function, or the future that it returns, gives a `Result`; that of a formatter is no failure of ours.
fn fails(function: &Value) -> bool {
    let Some(output) = function.pointer("/sig/output") else { return false };
    let path =
        |value: &Value| value.pointer("/resolved_path/path").and_then(Value::as_str).map(str::to_owned);
    let is_result = |path: String| path.rsplit("::").next() == Some("Result") && path != "fmt::Result";
    if path(output).is_some_and(is_result) {
        return true;
    }
    let bounds = output.get("impl_trait").and_then(Value::as_array).into_iter().flatten();
    let outputs = bounds.filter_map(|bound| {
        let implemented = bound.pointer("/trait_bound/trait")?;
        let is_future = implemented.get("path")?.as_str()?.ends_with("Future");
        is_future.then(|| implemented.pointer("/args/angle_bracketed/constraints/0/binding/equality/type"))?
    });
    outputs.into_iter().any(|output| path(output).is_some_and(is_result))
}

fn receiver(function: &Value) -> Receiver {
    let first = function.pointer("/sig/inputs/0");
    let Some(taken) = first.filter(|input| input.get(0).is_some_and(|name| name == "self")) else {
        return Receiver::None;
    };
    match taken.pointer("/1/borrowed_ref/is_mutable").and_then(Value::as_bool) {
        None => Receiver::Owned,
        Some(true) => Receiver::Exclusive,
        Some(false) => Receiver::Shared,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A crate `attache_core` with one struct, whose methods are these, and a crate `tokio` with one type.
    fn krate(name: &str, methods: &[Value]) -> Value {
        let mut index = json!({
            "0": {"id": 0, "crate_id": 0, "name": "attache_core", "inner": {"module": {"items": [1]}}},
            "1": {"id": 1, "crate_id": 0, "name": name, "attrs": [],
                  "inner": {"struct": {"kind": {"plain": {"fields": [], "has_stripped_fields": true}}, "impls": [2]}}},
            "2": {"id": 2, "crate_id": 0, "name": null, "inner": {"impl": {"trait": null, "items": []}}},
        });
        for (id, method) in (10..).zip(methods) {
            index["2"]["inner"]["impl"]["items"].as_array_mut().unwrap().push(json!(id));
            index[id.to_string()] = method.clone();
        }
        json!({"root": 0, "index": index, "external_crates": {"7": {"name": "tokio"}, "8": {"name": "bytes"}},
               "paths": {"1": {"crate_id": 0}, "70": {"crate_id": 7}, "80": {"crate_id": 8}}})
    }

    fn method(name: &str, receiver: Option<Value>, docs: &str, output: &Value) -> Value {
        let inputs: Vec<Value> = receiver.map(|taken| json!(["self", taken])).into_iter().collect();
        json!({"id": 10, "crate_id": 0, "name": name, "docs": docs,
               "inner": {"function": {"sig": {"inputs": inputs, "output": output}}}})
    }

    fn shared() -> Option<Value> {
        Some(json!({"borrowed_ref": {"is_mutable": false, "type": {"generic": "Self"}}}))
    }

    fn owned() -> Option<Value> {
        Some(json!({"generic": "Self"}))
    }

    fn resolved(path: &str, id: u64, arguments: &[Value]) -> Value {
        let arguments: Vec<Value> = arguments.iter().map(|argument| json!({"type": argument})).collect();
        json!({"resolved_path": {"path": path, "id": id, "args": {"angle_bracketed": {"args": arguments}}}})
    }

    fn rules(krate: &Value, exceptions: &str) -> Vec<String> {
        let mut exceptions = Exceptions::parse(exceptions).unwrap();
        let problems = problems(krate, &mut exceptions);
        problems.iter().map(|line| line.split(':').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_result_without_an_errors_section_is_found() {
        let bad = method("load", shared(), "Loads it.", &resolved("Result", 5, &[]));
        assert_eq!(rules(&krate("Store", &[bad]), ""), ["errors attache_core"]);
        let good =
            method("load", shared(), "Loads it.\n\n# Errors\nIt is not there.", &resolved("Result", 5, &[]));
        assert_eq!(rules(&krate("Store", &[good]), ""), [""; 0]);
    }

    #[test]
    fn a_future_of_a_result_is_a_result() {
        let constraint = json!({"binding": {"equality": {"type": resolved("Result", 5, &[])}}});
        let arguments = json!({"angle_bracketed": {"args": [], "constraints": [constraint]}});
        let output = json!({"impl_trait": [{"trait_bound": {"trait": {"path": "Future", "id": 6, "args": arguments}}}]});
        let bad = method("load", shared(), "Loads it.", &output);
        assert_eq!(rules(&krate("Store", &[bad]), ""), ["errors attache_core"]);
    }

    #[test]
    fn names_say_what_a_method_takes_and_gives() {
        for (name, receiver, rule) in [
            ("get_id", shared(), "getter"),
            ("with_id", shared(), "with"),
            ("into_id", shared(), "conversion"),
            ("as_id", owned(), "conversion"),
            ("to_id", owned(), "conversion"),
            ("as_function", shared(), "function"),
        ] {
            let krate = krate("Store", &[method(name, receiver, "", &Value::Null)]);
            assert_eq!(rules(&krate, ""), [format!("{rule} attache_core")], "{name}");
        }
        for (name, receiver) in [
            ("id", shared()),
            ("with_id", owned()),
            ("into_id", owned()),
            ("as_id", shared()),
            ("to_id", shared()),
        ] {
            let krate = krate("Store", &[method(name, receiver, "", &Value::Null)]);
            assert_eq!(rules(&krate, ""), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_type_that_repeats_its_crate_is_found_and_a_longer_word_is_not() {
        for (name, count) in [("CoreStore", 1), ("AttacheStore", 1), ("Core", 0), ("Corespondence", 0)] {
            assert_eq!(rules(&krate(name, &[]), "").len(), count, "{name}");
        }
    }

    #[test]
    fn a_type_of_another_crate_is_found_inside_of_others() {
        let handle = resolved("Vec", 9, &[resolved("Handle", 70, &[])]);
        assert_eq!(
            rules(&krate("Store", &[method("handles", shared(), "", &handle)]), ""),
            ["foreign attache_core"]
        );
        let bytes = resolved("Bytes", 80, &[]);
        assert_eq!(rules(&krate("Store", &[method("bytes", shared(), "", &bytes)]), ""), [""; 0]);
    }

    #[test]
    fn an_exception_needs_a_reason_and_something_to_except() {
        let krate = krate("Store", &[method("get_id", shared(), "", &Value::Null)]);
        assert_eq!(rules(&krate, "getter attache_core::Store::get_id as HTTP says\n"), [""; 0]);
        assert!(Exceptions::parse("getter attache_core::Store::get_id\n").is_err());
        let unused = Exceptions::parse("getter attache_core::Gone of old\n").unwrap().unused();
        assert_eq!(unused.len(), 1);
    }
}
