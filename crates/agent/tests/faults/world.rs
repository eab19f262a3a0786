//! A world in which runs can be repeated: a model that answers by what it reads, tools that write down what they did.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use attache_agent::{
    Agent, AgentBuilder, AgentRun, Ask, Compaction, Disclosure, Draft, HookContext, HookError, MessageWindow,
    ObservedRun, Observer, OpenedRun, OutputMode, OutputSpec, Proposal, RunHook, RunObserver, Tools, Verdict,
    tool_fn,
};
use attache_core::capability::Matrix;
use attache_core::converter::{ConvertedText, ConverterError};
use attache_core::provider::ProviderState;
use attache_core::tool::Deferred;
use attache_core::{
    Approval, Arguments, AssistantMessage, AssistantPart, BoxFuture, ChatRequest, ChunkStream, Completion,
    ContentTree, Converter, Document, DocumentId, Effect, ErrorKind, FinishReason, LlmProvider, MediaType,
    Message, ModelCapabilities, ModelSettings, ProviderError, StreamChunk, Tool, ToolCall, ToolCallId,
    ToolContext, ToolDefinition, ToolError, ToolResult, Usage, UserMessage,
};
use attache_tools::ReadDocument;
use bytes::Bytes;
use serde_json::json;

use crate::journal::FaultyStore;

/// Numbers from a seed (SplitMix64), so that a failure can be made again.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }
}

/// Looks on, and marks the run in its log.
struct Marking;

impl Observer for Marking {
    fn run(&self, _: &ObservedRun<'_>) -> Arc<dyn RunObserver> {
        Arc::new(Self)
    }
}

impl RunObserver for Marking {
    fn mark(&self) -> Option<String> {
        Some("a mark".to_owned())
    }

    fn opened(&self, run: &OpenedRun<'_>) {
        assert_eq!(run.mark, Some("a mark"));
    }
}

/// The tools that a script may call.
pub(crate) const TOOLS: [&str; 10] = [
    "reads",
    "repeats",
    "pays",
    "mails",
    "asks",
    "delegates",
    "approved",
    "deferred",
    "transfers",
    "reads_inside",
];

/// The tool that takes the answer of a run that is asked for a value.
const ANSWER: &str = "final_answer";

/// Rounds of tools, by their place in [`TOOLS`]; behind the last the model answers.
pub(crate) type Script = Vec<Vec<usize>>;

/// The effects in the world, whoever drove the run.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) script: Script,
    /// How often each effect happened, by its call.
    pub(crate) effects: Mutex<BTreeMap<String, usize>>,
    /// The requests of each step, with the numbers of messages that had come in until then.
    pub(crate) requests: Mutex<HashMap<(usize, usize), Vec<String>>>,
    pub(crate) store: Arc<FaultyStore>,
    /// Counts the turns of scheduling, so that tools finish in an order that the seed decides.
    pub(crate) slow: usize,
    /// True if the outer run has a window that moves.
    pub(crate) narrow: bool,
    /// True if the outer run is summarised, or its results are cleared.
    pub(crate) compacts: bool,
    /// True if most tools of the outer run are shown when they are asked for.
    pub(crate) layered: bool,
    /// True if the agent inside is a tool itself; a closure runs it otherwise.
    pub(crate) nests: bool,
    /// True if hooks look at the outer run and add remarks.
    pub(crate) hooked: bool,
    /// True if the agent that takes over is given the conversation by a choice.
    pub(crate) chooses: bool,
    /// True if the outer run is asked for a value: the model gives one that does not fit, then one that does.
    pub(crate) typed: bool,
    /// True if hooks look at the outer run, somebody must approve what the caller is asked, and a reply waits as a whole.
    pub(crate) guarded: bool,
}

/// A hook that changes what the caller answers.
struct Guard;

impl RunHook for Guard {
    fn after_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        if call.name == "asks" && !result.is_error() {
            result.tree = ContentTree::text(&format!("checked: {}", result.tree.model_text()));
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The beginning of an image, as far as it is text: a model takes it behind the results, not in them.
const PNG: &str = "\u{89}PNG\r\n\u{1a}\n\0\0\0\rIHDR\0\0\0\u{10}\0\0\0\u{10}\u{8}\u{2}\0\0\0";

/// A document whose id and content follow from the call that made it.
fn document(call: &str, media: &str, text: &str) -> Document {
    let hash = call.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let id = format!("{hash:016x}-0000-4000-8000-000000000000");
    // Each character is one byte.
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
    Document::from_bytes(bytes, media)
        .with_file_name(format!("{call}.bin"))
        .with_id(DocumentId::parse(id).unwrap())
}

/// The model: it takes the next step of the script by the steps that it reads.
pub(crate) struct Scripted {
    world: Arc<World>,
    script: Script,
    name: &'static str,
    capabilities: Arc<ModelCapabilities>,
}

impl LlmProvider for Scripted {
    fn model_id(&self) -> &str {
        "openai-chat/gpt-4o"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::default()
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        ProviderState::default()
    }

    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        let count = u64::try_from(request.messages.len()).unwrap();
        Some(Box::pin(async move {
            tokio::task::yield_now().await;
            match count % 5 {
                0 => Err(ProviderError::new(ErrorKind::Network, "the network is away")),
                _ => Ok(count * 60),
            }
        }))
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        if matches!(&*request.messages[0], Message::System(system) if system.parts[0].text().starts_with("You keep the record"))
        {
            let message = AssistantMessage::new([AssistantPart::text("It went on.")]);
            let done = Completion::new(message, FinishReason::Stop, Usage::new(1, 1));
            return Box::pin(async_stream::stream! {
                tokio::task::yield_now().await;
                yield Ok(StreamChunk::Done(Box::new(done)));
            });
        }
        let said = request.messages.iter().rev().find_map(|message| match &**message {
            Message::Assistant(reply) => {
                reply.text().strip_prefix("step ").map(|n| n.parse::<usize>().unwrap())
            }
            _ => None,
        });
        let began = request.messages.iter().any(|message| format!("{message:?}").contains("text: \"go\""));
        // The window may have moved behind all steps: then the script is over.
        let step = said.map_or(if began || self.name == "inner" { 0 } else { 1_000 }, |step| step + 1);
        let heard = request.messages.iter().filter(|message| is_heard(message)).count();
        let told: Vec<String> = request.messages.iter().map(|message| sent(message)).collect();
        let tools: Vec<&str> = request.tools.iter().map(|(wire, _)| wire).collect();
        let told = format!("{} {:?} {tools:?}", told.join("\n"), request.tool_choice);
        if self.name == "outer" {
            self.world.requests.lock().unwrap().entry((step, heard)).or_default().push(told);
        }
        let mut parts = vec![AssistantPart::text(format!("step {step}"))];
        if let Some(round) = self.script.get(step) {
            for (place, tool) in round.iter().enumerate() {
                let name = TOOLS[*tool];
                let id = ToolCallId::parse(format!("{}_{step}_{place}", self.name)).unwrap();
                let arguments = match name {
                    // The document inside the mail of the first call of all.
                    "reads_inside" => {
                        json!({"id": document("outer_0_0", "", "").id().inside(1).as_str()})
                    }
                    "delegates" if self.world.nests => json!({"task": "pay it"}),
                    _ => json!({}),
                };
                // The two agents have a tool each that leads to the other.
                let name = match name {
                    "reads_inside" => "read_document",
                    "transfers" if request.tools.get("transfer_to_second").is_some() => "transfer_to_second",
                    "transfers" => "transfer_to_first",
                    "delegates" if self.world.nests => "agent",
                    name => name,
                };
                parts.push(ToolCall::new(name, Arguments::new(arguments.to_string())).with_id(id).into());
            }
        }
        if step >= self.script.len() && request.tools.get(ANSWER).is_some() {
            let id = ToolCallId::parse(format!("{}_{step}_answer", self.name)).unwrap();
            let n = if step == self.script.len() { json!("none") } else { json!(7) };
            parts.push(ToolCall::new(ANSWER, Arguments::new(json!({"n": n}).to_string())).with_id(id).into());
        }
        let message = AssistantMessage::new(parts);
        let reason = FinishReason::Stop.for_message(message.has_tool_calls());
        let done = StreamChunk::Done(Box::new(Completion::new(message, reason, Usage::new(1, 1))));
        Box::pin(async_stream::stream! {
            tokio::task::yield_now().await;
            yield Ok(done);
        })
    }
}

/// A message as it is sent: whether a handle still holds the bytes of a document makes no difference there.
fn sent(message: &Message) -> String {
    let text = format!("{message:?}");
    let mut pieces = text.split("source: ");
    let mut sent = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        sent.push_str(piece.split_once(" }").map_or(piece, |(_, rest)| rest));
    }
    sent
}

/// True if a message came in from outside during the run.
pub(crate) fn is_heard(message: &Message) -> bool {
    matches!(message, Message::User(_)) && format!("{message:?}").contains("heard ")
}

/// Mails with one document inside.
struct Mails;

impl Converter for Mails {
    fn converts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "message/rfc822"
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let inner = Document::from_bytes(format!("inside {text}"), "text/plain").with_file_name("inner.txt");
        Box::pin(std::future::ready(Ok(ConvertedText::new(text).with_attachment(inner))))
    }
}

/// Adds a remark at every second step.
struct Remarks;

impl RunHook for Remarks {
    fn before_model<'a>(
        &'a self,
        draft: &'a mut Draft<'_>,
        context: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        if context.steps % 2 == 1 {
            let remark = format!("remark {}", context.steps);
            draft.append(UserMessage::new([attache_core::UserPart::text(remark)]));
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

impl World {
    /// The agent of one process: two that hand the conversation over to one another.
    pub(crate) fn agent(self: &Arc<Self>) -> Agent {
        let second = self.one(MessageWindow::default()).system("You are the second.").build().unwrap();
        let handoff = second.as_handoff("second", "").with_return("first", "");
        let handoff = if self.chooses { handoff.with_history(<[_]>::to_vec) } else { handoff };
        let window =
            if self.narrow { MessageWindow::new(7).with_low_mark(4) } else { MessageWindow::default() };
        let memory =
            Compaction::new().with_threshold(400).with_recent(200).with_ceiling(300).with_exact_counts(true);
        let first = self.one(window).system("You are tested.").handoff(handoff);
        let first = first.citations(true).observer(Marking);
        let first = if self.compacts { first.memory(memory) } else { first };
        let first = if self.hooked { first.hook(Remarks) } else { first };
        first.store(self.store.clone()).max_result_chars(120).build().unwrap()
    }

    fn one(self: &Arc<Self>, window: MessageWindow) -> AgentBuilder {
        let asks = ToolDefinition::new("asks", "", json!({"type": "object", "properties": {}}));
        let inner = self.inner();
        let nested = inner.as_tool("agent", "").with_documents(false);
        let delegates = tool_fn("delegates", "", move |_: attache_agent::NoArguments| {
            let run = inner.run("pay it");
            async move {
                run.outcome()
                    .await
                    .map(|outcome| outcome.text)
                    .map_err(|error| ToolError::new(error.to_string()))
            }
        })
        .with_effect(Effect::Idempotent);
        let policy = |proposal: &Proposal<'_>| match proposal.call.name.as_str() {
            "asks" => Verdict::Ask(Ask::default()),
            _ => Verdict::Run,
        };
        let builder =
            Agent::builder(attache_core::ModelHandle::new(self.model("outer", self.script.clone())));
        let builder = if self.guarded { builder.hook(Guard).approval_policy(policy) } else { builder };
        builder
            .hold_all(self.guarded)
            .tool(self.tool("reads", Effect::Read))
            .tool(self.tool("repeats", Effect::Idempotent))
            .tool(self.tool("pays", Effect::SideEffect))
            .tool(self.tool("mails", Effect::Read).with_metadata(|metadata| metadata.always_visible = true))
            .tool(
                self.tool("approved", Effect::SideEffect)
                    .with_metadata(|metadata| metadata.approval = Approval::Always),
            )
            .tool(self.deferred())
            .tool(delegates)
            .tool(nested)
            .tool_set(Tools::new().with_external(asks))
            .converter(Mails)
            .tool(ReadDocument::new().with_metadata(|metadata| metadata.always_visible = true))
            .window(window)
            .disclosure(self.layered.then(|| Disclosure::default().with_max_tools(0)))
    }

    /// The run, asked for a value if the world is so.
    pub(crate) fn asked(&self, run: AgentRun) -> AgentRun {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        match self.typed {
            true => run.with_output(OutputSpec::new(schema).with_mode(OutputMode::Tool)),
            false => run,
        }
    }

    /// The agent inside a tool: it pays twice.
    fn inner(self: &Arc<Self>) -> Agent {
        let model = self.model("inner", vec![vec![2], vec![0, 2]]);
        Agent::builder(attache_core::ModelHandle::new(model))
            .tool(self.tool("reads", Effect::Read))
            .tool(self.tool("pays", Effect::SideEffect))
            .build()
            .unwrap()
    }

    fn model(self: &Arc<Self>, name: &'static str, script: Script) -> Scripted {
        let capabilities = Arc::new(Matrix::bundled().resolve("openai-chat", "gpt-4o"));
        Scripted { world: Arc::clone(self), script, name, capabilities }
    }

    /// A tool that starts a job; the harness delivers its result.
    fn deferred(self: &Arc<Self>) -> impl Tool + 'static {
        let world = Arc::clone(self);
        tool_fn("deferred", "", move |_: attache_agent::NoArguments, context: ToolContext| {
            let job = context.call_id.as_ref().unwrap().to_string();
            *world.effects.lock().unwrap().entry(format!("r/{job}")).or_default() += 1;
            async move {
                tokio::task::yield_now().await;
                Ok::<_, ToolError>(Deferred::to(job))
            }
        })
    }

    fn tool(self: &Arc<Self>, name: &'static str, effect: Effect) -> impl Tool + 'static {
        let world = Arc::clone(self);
        let body = move |_: attache_agent::NoArguments, context: ToolContext| {
            let world = Arc::clone(&world);
            async move {
                let call = context.call_id.as_ref().unwrap().to_string();
                let run = context.run_id.clone().unwrap();
                let turns = call.bytes().map(usize::from).sum::<usize>() % (world.slow + 1);
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                if effect == Effect::SideEffect {
                    *world.effects.lock().unwrap().entry(format!("{run}/{call}")).or_default() += 1;
                    tokio::task::yield_now().await;
                }
                let made = match name {
                    "mails" => document(&call, "message/rfc822", &format!("mail of {call}")),
                    "reads" => document(&call, "image/png", &format!("{PNG}{call}")),
                    _ => document(&call, "text/plain", &format!("{name} for {call} ").repeat(6)),
                };
                Ok::<_, ToolError>(json!({"did": name, "document": made, "long": "x".repeat(turns * 40)}))
            }
        };
        tool_fn(name, "", body).with_effect(effect)
    }
}

/// A message from outside, with a document.
pub(crate) fn heard(number: usize) -> UserMessage {
    let text = attache_core::UserPart::text(format!("heard {number}"));
    let document = document(&format!("heard{number}"), "text/plain", &format!("attached to {number}"));
    UserMessage::new([text, document.into()])
}
