//! From the bytes of a reply to chunks.

use std::collections::VecDeque;
use std::fmt;

use attache_core::{Completion, ErrorKind, ProviderError, StreamChunk};

use crate::sse::{SseDecoder, SseEvent};

/// Where a decoder puts its chunks.
#[derive(Debug, Default)]
pub struct ChunkSink {
    queue: VecDeque<StreamChunk>,
    done: bool,
    /// Answer text that says something was added.
    visible: bool,
    /// White space before it.
    blank: String,
}

impl ChunkSink {
    /// An empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a chunk. After [`StreamChunk::Done`] everything is ignored.
    pub fn push(&mut self, chunk: StreamChunk) {
        if !self.done {
            self.done = matches!(chunk, StreamChunk::Done(_));
            self.queue.push_back(chunk);
        }
    }

    /// Adds a piece of answer text, unless it is empty. White space at the start of a reply waits for what it stands
    /// before: without that it is no text of the message, and must not have been handed out.
    pub fn content(&mut self, text: impl Into<String>) {
        let mut text = text.into();
        if !self.visible {
            if text.trim().is_empty() {
                self.blank.push_str(&text);
                return;
            }
            self.visible = true;
            if !self.blank.is_empty() {
                text.insert_str(0, &std::mem::take(&mut self.blank));
            }
        }
        if !text.is_empty() {
            self.push(StreamChunk::Content(text));
        }
    }

    /// Adds what of a text that grows was not handed out. One that is blank so far waits, since it may turn out to be
    /// no text of the message.
    pub fn content_behind(&mut self, text: &str, shown: &mut HandedOut) {
        if shown.bytes == 0 && text.get(shown.blank..).unwrap_or_default().trim().is_empty() {
            shown.blank = text.len();
            return;
        }
        self.content(shown.rest(text));
        shown.all(text);
    }

    /// Adds a piece of reasoning, unless it is empty.
    pub fn thinking(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.push(StreamChunk::Thinking(text));
        }
    }

    /// Adds the end of the reply.
    pub fn done(&mut self, completion: Completion) {
        self.push(StreamChunk::Done(Box::new(completion)));
    }

    /// True if the end was added.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Takes out the next chunk.
    pub fn pop(&mut self) -> Option<StreamChunk> {
        self.queue.pop_front()
    }

    /// The end, once it is there and not yet taken out.
    pub(crate) fn completion(&mut self) -> Option<&mut Completion> {
        match self.queue.back_mut()? {
            StreamChunk::Done(completion) => Some(completion),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Forgets the chunks of an attempt that failed before they were handed out.
    pub(crate) fn clear(&mut self) {
        *self = Self { queue: std::mem::take(&mut self.queue), ..Self::default() };
        self.queue.clear();
    }
}

/// The point up to which a text that grows was handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandedOut {
    bytes: usize,
    /// The point up to which it was looked at and found blank: a text of blanks is read once.
    blank: usize,
}

impl HandedOut {
    /// The part of `text` that was not handed out.
    pub fn rest<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.bytes..).unwrap_or_default()
    }

    /// All of `text` is handed out.
    pub fn all(&mut self, text: &str) {
        self.bytes = text.len();
    }
}

/// Turns the bytes of one reply into chunks, without I/O. Codecs over SSE or JSON implement [`EventDecoder`] and
/// get this from [`ReplyDecoder`]; others implement it themselves.
pub trait Decoder: Send {
    /// Takes the next bytes of the body, cut anywhere. Not called again after [`StreamChunk::Done`].
    ///
    /// # Errors
    /// The error that the provider reported, or the fault of the bytes. The reply has then ended. Before any chunk
    /// was handed out a retryable error makes the driver ask again.
    fn push(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError>;

    /// Takes the end of the body. A reply that was complete but for its terminator ends with
    /// [`StreamChunk::Done`]; if there is none after this call, the driver reports [`ErrorKind::StreamCut`].
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    fn finish(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError>;

    /// The part that has come of a reply that broke off or failed.
    fn partial(&mut self) -> Completion;
}

/// The part of a codec that reads a reply of one JSON object or of server-sent events.
pub trait EventDecoder: Send {
    /// Takes one event. `[DONE]` comes as such. Events after [`StreamChunk::Done`] are not handed in.
    ///
    /// # Errors
    /// The error that the provider reported inside the stream, or the fault of the event.
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError>;

    /// Takes a whole body that is JSON: an unstreamed reply, or that of a server which ignored `stream`, or an
    /// error under status 200. It ends with [`StreamChunk::Done`] or an error.
    ///
    /// # Errors
    /// The error that the provider reported, or the fault of the body.
    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError>;

    /// Takes the end of the events. A reply that was complete but for its terminator ends with
    /// [`StreamChunk::Done`]; otherwise nothing is to be done.
    ///
    /// # Errors
    /// The fault of the reply.
    fn end(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError>;

    /// The part that has come of a reply that broke off or failed.
    fn partial(&mut self) -> Completion;

    /// The form of a body, by its first byte that is no white space: JSON or server-sent events, where an API has no
    /// form of its own.
    fn form(first: u8) -> BodyForm
    where
        Self: Sized,
    {
        if matches!(first, b'{' | b'[') { BodyForm::Whole } else { BodyForm::Events }
    }

    /// Takes the next bytes of a body in frames, cut anywhere, where an API has such.
    ///
    /// # Errors
    /// As for [`event`](Self::event).
    fn frames(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let _ = (bytes, out);
        Ok(())
    }
}

/// The form of the body of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyForm {
    /// Server-sent events.
    Events,
    /// One JSON object.
    Whole,
    /// Frames of the API's own.
    Frames,
}

/// Tells SSE from JSON by the first byte of the body that is no white space (content types lie), and feeds an
/// [`EventDecoder`]. (openai.md 0.2)
///
/// Drivers feed it what the network brings, replays and fuzzers what they like:
///
/// ```
/// use attache_core::{AssistantMessage, Completion, FinishReason, ProviderError, Usage};
/// use attache_transport::{ChunkSink, Decoder, EventDecoder, ReplyDecoder, SseEvent};
///
/// struct Echo;
/// impl EventDecoder for Echo {
///     fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
///         out.content(String::from_utf8_lossy(event.data));
///         Ok(())
///     }
///     fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
///         out.content(String::from_utf8_lossy(body));
///         self.end(out)
///     }
///     fn end(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
///         out.done(self.partial());
///         Ok(())
///     }
///     fn partial(&mut self) -> Completion {
///         Completion::new(AssistantMessage::new([]), FinishReason::Stop, Usage::default())
///     }
/// }
///
/// let (mut decoder, mut out) = (ReplyDecoder::new(Echo), ChunkSink::new());
/// decoder.push(b"data: a\n\nda", &mut out)?;
/// decoder.push(b"ta: b\n\n", &mut out)?;
/// decoder.finish(&mut out)?;
/// assert_eq!(std::iter::from_fn(|| out.pop()).count(), 3);
/// # Ok::<(), ProviderError>(())
/// ```
pub struct ReplyDecoder<E> {
    events: E,
    framing: Framing,
    received: usize,
}

/// The framing of the body, as far as it is known.
#[derive(Debug)]
enum Framing {
    Unknown,
    Events(SseDecoder),
    Whole(Vec<u8>),
    Frames,
}

/// The maximum number of bytes of a reply that is one JSON object.
const WHOLE_LIMIT: usize = 64 << 20;

/// The maximum number of bytes of a streamed reply: what a server can make us keep.
const STREAM_LIMIT: usize = 256 << 20;

impl<E: EventDecoder> ReplyDecoder<E> {
    /// A decoder at the start of a reply. An event and a whole JSON reply may have 64 MiB, a stream 256 MiB.
    pub fn new(events: E) -> Self {
        Self { events, framing: Framing::Unknown, received: 0 }
    }
}

impl<E> fmt::Debug for ReplyDecoder<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyDecoder").finish_non_exhaustive()
    }
}

impl<E: EventDecoder> Decoder for ReplyDecoder<E> {
    fn push(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let mut bytes = bytes;
        self.received = self.received.saturating_add(bytes.len());
        if self.received > STREAM_LIMIT {
            let message = format!("the reply is longer than {STREAM_LIMIT} bytes");
            return Err(ProviderError::new(ErrorKind::Malformed, message));
        }
        if let Framing::Unknown = self.framing {
            // White space and a byte order mark may precede either.
            let is_blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
            let blanks = bytes.iter().take_while(|byte| is_blank(byte)).count();
            bytes = bytes.get(blanks..).unwrap_or_default();
            self.framing = match bytes.first() {
                None => return Ok(()),
                Some(b'<') => {
                    let message = "the server answered with a web page instead of a reply";
                    return Err(ProviderError::new(ErrorKind::Malformed, message));
                }
                Some(first) => match E::form(*first) {
                    BodyForm::Events => Framing::Events(SseDecoder::new()),
                    BodyForm::Whole => Framing::Whole(Vec::new()),
                    BodyForm::Frames => Framing::Frames,
                },
            };
        }
        match &mut self.framing {
            Framing::Unknown => Ok(()),
            Framing::Events(sse) => sse.push(bytes, &mut |event| hand(&mut self.events, event, out)),
            Framing::Frames => self.events.frames(bytes, out),
            Framing::Whole(body) => {
                if body.len().saturating_add(bytes.len()) > WHOLE_LIMIT {
                    let message = format!("the reply is longer than {WHOLE_LIMIT} bytes");
                    return Err(ProviderError::new(ErrorKind::Malformed, message));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn finish(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        match &mut self.framing {
            Framing::Unknown => Ok(()),
            Framing::Events(sse) => {
                sse.finish(&mut |event| hand(&mut self.events, event, out))?;
                if out.is_done() { Ok(()) } else { self.events.end(out) }
            }
            Framing::Frames => {
                if out.is_done() {
                    Ok(())
                } else {
                    self.events.end(out)
                }
            }
            Framing::Whole(body) => {
                let body = std::mem::take(body);
                self.events.whole(body.trim_ascii_end(), out)
            }
        }
    }

    fn partial(&mut self) -> Completion {
        self.events.partial()
    }
}

fn hand<E: EventDecoder>(
    events: &mut E,
    event: SseEvent<'_>,
    out: &mut ChunkSink,
) -> Result<(), ProviderError> {
    if out.is_done() { Ok(()) } else { events.event(event, out) }
}

#[cfg(test)]
mod tests {
    use attache_core::{AssistantMessage, FinishReason, Usage};

    use super::*;

    /// Notes what it is given; `[DONE]` and whole bodies end the reply.
    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Notes {
        fn note(&mut self, what: &str, data: &[u8]) {
            self.0.push(format!("{what} {}", String::from_utf8_lossy(data)));
        }

        fn done(&mut self, out: &mut ChunkSink) {
            out.done(self.partial());
        }
    }

    impl EventDecoder for Notes {
        fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
            self.note("event", event.data);
            if event.data == b"[DONE]" {
                self.done(out);
            }
            Ok(())
        }

        fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
            self.note("whole", body);
            self.done(out);
            Ok(())
        }

        fn end(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
            self.note("end", b"");
            Ok(())
        }

        fn partial(&mut self) -> Completion {
            Completion::new(AssistantMessage::new([]), FinishReason::Stop, Usage::default())
        }
    }

    /// The input of the codec, the same at every chunking.
    fn given(body: &str) -> Vec<String> {
        let runs = (1..=body.len().max(1)).map(|size| {
            let (mut decoder, mut out) = (ReplyDecoder::new(Notes::default()), ChunkSink::new());
            for piece in body.as_bytes().chunks(size) {
                decoder.push(piece, &mut out).unwrap();
            }
            decoder.finish(&mut out).unwrap();
            decoder.events.0
        });
        let mut runs: Vec<_> = runs.collect();
        runs.dedup();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    // openai.md 0.2
    #[test]
    fn the_first_byte_tells_json_from_events() {
        assert_eq!(given("\n \u{feff}{\"a\":1}\n"), ["whole {\"a\":1}"]);
        assert_eq!(given("[1]"), ["whole [1]"]);
        assert_eq!(given(": {\n\ndata: {}\n\n"), ["event {}", "end "]);
        assert_eq!(given("\r\n\u{feff}data: 1\n\n"), ["event 1", "end "]);
        assert_eq!(given(""), [""; 0]);
    }

    #[test]
    fn nothing_is_handed_in_after_the_end() {
        assert_eq!(given("data: [DONE]\n\ndata: 2\n\n"), ["event [DONE]"]);
    }

    #[test]
    fn a_sink_ends_once_and_holds_no_empty_text() {
        let mut out = ChunkSink::new();
        out.content("");
        out.thinking(String::new());
        assert!(out.is_empty() && !out.is_done());
        out.content("a");
        Notes::default().done(&mut out);
        Notes::default().done(&mut out);
        out.content("late");
        assert!(out.is_done());
        assert_eq!(out.pop(), Some(StreamChunk::Content("a".into())));
        assert!(matches!(out.pop(), Some(StreamChunk::Done(_))));
        assert_eq!(out.pop(), None);
    }

    // E15, P07: what is no text of the message was not handed out
    #[test]
    fn white_space_waits_for_a_text() {
        let mut out = ChunkSink::new();
        out.content(" ");
        out.content("\n");
        assert!(out.is_empty());
        out.content("a");
        out.content(" ");
        let contents: Vec<_> = std::iter::from_fn(|| out.pop()).collect();
        assert_eq!(contents, [" \na", " "].map(|text| StreamChunk::Content(text.to_owned())));
        let mut out = ChunkSink::new();
        out.content(" ");
        out.clear();
        out.content("a");
        assert_eq!(out.pop(), Some(StreamChunk::Content("a".to_owned())), "of another attempt");
    }

    #[test]
    fn a_text_of_blanks_is_looked_at_once() {
        let (mut out, mut shown) = (ChunkSink::new(), HandedOut::default());
        out.content_behind(" ", &mut shown);
        out.content_behind(" \n", &mut shown);
        assert_eq!((out.pop(), shown.blank), (None, 2));
        out.content_behind(" \na", &mut shown);
        out.content_behind(" \nab", &mut shown);
        let contents: Vec<_> = std::iter::from_fn(|| out.pop()).collect();
        assert_eq!(contents, [" \na", "b"].map(|text| StreamChunk::Content(text.to_owned())));
    }

    #[test]
    fn whole_replies_are_bounded() {
        let (mut decoder, mut out) = (ReplyDecoder::new(Notes::default()), ChunkSink::new());
        decoder.push(b"{", &mut out).unwrap();
        let error = decoder.push(&vec![b' '; WHOLE_LIMIT], &mut out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }
}
