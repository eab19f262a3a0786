//! The facts that the first bytes of an image say about it, read without decoding anything.

/// The kinds of images that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Png,
    Jpeg,
    Gif,
    WebP,
    Bmp,
    Tiff,
    /// HEIF with pictures of H.265.
    Heic,
    Avif,
}

impl Kind {
    /// The format that the bytes prove to be.
    pub(super) fn sniff(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            [b'B', b'M', ..] => Some(Self::Bmp),
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Some(Self::Tiff),
            [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4)? {
                b"avif" | b"avis" => Some(Self::Avif),
                b"heic" | b"heix" | b"hevc" | b"heim" | b"heis" | b"hevm" | b"hevs" | b"mif1" | b"msf1" => {
                    Some(Self::Heic)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The kind of images of a media type.
    pub(super) fn of(essence: &str) -> Option<Self> {
        let lower = essence.to_ascii_lowercase();
        Some(match lower.strip_prefix("image/")? {
            "png" | "apng" | "x-png" | "vnd.mozilla.apng" => Self::Png,
            "jpeg" | "jpg" | "pjpeg" => Self::Jpeg,
            "gif" => Self::Gif,
            "webp" => Self::WebP,
            "bmp" | "x-bmp" | "x-ms-bmp" => Self::Bmp,
            "tiff" | "tif" | "x-tiff" => Self::Tiff,
            "heic" | "heif" | "heic-sequence" | "heif-sequence" => Self::Heic,
            "avif" | "avif-sequence" => Self::Avif,
            _ => return None,
        })
    }

    pub(super) fn essence(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Bmp => "image/bmp",
            Self::Tiff => "image/tiff",
            Self::Heic => "image/heic",
            Self::Avif => "image/avif",
        }
    }
}

/// True if an image goes on to its end: what a provider refuses is mostly what was cut on its way. `true` for kinds
/// whose end cannot be told without decoding.
pub(super) fn is_whole(kind: Kind, bytes: &[u8]) -> bool {
    match kind {
        Kind::Png => ends_png(bytes).is_some(),
        // Programs append data of their own behind the end.
        Kind::Jpeg => memchr::memmem::rfind(bytes, b"\xff\xd9").is_some(),
        Kind::Gif => bytes.iter().rev().find(|byte| **byte != 0) == Some(&0x3b),
        Kind::WebP => le32(bytes, 4).is_some_and(|size| u64::from(size) + 8 <= bytes.len() as u64),
        Kind::Bmp | Kind::Tiff | Kind::Heic | Kind::Avif => true,
    }
}

/// Where the last chunk of a PNG begins.
fn ends_png(bytes: &[u8]) -> Option<usize> {
    let mut at = 8;
    loop {
        let length = usize::try_from(be32(bytes, at)?).ok()?;
        let end = at.checked_add(length)?.checked_add(12)?;
        if end > bytes.len() {
            return None;
        }
        if bytes.get(at + 4..at + 8)? == b"IEND" {
            return Some(at);
        }
        at = end;
    }
}

/// Width and height in pixels; `None` for kinds that no provider takes, and where the header is cut off.
pub(super) fn dimensions(kind: Kind, bytes: &[u8]) -> Option<(u32, u32)> {
    match kind {
        Kind::Png => Some((be32(bytes, 16)?, be32(bytes, 20)?)),
        Kind::Gif => Some((le16(bytes, 6)?, le16(bytes, 8)?)),
        Kind::Jpeg => {
            let frame = JpegFrame::read(bytes)?;
            Some((frame.width, frame.height))
        }
        Kind::WebP => match bytes.get(12..16)? {
            b"VP8 " => Some((le16(bytes, 26)? & 0x3fff, le16(bytes, 28)? & 0x3fff)),
            b"VP8L" => {
                let bits = le32(bytes, 21)?;
                Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
            }
            b"VP8X" => Some(((le32(bytes, 24)? & 0x00ff_ffff) + 1, (le32(bytes, 26)? >> 8) + 1)),
            _ => None,
        },
        Kind::Heic | Kind::Avif => boxed_size(bytes),
        Kind::Bmp | Kind::Tiff => None,
    }
}

/// The size of the largest picture in a container of pictures, which says it in boxes near its beginning.
fn boxed_size(bytes: &[u8]) -> Option<(u32, u32)> {
    const NEAR: usize = 64 << 10;
    const NAME: &[u8] = b"ispe";
    let near = bytes.get(..NEAR).unwrap_or(bytes);
    let places = near.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    places.filter_map(|(at, _)| Some((be32(bytes, at + 8)?, be32(bytes, at + 12)?))).max()
}

/// The frame header of a JPEG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JpegFrame {
    pub(super) width: u32,
    pub(super) height: u32,
    /// The sampling of each component, horizontally and vertically.
    pub(super) sampling: Vec<(u32, u32)>,
    /// True if its pixels come in several passes, all of which have to be kept.
    pub(super) in_passes: bool,
    /// True if an Adobe program says how its colours are meant; such programs store inks inverted.
    pub(super) adobe: bool,
}

impl JpegFrame {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut at = 2;
        let mut adobe = false;
        let mut frame: Option<Self> = None;
        loop {
            if *bytes.get(at)? != 0xff {
                return frame;
            }
            let marker = *bytes.get(at + 1)?;
            let body = at + 4;
            match marker {
                // Fill bytes may stand before a marker.
                0xff => {
                    at += 1;
                    continue;
                }
                // Markers without a body.
                0x01 | 0xd0..=0xd8 => {
                    at += 2;
                    continue;
                }
                0xd9 => return frame,
                0xee => adobe |= bytes.get(body..body + 5) == Some(b"Adobe"),
                // A start of frame; C4, C8 and CC share the range but are tables.
                0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) && frame.is_none() => {
                    let count = usize::from(*bytes.get(body + 5)?);
                    let sampling = (0..count).map(|index| {
                        let factors = u32::from(*bytes.get(body + 7 + 3 * index)?);
                        Some((factors >> 4, factors & 15))
                    });
                    frame = Some(Self {
                        width: be16(bytes, body + 3)?,
                        height: be16(bytes, body + 1)?,
                        sampling: sampling.collect::<Option<_>>()?,
                        in_passes: matches!(marker & 3, 2),
                        adobe: false,
                    });
                }
                0xda => {
                    let mut frame = frame?;
                    frame.in_passes |= usize::from(*bytes.get(body)?) < frame.sampling.len();
                    frame.adobe = adobe;
                    return Some(frame);
                }
                _ => {}
            }
            let Some(length) = be16(bytes, at + 2) else { return frame };
            at += 2 + usize::try_from(length).ok()?;
        }
    }

    /// The number of bytes that the coefficients of all components take, two bytes each.
    pub(super) fn coefficient_bytes(&self) -> u64 {
        let widest = self.sampling.iter().map(|(across, _)| *across).max().unwrap_or(1).max(1);
        let highest = self.sampling.iter().map(|(_, down)| *down).max().unwrap_or(1).max(1);
        let units_across = u64::from(self.width.div_ceil(8 * widest));
        let units_down = u64::from(self.height.div_ceil(8 * highest));
        let blocks: u64 = self.sampling.iter().map(|(across, down)| u64::from(across * down)).sum();
        units_across * units_down * blocks * 128
    }
}

/// The number of pictures of a GIF, counted without decoding them; at least those that are whole.
pub(super) fn gif_frames(bytes: &[u8]) -> u64 {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let skip_blocks = |mut at: usize| loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    };
    let mut count = 0;
    let mut step = |at: usize| match *bytes.get(at)? {
        0x21 => skip_blocks(at + 2),
        0x2c => {
            count += 1;
            skip_blocks(at + 11 + table(*bytes.get(at + 9)?))
        }
        _ => None,
    };
    let mut at = bytes.get(10).map(|flags| 13 + table(*flags));
    while let Some(here) = at {
        at = step(here);
    }
    count
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u16::from_be_bytes).map(u32::from)
}

pub(super) fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u16::from_le_bytes).map(u32::from)
}

pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

pub(super) fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::{JpegFrame, Kind, dimensions, gif_frames};

    #[test]
    fn sizes_are_read_from_headers() {
        let size = |bytes: &[u8]| dimensions(Kind::sniff(bytes).unwrap(), bytes);
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 1, 0], &[0, 0, 0, 7]].concat();
        assert_eq!(size(&png), Some((256, 7)));
        assert_eq!(size(b"GIF89a\x03\x00\x05\x01"), Some((3, 261)));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x20\x00\x10\x00";
        assert_eq!(size(lossy), Some((32, 16)));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x03\x40\x00\x00";
        assert_eq!(size(lossless), Some((4, 2)));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x1f\0\0\x0f\0\0";
        assert_eq!(size(extended), Some((32, 16)));
        assert_eq!(size(b"\x89PNG\r\n\x1a\n\0\0"), None);
        assert_eq!(size(b"\xff\xd8\xff\xe0\xff\xff"), None);
        assert_eq!(Kind::sniff(b"\0\0\0\x18ftypheic"), Some(Kind::Heic));
        assert_eq!(Kind::sniff(b"\0\0\0\x18ftypavif"), Some(Kind::Avif));
        let heic = b"\0\0\0\x18ftypheic....\0\0\0\x14ispe\0\0\0\0\0\0\x0f\xc0\0\0\x0b\xd0";
        assert_eq!(size(heic), Some((4032, 3024)));
        assert_eq!((Kind::sniff(b""), Kind::sniff(b"\0\0\0\x18ftypmp42")), (None, None));
    }

    #[test]
    fn the_frame_of_a_jpeg_says_what_it_costs() {
        // Adobe, then a progressive frame of three components, the first sampled twice as often both ways.
        let mut jpeg = b"\xff\xd8\xff\xee\x00\x0eAdobe\0\x64\0\0\0\0\x01".to_vec();
        jpeg.extend(
            b"\xff\xff\xc2\x00\x11\x08\x00\x11\x00\x20\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01\xff\xda\x00\x08\x01",
        );
        let frame = JpegFrame::read(&jpeg).unwrap();
        assert_eq!((frame.width, frame.height, frame.in_passes, frame.adobe), (32, 17, true, true));
        assert_eq!(frame.sampling, [(2, 2), (1, 1), (1, 1)]);
        // Two units across, two down, of six blocks.
        assert_eq!(frame.coefficient_bytes(), 4 * 6 * 128);
    }

    #[test]
    fn frames_of_a_gif_are_counted_without_decoding() {
        let head = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff";
        let frame = b"\x21\xf9\x04\0\0\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
        let gif = [&head[..], &frame.repeat(7), b";"].concat();
        assert_eq!(gif_frames(&gif), 7);
        assert_eq!(gif_frames(&gif[..gif.len() - 30]), 6);
        assert_eq!(gif_frames(b"GIF89a"), 0);
    }
}
