//! Asking again.

use std::time::Duration;

use attache_core::{ChatRequest, ChunkStream, ModelHandle};
use attache_transport::{RetryPolicy, Trying};
use futures_util::StreamExt;

use super::Layer;
use super::earlier::Earlier;

/// Asks again after a retryable error, before the first chunk was handed out. (P26)
///
/// Providers over HTTP do so by themselves; this is for those that do not, and for a policy around several layers.
#[derive(Clone, Debug)]
pub struct Retry {
    policy: RetryPolicy,
    total: Duration,
}

impl Retry {
    /// Retries by `policy`, all attempts and waits within an hour.
    pub fn new(policy: RetryPolicy) -> Self {
        Self { policy, total: Duration::from_secs(3600) }
    }

    /// Sets how long all attempts and waits may take.
    #[must_use]
    pub fn with_total(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }
}

impl Layer for Retry {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (inner, policy, total) = (inner.clone(), self.policy.clone(), self.total);
        Box::pin(async_stream::stream! {
            let mut trying = Trying::new(&policy, total);
            let mut handed_out = false;
            let mut lost = Earlier::default();
            loop {
                let mut stream = inner.stream(request.clone());
                let mut wait = None;
                while let Some(chunk) = stream.next().await {
                    match chunk {
                        Err(error) if !handed_out => {
                            wait = trying.next_wait(&error);
                            match wait {
                                Some(_) => lost.add_failed(inner.id(), &error),
                                None => yield lost.told(Err(error), inner.id(), inner.id()),
                            }
                        }
                        chunk => {
                            handed_out = true;
                            yield lost.told(chunk, inner.id(), inner.id());
                        }
                    }
                }
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => return,
                }
            }
        })
    }
}
