//! The agent that is killed: tools with documents, effects, a call for somebody outside, an agent inside a tool.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_agent::{Agent, AgentBuilder, EndReason, EventKind, Tools, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    ChatRequest, ChunkStream, Document, DocumentStore, Effect, LlmProvider, Message, ModelCapabilities,
    ModelSettings, ProviderState, Tool, ToolContext, ToolDefinition, ToolError,
};
use attache_stores::{FileDocumentStore, FileJournal};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

use crate::random::Random;
use crate::stop::{Order, WAITS, moment, say};
use crate::watched::{WatchedJournal, WatchedStore};

/// The exit codes of the process.
pub(crate) const ENDED: i32 = 0;
pub(crate) const SUPERSEDED: i32 = 3;
const FAILED: i32 = 4;

pub(crate) const ANSWER: &str = "all is done";

/// Where everything is.
pub(crate) struct Files(PathBuf);

impl Files {
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("run.jsonl")
    }

    pub(crate) fn documents(&self) -> PathBuf {
        self.0.join("documents")
    }

    /// A line for each payment that was made, with the id of its call.
    pub(crate) fn payments(&self) -> PathBuf {
        self.0.join("payments")
    }

    /// A line for each request, with its step and a sum of it.
    pub(crate) fn requests(&self) -> PathBuf {
        self.0.join("requests")
    }
}

/// The content of the document of that name.
pub(crate) fn content(name: &str) -> String {
    format!("This is {name}.\n").repeat(1 + name.len() * 20)
}

fn document(name: &str) -> Document {
    Document::from_bytes(content(name), "text/plain").with_file_name(name)
}

/// The document that approves a call.
pub(crate) fn approval(call: &str) -> Document {
    document(&format!("approval-{call}.txt"))
}

/// Runs the agent over the files, from the start or from where it stopped.
pub(crate) fn run(order: &Order) -> i32 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let files = Arc::new(Files::new(&order.folder));
        let agent = agent(&files, order.scenario);
        let journal = Arc::new(WatchedJournal(FileJournal::open(files.log()).unwrap()));
        let is_new = attache_agent::Journal::load(&*journal).await.unwrap().is_empty();
        let mut run = if is_new { agent.run_in(journal, "Go on.") } else { agent.resume(journal) };
        while let Some(event) = run.next().await {
            match event.kind {
                EventKind::ExternalPending { .. } => say(WAITS),
                EventKind::Finished(result) => {
                    let outcome = result.as_deref().unwrap_or_else(|error| error.partial());
                    return match &outcome.reason {
                        EndReason::Answer => ENDED,
                        EndReason::Superseded => SUPERSEDED,
                        // Another process began the run after this one had looked.
                        EndReason::InternalError if is_new && outcome.steps == 0 => SUPERSEDED,
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

/// The steps of the script, in an order that the seed draws.
fn steps(scenario: u64) -> Vec<Turn> {
    let mut random = Random::new(scenario);
    let rounds: [&[&str]; 5] = [
        &["fetch", "fetch"],
        &["pay", "note", "pay"],
        &["delegate", "pay"],
        &["approve", "pay", "fetch"],
        &["pay"],
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

fn agent(files: &Arc<Files>, scenario: u64) -> Agent {
    let store: Arc<dyn DocumentStore> =
        Arc::new(WatchedStore(FileDocumentStore::open(files.documents()).unwrap()));
    let approve = ToolDefinition::new(
        "approve",
        "",
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    );
    tools(builder(files, steps(scenario), "outer", &store), files)
        .tool(delegate(files, &store))
        .tool_set(Tools::new().with_external(approve))
        .build()
        .unwrap()
}

fn builder(files: &Arc<Files>, steps: Vec<Turn>, name: &str, store: &Arc<dyn DocumentStore>) -> AgentBuilder {
    let scripted = ScriptedModel::new([]).with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let model = ByStep { steps, scripted, name: name.to_owned(), requests: files.requests() };
    Agent::builder(model).system("You keep the books.").store(Arc::clone(store))
}

fn tools(builder: AgentBuilder, files: &Arc<Files>) -> AgentBuilder {
    builder.tool(fetch()).tool(note()).tool(pay(files))
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

fn pay(files: &Arc<Files>) -> impl Tool + 'static {
    let path = files.payments();
    tool_fn("pay", "", move |Number { n }: Number, context: ToolContext| {
        let path = path.clone();
        async move {
            tokio::task::yield_now().await;
            moment("before a payment");
            let line = format!("{}\n", context.call_id.as_ref().unwrap());
            let mut payments = OpenOptions::new().create(true).append(true).open(path)?;
            payments.write_all(line.as_bytes())?;
            payments.sync_all()?;
            moment("after a payment");
            tokio::task::yield_now().await;
            Ok::<_, ToolError>(json!({ "paid": n, "receipt": document(&name("receipt", n, &context)) }))
        }
    })
    .with_effect(Effect::SideEffect)
}

/// A tool that has an agent of its own do the work.
fn delegate(files: &Arc<Files>, store: &Arc<dyn DocumentStore>) -> impl Tool + 'static {
    let (files, store) = (Arc::clone(files), Arc::clone(store));
    tool_fn("delegate", "", move |Number { n }: Number, _: ToolContext| {
        let (files, store) = (Arc::clone(&files), Arc::clone(&store));
        async move {
            let call = |tool: &str| Turn::call(tool, json!({ "n": n * 100 }));
            let steps =
                vec![call("fetch").and_call("pay", json!({ "n": n })), call("pay"), Turn::text(ANSWER)];
            let agent = tools(builder(&files, steps, "inner", &store), &files).build()?;
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
        let sum = crc32fast::hash(format!("{:?}", request.messages).as_bytes());
        let mut requests = OpenOptions::new().create(true).append(true).open(&self.requests).unwrap();
        requests.write_all(format!("{}-{step} {sum:08x}\n", self.name).as_bytes()).unwrap();
        // A receipt that comes before the end makes a run go on behind its answer: it answers again.
        let turn = self.steps.get(step).or(self.steps.last());
        ScriptedModel::new(turn.cloned()).stream(request)
    }
}
