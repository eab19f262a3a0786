//! One model call from request to last chunk.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use attache_core::provider::StateCell;
use attache_core::{BoxFuture, ChunkStream, ErrorKind, ProviderError, StreamChunk, Usage};
use futures_core::Stream;
use tokio::time::Instant;

use crate::auth::Authorizer;
use crate::client::{HttpClient, Reply};
use crate::error::{ErrorReader, ErrorResponse, with_response};
use crate::redact::shown_url;
use crate::reply::{ChunkSink, Decoder};
use crate::request::RequestParts;
use crate::retry::{RetryPolicy, Trying};

/// A request and what reads its answers.
pub struct Exchange {
    request: RequestParts,
    decoder: Box<dyn Fn() -> Box<dyn Decoder> + Send>,
    read_error: ErrorReader,
    retry: RetryPolicy,
    authorizer: Option<Arc<dyn Authorizer>>,
    recovery: Option<Recovery>,
}

/// Makes the exchange anew after an error, if that may mend it.
type Recovery =
    Box<dyn FnOnce(&ProviderError) -> Option<BoxFuture<'static, Result<Exchange, ProviderError>>> + Send>;

impl Exchange {
    /// An exchange with the default retries and the common error shapes. `decoder` makes a fresh decoder for each
    /// attempt.
    pub fn new(mut request: RequestParts, decoder: impl Fn() -> Box<dyn Decoder> + Send + 'static) -> Self {
        request.asks_model = true;
        Self {
            request,
            decoder: Box::new(decoder),
            read_error: ErrorResponse::to_error,
            retry: RetryPolicy::default(),
            authorizer: None,
            recovery: None,
        }
    }

    /// Sets how error responses are read.
    #[must_use]
    pub fn with_error_reader(mut self, read_error: ErrorReader) -> Self {
        self.read_error = read_error;
        self
    }

    /// Sets when to ask again.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets what authorizes each attempt.
    #[must_use]
    pub fn with_authorizer(mut self, authorizer: impl Into<Option<Arc<dyn Authorizer>>>) -> Self {
        self.authorizer = authorizer.into();
        self
    }

    /// Sets what makes the exchange anew after an error that retrying does not mend, once, before any chunk was handed
    /// out. `None` leaves the error as it is.
    #[must_use]
    pub fn with_recovery(
        mut self,
        recovery: impl FnOnce(&ProviderError) -> Option<BoxFuture<'static, Result<Exchange, ProviderError>>>
        + Send
        + 'static,
    ) -> Self {
        self.recovery = Some(Box::new(recovery));
        self
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("request", &self.request)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// Runs one model call as a stream of chunks: what a provider returns from
/// [`LlmProvider::stream`](attache_core::LlmProvider::stream).
///
/// It is lazy: at the first poll `prepare` encodes the request (an `async` block, so that it may fetch a token),
/// then the request is sent, retried before the first chunk was handed out, decoded, and ended by exactly one
/// [`Done`](attache_core::StreamChunk::Done) or error. `state` counts the call. After `Done` the rest of the body
/// is read in the background, at most 256 KiB and 2 s, so that its connection is used again. It must be polled
/// inside a tokio runtime with its clock and I/O enabled.
///
/// # Cancellation
/// Dropping the stream aborts the request.
pub fn stream<F>(client: HttpClient, state: Arc<StateCell>, prepare: F) -> ChunkStream
where
    F: Future<Output = Result<Exchange, ProviderError>> + Send + 'static,
{
    let counted = Arc::clone(&state);
    let opening = Box::pin(async move {
        counted.started();
        let exchange = prepare.await?;
        let trying = Trying::new(&exchange.retry, client.timeouts().total);
        // Moved by value it would have room here once more for each future that it passes.
        Box::new(Call { client, exchange, trying, started: Instant::now(), lost: None }).open(None).await
    });
    let phase = Phase::Opening(opening);
    Box::pin(Chunks { state, phase, sink: ChunkSink::new(), failure: None, handed_out: false })
}

/// A call between its attempts.
struct Call {
    client: HttpClient,
    exchange: Exchange,
    trying: Trying,
    started: Instant,
    /// The tokens of attempts that failed.
    lost: Option<Box<Usage>>,
}

impl Call {
    /// Sends the request, after a wait if there is to be one, and retries until it is answered.
    async fn open(mut self: Box<Self>, wait: Option<Duration>) -> Result<Open, ProviderError> {
        if let Some(wait) = wait {
            tokio::time::sleep(wait).await;
        }
        loop {
            let Exchange { request, read_error, authorizer, .. } = &self.exchange;
            let sent = self.client.send_within(request, *read_error, authorizer.as_ref(), &mut self.trying);
            let error = match sent.await {
                Ok(reply) => return Ok(Open { decoder: (self.exchange.decoder)(), reply, call: self }),
                Err(error) => error,
            };
            let Some(again) = self.exchange.recovery.take().and_then(|recover| recover(&error)) else {
                return Err(self.failed(error));
            };
            let again = again.await.map_err(|error| self.failed(error))?;
            self.exchange = Exchange { recovery: None, ..again };
        }
    }

    /// The error that ends the call.
    fn failed(&self, error: ProviderError) -> ProviderError {
        self.ended(Some(&error));
        self.lost.iter().fold(error, |error, lost| error.with_usage(lost))
    }

    /// The one event of a call. It says nothing of its content.
    fn ended(&self, error: Option<&ProviderError>) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            tracing::debug!(
                url = shown_url(&self.exchange.request.url),
                attempts = self.trying.attempt(),
                elapsed_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
                error = error.map(|error| error.kind().as_str()),
                status = error.and_then(ProviderError::status),
                "model call"
            );
        }
    }
}

/// A call whose reply is being read.
struct Open {
    call: Box<Call>,
    reply: Reply,
    decoder: Box<dyn Decoder>,
}

enum Phase {
    Opening(BoxFuture<'static, Result<Open, ProviderError>>),
    Reading(Box<Open>),
    Ended,
}

/// The stream. It is written by hand, since every delta passes through it.
struct Chunks {
    state: Arc<StateCell>,
    phase: Phase,
    sink: ChunkSink,
    /// The item that ends the stream once the sink is empty.
    failure: Option<ProviderError>,
    handed_out: bool,
}

impl Stream for Chunks {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(chunk) = this.sink.pop() {
                this.handed_out = true;
                if let StreamChunk::Done(completion) = &chunk {
                    this.state.finished(Ok(&completion.usage));
                }
                return Poll::Ready(Some(Ok(chunk)));
            }
            if let Some(error) = this.failure.take() {
                this.state.finished(Err(&error));
                return Poll::Ready(Some(Err(error)));
            }
            match &mut this.phase {
                Phase::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok(open) => this.phase = Phase::Reading(Box::new(open)),
                    Err(error) => {
                        this.phase = Phase::Ended;
                        this.failure = Some(error);
                    }
                },
                Phase::Reading(open) => {
                    let step = match ready!(open.reply.poll_chunk(context)) {
                        Some(Ok(bytes)) => open.decoder.push(&bytes, &mut this.sink),
                        // A connection that breaks takes nothing from a reply that was complete before.
                        Some(Err(error)) => {
                            if matches!(error.kind(), ErrorKind::StreamCut | ErrorKind::Network) {
                                let _ = open.decoder.finish(&mut this.sink);
                            }
                            Err(error)
                        }
                        None => {
                            open.decoder.finish(&mut this.sink).and_then(|()| cut_unless(this.sink.is_done()))
                        }
                    };
                    if this.sink.is_done() {
                        this.complete(context);
                    } else if let Err(error) = step {
                        this.failed(error);
                    }
                }
                Phase::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl Chunks {
    fn complete(&mut self, context: &mut Context<'_>) {
        if let Phase::Reading(mut open) = std::mem::replace(&mut self.phase, Phase::Ended) {
            open.call.ended(None);
            if let Some(completion) = self.sink.completion() {
                completion.response = Some(Box::new(open.reply.take_info(&open.call.exchange.request)));
                open.call.lost.iter().for_each(|lost| completion.add_earlier(lost));
            }
            open.reply.discard(context);
        }
    }

    /// Asks again if nothing was handed out and the policy allows it; ends otherwise.
    fn failed(&mut self, error: ProviderError) {
        let Phase::Reading(open) = std::mem::replace(&mut self.phase, Phase::Ended) else { return };
        let Open { mut call, mut reply, mut decoder } = *open;
        let response = reply.take_info(&call.exchange.request);
        let error = with_response(reply.redact(&call.exchange.request, error), response);
        // Nobody can have the tokens back.
        let error = error.with_usage(&decoder.partial().usage);
        drop(reply);
        if !self.handed_out
            && let Some(wait) = call.trying.next_wait(&error)
        {
            self.sink.clear();
            if let Some(usage) = error.usage() {
                call.lost.get_or_insert_default().add(usage);
            }
            self.phase = Phase::Opening(Box::pin(call.open(Some(wait))));
            return;
        }
        let error = call.failed(error);
        let has_output = self.handed_out || !self.sink.is_empty();
        self.failure = Some(if has_output { error.after_output() } else { error });
    }
}

fn cut_unless(done: bool) -> Result<(), ProviderError> {
    if done {
        return Ok(());
    }
    Err(ProviderError::new(ErrorKind::StreamCut, "the reply ended before its end"))
}
