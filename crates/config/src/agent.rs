//! Prices, limits and approvals of an agent.

use std::time::Duration;

use attache_agent::{AgentBuilder, ApprovalPolicy, Ask, Compaction, Money, Prices, Proposal, Verdict};
use attache_core::tool::wire_name;
use attache_core::{BoxFuture, Effect};

use crate::config::Config;
use crate::problem::Problems;
use crate::sections::AskedAbout;

impl Config {
    /// Applies all agent settings of the configuration: limits, approvals and prices, and the tools of MCP servers, A2A
    /// agents, HTTP services and this machine, as far as the crate features are enabled.
    ///
    /// The program must set up models, stores and file tools itself, with [`registry`](Self::registry),
    /// [`sessions_place`](Self::sessions_place), [`documents_folder`](Self::documents_folder) and
    /// [`tool_folders`](Self::tool_folders).
    ///
    /// # Errors
    /// All commands and services that cannot be used.
    pub fn agent(&self, agent: AgentBuilder) -> Result<AgentBuilder, Problems> {
        let mut agent = self.limited(agent).approval_policy(self.approvals());
        if let Some(prices) = self.prices() {
            agent = agent.prices(prices);
        }
        #[cfg(any(feature = "tools", feature = "http-tools"))]
        {
            agent = self.with_tools(agent)?;
        }
        #[cfg(feature = "mcp")]
        for server in self.mcp_servers() {
            agent = agent.handler(server);
        }
        #[cfg(feature = "a2a")]
        for one in self.a2a_agents() {
            agent = agent.handler(one);
        }
        Ok(agent)
    }

    /// The agent with the commands and the services.
    #[cfg(any(feature = "tools", feature = "http-tools"))]
    fn with_tools(&self, mut agent: AgentBuilder) -> Result<AgentBuilder, Problems> {
        let mut problems = Vec::new();
        #[cfg(feature = "tools")]
        match self.local_tools() {
            Ok(tools) => agent = agent.tools(tools),
            Err(more) => problems.extend(more),
        }
        #[cfg(feature = "http-tools")]
        match self.http_tools() {
            Ok(services) => agent = services.into_iter().fold(agent, AgentBuilder::handler),
            Err(more) => problems.extend(more),
        }
        if problems.is_empty() { Ok(agent) } else { Err(Problems::of(problems)) }
    }

    /// The prices of models, if there are any.
    pub fn prices(&self) -> Option<Prices> {
        let section = self.last(|sections| sections.prices.clone())?;
        serde_json::to_value(section).and_then(serde_json::from_value).ok()
    }

    /// The maximum number of model calls per answer, if it is limited.
    pub fn max_steps(&self) -> Option<u32> {
        self.last(|sections| sections.limits.steps)
    }

    /// Applies the configured limits to the agent.
    pub fn limited(&self, mut agent: AgentBuilder) -> AgentBuilder {
        if let Some(steps) = self.max_steps() {
            agent = agent.max_steps(steps);
        }
        if let Some(calls) = self.last(|sections| sections.limits.tool_calls) {
            agent = agent.max_tool_calls(calls);
        }
        if let Some(tokens) = self.last(|sections| sections.limits.tokens) {
            agent = agent.max_tokens_per_run(tokens);
        }
        if let Some(cost) = self.last(|sections| sections.limits.cost) {
            agent = agent.max_cost(Money::new(cost));
        }
        if let Some(seconds) = self.last(|sections| sections.limits.seconds) {
            agent = agent.deadline(Duration::from_secs(seconds));
        }
        if let Some(seconds) = self.last(|sections| sections.limits.tool_seconds) {
            agent = agent.tool_timeout(Duration::from_secs(seconds));
        }
        if let Some(calls) = self.last(|sections| sections.limits.parallel_calls) {
            agent = agent.parallel_calls(usize::try_from(calls).unwrap_or(usize::MAX));
        }
        if let Some(chars) = self.last(|sections| sections.limits.result_chars) {
            agent = agent.max_result_chars(usize::try_from(chars).unwrap_or(usize::MAX));
        }
        if let Some(tokens) = self.last(|sections| sections.limits.compact_above) {
            agent = agent.memory(Compaction::new().with_threshold(tokens));
        }
        agent
    }

    /// The policy for the approval of calls.
    pub fn approvals(&self) -> Approvals {
        let mut approvals = Approvals::default();
        for read in &self.files {
            let section = &read.sections.approvals;
            approvals.allow.extend(section.allow.iter().cloned());
            approvals.ask.extend(section.ask.iter().cloned());
            approvals.deny.extend(section.deny.iter().cloned());
            approvals.default = section.default.unwrap_or(approvals.default);
        }
        approvals
    }
}

/// The approval policy for calls, by tool name and effect.
///
/// ```
/// use attache_config::Approvals;
/// let approvals = Approvals::default().with_allowed(["mcp_files___read_*"]).with_denied(["*delete*"]);
/// # let _ = approvals;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    default: AskedAbout,
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

impl Approvals {
    /// Allows calls of these tools without approval; `*` in a name matches anything.
    #[must_use]
    pub fn with_allowed(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allow.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Denies all calls of these tools.
    #[must_use]
    pub fn with_denied(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.deny.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Requires approval of every call, even for allowed tools.
    #[must_use]
    pub fn with_all_asked(mut self) -> Self {
        self.ask.push("*".to_owned());
        self
    }

    /// True if a tool runs without approval regardless of its own metadata: it is on the allow list, or approvals are
    /// disabled, and no other list contradicts.
    pub fn allows(&self, tool: &str) -> bool {
        let is_allowed = self.default == AskedAbout::Never || holds(&self.allow, tool);
        is_allowed && !holds(&self.ask, tool) && !holds(&self.deny, tool)
    }

    /// Decides about a call of a tool by its name and effect.
    pub fn verdict(&self, tool: &str, effect: Effect) -> Verdict {
        if holds(&self.deny, tool) {
            return Verdict::Deny("the configuration does not allow this tool to run".to_owned());
        }
        if holds(&self.ask, tool) {
            return Verdict::Ask(Ask::because("the configuration requires approval of each call of it"));
        }
        let asks = match self.default {
            AskedAbout::Never => false,
            AskedAbout::Effects => effect != Effect::Read,
            AskedAbout::Always => true,
        };
        match asks && !holds(&self.allow, tool) {
            true if effect == Effect::Read => {
                Verdict::Ask(Ask::because("the configuration requires approval of each call"))
            }
            true => Verdict::Ask(Ask::because("the tool may change something")),
            false => Verdict::Run,
        }
    }
}

impl ApprovalPolicy for Approvals {
    fn judge<'a>(&'a self, proposal: &'a Proposal<'a>) -> BoxFuture<'a, Verdict> {
        let tool = proposal.tool;
        Box::pin(std::future::ready(self.verdict(tool.definition.name(), tool.metadata.effect)))
    }
}

/// True if a pattern fits the tool: its name, or the one that models see, since a person may write either.
fn holds(patterns: &[String], tool: &str) -> bool {
    let seen = wire_name(tool);
    patterns.iter().any(|pattern| fits(pattern, tool) || fits(pattern, &seen))
}

/// True if the name fits the pattern, in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_tools_fit_whole_names() {
        for (pattern, name, does) in [
            ("*", "anything", true),
            ("read", "read", true),
            ("read", "read_file", false),
            ("mcp_*_read*", "mcp_files___read_file", true),
            ("*delete", "mcp_files___delete", true),
            ("*delete", "delete_all", false),
            ("a*a", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, name), does, "{pattern} {name}");
        }
    }

    // Reading the file reports the same problems before there is an agent.
    #[cfg(all(unix, feature = "tools", feature = "http-tools"))]
    #[test]
    fn an_agent_is_refused_for_its_commands_and_its_services_at_once() {
        let text = "[tools]\ncommand = ['cat <what>']\n[http.a]\nbase_url = 'https://a.example'\n\
                    [[http.a.endpoints]]\nname = 'x'\npath = '/{a'\ndescription = 'd'\n";
        let file = crate::ConfigFile::parse("attache.toml", text).unwrap();
        let crate::checked::Checked { sections, masks, unset } =
            crate::checked::checked(&file, &|_| None).0.unwrap();
        let read = crate::read::Read { file, sections, masks, home: None, unset };
        let mut config = Config::default();
        config.files.push(read);
        let model = attache_models::Registry::bundled().model("offline/extractive").unwrap();
        let told = config.agent(attache_agent::Agent::builder(model)).err().unwrap().to_string();
        assert!(
            told.contains("tools.command[0]") && told.contains("http.a.endpoints[0] cannot be made"),
            "{told}"
        );
    }
}
