//! The request that is answered at the moment.

use std::future::Future;
use std::sync::Arc;

use attache_agent::RunOptions;
use http::{HeaderMap, HeaderValue, Method};
use tracing::Instrument as _;

tokio::task_local! {
    static ID: Arc<str>;
    static CONTEXT: (ContextHook, HeaderMap);
}

/// Gives runs something of the request that they answer.
pub(crate) type ContextHook = Arc<dyn Fn(&HeaderMap, RunOptions) -> RunOptions + Send + Sync>;

/// Answers a request: the hook sees its headers wherever it begins a run, or goes on with one.
pub(crate) async fn with_context<T>(
    hook: Option<(&ContextHook, HeaderMap)>,
    answer: impl Future<Output = T>,
) -> T {
    match hook {
        Some((hook, headers)) => CONTEXT.scope((Arc::clone(hook), headers), answer).await,
        None => answer.await,
    }
}

/// The options of a run with that which the request brings.
pub(crate) fn in_context(options: RunOptions) -> RunOptions {
    match CONTEXT.try_with(Clone::clone) {
        Ok((hook, headers)) => hook(&headers, options),
        Err(_) => options,
    }
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
