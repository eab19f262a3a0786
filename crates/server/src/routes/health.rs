//! The health of the server: it lives, and takes requests.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;

use super::json_answer::json;
use crate::app::App;

/// Answers that the process is alive.
pub(crate) async fn live() -> Response {
    json(b"{\"status\":\"ok\"}".to_vec())
}

/// It takes requests: it does not stop, and its sessions can be read.
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Response {
    let problem = match app.runs.is_closed() {
        true => Some("stopping"),
        false => {
            let mut reachable = true;
            for hosted in app.agents.all() {
                // Nobody is called so.
                let counted = hosted.sessions.count("attache health").await;
                reachable &= counted.is_ok();
            }
            (!reachable).then_some("sessions cannot be read")
        }
    };
    match problem {
        None => json(b"{\"status\":\"ready\"}".to_vec()),
        Some(problem) => {
            let body = format!("{{\"status\":\"unavailable\",\"reason\":\"{problem}\"}}");
            (StatusCode::SERVICE_UNAVAILABLE, json(body.into_bytes())).into_response()
        }
    }
}
