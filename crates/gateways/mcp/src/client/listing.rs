//! The lists of a server: read page by page, and only as far as they can be trusted.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use attache_core::tool::ToolSpec;
use attache_core::{Effect, ToolDefinition, ToolError};
use attache_schema::Schema;
use attache_transport::Redactor;
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, ServerResult, Tool, ToolAnnotations,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::config::Config;
use super::connection::Session;
use super::error_text::cut;
use super::lenient::items as items_of;
use super::secrets::clean;
use super::too_deep::{DEEPEST, is_too_deep};

/// Longer names are no names.
const LONGEST_NAME: usize = 200;
/// Items that are missing are named up to this number, by so many characters of their names.
const MOST_TOLD: usize = 50;
const LONGEST_TOLD: usize = 80;

/// The record of the tools beside what models are told.
#[derive(Default)]
pub(crate) struct Catalog {
    tools: HashMap<String, Known>,
    /// The tools that are not offered, and why.
    pub(crate) left_out: LeftOut,
    /// The time for which the server says that the list holds.
    pub(crate) holds: Option<Duration>,
}

/// The items of a list.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) left_out: LeftOut,
    /// The time for which the server says that it holds: the shortest of its pages.
    holds: Option<Duration>,
}

/// The items of a list that are missing, in words.
#[derive(Clone, Default)]
pub(crate) struct LeftOut {
    told: Vec<String>,
    /// The number of others.
    more: usize,
}

impl LeftOut {
    fn add(&mut self, config: &Config, name: &str, why: &str) {
        if self.told.len() >= MOST_TOLD {
            self.more = self.more.saturating_add(1);
            return;
        }
        let name = cut(&config.redactor().redact(name), LONGEST_TOLD).replace('\n', " ");
        tracing::warn!(server = config.alias, name, why, "an item of a list is left out");
        self.told.push(format!("{name}: {why}"));
    }

    /// Notes that nobody knows the names of others, or how many there are.
    fn add_others(&mut self, config: &Config, what: String) {
        tracing::warn!(server = config.alias, what, "a list is not whole");
        self.told.push(what);
    }

    /// One line for each of them, with a word on those that are too many to be named.
    pub(crate) fn lines(&self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("{} more", self.more));
        self.told.iter().cloned().chain(more).collect()
    }
}

struct Known {
    output: Option<Arc<Schema>>,
    repeatable: bool,
}

impl Catalog {
    /// The schema of the structured results of a tool.
    pub(crate) fn output(&self, theirs: &str) -> Option<Arc<Schema>> {
        self.tools.get(theirs)?.output.clone()
    }

    /// True if a call of the tool may be sent a second time.
    pub(crate) fn is_repeatable(&self, theirs: &str) -> bool {
        self.tools.get(theirs).is_some_and(|known| known.repeatable)
    }
}

/// The names of our own tools beside those of a server. They hold a character that names of tools do not.
pub(crate) const LIST_RESOURCES: &str = "resources/list";
pub(crate) const READ_RESOURCE: &str = "resources/read";
pub(crate) const LIST_PROMPTS: &str = "prompts/list";
pub(crate) const GET_PROMPT: &str = "prompts/get";

/// The kinds of lists.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params)),
            Self::Resources => ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params)),
            Self::Templates => {
                ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(params))
            }
            Self::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params)),
        }
    }

    /// The name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Templates => "resource templates",
            other => other.member(),
        }
    }

    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// All items of a list as JSON, so that one odd item does not take the others away, and what is missing.
pub(crate) async fn list(session: &Session, config: &Config, kind: Kind) -> Result<Listed, ToolError> {
    let Listed { mut items, mut left_out, mut holds } = Listed::default();
    let mut left = config.limits.message_bytes;
    let most = config.limits.schema_bytes.saturating_mul(4);
    let (mut seen, mut beyond) = (HashSet::new(), 0_usize);
    let mut cursor = None;
    for _ in 0..config.limits.pages {
        let answer = session.ask(kind.request(cursor.take())).await;
        let answer = answer.map_err(|error| config.failure(error, false))?;
        let mut page = match answer {
            ServerResult::ListToolsResult(page) => serde_json::to_value(page),
            ServerResult::ListResourcesResult(page) => serde_json::to_value(page),
            ServerResult::ListResourceTemplatesResult(page) => serde_json::to_value(page),
            ServerResult::ListPromptsResult(page) => serde_json::to_value(page),
            ServerResult::CustomResult(page) => Ok(page.0),
            _ => Ok(Value::Null),
        }?;
        let Some(found) = items_of(&mut page, kind.member()) else {
            let problem = format!("the server {:?} answers with no list of {}", config.alias, kind.member());
            return Err(ToolError::new(problem));
        };
        if let Some(page) = page.get("ttlMs").and_then(Value::as_u64).map(Duration::from_millis) {
            holds = Some(holds.map_or(page, |known| page.min(known)));
        }
        for item in found {
            let name = ["name", "uri"].iter().find_map(|member| item.get(member)?.as_str());
            let name = name.unwrap_or_default();
            let size = size(&item);
            let is_full = items.len() >= config.limits.items || left <= size;
            // Those that are left out were read, too.
            left = left.saturating_sub(size);
            if size > most {
                left_out.add(config, name, "it is too large");
            } else if is_too_deep(&item) {
                left_out.add(config, name, &format!("it nests deeper than {DEEPEST} levels"));
            } else if is_full {
                (beyond, left) = (beyond.saturating_add(1), 0);
            } else {
                items.push(item);
            }
        }
        cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        // A cursor that comes again leads in a circle.
        match &cursor {
            Some(next) if left > 0 && items.len() < config.limits.items && seen.insert(next.clone()) => {}
            _ => break,
        }
    }
    if beyond > 0 {
        left_out.add_others(config, format!("{beyond} more: the list is too long"));
    }
    if cursor.is_some() {
        left_out.add_others(config, "the rest: the list goes on, and is not read further".to_owned());
    }
    Ok(Listed { items, left_out, holds })
}

/// The tools to offer, and what is remembered of them.
pub(crate) async fn tools(session: &Session, config: &Config) -> Result<(Vec<ToolSpec>, Catalog), ToolError> {
    let info = session.info();
    let capabilities = info.as_deref().map(|info| &info.capabilities);
    let (mut specs, mut names) = (Vec::new(), HashSet::new());
    let redactor = config.redactor().given_only();
    let has_others = capabilities.is_some_and(|has| has.resources.is_some() || has.prompts.is_some());
    // A server that says so has no tools to list.
    let has_tools = !has_others || capabilities.is_some_and(|has| has.tools.is_some());
    let listed = match has_tools {
        true => list(session, config, Kind::Tools).await?,
        false => Listed::default(),
    };
    let mut catalog = Catalog { left_out: listed.left_out, holds: listed.holds, ..Catalog::default() };
    for item in listed.items {
        let mut left_out = |name: &str, why: &str| catalog.left_out.add(config, name, why);
        let name = item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let tool = match serde_json::from_value::<Tool>(item) {
            Ok(tool) => tool,
            Err(_) => {
                left_out(&name, "it is not described as a tool is");
                continue;
            }
        };
        if name.trim().is_empty() || name.len() > LONGEST_NAME || name.contains(|c: char| c.is_control()) {
            left_out(&name, "its name is none");
        } else if matches!(redactor.redact(&name), Cow::Owned(_)) {
            left_out(&name, "its name holds a secret");
        } else if !config.leads_back(&name) {
            left_out(&name, "another is renamed to its name");
        } else if names.contains(&config.internal(&name)) {
            left_out(&name, "another has its name");
        } else if [LIST_RESOURCES, READ_RESOURCE, LIST_PROMPTS, GET_PROMPT].contains(&&*name) {
            left_out(&name, "its name is that of a request");
        } else if config.offers(&name) {
            match spec(config, &redactor, tool) {
                Ok((spec, known)) => {
                    names.insert(spec.definition.name().to_owned());
                    catalog.tools.insert(name, known);
                    specs.push(spec);
                }
                Err(why) => left_out(&name, why),
            }
        }
    }
    let own = |wanted: bool, there: bool| wanted && there;
    if own(config.resources, capabilities.is_some_and(|has| has.resources.is_some())) {
        specs.extend(resource_tools(config));
    }
    if own(config.prompts, capabilities.is_some_and(|has| has.prompts.is_some())) {
        specs.extend(prompt_tools(config));
    }
    Ok((specs, catalog))
}

fn spec(config: &Config, redactor: &Redactor, tool: Tool) -> Result<(ToolSpec, Known), &'static str> {
    if size(&*tool.input_schema) > config.limits.schema_bytes {
        return Err("its schema is too large");
    }
    let output = tool.output_schema.filter(|schema| size(&**schema) <= config.limits.schema_bytes);
    let output = output.and_then(|schema| Schema::new(&Value::Object((*schema).clone())).ok()).map(Arc::new);
    let effect = match &tool.annotations {
        Some(hints) if config.trusts_hints => effect(hints),
        _ => Effect::SideEffect,
    };
    let title = tool.title.or(tool.annotations.and_then(|hints| hints.title));
    let description = match (tool.description, title) {
        (Some(description), _) if !description.trim().is_empty() => description.into_owned(),
        (_, title) => title.unwrap_or_default(),
    };
    let description = cut(&redactor.redact(&description), config.limits.description_chars);
    let mut schema = Value::Object((*tool.input_schema).clone());
    clean(redactor, &mut schema);
    let definition = ToolDefinition::new(config.internal(&tool.name), description, schema);
    let known = Known { output, repeatable: effect != Effect::SideEffect };
    Ok((of_server(config, definition).with_effect(effect), known))
}

fn of_server(config: &Config, definition: ToolDefinition) -> ToolSpec {
    let mut spec =
        ToolSpec::new(definition).with_timeout(config.limits.call).with_origin(config.name.clone());
    spec.metadata.asks = config.asks();
    spec
}

/// The bytes of a value as JSON.
fn size(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// The effect that the hints of a trusted server declare.
fn effect(hints: &ToolAnnotations) -> Effect {
    match (hints.read_only_hint, hints.idempotent_hint) {
        (Some(true), _) => Effect::Read,
        (_, Some(true)) => Effect::Idempotent,
        _ => Effect::SideEffect,
    }
}

fn resource_tools(config: &Config) -> [ToolSpec; 2] {
    let list = ToolDefinition::new(
        config.internal(LIST_RESOURCES),
        format!("Lists the resources of {}, with templates of the addresses of others", config.alias),
        json!({"type": "object", "properties": {}}),
    );
    let read = ToolDefinition::new(
        config.internal(READ_RESOURCE),
        format!("Reads a resource of {}", config.alias),
        json!({
            "type": "object",
            "properties": {"uri": {"type": "string", "description": "The resource's address"}},
            "required": ["uri"],
        }),
    );
    [list, read].map(|definition| of_server(config, definition).with_effect(Effect::Read))
}

fn prompt_tools(config: &Config) -> [ToolSpec; 2] {
    let list = ToolDefinition::new(
        config.internal(LIST_PROMPTS),
        format!("Lists the prompts that {} offers", config.alias),
        json!({"type": "object", "properties": {}}),
    );
    let get = ToolDefinition::new(
        config.internal(GET_PROMPT),
        format!("Gets a prompt of {}", config.alias),
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The prompt's name"},
                "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["name"],
        }),
    );
    [list, get].map(|definition| of_server(config, definition).with_effect(Effect::Read))
}
