//! Invariants 6 and 8 as properties: the same reply streamed or whole, cut into any pieces, is the same; a run that is
//! dropped after any event leaves nothing behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_agent::{Agent, NoArguments, tool_fn};
use attache_conformance::{MockProvider, Reply, ReplyUsage, Writes};
use attache_core::{
    ChatRequest, Completion, FinishReason, Message, ModelHandle, ModelSettings, ToolDefinition, ToolError,
    ToolSet,
};
use attache_testkit::{ScriptedModel, Turn};
use attache_tests::{APIS, Api};
use proptest::prelude::*;
use serde_json::{Value, json};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn model(api: Api, mock: &MockProvider) -> ModelHandle {
    api.connected(mock.url(), ModelSettings::new()).unwrap()
}

/// The content of a reply, without ids of ours, which differ each time.
fn said(completion: &Completion) -> Value {
    let calls: Vec<Value> = completion
        .message
        .tool_calls()
        .map(|call| json!([call.provider_id, call.name, call.arguments.object().unwrap_or_default()]))
        .collect();
    let usage = completion.usage.clone().with_raw(None);
    json!({
        "text": completion.message.text(),
        "thinking": completion.message.thinking(),
        "calls": calls,
        "finish": completion.finish_reason,
        "raw": completion.raw_finish_reason,
        "usage": usage,
    })
}

/// The reply that a plan is to become at the caller's, whatever the API.
fn planned(plan: &Plan, api: Api) -> Value {
    let calls = plan
        .calls
        .iter()
        .map(|(first, argument)| json!([if *first { "find" } else { "read" }, { "query": argument }]));
    let (input, output, cached) = plan.usage;
    let thinking = plan.thinking.as_deref().filter(|_| api == Api::Anthropic).unwrap_or_default();
    json!({
        "text": format!("x{}", plan.text),
        "thinking": thinking,
        "calls": calls.collect::<Vec<_>>(),
        "finish": if plan.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls },
        "usage": [input + cached, output, cached],
    })
}

/// The same of a reply.
fn told(completion: &Completion) -> Value {
    let calls = completion.message.tool_calls();
    let calls = calls.map(|call| json!([call.name, call.arguments.object().unwrap_or_default()]));
    let usage = &completion.usage;
    json!({
        "text": completion.message.text(),
        "thinking": completion.message.thinking(),
        "calls": calls.collect::<Vec<_>>(),
        "finish": completion.finish_reason,
        // A count of uncached tokens need not be reported.
        "usage": [usage.input_tokens, usage.output_tokens, Some(usage.cached_tokens.unwrap_or_default())],
    })
}

#[derive(Clone, Debug)]
struct Plan {
    text: String,
    thinking: Option<String>,
    calls: Vec<(bool, String)>,
    usage: (u64, u64, u64),
    seed: u64,
}

fn plan() -> impl Strategy<Value = Plan> {
    let text = "[a-zA-Zäöü🦀\"\\\\\n ]{0,40}";
    let calls = prop::collection::vec((any::<bool>(), text), 0..4);
    let usage = (0_u64..5_000, 0_u64..5_000, 0_u64..100);
    (text, prop::option::of("[a-z ]{1,20}"), calls, usage, any::<u64>())
        .prop_map(|(text, thinking, calls, usage, seed)| Plan { text, thinking, calls, usage, seed })
}

fn reply(plan: &Plan, api: Api) -> Reply {
    let (input, output, cached) = plan.usage;
    let mut reply = Reply::new().usage(ReplyUsage::new(input + cached, output).with_cached(cached));
    // Chat Completions has no signed thinking.
    if let (Some(thinking), Api::Anthropic) = (&plan.thinking, api) {
        reply = reply.signed_thinking(thinking, "c2lnbmF0dXJl");
    }
    // Something must be said.
    reply = reply.text(format!("x{}", plan.text));
    for (at, (first, argument)) in plan.calls.iter().enumerate() {
        let name = if *first { "find" } else { "read" };
        reply = reply.call(format!("call_{at}"), name, json!({ "query": argument }));
    }
    reply
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn streamed_or_whole_is_the_same(plan in plan()) {
        runtime().block_on(async {
            for api in APIS {
                let mock = MockProvider::start().await.unwrap();
                mock.enqueue(reply(&plan, api).writes(Writes::Seeded(plan.seed)));
                mock.enqueue(reply(&plan, api));
                let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
                let tools = ["find", "read"].map(|name| ToolDefinition::new(name, "", schema.clone()));
                let request = ChatRequest::new([Message::user("go").shared()]).with_tools(ToolSet::new(tools).unwrap());
                let model = model(api, &mock);
                let streamed = model.complete(request.clone()).await.unwrap();
                let whole = model.complete(request.streaming(false)).await.unwrap();
                prop_assert_eq!(said(&streamed), said(&whole), "{}", api.name());
                prop_assert_eq!(told(&whole), planned(&plan, api), "{}", api.name());
                prop_assert!(mock.violations().is_empty(), "{:?}", mock.violations());
            }
            Ok(())
        })?;
    }
}

/// Counts how many of it are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_dropped_run_leaves_nothing_behind(rounds in 0_usize..4, width in 1_usize..4, events in 0_usize..40) {
        runtime().block_on(async {
            let alive = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&alive);
            let slow = tool_fn("slow", "", move |_: NoArguments| {
                let guard = Alive::new(&counted);
                async move {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    drop(guard);
                    Ok::<_, ToolError>("done")
                }
            });
            let round = |_| (0..width).fold(Turn::text("so"), |turn, _| turn.and_call("slow", "{}"));
            let turns: Vec<Turn> = (0..rounds).map(round).chain([Turn::text("done")]).collect();
            let agent = Agent::builder(ScriptedModel::new(turns).unverified()).tool(slow).build().unwrap();
            let mut run = agent.run("go");
            let control = run.control();
            for _ in 0..events {
                if run.next().await.is_none() {
                    break;
                }
            }
            drop(run);
            prop_assert_eq!(alive.load(Ordering::SeqCst), 0, "a tool's future outlived its run");
            prop_assert_eq!(control.awaiting().len(), 0);
            Ok(())
        })?;
    }
}
