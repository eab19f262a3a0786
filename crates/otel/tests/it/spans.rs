//! The tree of spans.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, AgentBuilder, MemoryJournal, MemorySessions, RunInput, Sessions, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    Approval, Arguments, AssistantMessage, Document, Effect, Effort, ErrorKind, ModelHandle, ModelSettings,
    Reasoning, Tool, ToolCall, ToolError, Usage,
};
use attache_otel::{Content, ConversationId, Telemetry};
use attache_testkit::{ScriptedModel, Turn};
use opentelemetry::Context;
use opentelemetry::trace::{FutureExt, SpanKind, TraceContextExt, Tracer, TracerProvider};
use serde_json::json;

use crate::kit::{Recorder, attribute, attributes, text};

#[derive(serde::Deserialize, JsonSchema)]
struct Number {
    n: u64,
}

fn call(name: &str, n: u64) -> Turn {
    Turn::call(name, json!({"n": n}))
}

fn look() -> impl Tool + 'static {
    tool_fn("look", "Looks something up", |Number { n }: Number| async move {
        tokio::task::yield_now().await;
        Ok::<_, ToolError>(n)
    })
    .with_effect(Effect::Read)
}

fn agent(telemetry: Telemetry, turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    Agent::builder(ScriptedModel::new(turns).unverified()).observer(telemetry)
}

// S24
#[tokio::test]
async fn a_run_has_a_span_with_those_of_its_requests_and_tools_below_streamed_or_whole() {
    for streaming in [true, false] {
        let recorder = Recorder::new();
        let usage =
            Usage::new(100, 20).with_cached_tokens(60).with_cache_write_tokens(7).with_reasoning_tokens(5);
        let turns = [call("look", 1).costing(usage), Turn::text("1")];
        let telemetry = recorder.telemetry.agent("books").with_agent_id("a1").with_agent_version("3");
        let settings = ModelSettings::new()
            .with_temperature(0.5)
            .with_max_tokens(200)
            .with_stop(vec!["END".to_owned()])
            .with_seed(7)
            .with_reasoning(Reasoning::Effort(Effort::High));
        let agent =
            agent(telemetry, turns).streaming(streaming).settings(settings).tool(look()).build().unwrap();
        let input = RunInput::from("go").with_run_id("r1").with_context(ConversationId::new("c1"));
        agent.run(input).outcome().await.unwrap();
        assert_eq!(
            recorder.tree(),
            ["invoke_agent books", "  chat model", "  execute_tool look", "  chat model"]
        );
        let run = recorder.span("invoke_agent books");
        assert_eq!(run.span_kind, SpanKind::Internal);
        let expected = [
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.provider.name", "scripted"),
            ("gen_ai.request.model", "model"),
            ("gen_ai.agent.name", "books"),
            ("gen_ai.agent.id", "a1"),
            ("gen_ai.agent.version", "3"),
            ("gen_ai.conversation.id", "c1"),
            ("gen_ai.usage.input_tokens", "110"),
            ("gen_ai.usage.output_tokens", "25"),
            ("gen_ai.response.finish_reasons", r#"["stop"]"#),
            ("attache.run.id", "r1"),
            ("attache.run.end_reason", "answer"),
            ("attache.run.steps", "2"),
            ("attache.run.tool_calls", "1"),
        ];
        for (name, value) in expected {
            assert_eq!(text(&run, name), value, "{name}");
        }
        let chat = recorder.spans().into_iter().find(|span| span.name == "chat model").unwrap();
        assert_eq!(chat.span_kind, SpanKind::Client);
        let expected = [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "scripted"),
            ("gen_ai.request.model", "model"),
            ("gen_ai.conversation.id", "c1"),
            ("gen_ai.request.temperature", "0.5"),
            ("gen_ai.request.max_tokens", "200"),
            ("gen_ai.request.seed", "7"),
            ("gen_ai.request.reasoning.level", "high"),
            ("gen_ai.request.stop_sequences", r#"["END"]"#),
            ("gen_ai.response.finish_reasons", r#"["tool_calls"]"#),
            ("gen_ai.usage.input_tokens", "100"),
            ("gen_ai.usage.output_tokens", "20"),
            ("gen_ai.usage.cache_read.input_tokens", "60"),
            ("gen_ai.usage.cache_write.input_tokens", "7"),
            ("gen_ai.usage.reasoning.output_tokens", "5"),
            ("attache.step", "1"),
        ];
        for (name, value) in expected {
            assert_eq!(text(&chat, name), value, "{name}");
        }
        // Those that are there when the reply streams.
        assert_eq!(text(&chat, "gen_ai.request.stream"), if streaming { "true" } else { "" });
        let first = attribute(&chat, "gen_ai.response.time_to_first_chunk");
        assert_eq!(first.is_some(), streaming);
        // Old names are not told.
        assert!(!attributes(&chat).contains(&"gen_ai.system"));
        let tool = recorder.span("execute_tool look");
        assert_eq!(tool.span_kind, SpanKind::Internal);
        let expected = [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "look"),
            ("gen_ai.tool.description", "Looks something up"),
            ("gen_ai.tool.type", "function"),
            ("gen_ai.agent.name", "books"),
            ("attache.tool.disposition", "executed"),
        ];
        for (name, value) in expected {
            assert_eq!(text(&tool, name), value, "{name}");
        }
        assert!(!text(&tool, "gen_ai.tool.call.id").is_empty());
    }
}

// S24
#[tokio::test]
async fn spans_of_a_tool_stand_below_it_although_others_run_beside_it() {
    let recorder = Recorder::new();
    let tracer = recorder.tracers.tracer("users");
    let works = |name: &'static str, blocking: bool| {
        let tracer = tracer.clone();
        tool_fn(name, "", move |Number { n }: Number| {
            let tracer = tracer.clone();
            async move {
                // Others are polled in between.
                for _ in 0..n {
                    tokio::task::yield_now().await;
                }
                let span = tracer.start(format!("query of {name}"));
                let inside = Context::current_with_span(span);
                async {
                    tokio::task::yield_now().await;
                    tracer.in_span(format!("row of {name}"), |_| ());
                }
                .with_context(inside)
                .await;
                Ok::<_, ToolError>(n)
            }
        })
        .with_effect(Effect::Read)
        .with_spec(move |spec| spec.with_blocking(blocking))
    };
    let turns = [
        call("one", 3).and_call("two", json!({"n": 1})).and_call("three", json!({"n": 2})),
        Turn::text("done"),
    ];
    let agent = agent(recorder.telemetry.clone(), turns)
        .tool(works("one", false))
        .tool(works("two", false))
        .tool(works("three", true))
        .build()
        .unwrap();
    agent.run("go").outcome().await.unwrap();
    assert!(!Context::current().has_active_span());
    let mut tree = recorder.tree();
    assert_eq!(tree.remove(0), "invoke_agent");
    assert_eq!(tree.remove(0), "  chat model");
    assert_eq!(tree.pop().unwrap(), "  chat model");
    let mut tools: Vec<_> = tree.chunks(3).map(<[String]>::to_vec).collect();
    tools.sort();
    let of = |name: &str| {
        vec![format!("  execute_tool {name}"), format!("    query of {name}"), format!("      row of {name}")]
    };
    assert_eq!(tools, ["one", "three", "two"].map(of));
}

// S24
#[tokio::test]
async fn spans_of_the_tracing_crate_stand_below_the_tool_that_makes_them() {
    use tracing_subscriber::layer::SubscriberExt as _;

    let recorder = Recorder::new();
    let layer = tracing_opentelemetry::layer().with_tracer(recorder.tracers.tracer("users"));
    let subscriber = tracing_subscriber::registry().with(layer);
    let _default = tracing::subscriber::set_default(subscriber);
    let query = tool_fn("query", "", |Number { n }: Number| async move {
        tokio::task::yield_now().await;
        tracing::info_span!("sql").in_scope(|| ());
        Ok::<_, ToolError>(n)
    });
    let agent =
        agent(recorder.telemetry.clone(), [call("query", 1), Turn::text("1")]).tool(query).build().unwrap();
    let request = tracing::info_span!("request");
    tracing::Instrument::instrument(agent.run("go").outcome(), request).await.unwrap();
    assert_eq!(
        recorder.tree(),
        [
            "request",
            "  invoke_agent",
            "    chat model",
            "    execute_tool query",
            "      sql",
            "    chat model"
        ]
    );
}

// S24
#[tokio::test]
async fn an_agent_inside_a_tool_stands_below_the_tool() {
    let recorder = Recorder::new();
    let inner = agent(recorder.telemetry.agent("research"), [call("look", 1), Turn::text("4")]);
    // It has no telemetry of its own, and is observed by that of the run around it.
    let plain = Agent::builder(ScriptedModel::new([Turn::text("5")]).unverified()).build().unwrap();
    let ask = |name: &str| Turn::call(name, json!({"task": "how many?"}));
    let agent = agent(recorder.telemetry.agent("lead"), [ask("research"), ask("plain"), Turn::text("4")])
        .tool(inner.tool(look()).build().unwrap().as_tool("research", ""))
        .tool(plain.as_tool("plain", ""))
        .build()
        .unwrap();
    agent.run("go").outcome().await.unwrap();
    assert_eq!(
        recorder.tree(),
        [
            "invoke_agent lead",
            "  chat model",
            "  execute_tool research",
            "    invoke_agent research",
            "      chat model",
            "      execute_tool look",
            "      chat model",
            "  chat model",
            "  execute_tool plain",
            "    invoke_agent lead",
            "      chat model",
            "  chat model",
        ]
    );
}

// S24
#[tokio::test]
async fn a_run_stands_below_the_span_in_which_it_was_asked_for_wherever_it_is_polled() {
    let recorder = Recorder::new();
    let tracer = recorder.tracers.tracer("users");
    let agent = agent(recorder.telemetry.clone(), [Turn::text("1"), Turn::text("2")]).build().unwrap();
    let here = Context::current_with_span(tracer.start("asked"));
    let run = {
        let _entered = here.clone().attach();
        agent.run("go")
    };
    tokio::spawn(run.outcome()).await.unwrap().unwrap();
    drop(here);
    // Nothing was current when this one was asked for.
    let run = agent.run("go");
    let there = Context::current_with_span(tracer.start("polled"));
    tokio::spawn(run.outcome().with_context(there)).await.unwrap().unwrap();
    let expected =
        ["asked", "  invoke_agent", "    chat model", "polled", "  invoke_agent", "    chat model"];
    assert_eq!(recorder.tree(), expected);
}

// S24
#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_or_dropped_ends_its_spans_as_cancelled() {
    let hang = || {
        tool_fn("look", "", |_: Number| async {
            std::future::pending::<()>().await;
            Ok::<_, ToolError>(0)
        })
    };
    for drops in [true, false] {
        let recorder = Recorder::new();
        let turns = [call("look", 1)];
        let agent = agent(recorder.telemetry.clone(), turns).tool(hang()).build().unwrap();
        let mut run = agent.run("go");
        while tokio::time::timeout(Duration::from_millis(1), run.next()).await.is_ok() {}
        if !drops {
            run.control().cancel();
            run.outcome().await.unwrap();
        } else {
            drop(run);
        }
        assert_eq!(
            recorder.tree(),
            ["invoke_agent !cancelled", "  chat model", "  execute_tool look !cancelled"]
        );
    }
    let recorder = Recorder::new();
    let agent = agent(recorder.telemetry.clone(), [Turn::text("so far").then_hang()]).build().unwrap();
    let mut run = agent.run("go");
    while tokio::time::timeout(Duration::from_millis(1), run.next()).await.is_ok() {}
    drop(run);
    assert_eq!(recorder.tree(), ["invoke_agent !cancelled", "  chat model !cancelled"]);
    // A run that nobody polls has no span.
    drop(agent.run("go"));
    assert_eq!(recorder.spans().len(), 2);
}

// S24
#[tokio::test(start_paused = true)]
async fn failures_are_told_by_kind_on_the_spans_that_failed() {
    let recorder = Recorder::new();
    let failing = agent(recorder.telemetry.clone(), [Turn::empty().then_error(ErrorKind::Overloaded)]);
    assert!(failing.build().unwrap().run("go").outcome().await.is_err());
    assert_eq!(recorder.tree(), ["invoke_agent !overloaded", "  chat model !overloaded"]);

    let recorder = Recorder::new();
    let fails = tool_fn("fails", "", |_: Number| async { Err::<u64, _>(ToolError::new("no such row")) });
    let panics = tool_fn("panics", "", |_: Number| async {
        assert!(tokio::runtime::Handle::try_current().is_err(), "a bug in a tool");
        Ok::<_, ToolError>(1)
    });
    let slow = tool_fn("slow", "", |_: Number| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>(1)
    })
    .with_effect(Effect::Read);
    let turns = [
        call("fails", 1).and_call("panics", json!({"n": 1})).and_call("slow", json!({"n": 1})),
        Turn::call("fails", json!({"n": "one"})).and_call("nobody", json!({})),
        Turn::text("sorry"),
    ];
    let agent = agent(recorder.telemetry.clone(), turns).tool(fails).tool(panics).tool(slow).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    let tree = recorder.tree();
    assert_eq!(
        tree,
        [
            "invoke_agent",
            "  chat model",
            "  execute_tool fails !tool_error",
            "  execute_tool panics !panicked",
            "  execute_tool slow !timeout",
            "  chat model",
            "  chat model",
        ]
    );
    // Calls that were not run are events of the run.
    let run = recorder.span("invoke_agent");
    let not_run: Vec<_> = run
        .events
        .iter()
        .filter(|event| event.name == "attache.tool.not_run")
        .map(|event| event.attributes.iter().map(|known| known.value.to_string()).collect::<Vec<_>>())
        .map(|values| (values[0].clone(), values[2].clone()))
        .collect();
    // A name that the model made up is content.
    let expected = [("fails", "refused"), ("_OTHER", "no_such_tool")];
    assert_eq!(not_run, expected.map(|(tool, word)| (tool.to_owned(), word.to_owned())));
}

// S24
#[tokio::test]
async fn a_pause_ends_the_span_and_a_run_that_goes_on_has_one_that_is_linked_to_the_first() {
    let recorder = Recorder::new();
    let pay = || {
        tool_fn("pay", "", |Number { n }: Number| async move { Ok::<_, ToolError>(n) })
            .with_approval(Approval::Always)
    };
    let build = |turns: Vec<Turn>| agent(recorder.telemetry.clone(), turns).tool(pay()).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let asking = build(vec![call("pay", 1), call("pay", 2)]);
    let paused = asking.run_in(journal.clone(), "go").outcome().await.unwrap();
    // Another process may resume it: all that it knows is the log.
    let again = asking.resume(journal.clone()).approve(&paused.approvals[0].id).outcome().await.unwrap();
    let done = build(vec![Turn::text("paid")]);
    done.resume(journal).approve(&again.approvals[0].id).outcome().await.unwrap();
    assert_eq!(
        recorder.tree(),
        [
            "invoke_agent",
            "  chat model",
            "invoke_agent",
            "  execute_tool pay",
            "  chat model",
            "invoke_agent",
            "  execute_tool pay",
            "  chat model",
        ]
    );
    let spans = recorder.spans();
    let runs: Vec<_> = spans.iter().filter(|span| span.name == "invoke_agent").collect();
    let reasons: Vec<_> = runs.iter().map(|run| text(run, "attache.run.end_reason")).collect();
    assert_eq!(reasons, ["pending_approval", "pending_approval", "answer"]);
    let first = runs[0].span_context.span_id();
    assert!(runs[0].links.is_empty());
    for later in &runs[1..] {
        let links: Vec<_> = later.links.iter().map(|link| link.span_context.span_id()).collect();
        assert_eq!(links, [first]);
        assert_eq!(text(later, "attache.run.resumed"), "true");
    }
}

// S24
#[tokio::test]
async fn spans_say_what_became_of_documents() {
    let recorder = Recorder::new();
    let files = tool_fn("files", "", |_: Number| async {
        let pdf = Document::from_bytes("%PDF-1.4\n", "application/pdf").with_file_name("a.pdf");
        let odd = Document::from_bytes(vec![0_u8, 1, 2], "application/x-odd");
        Ok::<_, ToolError>(vec![pdf, odd])
    });
    let model = ScriptedModel::new([call("files", 1), Turn::text("read")]);
    let model = ModelHandle::from(model.with_capabilities_of("anthropic", "claude-sonnet-4-5"));
    let agent = Agent::builder(model).observer(recorder.telemetry.clone()).tool(files).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    let chats: Vec<_> = recorder.spans().into_iter().filter(|span| span.name.starts_with("chat")).collect();
    let counts = |span| {
        let all = attributes(span).into_iter().filter(|name| name.starts_with("attache.documents."));
        all.map(|name| format!("{name} {}", text(span, name))).collect::<Vec<_>>()
    };
    assert!(counts(&chats[0]).is_empty());
    let expected = ["attache.documents.native 1", "attache.documents.note 1"];
    assert_eq!(counts(&chats[1]), expected);
    assert_eq!(counts(&recorder.span("invoke_agent")), expected);
    assert_eq!(text(&recorder.span("execute_tool files"), "attache.tool.documents"), "2");
}

// S24: names are content where the model made them up
#[tokio::test]
async fn the_name_of_a_tool_that_there_is_not_is_told_only_with_content() {
    for with_content in [false, true] {
        let recorder = Recorder::new();
        let telemetry = match with_content {
            false => recorder.telemetry.clone(),
            true => recorder.telemetry.clone().with_content(Content::new()),
        };
        let turns = [Turn::call("canary_4711", json!({})), Turn::text("sorry")];
        agent(telemetry, turns).tool(look()).build().unwrap().run("go").outcome().await.unwrap();
        let told = format!("{:?}", recorder.spans());
        assert_eq!(told.contains("canary"), with_content, "{told}");
        assert_eq!(told.contains("_OTHER"), !with_content);
    }
}

#[tokio::test]
async fn a_run_of_a_session_names_it_and_a_tool_what_it_asks_a_server() {
    let recorder = Recorder::new();
    let telemetry = recorder.telemetry.clone();
    let asks = telemetry.clone();
    let tool = tool_fn("look", "Looks something up", move |Number { n }: Number| {
        let pairs = asks.mcp_request("tools/call", Some("2026-07-28"), None);
        // The program of the test has no propagator.
        assert!(pairs.is_empty());
        async move { Ok::<_, ToolError>(n) }
    });
    let agent = agent(telemetry, [call("look", 1), Turn::text("done")]).tool(tool).build().unwrap();
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
    let session = sessions.open("ann", Some("s-7")).await.unwrap();
    session.run("go").outcome().await.unwrap();
    let run = recorder.spans().into_iter().find(|span| span.name.starts_with("invoke_agent")).unwrap();
    assert_eq!(text(&run, "gen_ai.conversation.id"), "s-7");
    let tool = recorder.span("execute_tool look");
    assert_eq!(text(&tool, "mcp.method.name"), "tools/call");
    assert_eq!(text(&tool, "mcp.protocol.version"), "2026-07-28");
    assert_eq!(attribute(&tool, "mcp.session.id"), None);
}

// S24: calls by hand
#[tokio::test]
async fn a_tool_that_is_called_by_hand_has_its_span_below_the_current_one_and_its_duration() {
    let recorder = Recorder::new();
    let fails = tool_fn("fails", "", |_: Number| async { Err::<u64, _>(ToolError::new("no such row")) });
    let agent = agent(recorder.telemetry.agent("books"), []).tool(look()).tool(fails).build().unwrap();
    let manager = agent.tool_manager().await.unwrap();
    let reply = AssistantMessage::new(
        ["look", "fails", "nobody"].map(|name| ToolCall::new(name, Arguments::new(r#"{"n": 1}"#)).into()),
    );
    let tracer = recorder.tracers.tracer("test");
    let context = Context::current_with_span(tracer.start("request"));
    manager.answer(reply).with_context(context.clone()).await;
    context.span().end();
    assert_eq!(recorder.tree(), ["request", "  execute_tool look", "  execute_tool fails !tool_error"]);
    let span = recorder.span("execute_tool look");
    assert_eq!(text(&span, "attache.tool.disposition"), "executed");
    assert!(attribute(&span, "attache.step").is_none());
    assert!(!format!("{span:?}").contains("\"n\""), "content is off");
    let points = recorder.points();
    let tools = points.iter().filter(|point| point.name == "gen_ai.execute_tool.duration");
    assert_eq!(tools.map(|point| point.count).sum::<u64>(), 2);
}
