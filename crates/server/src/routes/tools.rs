//! The tools of an agent.

use std::sync::Arc;

use attache_agent::{RunOptions, ToolManager};
use attache_core::tool::ToolSpec;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::body_and_agent::Model;
use super::json_answer::json;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::fault::Fault;
use crate::inbound::place::{Path, Query};
use crate::json::Object;
use crate::request;

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let manager = offered(&app, model.model.as_deref()).await?;
    let mut body = Vec::new();
    Object::begin(&mut body).each("tools", manager.specs(), |(_, spec), out| summary(spec, out).end()).end();
    Ok(json(body))
}

pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let manager = offered(&app, model.model.as_deref()).await?;
    let found = manager.specs().find(|(_, spec)| spec.definition.name() == name);
    let (_, spec) = found.ok_or_else(|| Fault::not_found("tool"))?;
    let mut body = Vec::new();
    summary(spec, &mut body)
        .with("parameters", spec.definition.input_schema())
        .maybe("result", spec.definition.output_schema())
        .with("produces", &spec.metadata.produces)
        .end();
    Ok(json(body))
}

/// The tools of a run that this request would begin: the agent's, and those that the program around the server gives
/// whoever asks.
async fn offered(app: &App, model: Option<&str>) -> Result<ToolManager, Fault> {
    let options = request::in_context(RunOptions::new());
    let hosted = &app.hosted(model)?;
    hosted.agent().tool_manager_with(&options).await.map_err(|error| Fault::internal(&error))
}

fn summary<'o>(spec: &ToolSpec, out: &'o mut Vec<u8>) -> Object<'o> {
    Object::begin(out)
        .with("name", spec.definition.name())
        .with("description", spec.definition.description())
        .with("effect", &spec.metadata.effect)
        .with("approval", &spec.metadata.approval)
}
