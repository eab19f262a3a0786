//! Model handles at work, on each API and on compatible servers: keys, state, options, and
//! the chunks of a reply (P01 to P04, P06 to P10).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use attache_conformance::{MockProvider, Reply, ReplyUsage, Writes};
use attache_core::provider::ProviderState;
use attache_core::{
    ChatRequest, Completion, ErrorKind, Message, ModelHandle, ModelSettings, StreamChunk, ToolCallId,
    ToolDefinition, ToolSet,
};
use attache_tests::{APIS, Api, Party};
use attache_transport::{HttpClient, HttpModel, RetryPolicy, Timeouts};
use futures_util::StreamExt as _;
use proptest::prelude::*;
use serde_json::json;

fn hello() -> ChatRequest {
    ChatRequest::new([Message::user("Hello").shared()])
}

fn with_tools() -> ChatRequest {
    let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
    let tools = ["find", "read"].map(|name| ToolDefinition::new(name, "Looks", schema.clone()));
    hello().with_tools(ToolSet::new(tools).unwrap())
}

async fn model(party: Party) -> (MockProvider, ModelHandle) {
    let mock = party.mock().await.unwrap();
    let model = party.connected(&mock, ModelSettings::new()).unwrap();
    (mock, model)
}

// P01: one handle without type parameters, Send and Sync, swapped by value
#[tokio::test]
async fn handles_are_swapped_by_value() {
    fn is_shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let mut current: Option<ModelHandle> = None;
    for party in Party::all() {
        let (mock, model) = model(party).await;
        mock.enqueue(Reply::new().text("Hi"));
        is_shared(&model);
        let before = current.replace(model);
        assert_ne!(
            before.map(|model| model.id().to_owned()),
            current.as_ref().map(|model| model.id().to_owned())
        );
        let model = current.clone().unwrap();
        let answered = tokio::spawn(async move { model.complete(hello()).await.unwrap().message.text() });
        assert_eq!(answered.await.unwrap(), "Hi", "{}", party.name());
    }
}

// P02: a key that is missing fails before any network, and is shown to nobody
#[test]
fn keys_are_checked_and_never_shown() {
    use attache_anthropic::MessagesCodec;
    use attache_bedrock::ConverseCodec;
    use attache_cohere::CohereCodec;
    use attache_gemini::GenerateCodec;
    use attache_openai::{ChatCodec, OllamaCodec, ResponsesCodec};
    use attache_transport::Codec;

    fn tried<C: Codec>(codec: impl Fn() -> C) {
        let id = codec().model_id();
        for blank in ["", " ", "\n"] {
            let error = HttpModel::<C>::new(codec(), blank).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{id} {blank:?}");
        }
        let model = HttpModel::<C>::new(codec(), "sk-canary").unwrap();
        let shown = format!("{model:?} {:?}", ModelHandle::from(model.clone()));
        assert!(!shown.contains("canary"), "{shown}");
    }
    for api in APIS {
        let name = api.model();
        match api {
            Api::OpenAi => tried(|| ResponsesCodec::from(name)),
            Api::OpenAiChat => tried(|| ChatCodec::from(name)),
            Api::Anthropic => tried(|| MessagesCodec::from(name)),
            Api::Gemini => tried(|| GenerateCodec::from(name)),
            Api::Bedrock => tried(|| ConverseCodec::new(name).with_region("us-east-1")),
            Api::Cohere => tried(|| CohereCodec::new(name)),
            Api::Ollama => tried(|| OllamaCodec::new(name)),
        }
    }
}

// P02: one that cannot be a header fails on our side, and what was sent is in no chunk and no error
#[tokio::test]
async fn keys_stand_in_headers_alone() {
    for party in Party::all() {
        let (mock, model) = model(party).await;
        mock.enqueue(Reply::new().text("Hi"));
        let completion = model.complete(hello()).await.unwrap();
        assert!(!format!("{completion:?} {model:?}").contains("sk-canary"), "{}", party.name());
        let request = &mock.requests()[0];
        assert!(!request.uri.to_string().contains("sk-canary"), "{}", party.name());
        assert!(!request.json().to_string().contains("sk-canary"), "{}", party.name());
        let carries = request.headers.values().filter(|value| {
            value.to_str().is_ok_and(|value| value.trim_start_matches("Bearer ") == "sk-canary")
        });
        assert_eq!(carries.count(), 1, "{}", party.name());
    }
}

/// Never less than before, and each count fits the others.
fn follows(before: &ProviderState, after: &ProviderState) -> bool {
    let tokens = |state: &ProviderState| {
        let usage = &state.usage;
        [usage.input_tokens, usage.output_tokens, usage.cached_tokens].map(Option::unwrap_or_default)
    };
    let grows = before.requests <= after.requests
        && before.turns <= after.turns
        && before.failures <= after.failures
        && tokens(before).iter().zip(tokens(after)).all(|(before, after)| *before <= after)
        && before.last_time <= after.last_time;
    // Each turn costs 100 and 20, of which 40 were cached; a snapshot between the two would show.
    grows
        && after.turns + after.failures <= after.requests
        && tokens(after) == [100, 20, 40].map(|n| n * after.turns)
}

// P03: the state is read from another task while replies stream; it grows and is consistent at any time
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_is_read_while_replies_stream() {
    for party in Party::all() {
        let (mock, model) = model(party).await;
        let usage = ReplyUsage::new(100, 20).with_cached(40);
        mock.respond_with(move |request| match request.index % 5 {
            4 => Reply::error(400, "no"),
            _ => Reply::new().text_pieces(["word "; 12]).usage(usage),
        });
        assert_eq!(model.state(), ProviderState::default());
        let began = SystemTime::now();
        let stop = Arc::new(AtomicBool::new(false));
        let (watched, stopped) = (model.clone(), Arc::clone(&stop));
        let watcher = tokio::task::spawn_blocking(move || {
            let mut before = ProviderState::default();
            while !stopped.load(Ordering::Relaxed) {
                let now = watched.state();
                assert!(follows(&before, &now), "{before:?} then {now:?}");
                before = now;
                std::thread::yield_now();
            }
        });
        let calls = (0..10).map(|_| {
            let model = model.clone();
            // Some servers are asked for counts only where they answer whole.
            tokio::spawn(async move { model.complete(hello().streaming(false)).await.is_ok() })
        });
        let calls: Vec<_> = calls.collect();
        let mut answered = 0;
        for call in calls {
            answered += u64::from(call.await.unwrap());
        }
        stop.store(true, Ordering::Relaxed);
        watcher.await.unwrap();
        let end = model.state();
        assert_eq!(
            (end.requests, end.turns, end.failures),
            (10, answered, 10 - answered),
            "{}",
            party.name()
        );
        assert_eq!(end.failures, 2, "{}", party.name());
        assert!(end.last_time.is_some_and(|time| time >= began), "{}", party.name());

        // In the middle of one reply: it was started, and has not ended.
        let mut stream = model.stream(hello());
        assert!(matches!(stream.next().await, Some(Ok(StreamChunk::Content(_)))), "{}", party.name());
        let reading = model.clone();
        let inside = tokio::task::spawn_blocking(move || reading.state()).await.unwrap();
        assert_eq!((inside.requests, inside.turns), (11, answered), "{}", party.name());
        while stream.next().await.is_some() {}
        assert_eq!(model.state().turns, answered + 1, "{}", party.name());
    }
}

// P04: a change is for the next request; one under way keeps what it began with, whichever attempt it is at
#[tokio::test]
async fn options_change_for_the_next_request_only() {
    for api in APIS {
        let member = |body: &serde_json::Value| {
            let places = [
                "/max_output_tokens",
                "/max_completion_tokens",
                "/max_tokens",
                "/generationConfig/maxOutputTokens",
                "/inferenceConfig/maxTokens",
                "/options/num_predict",
            ];
            places.iter().find_map(|place| body.pointer(place)).cloned()
        };
        let mock = MockProvider::start().await.unwrap();
        mock.enqueue(Reply::error(503, "busy"));
        mock.enqueue(Reply::new().text_pieces(["word "; 20]));
        mock.enqueue(Reply::new().text("next"));
        let http = HttpClient::new(Timeouts::default());
        let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
        let first = ModelSettings::new().with_max_tokens(1_000);
        let model = api.reached_through(api.model(), mock.url(), first.clone(), http, retry).unwrap();
        assert_eq!(*model.settings(), first);

        let kept = model.settings();
        let mut stream = model.stream(hello());
        // It is made, and nothing is sent yet.
        model.set_settings(ModelSettings::new().with_max_tokens(2_000));
        assert!(matches!(stream.next().await, Some(Ok(StreamChunk::Content(_)))));
        model.set_settings(ModelSettings::new().with_max_tokens(3_000));
        while stream.next().await.is_some() {}
        let other = model.clone();
        other.complete(hello()).await.unwrap();
        let sent: Vec<_> = mock.requests().iter().map(|request| member(request.json())).collect();
        assert_eq!(sent, [Some(json!(1_000)), Some(json!(1_000)), Some(json!(3_000))], "{}", api.name());
        // A snapshot is nobody else's.
        assert_eq!((kept.max_tokens, model.settings().max_tokens), (Some(1_000), Some(3_000)));
    }
}

/// The content of a stream, put together as a consumer would.
#[derive(Default)]
struct Rebuilt {
    text: String,
    thinking: String,
    /// Id, name and arguments by slot.
    calls: Vec<(ToolCallId, String, String)>,
    end: Option<Completion>,
}

/// Holds what every stream promises.
async fn rebuilt(model: &ModelHandle, request: ChatRequest, context: &str) -> Rebuilt {
    let mut stream = model.stream(request);
    let mut seen = Rebuilt::default();
    while let Some(chunk) = stream.next().await {
        assert!(seen.end.is_none(), "{context}: something follows the end");
        match chunk.unwrap_or_else(|error| panic!("{context}: {error:?}")) {
            StreamChunk::Content(text) => {
                assert!(!text.is_empty(), "{context}");
                seen.text.push_str(&text);
            }
            StreamChunk::Thinking(text) => {
                assert!(!text.is_empty(), "{context}");
                seen.thinking.push_str(&text);
            }
            StreamChunk::ToolCallDelta { slot, id, name, arguments_delta, .. } => {
                if slot == seen.calls.len() {
                    seen.calls.push((id.clone(), String::new(), String::new()));
                }
                let call = &mut seen.calls[slot];
                assert_eq!(call.0, id, "{context}: the id is on every delta");
                if let Some(name) = name {
                    assert!(call.1.is_empty(), "{context}: the name comes once");
                    call.1 = name;
                }
                call.2.push_str(&arguments_delta);
            }
            StreamChunk::Done(completion) => seen.end = Some(*completion),
            other => panic!("{context}: {other:?}"),
        }
    }
    assert!(stream.next().await.is_none(), "{context}: it stays ended");
    seen
}

/// Deltas and end say the same (P07 to P09).
fn agrees(seen: &Rebuilt, context: &str) {
    let end = seen.end.as_ref().unwrap_or_else(|| panic!("{context}: no end"));
    assert_eq!(seen.text, end.message.text(), "{context}: text");
    assert_eq!(seen.thinking, end.message.thinking(), "{context}: thinking");
    let calls: Vec<_> = end.message.tool_calls().collect();
    assert_eq!(calls.len(), seen.calls.len(), "{context}");
    for (call, (id, name, arguments)) in calls.iter().zip(&seen.calls) {
        assert_eq!((&call.id, &call.name), (id, name), "{context}");
        let same = attache_core::Arguments::new(arguments.clone());
        assert_eq!(call.arguments.object(), same.object(), "{context}");
    }
    let ids: HashSet<&ToolCallId> = calls.iter().map(|call| &call.id).collect();
    assert_eq!(ids.len(), calls.len(), "{context}: ids differ");
}

// P06, P07: content, then exactly one end with reason, usage and all of the content
#[tokio::test]
async fn a_prompt_is_streamed_and_ends_once() {
    for party in Party::all() {
        let (mock, model) = model(party).await;
        mock.enqueue(Reply::new().text("one two three four").usage(ReplyUsage::new(7, 4)));
        let mut chunks: Vec<StreamChunk> = model.chat("Hello").map(Result::unwrap).collect().await;
        let name = party.name();
        assert!(mock.requests()[0].wants_stream(), "{name}: it streams by default");
        let Some(StreamChunk::Done(done)) = chunks.pop() else { panic!("{name}: no end") };
        let texts: Vec<&str> = chunks
            .iter()
            .map(|chunk| match chunk {
                StreamChunk::Content(text) => text.as_str(),
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        assert!(texts.len() > 1, "{name}: in pieces");
        assert_eq!(
            (texts.concat(), done.message.text()),
            ("one two three four".into(), texts.concat()),
            "{name}"
        );
        assert_eq!(done.finish_reason, attache_core::FinishReason::Stop, "{name}");
        assert!(done.raw_finish_reason.is_some(), "{name}");
        let usage = (done.usage.input_tokens, done.usage.output_tokens);
        assert!(
            usage == (Some(7), Some(4)) || party.is_compatible() && usage == (None, None),
            "{name}: {usage:?}"
        );
    }
}

// P08: reasoning apart from content, its signature kept
#[tokio::test]
async fn thinking_is_no_content() {
    for party in Party::all() {
        for whole in [false, true] {
            let (mock, model) = model(party).await;
            let signed = party.api.signs_reasoning();
            let reply = match signed {
                true => Reply::new().signed_thinking("Let me see.", "c2lnbmF0dXJl"),
                false => Reply::new().thinking("Let me see."),
            };
            mock.enqueue(reply.text("Hi"));
            let request = if whole { hello().streaming(false) } else { hello() };
            let context = format!("{} whole {whole}", party.name());
            let seen = rebuilt(&model, request, &context).await;
            agrees(&seen, &context);
            assert_eq!((seen.text.as_str(), seen.thinking.as_str()), ("Hi", "Let me see."), "{context}");
            let kept = format!("{:?}", seen.end.unwrap().message);
            assert_eq!(kept.contains("c2lnbmF0dXJl"), signed, "{context}: {kept}");
        }
    }
}

// P09, P10: calls of every form come out of their deltas, and one that is broken leaves the others alone
#[tokio::test]
async fn calls_are_rebuilt_from_their_deltas() {
    for party in Party::all() {
        for whole in [false, true] {
            let (mock, model) = model(party).await;
            // Gemini, Converse and Ollama send no arguments that are not an object.
            let pieces = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
            let mut reply = Reply::new()
                .text("I look.")
                .call("call00001", "find", json!({"query": "ä \"quoted\" 🦀\n"}))
                .call("call00002", "read", json!({}))
                .call_pieces("call00003", "find", pieces(r#"{"query": "piece by piece"}"#));
            let breaks = !(matches!(party.api, Api::Gemini | Api::Bedrock | Api::Ollama)
                || whole && party.api == Api::Anthropic);
            if breaks {
                reply = reply.call_pieces("call00004", "read", [r#"{"query": oops}"#]);
                reply = reply.call_pieces("call00005", "find", [""]);
            }
            mock.enqueue(reply.call("call00006", "find", json!({"query": "last"})));
            let request = if whole { with_tools().streaming(false) } else { with_tools() };
            let context = format!("{} whole {whole}", party.name());
            let seen = rebuilt(&model, request, &context).await;
            agrees(&seen, &context);
            let end = seen.end.unwrap();
            let calls: Vec<_> = end
                .message
                .tool_calls()
                .map(|call| {
                    let id = call.provider_id.as_ref().map(ToString::to_string).unwrap_or_default();
                    (id, call.arguments.object().ok().map(serde_json::Value::Object))
                })
                .collect();
            let good = |id: &str, arguments: serde_json::Value| (id.to_owned(), Some(arguments));
            let mut wanted = vec![
                good("call00001", json!({"query": "ä \"quoted\" 🦀\n"})),
                good("call00002", json!({})),
                good("call00003", json!({"query": "piece by piece"})),
            ];
            if breaks {
                wanted.push(("call00004".to_owned(), None));
                // Nothing at all is no arguments.
                wanted.push(good("call00005", json!({})));
            }
            wanted.push(good("call00006", json!({"query": "last"})));
            assert_eq!(calls, wanted, "{context}");
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Thinking(String),
    Call(String),
}

fn reply(parts: &[Part], seed: u64) -> Reply {
    let mut reply = Reply::new().writes(Writes::Seeded(seed));
    for (at, part) in parts.iter().enumerate() {
        reply = match part {
            Part::Text(text) => reply.text(text),
            Part::Thinking(text) => reply.signed_thinking(text, "c2lnbmF0dXJl"),
            Part::Call(query) => reply.call(format!("call{at:05}"), "find", json!({ "query": query })),
        };
    }
    reply
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let text = "[ \n\ta-cä🦀]{0,8}";
    let part = prop_oneof![
        3 => text.prop_map(Part::Text),
        1 => "[a-c ]{1,8}".prop_map(Part::Thinking),
        2 => text.prop_map(Part::Call),
    ];
    prop::collection::vec(part, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    // P07, P09: whatever the parts of a reply and whatever the network does to its bytes
    #[test]
    fn deltas_add_up_to_the_end(parts in parts(), seed in any::<u64>()) {
        runtime().block_on(async {
            for api in APIS {
                let mut parts = parts.clone();
                if !api.signs_reasoning() {
                    parts.retain(|part| !matches!(part, Part::Thinking(_)));
                }
                let (mock, model) = model(api.into()).await;
                mock.enqueue(reply(&parts, seed));
                mock.enqueue(reply(&parts, seed));
                let context = format!("{} {parts:?}", api.name());
                let streamed = rebuilt(&model, with_tools(), &context).await;
                agrees(&streamed, &context);
                let whole = rebuilt(&model, with_tools().streaming(false), &context).await;
                agrees(&whole, &context);
                // P33
                prop_assert_eq!(&streamed.text, &whole.text, "{}", context);
                prop_assert_eq!(&streamed.thinking, &whole.thinking, "{}", context);
                prop_assert_eq!(streamed.calls.len(), whole.calls.len(), "{}", context);
            }
            Ok(())
        })?;
    }
}
