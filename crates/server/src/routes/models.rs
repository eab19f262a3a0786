//! The agents, as clients of OpenAI and of Anthropic list models.

use std::sync::Arc;

use attache_core::calendar::to_rfc3339;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::json_answer::json;
use crate::agents::Hosted;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::fault::Fault;
use crate::inbound::place::Path;
use crate::json::Object;

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let mut body = Vec::new();
    Object::begin(&mut body)
        .with("object", "list")
        .each("data", app.agents.all(), |hosted, out| write(&hosted, app.since, out))
        .end();
    Ok(json(body))
}

pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let mut body = Vec::new();
    write(&app.hosted(Some(&id))?, app.since, &mut body);
    Ok(json(body))
}

fn write(hosted: &Hosted, since: u64, out: &mut Vec<u8>) {
    Object::begin(out)
        .with("id", &*hosted.name)
        .with("object", "model")
        .with("created", &since)
        .with("owned_by", "attache")
        .with("type", "model")
        .with("display_name", &*hosted.name)
        .maybe("created_at", to_rfc3339(since.saturating_mul(1000)).as_ref())
        .end();
}
