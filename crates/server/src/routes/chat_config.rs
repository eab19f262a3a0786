//! The facts that a chat in a browser asks for first.

use std::sync::Arc;

use attache_agent::Prices;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::answer::json;
use super::asked::Model;
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
