//! The mock over real sockets.

mod caches;
mod faults;
mod files;
mod openai_and_google;
mod recordings;
mod requests;

use serde_json::{Value, json};

use crate::MockProvider;

async fn start() -> MockProvider {
    MockProvider::start().await.expect("a free port")
}

fn chat_body() -> Value {
    json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]})
}

fn chat_stream_body() -> Value {
    let mut body = chat_body();
    body["stream"] = json!(true);
    body
}

fn messages_body() -> Value {
    json!({"model": "claude-opus-5", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]})
}
