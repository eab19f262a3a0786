//! The tools that an agent becomes: one, or one for each of its skills.

use attache_core::ToolDefinition;
use attache_core::tool::ToolSpec;
use serde_json::{Map, Value, json};
use std::time::Duration;

use crate::card::{A2aCard, A2aSkill};
use crate::config::{A2aQuestions, Config, cut};

/// The tool of an agent as a whole.
const ASK: &str = "ask";
/// Longer names are cut.
const LONGEST_NAME: usize = 100;
/// Longer descriptions of one skill are cut where an agent has several.
const LONGEST_SKILL: usize = 600;

/// The members of a call.
pub(crate) const MESSAGE: &str = "message";
pub(crate) const DOCUMENTS: &str = "documents";
pub(crate) const TASK: &str = "task";
pub(crate) const CONVERSATION: &str = "conversation";

impl Config {
    /// True if the model may name tasks and conversations.
    pub(crate) fn names_tasks(&self) -> bool {
        self.conversations || self.questions == A2aQuestions::Model
    }

    fn offers(&self, skill: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|known| known == skill))
    }

    /// The skill that a tool stands for: `None` for all of the agent. The outer `None` is a tool that there is not.
    pub(crate) fn skill<'a>(&self, tool: &'a str) -> Option<Option<&'a str>> {
        let name = tool.strip_prefix(&*self.prefix)?;
        match (self.per_skill, name) {
            (false, ASK) => Some(None),
            // A run that is resumed knows no card yet.
            (true, name) if self.offers(name) => Some(Some(name)),
            _ => None,
        }
    }

    /// The tools of an agent with that card.
    pub(crate) fn specs(&self, card: &A2aCard) -> Vec<ToolSpec> {
        let redactor = self.redactor().given_only();
        let clean = |text: &str, longest: usize| cut(redactor.redact(text).trim(), longest);
        let name = clean(&card.name, LONGEST_NAME);
        let about = clean(&card.description, self.limits.description_chars);
        let head = match about.is_empty() {
            true => format!("Asks the agent {name}."),
            false => format!("Asks the agent {name}: {about}"),
        };
        let skills = card.skills.iter().filter(|skill| self.offers(&skill.id));
        if !self.per_skill {
            let lines: Vec<String> = skills.map(|skill| self.line(skill, &clean)).collect();
            let text = match lines.is_empty() {
                true => head,
                false => format!("{head}\nIts skills:\n{}", lines.join("\n")),
            };
            return vec![self.spec(ASK, &text)];
        }
        let mut specs: Vec<ToolSpec> = Vec::new();
        for skill in skills {
            let is_name = !skill.id.trim().is_empty()
                && skill.id.len() <= LONGEST_NAME
                && !skill.id.contains(|c: char| c.is_control())
                && redactor.redact(&skill.id) == skill.id;
            let internal = format!("{}{}", self.prefix, skill.id);
            if !is_name || specs.iter().any(|spec| spec.definition.name() == internal) {
                let skill = clean(&skill.id, 80);
                tracing::warn!(
                    agent = self.alias,
                    skill,
                    "a skill is left out: its id is no name, or another's"
                );
                continue;
            }
            let text = format!(
                "{} (A skill of the agent {name}.)",
                self.line(skill, &clean).trim_start_matches("- ")
            );
            specs.push(self.spec(&skill.id, &text));
        }
        specs
    }

    fn line(&self, skill: &A2aSkill, clean: &impl Fn(&str, usize) -> String) -> String {
        let name = if skill.name.trim().is_empty() { &skill.id } else { &skill.name };
        let mut line = format!("- {}", clean(name, LONGEST_NAME));
        let longest = if self.per_skill { self.limits.description_chars } else { LONGEST_SKILL };
        let description = clean(&skill.description, longest);
        if !description.is_empty() {
            line = format!("{line}: {description}");
        }
        if let Some(example) = skill.examples.first() {
            line = format!("{line} Example: {}", clean(example, 200));
        }
        line.replace('\n', " ")
    }

    fn spec(&self, name: &str, description: &str) -> ToolSpec {
        let description = cut(description, self.limits.description_chars);
        let definition = ToolDefinition::new(format!("{}{name}", self.prefix), description, self.schema());
        // Beside the wait for a task: the card, and what is asked before it is left to itself.
        let around = self.limits.request.saturating_mul(3) + Duration::from_secs(5);
        let mut spec = ToolSpec::new(definition)
            .with_timeout(self.limits.patience.saturating_add(around))
            .with_effect(self.effect)
            .with_origin(self.name.clone());
        spec.metadata.asks = self.questions == A2aQuestions::User;
        spec
    }

    fn schema(&self) -> Value {
        let mut properties = Map::new();
        let message =
            "The message, with all that the agent must know: it reads nothing else of this conversation";
        properties.insert(MESSAGE.to_owned(), json!({"type": "string", "description": message}));
        let documents = "The ids of documents of this conversation to send along, as their labels show them";
        let items = json!({"type": "string"});
        let documents = json!({"type": "array", "items": items, "description": documents});
        properties.insert(DOCUMENTS.to_owned(), documents);
        if self.names_tasks() {
            let task = "The id of a task of the agent that waits for an answer, which the message is";
            properties.insert(TASK.to_owned(), json!({"type": "string", "description": task}));
            let conversation = "The id of an earlier conversation with the agent to go on with";
            properties
                .insert(CONVERSATION.to_owned(), json!({"type": "string", "description": conversation}));
        }
        json!({"type": "object", "properties": properties, "required": [MESSAGE]})
    }
}
