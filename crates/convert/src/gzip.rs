//! Files that gzip packed.

use std::io::Read;

use attache_core::MediaType;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use crate::format::Format;
use crate::{ConvertError, Limits};

/// The file inside of a packed one, its format by its name and its first bytes, and whether it is whole.
///
/// # Errors
/// It is none, too large, or of a type that nothing here reads.
pub(crate) fn open(bytes: &[u8], limits: &Limits) -> Result<(Bytes, Format, bool), ConvertError> {
    let limit = limits.max_decoded_bytes;
    let mut decoder = MultiGzDecoder::new(bytes);
    let mut inside = Vec::new();
    // One byte more tells a file that is too large from one that just fits.
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let whole = decoder.by_ref().take(bound).read_to_end(&mut inside).is_ok();
    if inside.len() > limit {
        return Err(ConvertError::TooLarge { what: "decoded bytes", limit });
    }
    if inside.is_empty() {
        return Err(ConvertError::Malformed { reason: "it holds nothing that gzip packed" });
    }
    let name = decoder.header().and_then(|header| header.filename()).map(String::from_utf8_lossy);
    let media_type = MediaType::resolve(None, Some(&inside), name.as_deref());
    let format = Format::of(media_type.essence());
    let format = format.ok_or_else(|| ConvertError::Unsupported { media_type: media_type.to_string() })?;
    Ok((inside.into(), format, whole))
}
