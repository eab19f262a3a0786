//! A summary of a run: what it took, what it called, and what became of its documents.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use attache_core::{ToolCallId, Usage};
use attache_documents::RoutingReport;
use serde::Serialize;
use tokio::time::Instant;

use crate::event::{Event, EventKind};
use crate::outcome::{EndReason, Outcome};
use crate::price::Money;

/// A summary of one run, gathered from its events: a few lines for people by `Display`, an object as JSON. It holds no
/// content.
///
/// Of a run that was resumed it tells what was done since; counts of tokens, cost and steps are those of the whole run.
///
/// ```
/// use attache_agent::{Agent, RunSummary};
/// # use attache_testkit::{ScriptedModel, Turn};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let model = ScriptedModel::new([Turn::text("Hello.")]);
/// let agent = Agent::builder(model).build()?;
/// let (outcome, summary) = agent.run("Hi").outcome_and_summary().await;
/// assert_eq!(outcome?.text, "Hello.");
/// assert!(summary.to_string().starts_with("answer after 1 model call in "));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run.
    pub run_id: String,
    /// Why it ended; `None` if it did not.
    pub reason: Option<EndReason>,
    /// Model calls that came to their end.
    pub steps: u32,
    /// The tokens of all of them and of those of agents inside; unknown counts are absent.
    pub usage: Usage,
    /// The known cost of all of them, in the currency of the prices; `None` without prices.
    pub cost: Option<Money>,
    /// Replies whose cost nobody knows, where there are prices.
    pub unknown_cost_steps: u32,
    /// The seconds from the first event to the last.
    pub seconds: f64,
    /// Those of them in which the model was asked.
    pub model_seconds: f64,
    /// The tools that were called, in the order of their first calls.
    pub tools: Vec<ToolSummary>,
    /// The number of documents that had each outcome when they were last routed, by [its
    /// word](attache_documents::DocumentOutcome::as_str); those of agents inside included.
    pub documents: BTreeMap<&'static str, usize>,
    #[serde(skip)]
    open: Open,
}

/// The calls of one tool.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[non_exhaustive]
pub struct ToolSummary {
    /// The tool; a tool of an agent inside has the name of that agent's tool before it, as in `research/look`.
    pub name: String,
    /// Calls that have a result.
    pub calls: u32,
    /// Those of them that failed or were not run.
    pub failed: u32,
    /// The seconds that its calls took together; side by side they count each.
    pub seconds: f64,
}

/// The things of which the end is not known yet.
#[derive(Clone, Debug, Default)]
struct Open {
    began: Option<Instant>,
    asked: Option<Instant>,
    calls: HashMap<ToolCallId, Instant>,
    /// True if the run has said that it has prices.
    has_prices: bool,
    /// The newest report of each run, by the agents on the way to it.
    reports: BTreeMap<String, Arc<RoutingReport>>,
}

impl Default for RunSummary {
    fn default() -> Self {
        Self::new()
    }
}

impl RunSummary {
    /// The summary of a run of which nothing is known.
    pub fn new() -> Self {
        Self {
            run_id: String::new(),
            reason: None,
            steps: 0,
            usage: Usage::default(),
            cost: None,
            unknown_cost_steps: 0,
            seconds: 0.0,
            model_seconds: 0.0,
            tools: Vec::new(),
            documents: BTreeMap::new(),
            open: Open::default(),
        }
    }

    /// Takes an event in, at the time at which it happens.
    pub fn note(&mut self, event: &Event) {
        let now = Instant::now();
        let began = *self.open.began.get_or_insert(now);
        self.seconds = (now - began).as_secs_f64();
        match &event.kind {
            EventKind::RunStarted { run_id } => self.run_id.clone_from(run_id),
            EventKind::StepStarted { .. } => self.open.asked = Some(now),
            EventKind::StepFinished { usage, .. } => {
                self.asked_until(now);
                self.steps = event.step;
                self.usage.add(usage);
            }
            EventKind::Finished(_) => {
                self.asked_until(now);
                if let Some(outcome) = event.kind.outcome() {
                    self.finish(outcome);
                }
            }
            // It is told where there are prices alone.
            EventKind::Warning { code: "cost_unknown", .. } => self.open.has_prices = true,
            EventKind::Nested { path, event } => {
                let path: String = path.iter().map(|agent| format!("{}/", agent.name)).collect();
                self.note_work(&path, &event.kind, now);
            }
            kind => self.note_work("", kind, now),
        }
    }

    fn asked_until(&mut self, now: Instant) {
        if let Some(asked) = self.open.asked.take() {
            self.model_seconds += (now - asked).as_secs_f64();
        }
    }

    fn note_work(&mut self, path: &str, kind: &EventKind, now: Instant) {
        match kind {
            EventKind::ToolStarted { call } => drop(self.open.calls.insert(call.id.clone(), now)),
            EventKind::ToolFinished { result, .. } => {
                let began = self.open.calls.remove(&result.call_id);
                let name = format!("{path}{}", result.tool_name.as_deref().unwrap_or("?"));
                let tool = match self.tools.iter().position(|known| known.name == name) {
                    Some(at) => self.tools.get_mut(at),
                    None => {
                        self.tools.push(ToolSummary { name, calls: 0, failed: 0, seconds: 0.0 });
                        self.tools.last_mut()
                    }
                };
                if let Some(tool) = tool {
                    tool.calls += 1;
                    tool.failed += u32::from(result.is_error());
                    tool.seconds += began.map_or(0.0, |began| (now - began).as_secs_f64());
                }
            }
            EventKind::DocumentsRouted(report) => {
                self.open.reports.insert(path.to_owned(), Arc::clone(report));
                self.documents.clear();
                for decision in self.open.reports.values().flat_map(|report| &report.decisions) {
                    *self.documents.entry(decision.outcome.as_str()).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, outcome: &Outcome) {
        self.run_id.clone_from(&outcome.run_id);
        self.reason = Some(outcome.reason.clone());
        self.steps = outcome.steps;
        self.usage = outcome.usage.clone();
        let is_priced = outcome.cost.known > Money::ZERO;
        self.cost = is_priced.then_some(outcome.cost.known);
        self.unknown_cost_steps = match is_priced || self.open.has_prices {
            true => outcome.cost.unknown_steps,
            false => 0,
        };
    }
}

/// `12345` as `12,345`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 call`, `2 calls`.
fn counted(count: u32, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

fn listed(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A line for the end, and one each for tokens and cost, tools and documents, where there are some.
impl fmt::Display for RunSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.as_ref().map_or_else(|| "no end".to_owned(), EndReason::to_string);
        let steps = counted(self.steps, "model call");
        write!(f, "{reason} after {steps} in {:.1} s ({:.1} s asking)", self.seconds, self.model_seconds)?;
        let usage = &self.usage;
        if usage.input_tokens.is_some() || usage.output_tokens.is_some() {
            let known = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), grouped);
            write!(f, "\ntokens: {} read", known(usage.input_tokens))?;
            if let Some(cached) = usage.cached_tokens.filter(|cached| *cached > 0) {
                write!(f, " ({} cached)", grouped(cached))?;
            }
            write!(f, ", {} written", known(usage.output_tokens))?;
            match (self.cost, counted(self.unknown_cost_steps, "call")) {
                (Some(cost), _) if self.unknown_cost_steps == 0 => write!(f, "; cost {cost}")?,
                (Some(cost), calls) => write!(f, "; cost {cost} and that of {calls} that nobody knows")?,
                (None, calls) if self.unknown_cost_steps > 0 => {
                    write!(f, "; nobody knows the cost of {calls}")?
                }
                (None, _) => {}
            }
        }
        if !self.tools.is_empty() {
            let tools = self.tools.iter().map(|tool| {
                let failed =
                    if tool.failed > 0 { format!(" ({} failed)", tool.failed) } else { String::new() };
                format!("{} {}{failed} {:.1} s", tool.name, counted(tool.calls, "call"), tool.seconds)
            });
            write!(f, "\ntools: {}", listed(tools))?;
        }
        if !self.documents.is_empty() {
            let documents = self.documents.iter().map(|(outcome, count)| format!("{count} {outcome}"));
            write!(f, "\ndocuments: {}", listed(documents))?;
        }
        Ok(())
    }
}
