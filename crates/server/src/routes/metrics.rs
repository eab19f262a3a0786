//! `GET /metrics`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};

use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::fault::Fault;
use crate::record::Gauges;

/// The numbers of the server, which are of all principals: a key must name the scope for it.
pub(crate) async fn metrics(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Fault> {
    if !app.auth.is_local() {
        allow(&principal, Scope::Metrics)?;
    }
    let (runs, viewers, ring_bytes) = app.runs.numbers();
    let text = app.record.metrics.text(Gauges { runs, viewers, ring_bytes, since: app.since });
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
