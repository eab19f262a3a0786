//! So many calls at once.

use std::sync::Arc;

use attache_core::{ChatRequest, ChunkStream, ErrorKind, ModelHandle, ProviderError};
use futures_util::StreamExt;
use tokio::sync::Semaphore;

use super::Layer;

/// Lets so many calls run at once; others wait in order. A call counts from its first poll until its stream ends or is
/// dropped. Clones share the limit.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    calls: Arc<Semaphore>,
}

impl ConcurrencyLimit {
    /// At most `calls` at once, at least one.
    pub fn new(calls: usize) -> Self {
        Self { calls: Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS))) }
    }
}

impl Layer for ConcurrencyLimit {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (inner, calls) = (inner.clone(), Arc::clone(&self.calls));
        Box::pin(async_stream::stream! {
            let Ok(_running) = calls.acquire_owned().await else {
                // Nobody closes it.
                yield Err(ProviderError::new(ErrorKind::Closed, "the limit on calls was closed"));
                return;
            };
            let mut stream = inner.stream(request);
            while let Some(chunk) = stream.next().await {
                yield chunk;
            }
        })
    }
}
