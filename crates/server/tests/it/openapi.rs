//! The description of the routes, held against the routes.

use std::collections::BTreeSet;

use attache_agent::{Agent, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{Document, ToolError};
use attache_testkit::Turn;
use axum::body::Body;
use http::{Request, StatusCode, header};
use serde_json::{Value, json};

use crate::common::{Client, Stage, server, value};

type Routes = BTreeSet<(String, String)>;

/// The methods and paths of the description.
fn described(description: &Value) -> Routes {
    let paths = description["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
        })
        .collect()
}

/// The methods and paths of the router: it shows its paths for debugging, and each of them names its methods. Pages and
/// what belongs to them are no part of the API, and neither is the place of everything that is no route.
async fn routed(base: &str) -> Routes {
    let router = server(Agent::builder(Stage::new([]))).base_path(base).router();
    let shown = format!("{router:?}");
    let is_api = |path: &&str| {
        let inside = path.strip_prefix(base);
        inside.is_some_and(|path| path.starts_with("/v1/") || ["/metrics", "/openapi.json"].contains(&path))
    };
    let paths: BTreeSet<String> = shown.split('"').filter(is_api).map(str::to_owned).collect();
    let client = Client::new(server(Agent::builder(Stage::new([]))).base_path(base));
    let mut routes = Routes::new();
    for path in paths {
        let request = Request::builder().method("STRANGE").uri(path.replace(['{', '}'], ""));
        let response = client.send(request, Body::empty()).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        let methods = response.headers()[header::ALLOW].to_str().unwrap().to_owned();
        // The answer to HEAD is that to GET without its body.
        for method in methods.split(',').filter(|method| *method != "HEAD") {
            routes.insert((method.to_owned(), path.clone()));
        }
    }
    routes
}

#[tokio::test]
async fn every_route_is_described_and_every_description_is_a_route() {
    for base in ["", "/agents"] {
        let client = Client::new(server(Agent::builder(Stage::new([]))).base_path(base));
        let description = client.got(&format!("{base}/openapi.json")).await;
        assert_eq!(description["openapi"], "3.1.0");
        let base_told = description["servers"][0]["url"].as_str().unwrap().trim_end_matches('/').to_owned();
        let told: Routes = described(&description)
            .into_iter()
            .map(|(method, path)| (method, format!("{base_told}{path}")))
            .collect();
        let there = routed(base).await;
        let lacking: Vec<_> = there.difference(&told).collect();
        assert!(lacking.is_empty(), "openapi.json does not describe {lacking:?}");
        let made_up: Vec<_> = told.difference(&there).collect();
        assert!(made_up.is_empty(), "openapi.json describes {made_up:?}, which are no routes");
        assert!(there.len() > 25, "{there:?}");
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_every_part_is_used() {
    let description = Client::of([]).got("/openapi.json").await;
    let text = description.to_string();
    let used: BTreeSet<&str> =
        text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for place in &used {
        assert!(description.pointer(place).is_some(), "{place} is nowhere");
    }
    for kind in ["schemas", "parameters", "responses"] {
        for name in description["components"][kind].as_object().unwrap().keys() {
            let place = format!("/components/{kind}/{name}");
            assert!(used.contains(place.as_str()), "{place} is not used");
        }
    }
    let mut ids = BTreeSet::new();
    for item in description["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{id} is there twice");
        }
    }
}

// A generated client sends what the description names, and the guide says what a turn has.
#[tokio::test]
async fn a_turn_has_the_members_of_the_guide() {
    let guide = include_str!("../../../../docs/guide/server.md");
    let (_, named) = guide.split_once("A turn is `{").unwrap();
    let named: BTreeSet<&str> = named.split_once('}').unwrap().0.split(", ").collect();
    let client = Client::new(server(Agent::builder(Stage::new([]))));
    let description = client.got("/openapi.json").await;
    let told = description["components"]["schemas"]["Turn"]["properties"].as_object().unwrap();
    assert_eq!(told.keys().map(String::as_str).collect::<BTreeSet<_>>(), named);
}

/// The places at which an answer has a member that its schema does not name, or lacks one that it has to have.
fn apart(description: &Value, schema: &Value, answer: &Value, place: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = description.pointer(reference.trim_start_matches('#')).unwrap();
        return apart(description, schema, answer, place);
    }
    let inner = |schema: &Value, answer: &Value, step: &str| {
        apart(description, schema, answer, &format!("{place}/{step}"))
    };
    match (answer, schema.get("properties")) {
        (Value::Object(members), Some(known)) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let lacks = required.filter(|name| !members.contains_key(*name));
            let lacks = lacks.map(|name| format!("{place}/{name} is not there"));
            let told = members.iter().flat_map(|(name, member)| match known.get(name) {
                Some(schema) => inner(schema, member, name),
                None => vec![format!("{place}/{name} is not described")],
            });
            lacks.chain(told).collect()
        }
        (Value::Array(items), _) => {
            items.iter().flat_map(|item| inner(&schema["items"], item, "*")).collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn answers_have_the_members_of_their_description() {
    let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let sound = Document::from_bytes(&b"RIFF0000WAVE"[..], "audio/wav").with_file_name("word.wav");
    let later = tool_fn("later", "Answers later.", || Ok::<_, ToolError>(Deferred::ask("How many?")));
    let stage = Stage::new([Turn::text("Here.").making(picture).making(sound), Turn::call("later", "{}")]);
    let client = Client::new(server(Agent::builder(stage).tool(later)));
    let description = client.got("/openapi.json").await;
    let told = |path: &str, method: &str, answer: &Value| {
        let place = format!(
            "/paths/{}/{method}/responses/200/content/application~1json/schema",
            path.replace('/', "~1")
        );
        let schema = description.pointer(&place).unwrap();
        assert_eq!(apart(&description, schema, answer, ""), Vec::<String>::new(), "{path}: {answer}");
    };
    let asked = json!({"model": "papers", "messages": [{"role": "user", "content": "Draw."}]});
    let whole = value(client.chat(asked).await).await;
    assert!(whole["choices"][0]["message"]["images"].is_array());
    told("/v1/chat/completions", "post", &whole);
    let run = client.run("s", "Ask.").await;
    client.ended(&run).await;
    let session = client.got("/v1/sessions/s").await;
    assert_eq!(session["deferred"][0]["prompt"], "How many?", "{session}");
    told("/v1/sessions/{id}", "get", &session);
    told("/v1/sessions", "get", &client.got("/v1/sessions").await);
    let request = Request::builder().method("POST").uri("/v1/documents?name=rain.csv");
    let uploaded = value(client.send(request, "day,rain\n1,2\n").await).await;
    let id = uploaded["id"].as_str().unwrap();
    let text = client.got(&format!("/v1/documents/{id}/text")).await;
    assert!(text["pages"][0]["text"].is_string());
    told("/v1/documents/{id}/text", "get", &text);
    let upload = &description["paths"]["/v1/documents"]["post"]["responses"];
    assert!(upload["415"].is_object(), "an upload of a type that the server does not take");
}
