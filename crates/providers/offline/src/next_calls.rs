//! The tools to call next: those that can bring material for the facts that are not answered yet.

use std::collections::HashSet;

use attache_core::{ErrorKind, ProviderError, ToolChoice, ToolDefinition, ToolSet};
use serde_json::{Map, Value};

use crate::arguments::{self, Offered, Resolve, field, lists, required};
use crate::material::Material;
use crate::question::Question;
use crate::structured_results::{Item, is_path_key};
use crate::words::{is_stopword, name_stems, stem, stems, synonyms, words};

/// Calls for one question.
const MAX_CALLS: usize = 64;
/// Replies with calls for one question.
const MAX_ROUNDS: usize = 16;
/// Calls in one reply.
const MAX_PARALLEL: usize = 8;
/// Further calls of one tool with other words of the question.
const MAX_ATTEMPTS: usize = 3;
/// Items that are read at first where none of them is named by the question.
const FIRST_READS: usize = 4;

/// A call to make.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    /// The tool's internal name.
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
}

/// A question, what was read for it, and the tools that may bring more.
pub(crate) struct Planner<'a> {
    question: &'a Question,
    material: &'a Material,
    offered: Offered,
    tools: Vec<Profile<'a>>,
    made: HashSet<String>,
}

/// The apparent purpose of a tool.
struct Profile<'a> {
    tool: &'a ToolDefinition,
    verb: Verb,
    /// The number of words of the question that it speaks of.
    relevance: usize,
    /// True if it is about files and the like, in which anything may be written.
    holds_text: bool,
    /// True if it has required parameters.
    takes_something: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Verb {
    Reads,
    /// It changes something: by this stem.
    Changes(String),
    Unknown,
}

const READS: &str = "list read get fetch find search open load show view lookup look query browse describe retrieve \
    scan grep ls cat dir extract return returns give calculate compute convert translate check";

const CHANGES: &str = "delete remove write create update send move rename execute pay cancel put edit upload insert \
    append approve reject transfer buy kill drop submit publish modify overwrite clear reset deploy trigger restart \
    launch notify merge commit push install enable disable invite share grant revoke";

/// Verbs as which a description may begin, and which are nouns in names.
const CHANGES_IN_WORDS: &str = "book order post set schedule reply start stop run archive save store mark assign close \
    charge add";

const HOLDS_TEXT: &str = "file folder document directory page text content record note mail inbox attachment table \
    database archive data knowledge message";

impl<'a> Planner<'a> {
    pub(crate) fn new(question: &'a Question, material: &'a Material, tools: &'a ToolSet) -> Self {
        let stems = question.stems();
        let tools = tools.iter().map(|(_, tool)| Profile::new(tool, &stems)).collect();
        let made = material.calls.iter().map(|(name, arguments)| key(name, arguments)).collect();
        Self { question, material, offered: Offered::of(question), tools, made }
    }

    /// The calls to make next; none if there is nothing left that helps. `answered` says that nothing need be read.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] if a tool must be called and there is none of that name,
    /// [`ErrorKind::Unsupported`] if every call that could be made was made already.
    pub(crate) fn next(
        &self,
        choice: &ToolChoice,
        answered: bool,
        parallel: bool,
    ) -> Result<Vec<Planned>, ProviderError> {
        let mut calls = match choice {
            ToolChoice::None => Vec::new(),
            ToolChoice::Tool(name) => {
                let found = self.tools.iter().find(|profile| profile.tool.name() == name);
                let unknown = || {
                    let text = format!("the tool choice names {name:?}, which is not offered");
                    ProviderError::new(ErrorKind::InvalidRequest, text)
                };
                vec![self.forced(&[found.ok_or_else(unknown)?])?]
            }
            ToolChoice::Required => {
                if self.tools.is_empty() {
                    let text = "the tool choice demands a call and no tool is offered";
                    return Err(ProviderError::new(ErrorKind::InvalidRequest, text));
                }
                match self.wanted() {
                    calls if calls.is_empty() => {
                        let mut order: Vec<&Profile<'_>> = self.tools.iter().collect();
                        order.sort_by_key(|profile| {
                            (matches!(profile.verb, Verb::Changes(_)), std::cmp::Reverse(profile.relevance))
                        });
                        vec![self.forced(&order)?]
                    }
                    calls => calls,
                }
            }
            _ if answered => Vec::new(),
            _ => self.wanted(),
        };
        calls.truncate(if parallel { MAX_PARALLEL } else { 1 });
        Ok(calls)
    }

    /// The names of what is listed and could be read, but was not.
    pub(crate) fn unread(&self) -> Vec<String> {
        let left = self.ranked_items().into_iter().filter(|(_, item)| self.read(item).is_some());
        left.filter_map(|(_, item)| item.name().map(str::to_owned)).collect()
    }

    fn wanted(&self) -> Vec<Planned> {
        if self.material.rounds >= MAX_ROUNDS || self.material.recent_calls >= MAX_CALLS {
            return Vec::new();
        }
        let room = MAX_CALLS - self.material.recent_calls;
        let mut calls = self.asks();
        if calls.is_empty() {
            calls = self.folders();
        }
        if calls.is_empty() {
            calls = self.reads();
        }
        calls.truncate(room.min(MAX_PARALLEL));
        calls
    }

    /// Calls that the user's words alone can fill: listings, searches, and what the question speaks of.
    fn asks(&self) -> Vec<Planned> {
        let mut asks: Vec<(usize, Planned)> = Vec::new();
        for profile in self.tools.iter().filter(|profile| self.may_help(profile)) {
            let attempt = self.material.calls.iter().filter(|(name, _)| name == profile.tool.name()).count();
            // A further attempt is one with other words; with the same ones it was made already.
            let call = (0..=attempt.min(MAX_ATTEMPTS)).find_map(|attempt| {
                let arguments = arguments::fill(profile.tool, &self.offered, None, Resolve::Honest, attempt)?;
                self.unmade(profile, arguments)
            });
            let relevance = profile.relevance + usize::from(profile.holds_text);
            asks.extend(call.map(|call| (relevance, call)));
        }
        asks.sort_by_key(|(relevance, _)| std::cmp::Reverse(*relevance));
        asks.into_iter().map(|(_, call)| call).collect()
    }

    /// Listings of folders that a listing named.
    fn folders(&self) -> Vec<Planned> {
        let listers: Vec<&Profile<'_>> =
            self.tools.iter().filter(|profile| profile.verb == Verb::Reads && lists(profile.tool)).collect();
        let folders = self.material.items.iter().map(|(_, item)| item).filter(|item| item.is_folder());
        folders
            .flat_map(|folder| listers.iter().filter_map(move |profile| self.with_item(profile, folder)))
            .take(MAX_PARALLEL)
            .collect()
    }

    /// Reads of what listings named: what the question speaks of first, then the rest.
    fn reads(&self) -> Vec<Planned> {
        let mut left = self
            .ranked_items()
            .into_iter()
            .filter_map(|(score, item)| Some((score, self.read(item)?)))
            .peekable();
        let best = left.peek().map_or(0.0, |(score, _)| *score);
        let begun = self.material.calls.iter().any(|(name, _)| {
            let reads = |tool: &ToolDefinition| self.material.items.iter().any(|(_, item)| takes(tool, item));
            self.tools
                .iter()
                .any(|profile| profile.tool.name() == name && !lists(profile.tool) && reads(profile.tool))
        });
        let mut calls: Vec<Planned> = Vec::new();
        for (score, call) in left {
            let enough = match (best > 0.0, begun) {
                // A thing that the question names is read alone at first.
                (true, false) => score < 0.6 * best,
                (false, false) => calls.len() >= FIRST_READS,
                _ => calls.len() >= MAX_PARALLEL,
            };
            if enough || calls.len() >= MAX_PARALLEL {
                break;
            }
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        calls
    }

    /// True if calling a tool could bring material.
    fn may_help(&self, profile: &Profile<'_>) -> bool {
        match &profile.verb {
            Verb::Reads => profile.relevance > 0 || profile.holds_text,
            // A tool that says neither is called only with something that the user named.
            Verb::Unknown => profile.relevance > 0 && profile.takes_something,
            // A tool that changes something is called only by somebody who says so.
            Verb::Changes(verb) => {
                let first = words(&self.question.text).find(|word| !is_stopword(word)).map(stem);
                first.as_ref() == Some(verb) && profile.relevance > 0
            }
        }
    }

    /// The call that reads an item, unless it was made.
    fn read(&self, item: &Item) -> Option<Planned> {
        if item.is_folder() {
            return None;
        }
        let mut readers: Vec<(i32, &Profile<'_>)> = self
            .tools
            .iter()
            .filter(|profile| profile.verb == Verb::Reads && !lists(profile.tool) && self.may_help(profile))
            .filter(|profile| takes(profile.tool, item))
            .map(|profile| (reading(profile.tool), profile))
            .collect();
        readers.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        // Once the best reader had its turn, the others are asked only if it failed.
        let (_, best) = readers.first()?;
        if let Some(call) = self.with_item(best, item) {
            return Some(call);
        }
        let failed = self.material.failures.iter().any(|(tool, _)| tool == best.tool.name());
        readers.get(1).filter(|_| failed).and_then(|(_, other)| self.with_item(other, item))
    }

    fn with_item(&self, profile: &Profile<'_>, item: &Item) -> Option<Planned> {
        if !takes(profile.tool, item) {
            return None;
        }
        let arguments = arguments::fill(profile.tool, &self.offered, Some(item), Resolve::Honest, 0)?;
        self.unmade(profile, arguments)
    }

    fn unmade(&self, profile: &Profile<'_>, arguments: Map<String, Value>) -> Option<Planned> {
        let name = profile.tool.name().to_owned();
        (!self.made.contains(&key(&name, &arguments))).then_some(Planned { name, arguments })
    }

    /// A call of the first of these tools that can be called in a way in which it was not called yet.
    fn forced(&self, tools: &[&Profile<'_>]) -> Result<Planned, ProviderError> {
        for resolve in [Resolve::Honest, Resolve::Forced] {
            for profile in tools {
                let items = self
                    .ranked_items()
                    .into_iter()
                    .map(|(_, item)| item)
                    .filter(|item| takes(profile.tool, item));
                let candidates = items
                    .map(Some)
                    .chain([None])
                    .map(|item| (item, 0))
                    .chain((1..=MAX_ATTEMPTS).map(|attempt| (None, attempt)));
                for (item, attempt) in candidates {
                    let arguments = arguments::fill(profile.tool, &self.offered, item, resolve, attempt);
                    if let Some(call) = arguments.and_then(|arguments| self.unmade(profile, arguments)) {
                        return Ok(call);
                    }
                }
            }
        }
        let text = "a tool must be called, and every call that the question allows was made already";
        Err(ProviderError::new(ErrorKind::Unsupported, text))
    }

    /// The things that results name, by how much the question speaks of them.
    fn ranked_items(&self) -> Vec<(f32, &'a Item)> {
        let wants_pictures = self.question.content.iter().any(|word| {
            let stem = stem(word);
            ["imag", "picture", "photo", "scan", "screenshot"]
                .iter()
                .any(|name| *name == stem || synonyms(&stem).iter().any(|other| other == name))
        });
        let mut ranked: Vec<(f32, usize, &Item)> = Vec::new();
        for (at, (_, item)) in self.material.items.iter().enumerate() {
            let text: Vec<String> = item
                .fields
                .iter()
                .filter_map(|(key, value)| value.as_str().filter(|_| !is_type_key(key)))
                .flat_map(name_stems)
                .collect();
            let mut score = 0.0;
            for term in
                self.question.facets.iter().flat_map(|facet| &facet.terms).filter(|term| !term.inherited)
            {
                let holds = text.windows(term.stems.len().max(1)).any(|window| window == term.stems);
                let alike = || {
                    term.stems.first().is_some_and(|stem| {
                        term.stems.len() == 1 && synonyms(stem).iter().any(|other| text.contains(other))
                    })
                };
                let weight = if term.stems.len() > 1 { 2.0 } else { term.weight.max(0.5) };
                if holds {
                    score += weight;
                } else if alike() {
                    score += 0.8 * weight;
                }
            }
            if is_picture(item) && !wants_pictures {
                score *= 0.2;
                score -= 0.1;
            }
            ranked.push((score, at, item));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().map(|(score, _, item)| (score, item)).collect()
    }
}

impl<'a> Profile<'a> {
    fn new(tool: &'a ToolDefinition, question: &[String]) -> Self {
        let name = name_stems(tool.name());
        let schema = tool.input_schema();
        let properties = schema.get("properties").and_then(Value::as_object);
        let parameters = properties.into_iter().flatten().flat_map(|(name, property)| {
            let described = property.get("description").and_then(Value::as_str).unwrap_or_default();
            name_stems(name).into_iter().chain(content(described))
        });
        let mut speaks: Vec<String> =
            name.iter().cloned().chain(content(tool.description())).chain(parameters).collect();
        speaks.sort_unstable();
        speaks.dedup();
        let speaks_of = |stem: &&String| {
            speaks.binary_search(stem).is_ok()
                || synonyms(stem).iter().any(|other| speaks.binary_search(other).is_ok())
        };
        let holds: Vec<String> = stems(HOLDS_TEXT).collect();
        Self {
            tool,
            verb: verb(&name, tool.description()),
            relevance: question.iter().filter(speaks_of).count(),
            holds_text: speaks.iter().any(|stem| holds.contains(stem)),
            takes_something: schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|names| !names.is_empty()),
        }
    }
}

/// The verb of a tool: the first one in its name, else the word with which its description begins.
fn verb(name: &[String], description: &str) -> Verb {
    let of = |list: &str, stem: &String| stems(list).any(|known| known == *stem);
    for stem in name {
        if of(READS, stem) {
            return Verb::Reads;
        }
        if of(CHANGES, stem) {
            return Verb::Changes(stem.clone());
        }
    }
    match words(description).next().map(stem) {
        Some(stem) if of(READS, &stem) => Verb::Reads,
        Some(stem) if of(CHANGES, &stem) || of(CHANGES_IN_WORDS, &stem) => Verb::Changes(stem),
        // "Deploys …": a verb, and none of those that only read.
        Some(stem) if is_verb_form(description) => Verb::Changes(stem),
        _ => match name.first() {
            Some(stem) if of(CHANGES_IN_WORDS, stem) && stem != "order" && stem != "archiv" => {
                Verb::Changes(stem.clone())
            }
            _ => Verb::Unknown,
        },
    }
}

/// True if a description begins as one of a tool that does something: "Rotates …".
fn is_verb_form(description: &str) -> bool {
    words(description).next().is_some_and(|word| {
        word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !is_stopword(word)
    })
}

fn content(text: &str) -> Vec<String> {
    words(text).filter(|word| !is_stopword(word) && word.len() > 1).map(stem).collect()
}

/// True if a required parameter of a tool, or a path that it takes, is a member of the item.
fn takes(tool: &ToolDefinition, item: &Item) -> bool {
    let schema = tool.input_schema();
    let properties = schema.get("properties").and_then(Value::as_object);
    let path = properties.into_iter().flatten().map(|(name, _)| name.as_str()).find(|name| is_path_key(name));
    required(schema).chain(path).any(|name| {
        // An array of paths takes one as well.
        field(item, name).is_some() || name.strip_suffix('s').is_some_and(|one| field(item, one).is_some())
    })
}

/// The degree to which a tool seems to yield the content of a thing rather than facts about it.
fn reading(tool: &ToolDefinition) -> i32 {
    let says: Vec<String> = name_stems(tool.name()).into_iter().chain(content(tool.description())).collect();
    let count =
        |list: &str| i32::try_from(stems(list).filter(|stem| says.contains(stem)).count()).unwrap_or(0);
    count("read content text open document") - 2 * count("info metadata stat size exists preview thumbnail")
}

fn is_type_key(key: &str) -> bool {
    name_stems(key).iter().any(|stem| matches!(stem.as_str(), "type" | "kind" | "mime" | "size" | "hash"))
}

fn is_picture(item: &Item) -> bool {
    let of_kind = item
        .kind()
        .is_some_and(|kind| ["image/", "audio/", "video/"].iter().any(|start| kind.starts_with(start)));
    let extension =
        item.name().and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension.to_lowercase());
    let pictured =
        ["png", "jpg", "jpeg", "gif", "webp", "tif", "tiff", "bmp", "heic", "mp3", "mp4", "wav", "zip"];
    of_kind || extension.is_some_and(|extension| pictured.contains(&extension.as_str()))
}

/// A call as text that is the same for the same call, whatever the order of its arguments.
fn key(name: &str, arguments: &Map<String, Value>) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let mut members: Vec<_> =
                    object.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(members.into_iter().collect())
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    format!("{name} {}", sorted(&Value::Object(arguments.clone())))
}
