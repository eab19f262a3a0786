//! The beginning of each request about an agent: its body, and the agent that it names.

use axum::body::Body;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::agents::Hosted;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::fault::Fault;
use crate::inbound::body;

/// The agent that a request is about, behind the question mark.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Model {
    pub(super) model: Option<String>,
}

/// A request for an answer. The room of its body is freed before the run begins, if the body is no longer needed.
pub(super) struct Request<T> {
    pub(super) said: T,
    pub(super) hosted: Hosted,
    /// The body, for those that repeat of it what nobody reads.
    pub(super) bytes: Bytes,
}

/// Reads a request for an answer of the agent that it names, else of the first one.
pub(super) async fn read<T: DeserializeOwned>(
    app: &App,
    principal: &Principal,
    request: Body,
    model: impl FnOnce(&T) -> Option<&str>,
) -> Result<Request<T>, Fault> {
    allow(principal, Scope::Run)?;
    let bytes = body::bytes(&app.bodies, principal, request, app.limits.body).await?;
    let said: T = body::json(&bytes)?;
    let hosted = app.hosted(model(&said))?;
    Ok(Request { said, hosted, bytes: bytes.clone() })
}

/// Reads a request for an answer in a dialect whose requests always name the agent.
pub(super) async fn read_named<T: DeserializeOwned>(
    app: &App,
    principal: &Principal,
    request: Body,
    model: impl FnOnce(&T) -> &str,
) -> Result<Request<T>, Fault> {
    let mut is_missing = false;
    let asked = read(app, principal, request, |said| {
        let model = model(said);
        is_missing = model.is_empty();
        Some(model)
    });
    let asked = asked.await?;
    match is_missing {
        true => Err(Fault::invalid("the model is missing").at("model")),
        false => Ok(asked),
    }
}
