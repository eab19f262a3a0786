//! The facts that a chat in a browser asks for first.

use std::collections::HashSet;
use std::sync::Arc;

use attache_agent::{Agent, Prices};
use attache_core::MediaType;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::body_and_agent::Model;
use super::json_answer::json;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::fault::Fault;
use crate::inbound::place::Query;
use crate::json::Object;

/// Says how a chat introduces itself, and what the server and the key of the request allow.
pub(crate) async fn config(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let hosted = app.hosted(model.model.as_deref())?;
    let about = app.agents.introduction();
    let may_run = principal.may(Scope::Run);
    let mut body = Vec::new();
    Object::begin(&mut body)
        .with("title", about.title.as_deref().unwrap_or(&hosted.name))
        .with("greeting", &about.greeting)
        .with("examples", &about.examples)
        .with("model", &*hosted.name)
        .maybe("currency", hosted.agent().prices().map(Prices::currency))
        .each("models", app.agents.names(), |name, out| crate::json::write(out, &*name))
        .by("limits", |out| {
            Object::begin(out)
                .with("bodyBytes", &app.limits.body)
                .with("uploadBytes", &app.limits.upload)
                .with("uploadTypes", &upload_types(&app.limits.upload_types, hosted.agent()))
                .end();
        })
        .by("features", |out| {
            Object::begin(out)
                .with("sessions", &true)
                .with("rename", &may_run)
                .with("fork", &may_run)
                .with("search", &true)
                .with("previews", &cfg!(feature = "previews"))
                .with("pageImages", &cfg!(feature = "previews"))
                .with("approvals", &principal.may(Scope::Approve))
                .with("uploads", &may_run)
                .end();
        })
        .end();
    Ok(json(body))
}

/// The files that a chat offers to attach, as the attribute `accept` of HTML names them, by their types and their endings:
/// those that the server takes, and, where it takes all, those that the model reads.
fn upload_types(taken: &[String], agent: &Agent) -> Vec<String> {
    let mut types = taken.to_vec();
    if taken.is_empty() && MediaType::parse("text/plain").is_some_and(|text| agent.reads(&text)) {
        types.push("text/*".to_owned());
    }
    for (ending, media_type) in MediaType::extensions() {
        let is_taken = match taken {
            [] => agent.reads(&media_type),
            taken => taken.iter().any(|pattern| media_type.matches(pattern)),
        };
        if is_taken {
            types.push(format!(".{ending}"));
            types.push(media_type.essence().to_owned());
        }
    }
    let mut known = HashSet::new();
    types.retain(|name| known.insert(name.clone()));
    types
}
