//! The tokens of replies that failed, on each API: they are paid for all the same.

use std::time::Duration;

use attache_conformance::{MockProvider, Reply, ReplyUsage};
use attache_core::{ChatRequest, Message, ModelHandle};
use attache_models::{HttpSettings, Registry};
use attache_transport::{Environment, RetryPolicy};

/// Models of each API, where it begins, and a reply that its provider counts and that fails before anything of it was shown.
fn apis() -> [(&'static str, &'static str, Reply); 5] {
    let counted = || Reply::new().usage(ReplyUsage::new(50_000, 7));
    [
        ("openai/gpt-4o", "/v1", counted().failed("server_error", "sorry")),
        ("openai-chat/gpt-4o", "/v1", counted().finish("malformed_function_call")),
        (CLAUDE, "", counted().text("lost").error_event(1, "overloaded_error", "sorry")),
        (GEMINI, "", counted().finish("MALFORMED_FUNCTION_CALL")),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", counted().finish("malformed_tool_use")),
    ]
}

const CLAUDE: &str = "anthropic/claude-sonnet-4-5";
const GEMINI: &str = "gemini/gemini-2.5-flash";

fn request(whole: bool) -> ChatRequest {
    ChatRequest::new([Message::user("Hello").shared()]).streaming(!whole)
}

fn region(name: &str) -> Option<String> {
    (name == "AWS_REGION").then(|| "us-east-1".to_owned())
}

/// A model that asks three times at once.
async fn model(name: &str, path: &str) -> (MockProvider, ModelHandle) {
    let mock = MockProvider::start().await.unwrap();
    let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
    let registry = Registry::bundled().with_environment(Environment::new(region));
    let registry = registry.with_base_url(format!("{}{path}", mock.url()));
    let model = registry.with_http(HttpSettings::new().with_retry(retry).with_auth("key")).model(name);
    (mock, model.unwrap())
}

// P22
#[tokio::test]
async fn tokens_of_attempts_that_failed_are_counted() {
    for (name, path, failing) in apis() {
        // A whole message of Anthropic does not fail behind its counts.
        let forms: &[bool] = if name == CLAUDE { &[false] } else { &[false, true] };
        for whole in forms {
            let context = format!("{name} whole {whole}");
            let (mock, model) = model(name, path).await;
            let answer = Reply::new().text("there").usage(ReplyUsage::new(60_000, 5));
            for reply in [failing.clone(), failing.clone(), answer] {
                mock.enqueue(reply);
            }
            let done = model.complete(request(*whole)).await.unwrap();
            assert_eq!(done.usage.input_tokens, Some(160_000), "{context}");
            let answered = done.answered.unwrap();
            assert_eq!((answered.input_tokens, answered.output_tokens), (Some(60_000), Some(5)), "{context}");
            let state = model.state();
            assert_eq!((state.requests, state.turns, state.failures), (1, 1, 0), "{context}");
            assert_eq!(state.usage, done.usage, "{context}");

            for _ in 0..3 {
                mock.enqueue(failing.clone());
            }
            let error = model.complete(request(*whole)).await.unwrap_err();
            assert_eq!(error.usage().unwrap().input_tokens, Some(150_000), "{context}: {error:?}");
            assert_eq!(model.state().usage.input_tokens, Some(310_000), "{context}");
        }
    }
}

// P03
#[tokio::test]
async fn a_reply_that_breaks_off_costs_what_its_provider_has_counted() {
    // The others count at the end.
    for (name, word) in [(CLAUDE, "overloaded_error"), (GEMINI, "UNAVAILABLE")] {
        let (mock, model) = model(name, "").await;
        let counted = Reply::new().usage(ReplyUsage::new(100_000, 60)).text_pieces(["word "; 60]);
        mock.enqueue(counted.error_event(30, word, "sorry"));
        let error = model.complete(request(false)).await.unwrap_err();
        assert!(error.is_after_output(), "{}", name);
        assert_eq!(error.usage().unwrap().input_tokens, Some(100_000), "{}", name);
        assert_eq!(model.state().usage.input_tokens, Some(100_000), "{}", name);
        // A request that is refused costs nothing.
        mock.enqueue(Reply::error(400, "no"));
        assert_eq!(model.complete(request(false)).await.unwrap_err().usage(), None);
    }
}
