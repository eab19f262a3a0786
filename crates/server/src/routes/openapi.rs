//! `GET /openapi.json`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};

use crate::app::App;

/// The description of the routes. It is for whoever may ask anything.
pub(crate) async fn document(State(app): State<Arc<App>>) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (kind, Body::from(app.description.clone())).into_response()
}
