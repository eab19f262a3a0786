//! Gemini's `cachedContents` over sockets (gemini.md 10).

use http::Method;
use serde_json::{Value, json};

use super::start;
use crate::testing::{Answer, Request};
use crate::{MockProvider, Reply, Rules};

const MODEL: &str = "gemini-2.5-flash";
const RESOURCE: &str = "/v1beta/cachedContents";
const VERTEX: &str = "/v1/projects/p/locations/l";

fn content(text: &str) -> Value {
    json!([{"role": "user", "parts": [{"text": text}]}])
}

/// A text that is large enough to be cached.
fn cache() -> Value {
    json!({"model": format!("models/{MODEL}"), "contents": content(&"x".repeat(8000)), "ttl": "600s"})
}

async fn google(mock: &MockProvider, method: Method, path: &str, body: Option<&Value>) -> Answer {
    Request::google(method, mock.url(), path, body).send().await.expect("an answer")
}

async fn create(mock: &MockProvider, body: &Value) -> Answer {
    google(mock, Method::POST, RESOURCE, Some(body)).await
}

async fn created(mock: &MockProvider) -> String {
    let answer = create(mock, &cache()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["name"].as_str().expect("a name").to_owned()
}

async fn generate(mock: &MockProvider, model: &str, cached: &str) -> Answer {
    let body = json!({"contents": content("hi"), "cachedContent": cached});
    Request::gemini(mock.url(), model, false, &body).send().await.expect("an answer")
}

fn seconds(answer: &Value, key: &str) -> u64 {
    let text = answer[key].as_str().expect("a moment");
    let time: Vec<u64> = text[11..19].split(':').map(|part| part.parse().expect("digits")).collect();
    time[0] * 3600 + time[1] * 60 + time[2]
}

#[tokio::test]
async fn a_cache_is_made_read_used_prolonged_and_deleted() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new().text("Hi"));
    let name = created(&mock).await;
    assert_eq!(name, "cachedContents/mock0");
    assert_eq!(mock.cached_contents(), [name.as_str()]);

    let path = format!("/v1beta/{name}");
    let read = google(&mock, Method::GET, &path, None).await.json();
    assert_eq!(
        (&read["model"], &read["usageMetadata"]),
        (&json!("models/gemini-2.5-flash"), &json!({"totalTokenCount": 2000}))
    );
    let day = 24 * 3600;
    assert_eq!((seconds(&read, "expireTime") + day - seconds(&read, "updateTime")) % day, 600);
    let list = google(&mock, Method::GET, &format!("{RESOURCE}?pageSize=50"), None).await.json();
    assert_eq!(list, json!({"cachedContents": [read]}));

    assert_eq!(generate(&mock, MODEL, &name).await.status, 200);

    let body = json!({"ttl": "60s"});
    let longer = google(&mock, Method::PATCH, &format!("{path}?updateMask=ttl"), Some(&body)).await.json();
    assert_eq!((seconds(&longer, "expireTime") + day - seconds(&longer, "updateTime")) % day, 60);
    assert_eq!(longer["createTime"], read["createTime"]);

    assert_eq!(google(&mock, Method::DELETE, &path, None).await.json(), json!({}));
    assert_eq!(mock.cached_contents(), [""; 0]);
    assert_eq!(generate(&mock, MODEL, &name).await.status, 403);
    assert_eq!(google(&mock, Method::DELETE, &path, None).await.status, 403);
    // The resource neither needs a script nor takes from it.
    assert_eq!(mock.requests().len(), 8);
}

#[tokio::test]
async fn an_expired_cache_is_gone() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new().text("Hi"));
    let name = created(&mock).await;
    mock.expire_cached_contents();
    let answer = generate(&mock, MODEL, &name).await;
    assert_eq!(answer.status, 403);
    let error = &answer.json()["error"];
    assert_eq!(error["status"], "PERMISSION_DENIED");
    assert_eq!(error["message"], "CachedContent not found (or permission denied)");
    assert_eq!(mock.cached_contents(), [""; 0]);
    assert_eq!(mock.violations().len(), 1);
    let again = created(&mock).await;
    assert_ne!(again, name);
    assert_eq!(generate(&mock, MODEL, &again).await.status, 200);
    // A lifetime of nothing is over at once.
    let mut short = cache();
    short["ttl"] = json!("0s");
    let name = create(&mock, &short).await.json()["name"].as_str().expect("a name").to_owned();
    assert_eq!(generate(&mock, MODEL, &name).await.status, 403);
}

#[tokio::test]
async fn a_cache_belongs_to_its_model() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new());
    let name = created(&mock).await;
    let answer = generate(&mock, "gemini-2.5-pro", &name).await;
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].as_str().expect("a message").to_owned();
    assert!(
        message.contains("(models/gemini-2.5-pro) and CachedContent (models/gemini-2.5-flash)"),
        "{message}"
    );
}

#[tokio::test]
async fn small_or_wrong_contents_are_not_cached() {
    let mock = start().await;
    let with = |key: &str, value: Value| {
        let mut body = cache();
        body[key] = value;
        body
    };
    for (body, words) in [
        (
            with("contents", content("short")),
            "Cached content is too small. total_token_count=1, min_total_token_count=1024",
        ),
        (with("model", json!("models/gemini-2.5-pro")), "min_total_token_count=4096"),
        (with("model", json!(MODEL)), "unexpected model name format"),
        (with("ttl", json!("600")), "Illegal duration format"),
        (with("expireTime", json!("2100-01-01T00:00:00Z")), "oneof field 'expiration' is already set"),
        (with("generationConfig", json!({})), "Unknown name \"generationConfig\""),
        (with("tools", json!([{"functionDeclarations": [{"name": "a b"}]}])), "Invalid function name"),
        (with("contents", json!([{"role": "system", "parts": [{"text": "x"}]}])), "valid role"),
    ] {
        let answer = create(&mock, &body).await;
        assert_eq!(answer.status, 400, "{words}");
        let message = answer.json()["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.contains(words), "{message}");
    }
    let mut until = with("ttl", Value::Null);
    until["expireTime"] = json!("2100-01-01T00:00:00Z");
    assert_eq!(create(&mock, &until).await.json()["expireTime"], "2100-01-01T00:00:00.000000Z");

    let small = MockProvider::start_with(Some(Rules::new().with_cached_content_minimum(0)))
        .await
        .expect("a free port");
    assert_eq!(create(&small, &with("contents", content("short"))).await.status, 200);
}

#[tokio::test]
async fn only_the_lifetime_changes() {
    let mock = start().await;
    let path = format!("/v1beta/{}", created(&mock).await);
    for (mask, body) in [
        ("displayName", json!({"displayName": "x"})),
        ("ttl", json!({"ttl": "5s", "contents": []})),
        ("ttl", json!({})),
    ] {
        let answer = google(&mock, Method::PATCH, &format!("{path}?updateMask={mask}"), Some(&body)).await;
        assert_eq!(answer.status, 400, "{body}");
    }
    assert_eq!(google(&mock, Method::PUT, &path, Some(&json!({}))).await.status, 404);
}

#[tokio::test]
async fn vertex_has_full_names_and_another_error() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new());
    let model = format!("{}/publishers/google/models/{MODEL}", VERTEX.trim_start_matches("/v1/"));
    let mut body = cache();
    body["model"] = json!(model);
    let path = format!("{VERTEX}/cachedContents");
    let answer = google(&mock, Method::POST, &path, Some(&body)).await;
    assert_eq!(answer.json()["name"], "projects/p/locations/l/cachedContents/mock0", "{}", answer.text());
    let generate = format!("{VERTEX}/publishers/google/models/{MODEL}:generateContent");
    let mut using =
        json!({"contents": content("hi"), "cachedContent": "projects/p/locations/l/cachedContents/mock0"});
    assert_eq!(google(&mock, Method::POST, &generate, Some(&using)).await.status, 200);
    using["cachedContent"] = json!("projects/p/locations/l/cachedContents/other");
    let answer = google(&mock, Method::POST, &generate, Some(&using)).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]["status"]), (404, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn the_resource_wants_a_key_and_a_mock_without_rules_leaves_it_to_the_script() {
    let mock = start().await;
    let answer = Request::post(mock.url(), RESOURCE, cache().to_string()).send().await.expect("an answer");
    assert_eq!(answer.status, 403);
    let open = MockProvider::start_with(None).await.expect("a free port");
    open.enqueue(Reply::error(503, "overloaded"));
    assert_eq!(create(&open, &cache()).await.json()["error"]["status"], "UNAVAILABLE");
    assert_eq!(open.cached_contents(), [""; 0]);
}
