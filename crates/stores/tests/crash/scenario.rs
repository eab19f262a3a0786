//! The agent that is killed: tools with documents, effects, a call for somebody outside, an agent inside a tool.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, AgentBuilder, EndReason, EventKind, Outcome, RunError, Tools, tool_fn};
use attache_core::provider::ProviderState;
use attache_core::schemars::{self, JsonSchema};
use attache_core::tool::Deferred;
use attache_core::{
    Approval, ChatRequest, ChunkStream, Document, DocumentStore, Effect, LlmProvider, Message,
    ModelCapabilities, ModelSettings, Tool, ToolContext, ToolDefinition, ToolError,
};
use attache_stores::FileDocumentStore;
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

use crate::kept::Kept;
use crate::random::Random;
use crate::stop::{COUNTED, Order, WAITS, counted, moment, say};
use crate::watched::WatchedStore;

/// The exit codes of the process.
pub(crate) const ENDED: i32 = 0;
pub(crate) const SUPERSEDED: i32 = 3;
const FAILED: i32 = 4;
/// It waits for somebody outside, and nothing is left to do until then.
pub(crate) const PENDING: i32 = 5;

/// Longer than any test.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(crate) const ANSWER: &str = "all is done";

/// The content of the document of that name.
pub(crate) fn content(name: &str) -> String {
    format!("This is {name}.\n").repeat(1 + name.len() * 2)
}

fn document(name: &str) -> Document {
    Document::from_bytes(content(name), "text/plain").with_file_name(name)
}

/// The document that approves a call.
pub(crate) fn approval(call: &str) -> Document {
    document(&format!("approval-{call}.txt"))
}

/// Runs the agent, from the start or from where it stopped.
pub(crate) fn run(order: &Order) -> i32 {
    let code = drive(order);
    say(&format!("{COUNTED}{}", counted()));
    code
}

fn drive(order: &Order) -> i32 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut run, is_new) = order.kept.drive(agent(order)).await;
        while let Some(event) = run.next().await {
            match event.kind {
                EventKind::ExternalPending { .. } => say(WAITS),
                EventKind::ApprovalRequested(_) | EventKind::CallDeferred(_) if order.is_patient => {
                    say(WAITS)
                }
                EventKind::Finished(result) => {
                    let outcome = result.as_deref().unwrap_or_else(|error| error.partial());
                    return match &outcome.reason {
                        EndReason::Answer => ENDED,
                        EndReason::PendingApproval | EndReason::PendingExternal => PENDING,
                        EndReason::Superseded => SUPERSEDED,
                        // Another process began the run after this one had looked, or has its session.
                        EndReason::InternalError
                            if outcome.steps == 0 && (is_new || is_refused(result.as_deref())) =>
                        {
                            SUPERSEDED
                        }
                        _ => {
                            say(&format!("{:?}", result));
                            FAILED
                        }
                    };
                }
                EventKind::Warning { code, message } => say(&format!("{code}: {message}")),
                _ => {}
            }
        }
        FAILED
    })
}

fn is_refused(result: Result<&Outcome, &RunError>) -> bool {
    result.is_err_and(|error| error.session_error().is_some())
}

/// The steps of the script, in an order that the seed draws.
fn steps(scenario: u64) -> Vec<Turn> {
    let mut random = Random::new(scenario);
    let rounds: [&[&str]; 7] = [
        &["fetch", "fetch"],
        &["pay", "note", "pay"],
        &["delegate", "pay"],
        &["approve", "pay", "fetch"],
        &["pay"],
        &["transfer", "pay", "fetch"],
        &["render", "note", "render"],
    ];
    let mut numbers = 1..;
    let mut steps = rounds
        .map(|tools| {
            let calls = tools.iter().zip(&mut numbers);
            calls.fold(Turn::empty(), |turn, (tool, n)| turn.and_call(tool, json!({ "n": n })))
        })
        .to_vec();
    for last in (1..steps.len()).rev() {
        let other = usize::try_from(random.below(last as u64 + 1)).unwrap();
        steps.swap(last, other);
    }
    steps.push(Turn::text(ANSWER));
    steps
}

fn agent(order: &Order) -> Agent {
    let kept = &order.kept;
    let store: Arc<dyn DocumentStore> =
        Arc::new(WatchedStore(FileDocumentStore::open(kept.documents()).unwrap()));
    let approve = ToolDefinition::new(
        "approve",
        "",
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    );
    tools(builder(kept, steps(order.scenario), "outer", &store), kept)
        .tool(pay("transfer", Approval::Always, kept))
        .tool(render(kept))
        .tool(delegate(kept, &store))
        .patience(if order.is_patient { PATIENCE } else { Duration::ZERO })
        .tool_set(Tools::new().with_external(approve))
        .build()
        .unwrap()
}

fn builder(kept: &Kept, steps: Vec<Turn>, name: &str, store: &Arc<dyn DocumentStore>) -> AgentBuilder {
    let scripted = ScriptedModel::new([]).with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let model = ByStep { steps, scripted, name: name.to_owned(), requests: kept.requests() };
    Agent::builder(model).system("You keep the books.").store(Arc::clone(store))
}

fn tools(builder: AgentBuilder, kept: &Kept) -> AgentBuilder {
    builder.tool(fetch()).tool(note()).tool(pay("pay", Approval::Never, kept))
}

#[derive(serde::Deserialize, JsonSchema)]
struct Number {
    n: i64,
}

fn name(kind: &str, n: i64, context: &ToolContext) -> String {
    format!("{kind}-{n}-{}.txt", context.call_id.as_ref().unwrap())
}

fn fetch() -> impl Tool + 'static {
    tool_fn("fetch", "", |Number { n }: Number, context: ToolContext| async move {
        tokio::task::yield_now().await;
        let pages: Vec<_> = (0..2).map(|page| document(&name(&format!("page{page}"), n, &context))).collect();
        Ok::<_, ToolError>(json!({ "number": n, "pages": pages }))
    })
    .with_effect(Effect::Read)
}

fn note() -> impl Tool + 'static {
    tool_fn("note", "", |Number { n }: Number, context: ToolContext| async move {
        moment("inside a note");
        Ok::<_, ToolError>(document(&name("note", n, &context)))
    })
    .with_effect(Effect::Idempotent)
}

/// Leaves a line outside of everything that a store knows, so that a payment that is made twice is seen.
fn leave_line(path: &Path, context: &ToolContext) -> Result<(), ToolError> {
    let line = format!("{}\n", context.call_id.as_ref().unwrap());
    let mut payments = OpenOptions::new().create(true).append(true).open(path)?;
    payments.write_all(line.as_bytes())?;
    payments.sync_all()?;
    Ok(())
}

fn pay(tool: &'static str, approval: Approval, kept: &Kept) -> impl Tool + 'static {
    let path = kept.payments();
    tool_fn(tool, "", move |Number { n }: Number, context: ToolContext| {
        let path = path.clone();
        async move {
            tokio::task::yield_now().await;
            moment("before a payment");
            leave_line(&path, &context)?;
            moment("after a payment");
            tokio::task::yield_now().await;
            Ok::<_, ToolError>(json!({ "paid": n, "receipt": document(&name("receipt", n, &context)) }))
        }
    })
    .with_effect(Effect::SideEffect)
    .with_approval(approval)
}

/// A tool that begins a job whose result comes from elsewhere.
fn render(kept: &Kept) -> impl Tool + 'static {
    let path = kept.payments();
    tool_fn("render", "", move |Number { n }: Number, context: ToolContext| {
        let path = path.clone();
        async move {
            moment("before a job");
            leave_line(&path, &context)?;
            moment("after a job");
            Ok::<_, ToolError>(Deferred::to(format!("job {n}")))
        }
    })
    .with_effect(Effect::SideEffect)
}

/// A tool that has an agent of its own do the work.
fn delegate(kept: &Kept, store: &Arc<dyn DocumentStore>) -> impl Tool + 'static {
    let (kept, store) = (kept.clone(), Arc::clone(store));
    tool_fn("delegate", "", move |Number { n }: Number, _: ToolContext| {
        let (kept, store) = (kept.clone(), Arc::clone(&store));
        async move {
            let call = |tool: &str| Turn::call(tool, json!({ "n": n * 100 }));
            let steps =
                vec![call("fetch").and_call("pay", json!({ "n": n })), call("pay"), Turn::text(ANSWER)];
            let agent = tools(builder(&kept, steps, "inner", &store), &kept).build()?;
            let outcome = agent.run("Do your part.").outcome().await?;
            Ok::<_, ToolError>(outcome.text)
        }
    })
    .with_effect(Effect::Idempotent)
}

/// A scripted model that goes by the step which it is asked for, so that it is the same in each process.
struct ByStep {
    steps: Vec<Turn>,
    scripted: ScriptedModel,
    name: String,
    requests: PathBuf,
}

impl LlmProvider for ByStep {
    fn model_id(&self) -> &str {
        self.scripted.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.scripted.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.scripted.settings()
    }

    fn set_settings(&self, config: ModelSettings) {
        self.scripted.set_settings(config);
    }

    fn state(&self) -> ProviderState {
        self.scripted.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        moment("before a reply");
        let step =
            request.messages.iter().filter(|message| matches!(&***message, Message::Assistant(_))).count();
        // One line: `Debug` writes ends of lines as signs.
        let asked = alike(&format!("{:?}", request.messages));
        let mut requests = OpenOptions::new().create(true).append(true).open(&self.requests).unwrap();
        requests.write_all(format!("{}-{step} {asked}\n", self.name).as_bytes()).unwrap();
        // A receipt that comes before the end makes a run go on behind its answer: it answers again.
        let turn = self.steps.get(step).or(self.steps.last());
        ScriptedModel::new(turn.cloned()).stream(request)
    }
}

/// A text with a number in place of each id and each time, in the order in which they come: two runs draw others.
fn alike(text: &str) -> String {
    let mut known: Vec<&[u8]> = Vec::new();
    let mut shown = Vec::with_capacity(text.len());
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    for word in text.as_bytes().chunk_by(|one, other| is_part(one) == is_part(other)) {
        if word.len() < 8 || !is_part(&word[0]) {
            shown.extend_from_slice(word);
            continue;
        }
        let number = known.iter().position(|other| *other == word).unwrap_or_else(|| {
            known.push(word);
            known.len() - 1
        });
        shown.extend_from_slice(format!("#{number}").as_bytes());
    }
    String::from_utf8(shown).unwrap()
}
