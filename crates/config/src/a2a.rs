//! A2A agents as tools.

use std::collections::BTreeMap;
use std::time::Duration;

use attache_a2a::{A2aAgent, A2aLimits, A2aQuestions};

use crate::config::Config;
use crate::sections::{A2aSection, Questions};

impl Config {
    /// The A2A agents, sorted by name. No agent card is requested before tools are requested.
    pub fn a2a_agents(&self) -> Vec<A2aAgent> {
        let mut agents = BTreeMap::new();
        for read in &self.files {
            agents.extend(&read.sections.a2a);
            for unset in read.unset.iter().filter(|unset| unset.section == "a2a") {
                agents.remove(&unset.name);
            }
        }
        agents.into_iter().filter_map(|(name, section)| made(name, section)).collect()
    }
}

/// An agent of its section; `None` if it is switched off.
fn made(name: &str, section: &A2aSection) -> Option<A2aAgent> {
    let url = section.url.as_deref().filter(|_| section.enabled != Some(false))?;
    let mut made = A2aAgent::at(name, url);
    // A variable with an empty default is one that is not set.
    if let Some(token) = section.bearer.as_deref().filter(|token| !token.is_empty()) {
        made = made.bearer(token);
    }
    for (name, value) in section.headers.iter().filter(|(_, value)| !value.is_empty()) {
        made = made.header(name, value.as_str());
    }
    if section.public_only {
        made = made.public_only();
    }
    if !section.only.is_empty() {
        made = made.only(section.only.iter().cloned());
    }
    if let Some(questions) = section.questions {
        made = made.questions(match questions {
            Questions::User => A2aQuestions::User,
            Questions::Model => A2aQuestions::Model,
        });
    }
    if let Some(most) = section.call_seconds {
        made = made.limits(A2aLimits::new().with_patience(Duration::from_secs(u64::from(most))));
    }
    Some(made)
}
