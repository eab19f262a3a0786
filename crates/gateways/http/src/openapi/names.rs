//! Names and descriptions that fit.

use std::collections::{HashMap, HashSet};

use crate::endpoint::Endpoint;
use crate::parameter::Place;

/// Longer descriptions are cut.
const LONGEST_DESCRIPTION: usize = 1_500;

/// Names that are taken.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// The number behind a name that was asked for before.
    counts: HashMap<String, u32>,
}

impl Names {
    pub(super) fn of(taken: impl IntoIterator<Item = String>) -> Self {
        Self { taken: taken.into_iter().collect(), counts: HashMap::new() }
    }

    /// Takes a name; false if another has it.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// A name that no other has.
    pub(super) fn free(&mut self, name: &str) -> String {
        if self.take(name) {
            return name.to_owned();
        }
        let count = self.counts.entry(name.to_owned()).or_insert(1);
        loop {
            *count = count.saturating_add(1);
            let free = format!("{name}_{count}");
            if self.taken.insert(free.clone()) {
                return free;
            }
        }
    }
}

/// Lets each argument have a name of its own.
pub(super) fn unclashed(endpoint: &mut Endpoint) {
    let mut count: HashMap<String, usize> = HashMap::new();
    for parameter in endpoint.parameters.iter().chain(&endpoint.whole) {
        *count.entry(parameter.argument.clone()).or_default() += 1;
    }
    let once = count.iter().filter(|(_, times)| **times == 1).map(|(name, _)| name.clone());
    let mut taken = Names::of(once);
    for parameter in endpoint.parameters.iter_mut().chain(&mut endpoint.whole) {
        if count.get(&parameter.argument).is_none_or(|times| *times == 1) {
            continue;
        }
        if parameter.place == Place::Path && taken.take(&parameter.argument) {
            continue;
        }
        let place = match parameter.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Body => "body",
        };
        let own: String = parameter.argument.chars().take(50).collect();
        parameter.argument = taken.free(&format!("{place}_{own}"));
    }
}

/// A text that is not too long for a description.
pub(super) fn shortened(text: &str) -> String {
    let text = text.trim();
    let cut: String = text.chars().take(LONGEST_DESCRIPTION).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
