//! Server-sent events.

use attache_core::{ErrorKind, ProviderError};
use serde::de::IgnoredAny;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// The value of the `event` line; empty if there was none. JSON APIs repeat it in the data, which is to be
    /// trusted rather than this, but for `error`: such an event is one whatever its data says.
    pub name: &'a [u8],
    /// The `data` lines joined with line feeds, never empty.
    pub data: &'a [u8],
}

impl<'a> SseEvent<'a> {
    /// An event, for testing decoders.
    pub fn new(name: &'a [u8], data: &'a [u8]) -> Self {
        Self { name, data }
    }
}

/// Splits a byte stream into events, incrementally and at any chunking. (openai.md 0.2, runtime.md 24)
///
/// Lines end with LF, CRLF or CR; a byte order mark, comments, unknown fields and events without data are skipped; the
/// space after the colon is optional. Two forms of errors that no specification knows are events, too, since what
/// follows them would pass for a good end, or nothing does: a field `error`, whose value is the data of an event of
/// that name (openai.md C.16), and JSON without a field, over as many lines as it takes (gemini.md 8). An event that
/// lies within one chunk is handed out in place; only one that is split over chunks, or has several data lines, is
/// copied.
///
/// ```
/// use attache_transport::SseDecoder;
/// let mut decoder = SseDecoder::new();
/// let mut seen = Vec::new();
/// for chunk in ["data: {\"a\"", ":1}\r\n\r", "\n: ping\n\ndata:[DONE]"] {
///     decoder.push(chunk.as_bytes(), &mut |event| Ok(seen.push(event.data.to_vec())))?;
/// }
/// decoder.finish(&mut |event| Ok(seen.push(event.data.to_vec())))?;
/// assert_eq!(seen, [b"{\"a\":1}".to_vec(), b"[DONE]".to_vec()]);
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    /// The part of the event in earlier chunks, or its joined data lines.
    event: Buffered,
    /// The last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
    /// The next line is not read as others are: a byte order mark may stand before the first one, and one behind
    /// the beginning of JSON may go on with it. One flag for both, since each line asks for it.
    is_odd: bool,
    /// No line has ended.
    at_start: bool,
    raw: Raw,
}

/// The beginning of JSON that stands in the stream without a field.
#[derive(Debug, Default)]
struct Raw {
    text: Vec<u8>,
    /// The brackets that are open. Counted as lines come, so that the text is read as JSON once and not with each line.
    depth: usize,
}

/// Fields of an event that could not stay where they came.
#[derive(Debug, Default)]
struct Buffered {
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

/// Fields of an event that lie in the present chunk.
#[derive(Default)]
struct Borrowed<'c> {
    name: Option<&'c [u8]>,
    data: Option<&'c [u8]>,
}

impl SseDecoder {
    /// The maximum number of bytes of one event, unless [`with_limit`](Self::with_limit) says otherwise: 64 MiB.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self {
            limit: Self::DEFAULT_LIMIT,
            line: Vec::new(),
            event: Buffered::default(),
            after_cr: false,
            is_odd: true,
            at_start: true,
            raw: Raw::default(),
        }
    }

    /// Sets the maximum number of bytes of one event that is buffered because it is split.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Takes the next bytes and hands out the events that they complete.
    ///
    /// # Errors
    /// The first error of `on_event`, after which the decoder is not to be used again, or
    /// [`ErrorKind::Malformed`](attache_core::ErrorKind::Malformed) for an event over the limit.
    pub fn push<F>(&mut self, bytes: &[u8], on_event: &mut F) -> Result<(), ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ProviderError> + ?Sized,
    {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        if !self.line.is_empty() {
            let Some((line, next)) = self.split_line(rest) else { return self.keep(rest) };
            self.keep(line)?;
            rest = next;
            let line = std::mem::take(&mut self.line);
            // Its bytes do not outlive this call, so its fields are copied.
            let mut borrowed = Borrowed::default();
            self.end_line(&line, &mut borrowed, on_event)?;
            self.buffer(&borrowed)?;
        }
        let mut borrowed = Borrowed::default();
        while let Some((line, next)) = self.split_line(rest) {
            rest = next;
            self.end_line(line, &mut borrowed, on_event)?;
        }
        self.buffer(&borrowed)?;
        self.keep(rest)
    }

    /// Takes the end of the stream. An event that lacks only its blank line is handed out if its data is complete
    /// JSON or `[DONE]`; a torn one is dropped.
    ///
    /// # Errors
    /// The error of `on_event`.
    pub fn finish<F>(&mut self, on_event: &mut F) -> Result<(), ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ProviderError> + ?Sized,
    {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            let mut borrowed = Borrowed::default();
            self.end_line(&line, &mut borrowed, on_event)?;
            self.buffer(&borrowed)?;
        }
        let data = self.event.data.trim_ascii();
        if data == b"[DONE]" || serde_json::from_slice::<IgnoredAny>(data).is_ok() {
            self.end_line(b"", &mut Borrowed::default(), on_event)?;
        }
        Ok(())
    }

    /// The first line of `bytes` without its end, and what follows.
    #[inline]
    fn split_line<'b>(&mut self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        if let Some(rest) = bytes.strip_prefix(b"\n") {
            // The blank line after each event.
            return Some((b"", rest));
        }
        let at = memchr::memchr2(b'\n', b'\r', bytes)?;
        let (line, end) = bytes.split_at_checked(at)?;
        let (first, mut rest) = end.split_first()?;
        if *first == b'\r' {
            self.after_cr = rest.is_empty();
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        Some((line, rest))
    }

    /// Takes a whole line: a field, a comment, or the blank one that ends the event.
    #[inline]
    fn end_line<'c, F>(
        &mut self,
        line: &'c [u8],
        borrowed: &mut Borrowed<'c>,
        on_event: &mut F,
    ) -> Result<(), ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ProviderError> + ?Sized,
    {
        if self.is_odd {
            return self.end_odd_line(line, borrowed, on_event);
        }
        if line.is_empty() {
            return self.end_event(borrowed, on_event);
        }
        if let Some(value) = value_of(line, b"data") {
            if self.event.has_data || borrowed.data.is_some() {
                // Several lines have to be joined.
                self.buffer(borrowed)?;
                *borrowed = Borrowed::default();
                self.event.data.push(b'\n');
                self.bounded(value.len())?;
                self.event.data.extend_from_slice(value);
            } else {
                borrowed.data = Some(value);
            }
            Ok(())
        } else if let Some(value) = value_of(line, b"event") {
            borrowed.name = Some(value);
            Ok(())
        } else {
            self.end_foreign_line(line, borrowed, on_event)
        }
    }

    /// Takes the first line, or one behind the beginning of JSON without a field.
    #[cold]
    #[inline(never)]
    fn end_odd_line<'c, F>(
        &mut self,
        line: &'c [u8],
        borrowed: &mut Borrowed<'c>,
        on_event: &mut F,
    ) -> Result<(), ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ProviderError> + ?Sized,
    {
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        let is_field = value_of(line, b"data").or_else(|| value_of(line, b"event")).is_some();
        if !self.raw.text.is_empty() && !is_field && error_of(line).is_none() {
            self.go_on(line, borrowed, on_event)?;
            // One in JSON ends an event before it all the same.
            return if line.is_empty() { self.end_event(borrowed, on_event) } else { Ok(()) };
        }
        // A field says that it was no JSON.
        self.raw = Raw::default();
        self.is_odd = false;
        self.end_line(line, borrowed, on_event)
    }

    /// Takes a line that is none of the fields of an event.
    #[cold]
    #[inline(never)]
    fn end_foreign_line<'c, F>(
        &mut self,
        line: &'c [u8],
        borrowed: &mut Borrowed<'c>,
        on_event: &mut F,
    ) -> Result<(), ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ProviderError> + ?Sized,
    {
        if let Some(value) = error_of(line) {
            if self.event.has_data || borrowed.data.is_some() {
                self.end_event(borrowed, on_event)?;
            }
            *borrowed = Borrowed { name: Some(b"error"), data: Some(value) };
        } else if matches!(line.first(), Some(b'{' | b'[')) {
            self.go_on(line, borrowed, on_event)?;
        }
        Ok(())
    }

    /// Adds a line to JSON that stands without a field, and hands it out once it is whole. Text that cannot become JSON is
    /// dropped.
    fn go_on<'c, F>(
        &mut self,
        line: &'c [u8],
        borrowed: &mut Borrowed<'c>,
        on_event: &mut F,
    ) -> Result<(), ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ProviderError> + ?Sized,
    {
        self.bounded(line.len())?;
        self.raw.text.extend_from_slice(line);
        self.raw.text.push(b'\n');
        let depth = depth_behind(self.raw.depth, line);
        if let Some(depth) = depth.filter(|depth| *depth > 0) {
            self.raw.depth = depth;
            self.is_odd = true;
            return Ok(());
        }
        self.is_odd = false;
        let text = std::mem::take(&mut self.raw).text;
        if depth.is_none() || serde_json::from_slice::<IgnoredAny>(&text).is_err() {
            return Ok(());
        }
        if self.event.has_data || borrowed.data.is_some() {
            self.end_event(borrowed, on_event)?;
        }
        self.event.data.extend_from_slice(text.trim_ascii());
        self.end_event(borrowed, on_event)
    }

    #[inline]
    fn end_event<'c, F>(&mut self, borrowed: &mut Borrowed<'c>, on_event: &mut F) -> Result<(), ProviderError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ProviderError> + ?Sized,
    {
        let Borrowed { name, data } = std::mem::take(borrowed);
        let event =
            SseEvent { name: name.unwrap_or(&self.event.name), data: data.unwrap_or(&self.event.data) };
        // Some gateways keep a connection alive by events without data.
        let outcome = if event.data.trim_ascii().is_empty() { Ok(()) } else { on_event(event) };
        self.event.name.clear();
        self.event.data.clear();
        self.event.has_data = false;
        outcome
    }

    /// Copies what the present chunk holds of an unfinished event.
    fn buffer(&mut self, borrowed: &Borrowed<'_>) -> Result<(), ProviderError> {
        if let Some(name) = borrowed.name {
            self.bounded(name.len())?;
            self.event.name.clear();
            self.event.name.extend_from_slice(name);
        }
        if let Some(data) = borrowed.data {
            self.bounded(data.len())?;
            self.event.has_data = true;
            self.event.data.extend_from_slice(data);
        }
        Ok(())
    }

    /// Copies a piece of an unfinished line.
    fn keep(&mut self, piece: &[u8]) -> Result<(), ProviderError> {
        self.bounded(piece.len())?;
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn bounded(&self, more: usize) -> Result<(), ProviderError> {
        let event = self.event.data.len().saturating_add(self.event.name.len());
        let held = self.line.len().saturating_add(event).saturating_add(self.raw.text.len());
        if held.saturating_add(more) > self.limit {
            let message = format!("a server-sent event is longer than {} bytes", self.limit);
            return Err(ProviderError::new(ErrorKind::Malformed, message));
        }
        Ok(())
    }
}

/// The value of a line, if its field is `field`. A line without a colon is a field with an empty value.
#[inline]
fn value_of<'l>(line: &'l [u8], field: &[u8]) -> Option<&'l [u8]> {
    let rest = line.strip_prefix(field)?;
    match rest.strip_prefix(b":") {
        Some(value) => Some(value.strip_prefix(b" ").unwrap_or(value)),
        None => rest.is_empty().then_some(rest),
    }
}

/// The value of a line that is an error, if it says anything.
fn error_of(line: &[u8]) -> Option<&[u8]> {
    value_of(line, b"error").filter(|value| !value.trim_ascii().is_empty())
}

/// The brackets that are open behind a line of JSON, of so many before it. `None` if the line ends within a string,
/// which no line of JSON does.
fn depth_behind(before: usize, line: &[u8]) -> Option<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (before, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'{' | b'[' if !is_string => depth = depth.saturating_add(1),
            b'}' | b']' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    (!is_string).then_some(depth)
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
