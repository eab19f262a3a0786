//! Prompt caches over whole runs, on each API: markers that hit, a key and a stable prefix, contents that are kept at the
//! provider, and what happens where there is none (P27 to P30, invariant 4).

use std::sync::Arc;

use attache_agent::{Agent, AgentBuilder, EventKind, Outcome, RunInput, tool_fn};
use attache_conformance::{MockProvider, Reply, ReplyUsage};
use attache_core::capability::Caching;
use attache_core::schemars::{self, JsonSchema};
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{Document, ErrorKind, Message, ModelHandle, ModelSettings, ToolError};
use attache_tests::{APIS, Api, Party};
use attache_transport::{HttpClient, RetryPolicy, Timeouts};
use serde_json::{Value, json};

/// The number of blocks before a marker in which a cache looks for an entry (anthropic.md 7).
const LOOK_BACK: usize = 20;

#[derive(serde::Deserialize, JsonSchema)]
struct Number {
    number: u32,
}

fn caching() -> ModelSettings {
    ModelSettings::new().with_cache(CachePolicy::Short)
}

/// An agent with long instructions, and a tool that returns text and a PDF.
fn agent(model: ModelHandle) -> AgentBuilder {
    let read = tool_fn("read", "Reads a page", |Number { number }: Number| async move {
        let page = format!("%PDF-1.4\n% page {number}\n").into_bytes();
        // Few, since Converse takes but five in a request: where older ones go, the prefix changes.
        let page = matches!(number, 0 | 100).then(|| Document::from_bytes(page, "application/pdf"));
        Ok::<_, ToolError>(json!({ "text": format!("page {number}"), "page": page }))
    });
    Agent::builder(model).system("Read the manual before you answer. ".repeat(600)).tool(read)
}

/// Rounds of parallel calls, then an answer. One round is longer than a cache looks back.
fn script(mock: &MockProvider, rounds: u32) {
    for round in 0..rounds {
        let mut reply = Reply::new().text("I read on.");
        let calls = if round == 2 { 24 } else { 1 + round % 3 };
        for at in 0..calls {
            let number = round * 100 + at;
            reply = reply.call(format!("call{number:05}"), "read", json!({ "number": number }));
        }
        mock.enqueue(reply);
    }
    mock.enqueue(Reply::new().text("done"));
}

/// Two runs of one conversation.
async fn talk(agent: &Agent, mock: &MockProvider) -> Vec<Value> {
    script(mock, 6);
    let first = agent.run("Read everything").outcome().await;
    assert!(mock.violations().is_empty(), "{:?}", mock.violations());
    let first: Outcome = first.unwrap();
    script(mock, 4);
    let next = RunInput::new([Message::user("And now the rest").shared()]).with_history(first.messages);
    agent.run(next).outcome().await.unwrap();
    assert!(mock.violations().is_empty(), "{:?}", mock.violations());
    mock.requests().iter().map(|request| request.json().clone()).collect()
}

/// The blocks of a request in the order in which a cache reads them, and after how many of them a marker stands.
fn blocks_and_markers(api: Api, body: &Value) -> (Vec<Value>, Vec<usize>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let tools = if api == Api::Bedrock { "/toolConfig/tools" } else { "/tools" };
    let mut raw = list(body.pointer(tools));
    raw.extend(list(body.get("system")));
    for message in list(body.get("messages")) {
        raw.extend(list(message.get("content")).into_iter().map(|block| json!([message["role"], block])));
    }
    let (mut blocks, mut markers) = (Vec::new(), Vec::new());
    for mut block in raw {
        let inner = match &mut block {
            Value::Array(pair) => &mut pair[1],
            block => block,
        };
        let inner = inner.as_object_mut().unwrap();
        if inner.contains_key("cachePoint") {
            markers.push(blocks.len());
            continue;
        }
        let marked = inner.remove("cache_control").is_some();
        blocks.push(block);
        if marked {
            markers.push(blocks.len());
        }
    }
    (blocks, markers)
}

// P27: at most four markers, and each request reads all that the one before had marked
#[tokio::test]
async fn markers_hit() {
    for api in APIS.into_iter().filter(|api| api.capabilities().caching == Caching::Explicit) {
        for policy in [CachePolicy::Short, CachePolicy::Long] {
            let mock = MockProvider::start().await.unwrap();
            let config = ModelSettings::new().with_cache(policy);
            let agent = agent(Party::from(api).connected(&mock, config).unwrap()).build().unwrap();
            let bodies = talk(&agent, &mock).await;
            let mut kept: Vec<Vec<Value>> = Vec::new();
            for (at, body) in bodies.iter().enumerate() {
                let (blocks, markers) = blocks_and_markers(api, body);
                let context =
                    format!("{} {policy:?} request {at}: {markers:?} of {}", api.name(), blocks.len());
                assert!((1..=4).contains(&markers.len()), "{context}");
                let hit = markers.iter().flat_map(|marker| {
                    let near = |kept: &&Vec<Value>| {
                        kept.len() <= *marker && *marker - kept.len() <= LOOK_BACK && blocks.starts_with(kept)
                    };
                    kept.iter().filter(near).map(Vec::len).max()
                });
                let longest = kept.iter().map(Vec::len).max();
                assert_eq!(hit.max(), longest, "{context}: what was kept is read");
                // All but what is new next time is kept.
                assert_eq!(markers.last(), Some(&blocks.len()), "{context}");
                kept.extend(markers.iter().map(|marker| blocks[..*marker].to_vec()));
            }
            let seen = bodies.iter().map(ToString::to_string).collect::<String>();
            assert_eq!(seen.contains("\"1h\""), policy == CachePolicy::Long, "{}", api.name());
        }
    }
}

// P27 to P29: nothing is asked of a cache where nobody wants one
#[tokio::test]
async fn switched_off_there_is_no_marker() {
    for api in APIS {
        let mock = MockProvider::start().await.unwrap();
        let off = ModelSettings::new().with_cache(CachePolicy::Off);
        let agent = agent(Party::from(api).connected(&mock, off).unwrap()).build().unwrap();
        let all: String = talk(&agent, &mock).await.iter().map(ToString::to_string).collect();
        for word in ["cache_control", "cachePoint", "cachedContent", "prompt_cache"] {
            assert!(!all.contains(word), "{}: {word}", api.name());
        }
        assert!(mock.cached_contents().is_empty());
    }
}

/// The end of the conversation in a body.
fn end_of_conversation(api: Api, body: &Value, bytes: &str) -> usize {
    let messages = api.messages(body);
    let last = messages.as_array().unwrap().last().unwrap().to_string();
    bytes.rfind(&last).expect("the last message as it was sent") + last.len()
}

// P28: the bytes up to the end of the conversation stay, and a key brings requests together
#[tokio::test]
async fn the_prefix_is_stable_to_the_byte() {
    for api in APIS {
        // Markers move, and stand among the bytes.
        let automatic = api.capabilities().caching == Caching::Automatic;
        let policy = if automatic { CachePolicy::Short } else { CachePolicy::Off };
        let config = ModelSettings::new().with_cache(policy);
        for whole in [false, true] {
            let mock = MockProvider::start().await.unwrap();
            let model = Party::from(api).connected(&mock, config.clone()).unwrap();
            let agent = agent(model).streaming(!whole).build().unwrap();
            let bodies = talk(&agent, &mock).await;
            let requests = mock.requests();
            let bytes: Vec<&str> =
                requests.iter().map(|request| std::str::from_utf8(&request.body).unwrap()).collect();
            for at in 1..bodies.len() {
                let end = end_of_conversation(api, &bodies[at - 1], bytes[at - 1]);
                assert!(bytes[at].starts_with(&bytes[at - 1][..end]), "{} request {at}", api.name());
                let tools =
                    |body: &Value| body.get("tools").or_else(|| body.get("toolConfig")).map(Value::to_string);
                assert_eq!(tools(&bodies[at]), tools(&bodies[at - 1]), "{}", api.name());
            }
            if matches!(api, Api::OpenAi | Api::OpenAiChat) {
                let keys: Vec<&Value> = bodies.iter().map(|body| &body["prompt_cache_key"]).collect();
                assert!(keys[0].as_str().is_some_and(|key| key.len() > 8), "{keys:?}");
                assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
            }
        }
    }
}

// P28: what the provider read from its cache is told, and added up
#[tokio::test]
async fn cached_tokens_are_reported() {
    for party in Party::all() {
        let mock = party.mock().await.unwrap();
        let agent =
            agent(party.connected(&mock, ModelSettings::new()).unwrap()).streaming(false).build().unwrap();
        let usage = |cached| ReplyUsage::new(1_000, 10).with_cached(cached);
        mock.enqueue(Reply::new().call("call00001", "read", json!({"number": 1})).usage(usage(0)));
        mock.enqueue(Reply::new().text("done").usage(usage(900)));
        let outcome = agent.run("go").outcome().await.unwrap();
        let found = (outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.usage.cached_tokens);
        assert_eq!(found, (Some(2_000), Some(20), Some(900)), "{}", party.name());
    }
}

/// `POST /v1beta/cachedContents` and the like, in order.
fn asked(mock: &MockProvider) -> Vec<String> {
    let short = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let asked = |request: &attache_conformance::RecordedRequest| {
        format!("{} {}", request.method, short(request.uri.path()))
    };
    mock.requests().iter().map(asked).collect()
}

// P29: made, used, made again when it has expired; the agent notices nothing
#[tokio::test]
async fn contents_are_kept_used_and_made_anew() {
    let api = Api::Gemini;
    let mock = MockProvider::start().await.unwrap();
    let agent = agent(Party::from(api).connected(&mock, caching()).unwrap()).build().unwrap();
    mock.enqueue(Reply::new().call("call00001", "read", json!({"number": 1})));
    mock.enqueue(Reply::new().text("one"));
    let first = agent.run("Read").outcome().await.unwrap();
    let made = mock.cached_contents();
    assert_eq!((first.text.as_str(), made.len()), ("one", 1));
    assert_eq!(asked(&mock)[0], "POST cachedContents");
    let bodies: Vec<Value> = mock.requests().iter().map(|request| request.json().clone()).collect();
    for body in &bodies[1..] {
        assert_eq!(body["cachedContent"], made[0]);
        assert!(body.get("systemInstruction").is_none() && body.get("tools").is_none());
    }

    mock.expire_cached_contents();
    mock.enqueue(Reply::new().text("two"));
    let next = RunInput::new([Message::user("More").shared()]).with_history(first.messages);
    let mut run = agent.run(next);
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event.kind);
    }
    let Some(EventKind::Finished(Ok(outcome))) = events.last() else { panic!("no end") };
    assert_eq!(outcome.text, "two");
    assert!(!events.iter().any(|event| matches!(event, EventKind::Warning { .. })), "{events:?}");
    let anew = mock.cached_contents();
    assert!(anew.len() == 1 && anew != made, "{anew:?}");
    assert_eq!(mock.requests().last().unwrap().json()["cachedContent"], anew[0]);
    assert_eq!(agent.model().state().failures, 0);
}

// P30: where there is no cache, an error before anything is sent, or a warning
#[tokio::test]
async fn no_cache_is_said() {
    let at = |api: Api, name: &str, mock: &MockProvider, config: ModelSettings| {
        let http = HttpClient::new(Timeouts::default());
        api.reached_through(name, mock.url(), config, http, RetryPolicy::never()).unwrap()
    };
    type Connect = Arc<dyn Fn(&MockProvider, ModelSettings) -> ModelHandle>;
    let mut models: Vec<(Party, Connect)> = Vec::new();
    for party in Party::all() {
        models.push((party, Arc::new(move |mock, config| party.connected(mock, config).unwrap())));
    }
    for (api, name) in
        [(Api::Gemini, "gemma-4-31b-it"), (Api::Bedrock, "us.meta.llama4-scout-17b-instruct-v1:0")]
    {
        models.push((api.into(), Arc::new(move |mock, config| at(api, name, mock, config))));
    }
    let mut without = 0;
    for (party, connect) in models {
        let mock = party.mock().await.unwrap();
        mock.respond_with(|_| Reply::new().text("Yes."));
        let strict = connect(&mock, caching());
        let caching_of = strict.capabilities().caching;
        let context = format!("{} {caching_of:?}", strict.id());
        let run = Agent::builder(strict).build().unwrap().run("go").outcome().await;
        if matches!(caching_of, Caching::None) {
            without += 1;
            let error = run.unwrap_err();
            let error = error.provider_error().unwrap();
            assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("cache")), "{context}");
            assert!(mock.requests().is_empty(), "{context}");
        } else if let Err(error) = run {
            let error = error.provider_error().unwrap();
            assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("cache")), "{context}");
        }
        let sent = mock.requests().len();
        let lenient = connect(&mock, caching().with_unsupported(Unsupported::Degrade));
        let mut run = Agent::builder(lenient).build().unwrap().run("go");
        let mut warned = false;
        while let Some(event) = run.next().await {
            match event.kind {
                EventKind::Warning { code, message } => {
                    warned |= code == "degraded" && message.starts_with("cache");
                }
                EventKind::Finished(result) => assert_eq!(result.unwrap().text, "Yes.", "{context}"),
                _ => {}
            }
        }
        assert_eq!(mock.requests().len(), sent + 1, "{context}");
        // It was refused above exactly if it is on record here.
        assert_eq!(warned, sent == 0, "{context}");
        assert!(mock.violations().is_empty(), "{context}: {:?}", mock.violations());
    }
    assert!(without >= 2, "{without}");
}
