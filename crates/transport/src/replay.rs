//! What every codec does alike: an encoded request, and a recorded reply.

use attache_core::{Completion, Degradation, ErrorKind, ProviderError, StreamChunk};
use http::{HeaderMap, StatusCode};

use crate::error::{ErrorReader, ErrorResponse, request_id};
use crate::reply::{ChunkSink, Decoder, EventDecoder, ReplyDecoder};
use crate::request::RequestParts;

/// A request as a codec makes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EncodedRequest {
    /// The HTTP request.
    pub parts: RequestParts,
    /// Options that were left out or changed because the caller allowed it.
    pub degradations: Vec<Degradation>,
}

impl EncodedRequest {
    /// A request, and what it leaves out.
    pub fn new(parts: RequestParts, degradations: Vec<Degradation>) -> Self {
        Self { parts, degradations }
    }
}

/// A recorded reply as a decoder understood it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replay {
    /// The chunks in order, those before an error included.
    pub chunks: Vec<StreamChunk>,
    /// The reply. After an error, what had come of it.
    pub completion: Completion,
    /// How it failed, if it did.
    pub error: Option<ProviderError>,
}

/// Reads a recorded response, its body cut anywhere, with the decoder that a live one goes through.
pub fn replay<E: EventDecoder, B: AsRef<[u8]>>(
    mut events: E,
    status: StatusCode,
    headers: &HeaderMap,
    body: impl IntoIterator<Item = B>,
    read_error: ErrorReader,
) -> Replay {
    if !status.is_success() {
        let body = body.into_iter().fold(Vec::new(), |mut whole, piece| {
            whole.extend_from_slice(piece.as_ref());
            whole
        });
        let error = read_error(&ErrorResponse::new(status, headers.clone(), &body));
        return Replay { chunks: Vec::new(), completion: events.partial(), error: Some(error) };
    }
    let mut out = ChunkSink::new();
    let outcome = feed(ReplyDecoder::new(&mut events), body, &mut out);
    let chunks: Vec<StreamChunk> = std::iter::from_fn(|| out.pop()).collect();
    let error = match (outcome, chunks.last()) {
        (Ok(()), Some(StreamChunk::Done(completion))) => {
            let completion = (**completion).clone();
            return Replay { chunks, completion, error: None };
        }
        (Ok(()), _) => ProviderError::new(ErrorKind::StreamCut, "the reply ended before its end"),
        (Err(error), _) => error,
    };
    let id = error.request_id().map(str::to_owned).or_else(|| request_id(headers));
    let error = error.with_request_id(id);
    let error = if chunks.is_empty() { error } else { error.after_output() };
    Replay { chunks, completion: events.partial(), error: Some(error) }
}

fn feed<B: AsRef<[u8]>>(
    mut decoder: impl Decoder,
    body: impl IntoIterator<Item = B>,
    out: &mut ChunkSink,
) -> Result<(), ProviderError> {
    for piece in body {
        decoder.push(piece.as_ref(), out)?;
        if out.is_done() {
            return Ok(());
        }
    }
    decoder.finish(out)
}
