//! The lines of a text file of any length, one at a time.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use attache_core::{MediaKind, MediaType};
use attache_documents::decode_text;

/// The maximum number of bytes of a line that are searched; in a converted text a longer one counts as several.
pub(super) const SEARCHED: usize = 64 << 10;
/// The bytes between two looks whether anybody still waits, and how many each line counts for beside its own.
const LOOK: u64 = 64 << 10;
const LINE: u64 = 64;
/// The maximum number of bytes of the end of a line: it is kept beside the line, which it does not count for.
const END: usize = 4;

/// Reads lines in the charset that the file's beginning shows: UTF-16 by its mark, else UTF-8, else windows-1252.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    form: Form,
    /// The maximum number of bytes of a line that are kept.
    most: usize,
    line: Vec<u8>,
    /// The bytes of the line that were not kept.
    left_out: u64,
    /// The bytes since the last look.
    unlooked: u64,
    is_over: bool,
    /// For lines that are no UTF-8.
    legacy: MediaType,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Bytes,
    Little,
    Big,
}

impl<R: Read> Lines<R> {
    /// The lines of a file; `None` if it holds no text.
    pub(super) fn of(file: R, most: usize) -> io::Result<Option<Self>> {
        let mut reader = BufReader::with_capacity(64 << 10, file);
        let begin = reader.fill_buf()?;
        let (form, mark) = match begin {
            [0xff, 0xfe, ..] => (Form::Little, 2),
            [0xfe, 0xff, ..] => (Form::Big, 2),
            [0xef, 0xbb, 0xbf, ..] => (Form::Bytes, 3),
            other if is_binary(other) => return Ok(None),
            _ => (Form::Bytes, 0),
        };
        reader.consume(mark);
        let legacy =
            MediaType::parse("text/plain; charset=windows-1252").unwrap_or_else(MediaType::octet_stream);
        Ok(Some(Self {
            reader,
            form,
            most,
            line: Vec::new(),
            left_out: 0,
            unlooked: 0,
            is_over: false,
            legacy,
        }))
    }

    /// Goes on to the next line; false at the end, and where it [is over](Self::is_over) before: a line may be as long as
    /// the file.
    pub(super) fn advance(&mut self, is_over: impl Fn() -> bool) -> io::Result<bool> {
        self.line.clear();
        self.left_out = 0;
        self.unlooked += LINE;
        let mut seen = 0_u64;
        let mut before = 0_u8;
        loop {
            if self.unlooked >= LOOK {
                self.unlooked = 0;
                self.is_over |= is_over();
            }
            if self.is_over {
                return Ok(false);
            }
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                return Ok(seen > 0);
            }
            let (take, is_end) = match self.form {
                Form::Bytes => match buffer.iter().position(|byte| *byte == b'\n') {
                    Some(at) => (at + 1, true),
                    None => (buffer.len(), false),
                },
                // One unit or half of one: units may lie across the ends of buffers.
                Form::Little | Form::Big => (1, false),
            };
            let new = buffer.get(..take).unwrap_or_default();
            let room = self.most.saturating_add(END).saturating_sub(self.line.len()).min(new.len());
            self.line.extend_from_slice(new.get(..room).unwrap_or_default());
            self.left_out += (new.len() - room) as u64;
            seen += take as u64;
            self.unlooked += take as u64;
            let last = new.last().copied();
            self.reader.consume(take);
            let unit = (before, last.unwrap_or_default());
            before = unit.1;
            let is_newline = match self.form {
                Form::Bytes => is_end,
                Form::Little => seen.is_multiple_of(2) && unit == (b'\n', 0),
                Form::Big => seen.is_multiple_of(2) && unit == (0, b'\n'),
            };
            if is_newline {
                let end = if self.form == Form::Bytes { 1 } else { 2 };
                self.left_out -= self.left_out.min(end);
                return Ok(true);
            }
        }
    }

    /// True if it was said that nobody waits for further lines.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The line without its end, and the bytes of it that are left out.
    pub(super) fn text(&self) -> (Cow<'_, str>, u64) {
        let ends: [&[u8]; 2] = match self.form {
            Form::Bytes => [b"\n", b"\r"],
            Form::Little => [b"\n\0", b"\r\0"],
            Form::Big => [b"\0\n", b"\0\r"],
        };
        let own =
            ends.into_iter().fold(self.line.as_slice(), |line, end| line.strip_suffix(end).unwrap_or(line));
        let mut line = own.get(..self.most).unwrap_or(own);
        let mut left_out = self.left_out + (own.len() - line.len()) as u64;
        let text = match self.form {
            Form::Bytes => {
                if left_out > 0 {
                    // A character that was cut is left out.
                    let cut = line.get(..whole(line)).unwrap_or_default();
                    left_out += (line.len() - cut.len()) as u64;
                    line = cut;
                }
                match str::from_utf8(line) {
                    Ok(text) => Cow::Borrowed(text),
                    Err(_) => match decode_text(line, &self.legacy) {
                        Some((text, _)) => text,
                        None => String::from_utf8_lossy(line),
                    },
                }
            }
            form => {
                let unit = |pair: &[u8; 2]| match form {
                    Form::Big => u16::from_be_bytes(*pair),
                    _ => u16::from_le_bytes(*pair),
                };
                let (pairs, _) = line.as_chunks::<2>();
                Cow::Owned(
                    char::decode_utf16(pairs.iter().map(unit))
                        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
                        .collect(),
                )
            }
        };
        (text, left_out)
    }
}

/// The bytes up to a character that begins at the end and does not end there.
fn whole(line: &[u8]) -> usize {
    match line.utf8_chunks().last() {
        Some(last) if last.invalid().first().is_some_and(|first| *first >= 0xc2) => {
            line.len() - last.invalid().len()
        }
        _ => line.len(),
    }
}

/// True if a file that begins like that holds no text.
fn is_binary(begin: &[u8]) -> bool {
    begin.iter().take(8 << 10).any(|byte| *byte == 0)
        || MediaType::sniff(begin).is_some_and(|kind| !is_text(&kind))
}

/// True of a type whose files are searched as they are.
pub(super) fn is_text(media_type: &MediaType) -> bool {
    media_type.kind() == MediaKind::Text
        || media_type.essence().ends_with("xml")
        || media_type.essence().ends_with("json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], most: usize) -> Option<Vec<(String, u64)>> {
        let mut lines = Lines::of(bytes, most).unwrap()?;
        let mut all = Vec::new();
        while lines.advance(|| false).unwrap() {
            let (text, left_out) = lines.text();
            all.push((text.into_owned(), left_out));
        }
        Some(all)
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        lines(bytes, 100).unwrap().into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn lines_of_any_charset_are_read() {
        assert_eq!(texts("a\r\nä€\n\nlast".as_bytes()), ["a", "ä€", "", "last"]);
        assert_eq!(texts(b"\xef\xbb\xbfa\n"), ["a"]);
        assert_eq!(texts(b"gr\xf6\xdfe\nna\xefve\n"), ["größe", "naïve"]);
        let text = "Übung\r\nzwei €\r\nĊ ende";
        let little: Vec<u8> =
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> =
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        assert_eq!(texts(&little), ["Übung", "zwei €", "Ċ ende"]);
        assert_eq!(texts(&big), ["Übung", "zwei €", "Ċ ende"]);
        assert_eq!(texts(b""), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_text_has_no_lines() {
        for bytes in [b"%PDF-1.7 text".as_slice(), b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"a\0b"] {
            assert_eq!(lines(bytes, 100), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters_and_counted() {
        let all = lines("abc€def\nx\n".as_bytes(), 5).unwrap();
        assert_eq!(all, [("abc".to_owned(), 6), ("x".to_owned(), 0)]);
        let wide: Vec<u8> =
            [0xfeff].into_iter().chain("abcdef\nx".encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(lines(&wide, 6).unwrap(), [("abc".to_owned(), 6), ("x".to_owned(), 0)]);
        // The end of a line is nothing that is left out of it.
        for whole in ["abcde\n", "abcde\r\n", "abcde"] {
            assert_eq!(lines(whole.as_bytes(), 5).unwrap(), [("abcde".to_owned(), 0)], "{whole:?}");
            let wide: Vec<u8> =
                [0xfeff].into_iter().chain(whole.encode_utf16()).flat_map(u16::to_le_bytes).collect();
            assert_eq!(lines(&wide, 10).unwrap(), [("abcde".to_owned(), 0)], "{whole:?}");
        }
        assert_eq!(lines(b"abcdef", 5).unwrap(), [("abcde".to_owned(), 1)]);
        assert_eq!(lines(b"abcdefghijklmn\n", 5).unwrap(), [("abcde".to_owned(), 9)]);
    }

    // Lines may be long, and one may be the whole file.
    #[test]
    fn whoever_waits_no_more_is_seen_by_the_bytes() {
        let long = "x".repeat(60 << 10) + "\n";
        let wide: Vec<u8> = [0xfeff]
            .into_iter()
            .chain("x".repeat(1 << 20).encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        for (bytes, most) in [
            (long.repeat(50).into_bytes(), 2),
            ("x\n".repeat(100_000).into_bytes(), 1_024),
            ("x".repeat(1 << 20).into_bytes(), 0),
            (wide, 0),
        ] {
            let mut lines = Lines::of(bytes.as_slice(), 100).unwrap().unwrap();
            let mut count = 0;
            while lines.advance(|| true).unwrap() {
                count += 1;
            }
            assert!(lines.is_over() && count <= most, "{count} of {} bytes", bytes.len());
        }
    }
}
