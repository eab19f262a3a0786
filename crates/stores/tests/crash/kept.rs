//! The place where a run is kept, and what a test does to it from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use attache_agent::{
    Action, Agent, AgentRun, Busy, DecideError, Decision, Disposition, Entry, EntryKind, Journal, Run,
    RunInput, SessionError, SessionStore, Sessions, SubmitError, decide, deliver,
};
use attache_core::{Capture, DocumentStore, ResultStatus, ToolCall, ToolResult};
use attache_stores::{FileDocumentStore, FileJournal, PostgresStore, SqliteStore};
use attache_testkit::ScriptedModel;

use crate::random::Random;
use crate::scenario::approval;
use crate::watched::{WatchedJournal, WatchedSessions};

/// The principal of the sessions.
const ANN: &str = "ann";

/// The id of the run of a session.
const RUN: &str = "run";

/// The lease of a process that was killed in the moment in which it had one; see [`WatchedSessions`].
const LEASE: Duration = Duration::from_secs(2);

/// The kinds of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Files,
    Sqlite,
    Postgres,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Files => "file",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// The test in whose place its processes run.
    pub(crate) fn test(self) -> &'static str {
        match self {
            Self::Files => "a_run_over_files_killed_anywhere_loses_nothing_and_repeats_no_effect",
            Self::Sqlite => "a_run_over_sqlite_killed_anywhere_loses_nothing_and_repeats_no_effect",
            Self::Postgres => "a_run_over_postgres_killed_anywhere_loses_nothing_and_repeats_no_effect",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        let all = [Self::Files, Self::Sqlite, Self::Postgres];
        all.into_iter().find(|store| store.name() == name).unwrap()
    }
}

/// Where everything of one run is.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) store: Store,
    folder: PathBuf,
    /// The length up to which somebody knows that the log is written.
    answered: Arc<AtomicU64>,
}

impl Kept {
    /// A place in a new folder; `url` is the address of the database, where there is one.
    pub(crate) fn new(store: Store, folder: &Path, url: Option<&str>) -> Self {
        fs::write(folder.join("url"), url.unwrap_or_default()).unwrap();
        Self::known(store, folder)
    }

    /// The same place as a process sees it.
    pub(crate) fn known(store: Store, folder: &Path) -> Self {
        Self { store, folder: folder.to_owned(), answered: Arc::default() }
    }

    async fn sessions(&self, agent: Agent, is_watched: bool) -> Sessions {
        let mut store: Arc<dyn SessionStore> = match self.store {
            Store::Files => unreachable!("files keep runs"),
            Store::Sqlite => Arc::new(SqliteStore::open(self.folder.join("sessions.db")).await.unwrap()),
            Store::Postgres => {
                let url = fs::read_to_string(self.folder.join("url")).unwrap();
                Arc::new(PostgresStore::connect(&url).await.unwrap())
            }
        };
        if is_watched {
            store = Arc::new(WatchedSessions(store));
        }
        let sessions = Sessions::new(agent, store).with_expiry(None).with_lease(LEASE);
        sessions.with_busy(Busy::Queue { depth: 1 })
    }

    /// The id of the session. Those of all runs may be in one database.
    fn session(&self) -> &str {
        self.folder.file_name().unwrap().to_str().unwrap()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn documents(&self) -> PathBuf {
        self.folder.join("documents")
    }

    /// A line for each payment that was made and each job that was begun, with the id of its call.
    pub(crate) fn payments(&self) -> PathBuf {
        self.folder.join("payments")
    }

    /// A line for each request, with its step.
    pub(crate) fn requests(&self) -> PathBuf {
        self.folder.join("requests")
    }

    /// The file of a log, which a crash may cut anywhere behind what was known to be written.
    fn growing(&self) -> PathBuf {
        self.folder.join("run.jsonl")
    }

    /// The length of that file.
    pub(crate) fn length(&self) -> u64 {
        fs::metadata(self.growing()).map_or(0, |file| file.len())
    }

    /// Notes that somebody was told of all that is written, and may have acted on it.
    pub(crate) fn note_answered(&self) {
        self.answered.fetch_max(self.length(), Ordering::SeqCst);
    }

    /// The length that was noted.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    /// Cuts off a part of what was written behind `known`, as if the machine had died in the middle of it.
    pub(crate) fn tear(&self, known: u64, random: &mut Random) {
        let known = known.max(self.answered());
        let Ok(file) = fs::OpenOptions::new().write(true).open(self.growing()) else { return };
        let length = file.metadata().unwrap().len();
        if length > known {
            file.set_len(known + random.below(length - known + 1)).unwrap();
        }
    }

    /// Begins the run, or goes on with it. Says also whether it is new.
    pub(crate) async fn drive(&self, agent: Agent) -> (AgentRun, bool) {
        match self.store {
            Store::Files => {
                let journal = FileJournal::open(self.growing()).unwrap();
                let is_new = journal.load().await.unwrap().is_empty();
                let journal = Arc::new(WatchedJournal { journal, kept: self.clone() });
                let run = if is_new { agent.run_in(journal, "Go on.") } else { agent.resume(journal) };
                (run, is_new)
            }
            Store::Sqlite | Store::Postgres => {
                let sessions = self.sessions(agent, true).await;
                let session = sessions.open(ANN, Some(self.session())).await.unwrap();
                let is_new = session.runs().await.unwrap().is_empty();
                // Of two that begin at once, the other one finds the id taken.
                let input = || RunInput::from("Go on.").with_run_id(RUN);
                (if is_new { session.run(input()) } else { session.resume() }, is_new)
            }
        }
    }

    /// The log of the run, if it has begun.
    async fn journal(&self) -> Result<Option<Arc<dyn Journal>>, SessionError> {
        match self.store {
            Store::Files => Ok(Some(Arc::new(FileJournal::open(self.growing()).unwrap()))),
            Store::Sqlite | Store::Postgres => {
                let nobody = Agent::builder(ScriptedModel::new([])).build().unwrap();
                match self.sessions(nobody, false).await.get(ANN, self.session()).await {
                    Ok(session) => session.journal().await,
                    Err(SessionError::NotFound) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }

    pub(crate) async fn entries(&self) -> Vec<Entry> {
        match self.journal().await.unwrap() {
            Some(journal) => journal.load().await.unwrap(),
            None => Vec::new(),
        }
    }

    /// Does from outside what the run waits for: approves, delivers the results of jobs and of the call that nobody here
    /// can run. No process stands still, so that nothing may fail.
    pub(crate) fn settle(&self) {
        self.try_to_settle().unwrap_or_else(|error| panic!("nobody holds the store: {error:?}"));
    }

    /// The same beside a process that may be told to stand still. In the middle of a write it keeps others out of SQLite
    /// until it is killed: that is told.
    pub(crate) fn settle_beside(&self) -> Result<(), SessionError> {
        let settled = self.try_to_settle();
        assert!(settled.is_ok() || self.store == Store::Sqlite, "{settled:?}");
        settled
    }

    fn try_to_settle(&self) -> Result<(), SessionError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.settled())?;
        self.note_answered();
        Ok(())
    }

    async fn settled(&self) -> Result<(), SessionError> {
        let Some(journal) = self.journal().await? else { return Ok(()) };
        let entries = journal.load().await?;
        let own = entries.iter().filter(|entry| crate::check::scope(&entry.key).is_empty());
        let Ok(run) = Run::replay(own) else { return Ok(()) };
        for request in run.approvals() {
            match decide(&*journal, &request.id, "ann", Decision::Approve).await {
                // The run went on meanwhile.
                Ok(_) | Err(DecideError::Closed { .. }) => {}
                Err(DecideError::Journal(error)) => return Err(error.into()),
                Err(error) => panic!("{error:?}"),
            }
        }
        let external = match run.next() {
            Action::AnswerCalls { calls } => {
                calls.into_iter().find(|pending| pending.external).map(|pending| pending.call)
            }
            _ => None,
        };
        let deferred = run.deferred().into_iter().map(|request| request.call);
        for call in deferred.chain(external) {
            self.deliver(&*journal, &call).await?;
        }
        Ok(())
    }

    async fn deliver(&self, journal: &dyn Journal, call: &ToolCall) -> Result<(), SessionError> {
        let store = FileDocumentStore::open(self.documents()).unwrap();
        let document = approval(call.id.as_str());
        store.put(&document).await.unwrap();
        let tree = Capture::new().finish(&document.without_bytes().with_store_id("files")).unwrap();
        match deliver(journal, ToolResult::new(call, ResultStatus::Ok, tree)).await {
            // It was delivered before, and nobody has taken it yet.
            Ok(()) | Err(SubmitError::DuplicateResult { .. }) => Ok(()),
            // It was delivered before, and the run has gone on with it since the look and has ended.
            Err(SubmitError::ChatLoopClosed) => {
                let entries = journal.load().await?;
                assert!(entries.iter().any(|entry| is_delivered(entry, call)), "{} is lost", call.id);
                Ok(())
            }
            Err(SubmitError::Journal(error)) => Err(error.into()),
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn is_delivered(entry: &Entry, call: &ToolCall) -> bool {
    matches!(&entry.kind, EntryKind::ToolOutcome(outcome)
        if outcome.call_id == call.id && outcome.disposition == Disposition::Submitted)
}
