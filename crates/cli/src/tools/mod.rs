//! `attache tools`: the tools that a model would see, and calls of them by hand.

mod call;

use attache_agent::{Agent, EstimatedTokens, TokenCounter, ToolManager};
use attache_core::{Approval, Effect, ToolDefinition};
use attache_models::Registry;
use serde_json::{Value, json};

use crate::args::{self, Chosen, Opened, ToolsCommand};
use crate::ask::build::{Wanted, build, folders};
use crate::config_files::Config;
use crate::config_tools::Outside;
use crate::exit::Exit;
use crate::model_by_name::{OFFLINE, SetupError};
use crate::output::{answer, fail, harmless, line, page, short, word, written};
use crate::show::number::{counted, grouped};
use crate::show::table::Table;
use crate::show::width::terminal_width;

/// The maximum number of tools that are told one by one of those that are not offered.
const MOST_TOLD: usize = 20;

/// Runs the command.
pub(crate) async fn run(tools: args::Tools, registry: &Registry, config: &Config) -> Exit {
    match done(tools, registry, config).await {
        Ok(exit) => exit,
        Err(error) => {
            fail(&error.to_string());
            Exit::Setup
        }
    }
}

async fn done(tools: args::Tools, registry: &Registry, config: &Config) -> Result<Exit, SetupError> {
    if let Some(notice) = config.notice() {
        line(&notice);
    }
    let opened = Opened { files: tools.files, ..Opened::default() };
    let folders = folders(&opened, config, false).await?;
    let outside = Outside::connected(config, false).await.told().alive();
    let model = Chosen::default();
    // The tools are those of every model, and this one needs no key.
    let mut wanted = Wanted::new(OFFLINE, &model, config);
    (wanted.fetches, wanted.outside) = (true, outside.clone());
    let agent = build(&wanted, &folders, registry)?;
    let all = Offered::of(&agent, &outside).await?;
    if tools.command.is_none() {
        tell_left_out(&outside);
    }
    // A call succeeds or fails by itself; a list that lacks the tools of a server is no success.
    let is_whole = outside.failed.is_empty() || matches!(tools.command, Some(ToolsCommand::Call { .. }));
    let exit = match tools.command {
        None => all.listed(config, tools.json),
        Some(ToolsCommand::Show { name }) => all.one(&name)?.shown(config, tools.json),
        Some(ToolsCommand::Call { name, arguments, save }) => {
            let tool = &all.one(&name)?.name;
            call::call(&all.manager, tool, &arguments, save.as_deref(), tools.json, &outside).await?
        }
    };
    outside.close().await;
    Ok(exit.and(is_whole))
}

/// Says which tools of servers and services are not offered.
fn tell_left_out(outside: &Outside) {
    let left_out = outside.left_out();
    for told in left_out.iter().take(MOST_TOLD) {
        line(&harmless(&format!("! {}", short(told, 300))));
    }
    if let more @ 1.. = left_out.len().saturating_sub(MOST_TOLD) {
        line(&format!("! {more} more are not offered"));
    }
}

/// A tool as it is counted: about what a request has of it.
pub(crate) fn sent(name: &str, definition: &ToolDefinition) -> String {
    json!([name, definition.description(), definition.input_schema()]).to_string()
}

/// The tools that are offered.
struct Offered {
    manager: ToolManager,
    tools: Vec<One>,
}

/// A tool.
struct One {
    /// The name that the model sees.
    name: String,
    definition: ToolDefinition,
    /// The source.
    source: String,
    effect: Effect,
    /// Its own word on approvals.
    approval: Approval,
    /// About how many tokens it takes in each request.
    tokens: u64,
}

impl Offered {
    async fn of(agent: &Agent, outside: &Outside) -> Result<Self, SetupError> {
        let manager = agent.tool_manager().await.map_err(|error| SetupError::new(error.to_string()))?;
        let known = outside.sources().await;
        let tools = manager.specs().map(|(name, spec)| {
            let definition = &spec.definition;
            let source = known.get(definition.name()).cloned().unwrap_or_else(|| "attache".to_owned());
            let tokens = EstimatedTokens.count(&sent(name, definition));
            let (effect, approval) = (spec.metadata.effect, spec.metadata.approval);
            One { name: name.to_owned(), definition: definition.clone(), source, effect, approval, tokens }
        });
        let tools = tools.collect();
        Ok(Self { manager, tools })
    }

    fn one(&self, name: &str) -> Result<&One, SetupError> {
        let is = |tool: &&One| tool.name == name || tool.definition.name() == name;
        self.tools.iter().find(is).ok_or_else(|| {
            let parts: Vec<&str> = self
                .tools
                .iter()
                .map(|tool| tool.name.as_str())
                .filter(|known| known.contains(name))
                .take(3)
                .collect();
            let hint = match parts.as_slice() {
                [] => "`attache tools` lists them".to_owned(),
                parts => format!("did you mean {}?", parts.join(" or ")),
            };
            SetupError::new(format!("there is no tool {name:?}; {hint}"))
        })
    }

    fn listed(&self, config: &Config, as_json: bool) -> Exit {
        if as_json {
            let lines = self.tools.iter().map(|tool| format!("{}\n", tool.json(config)));
            return written(answer(&lines.collect::<String>()));
        }
        let mut table = Table::new(["tool", "from", "before a call", "tokens", "what it does"]);
        for tool in &self.tools {
            let about = short(tool.definition.description(), 100);
            table.row([
                tool.name.clone(),
                tool.source.clone(),
                tool.asks(config).to_owned(),
                grouped(tool.tokens),
                about,
            ]);
        }
        let tokens: u64 = self.tools.iter().map(|tool| tool.tokens).sum();
        let exit = written(answer(&table.render(terminal_width())));
        let count = counted(u64::try_from(self.tools.len()).unwrap_or(u64::MAX), "tool");
        line(&format!("· {count}, about {} tokens in each request", grouped(tokens)));
        exit
    }
}

impl One {
    /// The word on what happens before a call.
    fn asks(&self, config: &Config) -> &'static str {
        use attache_agent::Verdict;
        match config.said.approvals().verdict(self.definition.name(), self.effect) {
            Verdict::Run if self.approval == Approval::Never => "runs",
            Verdict::Deny(_) => "never runs",
            _ => "asks you",
        }
    }

    fn json(&self, config: &Config) -> Value {
        json!({
            "name": self.name,
            "description": self.definition.description(),
            "input_schema": self.definition.input_schema(),
            "output_schema": self.definition.output_schema(),
            "source": self.source,
            "effect": word(&self.effect),
            "before": self.asks(config),
            "tokens": self.tokens,
        })
    }

    fn shown(&self, config: &Config, as_json: bool) -> Exit {
        if as_json {
            return written(answer(&format!("{}\n", self.json(config))));
        }
        let pretty = |schema: &Value| serde_json::to_string_pretty(schema).unwrap_or_default();
        let mut text = format!(
            "{}\nfrom: {}\neffect: {}\nbefore a call: {}\nabout {} tokens\n\n{}\n\narguments: {}\n",
            self.name,
            self.source,
            word(&self.effect),
            self.asks(config),
            grouped(self.tokens),
            self.definition.description(),
            pretty(self.definition.input_schema()),
        );
        if let Some(schema) = self.definition.output_schema() {
            text.push_str(&format!("\nresult: {}\n", pretty(schema)));
        }
        written(page(&harmless(&text)))
    }
}
