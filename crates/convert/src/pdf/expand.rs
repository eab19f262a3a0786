//! Undoing the filters of a stream under a byte limit.
//!
//! The PDF library undoes filters without any limit, and a flate stream can grow to a thousand times its
//! size. So every stream that the library would decode is measured here first, and streams that we read
//! ourselves are decoded here.

use std::borrow::Cow;

use hayro_syntax::Filter;
use hayro_syntax::object::{Array, Dict, FromBytes, Object, Stream};

use super::decoded::{Decoded, End, Output, Refused};
use super::filters::{ascii_hex, ascii85, flate, lzw, run_length};
use super::values::{is_whole, value};
use crate::guarded::Clock;

/// Most bytes that one byte of deflated data can stand for: 258 bytes for every two bits.
const FLATE_RATIO: usize = 258 * 4;

/// Rows wider than this are no predictor rows of a text, font or table stream; the library would allocate
/// whatever is asked for.
const MAX_PREDICTOR_COLUMNS: i64 = 1 << 16;
const MAX_PREDICTOR_COLORS: i64 = 32;

/// Deflated data ends with this where its producer has written all it had, and no mark of the end.
const FLUSHED: &[u8] = &[0, 0, 0xff, 0xff];

/// The decoded bytes of a stream, at most `limit`; what can be had of a damaged one.
pub(crate) fn decode(stream: &Stream<'_>, limit: usize, clock: Clock) -> Result<Decoded, Refused> {
    let chain = Chain::of(stream)?;
    let raw = stream.raw_data();
    if !names_its_filters(stream) || (raw.is_empty() && claims_data(stream)) {
        return Ok(Decoded::default());
    }
    if chain.predicted {
        let (_, end) = chain.measure(&raw, limit, clock)?;
        let decoded = stream.decoded_data();
        let whole = end == End::Marked && decoded.is_ok();
        let cut = end == End::Cut && decoded.is_ok() && raw.ends_with(FLUSHED);
        return Ok(Decoded { bytes: decoded.unwrap_or_default().into_owned(), whole, cut });
    }
    let flushed = raw.ends_with(FLUSHED);
    let expanded = chain.expand(raw, limit, clock)?;
    let (whole, cut) = (expanded.last == End::Marked, expanded.last == End::Cut && flushed);
    Ok(Decoded { bytes: expanded.bytes.into_owned(), whole, cut })
}

/// True if the library knows every filter of a stream; it passes over those that it does not know.
fn names_its_filters(stream: &Stream<'_>) -> bool {
    let named = match ["F", "Filter"].into_iter().find_map(|key| value(stream.dict(), key)) {
        None => Some(0),
        Some(Ok(Object::Name(_))) => Some(1),
        Some(Ok(Object::Array(list))) => is_whole(&list).then(|| list.raw_iter().count()),
        Some(_) => None,
    };
    named == Some(stream.filters().len())
}

/// True if a stream says it has more data than an encrypted one has at least; what cannot be decrypted is empty.
fn claims_data(stream: &Stream<'_>) -> bool {
    const EMPTY: usize = 32;
    stream.dict().get::<usize>("Length").is_some_and(|length| length > EMPTY)
}

/// The number of bytes that the library makes of a stream, or that it would be more than `limit`.
///
/// Predictors only shrink data, so that they are not applied.
pub(crate) fn decoded_len(stream: &Stream<'_>, limit: usize, clock: Clock) -> Result<usize, Refused> {
    Chain::of(stream)?.measure(&stream.raw_data(), limit, clock).map(|(len, _)| len)
}

/// The bytes that the library makes of a stream, at most `limit` bytes.
///
/// With `tail` the data is not what the stream says but all that follows its start: for a stream whose length
/// is not known yet. Most filters see the end of their data themselves.
pub(super) fn decode_like_library<'a>(
    stream: &Stream<'a>,
    tail: Option<&'a [u8]>,
    limit: usize,
    clock: Clock,
) -> Result<Cow<'a, [u8]>, Refused> {
    let chain = Chain::of(stream)?;
    let expanded = chain.expand(tail.map_or_else(|| stream.raw_data(), Cow::Borrowed), limit, clock)?;
    if expanded.worst < End::Broken && !chain.predicted {
        return Ok(expanded.bytes);
    }
    if tail.is_some() {
        return Err(Refused::TooLong);
    }
    chain.measure(&stream.raw_data(), limit, clock)?;
    Ok(stream.decoded_data().unwrap_or_default())
}

/// An image as a stream holds it: the filter that undoes it, and the bytes that the filter gets.
#[cfg(feature = "render")]
pub(crate) type PackedImage<'a> = (Filter, Cow<'a, [u8]>);

/// The image that a stream holds, in at most `limit` bytes; `None` if no filter of the stream is one of images.
#[cfg(feature = "render")]
pub(crate) fn packed_image<'a>(
    stream: &Stream<'a>,
    limit: usize,
    clock: Clock,
) -> Result<Option<PackedImage<'a>>, Refused> {
    let filters = stream.filters();
    let Some(at) = filters.iter().position(|filter| is_of_images(*filter)) else { return Ok(None) };
    let chain = Chain::of_first(stream, at)?;
    // Nobody writes more filters around an image than are undone before it, or rows that are predicted.
    let (Some(filter), 1, false) = (filters.get(at), filters.len() - at, chain.predicted) else {
        return Err(Refused::Image);
    };
    let expanded = chain.expand(stream.raw_data(), limit, clock)?;
    match expanded.worst {
        End::Broken => Err(Refused::TooLong),
        End::Marked | End::Cut => Ok(Some((*filter, expanded.bytes))),
    }
}

#[cfg(feature = "render")]
fn is_of_images(filter: Filter) -> bool {
    matches!(filter, Filter::CcittFaxDecode | Filter::Jbig2Decode | Filter::DctDecode | Filter::JpxDecode)
}

struct Chain {
    /// The filters in the order in which they are undone, with the `EarlyChange` of LZW.
    filters: Vec<(Filter, bool)>,
    /// True if a predictor has to be undone as well.
    predicted: bool,
}

struct Expanded<'r> {
    bytes: Cow<'r, [u8]>,
    /// The worst end that a filter of the chain came to.
    worst: End,
    /// The end that the last one came to: if that is marked, nothing is missing, whatever comes after it.
    last: End,
}

impl Chain {
    fn of(stream: &Stream<'_>) -> Result<Self, Refused> {
        Self::of_first(stream, usize::MAX)
    }

    /// The first `count` filters.
    fn of_first(stream: &Stream<'_>, count: usize) -> Result<Self, Refused> {
        let parameters = parameters(stream.dict());
        let mut filters = Vec::new();
        let mut predicted = false;
        for (index, filter) in stream.filters().into_iter().take(count).enumerate() {
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
                        return Err(Refused::Rows);
                    }
                }
                Filter::AsciiHexDecode | Filter::Ascii85Decode | Filter::RunLengthDecode => {}
                Filter::Crypt if index == 0 => continue,
                _ => return Err(Refused::Image),
            }
            filters.push((filter, number("EarlyChange").is_none_or(|n| n != 0)));
        }
        Ok(Self { filters, predicted })
    }

    fn expand<'r>(&self, raw: Cow<'r, [u8]>, limit: usize, clock: Clock) -> Result<Expanded<'r>, Refused> {
        if raw.len() > limit {
            return Err(Refused::TooLong);
        }
        let mut expanded = Expanded { bytes: raw, worst: End::Marked, last: End::Marked };
        for &(filter, early_change) in &self.filters {
            in_time(clock)?;
            // Nothing has no end that could be missing.
            if expanded.bytes.is_empty() {
                break;
            }
            let mut out = Output::new(limit);
            let input = &expanded.bytes;
            let end = match filter {
                Filter::FlateDecode => flate(input, &mut out)?,
                Filter::LzwDecode => lzw(input, early_change, &mut out)?,
                Filter::RunLengthDecode => run_length(input, &mut out)?,
                Filter::Ascii85Decode => ascii85(input, &mut out)?,
                _ => ascii_hex(input, &mut out)?,
            };
            expanded = Expanded { bytes: Cow::Owned(out.bytes), worst: expanded.worst.max(end), last: end };
        }
        Ok(expanded)
    }

    /// The number of bytes that the library makes of this data, and how they end.
    fn measure(&self, raw: &[u8], limit: usize, clock: Clock) -> Result<(usize, End), Refused> {
        let expanded = self.expand(Cow::Borrowed(raw), limit, clock)?;
        if expanded.worst < End::Broken {
            return Ok((expanded.bytes.len(), expanded.last));
        }
        // The library goes on where a strict decoder stops, and may put anything behind it.
        match self.filters.as_slice() {
            [(Filter::FlateDecode, _)] => lenient_len(raw, limit, clock).map(|len| (len, End::Broken)),
            // Damage in the middle of a chain cannot be measured.
            _ => Err(Refused::TooLong),
        }
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

fn in_time(clock: Clock) -> Result<(), Refused> {
    clock.check().map_err(|_| Refused::TimedOut)
}

/// The number of bytes that the library's own decoder makes of damaged deflated data.
///
/// It is asked about prefixes that stay within the limit even at the worst ratio.
fn lenient_len(data: &[u8], limit: usize, clock: Clock) -> Result<usize, Refused> {
    let mut end = 0;
    let mut known = 0;
    loop {
        in_time(clock)?;
        // Close to the limit the steps become too small to go on.
        if known > limit / 4 * 3 {
            return Err(Refused::TooLong);
        }
        let step = (limit - known) / FLATE_RATIO;
        if step == 0 && end < data.len() {
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

#[cfg(test)]
mod tests {
    use super::super::decoded::{Decoded, Refused};
    use super::super::filters::deflated;
    use super::{decode, decode_like_library, decoded_len, lenient_len};
    use crate::guarded::Clock;
    use hayro_syntax::object::{FromBytes, Stream};
    use std::time::Duration;

    fn clock() -> Clock {
        Clock::start(Duration::from_secs(60))
    }

    /// A stream with these entries and data, given to `look`.
    fn with<T>(entries: &str, data: &[u8], look: impl FnOnce(&Stream<'_>) -> T) -> T {
        let head = format!("<< {entries} /Length {} >> stream\n", data.len());
        let source = [head.as_bytes(), data, b"\nendstream"].concat();
        look(&Stream::from_bytes(&source).expect("a stream"))
    }

    #[test]
    fn filters_are_undone_as_the_library_does() {
        // The example of the PDF reference, 7.4.4.2, for LZW.
        let lzw = [0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01];
        let flate = [0x78, 0x9c, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x05, 0x8c, 0x01, 0xf5];
        let cases: [(&str, &[u8], &[u8]); 8] = [
            ("/Filter /LZWDecode", &lzw, b"-----A---B"),
            ("/Filter /FlateDecode", &flate, b"Hello"),
            ("/Filter /FlateDecode", deflated(&flate), b"Hello"),
            ("/Filter /FlateDecode", &flate[..6], b"Hel"),
            ("/Filter /ASCII85Decode", b"87cUR\nD]j~>", b"Hello "),
            ("/Filter /ASCII85Decode", b"z!!~>", b"\0\0\0\0\0"),
            ("/Filter /ASCIIHexDecode", b"48 65 6c6C 7>ff", b"Hellp"),
            ("/Filter /RunLengthDecode", &[1, b'a', b'b', 254, b'c', 128, 9], b"abccc"),
        ];
        for (entries, data, expected) in cases {
            with(entries, data, |stream| {
                assert_eq!(
                    decode(stream, 100, clock()).map(|decoded| decoded.bytes).as_deref(),
                    Ok(expected),
                    "{entries}"
                );
                let library = stream.decoded_data().unwrap_or_default();
                assert_eq!(decoded_len(stream, 100, clock()), Ok(library.len()), "{entries}");
                assert_eq!(
                    decode_like_library(stream, None, 100, clock()).as_deref(),
                    Ok(&*library),
                    "{entries}"
                );
                assert_eq!(decode(stream, expected.len() - 1, clock()), Err(Refused::TooLong), "{entries}");
            });
        }
    }

    #[test]
    fn damaged_data_is_measured_by_what_the_library_makes_of_it() {
        // A stored block whose length is denied, and another one behind it.
        let data = [0, 2, 0, 0, 0, b'a', b'b', 1, 3, 0, 0, 0, b'c', b'd', b'e'];
        with("/Filter /FlateDecode", &data, |stream| {
            assert_eq!(stream.decoded_data().as_deref().ok(), Some(b"abcde".as_slice()));
            assert_eq!(decoded_len(stream, 1 << 20, clock()), Ok(5));
            // We take what is sound.
            assert_eq!(
                decode(stream, 1 << 20, clock()),
                Ok(Decoded { bytes: Vec::new(), whole: false, cut: false })
            );
            // Too little is left to try even a byte: refused, not tried for ever.
            assert_eq!(decoded_len(stream, 100, clock()), Err(Refused::TooLong));
        });
    }

    #[test]
    fn measuring_damaged_data_ends_with_the_time() {
        let data = [0, 2, 0, 0, 0, b'a', b'b'];
        let over = Clock::start(Duration::ZERO);
        assert_eq!(lenient_len(&data, 1 << 20, over), Err(Refused::TimedOut));
        with("/Filter /FlateDecode", &data, |stream| {
            assert_eq!(decode(stream, 100, over), Err(Refused::TimedOut));
            assert_eq!(decoded_len(stream, 100, over), Err(Refused::TimedOut));
            assert_eq!(decode_like_library(stream, None, 100, over), Err(Refused::TimedOut));
        });
    }

    #[test]
    fn images_and_rows_of_absurd_width_are_refused() {
        for (entries, refused) in [
            ("/Filter /DCTDecode", Refused::Image),
            ("/Filter [/FlateDecode /JPXDecode]", Refused::Image),
            ("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 9999999999 >>", Refused::Rows),
            ("/Filter [/FlateDecode] /DecodeParms [<< /Predictor 12 /Colors 1000 >>]", Refused::Rows),
        ] {
            with(entries, b"", |stream| {
                assert_eq!(decode(stream, 100, clock()), Err(refused), "{entries}");
                assert_eq!(decoded_len(stream, 100, clock()), Err(refused), "{entries}");
            });
        }
    }
}
