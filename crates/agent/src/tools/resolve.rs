//! Finds the tool that a model named.

use crate::tools::{Entry, Executor, Toolbox};

/// What a name stands for.
pub(crate) enum Resolved<'a> {
    /// A tool to run.
    Tool(&'a Entry),
    /// A tool whose calls the caller answers.
    External,
    /// Nothing that is offered; the text tells the model so.
    Unknown(String),
}

/// Up to this many tools, an unknown name is answered with all names.
const LIST_ALL: usize = 30;

impl Toolbox {
    /// The tool of that internal name; letter case and prefixes that some models add are forgiven, nothing else.
    pub(crate) fn resolve(&self, name: &str) -> Resolved<'_> {
        let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let exact = self.entries.get(name).or_else(|| self.entries.get(bare));
        let folded = || {
            let mut same = self.entries.iter().filter(|(known, _)| known.eq_ignore_ascii_case(bare));
            same.next().filter(|_| same.next().is_none()).map(|(_, entry)| entry)
        };
        match exact.or_else(folded) {
            Some(Entry { executor: Executor::External, .. }) => Resolved::External,
            Some(entry) => Resolved::Tool(entry),
            None => Resolved::Unknown(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let shown: String = name.chars().take(80).collect();
        let mut near: Vec<(f64, &str)> =
            self.set.iter().map(|(wire, _)| (strsim::jaro_winkler(name, wire), wire)).collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let close: Vec<&str> =
            near.iter().filter(|(score, _)| *score > 0.8).map(|(_, wire)| *wire).take(3).collect();
        let mut text = format!("there is no tool named {shown:?}");
        if !close.is_empty() {
            text.push_str(&format!("; did you mean {}?", close.join(" or ")));
        }
        if self.set.len() <= LIST_ALL {
            let all: Vec<&str> = self.set.iter().map(|(wire, _)| wire).collect();
            text.push_str(&format!(" The tools are: {}", all.join(", ")));
        }
        text
    }
}

const PREFIXES: &[&str] = &["functions.", "default_api.", "default_api:", "tools."];
