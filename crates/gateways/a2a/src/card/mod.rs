//! Agent cards: what an agent says of itself.

mod canonical;
mod key;
mod signature;

use serde_json::Value;

use crate::wire::A2aVersion;

#[cfg(feature = "server")]
pub(crate) use canonical::canonical;
#[cfg(feature = "server")]
pub(crate) use key::from_base64url;
pub use key::{A2aKey, A2aKeyError};
pub(crate) use signature::verified;
#[cfg(feature = "server")]
pub(crate) use signature::{base64url, clean};

/// The way in which requests are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum A2aBinding {
    /// JSON-RPC over HTTP.
    JsonRpc,
    /// An address for each request.
    HttpJson,
}

impl A2aBinding {
    /// The name in agent cards.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::JsonRpc, Self::HttpJson]
            .into_iter()
            .find(|binding| binding.as_str().eq_ignore_ascii_case(text))
    }
}

/// An address at which an agent is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) url: String,
    pub(crate) binding: A2aBinding,
    pub(crate) version: A2aVersion,
    pub(crate) tenant: Option<String>,
}

/// An ability of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct A2aSkill {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Questions that it takes.
    pub examples: Vec<String>,
}

/// The words of an agent about itself, as far as they matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct A2aCard {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its own version.
    pub version: String,
    /// Its abilities.
    pub skills: Vec<A2aSkill>,
    /// True if it tells of a task while it works on it.
    pub streaming: bool,
    /// True if it sends notifications.
    pub push_notifications: bool,
    /// True if it says more of itself to those who have credentials.
    pub extended: bool,
    /// True if a signature on the card was verified.
    pub is_verified: bool,
    pub(crate) interfaces: Vec<Interface>,
    /// Ways to speak to it that are not known here.
    pub(crate) others: Vec<String>,
}

/// The maximum number of skills that are read.
const MOST_SKILLS: usize = 200;
/// The maximum number of interfaces that are read.
const MOST_INTERFACES: usize = 50;

impl A2aCard {
    /// Reads a card of either version; `None` for what is none.
    pub(crate) fn read(card: &Value) -> Option<Self> {
        let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
        let is_true = |value: Option<&Value>| value.and_then(Value::as_bool) == Some(true);
        let name = text(card, "name")?;
        let capability = |name: &str| is_true(card.get("capabilities").and_then(|all| all.get(name)));
        let skills = card.get("skills").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let skills = skills.iter().take(MOST_SKILLS).filter_map(|skill| {
            let examples = skill.get("examples").and_then(Value::as_array).into_iter().flatten();
            Some(A2aSkill {
                id: text(skill, "id")?,
                name: text(skill, "name").unwrap_or_default(),
                description: text(skill, "description").unwrap_or_default(),
                examples: examples.filter_map(Value::as_str).take(10).map(str::to_owned).collect(),
            })
        });
        let mut read = Self {
            name,
            description: text(card, "description").unwrap_or_default(),
            version: text(card, "version").unwrap_or_default(),
            skills: skills.collect(),
            streaming: capability("streaming"),
            push_notifications: capability("pushNotifications"),
            extended: capability("extendedAgentCard")
                || is_true(card.get("supportsAuthenticatedExtendedCard")),
            ..Self::default()
        };
        read.read_interfaces(card);
        (!read.interfaces.is_empty() || !read.others.is_empty()).then_some(read)
    }

    fn read_interfaces(&mut self, card: &Value) {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let list =
            |name: &str| card.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // 1.0
        for interface in list("supportedInterfaces").iter().take(MOST_INTERFACES) {
            let Some(url) = text(interface, "url") else { continue };
            let binding = text(interface, "protocolBinding").unwrap_or_default();
            let version = text(interface, "protocolVersion").unwrap_or_else(|| "1.0".to_owned());
            self.add(url, &binding, &version, text(interface, "tenant"));
        }
        // 0.3
        if let Some(url) = text(card, "url") {
            let version = text(card, "protocolVersion").unwrap_or_else(|| "0.3.0".to_owned());
            let preferred = text(card, "preferredTransport").unwrap_or_else(|| "JSONRPC".to_owned());
            self.add(url, &preferred, &version, None);
            for interface in list("additionalInterfaces").iter().take(MOST_INTERFACES) {
                let Some(url) = text(interface, "url") else { continue };
                self.add(url, &text(interface, "transport").unwrap_or_default(), &version, None);
            }
        }
    }

    fn add(&mut self, url: String, binding: &str, version: &str, tenant: Option<String>) {
        let known = match version.split('.').collect::<Vec<_>>().as_slice() {
            ["1", ..] => Some(A2aVersion::V1),
            // 0.2 has the same shapes.
            ["0", "2" | "3", ..] => Some(A2aVersion::V0_3),
            _ => None,
        };
        match (known, A2aBinding::parse(binding)) {
            // Servers of 0.3 write JSON there in different ways.
            (Some(version), Some(binding))
                if (version, binding) != (A2aVersion::V0_3, A2aBinding::HttpJson) =>
            {
                let interface = Interface { url, binding, version, tenant };
                if !self.interfaces.contains(&interface) {
                    self.interfaces.push(interface);
                }
            }
            _ => self.others.push(format!("{binding} {version}")),
        }
    }

    /// The interface to use: the newest version, and JSON-RPC where both are there.
    pub(crate) fn interface(&self, only: (Option<A2aVersion>, Option<A2aBinding>)) -> Option<&Interface> {
        let fits = |interface: &&Interface| {
            only.0.is_none_or(|version| version == interface.version)
                && only.1.is_none_or(|binding| binding == interface.binding)
        };
        let rank = |interface: &&Interface| (interface.version, interface.binding == A2aBinding::JsonRpc);
        // The first of the best: a card lists what it prefers first.
        self.interfaces.iter().rev().filter(fits).max_by_key(rank)
    }
}

#[cfg(test)]
mod tests;
