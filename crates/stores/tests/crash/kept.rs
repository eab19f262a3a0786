//! The place where a run is kept, and what a test does to it from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_agent::{Action, Agent, AgentRun, Decision, Entry, Journal, Run, SubmitError, decide, deliver};
use attache_core::{Capture, DocumentStore, ResultStatus, ToolCall, ToolResult};
use attache_stores::{FileDocumentStore, FileJournal};

use crate::random::Random;
use crate::scenario::approval;
use crate::watched::WatchedJournal;

/// The kinds of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Files,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Files => "file",
        }
    }

    /// The test in whose place its processes run.
    pub(crate) fn test(self) -> &'static str {
        match self {
            Self::Files => "a_run_over_files_killed_anywhere_loses_nothing_and_repeats_no_effect",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        [Self::Files].into_iter().find(|store| store.name() == name).unwrap()
    }
}

/// Where everything of one run is.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) store: Store,
    folder: PathBuf,
}

impl Kept {
    pub(crate) fn new(store: Store, folder: &Path) -> Self {
        Self { store, folder: folder.to_owned() }
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

    /// The file that grows with each append, which a crash may cut anywhere behind what was known to be written.
    pub(crate) fn growing(&self) -> PathBuf {
        match self.store {
            Store::Files => self.folder.join("run.jsonl"),
        }
    }

    /// The length of that file.
    pub(crate) fn length(&self) -> u64 {
        fs::metadata(self.growing()).map_or(0, |file| file.len())
    }

    /// Cuts off a part of what was written behind `known`, as if the machine had died in the middle of it.
    pub(crate) fn tear(&self, known: u64, random: &mut Random) {
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
        }
    }

    /// The log of the run, if it has begun.
    async fn journal(&self) -> Option<Arc<dyn Journal>> {
        match self.store {
            Store::Files => Some(Arc::new(FileJournal::open(self.growing()).unwrap())),
        }
    }

    pub(crate) async fn entries(&self) -> Vec<Entry> {
        match self.journal().await {
            Some(journal) => journal.load().await.unwrap(),
            None => Vec::new(),
        }
    }

    /// Does from outside what the run waits for: approves, delivers the results of jobs and of the call that nobody here
    /// can run.
    pub(crate) fn settle(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Some(journal) = self.journal().await else { return };
            let entries = journal.load().await.unwrap();
            let own = entries.iter().filter(|entry| crate::check::scope(&entry.key).is_empty());
            let Ok(run) = Run::replay(own) else { return };
            for request in run.approvals() {
                decide(&*journal, &request.id, "ann", Decision::Approve).await.unwrap();
            }
            let external = match run.next() {
                Action::AnswerCalls { calls } => {
                    calls.into_iter().find(|pending| pending.external).map(|pending| pending.call)
                }
                _ => None,
            };
            let deferred = run.deferred().into_iter().map(|request| request.call);
            for call in deferred.chain(external) {
                self.deliver(&*journal, &call).await;
            }
        });
    }

    async fn deliver(&self, journal: &dyn Journal, call: &ToolCall) {
        let store = FileDocumentStore::open(self.documents()).unwrap();
        let document = approval(call.id.as_str());
        store.put(&document).await.unwrap();
        let tree = Capture::new().finish(&document.without_bytes().with_store_id("files")).unwrap();
        match deliver(journal, ToolResult::new(call, ResultStatus::Ok, tree)).await {
            // It was delivered before, and nobody has taken it yet.
            Ok(()) | Err(SubmitError::DuplicateResult { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}
