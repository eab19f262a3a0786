//! Frames of `application/vnd.amazon.eventstream` (bedrock.md 7).
//!
//! A frame is a prelude of twelve bytes (length of the frame, length of the headers, CRC32 of these eight bytes),
//! headers, a payload, and the CRC32 of everything before. All integers are big-endian.

use attache_core::{ErrorKind, ProviderError};
use attache_transport::malformed;

use crate::error::Result;

const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

/// The maximum number of bytes of the headers and of the payload of one frame, as the format allows.
const MAX_HEADERS: usize = 128 << 10;
const MAX_PAYLOAD: usize = 24 << 20;

/// A frame whose checksums hold.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Frame<'a> {
    pub(crate) message_type: Option<&'a str>,
    pub(crate) event_type: Option<&'a str>,
    pub(crate) exception_type: Option<&'a str>,
    pub(crate) error_code: Option<&'a str>,
    pub(crate) error_message: Option<&'a str>,
    pub(crate) payload: &'a [u8],
}

/// Cuts bytes into frames, however they arrive. Only the frame that a chunk ends in is copied.
#[derive(Debug, Default)]
pub(crate) struct FrameDecoder {
    partial: Vec<u8>,
}

impl FrameDecoder {
    /// Hands the frames that `bytes` complete to `take`, in order.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        take: &mut dyn FnMut(&Frame<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.partial.is_empty() {
            // First the prelude, which says how much more there is.
            for _ in 0..2 {
                let wanted = frame_length(&self.partial)?.unwrap_or(PRELUDE);
                let missing = wanted.saturating_sub(self.partial.len());
                let (head, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
                self.partial.extend_from_slice(head);
                bytes = rest;
            }
            if frame_length(&self.partial)? != Some(self.partial.len()) {
                return Ok(());
            }
            let frame = std::mem::take(&mut self.partial);
            take(&read(&frame)?)?;
            // Its room serves for the next one.
            self.partial = frame;
            self.partial.clear();
        }
        while let Some((frame, rest)) = frame_length(bytes)?.and_then(|length| bytes.split_at_checked(length))
        {
            take(&read(frame)?)?;
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes the end of the bytes.
    ///
    /// # Errors
    /// [`ErrorKind::StreamCut`] in the middle of a frame.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.partial.is_empty() {
            return Ok(());
        }
        Err(ProviderError::new(ErrorKind::StreamCut, "the reply ended in the middle of a frame"))
    }
}

/// The length of the frame that `bytes` begin with, once its prelude is there.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(prelude) = bytes.get(..PRELUDE) else { return Ok(None) };
    let (lengths, checksum) = prelude.split_at(PRELUDE - CHECKSUM);
    if crc32fast::hash(lengths) != integer(checksum) {
        return Err(malformed("the checksum of a frame's prelude is wrong"));
    }
    let (total, headers) = lengths.split_at(4);
    let (total, headers) = (size(total), size(headers));
    let payload = total.checked_sub(PRELUDE + CHECKSUM).and_then(|rest| rest.checked_sub(headers));
    match payload {
        None => Err(malformed("a frame is shorter than its headers")),
        Some(payload) if payload > MAX_PAYLOAD || headers > MAX_HEADERS => {
            Err(malformed(format!("a frame of {total} bytes is larger than the format allows")))
        }
        Some(_) => Ok(Some(total)),
    }
}

/// Reads a whole frame.
fn read(frame: &[u8]) -> Result<Frame<'_>> {
    let short = || malformed("a frame is shorter than it says");
    let (content, checksum) =
        frame.split_last_chunk::<CHECKSUM>().map(|(c, s)| (c, &s[..])).ok_or_else(short)?;
    if crc32fast::hash(content) != integer(checksum) {
        return Err(malformed("the checksum of a frame is wrong"));
    }
    let headers = content.get(4..8).map(size).ok_or_else(short)?;
    let rest = content.get(PRELUDE..).ok_or_else(short)?;
    let (headers, payload) = rest.split_at_checked(headers).ok_or_else(short)?;
    let mut frame = Frame { payload, ..Frame::default() };
    let mut headers = Headers(headers);
    while !headers.0.is_empty() {
        let (name, text) =
            headers.next().ok_or_else(|| malformed("a header of a frame is not as the format says"))?;
        match name {
            b":message-type" => frame.message_type = text,
            b":event-type" => frame.event_type = text,
            b":exception-type" => frame.exception_type = text,
            b":error-code" => frame.error_code = text,
            b":error-message" => frame.error_message = text,
            _ => {}
        }
    }
    Ok(frame)
}

/// The headers that are left to read.
struct Headers<'a>(&'a [u8]);

impl<'a> Headers<'a> {
    /// The next header's name, and its value if that is a string.
    fn next(&mut self) -> Option<(&'a [u8], Option<&'a str>)> {
        let length = self.take(1)?.first().copied()?;
        let name = self.take(length.into())?;
        let kind = self.take(1)?.first().copied()?;
        let length = match kind {
            // True and false are all in the type.
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            // A long, and a time in milliseconds.
            5 | 8 => 8,
            6 | 7 => self.take(2).map(size)?,
            // A UUID.
            9 => 16,
            _ => return None,
        };
        let value = self.take(length)?;
        match kind {
            7 => std::str::from_utf8(value).ok().map(|text| (name, Some(text))),
            _ => Some((name, None)),
        }
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }
}

fn integer(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn size(bytes: &[u8]) -> usize {
    usize::try_from(integer(bytes)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
