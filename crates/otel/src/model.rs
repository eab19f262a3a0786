//! A model with a span for each request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use attache_core::provider::ProviderState;
use attache_core::tool::SchemaReport;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, LlmProvider, ModelCapabilities, ModelHandle, ModelSettings,
    ProviderError, StreamChunk, ToolSet,
};
use futures_core::Stream;
use opentelemetry::Context;

use crate::chat::{Asked, ChatCall};
use crate::telemetry::Telemetry;

impl Telemetry {
    /// Wraps a model with a span for each request. It is for programs that call models themselves, and for use inside
    /// layers that call a model several times, such as a retry or a fallback, where the agent's single span of a
    /// request then becomes one span per attempt.
    pub fn model(&self, model: impl Into<ModelHandle>) -> ModelHandle {
        ModelHandle::new(TracedModel { telemetry: self.clone(), inner: model.into() })
    }
}

struct TracedModel {
    telemetry: Telemetry,
    inner: ModelHandle,
}

impl LlmProvider for TracedModel {
    fn model_id(&self) -> &str {
        self.inner.id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.inner.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.inner.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.inner.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.inner.state()
    }

    fn fallbacks(&self) -> Vec<&str> {
        self.inner.fallbacks()
    }

    fn check_tools(&self, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        self.inner.check_tools(tools, options)
    }

    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        self.inner.count_tokens(request)
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let asking = Asking::New(Box::new((self.telemetry.clone(), self.inner.clone(), request)));
        Box::pin(TracedStream(asking))
    }
}

/// Lazy, as the stream inside is: nothing begins before the first poll.
struct TracedStream(Asking);

enum Asking {
    New(Box<(Telemetry, ModelHandle, ChatRequest)>),
    /// The request of somebody around, and this is an attempt at it.
    Attempt(Arc<ChatCall>, ChunkStream),
    Own(Arc<ChatCall>, ChunkStream),
    Over,
}

impl Stream for TracedStream {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        if let Asking::New(new) = &mut self.0 {
            let (telemetry, model, request) = &**new;
            let asked = Asked::new(model, request);
            let (call, is_own) = match ChatCall::current() {
                Some(around) => {
                    around.begin_attempt(Some(asked));
                    (around, false)
                }
                None => (ChatCall::begin(telemetry, Context::current(), asked, request), true),
            };
            let entered = call.context().attach();
            let stream = model.stream(request.clone());
            drop(entered);
            self.0 = if is_own { Asking::Own(call, stream) } else { Asking::Attempt(call, stream) };
        }
        match &mut self.0 {
            Asking::Own(call, stream) => {
                let entered = call.context().attach();
                let polled = stream.as_mut().poll_next(task);
                drop(entered);
                if let Poll::Ready(Some(chunk)) = &polled {
                    call.chunk(chunk.as_ref());
                }
                polled
            }
            Asking::Attempt(call, stream) => {
                let entered = call.context().attach();
                let polled = stream.as_mut().poll_next(task);
                drop(entered);
                if let Poll::Ready(Some(Err(error))) = &polled {
                    call.fail_attempt(error.kind().as_str());
                }
                polled
            }
            Asking::New(_) | Asking::Over => Poll::Ready(None),
        }
    }
}

impl Drop for TracedStream {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.0, Asking::Over) {
            Asking::Own(call, stream) => {
                let entered = call.context().attach();
                drop(stream);
                drop(entered);
                call.over();
            }
            Asking::Attempt(call, stream) => {
                let _entered = call.context().attach();
                drop(stream);
            }
            Asking::New(_) | Asking::Over => {}
        }
    }
}
