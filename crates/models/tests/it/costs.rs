//! The cost of calls in which several models used tokens: each is priced as the model that used it.

use std::sync::Arc;

use attache_agent::{Agent, Compaction, Cost, Money, Price, Prices, RunInput};
use attache_core::provider::ProviderState;
use attache_core::{
    ChatRequest, ChunkStream, ErrorKind, LlmProvider, Message, ModelCapabilities, ModelHandle, ModelSettings,
    Usage,
};
use attache_models::{Fallback, Retry, TextTools, layered};
use attache_testkit::{ScriptedModel, Turn};
use attache_transport::RetryPolicy;

/// A model under a name of its own.
struct Named(&'static str, ModelHandle);

impl LlmProvider for Named {
    fn model_id(&self) -> &str {
        self.0
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.1.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.1.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.1.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.1.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.1.stream(request)
    }
}

fn named(name: &'static str, turns: impl IntoIterator<Item = Turn>) -> ModelHandle {
    ModelHandle::new(Named(name, ScriptedModel::new(turns).unverified().into()))
}

/// A million tokens are read.
fn million(turn: Turn) -> Turn {
    turn.costing(Usage::new(1_000_000, 0))
}

fn lost() -> Turn {
    million(Turn::empty().then_error(ErrorKind::Overloaded))
}

fn said() -> Turn {
    million(Turn::text("Final Answer: there"))
}

/// A million tokens of `cheap/a` cost 1, those of `dear/b` 10, and those of `free/c` nobody knows.
fn prices() -> Prices {
    let price = |units: f64| Price::new(units, units);
    Prices::new("USD").with_model("cheap/a", price(1.0)).with_model("dear/b", price(10.0))
}

fn switching(first: Turn, name: &'static str, second: Turn) -> ModelHandle {
    layered(named("cheap/a", [first]), Fallback::new([named(name, [second])]))
}

/// The cost of a run, also of one that failed: what is known of it, and how many steps are not.
async fn cost(model: ModelHandle) -> (f64, u32) {
    let agent = Agent::builder(model).prices(prices()).build().unwrap();
    let told = |cost: Cost| (cost.known.units(), cost.unknown_steps);
    match agent.run("go").outcome().await {
        Ok(outcome) => told(outcome.cost),
        Err(error) => told(error.partial().cost),
    }
}

// R27
#[tokio::test(start_paused = true)]
async fn tokens_are_priced_as_the_model_that_used_them() {
    assert_eq!(cost(switching(lost(), "dear/b", said())).await, (11.0, 0));
    // The second model is asked although nobody counted the first one's tokens.
    let uncounted = Turn::empty().then_error(ErrorKind::Overloaded);
    assert_eq!(cost(switching(uncounted.clone(), "dear/b", said())).await, (10.0, 0));
    // It broke off before its provider named what it had said.
    let mut half = Usage::default();
    half.input_tokens = Some(1_000_000);
    let half = Turn::empty().costing(half).then_error(ErrorKind::Overloaded);
    assert_eq!(cost(switching(half, "dear/b", said())).await, (11.0, 0));
    // Both failed, or the second one in its middle.
    assert_eq!(cost(switching(lost(), "dear/b", lost())).await, (11.0, 0));
    let broken = million(Turn::text("so far").then_error(ErrorKind::Network));
    assert_eq!(cost(switching(lost(), "dear/b", broken)).await, (11.0, 0));
    assert_eq!(cost(switching(uncounted, "dear/b", lost())).await, (10.0, 0));
    // The first one answered.
    assert_eq!(cost(switching(said(), "dear/b", said())).await, (1.0, 0));
    // A fallback inside of a fallback.
    let inner = layered(named("dear/b", [lost()]), Fallback::new([named("dear/b", [said()])]));
    assert_eq!(cost(layered(named("cheap/a", [lost()]), Fallback::new([inner]))).await, (21.0, 0));
}

// R27
#[tokio::test]
async fn a_cost_of_which_the_part_of_one_model_is_unknown_is_incomplete() {
    assert_eq!(cost(switching(lost(), "free/c", said())).await, (0.0, 1));
    assert_eq!(cost(switching(lost(), "dear/b", said().costing(Usage::default()))).await, (0.0, 1));
    let unpriced = layered(named("free/c", [lost()]), Fallback::new([named("dear/b", [said()])]));
    assert_eq!(cost(unpriced).await, (0.0, 1));
}

// R27: Retry, and hints of TextTools, around a fallback
#[tokio::test(start_paused = true)]
async fn layers_around_a_fallback_keep_whose_tokens_they_add() {
    let switching = |first: [Turn; 2], second: Vec<Turn>| {
        layered(named("cheap/a", first), Fallback::new([named("dear/b", second)]))
    };
    let retry = || Retry::new(RetryPolicy::new());
    // 1 + 10 in vain, then 1.
    assert_eq!(cost(layered(switching([lost(), said()], vec![lost()]), retry())).await, (12.0, 0));
    // 1 + 10 in vain, then 1 + 10.
    assert_eq!(cost(layered(switching([lost(), lost()], vec![lost(), said()]), retry())).await, (22.0, 0));
    // A retry of one model has its price, as before.
    assert_eq!(cost(layered(named("dear/b", [lost(), said()]), retry())).await, (20.0, 0));
    // A reply without meaning of the second model, and the answer of the first one after the hint.
    let tool = attache_agent::tool_fn("look", "Looks", || Ok(()));
    let text =
        layered(switching([lost(), said()], vec![million(Turn::text("Hm."))]), TextTools::new().always());
    let agent = Agent::builder(text).tool(tool).prices(prices()).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.cost.known, outcome.cost.unknown_steps), (Money::new(12.0), 0));
    assert_eq!(outcome.usage.input_tokens, Some(3_000_000));
}

// R27
#[tokio::test]
async fn a_summary_is_priced_as_the_models_that_wrote_it() {
    let writer = switching(lost(), "dear/b", million(Turn::text("They met.")));
    let memory =
        Compaction::new().with_model(writer).with_threshold(2_000).with_recent(400).with_ceiling(1_500);
    let model = named("cheap/a", [said()]);
    let agent = Agent::builder(model).prices(prices()).memory(memory).build().unwrap();
    let words = "word ".repeat(300);
    let history = (0..8).flat_map(|_| [Message::user("old").shared(), Message::assistant(&*words).shared()]);
    let outcome = agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap();
    assert_eq!((outcome.cost.known, outcome.cost.unknown_steps), (Money::new(12.0), 0));
}
