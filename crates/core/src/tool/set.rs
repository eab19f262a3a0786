//! The tools of one request, and their wire names.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::hash::hex;
use crate::tool::ToolDefinition;

/// The tools that a request offers, in a stable order, with names that every provider accepts.
///
/// Internal names may hold dots and anything else; wire names match `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`. The mapping is
/// deterministic and depends only on the preceding tools: adding a tool at the end renames none of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSet {
    tools: Vec<(String, ToolDefinition)>,
    // A short name is compared with some sooner than it is hashed, and each call looks names up.
    by_wire: BTreeMap<String, usize>,
    by_name: BTreeMap<String, usize>,
    validated: bool,
}

/// The reason why tools cannot be offered together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// Two tools have the same name.
    #[error("two tools are named {name:?}")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A tool has parameters that a schema cannot express; see [`ToolDefinition::problem`].
    #[error("the tool {name:?} cannot be offered: {problem}")]
    Unusable {
        /// Its name.
        name: String,
        /// The problem with it.
        problem: String,
    },
}

impl ToolSet {
    /// Creates the set of `definitions`, in their order.
    ///
    /// # Errors
    /// [`ToolSetError`] if two have the same internal name, or one cannot be offered.
    pub fn new(definitions: impl IntoIterator<Item = ToolDefinition>) -> Result<Self, ToolSetError> {
        Self::named_as(&Self::default(), definitions)
    }

    /// Creates the set of `definitions`, in their order, where tools in `known` keep their wire names. The names of all
    /// other tools differ from those.
    ///
    /// # Errors
    /// [`ToolSetError`] if two have the same internal name, or one cannot be offered.
    pub fn named_as(
        known: &Self,
        definitions: impl IntoIterator<Item = ToolDefinition>,
    ) -> Result<Self, ToolSetError> {
        let mut set = Self::default();
        for definition in definitions {
            let at = set.tools.len();
            let name = || definition.name().to_owned();
            if let Some(problem) = definition.problem() {
                return Err(ToolSetError::Unusable { name: name(), problem: problem.to_owned() });
            }
            if set.by_name.insert(name(), at).is_some() {
                return Err(ToolSetError::Duplicate { name: name() });
            }
            let wire = match known.by_name.get(definition.name()).and_then(|at| known.tools.get(*at)) {
                Some((wire, _)) => wire.clone(),
                None => set.free_wire_name(known, definition.name()),
            };
            set.by_wire.insert(wire.clone(), at);
            set.tools.push((wire, definition));
        }
        Ok(set)
    }

    /// Returns the tools for which `keep` returns true, by internal name, with the same wire names as here.
    #[must_use]
    pub fn subset(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut set = Self { validated: self.validated, ..Self::default() };
        for (wire, definition) in self.tools.iter().filter(|(_, definition)| keep(definition.name())) {
            set.by_wire.insert(wire.clone(), set.tools.len());
            set.by_name.insert(definition.name().to_owned(), set.tools.len());
            set.tools.push((wire.clone(), definition.clone()));
        }
        set
    }

    /// The wire name of a tool that is not in the set yet. A name that is taken gets a digest; so does that one, should
    /// a tool be called like it.
    fn free_wire_name(&self, known: &Self, name: &str) -> String {
        let own = wire_name(name);
        let mut wire = own.clone();
        let mut tried = 0_u32;
        while self.by_wire.contains_key(&wire) || known.by_wire.contains_key(&wire) {
            wire = match tried {
                0 => with_digest(&own, name),
                _ => with_digest(&own, &format!("{name}\0{tried}")),
            };
            tried += 1;
        }
        wire
    }

    /// Declares that the code that runs the calls validates their arguments against the full schemas. Keywords that a
    /// provider's dialect cannot express may then be left out without explicit permission; see
    /// [`LlmProvider::check_tools`](crate::LlmProvider::check_tools).
    #[must_use]
    pub fn with_validation(mut self, validated: bool) -> Self {
        self.validated = validated;
        self
    }

    /// True if calls are validated against the full schemas.
    pub fn is_validated(&self) -> bool {
        self.validated
    }

    /// Wire names and definitions in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ToolDefinition)> {
        self.tools.iter().map(|(wire, definition)| (wire.as_str(), definition))
    }

    /// True if there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// The wire name of the tool with this internal name. A tool that is not in the set (from an older history) gets
    /// the name that it would have alone.
    pub fn wire_name(&self, name: &str) -> String {
        match self.by_name.get(name).and_then(|at| self.tools.get(*at)) {
            Some((wire, _)) => wire.clone(),
            None => wire_name(name),
        }
    }

    /// The internal name for a name that a model wrote: a wire name, or the internal name itself; anything else is
    /// returned unchanged.
    pub fn internal_name<'a>(&'a self, wire: &'a str) -> &'a str {
        match self.by_wire.get(wire).and_then(|at| self.tools.get(*at)) {
            Some((_, definition)) => definition.name(),
            None => wire,
        }
    }

    /// The definition with that internal name.
    pub fn get(&self, name: &str) -> Option<&ToolDefinition> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at)).map(|(_, definition)| definition)
    }
}

/// The valid name closest to `name`: invalid characters become `_`, and a name that is too long is cut and marked with
/// a digest of the whole name.
pub fn wire_name(name: &str) -> String {
    let mut wire: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if !wire.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        wire.insert(0, '_');
    }
    if wire.len() > MAX { with_digest(&wire, name) } else { wire }
}

const MAX: usize = 64;

fn with_digest(wire: &str, name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    let suffix = hex(digest.iter().take(4));
    let head: String = wire.chars().take(MAX - suffix.len() - 1).collect();
    format!("{head}_{suffix}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn set(names: &[&str]) -> ToolSet {
        ToolSet::new(names.iter().map(|name| ToolDefinition::new(*name, "", json!({})))).unwrap()
    }

    // A02
    #[test]
    fn names_map_back() {
        let tools = set(&["calculator.add", "calculator_add", "9 lives", "ünï"]);
        assert_eq!(tools.wire_name("calculator.add"), "calculator_add");
        assert_ne!(tools.wire_name("calculator_add"), "calculator_add");
        for name in ["calculator.add", "calculator_add", "9 lives", "ünï"] {
            assert_eq!(tools.internal_name(&tools.wire_name(name)), name);
        }
        assert_eq!(tools.internal_name("unknown"), "unknown");
        assert_eq!(tools.wire_name("9 lives"), "_9_lives");
    }

    #[test]
    fn a_part_of_a_set_keeps_its_names() {
        let all = set(&["a.b", "a:b", "c"]);
        let part = ["a:b", "a;b"].map(|name| ToolDefinition::new(name, "", json!({})));
        let part = ToolSet::named_as(&all, part).unwrap();
        assert_eq!(part.wire_name("a:b"), all.wire_name("a:b"));
        let subset = all.subset(|name| name == "a:b");
        assert_eq!((subset.len(), subset.wire_name("a:b")), (1, all.wire_name("a:b")));
        assert_eq!(subset.internal_name(&all.wire_name("a:b")), "a:b");
        assert_eq!(
            all.internal_name(&part.wire_name("a;b")),
            part.wire_name("a;b"),
            "a new name is a free one"
        );
    }

    // S01
    #[test]
    fn duplicates_are_refused() {
        let twice = ["a", "a"].map(|name| ToolDefinition::new(name, "", json!({})));
        let error = ToolSet::new(twice).unwrap_err();
        assert_eq!(error, ToolSetError::Duplicate { name: "a".to_owned() });
    }

    #[test]
    fn a_name_that_looks_like_a_digest_collides_with_none() {
        let two = set(&["calculator_add", "calculator.add"]);
        let names =
            [two.wire_name("calculator.add"), "calculator_add".to_owned(), "calculator.add".to_owned()];
        let tools = set(&names.each_ref().map(String::as_str));
        let wires: std::collections::HashSet<_> = tools.iter().map(|(wire, _)| wire.to_owned()).collect();
        assert_eq!(wires.len(), 3);
        for name in &names {
            assert_eq!(tools.internal_name(&tools.wire_name(name)), name);
        }
    }

    proptest! {
        #[test]
        fn wire_names_are_legal_unique_and_stable(names in prop::collection::hash_set(".{0,80}", 1..8)) {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let (all, some) = (set(&names), set(&names[..names.len() - 1]));
            let mut seen = std::collections::HashSet::new();
            for (wire, definition) in all.iter() {
                prop_assert!(wire.len() <= 64 && wire.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
                prop_assert!(wire.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
                prop_assert!(seen.insert(wire.to_owned()));
                prop_assert_eq!(all.internal_name(wire), definition.name());
            }
            for (wire, definition) in some.iter() {
                prop_assert_eq!(all.wire_name(definition.name()), wire);
            }
        }
    }
}
