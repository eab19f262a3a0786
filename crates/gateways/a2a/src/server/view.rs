//! Runs as tasks: what the log of a run says of it.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Action, Agent, EndReason, Entry, EntryKind, Outcome, Run, RunError, is_read};
use attache_core::tool::Progress;
use attache_core::{Document, DocumentSource, DocumentStore, ErrorKind, Message, ToolCallId, UserPart};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::client::file::SCHEME;
use crate::wire::{A2aState, PROGRESS};

/// The time to fetch the documents of a task that the caller cannot fetch.
const FETCHING: Duration = Duration::from_secs(30);

/// The store of documents, and the agent that may fetch others; `None` where none are shown.
pub(crate) type Store<'a> = Option<(&'a Arc<dyn DocumentStore>, &'a Agent)>;

/// The parts of a task that are shown: what is not is not read from the store either.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The newest messages of the history; all where nothing is said.
    pub(crate) history: Option<usize>,
    pub(crate) artifacts: bool,
}

impl Wanted {
    /// Its state, without anything that is read from a store.
    pub(crate) const STATE: Self = Self { history: Some(0), artifacts: false };
    /// Its state and its answer, without the conversation.
    pub(crate) const ANSWER: Self = Self { history: Some(0), artifacts: true };
    pub(crate) const ALL: Self = Self { history: None, artifacts: true };
}

/// A task as it is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) id: String,
    pub(crate) context: String,
    pub(crate) state: A2aState,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) said: Option<String>,
    /// The thing that the state waits for, or how far a call has come, for programs.
    pub(crate) asks: Option<Value>,
    /// The number of the word about progress, where it is one.
    pub(crate) word: Option<u64>,
    pub(crate) answer: Option<String>,
    pub(crate) structured: Option<Value>,
    pub(crate) files: Vec<File>,
    pub(crate) history: Vec<Said>,
}

impl View {
    /// A task under way, with how far a call of it has come.
    pub(crate) fn working(&self, word: u64, progress: &Progress, at: u64) -> Self {
        let counted = match progress.total {
            Some(total) => format!("{} of {total}", progress.done),
            None => progress.done.to_string(),
        };
        let told = json!({ PROGRESS: {"done": progress.done, "total": progress.total} });
        Self {
            id: self.id.clone(),
            context: self.context.clone(),
            state: A2aState::Working,
            at,
            said: Some(progress.message.clone().unwrap_or(counted)),
            asks: Some(told),
            word: Some(word),
            ..Self::default()
        }
    }
}

/// A document that is given away.
#[derive(Clone, Debug)]
pub(crate) enum File {
    Bytes(Document),
    Url(Document, String),
    /// A note in its place.
    Note(String),
}

/// A message of the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) id: String,
    pub(crate) is_agent: bool,
    pub(crate) text: String,
    pub(crate) files: Vec<File>,
}

/// A run, as far as a task has need of it.
pub(crate) struct Logged {
    pub(crate) outcome: Outcome,
    pub(crate) has_ended: bool,
    /// The failure of the model with which it ended.
    failure: Option<String>,
    /// The place at which the run's own messages begin.
    begins: usize,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
}

impl Logged {
    /// Reads a log; `None` for one that has not begun, or cannot be read.
    pub(crate) fn read(entries: &[Entry]) -> Option<Self> {
        let run = Run::replay(entries).ok()?;
        let begins = entries.iter().find_map(|entry| match &entry.kind {
            EntryKind::Started(started) => Some(started.task),
            _ => None,
        })?;
        let at = entries.last()?.at;
        // A task that failed is over, also where its run could go on.
        let has_ended = matches!(run.next(), Action::Ended) || run.has_failed();
        let failure = run.failure();
        let outcome = failure.as_ref().map_or_else(|| run.outcome(), |failure| failure.partial().clone());
        Some(Self { outcome, has_ended, failure: failure.as_ref().map(failure_to_tell), begins, at })
    }

    /// True if somebody is asked something.
    pub(crate) fn asks(&self) -> bool {
        !self.has_ended
            && (!self.outcome.approvals.is_empty()
                || self.outcome.deferred.iter().any(|request| request.deferred.prompt.is_some()))
    }

    /// True if its result comes from elsewhere.
    pub(crate) fn waits(&self) -> bool {
        !self.has_ended && !self.outcome.deferred.is_empty()
    }

    pub(crate) fn state(&self) -> A2aState {
        if self.asks() {
            return A2aState::InputRequired;
        }
        if !self.has_ended {
            return A2aState::Working;
        }
        match &self.outcome.reason {
            EndReason::Cancelled => A2aState::Canceled,
            EndReason::Refusal | EndReason::ContentFilter | EndReason::GuardrailTripped => A2aState::Rejected,
            reason if reason.is_failure() => A2aState::Failed,
            _ => A2aState::Completed,
        }
    }

    /// The task. Documents come from the store, as many bytes as are left: those of the answer first, then those of the
    /// newest messages.
    pub(crate) async fn view(
        &self,
        id: &str,
        context: &str,
        store: Store<'_>,
        wanted: Wanted,
        left: &mut usize,
    ) -> View {
        let state = self.state();
        let mut view = View { id: id.into(), context: context.into(), state, at: self.at, ..View::default() };
        // A reply that a hook blocked or had made again is given to nobody.
        let own = self.outcome.messages.iter().skip(self.begins).filter(|message| is_read(message));
        let own: Vec<&Arc<Message>> = own.collect();
        let end = Instant::now() + FETCHING;
        self.tell(&mut view);
        // Those of a reply that was refused are given to nobody, and those of a task under way may be more.
        let gives = !matches!(state, A2aState::Working | A2aState::Rejected);
        if wanted.artifacts && gives {
            let calls: Vec<&ToolCallId> = self.outcome.calls.iter().map(|call| &call.id).collect();
            for document in given(&own, &calls) {
                view.files.push(file(document, store, end, left).await);
            }
        }
        for message in own.iter().rev() {
            if wanted.history.is_some_and(|most| view.history.len() >= most) {
                break;
            }
            view.history.extend(said(message, store, end, left).await);
        }
        view.history.reverse();
        view
    }

    /// Adds the answer, or what is said and asked.
    fn tell(&self, view: &mut View) {
        let (outcome, state) = (&self.outcome, view.state);
        if state == A2aState::InputRequired {
            let prompts = outcome.deferred.iter().filter_map(|request| request.deferred.prompt.clone());
            let approvals = outcome.approvals.iter().map(|approval| match &approval.reason {
                Some(reason) => format!("May {:?} be called? {reason}", approval.call.name),
                None => format!("May {:?} be called?", approval.call.name),
            });
            view.said = Some(prompts.chain(approvals).collect::<Vec<_>>().join("\n"));
            let asked = outcome.approvals.iter().map(|approval| {
                let arguments = approval.call.arguments.object().map(Value::Object).unwrap_or_default();
                json!({"id": approval.id, "tool": approval.call.name, "arguments": arguments})
            });
            let asked: Vec<Value> = asked.collect();
            view.asks = (!asked.is_empty()).then(|| json!({"approvals": asked}));
            return;
        }
        if !self.has_ended {
            return;
        }
        let text = outcome.text.trim();
        match state {
            A2aState::Completed => {
                view.answer = Some(outcome.text.clone()).filter(|_| !text.is_empty());
                view.structured =
                    outcome.structured.as_deref().and_then(|value| value.as_ref().ok().cloned());
            }
            _ if self.failure.is_some() => view.said.clone_from(&self.failure),
            _ if text.is_empty() => view.said = Some(format!("the task ended: {}", outcome.reason)),
            _ => view.said = Some(outcome.text.clone()),
        }
    }
}

/// The failure of a run as its caller is told it. A key, a model or a setting that is wrong is ours, and the words of a
/// provider about it are nobody else's.
pub(super) fn failure_to_tell(failure: &RunError) -> String {
    match failure.reason() {
        EndReason::ProviderError(kind) if ErrorKind::parse(kind).is_some_and(ErrorKind::is_of_setup) => {
            "the agent cannot ask its model".to_owned()
        }
        _ => failure.to_string(),
    }
}

/// The documents that the run's tools returned and its model made, each once.
fn given<'m>(messages: &[&'m Arc<Message>], calls: &[&ToolCallId]) -> Vec<&'m Document> {
    let mut given: Vec<&Document> = Vec::new();
    for message in messages {
        let documents: Vec<&Document> = match &***message {
            Message::Assistant(reply) => reply.documents().collect(),
            Message::ToolResults(results) => {
                let own = results.results.iter().filter(|result| calls.contains(&&result.call_id));
                own.flat_map(|result| &result.documents).collect()
            }
            _ => Vec::new(),
        };
        for document in documents {
            if !given.iter().any(|known| known.id() == document.id()) {
                given.push(document);
            }
        }
    }
    given
}

async fn file(document: &Document, store: Store<'_>, end: Instant, left: &mut usize) -> File {
    let is_ours = |url: &str| [SCHEME, "mcp://"].iter().any(|scheme| url.starts_with(scheme));
    let url = match document.source() {
        DocumentSource::External { url } => Some(url),
        _ => None,
    };
    if let Some(url) = url.filter(|url| !is_ours(url)) {
        return File::Url(document.clone(), url.to_string());
    }
    let name = document.file_name().unwrap_or("a document").to_owned();
    let loaded = match (document.bytes(), store) {
        // Its address means nothing to the caller, and neither does the reason why it cannot be had.
        (None, Some((_, agent))) if url.is_some() => {
            timeout_at(end, agent.load(document)).await.ok().and_then(Result::ok)
        }
        (None, Some((store, _))) => {
            let bytes = timeout_at(end, store.get(document.id())).await.ok().and_then(Result::ok);
            let bytes = bytes.filter(|bytes| document.may_have(bytes));
            bytes.map(|bytes| document.clone().with_bytes(bytes))
        }
        _ => Some(document.clone()),
    };
    let Some((document, bytes)) = loaded.and_then(|document| Some((document.clone(), document.bytes()?)))
    else {
        return File::Note(format!("{name:?} is not shown: its content is not there"));
    };
    match left.checked_sub(bytes.len()) {
        Some(rest) => *left = rest,
        None => return File::Note(format!("{name:?} is not shown: the documents of the task are too large")),
    }
    let mut held = Document::from_bytes(bytes, &document.media_type().to_string());
    if let Some(name) = document.file_name() {
        held = held.with_file_name(name);
    }
    File::Bytes(held)
}

async fn said(message: &Arc<Message>, store: Store<'_>, end: Instant, left: &mut usize) -> Option<Said> {
    let id = message.id().as_str().to_owned();
    match &**message {
        Message::User(user) => {
            let (mut text, mut files) = (Vec::new(), Vec::new());
            for part in user.shown() {
                match part {
                    UserPart::Text(part) => text.push(part.text().to_owned()),
                    UserPart::Document(document) => files.push(file(document, store, end, left).await),
                    UserPart::Object(tree) => text.push(tree.model_text().to_string()),
                    _ => {}
                }
            }
            Some(Said { id, is_agent: false, text: text.join("\n"), files })
        }
        Message::Assistant(reply) => {
            let text = reply.text();
            (!text.trim().is_empty()).then_some(Said { id, is_agent: true, text, files: Vec::new() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use attache_agent::{MemoryDocumentStore, MemorySessions, RunInput, Sessions, tool_fn};
    use attache_core::{BoxFuture, DocumentId, StoreError, ToolError, UserMessage};
    use attache_testkit::{ScriptedModel, Turn};
    use bytes::Bytes;

    use super::*;

    /// A store that never answers.
    struct Silent;

    impl DocumentStore for Silent {
        fn id(&self) -> &str {
            "silent"
        }

        fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(std::future::pending())
        }

        fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
            Box::pin(std::future::pending())
        }

        fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_holds_no_task() {
        let agent = Agent::builder(ScriptedModel::new([]).unverified()).build().unwrap();
        let silent: Arc<dyn DocumentStore> = Arc::new(Silent);
        let stored = Document::new("x").without_bytes();
        let (end, mut left) = (Instant::now() + FETCHING, 100);
        let reading = file(&stored, Some((&silent, &agent)), end, &mut left);
        let read = tokio::time::timeout(2 * FETCHING, reading).await.unwrap();
        assert!(matches!(read, File::Note(_)), "{read:?}");
    }

    /// The log of a run of an agent.
    async fn logged(agent: &Agent, input: UserMessage) -> Logged {
        let sessions = Sessions::new(agent.clone(), Arc::new(MemorySessions::default()));
        let session = sessions.open("ann", None).await.unwrap();
        drop(session.run(RunInput::from(input).with_run_id("run")).outcome().await);
        Logged::read(&session.journal_of("run").load().await.unwrap()).unwrap()
    }

    // A client that is asked about a draft sees the draft.
    #[tokio::test]
    async fn a_task_that_asks_or_fails_gives_its_documents_and_one_that_is_refused_none() {
        let store: Arc<dyn DocumentStore> = Arc::new(MemoryDocumentStore::default());
        let filtered = attache_core::FinishReason::ContentFilter;
        for (state, second) in [
            (A2aState::InputRequired, Turn::call("which", json!({}))),
            (A2aState::Failed, Turn::empty().then_error(ErrorKind::Authentication)),
            (A2aState::Rejected, Turn::text("No.").finishing(filtered)),
        ] {
            let draft = tool_fn("draft", "Drafts", || {
                Ok::<_, ToolError>(Document::new("the draft").with_file_name("draft.txt"))
            });
            let which = tool_fn("which", "Asks which", || {
                Ok::<_, ToolError>(attache_core::tool::Deferred::ask("As in this draft?"))
            });
            let model = ScriptedModel::new([Turn::call("draft", json!({})), second]).unverified();
            let agent = Agent::builder(model).tool(draft).tool(which).store(Arc::clone(&store));
            let agent = agent.build().unwrap();
            let logged = logged(&agent, UserMessage::text("Draw it.")).await;
            let given = async |wanted: Wanted| {
                let view = logged.view("t", "c", Some((&store, &agent)), wanted, &mut 1_000).await;
                assert_eq!(view.state, state);
                view.files.len()
            };
            let expected = usize::from(state != A2aState::Rejected);
            assert_eq!(given(Wanted::ANSWER).await, expected, "{state:?}");
            assert_eq!(given(Wanted::STATE).await, 0, "{state:?}");
        }
    }

    #[tokio::test]
    async fn the_upload_of_a_caller_takes_no_room_from_the_answer() {
        let lease = tool_fn("lease", "Gives a lease", || {
            Ok::<_, ToolError>(Document::new("the lease").with_file_name("lease.txt"))
        });
        let model = ScriptedModel::new([Turn::call("lease", json!({})), Turn::text("Here.")]).unverified();
        let store: Arc<dyn DocumentStore> = Arc::new(MemoryDocumentStore::default());
        let agent = Agent::builder(model).tool(lease).store(Arc::clone(&store)).build().unwrap();
        let upload = UserPart::Document(Document::new("x".repeat(95)).with_file_name("upload.txt"));
        let input = UserMessage::new([UserPart::text("Read it."), Some(upload)]);
        let logged = logged(&agent, input).await;

        let store = Some((&store, &agent));
        let mut left = 100;
        let view = logged.view("t", "c", store, Wanted::ALL, &mut left).await;
        assert!(matches!(&*view.files, [File::Bytes(_)]), "{:?}", view.files);
        let (first, last) = (view.history.first().unwrap(), view.history.last().unwrap());
        assert!(matches!(&*first.files, [File::Note(_)]), "{:?}", first.files);
        assert_eq!((first.is_agent, last.is_agent, &*last.text), (false, true, "Here."));
        // Words that are not shown bring no documents.
        let mut left = 1_000;
        let newest = Wanted { history: Some(1), artifacts: true };
        let view = logged.view("t", "c", store, newest, &mut left).await;
        assert_eq!((view.history.len(), &*view.history[0].text, left), (1, "Here.", 991));
    }
}
