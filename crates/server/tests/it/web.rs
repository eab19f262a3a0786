//! The files of the chat.

use attache_agent::{Agent, MemorySessions, Sessions};
use attache_server::Server;
use attache_testkit::ScriptedModel;
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{Request, StatusCode, header};
use std::sync::Arc;
use tower_service::Service as _;

use crate::common::text;

fn app() -> Server {
    let agent = Agent::builder(ScriptedModel::new([])).build().unwrap();
    Server::new("papers", Sessions::new(agent, Arc::new(MemorySessions::new())))
}

async fn got(router: &Router, path: &str, fields: &[(&str, &str)]) -> Response {
    let mut request = Request::builder().uri(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    router.clone().call(request.body(Body::empty()).unwrap()).await.unwrap()
}

// A70, A71
#[tokio::test]
async fn the_chat_is_served_where_it_is_switched_on_alone() {
    let off = app().router();
    for path in ["/", "/attache-chat.js", "/words/de.json"] {
        assert_eq!(got(&off, path, &[]).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let on = app().web(true).router();
    let page = got(&on, "/", &[]).await;
    assert_eq!(page.status(), StatusCode::OK);
    assert_eq!(page.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
    let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let page = text(page).await;
    assert!(page.contains("src=\"/attache-chat.js\"") && !page.contains("{base}"), "{page}");
    for path in ["/words/xx.json", "/words/..%2Findex.html", "/index.html", "/manifest.json"] {
        assert_eq!(got(&on, path, &[]).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

// A70
#[tokio::test]
async fn the_page_knows_the_path_under_which_it_stands() {
    let router = app().web(true).base_path("/agents/\"a\"").router();
    let page = text(got(&router, "/agents/%22a%22", &[]).await).await;
    assert!(!page.contains("\"a\""), "{page}");
    let router = app().web(true).base_path("agents").router();
    let page = text(got(&router, "/agents", &[]).await).await;
    assert!(page.contains("src=\"/agents/attache-chat.js\""), "{page}");
    assert_eq!(got(&router, "/agents/attache-chat.js", &[]).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_script_is_packed_for_who_takes_it_and_kept_by_its_tag() {
    let router = app().web(true).router();
    let whole = got(&router, "/attache-chat.js", &[]).await;
    assert!(!whole.headers().contains_key(header::CONTENT_ENCODING));
    assert_eq!(whole.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    let tag = whole.headers()[header::ETAG].to_str().unwrap().to_owned();
    let packed = got(&router, "/attache-chat.js", &[("accept-encoding", "gzip, deflate")]).await;
    assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
    assert_eq!(packed.headers()[header::VARY], "accept-encoding");
    let bytes = axum::body::to_bytes(packed.into_body(), 1 << 20).await.unwrap();
    // All that a page loads before the chat is there.
    assert!((10_000..75_000).contains(&bytes.len()), "{}", bytes.len());
    let known = got(&router, "/attache-chat.js", &[("if-none-match", &tag)]).await;
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn the_page_is_framed_by_origins_that_are_named_alone() {
    let frames = [
        (vec![], "'none'"),
        (vec!["https://shop.example"], "https://shop.example"),
        (vec!["http://[::1]:8080", "https://b.example:8443"], "http://[::1]:8080 https://b.example:8443"),
        // Nothing that says something else in a policy, or to everybody.
        (vec!["https://a.example; script-src *"], "'none'"),
        (vec!["https://a.example *", "*", "https:", "https://", "javascript://a", "'self'"], "'none'"),
        (vec!["https://a.example/path", "https://b.example"], "https://b.example"),
    ];
    for (origins, wanted) in frames {
        let server = origins.iter().fold(app().web(true), |server, origin| server.allow_frame(*origin));
        let router = server.base_path("agents").router();
        for path in ["/agents", "/agents/"] {
            let page = got(&router, path, &[]).await;
            let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            let (rest, ancestors) = policy.split_once("; frame-ancestors ").unwrap();
            assert_eq!(ancestors, wanted, "{origins:?}");
            assert!(rest.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
            // The older header knows all or nobody.
            let older = page.headers().get(header::X_FRAME_OPTIONS);
            assert_eq!(older.is_some_and(|value| value == "DENY"), wanted == "'none'", "{origins:?}");
        }
        // A file that is no page is framed by nobody.
        let script = got(&router, "/agents/attache-chat.js", &[]).await;
        assert_eq!(script.headers()[header::X_FRAME_OPTIONS], "DENY");
    }
}
