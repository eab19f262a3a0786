//! Facts about bytes: media types by magic number, image sizes, base64 and data URIs.

use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD, Engine as _};

/// Decodes standard base64 with padding, without white space, as every API demands.
pub(crate) fn decode_base64(data: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(data).ok()
}

/// Decodes base64 in either alphabet, padded or not, as protobuf JSON takes it.
pub(crate) fn decode_any_base64(data: &str) -> Option<Vec<u8>> {
    let bare = data.trim_end_matches('=');
    if data.len() > bare.len() && !data.len().is_multiple_of(4) {
        return None;
    }
    let alphabet = if bare.contains(['-', '_']) { BASE64_URL_SAFE_NO_PAD } else { BASE64_STANDARD_NO_PAD };
    alphabet.decode(bare).ok()
}

/// The parts of `data:<media type>;base64,<data>`.
pub(crate) struct DataUri<'a> {
    pub(crate) media_type: &'a str,
    pub(crate) data: &'a str,
}

/// Takes a base64 data URI apart; `None` when it is not one. The data is not decoded.
pub(crate) fn parse_data_uri(uri: &str) -> Option<DataUri<'_>> {
    let (head, data) = uri.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    let (kind, subtype) = media_type.split(';').next()?.split_once('/')?;
    (!kind.is_empty() && !subtype.is_empty()).then_some(DataUri { media_type, data })
}

/// The media type that the first bytes prove.
pub(crate) fn sniff(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}

/// Width and height in pixels, from the header of a PNG, JPEG, GIF or WebP; `None` where the header is cut off
/// or of another kind.
pub(crate) fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    match sniff(bytes)? {
        "image/png" => Some((be32(bytes, 16)?, be32(bytes, 20)?)),
        "image/gif" => Some((le16(bytes, 6)?, le16(bytes, 8)?)),
        "image/jpeg" => jpeg_dimensions(bytes),
        "image/webp" => webp_dimensions(bytes),
        _ => None,
    }
}

fn jpeg_dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            // Fill bytes may stand before a marker.
            0xff => at += 1,
            // Markers without a body.
            0x01 | 0xd0..=0xd8 => at += 2,
            // A start of frame; C4, C8 and CC share the range but are tables.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((be16(bytes, at + 7)?, be16(bytes, at + 5)?));
            }
            _ => at += 2 + usize::try_from(be16(bytes, at + 2)?).ok()?,
        }
    }
}

fn webp_dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => Some((le16(bytes, 26)? & 0x3fff, le16(bytes, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = le32(bytes, 21)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => Some(((le32(bytes, 24)? & 0x00ff_ffff) + 1, (le32(bytes, 26)? >> 8) + 1)),
        _ => None,
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u16::from_be_bytes).map(u32::from)
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u16::from_le_bytes).map(u32::from)
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// True if the bytes are of the type that is stated, as far as that can be told.
pub(crate) fn matches_type(media_type: &str, bytes: &[u8]) -> bool {
    let checked = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
    !checked.contains(&media_type) || sniff(bytes) == Some(media_type)
}

#[cfg(test)]
mod tests {
    use super::{decode_any_base64, dimensions, parse_data_uri, sniff};

    #[test]
    fn protobuf_takes_both_alphabets() {
        for data in ["+/8=", "-_8=", "+/8", "-_8"] {
            assert_eq!(decode_any_base64(data).as_deref(), Some(&[0xfb, 0xff][..]), "{data}");
        }
        assert_eq!(decode_any_base64("").as_deref(), Some(&[][..]));
        for bad in ["+_8=", "%%", "A", "AAA=="] {
            assert_eq!(decode_any_base64(bad), None, "{bad}");
        }
    }

    #[test]
    fn image_sizes_are_read_from_headers() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 1, 0], &[0, 0, 0, 7]].concat();
        assert_eq!(dimensions(&png), Some((256, 7)));
        assert_eq!(dimensions(b"GIF89a\x03\x00\x05\x01"), Some((3, 261)));
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc0\x00\x11\x08\x00\x0a\x01\x00\x03";
        assert_eq!(dimensions(jpeg), Some((256, 10)));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x20\x00\x10\x00";
        assert_eq!(dimensions(lossy), Some((32, 16)));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x03\x40\x00\x00";
        assert_eq!(dimensions(lossless), Some((4, 2)));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x1f\0\0\x0f\0\0";
        assert_eq!(dimensions(extended), Some((32, 16)));
    }

    #[test]
    fn a_cut_header_has_no_size_and_an_unknown_one_no_type() {
        assert_eq!(dimensions(b"\x89PNG\r\n\x1a\n\0\0"), None);
        assert_eq!(dimensions(b"\xff\xd8\xff\xe0\xff\xff"), None);
        assert_eq!(sniff(b"BM"), None);
        assert_eq!(sniff(b""), None);
    }

    #[test]
    fn data_uris_need_a_media_type_and_base64() {
        let uri = parse_data_uri("data:image/png;base64,AAAA").expect("well formed");
        assert_eq!((uri.media_type, uri.data), ("image/png", "AAAA"));
        for bad in ["data:;base64,AAAA", "data:image/png,AAAA", "image/png;base64,AAAA", "data:png;base64,A"]
        {
            assert!(parse_data_uri(bad).is_none(), "{bad}");
        }
    }
}
