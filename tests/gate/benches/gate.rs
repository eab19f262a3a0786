//! The costs of everyday work, in instructions (callgrind) and allocations (DHAT): `cargo xtask bench --gate` holds it to
//! the budgets beside it.

#![allow(missing_docs, reason = "the harness's macros define the entry points")]
#![allow(clippy::unwrap_used, reason = "a bench whose input is broken has no result")]

use std::hint::black_box;
use std::sync::Arc;

use attache_agent::AgentRun;
use attache_core::{ChatRequest, Message, ModelSettings, ToolSet};
use attache_documents::{Materials, RouteOptions, Routing, route};
use attache_gate::{
    Api, Served, Stream, Waiting, Whole, agent, documents, started, started_about_document,
    started_behind_window, tools,
};
use attache_openai::ChatCodec;
use attache_transport::{Ask, Codec, EncodedRequest};
use gungraun::{Dhat, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use tokio::runtime::Runtime;

// One step of an agent behind a conversation of so many messages.
#[library_benchmark]
#[bench::of_10(started(10))]
#[bench::of_400(started(400))]
fn step((runtime, mut run): (Runtime, AgentRun)) -> (Runtime, AgentRun) {
    runtime.block_on(attache_gate::step(&mut run));
    (runtime, run)
}

// The same where a question about a document stands before them, so that the step is routed.
#[library_benchmark]
#[bench::of_10(started_about_document(10))]
#[bench::of_400(started_about_document(400))]
fn routed_step((runtime, mut run): (Runtime, AgentRun)) -> (Runtime, AgentRun) {
    runtime.block_on(attache_gate::step(&mut run));
    (runtime, run)
}

// The same where the model sees the newest forty messages with thirty documents: older ones cost nothing.
#[library_benchmark]
#[bench::behind_60(started_behind_window(60))]
#[bench::behind_1260(started_behind_window(1_260))]
fn windowed_step((runtime, mut run): (Runtime, AgentRun)) -> (Runtime, AgentRun) {
    runtime.block_on(attache_gate::step(&mut run));
    (runtime, run)
}

// A hundred deltas of a word, each in a network chunk of its own.
#[library_benchmark]
#[bench::chat(Stream::begun(Api::Chat))]
#[bench::responses(Stream::begun(Api::Responses))]
#[bench::messages(Stream::begun(Api::Messages))]
#[bench::gemini(Stream::begun(Api::Gemini))]
#[bench::converse(Stream::begun(Api::Converse))]
fn deltas(mut stream: Stream) -> Stream {
    assert_eq!(black_box(stream.take(100)), 100);
    stream
}

type Asked = (Box<dyn Codec>, ChatRequest, ModelSettings);

// A request over ten messages, rendered for the first time.
#[library_benchmark]
#[bench::chat(Api::Chat.request(10))]
#[bench::responses(Api::Responses.request(10))]
#[bench::messages(Api::Messages.request(10))]
#[bench::gemini(Api::Gemini.request(10))]
#[bench::converse(Api::Converse.request(10))]
fn request((codec, request, config): Asked) -> (Asked, EncodedRequest) {
    let encoded = codec.encode(Ask::new(&request, &config, None)).unwrap();
    ((codec, request, config), encoded)
}

// A question about a hundred documents, which the model takes as they are.
#[library_benchmark]
#[bench::of_100((ChatCodec::from("gpt-4o-mini"), documents(100), tools()))]
fn routing((codec, messages, tools): (ChatCodec, Vec<Arc<Message>>, Arc<ToolSet>)) -> Routing {
    route(&messages, codec.capabilities(), &tools, &Materials::new(), &RouteOptions::default()).unwrap()
}

// An agent with one tool is built, asks its model once, and ends.
#[library_benchmark]
#[bench::one_answer(tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap())]
fn start(runtime: Runtime) -> Runtime {
    let agent = agent(0);
    let outcome = runtime.block_on(agent.run("Go on.").outcome()).unwrap();
    assert_eq!(black_box(outcome).text, "All is found.");
    runtime
}

// The future of a run, which waits for its first poll: its bytes are what matters.
#[library_benchmark]
#[bench::unpolled(agent(0))]
fn run(agent: attache_agent::Agent) -> AgentRun {
    agent.run("Go on.")
}

// Twenty runs that wait for their fourth replies, over connections: the most bytes at once are what matters.
#[library_benchmark]
#[bench::by_20(Waiting::begun())]
fn held(waiting: Waiting) -> (Waiting, Vec<AgentRun>) {
    waiting.hold(20)
}

// A hundred deltas of a word through the server, from the model to the body of Chat Completions: each
// is read before the next one is said, or all are said at once.
#[library_benchmark]
#[bench::one_by_one(Served::begun())]
fn served(mut served: Served) -> Served {
    served.one_by_one(100);
    served
}

#[library_benchmark]
#[bench::at_once(Served::begun())]
fn served_burst(mut served: Served) -> (Served, usize) {
    let pieces = served.at_once(100);
    (served, pieces)
}

// An answer of 200 words through the server, which the client takes whole: without a session, and in one of its own in
// memory.
#[library_benchmark]
#[bench::alone(Whole::alone())]
#[bench::in_session(Whole::in_session())]
fn served_whole(mut whole: Whole) -> Whole {
    assert_eq!(black_box(whole.answer()), 200);
    whole
}

// An allocation behind a hundred callers, as deep as those of a step stand in futures. A gate that is blind to it is
// blind to most of what it gates.
#[library_benchmark]
#[bench::hundred(100)]
fn callers(count: usize) -> Vec<u8> {
    deep(count)
}

#[inline(never)]
fn deep(callers: usize) -> Vec<u8> {
    if callers == 0 {
        return Vec::with_capacity(black_box(1_000));
    }
    let mut made = deep(black_box(callers - 1));
    made.push(0);
    made
}

library_benchmark_group!(
    name = costs,
    benchmarks = [
        step,
        routed_step,
        windowed_step,
        deltas,
        request,
        routing,
        start,
        run,
        held,
        served,
        served_burst,
        served_whole,
        callers
    ]
);
// Allocations count for the function that stands among their callers, however far it is: see `callers`.
main!(
    config = LibraryBenchmarkConfig::default().tool(Dhat::with_args(["--num-callers=500"])),
    library_benchmark_groups = costs
);
