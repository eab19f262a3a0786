//! An agent as a family of tools.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_core::hash::hex;
use attache_core::tool::{Listening, ToolSpec};
use attache_core::{
    Arguments, BoxFuture, ContentTree, Document, DocumentRef, Effect, Secret, ToolContext, ToolError,
    ToolErrorKind, ToolHandler, fresh,
};
use attache_transport::HttpClient;
use http::HeaderMap;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::asking::{Stop, answering};
use super::failure::Failure;
use super::follow::{CancelGuard, Line};
use super::gather::Gathered;
use super::handle::A2aHandle;
use super::link::{Known, Link};
use super::listing::{CONVERSATION, DOCUMENTS, MESSAGE, TASK};
use super::output::A2aOutput;
use super::progress::Heard;
use super::request::Ask;
use super::results::OURS;
use super::update::A2aUpdate;
use crate::card::{A2aBinding, A2aCard, A2aKey};
use crate::config::{A2aLimits, A2aQuestions, Config};
use crate::push::{A2aPush, A2aPushError};
use crate::wire::{A2aVersion, Draft};

/// The time that is left of a call's deadline when it gives up waiting for a task.
const BEFORE_DEADLINE: Duration = Duration::from_secs(2);
/// The least time for an agent to go on behind an answer.
const AFTER_ANSWER: Duration = Duration::from_secs(10);
/// An A2A agent, which an agent of ours is given as a tool.
///
/// Its card is read when its tools are first needed. One tool stands for it, `a2a_ALIAS___ask`, with its skills in the
/// description; or [one for each skill](Self::per_skill). A call sends the model's message and the documents that it names,
/// and follows the task. The results:
///
/// | the task | the call |
/// | --- | --- |
/// | a message, or completed | a result: artifacts first, then the words of the end, then files of the history |
/// | failed, rejected, canceled | a failed result, with whatever there is |
/// | asks for input or leave | a question to the user, whose answer goes on with the task; or to the [model](A2aQuestions::Model) |
/// | still worked on after 60 s | a deferred call ([`Deferred::to`](attache_core::tool::Deferred::to)), which outlives this process |
///
/// A question is asked as by [`ToolContext::ask`]: a reply to it goes to the agent, in any process that resumes the run. A
/// call without people behind it, or in a run that is not kept, ends with the question ([`Deferred::ask`](attache_core::tool::Deferred::ask)).
/// [`poll`](Self::poll) and [`answer`](Self::answer) go on with deferred calls, in any process. A call that is dropped
/// cancels its task. All clones share the card.
///
/// ```
/// use attache_a2a::A2aAgent;
/// let leases = A2aAgent::at("leases", "https://leases.example").bearer("sk-…");
/// # let _ = leases;
/// ```
#[derive(Clone)]
pub struct A2aAgent {
    config: Arc<Config>,
    link: Arc<Link>,
}

impl A2aAgent {
    /// The agent whose card is at an `http` or `https` address: below it at `/.well-known/agent-card.json`, or there
    /// itself if the address ends with `.json`. `alias` is a short name of yours for it, without `___` and no `_` at its
    /// end.
    pub fn at(alias: impl Into<String>, url: impl Into<String>) -> Self {
        Self { config: Arc::new(Config::new(alias.into(), url.into())), link: Arc::default() }
    }

    /// An agent of another configuration, which was not asked for its card.
    fn edit(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(Arc::make_mut(&mut self.config));
        Self { link: Arc::default(), ..self }
    }

    /// Sends a bearer token with each request to the origin of its address.
    #[must_use]
    pub fn bearer(self, token: impl Into<Secret>) -> Self {
        self.edit(|config| config.bearer = Some(token.into()))
    }

    /// Sends a header with each request to the origin of its address, such as one with an API key. Its value is a secret.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.edit(|config| config.headers.push((name.into(), value.into())))
    }

    /// Trusts another origin like that of its address: token and headers go there too, and it may be a private address.
    /// Otherwise an interface that the card names elsewhere is asked without them, and at public addresses only.
    #[must_use]
    pub fn origin(self, url: impl Into<String>) -> Self {
        self.edit(|config| config.origins.push(url.into()))
    }

    /// Uses another client, such as one over a `reqwest::Client` or with hooks.
    #[must_use]
    pub fn client(self, client: HttpClient) -> Self {
        self.edit(|config| config.client = Some(client))
    }

    /// Connects to public addresses only: for addresses that users bring. [`client`](Self::client) takes precedence.
    #[must_use]
    pub fn public_only(self) -> Self {
        self.edit(|config| config.public = true)
    }

    /// Believes only what one of these keys has signed of its card; a card that none has is refused.
    #[must_use]
    pub fn signed_by(self, keys: impl IntoIterator<Item = A2aKey>) -> Self {
        self.edit(|config| config.keys = Some(keys.into_iter().collect()))
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: A2aLimits) -> Self {
        self.edit(|config| config.limits = limits)
    }

    /// Offers one tool for each skill, `a2a_ALIAS___SKILL`, in the place of one for the agent.
    #[must_use]
    pub fn per_skill(self) -> Self {
        self.edit(|config| config.per_skill = true)
    }

    /// Tells the model of these skills only, by their ids.
    #[must_use]
    pub fn only(self, skills: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.edit(|config| config.only = Some(skills.into_iter().map(Into::into).collect()))
    }

    /// Says who answers what the agent asks; the user by default.
    #[must_use]
    pub fn questions(self, questions: A2aQuestions) -> Self {
        self.edit(|config| config.questions = questions)
    }

    /// Lets the model go on with earlier conversations: results show their ids, and a call may name one.
    #[must_use]
    pub fn with_conversations(self) -> Self {
        self.edit(|config| config.conversations = true)
    }

    /// Says what a call may do to the world, as approvals and repetitions go by it. It is one with effects by default.
    #[must_use]
    pub fn effect(self, effect: Effect) -> Self {
        self.edit(|config| config.effect = effect)
    }

    /// Says whether a task that takes long becomes a deferred call, as it does by default, or is cancelled.
    #[must_use]
    pub fn defers(self, defers: bool) -> Self {
        self.edit(|config| config.defers = defers)
    }

    /// Sets the time after which no result of a deferred call is taken any more. Unlimited by default.
    #[must_use]
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.edit(|config| config.lifetime = Some(lifetime))
    }

    /// Asks for notifications of tasks that become deferred calls, where the agent sends some.
    #[must_use]
    pub fn push(self, push: A2aPush) -> Self {
        self.edit(|config| config.push = Some(push))
    }

    /// Speaks this version of the protocol only. By default the newest that both know.
    #[must_use]
    pub fn version(self, version: A2aVersion) -> Self {
        self.edit(|config| config.version = Some(version))
    }

    /// Writes requests in this way only. By default as JSON-RPC where the agent takes it.
    #[must_use]
    pub fn binding(self, binding: A2aBinding) -> Self {
        self.edit(|config| config.binding = Some(binding))
    }

    /// The alias.
    pub fn alias(&self) -> &str {
        &self.config.alias
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The agent's card.
    ///
    /// # Errors
    /// If it cannot be read or believed, or the agent cannot be spoken to.
    pub async fn card(&self) -> Result<A2aCard, ToolError> {
        Ok(self.link.known(&self.config).await?.card.clone())
    }

    /// Looks at the task of a deferred call, by its handle. It waits for nothing but the agent's answer.
    ///
    /// # Errors
    /// If the handle is of another agent, the agent does not answer, or it does not know the task.
    pub async fn poll(&self, handle: &str) -> Result<A2aUpdate, ToolError> {
        self.poll_boxed(handle).await
    }

    /// A border, as those below are: see ADR 0053.
    fn poll_boxed<'a>(&'a self, handle: &'a str) -> BoxFuture<'a, Result<A2aUpdate, ToolError>> {
        Box::pin(async move {
            let handle = self.handle(handle)?;
            let known = self.link.known(&self.config).await?;
            let line = Line { config: &self.config, known: &known };
            let end = Instant::now() + self.config.limits.request;
            let mut gathered = Gathered::default();
            let looked = line.look(handle.task(), end).await;
            match looked.and_then(|event| gathered.apply(event)) {
                Ok(()) => self.update(gathered),
                Err(failure) => Err(self.told(&known, failure, false)),
            }
        })
    }

    /// Answers what the agent asks in the task of a deferred call, by its handle, and follows the task for as long as a
    /// call does. The answer goes to the same task and conversation.
    ///
    /// # Errors
    /// As for [`poll`](Self::poll).
    pub async fn answer(&self, handle: &str, answer: impl Into<String>) -> Result<A2aUpdate, ToolError> {
        self.answer_boxed(handle, answer.into()).await
    }

    fn answer_boxed<'a>(
        &'a self,
        handle: &'a str,
        answer: String,
    ) -> BoxFuture<'a, Result<A2aUpdate, ToolError>> {
        Box::pin(async move {
            let draft = answering(&self.handle(handle)?, answer);
            let known = self.link.known(&self.config).await?;
            let end = Instant::now() + self.config.limits.patience;
            // Somebody waits for the task, whatever becomes of this answer, and of whoever gives it.
            let mut guard = CancelGuard::idle(Arc::clone(&self.config), Arc::clone(&known));
            let nobody = Listening::default();
            let mut heard = Heard::new(&self.config, &nobody);
            self.update(self.followed(&known, &draft, end, &mut guard, &mut heard).await?)
        })
    }

    /// Cancels the task of a deferred call.
    ///
    /// # Errors
    /// As for [`poll`](Self::poll), and if the agent does not cancel it.
    pub async fn cancel(&self, handle: &str) -> Result<(), ToolError> {
        self.cancel_boxed(handle).await
    }

    fn cancel_boxed<'a>(&'a self, handle: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let handle = self.handle(handle)?;
            let known = self.link.known(&self.config).await?;
            let line = Line { config: &self.config, known: &known };
            let end = Instant::now() + self.config.limits.request;
            let answer = line.ask_of(Ask::Cancel(handle.task()), end).await;
            match answer.and_then(|answer| answer.result().map(drop)) {
                Ok(()) => Ok(()),
                Err(failure) => Err(self.told(&known, failure, false)),
            }
        })
    }

    /// The error of a failure, behind which the card may be read anew.
    fn told(&self, known: &Known, failure: Failure, begun: bool) -> ToolError {
        if failure.doubts_card() {
            known.doubt();
        }
        failure.told(&self.config, begun)
    }

    /// The task that a notification tells of, if it has the token of that task. The rest of it is not believed:
    /// [`poll`](Self::poll) asks the agent.
    ///
    /// # Errors
    /// [`A2aPushError`] for what is no notification of a task of this agent.
    pub fn notified(&self, headers: &HeaderMap, body: &[u8]) -> Result<A2aHandle, A2aPushError> {
        let push = self.config.push.as_ref().ok_or(A2aPushError::Unasked)?;
        push.task(&self.config.alias, headers, body)
    }

    fn handle(&self, handle: &str) -> Result<A2aHandle, ToolError> {
        let read: Option<A2aHandle> = handle.parse().ok();
        read.filter(|handle| handle.alias() == self.config.alias)
            .ok_or_else(|| ToolError::new(format!("{:?} has no such task", self.config.name)))
    }

    fn guard(&self, known: &Arc<Known>) -> CancelGuard {
        CancelGuard::new(Arc::clone(&self.config), Arc::clone(known))
    }

    async fn followed(
        &self,
        known: &Arc<Known>,
        draft: &Draft,
        end: Instant,
        guard: &mut CancelGuard,
        heard: &mut Heard<'_>,
    ) -> Result<Gathered, ToolError> {
        let line = Line { config: &self.config, known };
        match Box::pin(line.follow(draft, end, guard, heard)).await {
            Ok(gathered) => Ok(gathered),
            Err((failure, begun)) => Err(self.told(known, failure, begun)),
        }
    }

    /// The message of a call.
    async fn draft(
        &self,
        skill: Option<&str>,
        mut arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Draft, ToolError> {
        let unfit = |text: &str| ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments);
        let mut text = |name: &str| match arguments.remove(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
            _ => None,
        };
        let (message, task, conversation) = (text(MESSAGE), text(TASK), text(CONVERSATION));
        let mut documents = Vec::new();
        let mut left = self.config.limits.sent_bytes;
        let named = match arguments.remove(DOCUMENTS) {
            Some(Value::Array(named)) => named,
            None | Some(Value::Null) => Vec::new(),
            Some(one) => vec![one],
        };
        for name in named {
            let reference: Option<DocumentRef> = serde_json::from_value(name).ok();
            let reference =
                reference.ok_or_else(|| unfit("each of `documents` must be the id of a document"))?;
            let document = context.load(&reference).await?;
            let size = document.bytes().map_or(0, |bytes| bytes.len());
            left = left.checked_sub(size).ok_or_else(|| {
                unfit(&format!(
                    "the documents have more than the {} bytes that are sent",
                    self.config.limits.sent_bytes
                ))
            })?;
            documents.push(document);
        }
        if message.is_none() && documents.is_empty() {
            return Err(unfit("`message` is missing"));
        }
        let names_tasks = self.config.names_tasks();
        Ok(Draft {
            id: match &context.idempotency_key {
                Some(key) => format!("{OURS}{}", hashed(key)),
                None => format!("{OURS}{}", fresh::uuid()),
            },
            text: message.unwrap_or_default(),
            documents,
            task: task.filter(|_| names_tasks),
            context: conversation.filter(|_| names_tasks),
            skill: skill.map(str::to_owned),
        })
    }
}

/// A key says nothing of the run that it comes from.
fn hashed(key: &str) -> String {
    hex(digest(&SHA256, key.as_bytes()).as_ref().iter().take(16))
}

impl ToolHandler for A2aAgent {
    type Output = A2aOutput;

    fn name(&self) -> &str {
        &self.config.name
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let known = self.link.known(&self.config).await?;
        Ok(self.config.specs(&known.card))
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> Result<A2aOutput, ToolError> {
        self.call_boxed(tool, arguments, context).await
    }

    fn extract_documents(&self, output: &A2aOutput, tree: &ContentTree) -> Vec<Document> {
        let shown: Vec<Document> = output.documents().cloned().collect();
        tracing::debug!(documents = shown.len(), in_tree = tree.documents().len(), "documents of an agent");
        shown
    }

    fn is_error(&self, output: &A2aOutput) -> bool {
        output.is_error()
    }
}

impl A2aAgent {
    fn call_boxed<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Arguments,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<A2aOutput, ToolError>> {
        Box::pin(self.called(tool, arguments, context))
    }

    async fn called(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> Result<A2aOutput, ToolError> {
        let Some(skill) = self.config.skill(tool) else {
            let text = format!("{:?} offers no tool of that name", self.config.name);
            return Err(ToolError::new(text).with_kind(ToolErrorKind::UnknownTool));
        };
        let people = self.config.questions == A2aQuestions::User;
        let left_off = context.left_off().filter(|_| people).and_then(|left| left.parse::<Stop>().ok());
        let mut stop = left_off.filter(|stop| stop.handle.alias() == self.config.alias);
        let mut draft = match stop {
            Some(_) => Draft::default(),
            None => self.draft(skill, arguments.object()?, &context).await?,
        };
        let known = self.link.known(&self.config).await?;
        let patience = self.config.limits.patience;
        // The time of people is not the agent's: it stands still while they are asked.
        let mut left = context.deadline.map_or(patience, |deadline| {
            let limit = Instant::from_std(deadline).saturating_duration_since(Instant::now());
            patience.min(limit.saturating_sub(BEFORE_DEADLINE))
        });
        let mut asked = 0;
        let mut heard = Heard::new(&self.config, &context.listening);
        loop {
            let question = match stop.take() {
                Some(question) => question,
                None => {
                    let begun = Instant::now();
                    let mut guard = self.guard(&known);
                    let end = begun + left;
                    let gathered = self.followed(&known, &draft, end, &mut guard, &mut heard).await?;
                    left = left.saturating_sub(begun.elapsed()).max(AFTER_ANSWER.min(patience));
                    let output = self.concluded(&known, gathered, &mut guard).await?;
                    let Some(question) = Stop::of(&output, asked) else { return Ok(output) };
                    question
                }
            };
            asked = question.number();
            draft = match question.ask(&self.config, &context).await {
                Ok(Some(answer)) => answer,
                Ok(None) => return Ok(question.into_output(self.config.lifetime)),
                Err(unasked) => {
                    // Nobody goes on with a task whose question is declined.
                    if !unasked.waits
                        && let Err(error) = self.cancel(&question.handle.to_string()).await
                    {
                        tracing::debug!(agent = self.config.alias, %error, "a task could not be cancelled");
                    }
                    return Err(unasked.error);
                }
            };
        }
    }
}

impl fmt::Debug for A2aAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aAgent").field("config", &self.config).finish_non_exhaustive()
    }
}
