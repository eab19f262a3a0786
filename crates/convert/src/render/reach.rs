//! Every stream that a page leads to, measured before anybody decodes it.

use std::collections::{HashMap, HashSet};

use hayro_syntax::Filter;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, Stream};
use hayro_syntax::page::Page;
use hayro_syntax::xref::XRef;

use super::jpx;
use crate::guarded::Clock;
use crate::pdf::decoded::Refused;
use crate::pdf::expand::{decoded_len, packed_image};
use crate::pdf::font::has_sane_widths;
use crate::transcode::coefficient_bytes;
use crate::{ConvertError, Limits};

/// Most pixels of one image: a sheet of A4 scanned at 600 for an inch has 35 million.
const MAX_PIXELS: u64 = 40_000_000;

/// Most samples of one image: three for each pixel.
const MAX_SAMPLES: u64 = 3 * MAX_PIXELS;

/// Most bytes that the coefficients of a progressive JPEG may take.
const MAX_COEFFICIENTS: u64 = 140_000_000;

/// Most objects that one page leads to.
const MAX_OBJECTS: usize = 100_000;

/// Most bytes of all streams that are no images, in parts of what one may have.
const STREAMS: usize = 2;

/// Keys that lead to other pages, or to what is not drawn.
const ELSEWHERE: [&[u8]; 16] = [
    b"Parent",
    b"P",
    b"Dest",
    b"A",
    b"AA",
    b"Popup",
    b"IRT",
    b"B",
    b"Metadata",
    b"Thumb",
    b"PieceInfo",
    b"StructParents",
    b"Next",
    b"Prev",
    b"Kids",
    b"OPI",
];

const MALFORMED: ConvertError = ConvertError::Malformed { reason: "an image on the page cannot be measured" };

/// The streams of a document that were found to be within the limits.
pub(super) struct Reach {
    limit: usize,
    clock: Clock,
    /// The bytes that may still be decoded of all streams that are no images.
    left: usize,
    /// Those that were measured.
    measured: HashMap<ObjectIdentifier, Measured>,
}

/// The result of decoding a stream.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    /// Pixels, if it is an image.
    pixels: u64,
    /// Bytes, if it is none.
    bytes: usize,
    /// True for a function, which is decoded whenever it is used.
    is_function: bool,
}

/// The largest things that a page makes its reader decode at once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Largest {
    /// The pixels of an image.
    pub(super) pixels: u64,
    /// The bytes of a function.
    pub(super) function: usize,
}

impl Reach {
    pub(super) fn new(limits: &Limits, clock: Clock) -> Self {
        let limit = limits.max_decoded_bytes;
        Self { limit, clock, left: limit.saturating_mul(STREAMS), measured: HashMap::new() }
    }

    /// Fails if a stream that the page leads to is more than the limits allow, or if its content is.
    pub(super) fn page<'a>(&mut self, page: &Page<'a>) -> Result<Largest, ConvertError> {
        let resources = page.resources();
        let dicts = [
            page.raw(),
            &resources.ext_g_states,
            &resources.fonts,
            &resources.color_spaces,
            &resources.x_objects,
            &resources.patterns,
            &resources.shadings,
        ];
        let mut walk = Walk { xref: page.xref(), seen: HashSet::new(), ahead: Vec::new(), objects: 0 };
        dicts.into_iter().for_each(|dict| walk.dict(dict));
        let mut largest = Largest::default();
        while let Some(object) = walk.next()? {
            match object {
                Object::Dict(dict) if !has_sane_widths(&dict) => {
                    return Err(ConvertError::TooLarge { what: "widths in a font", limit: 0xffff });
                }
                Object::Dict(dict) => walk.dict(&dict),
                Object::Array(list) => walk.list(&list),
                Object::Stream(stream) => {
                    self.clock.check()?;
                    let measured = self.stream(&stream)?;
                    largest.pixels = largest.pixels.max(measured.pixels);
                    if measured.is_function {
                        largest.function = largest.function.max(measured.bytes);
                    }
                    walk.dict(stream.dict());
                }
                _ => {}
            }
        }
        self.content(page)?;
        Ok(largest)
    }

    /// Fails if the streams of a page's content are too much together, each as often as it stands there.
    fn content(&self, page: &Page<'_>) -> Result<(), ConvertError> {
        let Some(parts) = page.raw().get::<Array<'_>>("Contents") else { return Ok(()) };
        let length = |part: MaybeRef<Object<'_>>| match part {
            MaybeRef::Ref(id) => self.measured.get(&id.into()).map_or(0, |measured| measured.bytes),
            MaybeRef::NotRef(_) => 0,
        };
        let total = parts.raw_iter().map(length).fold(0, usize::saturating_add);
        if total > self.limit { Err(self.refusal(Refused::TooLong)) } else { Ok(()) }
    }

    /// Fails if a stream is more than the limits allow.
    fn stream(&mut self, stream: &Stream<'_>) -> Result<Measured, ConvertError> {
        let id = stream.dict().obj_id();
        if let Some(known) = id.and_then(|id| self.measured.get(&id)) {
            return Ok(*known);
        }
        let is_image = stream.dict().get::<Name<'_>>("Subtype").is_some_and(|name| name.as_ref() == b"Image");
        let measured = match is_image {
            true => Measured { pixels: image(stream, self.clock)?, ..Measured::default() },
            false => {
                let most = self.limit.min(self.left);
                let length = match decoded_len(stream, most, self.clock) {
                    Ok(length) => length,
                    // The library refuses to decode it as anything but an image.
                    Err(Refused::Image) => 0,
                    Err(refused) => return Err(self.refusal(refused)),
                };
                self.left -= length.min(self.left);
                let is_function = stream.dict().contains_key("FunctionType");
                Measured { pixels: 0, bytes: length, is_function }
            }
        };
        self.measured.extend(id.map(|id| (id, measured)));
        Ok(measured)
    }

    fn refusal(&self, refused: Refused) -> ConvertError {
        match refused {
            Refused::TimedOut => self.clock.over(),
            _ => ConvertError::TooLarge { what: "bytes on a page", limit: self.limit },
        }
    }
}

/// Fails if an image is more than is decoded; yields its pixels.
pub(super) fn image(stream: &Stream<'_>, clock: Clock) -> Result<u64, ConvertError> {
    let dict = stream.dict();
    let side = |short: &str, long: &str| dict.get::<u32>(short).or_else(|| dict.get::<u32>(long));
    // Without them it is not drawn.
    let (Some(width), Some(height)) = (side("W", "Width"), side("H", "Height")) else { return Ok(0) };
    let pixels = checked(u64::from(width), u64::from(height))?;
    if pixels.saturating_mul(colours(dict)) > MAX_SAMPLES {
        return Err(too_large());
    }
    let refusal = |refused| match refused {
        Refused::TimedOut => clock.over(),
        _ => too_large(),
    };
    let most = MAX_SAMPLES as usize;
    match packed_image(stream, most, clock).map_err(refusal)? {
        None => {
            decoded_len(stream, most, clock).map_err(refusal)?;
        }
        Some((Filter::DctDecode, data)) => {
            // The decoder goes by the dictionary where the image says it is larger.
            if coefficient_bytes(&data).is_some_and(|bytes| bytes > MAX_COEFFICIENTS) {
                return Err(too_large());
            }
        }
        Some((Filter::JpxDecode, data)) => {
            let size = jpx::size(&data).ok_or(MALFORMED)?;
            let pixels = checked(size.width, size.height)?;
            if pixels.saturating_mul(size.components) > MAX_SAMPLES || size.tiles > 65_535 {
                return Err(too_large());
            }
        }
        Some((Filter::Jbig2Decode, data)) => jbig2(&data)?,
        // A fax has as many rows as the dictionary says, and columns of its own.
        Some(_) => {
            let parameters = fax_columns(dict);
            checked(parameters, u64::from(height))?;
        }
    }
    Ok(pixels)
}

fn too_large() -> ConvertError {
    ConvertError::TooLarge { what: "pixels in an image", limit: MAX_PIXELS as usize }
}

fn checked(width: u64, height: u64) -> Result<u64, ConvertError> {
    width.checked_mul(height).filter(|pixels| *pixels <= MAX_PIXELS).ok_or_else(too_large)
}

/// The number of samples of a pixel, as far as that can be many.
fn colours(dict: &Dict<'_>) -> u64 {
    let space = dict.get::<Array<'_>>("ColorSpace").or_else(|| dict.get::<Array<'_>>("CS"));
    let Some(space) = space else { return 1 };
    let mut parts = space.iter::<Object<'_>>();
    match (parts.next(), parts.next()) {
        (Some(Object::Name(name)), Some(Object::Array(names))) if name.as_ref() == b"DeviceN" => {
            names.raw_iter().count() as u64
        }
        _ => 1,
    }
}

/// The largest number of columns that the parameters of a fax speak of.
fn fax_columns(dict: &Dict<'_>) -> u64 {
    const USUAL: u64 = 1_728;
    let of = |dict: Dict<'_>| dict.get::<u32>("Columns").map_or(USUAL, u64::from);
    let parameters = ["DP", "DecodeParms"].into_iter().filter_map(|key| dict.get::<Object<'_>>(key));
    let columns = parameters.map(|parameters| match parameters {
        Object::Dict(dict) => of(dict),
        Object::Array(list) => {
            list.iter::<Object<'_>>().filter_map(Object::into_dict).map(of).max().unwrap_or(USUAL)
        }
        _ => USUAL,
    });
    columns.max().unwrap_or(USUAL)
}

/// Fails if a bitmap of a JBIG2 image is more than is decoded (ITU-T T.88, 7.2 and 7.4).
fn jbig2(data: &[u8]) -> Result<(), ConvertError> {
    const SYMBOLS: u8 = 0;
    const PATTERNS: u8 = 16;
    const PAGE: u8 = 48;
    const STRIPE: u8 = 50;
    let be32 = |at: usize| Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let (mut at, mut width, mut height) = (0_usize, 0_u64, 0_u64);
    while at < data.len() {
        let header = || {
            let flags = *data.get(at + 4)?;
            let count = usize::from(*data.get(at + 5)? >> 5);
            // A long form begins with seven.
            let (count, mut next) = match count {
                7 => {
                    let count = be32(at + 5)? as usize & 0x1fff_ffff;
                    (count, at.checked_add(9)?.checked_add(count.checked_add(8)? / 8)?)
                }
                count => (count, at + 6),
            };
            let each = match be32(at)? {
                0..=256 => 1,
                257..=65_536 => 2,
                _ => 4,
            };
            next = next.checked_add(count.checked_mul(each)?)?;
            next = next.checked_add(if flags & 0x40 == 0 { 1 } else { 4 })?;
            Some((flags & 0x3f, be32(next)?, next.checked_add(4)?))
        };
        let Some((kind, length, body)) = header() else { break };
        let size = be32(body).zip(be32(body + 4)).map(|(w, h)| (u64::from(w), u64::from(h)));
        match (kind, size) {
            (PATTERNS, _) => patterns(data.get(body..).unwrap_or_default())?,
            (SYMBOLS, _) => {
                let rest = data.get(body..).unwrap_or_default();
                symbols(rest.get(..length as usize).unwrap_or(rest))?;
            }
            (PAGE, Some((wide, high))) => {
                width = width.max(wide);
                // One that is not known yet is told by the stripes.
                height = height.max(if high == u64::from(u32::MAX) { 0 } else { high });
            }
            (STRIPE, _) => height = height.max(be32(body).map_or(0, |last| u64::from(last) + 1)),
            // Regions: of text, of patterns, generic and refined.
            (4..=7 | 20..=23 | 36..=43, Some((wide, high))) => _ = checked(wide, high)?,
            _ => {}
        }
        // A length that is not known is that of the last segment.
        let Some(next) = body.checked_add(length as usize) else { break };
        at = next;
    }
    checked(width, height).map(|_| ())
}

/// Fails if the bitmap of a dictionary of patterns is more than is decoded (T.88, 7.4.4): all of them side by side.
fn patterns(data: &[u8]) -> Result<(), ConvertError> {
    let [_, width, height, largest @ ..] = data else { return Ok(()) };
    let Some(largest) = largest.first_chunk::<4>() else { return Ok(()) };
    let count = u64::from(u32::from_be_bytes(*largest)) + 1;
    checked(count * u64::from(*width), u64::from(*height)).map(|_| ())
}

/// Fails if a dictionary of symbols has more of them than its data can hold (T.88, 7.4.2).
fn symbols(data: &[u8]) -> Result<(), ConvertError> {
    /// A symbol that takes less of a byte than this is none that anybody wrote.
    const IN_A_BYTE: u64 = 64;
    let Some(flags) = data.first_chunk::<2>().map(|flags| u16::from_be_bytes(*flags)) else { return Ok(()) };
    let (huffman, refined) = (flags & 1 != 0, flags & 2 != 0);
    // Pixels that the codes go by stand before the numbers.
    let pixels = match (huffman, flags >> 10 & 3) {
        (true, _) => 0,
        (false, 0) => 8,
        (false, _) => 2,
    };
    let of_refinement = if refined && flags >> 12 & 1 == 0 { 4 } else { 0 };
    // The number of those that are given on stands before that of the new ones.
    let count = data.get(2 + pixels + of_refinement + 4..).and_then(<[u8]>::first_chunk::<4>);
    let count = count.map_or(0, |count| u64::from(u32::from_be_bytes(*count)));
    if count > (data.len() as u64).saturating_mul(IN_A_BYTE) { Err(too_large()) } else { Ok(()) }
}

/// A walk through the objects that lead to each other.
struct Walk<'a> {
    xref: &'a XRef,
    seen: HashSet<ObjectIdentifier>,
    ahead: Vec<Object<'a>>,
    objects: usize,
}

impl<'a> Walk<'a> {
    fn next(&mut self) -> Result<Option<Object<'a>>, ConvertError> {
        self.objects += 1;
        if self.objects > MAX_OBJECTS {
            return Err(ConvertError::TooLarge { what: "objects on a page", limit: MAX_OBJECTS });
        }
        Ok(self.ahead.pop())
    }

    fn dict(&mut self, dict: &Dict<'a>) {
        for (name, value) in dict.entries() {
            if !ELSEWHERE.contains(&name.as_ref()) {
                self.value(value);
            }
        }
    }

    fn list(&mut self, list: &Array<'a>) {
        list.raw_iter().for_each(|value| self.value(value));
    }

    fn value(&mut self, value: MaybeRef<Object<'a>>) {
        let object = match value {
            MaybeRef::NotRef(object) => Some(object),
            MaybeRef::Ref(reference) => {
                let id = reference.into();
                if self.seen.insert(id) { self.xref.get::<Object<'a>>(id) } else { None }
            }
        };
        let leads_on =
            |object: &Object<'_>| matches!(object, Object::Dict(_) | Object::Array(_) | Object::Stream(_));
        self.ahead.extend(object.filter(leads_on));
    }
}
