//! The request that is answered at the moment.

use std::future::Future;
use std::sync::Arc;

use http::{HeaderValue, Method};
use tracing::Instrument as _;

tokio::task_local! {
    static ID: Arc<str>;
}

/// Answers a request: its id is known meanwhile, also to everything that is logged.
pub(crate) async fn during<T>(id: &HeaderValue, method: &Method, answer: impl Future<Output = T>) -> T {
    let id: Arc<str> = id.to_str().unwrap_or_default().into();
    let span = tracing::info_span!("request", id = &*id, %method);
    ID.scope(id, answer).instrument(span).await
}

/// The id of the request that is answered here, if one is.
pub(crate) fn id() -> Option<Arc<str>> {
    ID.try_with(Arc::clone).ok()
}
