//! Conversations whose tokens the model's API counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{Agent, Compaction, MemoryJournal, RunInput, TokenWindow};
use attache_core::provider::ProviderState;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, ErrorKind, LlmProvider, Message, ModelCapabilities, ModelSettings,
    ProviderError,
};
use attache_testkit::{ScriptedModel, Turn};

use crate::common::kit::{all, end, holding, warnings};

/// A model whose API counts this many tokens in whatever it is shown.
#[derive(Clone)]
struct Counting {
    model: ScriptedModel,
    tokens: Option<u64>,
    asked: Arc<AtomicUsize>,
}

impl Counting {
    fn new(tokens: impl Into<Option<u64>>) -> Self {
        let model = ScriptedModel::new([Turn::text("done")]).unverified();
        Self { model, tokens: tokens.into(), asked: Arc::default() }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// The number of messages of the only request.
    fn shown(&self) -> usize {
        self.model.requests()[0].messages.len()
    }
}

impl LlmProvider for Counting {
    fn model_id(&self) -> &str {
        self.model.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.model.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.model.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.model.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.model.state()
    }

    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        assert!(!request.messages.is_empty());
        self.asked.fetch_add(1, Ordering::Relaxed);
        let gone = || ProviderError::new(ErrorKind::Network, "the network is away");
        let counted = self.tokens.ok_or_else(gone);
        Some(Box::pin(async move { counted }))
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.model.stream(request)
    }
}

/// Ten turns of about a hundred tokens, and a question.
fn long() -> RunInput {
    let said = |text: &str| format!("{text} {}", "word ".repeat(45));
    let turns = (0..10).flat_map(|_| {
        [Message::user(said("question")).shared(), Message::assistant(said("answer")).shared()]
    });
    RunInput::from("And now?").with_history(turns)
}

fn windowed(model: &Counting) -> Agent {
    let memory = TokenWindow::new(2_000).with_low_mark(1_000).with_exact_counts(true);
    Agent::builder(model.clone()).memory(memory).build().unwrap()
}

// A53: the estimate says a thousand
#[tokio::test]
async fn a_window_goes_by_the_tokens_that_the_api_counts() {
    for (tokens, moves) in [(1_900, false), (2_100, true), (6_000, true)] {
        let model = Counting::new(tokens);
        let events = all(&mut windowed(&model).run(long())).await;
        assert_eq!(end(&events).text, "done");
        assert_eq!((model.asked(), model.shown() < 21), (1, moves), "{tokens}");
        assert_eq!(warnings(&events), Vec::<&str>::new());
    }
    let model = Counting::new(900);
    let compaction = Compaction::new().with_threshold(950).with_exact_counts(true);
    let agent = Agent::builder(model.clone()).memory(compaction).build().unwrap();
    agent.run(long()).outcome().await.unwrap();
    assert_eq!((model.asked(), model.shown()), (1, 21), "the estimate alone is above the threshold");
}

#[tokio::test]
async fn a_count_that_fails_leaves_the_estimate_and_says_so() {
    let model = Counting::new(None);
    let events = all(&mut windowed(&model).run(long())).await;
    assert_eq!((end(&events).text.as_str(), model.shown()), ("done", 21));
    assert_eq!(warnings(&events), ["count_failed"]);
}

#[tokio::test]
async fn a_short_conversation_is_not_counted() {
    let model = Counting::new(5);
    windowed(&model).run("Hello").outcome().await.unwrap();
    assert_eq!(model.asked(), 0);
}

// Invariant 13: whoever resumes goes by the same number, or the same failure.
#[tokio::test]
async fn a_counted_run_cut_at_any_entry_goes_on_as_uncut() {
    for tokens in [Some(6_000), None] {
        let (journal, model) = (Arc::new(MemoryJournal::new()), Counting::new(tokens));
        windowed(&model).run_in(journal.clone(), long()).outcome().await.unwrap();
        let (entries, first) = (journal.entries(), model.model.requests());
        let counted = entries.iter().position(|entry| entry.key.as_str() == "counted").unwrap();
        for cut in counted + 1..entries.len() {
            let kept = entries[..cut].to_vec();
            let replied = kept.iter().any(|entry| entry.key.as_str().starts_with("model/"));
            // Another number would decide something else.
            let model = Counting::new(1);
            windowed(&model).resume(holding(kept)).outcome().await.unwrap();
            assert_eq!(model.asked(), 0);
            let again = model.model.requests();
            assert_eq!(again.len(), usize::from(!replied));
            for (again, first) in again.iter().zip(&first) {
                assert_eq!(again.messages, first.messages, "cut before {}", entries[cut].key);
            }
        }
    }
}
