//! Undoing the filters of a stream under a byte limit.
//!
//! The PDF library undoes filters without any limit, and a flate stream can grow to a thousand times its
//! size. So every stream that the library would decode is measured here first, and streams that we read
//! ourselves are decoded here.

use std::borrow::Cow;

use flate2::{Decompress, FlushDecompress, Status};
use hayro_syntax::Filter;
use hayro_syntax::object::{Array, Dict, FromBytes, Object, Stream};

/// Most bytes that one byte of deflated data can stand for: 258 bytes for every two bits.
const FLATE_RATIO: usize = 258 * 4;

/// Rows wider than this are no predictor rows of a text, font or table stream; the library would allocate
/// whatever is asked for.
const MAX_PREDICTOR_COLUMNS: i64 = 1 << 16;
const MAX_PREDICTOR_COLORS: i64 = 32;

/// Why a stream is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// It would be longer than allowed.
    TooLong,
    /// It is an image, or its filters cannot be undone within limits.
    Filter,
}

/// The decoded bytes of a stream, at most `limit`; what can be had of a damaged one.
pub(super) fn decode(stream: &Stream<'_>, limit: usize) -> Result<Vec<u8>, Refused> {
    let chain = Chain::of(stream)?;
    if chain.predicted {
        decoded_len(stream, limit)?;
        return stream.decoded_data().map(Cow::into_owned).map_err(|_| Refused::Filter);
    }
    chain.expand(stream.raw_data(), limit).map(|expanded| expanded.bytes.into_owned())
}

/// How many bytes the library makes of a stream, or that it would be more than `limit`.
///
/// Predictors only shrink data, so that they are not applied.
pub(super) fn decoded_len(stream: &Stream<'_>, limit: usize) -> Result<usize, Refused> {
    let chain = Chain::of(stream)?;
    let raw = stream.raw_data();
    let expanded = chain.expand(Cow::Borrowed(&*raw), limit)?;
    if expanded.sound {
        return Ok(expanded.bytes.len());
    }
    // The library goes on where a strict decoder stops.
    match chain.filters.as_slice() {
        [(Filter::FlateDecode, _)] => lenient_len(&raw, limit),
        _ => Err(Refused::Filter),
    }
}

/// What the library makes of a stream, at most `limit` bytes.
///
/// With `tail` the data is not what the stream says but all that follows its start: for a stream whose length
/// is not known yet. Most filters see the end of their data themselves.
pub(super) fn decode_like_library<'a>(
    stream: &Stream<'a>,
    tail: Option<&'a [u8]>,
    limit: usize,
) -> Result<Cow<'a, [u8]>, Refused> {
    let chain = Chain::of(stream)?;
    let expanded = chain.expand(tail.map_or_else(|| stream.raw_data(), Cow::Borrowed), limit)?;
    if expanded.sound && !chain.predicted {
        return Ok(expanded.bytes);
    }
    if tail.is_some() {
        return Err(Refused::Filter);
    }
    decoded_len(stream, limit)?;
    stream.decoded_data().map_err(|_| Refused::Filter)
}

struct Chain {
    /// The filters in the order in which they are undone, with the `EarlyChange` of LZW.
    filters: Vec<(Filter, bool)>,
    /// Whether a predictor has to be undone as well.
    predicted: bool,
}

struct Expanded<'r> {
    bytes: Cow<'r, [u8]>,
    /// Whether the data was free of errors up to its end; a cut end is no error.
    sound: bool,
}

impl Chain {
    fn of(stream: &Stream<'_>) -> Result<Self, Refused> {
        let parameters = parameters(stream.dict());
        let mut filters = Vec::new();
        let mut predicted = false;
        for (index, filter) in stream.filters().into_iter().enumerate() {
            let number = |key: &str| {
                let dict = parameters.get(index)?;
                dict.get::<hayro_syntax::object::Number>(key).map(|n| n.as_i64())
            };
            match filter {
                Filter::FlateDecode | Filter::LzwDecode => {
                    predicted |= number("Predictor").is_some_and(|p| p != 1);
                    if number("Columns").is_some_and(|n| !(0..=MAX_PREDICTOR_COLUMNS).contains(&n))
                        || number("Colors").is_some_and(|n| !(0..=MAX_PREDICTOR_COLORS).contains(&n))
                    {
                        return Err(Refused::Filter);
                    }
                }
                Filter::AsciiHexDecode | Filter::Ascii85Decode | Filter::RunLengthDecode => {}
                Filter::Crypt if index == 0 => continue,
                _ => return Err(Refused::Filter),
            }
            filters.push((filter, number("EarlyChange").is_none_or(|n| n != 0)));
        }
        Ok(Self { filters, predicted })
    }

    fn expand<'r>(&self, raw: Cow<'r, [u8]>, limit: usize) -> Result<Expanded<'r>, Refused> {
        if raw.len() > limit {
            return Err(Refused::TooLong);
        }
        let mut expanded = Expanded { bytes: raw, sound: true };
        for &(filter, early_change) in &self.filters {
            let mut out = Output { bytes: Vec::new(), limit };
            let input = &expanded.bytes;
            let sound = match filter {
                Filter::FlateDecode => flate(input, &mut out)?,
                Filter::LzwDecode => lzw(input, early_change, &mut out)?,
                Filter::RunLengthDecode => run_length(input, &mut out)?,
                Filter::Ascii85Decode => ascii85(input, &mut out)?,
                _ => ascii_hex(input, &mut out)?,
            };
            expanded = Expanded { bytes: Cow::Owned(out.bytes), sound: expanded.sound && sound };
        }
        Ok(expanded)
    }
}

/// The parameter dictionaries of a stream, one for each filter.
fn parameters<'a>(dict: &Dict<'a>) -> Vec<Dict<'a>> {
    let either = |key: &str, short: &str| dict.get::<Object<'a>>(short).or_else(|| dict.get(key));
    match either("DecodeParms", "DP") {
        Some(Object::Dict(parameters)) => vec![parameters],
        Some(Object::Array(list)) => all(&list).map(|o| o.into_dict().unwrap_or_default()).collect(),
        _ => Vec::new(),
    }
}

fn all<'a>(list: &Array<'a>) -> impl Iterator<Item = Object<'a>> {
    // No stream has more filters than this.
    list.iter::<Object<'a>>().take(16)
}

struct Output {
    bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        if self.limit - self.bytes.len() < bytes.len() {
            return Err(Refused::TooLong);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Whether the data is free of errors.
type Sound = bool;

fn flate(data: &[u8], out: &mut Output) -> Result<Sound, Refused> {
    let mut decoder = Decompress::new(false);
    let mut rest = deflated(data);
    let mut buffer = vec![0; 32 << 10];
    loop {
        let (read, written) = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress(rest, &mut buffer, FlushDecompress::None);
        let read = usize::try_from(decoder.total_in() - read).unwrap_or(usize::MAX);
        let written = usize::try_from(decoder.total_out() - written).unwrap_or(usize::MAX);
        out.push(buffer.get(..written).unwrap_or_default())?;
        rest = rest.get(read..).unwrap_or_default();
        match status {
            Err(_) => return Ok(false),
            Ok(Status::StreamEnd) => return Ok(true),
            Ok(_) if read == 0 && written == 0 => return Ok(true),
            Ok(_) => {}
        }
    }
}

/// The deflated data behind a zlib header, where there is one; the checksum behind it is not looked at.
fn deflated(data: &[u8]) -> &[u8] {
    match data {
        [method, flags, rest @ ..]
            if method & 0x0f == 8
                && u16::from_be_bytes([*method, *flags]).is_multiple_of(31)
                && flags & 0x20 == 0 =>
        {
            rest
        }
        _ => data,
    }
}

/// How much the library's own decoder makes of damaged deflated data.
///
/// It is asked about prefixes that stay within the limit even at the worst ratio.
fn lenient_len(data: &[u8], limit: usize) -> Result<usize, Refused> {
    let mut end = 0;
    let mut known = 0;
    loop {
        let step = limit.saturating_sub(known) / FLATE_RATIO;
        if step == 0 {
            return Err(Refused::TooLong);
        }
        end = data.len().min(end + step);
        let prefix = data.get(..end).unwrap_or(data);
        let header = format!("<</Filter/FlateDecode/Length {end}>>stream\n");
        let source = [header.as_bytes(), prefix, b"\nendstream"].concat();
        known = Stream::from_bytes(&source).and_then(|s| s.decoded_data().ok().map(|d| d.len())).unwrap_or(0);
        if known > limit {
            return Err(Refused::TooLong);
        }
        if end == data.len() {
            return Ok(known);
        }
    }
}

fn lzw(data: &[u8], early_change: bool, out: &mut Output) -> Result<Sound, Refused> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    const FULL: usize = 4096;
    // A text of the table is the text of an earlier code and one byte more.
    let mut table: Vec<(usize, u8)> = Vec::new();
    let mut previous: Option<usize> = None;
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut text = Vec::new();
    for &byte in data {
        bits = (bits << 8) | u32::from(byte);
        held += 8;
        let width = match END + 1 + table.len() + usize::from(early_change) {
            2048.. => 12,
            1024.. => 11,
            512.. => 10,
            _ => 9,
        };
        if held < width {
            continue;
        }
        held -= width;
        let code = (bits >> held) as usize;
        bits &= (1 << held) - 1;
        match code {
            CLEAR => {
                table.clear();
                previous = None;
                continue;
            }
            END => return Ok(true),
            _ => {}
        }
        let known = code < END + 1 + table.len();
        let start = match (known, previous) {
            (true, _) => code,
            (false, Some(previous)) if code == END + 1 + table.len() => previous,
            _ => return Ok(false),
        };
        text.clear();
        let mut at = start;
        while let Some(&(parent, last)) = at.checked_sub(END + 1).and_then(|index| table.get(index)) {
            text.push(last);
            at = parent;
        }
        let first = at.to_le_bytes()[0];
        text.push(first);
        text.reverse();
        if !known {
            text.push(first);
        }
        out.push(&text)?;
        if let Some(previous) = previous
            && END + 1 + table.len() < FULL
        {
            table.push((previous, first));
        }
        previous = Some(code);
    }
    Ok(true)
}

fn run_length(data: &[u8], out: &mut Output) -> Result<Sound, Refused> {
    let mut rest = data;
    while let [length, tail @ ..] = rest {
        let length = usize::from(*length);
        match length {
            128 => break,
            0..=127 => {
                let end = tail.len().min(length + 1);
                let (run, after) = tail.split_at(end);
                out.push(run)?;
                rest = after;
            }
            _ => {
                let [byte, after @ ..] = tail else { break };
                out.push(&vec![*byte; 257 - length])?;
                rest = after;
            }
        }
    }
    Ok(true)
}

fn ascii85(data: &[u8], out: &mut Output) -> Result<Sound, Refused> {
    let mut group = 0_u32;
    let mut digits = 0_usize;
    for &byte in data {
        match byte {
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                digits += 1;
                if digits == 5 {
                    out.push(&group.to_be_bytes())?;
                    (group, digits) = (0, 0);
                }
            }
            b'z' if digits == 0 => out.push(&[0; 4])?,
            b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' => {}
            b'~' => break,
            _ => return Ok(false),
        }
    }
    if digits > 1 {
        for _ in digits..5 {
            group = group.wrapping_mul(85).wrapping_add(84);
        }
        out.push(group.to_be_bytes().get(..digits - 1).unwrap_or_default())?;
    }
    Ok(true)
}

fn ascii_hex(data: &[u8], out: &mut Output) -> Result<Sound, Refused> {
    let mut high = None;
    for &byte in data {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' => continue,
            b'>' => break,
            _ => return Ok(false),
        };
        match high.take() {
            None => high = Some(digit << 4),
            Some(high) => out.push(&[high | digit])?,
        }
    }
    if let Some(high) = high {
        out.push(&[high])?;
    }
    Ok(true)
}
