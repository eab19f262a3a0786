//! Cards: where they are found, what becomes of them, and whom credentials go to.

use std::sync::Arc;

use attache_a2a::{A2aAgent, A2aKey, A2aVersion};
use attache_agent::{Agent, EventKind};
use attache_core::tool::DynToolHandler;
use attache_core::{Arguments, Effect, ToolContext, ToolErrorKind};
use attache_testkit::{ScriptedModel, Turn};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::support::*;

fn text() -> Response {
    result(&message(&json!([{"text": "2031"}])))
}

// C35
#[tokio::test]
async fn a_card_becomes_one_tool_with_its_skills() {
    let fake = Fake::v1(false, |_, _| text()).await;
    let tools = DynToolHandler::tools(&fake.agent()).await.unwrap();
    let [tool] = &*tools else { panic!("{tools:?}") };
    assert_eq!(tool.definition.name(), "a2a_leases___ask");
    assert_eq!(
        tool.definition.description(),
        "Asks the agent Leases: Knows all leases.\nIts skills:\n- Find: Finds leases Example: The bakery?\n\
         - Draw up: Draws leases up"
    );
    assert_eq!(tool.metadata.effect, Effect::SideEffect);
    let members: Vec<_> = tool.definition.input_schema()["properties"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["message", "documents"]);
}

#[tokio::test]
async fn each_skill_may_be_a_tool() {
    let fake = Fake::v1(false, |_, _| text()).await;
    let agent = fake.agent().per_skill().only(["draw.up"]);
    let tools = DynToolHandler::tools(&agent).await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.definition.name()).collect();
    assert_eq!(names, ["a2a_leases___draw.up"]);
    let arguments = Arguments::new(r#"{"message":"go"}"#);
    DynToolHandler::call(&agent, "a2a_leases___draw.up", &arguments, ToolContext::new()).await.unwrap();
    assert_eq!(fake.asked()[0].params()["message"]["metadata"], json!({"skillId": "draw.up"}));
    for none in ["a2a_leases___find", "a2a_leases___ask", "a2a_other___draw.up", "draw.up"] {
        let error = DynToolHandler::call(&agent, none, &arguments, ToolContext::new()).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::UnknownTool, "{none}");
    }
}

#[tokio::test]
async fn a_card_is_found_at_the_older_place_and_at_an_address_of_its_own() {
    // Of version 0.2: the newer place is not there.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let base = url.clone();
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let base = base.clone();
        async move {
            match request.uri().path() {
                "/x/.well-known/agent.json" | "/cards/leases.json" => json_answer(&card_v0_3(&base, false)),
                "/" => result(
                    &json!({"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": "2031"}]}),
                ),
                _ => http::StatusCode::NOT_FOUND.into_response(),
            }
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    for place in ["/x", "/x/", "/cards/leases.json"] {
        let agent = A2aAgent::at("leases", format!("{url}{place}"));
        assert_eq!(ask(&agent).await.unwrap().tree.model_text(), "2031", "{place}");
    }
    let none = A2aAgent::at("leases", format!("{url}/y")).card().await.unwrap_err();
    assert_eq!(none.for_model(), "the agent \"leases\" has no card at its address");
}

#[tokio::test]
async fn credentials_go_to_the_origin_of_the_address_alone() {
    let elsewhere = Fake::v1(false, |_, _| text()).await;
    let other = elsewhere.url.clone();
    let card = move |_: &str| card_v1(&other, false);
    let fake = Fake::new(card, |_, _| text()).await;
    let agent = fake.agent().bearer("canary-token").header("x-api-key", "canary-key");
    // It is at an address that is not public, which the card of somebody else may not name.
    let error = ask(&agent).await.unwrap_err();
    assert!(error.for_model().contains("not public"), "{error}");
    assert!(elsewhere.all().is_empty());
    assert_eq!(fake.all()[0].headers["authorization"], "Bearer canary-token");

    ask(&agent.origin(&elsewhere.url)).await.unwrap();
    assert_eq!(elsewhere.asked()[0].headers["x-api-key"], "canary-key");
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed() {
    let elsewhere = Fake::v1(false, |_, _| text()).await;
    let to = format!("{}/", elsewhere.url);
    let fake = Fake::v1(false, move |asked, _| match &*asked.path {
        "/" => Response::builder()
            .status(307)
            .header("location", to.clone())
            .body(axum::body::Body::empty())
            .unwrap(),
        _ => text(),
    })
    .await;
    let error = ask(&fake.agent().bearer("canary-token")).await.unwrap_err();
    assert!(error.for_model().contains("status 307"), "{error}");
    assert!(elsewhere.all().is_empty());
    // Within its origin it is.
    let fake = Fake::v1(false, |asked, _| match &*asked.path {
        "/" => Response::builder()
            .status(308)
            .header("location", "/rpc")
            .body(axum::body::Body::empty())
            .unwrap(),
        _ => text(),
    })
    .await;
    ask(&fake.agent().bearer("canary-token")).await.unwrap();
    assert_eq!(fake.asked()[1].headers["authorization"], "Bearer canary-token");
}

#[tokio::test]
async fn a_card_without_a_signature_is_refused_where_keys_are_given() {
    let fake = Fake::v1(false, |_, _| text()).await;
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let agent = fake.agent().signed_by([A2aKey::from_jwk(&jwk).unwrap()]);
    let error = ask(&agent).await.unwrap_err();
    assert!(error.for_model().contains("none of the known keys has signed"), "{error}");
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn the_extended_card_is_asked_for_with_credentials() {
    let card = |url: &str| {
        let mut card = card_v1(url, false);
        card["capabilities"]["extendedAgentCard"] = json!(true);
        card
    };
    let fake = Fake::new(card, |asked, _| {
        let url = format!("http://{}", asked.headers["host"].to_str().unwrap());
        let mut more = card_v1(&url, false);
        more["skills"] =
            json!([{"id": "secret", "name": "Secret", "description": "For those who may", "tags": ["x"]}]);
        result(&more)
    })
    .await;
    let card = fake.agent().bearer("canary-token").card().await.unwrap();
    assert_eq!((card.skills.len(), &*card.skills[0].id), (1, "secret"));
    assert_eq!(fake.methods(), ["GetExtendedAgentCard"]);
    assert_eq!(fake.agent().card().await.unwrap().skills.len(), 2);
}

#[tokio::test]
async fn an_agent_that_speaks_no_known_way_says_so() {
    let card = |url: &str| {
        let mut card = card_v1(url, false);
        card["supportedInterfaces"] =
            json!([{"url": url, "protocolBinding": "GRPC", "protocolVersion": "1.0"}]);
        card
    };
    let fake = Fake::new(card, |_, _| text()).await;
    let error = fake.agent().card().await.unwrap_err();
    assert!(error.for_model().contains("it offers GRPC 1.0"), "{error}");
    let fake = Fake::v1(false, |_, _| text()).await;
    assert!(fake.agent().version(A2aVersion::V0_3).card().await.is_err());
    for alias in ["", "a_", "a___b"] {
        assert!(A2aAgent::at(alias, &fake.url).card().await.unwrap_err().for_model().contains("alias"));
    }
}

#[tokio::test]
async fn a_dead_agent_costs_its_own_tool_alone() {
    let fake = Fake::v1(false, |_, _| text()).await;
    let model =
        ScriptedModel::new([Turn::call("a2a_leases___ask", json!({"message": "go"})), Turn::text("2031")]);
    let dead = A2aAgent::at("dead", "http://127.0.0.1:1");
    let ours = Agent::builder(model).handler(dead).handler(fake.agent()).build().unwrap();
    let mut run = ours.run("Until when?");
    let (mut warned, mut text) = (false, String::new());
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Warning { code: "tools_unavailable", .. } => warned = true,
            EventKind::Finished(outcome) => text = outcome.unwrap().text,
            _ => {}
        }
    }
    assert!(warned);
    assert_eq!(text, "2031");
}

/// The address at which a document of an answer is read.
fn place(output: &attache_core::ToolOutput) -> String {
    let attache_core::DocumentSource::External { url } = output.documents[0].source() else {
        panic!("it is there")
    };
    url.to_string()
}

fn naming(url: &str) -> Response {
    result(
        &json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"url": url, "filename": "x.pdf"}]}}),
    )
}

/// A fetcher of a store elsewhere, which tells where it was led.
struct Elsewhere(std::sync::Mutex<Vec<String>>);

impl attache_core::fetcher::Fetcher for &'static Elsewhere {
    fn fetch<'a>(
        &'a self,
        url: &'a str,
    ) -> attache_core::BoxFuture<'a, Result<attache_core::fetcher::Fetched, attache_core::fetcher::FetchError>>
    {
        self.0.lock().unwrap().push(url.to_owned());
        Box::pin(async { Ok(attache_core::fetcher::Fetched::new(&b"%PDF-1.7 of the store"[..])) })
    }
}

// Such as a signed address of an object store.
#[tokio::test]
async fn a_file_that_its_agent_has_elsewhere_is_fetched_by_the_other_fetcher() {
    use attache_core::fetcher::Fetcher;
    static STORE: Elsewhere = Elsewhere(std::sync::Mutex::new(Vec::new()));
    let fake = Fake::v1(false, |_, _| {
        Response::builder()
            .status(302)
            .header("location", "https://store.example/x.pdf?signature=1")
            .body(axum::body::Body::empty())
            .unwrap()
    })
    .await;
    let fetcher = attache_a2a::A2aFetcher::new([fake.agent().bearer("canary-token")]).or(&STORE);
    let file = attache_transport::percent_encoded(format!("{}/files/x.pdf", fake.url).as_bytes());
    let fetched = fetcher.fetch(&format!("a2a-file://leases/{file}")).await.unwrap();
    assert_eq!(fetched.bytes, "%PDF-1.7 of the store");
    assert_eq!(*STORE.0.lock().unwrap(), ["https://store.example/x.pdf?signature=1"]);
}

// The agent that answers there now may be another version than the one whose card was read.
#[tokio::test]
async fn a_card_that_does_not_hold_any_more_is_read_anew() {
    let cards = |fake: &Fake| fake.all().iter().filter(|asked| asked.path.contains(".well-known")).count();
    let answers = [
        (error(-32601, "no such method"), 2),
        (error(-32009, "no such version"), 2),
        (http::StatusCode::NOT_FOUND.into_response(), 2),
        (error(-32603, "a bad day"), 1),
    ];
    for (refusal, expected) in answers {
        let refusal = std::sync::Mutex::new(Some(refusal));
        let fake = Fake::v1(false, move |_, _| refusal.lock().unwrap().take().unwrap_or_else(text)).await;
        let agent = fake.agent();
        ask(&agent).await.unwrap_err();
        ask(&agent).await.unwrap();
        assert_eq!(cards(&fake), expected);
        ask(&agent).await.unwrap();
        assert_eq!(cards(&fake), expected);
    }
}

// A card that is doubted holds until there is another one.
#[tokio::test]
async fn a_card_that_cannot_be_read_anew_holds() {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    let (is_new, is_old) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let cards = Arc::new(AtomicU32::new(0));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (base, there, old, count) = (url.clone(), is_new.clone(), is_old.clone(), cards.clone());
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let (base, count) = (base.clone(), count.clone());
        let (has_card, is_old) = (there.load(Ordering::Relaxed), old.load(Ordering::Relaxed));
        async move {
            let is_card = request.uri().path().contains(".well-known");
            count.fetch_add(u32::from(is_card), Ordering::Relaxed);
            match (is_card, has_card) {
                (true, true) => json_answer(&card_v1(&base, false)),
                (true, false) => http::StatusCode::SERVICE_UNAVAILABLE.into_response(),
                // It is of an older version while it is replaced.
                (false, _) if is_old => error(-32601, "no such method"),
                (false, _) => text(),
            }
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let agent = A2aAgent::at("leases", &url);
    ask(&agent).await.unwrap();
    is_new.store(false, Ordering::Relaxed);
    is_old.store(true, Ordering::Relaxed);
    ask(&agent).await.unwrap_err();
    is_old.store(false, Ordering::Relaxed);
    // The agent answers again, and its card is not there yet.
    let before = cards.load(Ordering::Relaxed);
    ask(&agent).await.unwrap();
    assert!(cards.load(Ordering::Relaxed) > before, "it was doubted");
    ask(&agent).await.unwrap();
}

// The address of a task that is not known is no other address of the agent.
#[tokio::test]
async fn a_task_that_is_not_known_is_no_reason_to_read_the_card() {
    let card = |url: &str| {
        let mut card = card_v1(url, false);
        card["supportedInterfaces"] =
            json!([{"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}]);
        card
    };
    let fake = Fake::new(card, |_, _| http::StatusCode::NOT_FOUND.into_response()).await;
    let agent = fake.agent();
    agent.card().await.unwrap();
    agent.poll("a2a://leases/t-1").await.unwrap_err();
    agent.cancel("a2a://leases/t-1").await.unwrap_err();
    agent.card().await.unwrap();
    assert_eq!(fake.all().iter().filter(|asked| asked.path.contains(".well-known")).count(), 1);
}

// A22: its token goes to its own place, and it goes there for its own word alone
#[tokio::test]
async fn files_of_an_agent_are_fetched_with_its_token_where_it_names_them_itself() {
    use attache_a2a::A2aFetcher;
    use attache_core::fetcher::Fetcher;
    let fake = Fake::v1(false, |asked, _| match asked.path.as_str() {
        "/files/x.pdf" => Response::builder()
            .header("content-type", "application/pdf")
            .header("content-disposition", "attachment; filename=\"lease.pdf\"")
            .body("%PDF-1.7".into())
            .unwrap(),
        "/files/elsewhere.pdf" => Response::builder()
            .status(302)
            .header("location", "http://127.0.0.1:1/x.pdf")
            .body(axum::body::Body::empty())
            .unwrap(),
        path if path.contains("files") => http::StatusCode::NOT_FOUND.into_response(),
        _ => naming(&format!("http://{}/files/x.pdf", asked.headers["host"].to_str().unwrap())),
    })
    .await;
    let own = format!("{}/files/x.pdf", fake.url);
    let seen = own.clone();
    let evil = Fake::v1(false, move |_, _| naming(&seen)).await;
    let agent = || fake.agent().bearer("canary-token");
    let hostile = A2aAgent::at("evil", &evil.url).bearer("other-canary");
    let fetcher = A2aFetcher::new([agent(), hostile.clone()]).or(attache_transport::GuardedFetcher::new());
    let files = |fake: &Fake| -> Vec<_> {
        fake.all().into_iter().filter(|asked| asked.path.contains("files")).collect()
    };

    let named = place(&ask(&agent()).await.unwrap());
    let fetched = fetcher.fetch(&named).await.unwrap();
    assert_eq!((&*fetched.bytes, fetched.file_name.as_deref()), (&b"%PDF-1.7"[..], Some("lease.pdf")));
    assert_eq!(files(&fake)[0].headers["authorization"], "Bearer canary-token");

    // Another agent, a tool or a user who names it has it read with nobody's token, and not at a private address.
    let named = {
        let arguments = Arguments::new(json!({"message": "The bakery?"}).to_string());
        let asked = DynToolHandler::call(&hostile, "a2a_evil___ask", &arguments, ToolContext::new());
        place(&asked.await.unwrap())
    };
    assert_eq!(named, own);
    assert!(fetcher.fetch(&named).await.is_err());
    // No alias opens what is not that agent's, and no redirect leads elsewhere with a token.
    let encoded = |alias: &str, url: &str| {
        format!("a2a-file://{alias}/{}", attache_transport::percent_encoded(url.as_bytes()))
    };
    for forged in [encoded("evil", &own), encoded("nobody", &own), encoded("leases", &evil.url)] {
        assert!(fetcher.fetch(&forged).await.is_err(), "{forged}");
    }
    assert_eq!((files(&fake).len(), files(&evil).len()), (1, 0));
    for file in ["files/missing.pdf", "files/elsewhere.pdf"] {
        assert!(fetcher.fetch(&encoded("leases", &format!("{}/{file}", fake.url))).await.is_err());
    }
    // An agent whose place is below a path is not the one beside it.
    let below = A2aAgent::at("leases", format!("{}/tenant", fake.url)).bearer("canary-token");
    assert!(A2aFetcher::new([below]).fetch(&encoded("leases", &own)).await.is_err());
    assert_eq!(files(&fake).iter().filter(|asked| asked.path == "/files/x.pdf").count(), 1);
}
