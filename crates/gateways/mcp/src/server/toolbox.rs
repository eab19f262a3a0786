//! The tools of a toolbox, each as one of the server.

use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};

use attache_agent::{Agent, Judged, Judgement, ToolManager};
use attache_core::schema::Schema;
use attache_core::tool::{Deferred, Listening, Progress, ToolSpec};
use attache_core::{Arguments, Effect, ResultStatus, ToolCall, ToolCallId, ToolContext, ToolResult};
use futures_util::future::{Either, select};
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, InputRequiredResult, Tool, ToolAnnotations};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, watch};

use super::answer::failure;
use super::asking::{Asked, Client, Question, answer_to, is_approved};
use super::blocks::{Blocks, fetch_ours};
use super::call_state::CallState;
use super::schemas;
use super::waiting_calls::Held;

/// The name under which the answer to a question comes.
const KEY: &str = "answer";
/// The dialect of our schemas.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The tools of an agent.
pub(super) struct Toolbox {
    pub(super) agent: Agent,
    listed: Mutex<Option<ToolManager>>,
    /// The same, for whoever cannot wait.
    known: RwLock<Option<ToolManager>>,
}

impl Toolbox {
    pub(super) fn new(agent: Agent) -> Self {
        Self { agent, listed: Mutex::default(), known: RwLock::default() }
    }

    /// The tool of that name, as it was last listed.
    pub(super) fn known(&self, name: &str) -> Option<Tool> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.as_ref()?.specs().find(|(wire, _)| *wire == name);
        found.map(|(wire, spec)| described(wire, spec))
    }

    /// Lists the tools if nobody did.
    pub(super) async fn listed(&self) {
        let is_known = self.known.read().unwrap_or_else(PoisonError::into_inner).is_some();
        if !is_known && let Err(error) = self.manager().await {
            tracing::debug!(%error, "the headers of a call cannot be held against its tool");
        }
    }

    /// The tools as they are now.
    pub(super) async fn manager(&self) -> Result<ToolManager, ErrorData> {
        let mut listed = self.listed.lock().await;
        let manager = match &*listed {
            Some(manager) => manager.refreshed().await,
            None => self.agent.tool_manager().await,
        };
        let manager = manager.map_err(|error| {
            tracing::warn!(%error, "the tools cannot be listed");
            ErrorData::internal_error("the tools cannot be listed now", None)
        })?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(manager.clone());
        *listed = Some(manager.clone());
        Ok(manager)
    }
}

/// A tool of ours as the newest protocol describes tools; [`schemas::for_older`] describes it for others.
pub(super) fn described(wire: &str, spec: &ToolSpec) -> Tool {
    let definition = &spec.definition;
    let object = |schema: &Value| schema.as_object().cloned().unwrap_or_default();
    let mut input = schemas::of_arguments(object(definition.input_schema()));
    if input.contains_key("$defs") {
        // Older dialects know definitions by another name.
        input.entry("$schema").or_insert_with(|| DIALECT.into());
    }
    let mut tool = Tool::new(wire.to_owned(), definition.description().to_owned(), Arc::new(input));
    tool.title = Some(title(wire));
    tool.output_schema = definition.output_schema().map(|schema| Arc::new(object(schema)));
    let effect = spec.metadata.effect;
    let mut annotations = ToolAnnotations::new().read_only(effect == Effect::Read);
    if effect != Effect::Read {
        annotations =
            annotations.destructive(effect == Effect::SideEffect).idempotent(effect == Effect::Idempotent);
    }
    tool.annotations = Some(annotations);
    tool
}

/// A name as people read it: `fetch_invoice` is "Fetch invoice".
pub(super) fn title(name: &str) -> String {
    let words: Vec<&str> = name.split(['_', '-', '.']).filter(|word| !word.is_empty()).collect();
    let words = words.join(" ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// One call of a tool.
pub(super) struct Calling<'a> {
    pub(super) shared: &'a CallState,
    pub(super) client: &'a Client,
    /// The agent whose tools they are.
    pub(super) agent: &'a Agent,
    pub(super) manager: &'a ToolManager,
    pub(super) spec: &'a ToolSpec,
    pub(super) name: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
}

impl Calling<'_> {
    pub(super) async fn run(&self) -> Result<CallToolResponse, ErrorData> {
        let call = ToolCall::new(self.spec.definition.name(), Arguments::from(self.arguments));
        let mut approved = None;
        if let Some(state) = &self.client.state {
            let whose = &self.client.whose;
            match self.shared.held.take(&whose.principal, self.name, self.arguments, state) {
                Some(Held::Approval(asked, shown)) => {
                    let answers = self.client.answers();
                    match answers.get(KEY) {
                        // It was not asked, so it is asked again.
                        None => {}
                        answer if !is_approved(answer) => return Ok(denied()),
                        Some(_) if !whose.may_approve => {}
                        // So it is for a tool that is another one now.
                        Some(_) => approved = (*asked == *self.spec).then_some(shown),
                    }
                }
                Some(Held::Question(deferred)) => {
                    let answers = self.client.answers();
                    return match answers.get(key(&deferred)) {
                        None => self.ask(&call, deferred).await,
                        answer => Ok(self.answered(&call, answer, deferred.schema.as_ref())),
                    };
                }
                Some(Held::Agent(_)) | None => return Err(unknown_state()),
            }
        }
        // An approval takes nothing back that a policy denies.
        let judged = match self.manager.judge(&call, self.context()).await {
            Judgement::Run(judged) => judged,
            // It is for the arguments that were shown, as hooks left them.
            Judgement::Ask(judged, _) if approved.as_ref() == Some(&arguments(&judged)) => judged,
            Judgement::Ask(..) if !self.client.whose.may_approve => {
                return Ok(failure(
                    "not executed: the tool needs an approval, which this client may not give",
                ));
            }
            Judgement::Ask(judged, ask) => {
                let text = judged.call().arguments.raw();
                let reason = ask.reason.as_deref();
                let question = Question::approval(KEY.to_owned(), self.name, text, reason);
                match self.client.ask(vec![question]).await {
                    Asked::Answered(answers) if is_approved(answers.get(KEY)) => judged,
                    Asked::Answered(_) => return Ok(denied()),
                    Asked::Later(requests) => {
                        let held = Held::Approval(Box::new(self.spec.clone()), arguments(&judged));
                        return Ok(self.later(requests, held));
                    }
                    Asked::Unable => {
                        return self.client.unable(
                            "not executed: the tool needs an approval, and this client cannot ask for one \
                             (it does not declare elicitation)",
                        );
                    }
                }
            }
            Judgement::Refused(result) => return Ok(self.result(&result)),
            _ => return Ok(failure("not executed: nobody here answers this tool")),
        };
        match self.attempt(judged).await {
            Ok(mut result) => {
                fetch_ours(self.agent, &mut result.documents, &self.shared.limits).await;
                Ok(self.result(&result))
            }
            Err(deferred) => self.ask(&call, deferred).await,
        }
    }

    /// Makes the call, and tells the client how far it has come.
    async fn attempt(&self, judged: Judged) -> Result<ToolResult, Box<Deferred>> {
        let (told, mut news) = watch::channel(Progress::new(0.0));
        let mut context = self.context();
        let hears = move |_: &ToolCallId, progress| drop(told.send_replace(progress));
        context.listening = Listening::of(Arc::new(hears), judged.call().id.clone());
        let mut made = pin!(self.manager.attempt(judged, context));
        loop {
            let is_told = {
                let changed = pin!(news.changed());
                match select(made.as_mut(), changed).await {
                    Either::Left((result, _)) => return result,
                    Either::Right((changed, _)) => changed.is_ok(),
                }
            };
            if !is_told {
                // Nobody is left who could tell.
                return made.await;
            }
            let progress = news.borrow_and_update().clone();
            self.client.call.progress(progress).await;
        }
    }

    fn context(&self) -> ToolContext {
        let whose = &self.client.whose;
        let mut context = ToolContext::new().with(self.client.call.clone());
        context.principal = Some(whose.principal.to_string());
        context.session = whose.scope.as_deref().map(str::to_owned);
        context
    }

    /// Asks the user what the tool wants to know: the answer is its result.
    async fn ask(&self, call: &ToolCall, deferred: Box<Deferred>) -> Result<CallToolResponse, ErrorData> {
        let Some(prompt) = &deferred.prompt else {
            return Ok(failure("the result comes later, and nobody waits for it here"));
        };
        let schema = deferred.schema.as_ref();
        let key = key(&deferred).to_owned();
        match self.client.ask(vec![Question::of(key.clone(), prompt, schema)]).await {
            Asked::Answered(answers) => Ok(self.answered(call, answers.get(&key), schema)),
            Asked::Later(requests) => Ok(self.later(requests, Held::Question(deferred))),
            Asked::Unable => self.client.unable(
                "the tool asks the user, and this client cannot ask them (it does not declare elicitation)",
            ),
        }
    }

    fn answered(
        &self,
        call: &ToolCall,
        answer: Option<&rmcp::model::ElicitResult>,
        schema: Option<&Value>,
    ) -> CallToolResponse {
        match answer_to(answer, schema) {
            Ok(Value::String(text)) => self.result(&ToolResult::ok(call, &text)),
            Ok(value) => self.result(&ToolResult::ok(call, &value.to_string())),
            Err(text) => failure(text),
        }
    }

    fn later(&self, requests: rmcp::model::InputRequests, held: Held) -> CallToolResponse {
        let principal = &self.client.whose.principal;
        let state = self.shared.held.put(principal, self.name, self.arguments, held);
        InputRequiredResult::new(Some(requests), Some(state)).into()
    }

    fn result(&self, result: &ToolResult) -> CallToolResponse {
        let CallState { shelf, limits, .. } = self.shared;
        let mut blocks = Blocks::new(shelf, &self.client.whose, limits);
        blocks.tree(&result.tree, &result.documents, result.withheld.len());
        let is_error = result.status != ResultStatus::Ok;
        let structured = match is_error {
            true => Ok(None),
            false => self.structured(result.tree.json()),
        };
        if let Err(problem) = &structured {
            blocks.text(format!("[{problem}]"));
            if self.spec.metadata.effect != Effect::Read {
                // Clients of the official SDKs take a success without the promised value for a failure, and show
                // their model nothing of it. So it is an error, with the output and a word on the effect.
                blocks.text("[the call itself was made, and succeeded: do not make it again for this]");
            }
        }
        let (content, _) = blocks.finish();
        let mut said = match is_error || structured.is_err() {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        };
        said.structured_content = structured.ok().flatten();
        said.into()
    }

    /// The output as a value, where the tool says which it returns, and the client was told.
    fn structured(&self, json: &str) -> Result<Option<Value>, String> {
        let Some(schema) = self.spec.definition.output_schema() else { return Ok(None) };
        if !self.client.is_newest && schemas::object_root(schema).is_none() {
            return Ok(None);
        }
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        let fits = Schema::new(schema).map(|schema| schema.check(&value));
        match fits.as_deref() {
            Ok([]) => Ok(Some(value)),
            Ok([first, ..]) => Err(format!("the result does not fit the output schema of the tool: {first}")),
            Err(_) => Err("the output schema of the tool is not valid".to_owned()),
        }
    }
}

/// The arguments with which a call is made.
fn arguments(judged: &Judged) -> Map<String, Value> {
    judged.call().arguments.object().unwrap_or_default()
}

/// The name under which the answer to a tool's question comes.
fn key(deferred: &Deferred) -> &str {
    deferred.handle.as_deref().unwrap_or(KEY)
}

fn denied() -> CallToolResponse {
    failure("not executed: the user did not approve it")
}

/// The state of a call that is made again is not one that waits.
pub(super) fn unknown_state() -> ErrorData {
    let text =
        "the requestState is none of a call that waits: it was used, is too old, or is of another call";
    ErrorData::invalid_params(text, None)
}
