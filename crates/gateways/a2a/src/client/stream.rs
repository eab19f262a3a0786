//! Streams of events, bounded in number and bytes.

use std::collections::VecDeque;

use attache_core::ErrorKind;
use attache_transport::{Reply, SseDecoder};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::answer::result_of;
use super::failure::Failure;
use crate::config::A2aLimits;
use crate::wire::{Event, event};

/// The events of one answer.
pub(crate) struct EventStream {
    reply: Reply,
    is_rpc: bool,
    /// None for an answer that is one JSON object after all.
    decoder: Option<SseDecoder>,
    whole: Vec<u8>,
    ready: VecDeque<Result<Event, Failure>>,
    bytes: usize,
    events: usize,
    limits: A2aLimits,
    is_over: bool,
}

impl EventStream {
    pub(crate) fn new(reply: Reply, is_rpc: bool, limits: A2aLimits) -> Self {
        let kind = reply.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_events = !kind.to_ascii_lowercase().contains("json");
        Self {
            reply,
            is_rpc,
            decoder: is_events.then(|| SseDecoder::new().with_limit(limits.message_bytes)),
            whole: Vec::new(),
            ready: VecDeque::new(),
            bytes: 0,
            events: 0,
            limits,
            is_over: false,
        }
    }

    /// Reads an answer that is no stream after all. An error in it is that of the request.
    pub(crate) async fn read_whole(&mut self, end: Instant) -> Result<(), Failure> {
        if self.decoder.is_some() {
            return Ok(());
        }
        while let Some(piece) = self.piece(end).await? {
            self.whole.extend_from_slice(&piece);
        }
        self.is_over = true;
        let read = read(&self.whole, self.is_rpc).transpose()?;
        self.ready.extend(read.map(Ok));
        self.whole = Vec::new();
        Ok(())
    }

    /// The next bytes, within the bounds.
    async fn piece(&mut self, end: Instant) -> Result<Option<Bytes>, Failure> {
        let piece = timeout_at(end, self.reply.chunk()).await.map_err(|_| Failure::Late)?;
        let piece = piece.map_err(Failure::Cut)?;
        self.bytes = self.bytes.saturating_add(piece.as_ref().map_or(0, Bytes::len));
        if self.bytes > self.limits.message_bytes {
            return Err(Failure::TooLarge);
        }
        Ok(piece)
    }

    /// The next event; `None` at the end. Time that is up is [`Failure::Late`].
    pub(crate) async fn next(&mut self, end: Instant) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                self.events += 1;
                return match self.events > self.limits.events {
                    true => Err(Failure::Malformed("more events than are read")),
                    false => ready.map(Some),
                };
            }
            if self.is_over {
                return Ok(None);
            }
            match self.piece(end).await? {
                Some(piece) => self.push(&piece)?,
                None => {
                    self.is_over = true;
                    self.finish()?;
                }
            }
        }
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let Self { decoder, ready, is_rpc, .. } = self;
        let Some(decoder) = decoder else { return Ok(()) };
        let pushed = decoder.push(piece, &mut |event| {
            ready.extend(read(event.data, *is_rpc));
            Ok(())
        });
        pushed.map_err(too_long)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let Self { decoder, ready, is_rpc, .. } = self;
        let Some(decoder) = decoder else { return Ok(()) };
        let finished = decoder.finish(&mut |event| {
            ready.extend(read(event.data, *is_rpc));
            Ok(())
        });
        finished.map_err(too_long)
    }
}

fn too_long(error: attache_core::ProviderError) -> Failure {
    match error.kind() {
        ErrorKind::Malformed => Failure::TooLarge,
        _ => Failure::Cut(error),
    }
}

/// An event of the protocol; nothing for one that is not known here.
fn read(data: &[u8], is_rpc: bool) -> Option<Result<Event, Failure>> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Some(Err(Failure::Malformed("bytes that are no text")));
    };
    match result_of(text, is_rpc) {
        Ok(result) => match event(result) {
            Some(event) => Some(Ok(event)),
            None => {
                tracing::debug!(bytes = text.len(), "an event of an unknown kind");
                None
            }
        },
        Err(failure) => Some(Err(failure)),
    }
}
