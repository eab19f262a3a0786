//! From the bytes of an answer to chunks: lines of JSON, or one object.

use attache_core::{Completion, ProviderError};
use attache_transport::lenient::Object;
use attache_transport::{ChunkSink, Decoder, malformed};

use super::response::Reply;
use super::response::wire::Line;
use crate::error::{self, Result};

/// The maximum number of bytes of one line, and of an answer that is one object.
const LINE_LIMIT: usize = 64 << 20;
/// The maximum number of bytes of a streamed reply: what a server can make us keep.
const STREAM_LIMIT: usize = 256 << 20;

/// Splits an answer into lines of JSON. One whose first line is not whole is one object over several lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    reply: Reply,
    /// The start of a line whose end has not come, or of the object.
    held: Vec<u8>,
    whole: bool,
    begun: bool,
    received: usize,
}

impl Lines {
    pub(super) fn new(reply: Reply) -> Self {
        Self { reply, ..Self::default() }
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<()> {
        if self.held.len().saturating_add(bytes.len()) > LINE_LIMIT {
            return Err(too_long(LINE_LIMIT));
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes a line; `last` says that nothing follows. One that is torn there is the cut of a stream, if others came
    /// before: the first may be a whole answer, which is wrong.
    fn line(&mut self, line: &[u8], last: bool, out: &mut ChunkSink) -> Result<()> {
        let first = !self.begun;
        let line = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| first).unwrap_or(line).trim_ascii();
        if line.is_empty() || out.is_done() {
            return Ok(());
        }
        self.begun = true;
        if first && line.starts_with(b"<") {
            return Err(malformed("the server answered with a web page instead of a reply"));
        }
        let may_be_cut = last && !first && !self.whole;
        let text = match std::str::from_utf8(line) {
            Err(problem) if may_be_cut && problem.error_len().is_none() => return Ok(()),
            text => text.map_err(|error| error::malformed(line, error))?,
        };
        match serde_json::from_str::<Object<Line<'_>>>(text) {
            Ok(Object(Some(read))) => self.reply.take(&read, line, out),
            Ok(Object(None)) => Err(error::no_answer(line)),
            Err(problem) if may_be_cut && problem.is_eof() => Ok(()),
            Err(problem) if first && !last && problem.is_eof() => {
                self.whole = true;
                self.hold(line)
            }
            Err(problem) => Err(error::malformed(line, problem)),
        }
    }
}

impl Decoder for Lines {
    fn push(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<()> {
        self.received = self.received.saturating_add(bytes.len());
        if self.received > STREAM_LIMIT {
            return Err(too_long(STREAM_LIMIT));
        }
        let mut rest = bytes;
        while !self.whole
            && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
        {
            let (line, tail) = (rest.get(..end).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default());
            if self.held.is_empty() {
                self.line(line, false, out)?;
            } else {
                self.hold(line)?;
                let line = std::mem::take(&mut self.held);
                self.line(&line, false, out)?;
            }
            rest = tail;
        }
        self.hold(rest)
    }

    fn finish(&mut self, out: &mut ChunkSink) -> Result<()> {
        let rest = std::mem::take(&mut self.held);
        self.line(&rest, true, out)?;
        if self.begun && !self.reply.seen && !out.is_done() {
            return Err(error::no_answer(&rest));
        }
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.reply.completion()
    }
}

fn too_long(limit: usize) -> ProviderError {
    malformed(format!("the reply is longer than {limit} bytes"))
}
