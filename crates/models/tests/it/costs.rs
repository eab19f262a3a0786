//! The cost of calls in which several models used tokens: each is priced as the model that used it.

use std::sync::Arc;

use attache_agent::{Agent, Compaction, Cost, EndReason, Money, Price, Prices, RunInput};
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
    cost_by(prices(), model).await
}

async fn cost_by(prices: Prices, model: ModelHandle) -> (f64, u32) {
    let agent = Agent::builder(model).prices(prices).build().unwrap();
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
async fn prices_may_name_models_without_their_providers() {
    let price = |units: f64| Price::new(units, units);
    let bare = || Prices::new("USD").with_model("a", price(1.0)).with_model("b", price(10.0));
    assert_eq!(cost_by(bare(), switching(lost(), "dear/b", said())).await, (11.0, 0));
    assert_eq!(cost_by(bare(), switching(lost(), "dear/b", lost())).await, (11.0, 0));
    assert_eq!(cost_by(bare(), switching(said(), "dear/b", said())).await, (1.0, 0));
    // The price of a provider counts before that of its model everywhere.
    let own = bare().with_model("dear/b", price(20.0));
    assert_eq!(cost_by(own, switching(lost(), "dear/b", said())).await, (21.0, 0));
    assert_eq!(cost_by(bare(), switching(lost(), "free/c", said())).await, (0.0, 1));
}

// P22, R27: both models answer a request that is too long with its tokens, and then the shorter one.
#[tokio::test]
async fn the_parts_of_a_request_that_was_too_long_are_those_of_the_error_behind_it() {
    let failing = |kind| million(Turn::empty().then_error(kind));
    let first = [failing(ErrorKind::NotFound), failing(ErrorKind::NotFound)];
    let second = [failing(ErrorKind::ContextTooLong), failing(ErrorKind::Network)];
    let model = layered(named("cheap/a", first), Fallback::new([named("dear/b", second)]));
    let agent = Agent::builder(model).prices(prices()).build().unwrap();
    let history = (0..8).flat_map(|at| {
        [Message::user(format!("old {at}")).shared(), Message::assistant("word ".repeat(2_000)).shared()]
    });
    let failed = agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap_err();
    let error = failed.provider_error().unwrap();
    let mut parts: Vec<_> = error.usage_by_model().iter().map(|part| &*part.model).collect();
    parts.sort_unstable();
    assert_eq!(parts, ["cheap/a", "cheap/a", "dear/b", "dear/b"]);
    let of_parts = error.usage_by_model().iter().filter_map(|part| part.usage.input_tokens).sum();
    assert_eq!(error.usage().unwrap().input_tokens, Some(of_parts));
    assert_eq!((failed.partial().cost.known, failed.partial().cost.unknown_steps), (Money::new(22.0), 0));
}

// R27: a reply of at most a million tokens costs 1, or 10 where the second model gives it, and the last one is as long.
#[tokio::test]
async fn a_limit_of_cost_holds_whichever_model_answers() {
    let written = || Turn::text("there").costing(Usage::new(0, 1_000_000));
    let unpaid = || Turn::empty().then_error(ErrorKind::Overloaded);
    let limited = |prices: Prices, limit: f64| {
        let model = layered(named("cheap/a", [unpaid()]), Fallback::new([named("dear/b", [written()])]));
        let settings = ModelSettings::new().with_max_tokens(1_000_000_u32);
        Agent::builder(model).settings(settings).prices(prices).max_cost(limit).build().unwrap()
    };
    let outcome = limited(prices(), 5.0).run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.cost.known), (EndReason::CostLimit, Money::ZERO));
    let outcome = limited(prices(), 31.0).run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.cost.known), (EndReason::Answer, Money::new(10.0)));
    // A limit is none for a model whose price nobody knows.
    let first = Prices::new("USD").with_model("cheap/a", Price::new(1.0, 1.0));
    let failed = limited(first.clone(), 31.0).run("go").outcome().await.unwrap_err();
    assert!(failed.provider_error().unwrap().message().contains("dear/b"), "{failed:?}");
    let allowed = first.with_unknown_allowed(true);
    assert!(limited(allowed, 31.0).run("go").outcome().await.is_ok());
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
