//! Requests to a server that may ask back before it answers: of a person, of a model, or for our folders.
#![allow(deprecated, reason = "servers of the older era use roots and sampling")]

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use attache_core::tool::{Deferred, Unanswered};
use attache_core::{ToolContext, ToolError, ToolErrorKind};
use futures_util::future::{Either, select};
use rmcp::model::{
    ClientRequest, ElicitRequest, ElicitRequestParams, ErrorCode, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ListRootsResult, RequestMetaObject, Root, ServerResult,
};
use rmcp::service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, error::Elapsed, sleep_until, timeout_at};

use super::asked_back::{UnderWay, Wish};
use super::config::Config;
use super::connection::{Link, Session};
use super::eliciting::{Elicitation, declined};
use super::error_text::cut;
use super::hook::McpRequest;
use super::sampling::Sampling;
use super::task::{self, Pace, Place, Seen, State};

/// The maximum number of times that a server asks back before it answers.
const ROUNDS: u32 = 10;
/// The maximum number of questions during one call.
const QUESTIONS: u32 = 20;
/// A larger state of a server is not kept in a log.
const LARGEST_STATE: usize = 64 << 10;
/// The error of servers that want an address opened first.
const URL_FIRST: i32 = -32042;
/// The first wait before a request that the server puts off; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest one.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// The time that is left of a call's when it gives up waiting for a task.
const BEFORE_END: Duration = Duration::from_secs(2);

/// One request with what came of it so far.
pub(crate) struct Talk<'a> {
    config: &'a Config,
    link: &'a Link,
    end: Instant,
    /// The call for which it is made, if it is made for one.
    context: Option<&'a ToolContext>,
    /// Takes what the server asks meanwhile.
    under_way: Option<UnderWay>,
    questions: u32,
    /// The word of a server that knows no such method, of the last request.
    pub(crate) unknown: Option<String>,
    /// True if people answer a question later, and another process goes on with the call then.
    pub(crate) is_put_off: bool,
    /// Notes for the model.
    pub(crate) notes: Vec<String>,
}

/// The point at which a call stopped, as the log has it.
#[derive(Serialize, Deserialize)]
struct Stop {
    required: InputRequiredResult,
    /// True if the request is made anew, without an answer in it.
    #[serde(default)]
    anew: bool,
    /// The task that asks, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<Place>,
}

/// The end of following a task.
pub(crate) enum Followed {
    /// A result of a tool, as JSON.
    Done(Value),
    /// It is worked on when the time is up.
    Working,
}

/// A failure of a request.
enum Failed {
    Tool(ToolError),
    Service(ServiceError),
}

/// Makes the request, with answers to what the server asked back and with its state.
pub(crate) trait Asks: Fn(Option<InputResponses>, Option<String>) -> ClientRequest {}

impl<F: Fn(Option<InputResponses>, Option<String>) -> ClientRequest> Asks for F {}

impl<'a> Talk<'a> {
    pub(crate) fn new(
        config: &'a Config,
        link: &'a Link,
        end: Instant,
        context: Option<&'a ToolContext>,
    ) -> Self {
        let asks = context.filter(|_| config.asks());
        let whose = |context: &ToolContext| (context.principal.clone(), context.run_id.clone());
        let under_way = asks.map(|context| link.hub.enter(whose(context)));
        Self {
            config,
            link,
            end,
            context,
            under_way,
            questions: 0,
            unknown: None,
            is_put_off: false,
            notes: Vec::new(),
        }
    }

    /// Sends a request and waits for its answer; what the server asks back is answered meanwhile. One that may be repeated
    /// is, if the connection was lost.
    pub(crate) async fn ask(
        &mut self,
        request: impl Asks,
        repeatable: bool,
    ) -> Result<ServerResult, ToolError> {
        let mut stop = self.left_off().filter(|stop| stop.task.is_none());
        let (mut answers, mut state) = (None, None);
        self.unknown = None;
        for round in 0..ROUNDS {
            let at = match stop.take() {
                Some(stop) => stop,
                None => {
                    let answer = self.send(|| request(answers.clone(), state.clone()), repeatable).await;
                    match answer {
                        Ok(ServerResult::InputRequiredResult(required)) => {
                            Stop { required, anew: false, task: None }
                        }
                        Ok(answer) => return Ok(answer),
                        Err(Failed::Tool(error)) => return Err(error),
                        Err(Failed::Service(error)) => match self.wants_address(&error) {
                            Some(required) => Stop { required, anew: true, task: None },
                            None => {
                                if let ServiceError::McpError(error) = &error
                                    && error.code == ErrorCode::METHOD_NOT_FOUND
                                {
                                    self.unknown = Some(error.message.to_string());
                                }
                                return Err(self.config.failure(error, true));
                            }
                        },
                    }
                }
            };
            let handle = self.handle(&at);
            let wishes = at.required.input_requests.unwrap_or_default();
            if wishes.is_empty() {
                let wait = FIRST_WAIT.saturating_mul(1 << round).min(LONGEST_WAIT);
                sleep_until(self.end.min(Instant::now() + wait)).await;
            }
            let mut given = InputResponses::new();
            for (name, wish) in wishes {
                given.insert(name, self.answer(wish, handle.clone()).await?);
            }
            let is_accepted = |answer: &Value| answer.get("action").and_then(Value::as_str) == Some("accept");
            if at.anew && !given.values().all(is_accepted) {
                let alias = &self.config.alias;
                let text = format!("the server {alias:?} wants an address opened first, which was declined");
                return Err(ToolError::new(text));
            }
            (answers, state) = match at.anew {
                true => (None, None),
                false => (Some(given).filter(|given| !given.is_empty()), at.required.request_state),
            };
        }
        let alias = &self.config.alias;
        Err(ToolError::new(format!("the server {alias:?} asks back again and again, and does not answer")))
    }

    /// The point at which an earlier process stopped.
    fn left_off(&self) -> Option<Stop> {
        let left = self.context.filter(|_| self.config.asks()).and_then(ToolContext::left_off)?;
        serde_json::from_str(&left).ok()
    }

    /// The task that an earlier process has begun for this call, with what it asks.
    pub(crate) fn left_task(&self) -> Option<(Place, InputRequests)> {
        let stop = self.left_off()?;
        Some((stop.task?, stop.required.input_requests.unwrap_or_default()))
    }

    /// Sends a request about a task.
    async fn about(&mut self, request: impl Fn() -> ClientRequest) -> Result<ServerResult, ToolError> {
        self.send(request, true).await.map_err(|failed| match failed {
            Failed::Tool(error) => error,
            Failed::Service(error) => self.config.failure(error, true),
        })
    }

    /// Looks at a task.
    pub(crate) async fn look(&mut self, place: &Place) -> Result<Seen, ToolError> {
        let answer = self.about(|| task::look(&place.id)).await?;
        let alias = &self.config.alias;
        match Seen::looked(self.config, &answer) {
            Some((id, seen)) if id == place.id => Ok(seen),
            Some(_) => Err(ToolError::new(format!("the server {alias:?} answers with another task"))),
            None => Err(ToolError::new(format!("the server {alias:?} answers with no task"))),
        }
    }

    /// The result of a task that is over.
    pub(crate) async fn result(&mut self, place: &Place, seen: Seen) -> Result<Value, ToolError> {
        match seen.state {
            State::Completed(Some(result)) => Ok(result),
            State::Failed(error) if !place.is_old || error.is_some() => {
                Err(task::failed(self.config, seen.said.as_deref(), error.as_ref()))
            }
            State::Cancelled => Err(task::failed(self.config, Some("it was cancelled"), None)),
            _ => match self.about(|| task::old_result(&place.id)).await? {
                ServerResult::CustomResult(result) => Ok(result.0),
                result => Ok(serde_json::to_value(result)?),
            },
        }
    }

    /// Follows a task until it is over or the time is up, and answers what it asks.
    pub(crate) async fn follow(&mut self, place: &Place, mut seen: Seen) -> Result<Followed, ToolError> {
        let mut pace = Pace::new();
        let mut answered = HashSet::new();
        // A little is left of the time to say how it stands.
        let margin = BEFORE_END.min(self.end.saturating_duration_since(Instant::now()) / 4);
        loop {
            match seen.state {
                State::Working => {}
                State::Asks(_) if place.is_old => {
                    // Its questions come over the connection of this request, which lasts until the result is there.
                    return match self.result(place, seen).await {
                        Err(error) if error.kind() == ToolErrorKind::Timeout => Ok(Followed::Working),
                        result => result.map(Followed::Done),
                    };
                }
                State::Asks(wishes) => {
                    let stop = Stop {
                        required: InputRequiredResult::from_input_requests(wishes.clone()),
                        anew: false,
                        task: Some(place.clone()),
                    };
                    let handle = self.handle(&stop);
                    let mut given = InputResponses::new();
                    for (name, wish) in wishes {
                        if answered.insert(name.clone()) {
                            given.insert(name, self.answer(wish, handle.clone()).await?);
                        }
                    }
                    if !given.is_empty() {
                        self.about(|| task::update(&place.id, given.clone())).await?;
                    }
                }
                _ => return Ok(Followed::Done(self.result(place, seen).await?)),
            }
            let wait = pace.next(seen.wait);
            let end = self.end.checked_sub(margin).unwrap_or(self.end);
            if Instant::now() >= end {
                return Ok(Followed::Working);
            }
            sleep_until(end.min(Instant::now() + wait)).await;
            seen = self.look_through(place, end, &mut pace).await?;
        }
    }

    /// Looks at a task whose server may be away for a moment: what it has worked on is not given up for that.
    async fn look_through(
        &mut self,
        place: &Place,
        end: Instant,
        pace: &mut Pace,
    ) -> Result<Seen, ToolError> {
        loop {
            match self.look(place).await {
                Err(error) if matches!(error.kind(), ToolErrorKind::Unavailable | ToolErrorKind::Timeout) => {
                    if Instant::now() >= end {
                        // The poll of the deferred call looks again.
                        return if self.config.defers { Ok(Seen::working()) } else { Err(error) };
                    }
                    sleep_until(end.min(Instant::now() + pace.next(None))).await;
                }
                seen => return seen,
            }
        }
    }

    /// Answers the question of a task whose call was deferred.
    pub(crate) async fn reply(
        &mut self,
        place: &Place,
        name: String,
        answer: Value,
    ) -> Result<(), ToolError> {
        let given = InputResponses::from([(name, answer)]);
        self.about(|| task::update(&place.id, given.clone())).await.map(drop)
    }

    /// Cancels a task.
    pub(crate) async fn cancel(&mut self, place: &Place) -> Result<(), ToolError> {
        self.about(|| task::cancel(&place.id)).await.map(drop)
    }

    /// True if the server speaks the older protocol.
    pub(crate) async fn is_old(&self) -> Result<bool, ToolError> {
        let late = |_| self.config.late("did not answer in time");
        let session = timeout_at(self.end, self.link.session(self.config)).await.map_err(late)??;
        Ok(session.is_old())
    }

    /// The state of the server for the log, if it may stand there.
    fn handle(&self, stop: &Stop) -> Option<String> {
        let text = serde_json::to_string(stop).ok()?;
        let is_plain =
            matches!(self.config.redactor().given_only().redact(&text), std::borrow::Cow::Borrowed(_));
        (text.len() <= LARGEST_STATE && is_plain).then_some(text)
    }

    /// The addresses that a server wants to be opened before it takes the request.
    fn wants_address(&self, error: &ServiceError) -> Option<InputRequiredResult> {
        let ServiceError::McpError(error) = error else { return None };
        if error.code.0 != URL_FIRST || !self.config.elicitation || self.context.is_none() {
            return None;
        }
        let wishes = error.data.as_ref()?.get("elicitations")?.as_array()?;
        let read = |(number, wish): (usize, &Value)| {
            let mut wish = wish.clone();
            wish.as_object_mut()?.insert("mode".to_owned(), Value::from("url"));
            let params = serde_json::from_value::<ElicitRequestParams>(wish).ok()?;
            Some((format!("{number:03}"), InputRequest::Elicitation(ElicitRequest::new(params))))
        };
        let wishes: Option<_> = wishes.iter().enumerate().map(read).collect();
        wishes.map(InputRequiredResult::from_input_requests)
    }

    async fn send(
        &mut self,
        request: impl Fn() -> ClientRequest,
        repeatable: bool,
    ) -> Result<ServerResult, Failed> {
        let config = self.config;
        let late = || Failed::Tool(config.late("did not answer in time"));
        let connected = timeout_at(self.end, self.link.session(config)).await;
        let mut session: Arc<Session> = connected.map_err(|_| late())?.map_err(Failed::Tool)?;
        let mut may_repeat = repeatable;
        loop {
            let error = match self.listen(&session, request()).await {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(error)) => error,
                Err(_) => return Err(late()),
            };
            let lost = matches!(error, ServiceError::TransportClosed) || session.is_over();
            if !lost || !may_repeat {
                return Err(Failed::Service(error));
            }
            may_repeat = false;
            let connected = timeout_at(self.end, self.link.session(config)).await;
            session = connected.map_err(|_| late())?.map_err(Failed::Tool)?;
        }
    }

    /// The words of whoever looks on, for the request.
    fn meta(&self, session: &Session, request: &ClientRequest) -> Option<RequestMetaObject> {
        let hook = self.config.hook.as_ref().filter(|_| self.context.is_some())?;
        let (info, id) = (session.info(), session.id());
        let request = McpRequest {
            server: &self.config.alias,
            method: request.method(),
            protocol_version: info.as_ref().map(|info| info.protocol_version.as_str()),
            session: id.as_deref(),
        };
        let mut meta = RequestMetaObject::default();
        let own = |name: &str| name.starts_with("io.modelcontextprotocol/") || name == "progressToken";
        for (name, value) in hook.0.asks(&request).into_iter().filter(|(name, _)| !own(name)) {
            meta.insert(name, Value::String(value));
        }
        (!meta.is_empty()).then_some(meta)
    }

    /// Waits for the answer, and answers what the server asks meanwhile.
    async fn listen(
        &mut self,
        session: &Session,
        request: ClientRequest,
    ) -> Result<Result<ServerResult, ServiceError>, Elapsed> {
        let meta = self.meta(session, &request);
        let listens = self.context.map(|context| (&*self.link.hub, &context.listening));
        let Some(mut under_way) = self.under_way.take() else {
            return timeout_at(self.end, session.ask_with(request, meta, listens)).await;
        };
        let mut asked = pin!(session.ask_with(request, meta, listens));
        let answer = loop {
            let next = {
                let wish = pin!(under_way.wishes.recv());
                match timeout_at(self.end, select(asked.as_mut(), wish)).await {
                    Ok(Either::Left((answer, _))) => break Ok(answer),
                    Ok(Either::Right((wish, _))) => wish,
                    Err(late) => break Err(late),
                }
            };
            let Some(Wish { request, answer }) = next else { continue };
            let answering = pin!(self.answer(request, None));
            match select(asked.as_mut(), answering).await {
                // The server waits no longer.
                Either::Left((answer, _)) => break Ok(answer),
                Either::Right((Ok(given), _)) => drop(answer.send(given)),
                Either::Right((Err(_), _)) => drop(answer),
            }
        };
        self.under_way = Some(under_way);
        answer
    }

    /// Answers what the server asks, in the form of a result. With a handle the answer may come days later.
    async fn answer(&mut self, wish: InputRequest, handle: Option<String>) -> Result<Value, ToolError> {
        self.questions += 1;
        let many = self.questions > QUESTIONS;
        match wish {
            InputRequest::ListRoots(_) => {
                let roots = self.config.roots.iter().cloned().map(Root::new).collect();
                Ok(serde_json::to_value(ListRootsResult::new(roots))?)
            }
            InputRequest::Elicitation(request) if self.config.elicitation && !many => {
                let Some(read) = Elicitation::new(self.config, &request.params) else {
                    self.note("asked a person for what nobody can give: it was declined", "");
                    return Ok(serde_json::to_value(declined())?);
                };
                let answer = self.people(read.question(handle), &read.prompt).await?;
                let result = answer.map_or_else(declined, |answer| read.answered(answer));
                Ok(serde_json::to_value(result)?)
            }
            InputRequest::Elicitation(_) if self.config.elicitation => Ok(serde_json::to_value(declined())?),
            InputRequest::CreateMessage(request) if !many => {
                let refused = || {
                    let alias = &self.config.alias;
                    ToolError::new(format!("the server {alias:?} asks for a model that it is not given"))
                };
                let model = self.config.sampling.clone().ok_or_else(refused)?;
                let read = Sampling::new(&request.params).ok_or_else(refused)?;
                let refused = refused();
                let question = read.question(self.config, &model, handle);
                let prompt = question.prompt.clone().unwrap_or_default();
                let allowed = self.people(question, &prompt).await?;
                if !allowed.as_ref().is_some_and(Sampling::is_allowed) {
                    return Err(refused);
                }
                match timeout_at(self.end, read.ask(&model)).await {
                    Ok(Some(result)) => Ok(serde_json::to_value(result)?),
                    _ => Err(refused),
                }
            }
            _ => {
                let text =
                    format!("the server {:?} asks for an input that nobody here can give", self.config.alias);
                Err(ToolError::new(text))
            }
        }
    }

    /// Asks people; `None` if they decline, or nobody is there.
    async fn people(&mut self, question: Deferred, prompt: &str) -> Result<Option<Value>, ToolError> {
        let (since, is_kept) = (Instant::now(), question.handle.is_some());
        let answer = match self.context {
            Some(context) => context.ask(question).await,
            None => Err(Unanswered::Nobody),
        };
        // The time of people is not the server's.
        self.end += since.elapsed();
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Unanswered::Later) => {
                self.is_put_off = is_kept;
                Err(ToolError::new(Unanswered::Later.to_string()).with_kind(ToolErrorKind::Unavailable))
            }
            Err(Unanswered::Declined { .. }) => {
                self.note("asked a person, who declined", prompt);
                Ok(None)
            }
            Err(_) => {
                self.note("asked a person, and nobody was there to answer: it was declined", prompt);
                Ok(None)
            }
        }
    }

    fn note(&mut self, what: &str, prompt: &str) {
        let colon = if prompt.is_empty() { "" } else { ". " };
        self.notes.push(format!("the server {:?} {what}{colon}{}", self.config.alias, cut(prompt, 500)));
    }
}
