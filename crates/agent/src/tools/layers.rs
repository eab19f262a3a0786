//! Many tools in layers: the model reads a line for each, asks for the details of those that it needs, and is offered
//! them from the next step on.

use std::sync::Arc;

use attache_core::near::near;
use attache_core::tool::{ToolSetError, ToolSpec};
use attache_core::{
    BoxFuture, Capture, ContentTree, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput, ToolSet,
};
use serde_json::{Map, Value, json};

use crate::tools::ToolEntry;
use crate::tools::catalog::first_line;
use crate::tools::error::did_you_mean;
use crate::tools::index::Index;

/// The tool that shows all of a tool.
pub(crate) const DETAIL: &str = "tool_detail";
/// The tool that finds tools.
pub(crate) const SEARCH: &str = "tool_search";

/// The origin of the two.
const ORIGIN: &str = "attache";

/// True if a tool is one of the two that show others.
pub(crate) fn is_ours(spec: &ToolSpec) -> bool {
    spec.metadata.origin == ORIGIN && matches!(spec.definition.name(), DETAIL | SEARCH)
}

/// The maximum number of characters of the lines that the model reads from the start.
const LINES: usize = 12_000;
/// The maximum number of characters of one of them, its name apart.
const LINE: usize = 100;
/// The number of tools that a search finds unless it sets one.
const FOUND: usize = 5;
/// The maximum number of tools that it finds.
const MOST_FOUND: usize = 20;
/// Tools that the model is not offered from the start.
pub(crate) struct Layers {
    /// All tools, those that wait behind the others.
    pub(crate) all: ToolSet,
    /// Those that wait, in order.
    waiting: Vec<ToolSpec>,
    index: Index,
}

impl Layers {
    pub(crate) fn new(all: ToolSet, waiting: Vec<ToolSpec>) -> Arc<Self> {
        let index = Index::new(&waiting);
        Arc::new(Self { all, waiting, index })
    }

    /// The same with tools that are others than they were.
    pub(crate) fn with(&self, changed: &[ToolSpec]) -> Result<Arc<Self>, ToolSetError> {
        let now = |name: &str| changed.iter().find(|spec| spec.definition.name() == name);
        let all = self.all.iter().map(|(_, definition)| {
            now(definition.name()).map_or(definition, |spec| &spec.definition).clone()
        });
        let waiting = self.waiting.iter().map(|spec| now(spec.definition.name()).unwrap_or(spec).clone());
        Ok(Self::new(ToolSet::named_as(&self.all, all)?, waiting.collect()))
    }

    /// The two tools with which the model asks for the others.
    pub(crate) fn tools(self: &Arc<Self>) -> [Arc<dyn Tool>; 2] {
        let read = |name, description: String, schema| {
            let definition = ToolDefinition::new(name, description, schema);
            ToolSpec::new(definition).with_effect(Effect::Read).with_always_visible(true).with_origin(ORIGIN)
        };
        let name = json!({"type": "string", "description": "The name of the tool"});
        let schema = json!({"type": "object", "properties": {"name": name}, "required": ["name"]});
        let detail = Detail { spec: read(DETAIL, self.detail_text(), schema), layers: Arc::clone(self) };
        let query = json!({"type": "string", "description": "The purpose of the tool, in a few words"});
        let limit = json!({"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": FOUND,
            "description": "The most tools to find"});
        let schema =
            json!({"type": "object", "properties": {"query": query, "limit": limit}, "required": ["query"]});
        let text = "Finds tools by words of their names, descriptions and arguments. Those that it finds can be called \
                    from the next step on.";
        let search = Search { spec: read(SEARCH, text.to_owned(), schema), layers: Arc::clone(self) };
        [Arc::new(detail), Arc::new(search)]
    }

    /// The description of the tool that shows details: a line for each tool that waits.
    fn detail_text(&self) -> String {
        let mut text = format!(
            "Shows the parameters, examples and results of a tool, which can be called from the next step on. There are \
             {} more tools:",
            self.waiting.len()
        );
        let begun = text.len();
        for (at, spec) in self.waiting.iter().enumerate() {
            let line = self.line(spec);
            if text.len() - begun + line.len() > LINES {
                let left = self.waiting.len() - at;
                text.push_str(&format!("\n… and {left} that {SEARCH} finds"));
                break;
            }
            text.push('\n');
            text.push_str(&line);
        }
        text
    }

    /// A tool's name on the wire and what it is for, in a line.
    fn line(&self, spec: &ToolSpec) -> String {
        let definition = &spec.definition;
        let said = first_line(definition.description());
        let short: String = said.chars().take(LINE).collect();
        let more = if short.len() < said.len() { "…" } else { "" };
        let wire = self.all.wire_name(definition.name());
        if short.is_empty() { wire } else { format!("{wire}: {short}{more}") }
    }

    /// The tool that waits under that name; letter case is forgiven where no other tool is meant.
    fn waiting(&self, name: &str) -> Option<&ToolSpec> {
        let internal = self.all.internal_name(name);
        let named = |spec: &&ToolSpec| [name, internal].contains(&spec.definition.name());
        let folded = || {
            let mut same =
                self.waiting.iter().filter(|spec| spec.definition.name().eq_ignore_ascii_case(name));
            same.next().filter(|_| same.next().is_none() && self.all.get(internal).is_none())
        };
        self.waiting.iter().find(named).or_else(folded)
    }

    /// All that is to be said of a tool.
    fn detail(&self, definition: &ToolDefinition) -> Value {
        let wire = self.all.wire_name(definition.name());
        let mut told = json!({
            "name": wire,
            "description": definition.description(),
            "parameters": definition.input_schema(),
        });
        let examples = definition.examples().to_vec();
        let examples = match examples.is_empty() {
            true => attache_core::schema::example(definition.input_schema()).into_iter().collect(),
            false => examples,
        };
        if let Value::Object(told) = &mut told {
            if !examples.is_empty() {
                told.insert("examples".to_owned(), Value::Array(examples));
            }
            if let Some(returns) = definition.output_schema() {
                told.insert("returns".to_owned(), returns.clone());
            }
        }
        told
    }

    /// The words for the model instead of the execution of a tool whose definition it has not read.
    pub(crate) fn guessed(&self, entry: &ToolEntry) -> String {
        let definition = &entry.spec.definition;
        format!(
            "not executed: the definition of {} was not shown yet. It is: {} Call it again in this form.",
            self.all.wire_name(definition.name()),
            self.detail(definition)
        )
    }
}

/// The names of the tools that a result of [`DETAIL`] or [`SEARCH`] shows.
pub(crate) fn shown(result: &ContentTree) -> Vec<String> {
    let read: Option<Map<String, Value>> = serde_json::from_str(result.json()).ok();
    let shown = read.and_then(|mut read| read.remove(SHOWN));
    let Some(Value::Array(names)) = shown else { return Vec::new() };
    names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The member of a result with the names of the tools that can be called from then on.
const SHOWN: &str = "callableFromNextStep";

/// Shows all of a tool.
struct Detail {
    spec: ToolSpec,
    layers: Arc<Layers>,
}

impl Tool for Detail {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let layers = &self.layers;
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
        let answer = match (layers.waiting(name), layers.all.get(layers.all.internal_name(name))) {
            (Some(spec), _) => {
                let wire = layers.all.wire_name(spec.definition.name());
                Ok(json!({SHOWN: [wire], "tool": layers.detail(&spec.definition)}))
            }
            (None, Some(definition)) => Ok(json!({"tool": layers.detail(definition)})),
            (None, None) => {
                let shown: String = name.chars().take(80).collect();
                let near = near(name, layers.all.iter().map(|(wire, _)| wire));
                Err(ToolError::retry(format!(
                    "there is no tool named {shown:?}{}",
                    match near.is_empty() {
                        true => format!("; {SEARCH} finds tools by words"),
                        false => did_you_mean(&near),
                    }
                ))
                .with_kind(ToolErrorKind::UnknownTool))
            }
        };
        Box::pin(std::future::ready(
            answer.and_then(|told| Ok(ToolOutput::new(Capture::new().finish(&told)?))),
        ))
    }
}

/// Finds tools.
struct Search {
    spec: ToolSpec,
    layers: Arc<Layers>,
}

impl Tool for Search {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let layers = &self.layers;
        let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let limit =
            arguments.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
        let found = layers.index.search(query, limit.unwrap_or(FOUND).min(MOST_FOUND));
        let found: Vec<&ToolSpec> = found.into_iter().filter_map(|at| layers.waiting.get(at)).collect();
        let wires: Vec<_> = found.iter().map(|spec| layers.all.wire_name(spec.definition.name())).collect();
        let lines: Vec<String> = found.iter().map(|spec| layers.line(spec)).collect();
        let told = match found.is_empty() {
            true => json!({"found": lines, "note": "no tool has these words; try others"}),
            false => json!({SHOWN: wires, "found": lines}),
        };
        let told = Capture::new().finish(&told);
        Box::pin(std::future::ready(told.map(ToolOutput::new).map_err(ToolError::from)))
    }
}
