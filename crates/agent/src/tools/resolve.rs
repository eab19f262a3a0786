//! Finds the tool that a model named.

use attache_core::near::near;
use attache_core::{AssistantMessage, AssistantPart, ToolCallId};

use crate::tools::error::did_you_mean;
use crate::tools::{Executor, ToolEntry, Toolbox};

/// The meaning of a name.
pub(crate) enum Resolved<'a> {
    /// A tool to run.
    Tool(&'a ToolEntry),
    /// A tool whose calls the caller answers.
    External(&'a ToolEntry),
    /// A tool that the model was not offered yet; the text shows it.
    Waiting(String),
    /// Nothing that is offered; the text tells the model so.
    Unknown(String),
}

/// Up to this many tools, an unknown name is answered with all names.
const LIST_ALL: usize = 30;

impl Toolbox {
    /// The tool of that name.
    pub(crate) fn resolve(&self, name: &str) -> Resolved<'_> {
        match self.find(name) {
            Some((known, entry)) if self.waits(known) => Resolved::Waiting(
                self.layers.as_ref().map(|layers| layers.guessed(entry)).unwrap_or_default(),
            ),
            Some((_, entry @ ToolEntry { executor: Executor::External, .. })) => Resolved::External(entry),
            Some((_, entry)) => Resolved::Tool(entry),
            None => Resolved::Unknown(self.unknown(name)),
        }
    }

    /// The internal name of the tool that a model means by `name`; a name that means none is returned as it is.
    pub(crate) fn canonical<'a>(&'a self, name: &'a str) -> &'a str {
        self.find(name).map_or(name, |(known, _)| known)
    }

    /// The same for a name as it streams in: as it stands on the wire.
    pub(crate) fn streamed<'a>(&'a self, name: &'a str) -> &'a str {
        self.canonical(self.set.internal_name(name))
    }

    /// Gives each call the name of the tool that it means, and an id of its own, before anybody looks at it: the log, the
    /// caller and later requests then speak of one tool and one call.
    pub(crate) fn name_calls(&self, reply: &mut AssistantMessage, is_taken: impl Fn(&ToolCallId) -> bool) {
        let mut seen: Vec<ToolCallId> = Vec::new();
        for part in &mut reply.parts {
            if let AssistantPart::ToolCall(call) = part {
                let name = self.canonical(&call.name);
                if name != call.name {
                    call.name = name.to_owned();
                }
                if seen.contains(&call.id) || is_taken(&call.id) {
                    call.id = ToolCallId::new();
                }
                seen.push(call.id.clone());
            }
        }
    }

    /// The tool of an internal name or a name on the wire; letter case, prefixes that some models add and the channel
    /// that gpt-oss writes behind a name are forgiven, nothing else.
    fn find(&self, name: &str) -> Option<(&str, &ToolEntry)> {
        let bare = || {
            let named = name.split_once(CHANNEL).map_or(name, |(named, _)| named);
            PREFIXES.iter().find_map(|prefix| named.strip_prefix(prefix)).unwrap_or(named)
        };
        let exact = |name: &str| self.entries.get_key_value(self.named().internal_name(name));
        let folded = || {
            let bare = bare();
            let mut same = self.named().iter().filter(|(wire, definition)| {
                wire.eq_ignore_ascii_case(bare) || definition.name().eq_ignore_ascii_case(bare)
            });
            let (_, only) = same.next().filter(|_| same.next().is_none())?;
            self.entries.get_key_value(only.name())
        };
        // An internal name comes first: another tool's name on the wire may look the same.
        let found = self.entries.get_key_value(name).or_else(|| exact(name)).or_else(|| exact(bare()));
        found.or_else(folded).map(|(known, entry)| (known.as_str(), entry))
    }

    fn unknown(&self, name: &str) -> String {
        let shown: String = name.chars().take(80).collect();
        let near = near(name, self.named().iter().map(|(wire, _)| wire));
        let mut text = format!("there is no tool named {shown:?}{}", did_you_mean(&near));
        if self.set.len() <= LIST_ALL {
            let all: Vec<&str> = self.set.iter().map(|(wire, _)| wire).collect();
            text.push_str(&format!(" The tools are: {}", all.join(", ")));
        }
        text
    }
}

/// The mark between a name and its channel, where a server cut a call of gpt-oss too late (openai.md D 69).
const CHANNEL: &str = "<|channel|>";
const PREFIXES: &[&str] = &["functions.", "default_api.", "default_api:", "tools."];
