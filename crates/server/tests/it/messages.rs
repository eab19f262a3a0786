//! Anthropic's Messages.

use std::sync::Arc;

use attache_agent::{Agent, tool_fn};
use attache_core::provider::ProviderState;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, ErrorKind, LlmProvider, ModelCapabilities, ModelSettings,
    ProviderError, Usage,
};
use attache_server::{ApiKey, ApiKeys, Dialect};
use attache_testkit::Turn;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, named, server, text, value};

fn asked(more: Value) -> Value {
    let mut body = json!({
        "model": "papers",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "What is the rent?"}],
    });
    let Value::Object(more) = more else { panic!("{more}") };
    for (name, value) in more {
        body[name] = value;
    }
    body
}

fn weather() -> Value {
    json!([{"name": "weather", "description": "The weather of a city", "input_schema":
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}])
}

// A36
#[tokio::test]
async fn an_answer_whole_and_streamed() {
    let turn =
        || Turn::text("EUR 900 a month.").and_thinking("hm").costing(Usage::new(20, 7).with_cached_tokens(4));
    let client = Client::new(server(Agent::builder(Stage::new([turn(), turn()]))).thinking(true));
    let whole = client.post("/v1/messages", asked(json!({"system": "Be brief.", "unknown": 1}))).await;
    insta::assert_snapshot!("messages_whole", named(&text(whole).await));
    let streamed = client.post("/v1/messages", asked(json!({"stream": true}))).await;
    insta::assert_snapshot!("messages_streamed", named(&text(streamed).await));
}

/// A model whose API counts: a thousand for each message, and one for each tool.
struct Counting(Stage);

impl LlmProvider for Counting {
    fn model_id(&self) -> &str {
        self.0.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.0.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.0.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.0.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.0.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.0.stream(request)
    }

    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        let count = 1_000 * request.messages.len() + request.tools.iter().count();
        Some(Box::pin(std::future::ready(Ok(count as u64))))
    }
}

// A36
#[tokio::test]
async fn tokens_are_counted_by_the_models_api_or_estimated() {
    const PATH: &str = "/v1/messages/count_tokens";
    let user = |said: &str| json!({"model": "papers", "messages": [{"role": "user", "content": said}]});
    let agent = || Agent::builder(Counting(Stage::new([Turn::text("900.")]))).system("Be brief.");
    let client = Client::new(server(agent().tool(tool_fn("book", "Books a table", || Ok("table 1")))));
    let mut asked = user("What is the rent?");
    asked["system"] = "Answer in German.".into();
    asked["tools"] = weather();
    let counted = value(client.post(PATH, asked).await).await;
    assert_eq!(counted, json!({"input_tokens": 2_002, "attache": {"estimated": false}}));
    // A session has the history.
    let named = |path: &str| {
        Request::post(path).header("x-attache-session", "s").header("content-type", "application/json")
    };
    let mut turn = user("What is the rent?");
    turn["max_tokens"] = 100.into();
    let answer = client.send(named("/v1/messages"), turn.to_string()).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(text(answer).await.contains("900."));
    let counted = value(client.send(named(PATH), user("And the deposit?").to_string()).await).await;
    assert_eq!(counted["input_tokens"], 4_001);

    let client = Client::of([]);
    let mut last = 0;
    let pdf = json!([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "word ".repeat(5_000)}}]);
    for content in [json!("Hi"), json!("word ".repeat(1_000)), pdf] {
        let asked = json!({"model": "papers", "messages": [{"role": "user", "content": content}]});
        let counted = value(client.post(PATH, asked).await).await;
        assert_eq!(counted["attache"]["estimated"], true);
        let tokens = counted["input_tokens"].as_u64().unwrap();
        assert!(tokens > last, "{tokens}");
        last = tokens;
    }
    assert!((4_000..12_000).contains(&last), "5,000 words: {last}");
    for (asked, status, kind) in [
        (json!({"model": "nobody", "messages": []}), StatusCode::NOT_FOUND, "not_found_error"),
        (json!({"model": "papers", "messages": []}), StatusCode::BAD_REQUEST, "invalid_request_error"),
        (json!({"messages": []}), StatusCode::BAD_REQUEST, "invalid_request_error"),
        (json!([]), StatusCode::BAD_REQUEST, "invalid_request_error"),
    ] {
        let refused = client.post(PATH, asked.clone()).await;
        assert_eq!(refused.status(), status, "{asked}");
        let told = value(refused).await;
        assert_eq!((&told["type"], &told["error"]["type"]), (&json!("error"), &json!(kind)), "{told}");
    }
}

// A36
#[tokio::test]
async fn a_client_runs_its_own_tools_and_sends_documents() {
    let book = tool_fn("book", "Books a table", || Ok("table 1"));
    let stage = Stage::new([
        Turn::text("Let me see.").and_call("book", json!({})),
        Turn::call("weather", json!({"city": "Berlin"})),
        Turn::text("Sunny."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(book)));
    let user = json!({"role": "user", "content": [
        {"type": "text", "text": "Look"},
        {"type": "document", "title": "a.csv", "context": "from June", "source": {"type": "base64", "media_type": "text/csv", "data": "YSxiCjEsMgo="}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain words"}},
        {"type": "search_result", "source": "https://example.org", "title": "found", "content": [{"type": "text", "text": "found words"}]},
    ]});
    let more = json!({"stream": true, "tools": weather(), "messages": [user]});
    let first = text(client.post("/v1/messages", asked(more)).await).await;
    insta::assert_snapshot!("messages_calls_streamed", named(&first));
    let events = data(&first);
    let call = events.iter().find(|event| event["content_block"]["type"] == "tool_use").unwrap();
    let id = call["content_block"]["id"].clone();
    let messages = json!([
        user,
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": id, "name": "weather", "input": {"city": "Berlin"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": [
                {"type": "text", "text": "sun"},
                {"type": "document", "title": "b.txt", "source": {"type": "text", "media_type": "text/plain", "data": "hello"}},
            ]},
            {"type": "text", "text": "And?"},
        ]},
    ]);
    let second = client.post("/v1/messages", asked(json!({"tools": weather(), "messages": messages}))).await;
    let second = value(second).await;
    assert_eq!(
        (second["stop_reason"].as_str(), second["content"][0]["text"].as_str()),
        (Some("end_turn"), Some("Sunny."))
    );
    let requests = stage.requests();
    let seen = format!("{:?}", requests[2].messages);
    for wanted in ["a.csv", "from June", "plain words", "found words", "sun", "b.txt", "And?"] {
        assert!(seen.contains(wanted), "{wanted}: {seen}");
    }
    // The agent's own tool worked in the first request, and not again.
    assert_eq!(
        seen.matches("table 1").count(),
        format!("{:?}", requests[1].messages).matches("table 1").count()
    );
    assert!(seen.contains("table 1"), "{seen}");
}

// A36
#[tokio::test]
async fn errors_have_the_shape_that_clients_know() {
    let half = Stage::new([Turn::text("Half of").then_error(ErrorKind::Overloaded)]).held();
    half.let_out(1);
    let client = Client::new(server(Agent::builder(half.clone())));
    let response = client.post("/v1/messages", asked(json!({"stream": true}))).await;
    half.let_out(10);
    let mut told = vec![named(&text(response).await)];
    let client =
        Client::new(server(Agent::builder(Stage::new([Turn::empty().then_error(ErrorKind::RateLimited)]))));
    for more in [
        json!({}),
        json!({"model": "nobody"}),
        json!({"max_tokens": null}),
        json!({"messages": []}),
        json!({"messages": 3}),
        json!({"top_k": 3}),
        json!({"tool_choice": {"type": "any"}}),
        json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "file:///a"}}]}]}),
    ] {
        let response = client.post("/v1/messages", asked(more)).await;
        told.push(format!("{} {}", response.status(), named(&text(response).await)));
    }
    let (key, secret) = ApiKey::fresh("ann");
    let locked = attache_server::Server::new(
        "papers",
        crate::common::sessions(Agent::builder(Stage::new([Turn::text("Hi.")]))),
    );
    let locked = Client::new(locked.keys(ApiKeys::new().with_key(key)));
    let ask = |key: &str| {
        http::Request::builder()
            .method("POST")
            .uri("/v1/messages")
            .header("x-api-key", key)
            .header("anthropic-version", "2023-06-01")
    };
    let response = locked.send(ask("wrong"), asked(json!({})).to_string()).await;
    told.push(format!("{} {}", response.status(), named(&text(response).await)));
    insta::assert_snapshot!("messages_errors", told.join("\n"));
    assert_eq!(
        locked.send(ask(secret.expose()), asked(json!({})).to_string()).await.status(),
        StatusCode::OK
    );
    let off = server(Agent::builder(Stage::new([]))).dialect(Dialect::Messages, false);
    assert_eq!(Client::new(off).post("/v1/messages", asked(json!({}))).await.status(), StatusCode::NOT_FOUND);
}

// The official SDKs read the id of the request from a header of Anthropic's, and from the body of an error.
#[tokio::test]
async fn an_answer_has_the_id_of_its_request() {
    let client = Client::of([Turn::text("EUR 900.")]);
    for (path, body, has_error) in [
        ("/v1/messages", asked(json!({})), false),
        ("/v1/messages/count_tokens", asked(json!({})), false),
        ("/v1/messages", json!([]), true),
    ] {
        let request = Request::builder().method("POST").uri(path).header("x-request-id", "req-7");
        let answer = client.send(request, body.to_string()).await;
        assert_eq!(answer.status().is_success(), !has_error);
        assert_eq!(
            (&answer.headers()["request-id"], &answer.headers()["x-request-id"]),
            (&"req-7".parse().unwrap(), &"req-7".parse().unwrap())
        );
        let told = value(answer).await;
        assert_eq!(told["request_id"], if has_error { json!("req-7") } else { Value::Null }, "{told}");
    }
    let other = client.get("/v1/models").await;
    assert!(other.headers().get("request-id").is_none());
}
