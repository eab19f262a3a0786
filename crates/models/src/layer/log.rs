//! Events, without the texts of the conversation.

use attache_core::{ChatRequest, ChunkStream, ModelHandle, StreamChunk};
use futures_util::StreamExt;
use tokio::time::Instant;

use super::Layer;

/// Writes one `tracing` event per call, `model call ended`, at level INFO, or WARN for a failure: the model, how much
/// was asked and read, how long it took to the first chunk and to the end, tokens, and why it ended. A stream that is
/// dropped before its end is told as `dropped`. Nothing of what was said, and no key, is in it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Logged;

impl Logged {
    /// Logs every call.
    pub fn new() -> Self {
        Self
    }
}

/// One call; it is told when it is dropped, so that a call that nobody reads to its end is told too.
struct Call {
    model: String,
    messages: usize,
    tools: usize,
    started: Instant,
    first_chunk: Option<u64>,
    told: bool,
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Layer for Logged {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let inner = inner.clone();
        Box::pin(async_stream::stream! {
            let mut call = Call {
                model: inner.id().to_owned(),
                messages: request.messages.len(),
                tools: request.tools.len(),
                started: Instant::now(),
                first_chunk: None,
                told: false,
            };
            let mut stream = inner.stream(request);
            while let Some(chunk) = stream.next().await {
                call.first_chunk.get_or_insert_with(|| millis(call.started));
                match &chunk {
                    Ok(StreamChunk::Done(completion)) => {
                        call.told = true;
                        tracing::info!(
                            model = call.model,
                            messages = call.messages,
                            tools = call.tools,
                            first_chunk_ms = call.first_chunk,
                            elapsed_ms = millis(call.started),
                            finish_reason = completion.finish_reason.as_str(),
                            input_tokens = completion.usage.input_tokens,
                            cached_tokens = completion.usage.cached_tokens,
                            output_tokens = completion.usage.output_tokens,
                            degradations = completion.degradations.len(),
                            "model call ended"
                        );
                    }
                    Err(error) => {
                        call.told = true;
                        tracing::warn!(
                            model = call.model,
                            messages = call.messages,
                            tools = call.tools,
                            elapsed_ms = millis(call.started),
                            error = error.kind().as_str(),
                            status = error.status(),
                            code = error.code(),
                            request_id = error.request_id(),
                            input_tokens = error.usage().and_then(|usage| usage.input_tokens),
                            output_tokens = error.usage().and_then(|usage| usage.output_tokens),
                            "model call ended"
                        );
                    }
                    Ok(_) => {}
                }
                yield chunk;
            }
        })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.told {
            let (model, elapsed_ms) = (&self.model, millis(self.started));
            tracing::info!(model, elapsed_ms, finish_reason = "dropped", "model call ended");
        }
    }
}
