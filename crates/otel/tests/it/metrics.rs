//! Metrics.

use attache_agent::{Agent, tool_fn};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{Effect, ErrorKind, ToolError, Usage};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

use crate::kit::{Point, Recorder};

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

async fn run(recorder: &Recorder, turns: impl IntoIterator<Item = Turn>, streaming: bool) {
    let look = tool_fn("look", "", |_: Nothing| async { Ok::<_, ToolError>(1) }).with_effect(Effect::Read);
    let agent = Agent::builder(ScriptedModel::new(turns).unverified())
        .observer(recorder.telemetry.agent("books"))
        .streaming(streaming)
        .tool(look)
        .build()
        .unwrap();
    let _ = agent.run("go").outcome().await;
}

fn named<'p>(points: &'p [Point], name: &str) -> Vec<&'p Point> {
    points.iter().filter(|point| point.name == name).collect()
}

// S24
#[tokio::test]
async fn tokens_and_durations_are_recorded_by_operation_and_model() {
    let recorder = Recorder::new();
    let turns = [
        Turn::call("look", json!({})).costing(Usage::new(100, 20)),
        Turn::text("one").costing(Usage::new(50, 7)),
    ];
    run(&recorder, turns, true).await;
    let points = recorder.points();
    let tokens = named(&points, "gen_ai.client.token.usage");
    let model = ["gen_ai.operation.name=chat", "gen_ai.provider.name=scripted", "gen_ai.request.model=model"];
    for (kind, sum) in [("input", 150.0), ("output", 27.0)] {
        let kind = format!("gen_ai.token.type={kind}");
        let of: Vec<_> = tokens.iter().filter(|point| point.attributes.contains(&kind)).collect();
        assert_eq!((of.len(), of[0].count, of[0].sum, &*of[0].unit), (1, 2, sum, "{token}"));
        assert!(model.iter().all(|known| of[0].attributes.iter().any(|other| other == known)));
        assert_eq!(of[0].bounds.len(), 14);
    }
    let agent = "gen_ai.agent.name=books";
    for (name, count, bounds, attributes) in [
        ("gen_ai.client.operation.duration", 2, 14, vec![model[0], model[1], model[2]]),
        (
            "gen_ai.execute_tool.duration",
            1,
            14,
            vec![agent, "gen_ai.tool.name=look", "gen_ai.tool.type=function"],
        ),
        ("gen_ai.invoke_agent.duration", 1, 13, vec![agent, model[2]]),
    ] {
        let [point] = named(&points, name)[..] else { panic!("{name}: {points:?}") };
        assert_eq!((point.count, &*point.unit, point.bounds.len()), (count, "s", bounds), "{name}");
        assert!(
            attributes.iter().all(|known| point.attributes.iter().any(|other| other == known)),
            "{point:?}"
        );
    }
    // Nothing that is different in each call tells metrics apart.
    for point in &points {
        assert!(!point.attributes.iter().any(|known| known.contains("call.id") || known.contains("run.id")));
    }
}

// S24
#[tokio::test]
async fn the_time_of_chunks_is_recorded_where_replies_stream() {
    for streaming in [true, false] {
        let recorder = Recorder::new();
        // It comes in two pieces.
        run(&recorder, [Turn::text("seen")], streaming).await;
        let points = recorder.points();
        let count = |name: &str| named(&points, name).iter().map(|point| point.count).sum::<u64>();
        let chunks = (
            count("gen_ai.client.operation.time_to_first_chunk"),
            count("gen_ai.client.operation.time_per_output_chunk"),
        );
        assert_eq!(chunks, if streaming { (1, 1) } else { (0, 0) });
    }
}

// S24
#[tokio::test]
async fn usage_that_nobody_knows_is_not_recorded() {
    let recorder = Recorder::new();
    run(&recorder, [Turn::text("one").costing(Usage::default())], true).await;
    assert!(named(&recorder.points(), "gen_ai.client.token.usage").is_empty());
    let recorder = Recorder::new();
    run(&recorder, [Turn::text("one").costing(Usage::new(None, 0))], true).await;
    let points = recorder.points();
    let tokens = named(&points, "gen_ai.client.token.usage");
    assert_eq!(tokens.len(), 1);
    assert!(tokens[0].attributes.contains(&"gen_ai.token.type=output".to_owned()));
}

// S24
#[tokio::test]
async fn durations_of_failures_have_the_error() {
    let recorder = Recorder::new();
    run(&recorder, [Turn::empty().then_error(ErrorKind::RateLimited)], true).await;
    let points = recorder.points();
    for name in ["gen_ai.client.operation.duration", "gen_ai.invoke_agent.duration"] {
        let [point] = named(&points, name)[..] else { panic!("{name}: {points:?}") };
        assert!(point.attributes.contains(&"error.type=rate_limited".to_owned()));
    }
}
