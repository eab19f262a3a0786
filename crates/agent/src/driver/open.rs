//! Opens a run: loads its log and folds it, or begins one.

use std::sync::Arc;

use attache_core::repair::{Repaired, repair};
use attache_core::tool::{DocumentView, Extensions, RunValues};
use attache_core::{Document, ErrorKind, Message, ProviderError, Role, StoreError, Transcript};

use crate::approval::DecideError;
use crate::control::Control;
use crate::driver::Driver;
use crate::driver::library::Library;
use crate::driver::limits::{check_priced, prices_of};
use crate::driver::offer_state::Offers;
use crate::driver::stop::Fault;
use crate::driver::team::{Team, unknown};
use crate::driver::unstored::{is_held, not_stored};
use crate::event::EventKind;
use crate::input::{RunInput, is_run_only};
use crate::journal::{JournalError, Origin, Recorder, Scope, now};
use crate::limits::Limits;
use crate::log::{Entry, EntryKind, Handoffs, Key, Started, ToolRule};
use crate::memory::mark::without_marks;
use crate::memory::marks::Marks;
use crate::observe::{ObservedRun, OpenedRun};
use crate::options::RunOptions;
use crate::outcome::{EndReason, Outcome};
use crate::output::{OutputMode, OutputSpec};
use crate::run::{AGENT, Action, ReplayError, Run, open_approvals, without_approvals};
use crate::setup::{HistoryPolicy, Setup};
use crate::spending::{Account, Amount, Budget};
use crate::store_documents::keep_of_messages;
use crate::tool_time::Pace;
use crate::tools::{Executor, ToolEntry, Toolbox};

/// The work to do at the place.
pub(crate) enum Task {
    /// Boxed, since each run has room for it.
    Start(Box<RunInput>),
    Resume(RunOptions),
}

impl Task {
    fn options(&self) -> &RunOptions {
        match self {
            Self::Start(input) => &input.options,
            Self::Resume(options) => options,
        }
    }

    /// The run as observers learn of it.
    pub(super) fn observed<'a>(&'a self, setup: &'a Setup, is_nested: bool) -> ObservedRun<'a> {
        let options = self.options();
        ObservedRun {
            model: options.model.as_ref().unwrap_or(&setup.model),
            is_resumed: matches!(self, Self::Resume(_)),
            is_nested,
            principal: options.principal.as_deref().or(setup.principal.as_deref()),
            run_values: &options.extensions,
            agent_values: &setup.extensions,
        }
    }

    /// The deadline of a run that begins now, in milliseconds since 1970.
    pub(super) fn deadline(&self, setup: &Setup) -> Option<u64> {
        let limit = setup.timing.deadline.filter(|_| matches!(self, Self::Start(_)))?;
        Some(now().saturating_add(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The outcome of a run that could not be opened: the conversation as it was given.
    pub(crate) fn outcome(&self, reason: EndReason) -> Box<Outcome> {
        let mut outcome = Box::new(Run::new().outcome());
        outcome.reason = reason;
        if let Self::Start(input) = self {
            outcome.run_id = input.run_id.clone().unwrap_or_default();
            outcome.messages = input.history.iter().chain(&input.messages).cloned().collect();
        }
        outcome
    }
}

/// Opens the run. A log that is not one of a run is refused before anything is written.
pub(super) async fn open(
    setup: &Arc<Setup>,
    origin: Origin,
    task: &Task,
    deadline: Option<u64>,
    control: &Control,
    pace: &Pace,
) -> Result<(Box<Driver>, Vec<EventKind>), Fault> {
    let options = task.options();
    let limits = match task {
        Task::Start(input) => input.limits.as_ref(),
        // The log has those that hold.
        Task::Resume(_) => None,
    };
    let is_own = options.vary() || limits.is_some();
    let own = if is_own { Some(Arc::new(setup.varied(options, limits)?)) } else { None };
    let setup = own.as_ref().unwrap_or(setup);
    let mut asked = None;
    let scope = origin.scope().cloned();
    if let Some(scope) = &scope
        && scope.shared().depth >= scope.shared().max_depth
    {
        let text = format!("agents stand inside one another more than {} deep", scope.shared().max_depth);
        return Err(ProviderError::new(ErrorKind::Configuration, text).into());
    }
    let (recorder, run) = match origin {
        Origin::Nested { recorder, entries, question, scope } => {
            asked = Some((question, scope));
            (recorder, Run::replay(&entries)?)
        }
        Origin::Unknown => {
            let problem = "a run inside this tool may have had effects before the tool was interrupted, and its question is another one now; give such runs an id";
            return Err(ReplayError { key: Key::start().to_string(), problem }.into());
        }
        Origin::Place(place) => {
            let brought = control.take_brought();
            if !brought.is_empty() {
                Box::pin(control.leave(brought)).await?;
            }
            let read = |entries: &[Entry]| match (task, entries.is_empty()) {
                (Task::Start(_), false) => Err(Fault::from(JournalError::Occupied)),
                (Task::Resume(_), true) => Err(Fault::from(JournalError::Empty)),
                _ => Ok(Run::replay(entries)?),
            };
            Recorder::claim(&place, read).await?
        }
    };
    let team = Team::of(setup, &options.extensions);
    let led = match (run.path(), &team) {
        ([], _) => None,
        (path, Some(team)) => Some(team.in_charge(path)?),
        (path, None) => return Err(unknown(&path.join("/"))),
    };
    let setup = led.as_ref().unwrap_or(setup);
    let output = match run.output() {
        Some(output) => Some(output.spec.clone()),
        None if matches!(run.next(), Action::Start) => {
            let settled =
                |spec: OutputSpec| spec.settled(&setup.model, &setup.settings, !setup.tools.is_empty());
            control.output().cloned().map(settled)
        }
        None => None,
    };
    let shaped = match &output {
        Some(spec) => Some(Arc::new(setup.shaped(spec)?)),
        None => None,
    };
    let setup = shaped.as_ref().unwrap_or(setup);
    // The limits of a run that is resumed are those of its log.
    let limits = if run.next() == Action::Start { &setup.limits } else { run.limits() };
    let extensions = values(setup, &options.extensions, limits);
    let mut driver = Box::new(Driver {
        setup: Arc::clone(setup),
        recorder,
        control: control.clone(),
        pace: pace.clone(),
        run,
        toolbox: Arc::new(Toolbox::empty()),
        extensions,
        run_values: RunValues::new(),
        marks: Marks::default(),
        library: Library::new(setup),
        transcript: Transcript::new(),
        unstored: Vec::new(),
        unconfirmed: Vec::new(),
        warned_of_usage: false,
        warned_of_cost: false,
        prices: prices_of(setup, scope.as_deref()),
        scope,
        around: None,
        inside: None,
        heard: None,
        budget: None,
        offers: Offers::of(setup),
        citable: None,
        team,
        seq: 0,
    });
    let mut events = Vec::new();
    match (driver.run.next(), task) {
        (Action::Start, Task::Start(input)) => {
            let (toolbox, warnings) = setup.toolbox().await?;
            driver.toolbox = toolbox;
            events.extend(warnings.into_iter().map(|(code, message)| EventKind::Warning { code, message }));
            events.extend(driver.begin(input, deadline, asked, output).await?);
            driver.open_account()?;
        }
        (Action::Ended, _) => {}
        _ => {
            driver.open_account()?;
            driver.toolbox = setup.toolbox_of(driver.run.families())?;
            driver.offer_recorded()?;
            driver.list_waiting_again();
            if driver.run.options() != options.number() {
                events.push(EventKind::Warning {
                    code: "options_differ",
                    message: "the run began with another model, other settings, instructions or tools, or for somebody else, than it goes on with".to_owned(),
                });
            }
        }
    }
    if let Some(watched) = driver.control.watched() {
        let (run, setup) = (&driver.run, &driver.setup);
        let (model, system) = (&setup.model, setup.system.as_deref());
        watched.opened(&OpenedRun { run_id: run.id(), model, system, mark: run.mark() });
    }
    events.insert(0, EventKind::RunStarted { run_id: driver.run.id().to_owned() });
    Ok((driver, events))
}

/// The values that tools find: a run inside a tool is given those of the run around it, and reads documents in its own
/// way.
pub(super) fn values(setup: &Setup, own: &Extensions, limits: &Limits) -> Extensions {
    let mut values = setup.extensions.clone();
    values.extend(own);
    if let Some(view) = setup.extensions.get::<DocumentView>() {
        let mut view = view.clone();
        view.max_result_chars = limits.max_result_chars;
        values.insert(view);
    }
    values
}

/// The things that a fold has to know of tools.
pub(crate) struct ToolFacts {
    /// The tools whose calls the caller answers.
    pub(crate) external: Vec<String>,
    /// Those whose output is the answer.
    pub(crate) direct: Vec<String>,
    pub(crate) rules: Vec<ToolRule>,
}

impl ToolFacts {
    pub(crate) fn of(toolbox: &Toolbox, output: Option<&OutputSpec>) -> Self {
        let is_output = |entry: &ToolEntry| {
            let name = entry.spec.definition.name();
            output.is_some_and(|spec| spec.mode == OutputMode::Tool && spec.name == name)
        };
        let names = |wanted: &dyn Fn(&ToolEntry) -> bool| {
            let wanted = toolbox.entries.values().filter(|entry| wanted(entry));
            let mut names: Vec<String> =
                wanted.map(|entry| entry.spec.definition.name().to_owned()).collect();
            names.sort_unstable();
            names
        };
        let mut rules: Vec<_> =
            toolbox.entries.values().filter_map(|entry| ToolRule::of(&entry.spec)).collect();
        rules.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let is_external =
            |entry: &ToolEntry| matches!(entry.executor, Executor::External) && !is_output(entry);
        Self {
            external: names(&is_external),
            direct: names(&|entry| entry.spec.metadata.return_direct),
            rules,
        }
    }
}

/// The messages that a run begins with. A history holds the instructions of when it began: the agent's own of now stand
/// in their place.
pub(crate) fn conversation(
    own: Option<&str>,
    history: &[Arc<Message>],
    new: &[Arc<Message>],
) -> Vec<Arc<Message>> {
    let mut messages = Vec::with_capacity(history.len() + new.len() + 1);
    // Each run is told anew what holds for one run alone.
    let kept = |message: &&Arc<Message>| !is_handed(message) && !is_run_only(message);
    let mut history = history.iter().filter(kept).peekable();
    if let Some(own) = own {
        let first = history.next_if(|first| first.role() == Role::System);
        let stands = first.filter(|first| says(first, own)).cloned();
        messages.push(stands.unwrap_or_else(|| Message::system(own).shared()));
    }
    messages.extend(history.chain(new).cloned());
    messages
}

/// True if a message is a system message of that text.
fn says(message: &Message, text: &str) -> bool {
    matches!(message, Message::System(system) if system.parts.iter().map(|part| part.text()).eq([text]))
}

/// True if a system message holds the instructions of an agent to which an earlier run was handed over.
fn is_handed(message: &Message) -> bool {
    message.role() == Role::System && message.metadata().get(AGENT).is_some()
}

impl Driver {
    /// Records the beginning, with a conversation that every provider takes.
    async fn begin(
        &mut self,
        input: &RunInput,
        deadline: Option<u64>,
        asked: Option<(u64, Arc<Scope>)>,
        output: Option<OutputSpec>,
    ) -> Result<Vec<EventKind>, Fault> {
        let setup = Arc::clone(&self.setup);
        if !input.leaves_approvals
            && let Some(ids) = open_approvals(&input.history)
        {
            return Err(DecideError::Open { ids }.into());
        }
        let run_id = input.run_id.clone().unwrap_or_else(|| attache_core::fresh::uuid().to_string());
        let (new, stopped) = match setup.hooks.is_empty() {
            true => (input.messages.clone(), None),
            false => Box::pin(self.hook_input(&run_id, input.messages.clone())).await,
        };
        let mut messages = conversation(setup.system.as_deref(), &input.history, &new);
        if input.leaves_approvals {
            without_approvals(&mut messages);
        }
        if setup.memory.is_none() {
            without_marks(&mut messages);
        }
        let Repaired { messages, repairs, .. } = repair(&messages);
        if let Some(first) = repairs.first().filter(|_| setup.history == HistoryPolicy::Refuse) {
            let text = format!("the history needs {} repairs, the first: {first}", repairs.len());
            return Err(ProviderError::new(ErrorKind::InvalidHistory, text).into());
        }
        let mut events = Vec::new();
        let kept = keep_of_messages(&*setup.store, &messages).await;
        events.extend(self.unless_kept(kept)?);
        self.warn_of_loss(messages.iter().flat_map(|message| message.documents()));
        // Repairs keep the new input last, whatever they do to the history before it.
        let task = new.first().map_or(messages.len(), |first| {
            messages.iter().rposition(|message| message.id() == first.id()).unwrap_or(messages.len())
        });
        let (beside, told) = asked.as_ref().map(|(_, scope)| scope.untold()).unwrap_or_default();
        let facts = ToolFacts::of(&self.toolbox, output.as_ref());
        let started = Started {
            run_id,
            messages,
            task,
            limits: setup.limits.clone(),
            deadline,
            families: self.toolbox.families.clone(),
            external_tools: facts.external,
            output: output.map(Box::new),
            direct_tools: facts.direct,
            rules: facts.rules,
            grants: input.grants.clone(),
            handoffs: self.handoffs(input.agent.as_deref())?,
            options: input.options.number(),
            question: asked.as_ref().map(|(question, _)| *question),
            beside,
            mark: self.control.watched().and_then(|watched| watched.mark()),
        };
        let mut entries = vec![Entry::new(Key::start(), EntryKind::Started(started))];
        entries.extend(stopped);
        self.record_all(entries).await?;
        if let Some((_, scope)) = asked {
            scope.told(told);
        }
        if !repairs.is_empty() {
            events.push(EventKind::HistoryRepaired(repairs));
        }
        Ok(events)
    }

    /// Opens the account of a run whose spending is limited.
    fn open_account(&mut self) -> Result<(), Fault> {
        let limits = self.run.limits();
        let around = self.scope.as_ref().and_then(|scope| scope.shared().account.clone());
        if self.is_cost_limited() {
            check_priced(self.prices.as_deref(), &self.setup.model)?;
        }
        if limits.limit_spending() || around.is_some() {
            let usage = self.run.usage();
            let spent = Amount {
                input: usage.input_tokens.unwrap_or(0).saturating_add(self.run.guessed()),
                output: usage.output_tokens.unwrap_or(0),
                cost: self.run.cost().known,
            };
            self.budget = Some(Box::new(Budget::new(Account::new(limits, spent, around))));
        }
        Ok(())
    }

    /// The hand-offs of a run that begins, with the agent that has the conversation from the start.
    fn handoffs(&self, agent: Option<&str>) -> Result<Option<Box<Handoffs>>, Fault> {
        let Some(team) = &self.team else {
            return agent.map_or(Ok(None), |agent| Err(unknown(agent)));
        };
        let handoffs = Handoffs { transfers: team.transfers(&[])?, agent: agent.map(str::to_owned) };
        if let Some(agent) = agent {
            team.find(agent).ok_or_else(|| unknown(agent))?;
        }
        Ok(Some(Box::new(handoffs)))
    }

    /// True if the run's cost is limited, or that of the run around it.
    pub(super) fn is_cost_limited(&self) -> bool {
        let around = self.scope.as_ref().and_then(|scope| scope.shared().account.as_ref());
        self.run.limits().max_cost.is_some() || around.is_some_and(|around| around.limits_cost())
    }

    /// Warns once of documents that do not outlive the process, while the log that mentions them does.
    pub(super) fn warn_of_loss<'a>(&self, documents: impl IntoIterator<Item = &'a Document>) {
        let is_at_stake = !self.setup.keeps && self.recorder.place().is_lasting();
        if is_at_stake && documents.into_iter().any(|document| is_held(&document)) {
            self.setup.loss.call_once(|| {
                tracing::warn!(
                    "a run that is kept has documents in memory alone: set a store by `AgentBuilder::store`, or they are \
                     gone with the process"
                );
            });
        }
    }

    /// Holds documents that the store did not take, for another attempt at the end, and warns of them.
    pub(super) fn hold<'a>(
        &mut self,
        documents: impl IntoIterator<Item = &'a Document>,
        error: &StoreError,
    ) -> Box<EventKind> {
        self.unstored.extend(documents.into_iter().filter(is_held).cloned());
        Box::new(not_stored(error))
    }

    /// A store that fails is a fault where the log refers to it. A run that cannot be resumed goes on, with a warning:
    /// its messages hold the documents.
    pub(super) fn unless_kept(&self, kept: Result<(), StoreError>) -> Result<Option<EventKind>, StoreError> {
        match kept {
            Err(error) if self.recorder.place().is_volatile() => Ok(Some(not_stored(&error))),
            kept => kept.map(|()| None),
        }
    }
}

/// The time of `millis` since 1970, as journals take it.
pub(super) fn time(at: u64) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + std::time::Duration::from_millis(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::millis;

    #[test]
    fn times_come_back() {
        assert_eq!(millis(time(1_234_567)), 1_234_567);
    }
}
