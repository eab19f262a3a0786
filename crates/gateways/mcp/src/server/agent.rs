//! An agent as one tool of the server.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use attache_agent::{
    Agent, AgentRun, Busy, Decision, DeferredRequest, EndReason, Event, EventKind, MemorySessions, Outcome,
    RunError, RunInput, RunOptions, Session, SessionError, Sessions, deliver,
};
use attache_core::{
    Arguments, Document, DocumentRef, DocumentSource, Message, ToolDefinition, ToolResult, UserMessage,
};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, ElicitResult, ElicitationAction, InputRequiredResult, Tool, ToolAnnotations,
};
use serde_json::{Map, Value, json};

use super::answer::{self, Earlier, failure};
use super::asking::{Asked, Client, Question, answer_to, is_approved};
use super::blocks::{Blocks, FETCHING, fetch_ours};
use super::call::{McpCall, McpLogLevel};
use super::call_state::CallState;
use super::incoming;
use super::kept_documents::Whose;
use super::paused::{Found, Paused, Waits};
use super::toolbox::{title, unknown_state};
use super::waiting_calls::Held;

/// The maximum number of times that one call asks its user.
const ROUNDS: usize = 20;
/// The maximum number of runs of a client that wait for the conversation that they go on with.
const QUEUED: usize = 16;
/// The time between two deletions of conversations that nobody uses.
const CLEANUP: Duration = Duration::from_secs(10 * 60);
/// The name of whoever decides, in the log of a run.
const BY: &str = "the user of an MCP client";

/// An agent as one tool of an [`McpService`](crate::McpService): clients ask it questions, with documents, and get its
/// answer with the documents that its tools returned.
///
/// ```
/// use attache_agent::Agent;
/// use attache_mcp::{McpAgent, McpService};
/// # fn example(model: attache_core::ModelHandle) -> Result<McpService, attache_agent::BuildError> {
/// let agent = Agent::builder(model).system("You keep the books.").build()?;
/// let ask = McpAgent::new("ask", "Answers questions about the books", agent);
/// Ok(McpService::new("books").with_agent(ask))
/// # }
/// ```
#[derive(Clone)]
pub struct McpAgent {
    definition: ToolDefinition,
    agent: Agent,
    sessions: Sessions,
    /// True if they are ours, so that we bound them and delete those that nobody uses.
    owns_sessions: bool,
    cleaned: Arc<Mutex<Instant>>,
    shows_documents: bool,
}

/// The next step of a call.
enum Next {
    Run(AgentRun),
    Ask(Waits),
}

impl McpAgent {
    /// An agent as a tool of that name.
    pub fn new(name: impl Into<String>, description: impl Into<String>, agent: Agent) -> Self {
        let sessions = Sessions::new(agent.clone(), Arc::new(MemorySessions::new()))
            .with_busy(Busy::Queue { depth: QUEUED });
        Self {
            definition: ToolDefinition::new(name, description, incoming::schema()),
            agent,
            sessions,
            owns_sessions: true,
            cleaned: Arc::new(Mutex::new(Instant::now())),
            shows_documents: true,
        }
    }

    /// Keeps the conversations in sessions of yours, which are of the same agent. By default they are in memory and end
    /// with the process.
    #[must_use]
    pub fn with_sessions(mut self, sessions: &Sessions) -> Self {
        self.sessions = sessions.with_agent(self.agent.clone());
        self.owns_sessions = false;
        self
    }

    /// Says whether clients get the documents that the agent's tools returned, as they do by default. Without them citations
    /// quote nothing of what tools returned and name no documents.
    #[must_use]
    pub fn with_documents(mut self, shown: bool) -> Self {
        self.shows_documents = shown;
        self
    }

    pub(super) fn name(&self) -> &str {
        self.definition.name()
    }

    pub(super) fn described(&self) -> Tool {
        let object = |schema: &Value| Arc::new(schema.as_object().cloned().unwrap_or_default());
        let input = object(self.definition.input_schema());
        let mut tool = Tool::new(self.name().to_owned(), self.definition.description().to_owned(), input);
        tool.title = Some(title(self.name()));
        tool.output_schema = Some(object(&answer::schema()));
        // Nobody knows what its tools will do; those that need an approval ask for it.
        tool.annotations = Some(ToolAnnotations::new().read_only(false).idempotent(false));
        tool
    }

    /// Answers a call. `last` is the conversation of the MCP session, where there is one.
    pub(super) async fn call(
        &self,
        shared: &CallState,
        client: &Client,
        last: Option<&tokio::sync::Mutex<Option<String>>>,
        arguments: &Map<String, Value>,
    ) -> Result<CallToolResponse, ErrorData> {
        let read = || {
            let written = Arguments::new(json!(arguments).to_string());
            let checked = self.definition.coerce(&written).map_err(|error| error.for_model().to_owned())?;
            incoming::read(checked, &client.whose, &shared.shelf, &shared.limits)
        };
        // Calls that an earlier question waits for are settled with it, or never.
        let run_of = |session: &Session, message: UserMessage| {
            let input = RunInput::from(message).with_context(client.call.clone());
            session.run(input.with_leaves_approvals(true))
        };
        let mut is_new = false;
        let (session, mut found, mut next) = match &client.state {
            Some(state) => {
                let whose = &client.whose;
                let held = shared.held.take(&whose.principal, self.name(), arguments, state);
                let Some(Held::Agent(paused)) = held else { return Err(unknown_state()) };
                let Paused { session, found, mut waits } = *paused;
                if !whose.may_approve {
                    // Another key of its principal was asked. They stay open.
                    waits.approvals.clear();
                }
                let answers = client.answers();
                let is_answered = waits.keys().all(|key| answers.contains_key(key));
                let next = match is_answered {
                    true => settled(&session, &client.call, &waits, &answers).await.map(Next::Run),
                    // Questions without an answer are asked again.
                    false => Ok(Next::Ask(waits)),
                };
                (session, found, next)
            }
            None => {
                let question = match read() {
                    Ok(question) => question,
                    Err(problem) => return Ok(failure(problem)),
                };
                let session = match self.session(shared, client, last, question.session.as_deref()).await {
                    Ok(session) => session,
                    Err(text) => return Ok(failure(text)),
                };
                is_new = true;
                let run = run_of(&session, question.message);
                (session, Found::default(), Ok(Next::Run(run)))
            }
        };
        for _ in 0..ROUNDS {
            let waits = match next {
                Err(error) => {
                    tracing::warn!(%error, "a session cannot go on");
                    return Ok(self
                        .failed(shared, client, "the session cannot go on".to_owned(), found)
                        .await);
                }
                Ok(Next::Ask(waits)) => waits,
                Ok(Next::Run(run)) => {
                    let end = drive(run, &client.call, &mut found.documents).await;
                    if std::mem::take(&mut is_new) && is_refused_for_approved(&end) {
                        // The user approved calls of an earlier question, and that one did not go on: it does first. It
                        // is rare, so that the question is read again, and not kept for it.
                        let earlier =
                            session.resume_with(RunOptions::new().with_context(client.call.clone()));
                        let end = drive(earlier, &client.call, &mut found.documents).await;
                        found.earlier = Some(Earlier::of(&end));
                        next = match read() {
                            Ok(question) => Ok(Next::Run(run_of(&session, question.message))),
                            Err(problem) => return Ok(self.failed(shared, client, problem, found).await),
                        };
                        continue;
                    }
                    match end.as_ref().ok().and_then(|outcome| waiting(outcome, &client.whose)) {
                        Some(waits) => waits,
                        None => return Ok(self.finished(shared, client, &session, end, found).await),
                    }
                }
            };
            next = match client.ask(questions(&waits)).await {
                Asked::Answered(answers) => {
                    settled(&session, &client.call, &waits, &answers).await.map(Next::Run)
                }
                Asked::Later(requests) => {
                    let held = Held::Agent(Box::new(Paused { session, found, waits }));
                    let state = shared.held.put(&client.whose.principal, self.name(), arguments, held);
                    return Ok(InputRequiredResult::new(Some(requests), Some(state)).into());
                }
                Asked::Unable => {
                    let text = "the client cannot ask its user (it does not declare elicitation)";
                    refused(&session, &client.call, &waits, text).await.map(Next::Run)
                }
            };
        }
        let text = format!("the agent asked its user {ROUNDS} times, and is not done");
        Ok(self.failed(shared, client, text, found).await)
    }

    /// The conversation that a question goes on with: the one that it names, that of the MCP session, or a new one.
    async fn session(
        &self,
        shared: &CallState,
        client: &Client,
        last: Option<&tokio::sync::Mutex<Option<String>>>,
        named: Option<&str>,
    ) -> Result<Session, String> {
        let principal = &*client.whose.principal;
        let text = |error: SessionError| {
            tracing::debug!(%error, "a session cannot be had");
            match error {
                SessionError::Journal(_) | SessionError::Replay(_) => "the session cannot be read".to_owned(),
                error => error.to_string(),
            }
        };
        if let Some(named) = named {
            return self.sessions.get(principal, named).await.map_err(text);
        }
        let Some(last) = last else { return self.opened(shared, principal).await.map_err(text)? };
        let mut last = last.lock().await;
        if let Some(known) = &*last {
            match self.sessions.get(principal, known).await {
                Ok(session) => return Ok(session),
                // It has expired.
                Err(SessionError::NotFound) => {}
                Err(error) => return Err(text(error)),
            }
        }
        let session = self.opened(shared, principal).await.map_err(text)??;
        *last = Some(session.id().to_string());
        Ok(session)
    }

    async fn opened(
        &self,
        shared: &CallState,
        principal: &str,
    ) -> Result<Result<Session, String>, SessionError> {
        if self.owns_sessions {
            let is_due = {
                let mut cleaned = self.cleaned.lock().unwrap_or_else(PoisonError::into_inner);
                let is_due = cleaned.elapsed() > CLEANUP;
                if is_due {
                    *cleaned = Instant::now();
                }
                is_due
            };
            if is_due {
                self.sessions.cleanup().await?;
            }
            if self.sessions.count(principal).await? >= shared.limits.conversations {
                let text = "there are too many conversations; go on with one by its session";
                return Ok(Err(text.to_owned()));
            }
        }
        self.sessions.open(principal, None).await.map(Ok)
    }

    async fn finished(
        &self,
        shared: &CallState,
        client: &Client,
        session: &Session,
        end: Result<Outcome, RunError>,
        found: Found,
    ) -> CallToolResponse {
        let messages = match &end {
            Ok(outcome) => &outcome.messages,
            Err(error) => &error.partial().messages,
        };
        let shown = self.shown(shared, messages, found.documents).await;
        let blocks = Blocks::new(&shared.shelf, &client.whose, &shared.limits);
        let end = if self.shows_documents { end } else { answer::without_sources(end) };
        answer::result(end, session.id().as_str(), found.earlier.as_ref(), &shown, blocks)
    }

    /// A failure behind runs of the call, which may have had effects: all that they brought is told.
    async fn failed(
        &self,
        shared: &CallState,
        client: &Client,
        text: String,
        found: Found,
    ) -> CallToolResponse {
        let shown = self.shown(shared, &[], found.documents).await;
        let blocks = Blocks::new(&shared.shelf, &client.whose, &shared.limits);
        answer::failure_behind(text, found.earlier.as_ref(), &shown, blocks)
    }

    /// The documents that were found, as the client gets them.
    async fn shown(
        &self,
        shared: &CallState,
        messages: &[Arc<Message>],
        documents: Vec<Document>,
    ) -> Vec<Document> {
        let mut shown = Vec::new();
        if self.shows_documents {
            let mut all = self.agent.documents_of(messages);
            documents.iter().for_each(|document| all.insert(document));
            let by = tokio::time::Instant::now() + FETCHING;
            for (at, document) in documents.into_iter().enumerate() {
                let loaded = match document.source() {
                    // Those beyond are only counted.
                    DocumentSource::Stored if at < shared.limits.documents => {
                        let at = DocumentRef::from(document.id());
                        tokio::time::timeout_at(by, all.load(&at)).await.ok().and_then(Result::ok)
                    }
                    _ => None,
                };
                shown.push(loaded.unwrap_or(document));
            }
            fetch_ours(&self.agent, &mut shown, &shared.limits).await;
        }
        shown
    }
}

/// Drives a run to its end, tells the client how far it is, and gathers the documents of its tools and its model.
async fn drive(
    mut run: AgentRun,
    call: &McpCall,
    documents: &mut Vec<Document>,
) -> Result<Outcome, RunError> {
    while let Some(event) = run.next().await {
        tell(&event, call).await;
        match event.kind {
            EventKind::ToolFinished { result, .. } => gather(&result.documents, documents),
            EventKind::Finished(end) => {
                let outcome = end.as_deref().unwrap_or_else(|error| error.partial());
                gather(outcome.documents(), documents);
                // Calls beside each other end in any order; the conversation has their results in that of the calls.
                let told: Vec<_> = outcome.messages.iter().flat_map(|message| message.documents()).collect();
                let place = |document: &Document| told.iter().position(|known| known.id() == document.id());
                documents.sort_by_key(|document| place(document).unwrap_or(usize::MAX));
                return end.map(|outcome| *outcome);
            }
            _ => {}
        }
    }
    run.outcome().await
}

/// True if a run did not begin because the one before it has calls that were approved.
fn is_refused_for_approved(end: &Result<Outcome, RunError>) -> bool {
    matches!(end, Err(error) if matches!(error.session_error(), Some(SessionError::Approved { .. })))
}

fn gather<'a>(found: impl IntoIterator<Item = &'a Document>, documents: &mut Vec<Document>) {
    for document in found {
        if !documents.iter().any(|known| known.id() == document.id()) {
            documents.push(document.clone());
        }
    }
}

/// Tells the client what a run does.
async fn tell(event: &Event, call: &McpCall) {
    match &event.kind {
        EventKind::StepStarted { .. } => call.step("the model is asked".to_owned()).await,
        EventKind::ToolStarted { call: started } => call.step(format!("{} runs", started.name)).await,
        EventKind::ToolProgress { progress, .. } => {
            if let Some(message) = &progress.message {
                call.step(message.clone()).await;
            }
        }
        EventKind::ToolFinished { result, .. } => {
            let name = result.tool_name.as_deref().unwrap_or("a tool");
            let end = if result.is_error() { "failed" } else { "is done" };
            call.step(format!("{name} {end}")).await;
        }
        EventKind::Nested { path, event } => {
            if let (Some(agent), EventKind::ToolStarted { call: started }) = (path.last(), &event.kind) {
                call.step(format!("{}: {} runs", agent.name, started.name)).await;
            }
        }
        EventKind::Warning { code, message } => {
            call.log(McpLogLevel::Warning, code, message.as_str()).await;
        }
        _ => {}
    }
}

/// The things that a run that has paused waits for, if its user can say them. Approvals that they may not give stay open for
/// those who may.
fn waiting(outcome: &Outcome, whose: &Whose) -> Option<Waits> {
    if !matches!(outcome.reason, EndReason::PendingApproval | EndReason::InputRequired) {
        return None;
    }
    let questions = outcome.deferred.iter().filter(|request| request.deferred.prompt.is_some());
    let approvals = outcome.approvals.iter().filter(|_| whose.may_approve);
    let waits = Waits { approvals: approvals.cloned().collect(), questions: questions.cloned().collect() };
    (!waits.approvals.is_empty() || !waits.questions.is_empty()).then_some(waits)
}

fn questions(waits: &Waits) -> Vec<Question> {
    let approvals = waits.approvals.iter().map(|request| {
        let arguments = request.call.arguments.raw();
        Question::approval(request.id.clone(), &request.call.name, arguments, request.reason.as_deref())
    });
    let questions = waits.questions.iter().map(|request| {
        let prompt = request.deferred.prompt.as_deref().unwrap_or_default();
        Question::of(request.call.id.to_string(), prompt, request.deferred.schema.as_ref())
    });
    approvals.chain(questions).collect()
}

/// The run that goes on with the user's answers. One that is missing is no yes.
async fn settled(
    session: &Session,
    call: &McpCall,
    waits: &Waits,
    answers: &HashMap<String, ElicitResult>,
) -> Result<AgentRun, SessionError> {
    let mut decisions = Vec::new();
    for request in &waits.approvals {
        let answer = answers.get(&request.id);
        let decision = match is_approved(answer) {
            true => Decision::Approve,
            false => Decision::Deny(why_not(answer).to_owned()),
        };
        decisions.push((request.id.clone(), decision));
    }
    let mut replies = Vec::new();
    for request in &waits.questions {
        let answer = answers.get(request.call.id.as_str());
        match answer_to(answer, request.deferred.schema.as_ref()) {
            Ok(value) => replies.push((request.call.id.clone(), value)),
            Err(text) => unanswered(session, request, &text).await?,
        }
    }
    let run = session.resume_with(RunOptions::new().with_context(call.clone()));
    let run = decisions.into_iter().fold(run, |run, (id, decision)| run.decide(&id, BY, decision));
    Ok(replies.into_iter().fold(run, |run, (id, value)| run.reply(&id, value)))
}

fn why_not(answer: Option<&ElicitResult>) -> &'static str {
    match answer.map(|answer| &answer.action) {
        Some(ElicitationAction::Accept | ElicitationAction::Decline) => "the user declined",
        _ => "the user did not decide",
    }
}

/// The run that goes on where nobody can be asked.
async fn refused(
    session: &Session,
    call: &McpCall,
    waits: &Waits,
    text: &str,
) -> Result<AgentRun, SessionError> {
    for request in &waits.questions {
        unanswered(session, request, text).await?;
    }
    let run = session.resume_with(RunOptions::new().with_context(call.clone()));
    Ok(waits
        .approvals
        .iter()
        .fold(run, |run, request| run.decide(&request.id, BY, Decision::Deny(text.to_owned()))))
}

/// Tells the run that a question has no answer.
async fn unanswered(session: &Session, request: &DeferredRequest, text: &str) -> Result<(), SessionError> {
    let Some(journal) = session.journal().await? else { return Err(SessionError::NotFound) };
    let result = ToolResult::error(&request.call, text);
    if let Err(error) = deliver(&*journal, result).await {
        // It has its answer, or its time is up: the run says so itself.
        tracing::debug!(%error, "the end of a question is not taken");
    }
    Ok(())
}

impl fmt::Debug for McpAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpAgent").field("name", &self.name()).finish_non_exhaustive()
    }
}
