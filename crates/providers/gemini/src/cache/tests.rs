use attache_conformance::{MockProvider, Reply};
use attache_core::{LlmProvider, Message, ModelHandle};

use super::*;
use crate::codec::Gemini;

async fn ask(model: &Gemini, policy: CachePolicy) {
    let settings = ModelSettings::new().with_cache(policy).with_system("Read the manual. ".repeat(2_000));
    let request = ChatRequest::new([Message::user("Well?").shared()]).with_settings(settings);
    ModelHandle::collect(model.stream(request)).await.unwrap();
}

// P29: what is used lives on
#[tokio::test]
async fn what_is_about_to_end_is_prolonged() {
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with(|_| Reply::new().text("Yes."));
    let model = Gemini::new("gemini-2.5-flash", "k").unwrap().with_base_url(mock.url());
    let soon = |seconds| model.codec().caches.end_at(Instant::now() + Duration::from_secs(seconds));
    ask(&model, CachePolicy::Long).await;
    soon(100);
    ask(&model, CachePolicy::Long).await;
    ask(&model, CachePolicy::Long).await;
    let requests = mock.requests();
    let methods: Vec<&str> = requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(methods, ["POST", "POST", "PATCH", "POST", "POST"], "once, and then it lives on");
    assert_eq!(requests[2].uri.query(), Some("updateMask=ttl"));
    assert_eq!(requests[2].json()["ttl"], "3600s");
    // A cache that was deleted meanwhile is found out, and one that has nearly ended is not relied upon.
    mock.expire_cached_contents();
    soon(100);
    ask(&model, CachePolicy::Long).await;
    assert_eq!(mock.cached_contents().len(), 1);
    soon(1);
    ask(&model, CachePolicy::Long).await;
    assert_eq!(mock.cached_contents().len(), 2);
    assert_eq!(model.state().failures, 0);
}
