//! attache in the benchmarks against peers.
//!
//! `attache-contestant SUBCOMMAND --base-url http://127.0.0.1:PORT …` does one workload against the scripted mock
//! provider and prints one JSON line.

mod measure;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use attache_agent::{Agent, AgentRun, EventKind, RunInput, tool_fn};
use attache_anthropic::Anthropic;
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    ChatRequest, Document, Effect, Message, ModelHandle, StreamChunk, ToolError, UserMessage, UserPart,
};
use attache_openai::{OpenAi, OpenAiChat};
use measure::{Args, PROMPT, SYSTEM, Section, pdf, record};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(serde::Deserialize, JsonSchema)]
struct Lookup {
    /// The text to look up
    query: String,
}

fn main() -> ExitCode {
    let done = Args::parse().map_err(Failure::from).and_then(|args| {
        let mut builder = match args.text("rt", "multi").as_str() {
            "current" => tokio::runtime::Builder::new_current_thread(),
            _ => tokio::runtime::Builder::new_multi_thread(),
        };
        let runtime = builder.enable_all().build()?;
        runtime.block_on(async { tokio::spawn(run(args)).await? })
    });
    match done {
        Ok(line) => {
            print(&line);
            ExitCode::SUCCESS
        }
        Err(error) => {
            print(&format!("attache-contestant: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the result line is the program's output")]
fn print(line: &str) {
    println!("{line}");
}

async fn run(args: Args) -> Result<String, Failure> {
    match args.command.as_str() {
        "stream" => stream(&args).await,
        "loop" => repeat(&args).await,
        "fanout" => fanout(&args).await,
        "docs" => documents(&args).await,
        "cold" => {
            let section = Section::start();
            let calls = Arc::default();
            finish(agent(&args, &calls)?.run(PROMPT)).await?;
            Ok(section.line(&args, calls.load(Ordering::Relaxed), &[]))
        }
        other => Err(format!("there is no workload {other:?}").into()),
    }
}

fn model(args: &Args) -> Result<ModelHandle, Failure> {
    Ok(match args.api().as_str() {
        "chat" => OpenAiChat::new("gpt-4o-mini", "sk-mock")?.with_base_url(args.url()).into(),
        "responses" => OpenAi::new("gpt-4o-mini", "sk-mock")?.with_base_url(args.url()).into(),
        "anthropic" => Anthropic::new("claude-sonnet-4-5", "sk-mock")?.with_base_url(args.url()).into(),
        other => return Err(format!("there is no API {other:?} yet").into()),
    })
}

/// The agent of the workloads: one tool, the whole history at each step.
fn agent(args: &Args, calls: &Arc<AtomicU64>) -> Result<Agent, Failure> {
    let steps = u32::try_from(args.steps())?.saturating_add(2);
    let (calls, answer) =
        (Arc::clone(calls), Arc::new(record(usize::try_from(args.number("tool-bytes", 1024))?)));
    let lookup = tool_fn(
        "lookup",
        "Finds the record of a query in the store and returns it as text.",
        move |Lookup { query }: Lookup| {
            let found = if query.is_empty() { String::new() } else { String::clone(&answer) };
            calls.fetch_add(1, Ordering::Relaxed);
            async move { Ok::<_, ToolError>(found) }
        },
    )
    .with_effect(Effect::Read)
    .with_spec(|spec| spec.with_max_calls(steps));
    Ok(Agent::builder(model(args)?)
        .system(SYSTEM)
        .tool(lookup)
        .max_steps(steps)
        .max_tool_calls(steps)
        .window(None)
        .streaming(args.stream())
        .build()?)
}

/// Reads all events of a run, as a caller who shows them does.
async fn finish(mut run: AgentRun) -> Result<usize, Failure> {
    let mut text = 0;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Content(piece) => text += piece.len(),
            EventKind::Finished(result) => {
                let outcome = result?;
                return if outcome.text.is_empty() { Err("the run gave no text".into()) } else { Ok(text) };
            }
            _ => {}
        }
    }
    Err("the run ended without an end".into())
}

async fn stream(args: &Args) -> Result<String, Failure> {
    let model = model(args)?;
    let section = Section::start();
    let mut chunks = model.stream(ChatRequest::new([Message::user(PROMPT).shared()]));
    let (mut count, mut text) = (0, String::new());
    while let Some(chunk) = std::future::poll_fn(|context| chunks.as_mut().poll_next(context)).await {
        if let StreamChunk::Content(piece) = chunk? {
            count += 1;
            text.push_str(&piece);
        }
    }
    Ok(section.line(args, count, &[("text_bytes", u64::try_from(text.len())?)]))
}

async fn repeat(args: &Args) -> Result<String, Failure> {
    let calls = Arc::default();
    let agent = agent(args, &calls)?;
    finish(agent.run(PROMPT)).await?;
    calls.store(0, Ordering::Relaxed);
    let section = Section::start();
    for _ in 0..args.number("repeat", 5) {
        finish(agent.run(PROMPT)).await?;
    }
    Ok(section.line(args, calls.load(Ordering::Relaxed), &[]))
}

async fn fanout(args: &Args) -> Result<String, Failure> {
    let (runs, calls) = (args.number("runs", 2_000), Arc::default());
    let agent = agent(args, &calls)?;
    let section = Section::start();
    let under_way: Vec<_> = (0..runs).map(|_| tokio::spawn(finish(agent.run(PROMPT)))).collect();
    for run in under_way {
        run.await??;
    }
    Ok(section.line(args, calls.load(Ordering::Relaxed), &[("runs", runs)]))
}

async fn documents(args: &Args) -> Result<String, Failure> {
    let bytes = usize::try_from(args.number("doc-bytes", 1 << 20))?;
    let files: Vec<Vec<u8>> = (1..=args.number("docs", 20)).map(|seed| pdf(bytes, seed)).collect();
    let calls = Arc::default();
    let agent = agent(args, &calls)?;
    let section = Section::start();
    let documents = files.into_iter().enumerate().map(|(at, file)| {
        Document::from_bytes(file, "application/pdf").with_file_name(format!("d{at}.pdf")).into()
    });
    let message = UserMessage::new(documents.chain([UserPart::text(PROMPT)]));
    finish(agent.run(RunInput::from(message))).await?;
    Ok(section.line(args, calls.load(Ordering::Relaxed), &[]))
}
