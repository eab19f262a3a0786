//! The first page of a TIFF.

use std::borrow::Cow;
use std::io::Cursor;

use image::metadata::Orientation;
use tiff::ColorType;
use tiff::decoder::{ChunkType, Decoder, DecodingResult, Limits};
use tiff::tags::Tag;

use super::decoded::{Decoded, MALFORMED, Parts};
use super::jpeg::rgb_of;
use super::rows::{Rows, check_memory, check_size};
use super::tiff_file::Directories;
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::header::JpegFrame;
use crate::transcode::image::raster::Layout;
use crate::transcode::image::scale::Room;

/// Most bytes of one value of a directory.
const VALUE_BYTES: usize = 4 << 20;

/// The factor by which a tile may be wider or higher than the image.
const TILE_MARGIN: u32 = 4096;

/// Colours are indices into a table, and are grey for a reader that knows no such table.
const PALETTE: u8 = 3;
const BLACK_IS_ZERO: u8 = 1;

/// The compression that puts a JPEG into each chunk.
const JPEG: u16 = 7;

const UNSUPPORTED: ConvertError =
    ConvertError::Malformed { reason: "it is a TIFF of a kind that cannot be decoded here" };

type File<'a> = Decoder<Cursor<&'a [u8]>>;

pub(super) fn decode(bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    let directories = Directories::read(bytes).ok_or(MALFORMED)?;
    let palette = directories.photometric.filter(|at| bytes.get(*at) == Some(&PALETTE));
    let source = match palette {
        None => Cow::Borrowed(bytes),
        Some(at) => {
            check_memory(bytes, bytes.len() as u64)?;
            let mut copy = bytes.to_vec();
            if let Some(byte) = copy.get_mut(at) {
                *byte = BLACK_IS_ZERO;
            }
            Cow::Owned(copy)
        }
    };
    let mut file: File<'_> = Decoder::new(Cursor::new(&*source)).map_err(|_| MALFORMED)?;
    let size = file.dimensions().map_err(|_| MALFORMED)?;
    check_size(size)?;
    let colours = if palette.is_some() {
        let table = file.find_tag_unsigned_vec::<u16>(Tag::ColorMap);
        Some(table.ok().flatten().ok_or(MALFORMED)?)
    } else {
        None
    };
    let kind = file.colortype().map_err(|_| UNSUPPORTED)?;
    let orientation = file.find_tag_unsigned::<u8>(Tag::Orientation).ok().flatten();
    let profile = file.get_tag_u8_vec(Tag::IccProfile).ok();

    let pixels = Pixels::of(kind, colours).ok_or(UNSUPPORTED)?;
    let chunks = Chunks::of(&mut file, size, pixels.samples)?;
    let jpeg = file.find_tag_unsigned::<u16>(Tag::Compression).ok().flatten() == Some(JPEG);
    let memory = chunks.memory(&mut file, jpeg)?;
    check_memory(bytes, memory)?;
    if jpeg {
        check_jpegs(&mut file, bytes)?;
    }
    file = file.with_limits({
        let mut limits = Limits::default();
        limits.decoding_buffer_size = usize::try_from(memory).unwrap_or(usize::MAX);
        limits.intermediate_buffer_size = limits.decoding_buffer_size.max(bytes.len());
        limits.ifd_value_size = VALUE_BYTES;
        limits
    });
    let mut rows = Rows::new(pixels.layout, size, room, clock)?;
    chunks.read(&mut file, &pixels, &mut rows)?;
    let mut decoded = rows.finish()?;
    decoded.lossy = jpeg;
    decoded.profile = profile.filter(|_| palette.is_none());
    decoded.orientation = orientation.and_then(Orientation::from_exif).unwrap_or(Orientation::NoTransforms);
    if directories.pages > 1 {
        decoded.parts = Parts::Pages(directories.pages);
    }
    Ok(decoded)
}

/// Fails if a JPEG inside says that it is larger than its chunk: its decoder would believe it.
fn check_jpegs(file: &mut File<'_>, bytes: &[u8]) -> Result<(), ConvertError> {
    let (width, height) = file.chunk_dimensions();
    let most = u64::from(width.next_multiple_of(16)) * u64::from(height.next_multiple_of(16));
    let tables = file.get_tag_u8_vec(Tag::JPEGTables).unwrap_or_default();
    if JpegFrame::read(&tables).is_some() {
        return Err(MALFORMED);
    }
    let tag = if file.get_chunk_type() == ChunkType::Tile { Tag::TileOffsets } else { Tag::StripOffsets };
    for offset in file.get_tag_u64_vec(tag).map_err(|_| MALFORMED)? {
        let offset = usize::try_from(offset).map_err(|_| MALFORMED)?;
        let frame = bytes.get(offset..).and_then(JpegFrame::read).ok_or(MALFORMED)?;
        if frame.in_passes || u64::from(frame.width) * u64::from(frame.height) > most {
            return Err(MALFORMED);
        }
    }
    Ok(())
}

/// The strips or tiles of an image.
struct Chunks {
    size: (u32, u32),
    /// The sides of a chunk.
    width: u32,
    height: u32,
    across: u32,
    down: u32,
    /// The number of planes that the samples of a pixel are spread over.
    planes: u32,
}

impl Chunks {
    fn of(file: &mut File<'_>, size: (u32, u32), samples: usize) -> Result<Self, ConvertError> {
        let (width, height) = match file.get_chunk_type() {
            ChunkType::Strip => {
                let rows = file.find_tag_unsigned::<u32>(Tag::RowsPerStrip).ok().flatten();
                (size.0, rows.unwrap_or(size.1).min(size.1))
            }
            ChunkType::Tile => file.chunk_dimensions(),
        };
        if width == 0
            || height == 0
            || width > size.0.saturating_add(TILE_MARGIN)
            || height > size.1.saturating_add(TILE_MARGIN)
        {
            return Err(MALFORMED);
        }
        let planar = file.find_tag_unsigned::<u16>(Tag::PlanarConfiguration).ok().flatten() == Some(2);
        Ok(Self {
            size,
            width,
            height,
            across: size.0.div_ceil(width),
            down: size.1.div_ceil(height),
            planes: if planar { u32::try_from(samples).unwrap_or(u32::MAX) } else { 1 },
        })
    }

    /// The number of bytes that one band of chunks takes, decoded.
    fn memory(&self, file: &mut File<'_>, jpeg: bool) -> Result<u64, ConvertError> {
        let layout = file.image_chunk_buffer_layout(0).map_err(|_| UNSUPPORTED)?;
        // A JPEG is decoded apart.
        let chunks = u64::from(self.across) * u64::from(self.planes) + u64::from(jpeg);
        Ok((layout.len as u64).saturating_mul(chunks))
    }

    fn read(&self, file: &mut File<'_>, pixels: &Pixels, rows: &mut Rows) -> Result<(), ConvertError> {
        let mut samples = Vec::new();
        let mut out = Vec::new();
        for band in 0..self.down {
            let mut chunks = Vec::new();
            for plane in 0..self.planes {
                for column in 0..self.across {
                    rows.clock.check()?;
                    let index = (plane * self.down + band) * self.across + column;
                    // The readable part of a damaged image is shown.
                    let Ok(chunk) = file.read_chunk(index) else { return Ok(()) };
                    if !is_for_eyes(&chunk) {
                        return Err(UNSUPPORTED);
                    }
                    chunks.push(chunk);
                }
            }
            for y in 0..self.height.min(self.size.1 - band * self.height) as usize {
                samples.clear();
                if self.planes == 1 {
                    for (column, chunk) in chunks.iter().enumerate() {
                        let width = self.chunk_width(column);
                        pixels.samples_of(chunk, y, width * pixels.samples, &mut samples);
                    }
                } else {
                    self.gather(&chunks, y, pixels, &mut samples);
                }
                out.clear();
                pixels.convert(&samples, &mut out);
                rows.push(&out)?;
            }
        }
        Ok(())
    }

    fn chunk_width(&self, column: usize) -> usize {
        let left = self.size.0 as usize - (column * self.width as usize).min(self.size.0 as usize);
        left.min(self.width as usize)
    }

    /// Puts the samples of a row together that stand in planes.
    fn gather(&self, chunks: &[DecodingResult], y: usize, pixels: &Pixels, out: &mut Vec<u8>) {
        let mut planes = Vec::new();
        for plane in chunks.chunks(self.across as usize) {
            let mut row = Vec::new();
            for (column, chunk) in plane.iter().enumerate() {
                pixels.samples_of(chunk, y, self.chunk_width(column), &mut row);
            }
            planes.push(row);
        }
        for x in 0..self.size.0 as usize {
            out.extend(planes.iter().map(|plane| plane.get(x).copied().unwrap_or_default()));
        }
    }
}

/// The meaning of the samples of a pixel.
struct Pixels {
    layout: Layout,
    /// Samples of a pixel.
    samples: usize,
    bits: u8,
    meaning: Meaning,
}

enum Meaning {
    AsTheyAre,
    /// The first sample is grey, the others say something else.
    FirstOnly,
    /// The inks are followed by alpha.
    FirstFour,
    BrightnessAndColour,
    /// Red, green and blue of each index.
    Indices(Vec<[u8; 3]>),
}

impl Pixels {
    fn of(kind: ColorType, colours: Option<Vec<u16>>) -> Option<Self> {
        let (layout, samples, bits, meaning) = match kind {
            ColorType::Gray(bits @ ..=8) if colours.is_some() => {
                let table = colours?;
                let count = 1_usize << bits;
                let value = |at: usize| table.get(at).map_or(0, |value| value.to_be_bytes()[0]);
                let triples = (0..count).map(|n| [value(n), value(count + n), value(2 * count + n)]);
                (Layout::Rgb, 1, bits, Meaning::Indices(triples.collect()))
            }
            ColorType::Gray(bits) => (Layout::Gray, 1, bits, Meaning::AsTheyAre),
            ColorType::GrayA(bits) => (Layout::GrayAlpha, 2, bits, Meaning::AsTheyAre),
            ColorType::RGB(bits) => (Layout::Rgb, 3, bits, Meaning::AsTheyAre),
            ColorType::RGBA(bits) => (Layout::Rgba, 4, bits, Meaning::AsTheyAre),
            ColorType::CMYK(bits) => (Layout::Cmyk, 4, bits, Meaning::AsTheyAre),
            ColorType::CMYKA(bits) => (Layout::Cmyk, 5, bits, Meaning::FirstFour),
            ColorType::YCbCr(8) => (Layout::Rgb, 3, 8, Meaning::BrightnessAndColour),
            ColorType::Multiband { bit_depth, num_samples } => {
                (Layout::Gray, usize::from(num_samples), bit_depth, Meaning::FirstOnly)
            }
            _ => return None,
        };
        Some(Self { layout, samples, bits, meaning })
    }

    /// The samples of a row of a chunk as eight bits each; indices stay as they are.
    fn samples_of(&self, chunk: &DecodingResult, y: usize, count: usize, out: &mut Vec<u8>) {
        let from = y * count;
        match chunk {
            DecodingResult::U8(data) if self.bits < 8 => {
                let bits = usize::from(self.bits.max(1));
                let stride = (count * bits).div_ceil(8);
                let row = data.get(y * stride..).unwrap_or_default();
                let most = (1_usize << bits) - 1;
                let is_index = matches!(self.meaning, Meaning::Indices(_));
                out.extend((0..count).map(|at| {
                    let byte = row.get(at * bits / 8).copied().unwrap_or_default();
                    let value = usize::from(byte) >> (8 - bits - at * bits % 8) & most;
                    let scaled = if is_index { value } else { value * 255 / most };
                    u8::try_from(scaled).unwrap_or(u8::MAX)
                }));
            }
            DecodingResult::U8(data) => out.extend(part(data, from, count)),
            DecodingResult::U16(data) => {
                out.extend(part(data, from, count).iter().map(|n| n.to_be_bytes()[0]))
            }
            DecodingResult::U32(data) => {
                out.extend(part(data, from, count).iter().map(|n| n.to_be_bytes()[0]))
            }
            DecodingResult::U64(data) => {
                out.extend(part(data, from, count).iter().map(|n| n.to_be_bytes()[0]))
            }
            DecodingResult::F32(data) => out.extend(part(data, from, count).iter().map(|n| unit(*n))),
            DecodingResult::F64(data) => out.extend(part(data, from, count).iter().map(|n| unit(*n as f32))),
            _ => {}
        }
        // A chunk that is too short, or of another kind.
        out.resize(out.len().next_multiple_of(count.max(1)), 0);
    }

    fn convert(&self, samples: &[u8], out: &mut Vec<u8>) {
        let pixels = samples.chunks_exact(self.samples.max(1));
        match &self.meaning {
            Meaning::AsTheyAre => out.extend_from_slice(samples),
            Meaning::FirstOnly => out.extend(pixels.filter_map(|pixel| pixel.first())),
            Meaning::FirstFour => out.extend(pixels.flat_map(|pixel| pixel.iter().take(4))),
            Meaning::BrightnessAndColour => out.extend(pixels.flat_map(|pixel| match pixel {
                [y, cb, cr] => rgb_of(*y, *cb, *cr),
                _ => [0; 3],
            })),
            Meaning::Indices(colours) => out.extend(
                samples.iter().flat_map(|n| colours.get(usize::from(*n)).copied().unwrap_or_default()),
            ),
        }
    }
}

/// Signed numbers and half floats are measurements, not brightness.
fn is_for_eyes(chunk: &DecodingResult) -> bool {
    use DecodingResult::{F32, F64, U8, U16, U32, U64};
    matches!(chunk, U8(_) | U16(_) | U32(_) | U64(_) | F32(_) | F64(_))
}

fn part<T>(data: &[T], from: usize, count: usize) -> &[T] {
    let row = data.get(from..).unwrap_or_default();
    row.get(..count).unwrap_or(row)
}

/// A number from 0 to 1 as a byte.
fn unit(number: f32) -> u8 {
    (number * 255.0 + 0.5).clamp(0.0, 255.0) as u8
}
