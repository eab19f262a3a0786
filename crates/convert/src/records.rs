//! The records of drawings and presentations of Office 97 to 2003, which hold each other ([MS-ODRAW] 2.2.1).

use crate::fields::{place_at, u16_at, u32_at, wide};

/// Records that are read of one list or slide.
const MAX_RECORDS: usize = 1 << 20;

const GROUP: u16 = 0xf003;
const SHAPE: u16 = 0xf004;
const SHAPE_PROPERTIES: u16 = 0xf00b;

/// A record, which may hold others.
pub(crate) struct Record<'b> {
    pub(crate) id: u16,
    pub(crate) instance: u16,
    pub(crate) holds_records: bool,
    pub(crate) data: &'b [u8],
}

/// The record that begins here; what is left of one that breaks off.
pub(crate) fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let (head, id, len) = (u16_at(bytes, 0)?, u16_at(bytes, 2)?, place_at(bytes, 4)?);
    let data = bytes.get(8..)?;
    let data = data.get(..len).unwrap_or(data);
    Some(Record { id, instance: head >> 4, holds_records: head & 15 == 15, data })
}

/// Records one after the other.
pub(crate) fn top(mut bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let found = record(bytes)?;
        bytes = bytes.get(8 + found.data.len()..).unwrap_or_default();
        Some(found)
    })
    .take(MAX_RECORDS)
}

/// Those that a record holds, and those that these hold, in their order, without those of hidden shapes.
pub(crate) fn inside<'b>(record: &Record<'b>) -> impl Iterator<Item = Record<'b>> {
    let mut rest = record.data;
    std::iter::from_fn(move || {
        let found = self::record(rest)?;
        // The content of a record comes right behind its head.
        let step = if found.holds_records && !is_hidden_shape(&found) { 8 } else { 8 + found.data.len() };
        rest = rest.get(step..).unwrap_or_default();
        Some(found)
    })
    .take(MAX_RECORDS)
}

/// True of a shape that is hidden, or of a group of them: its own shape is its first one ([MS-ODRAW] 2.3.4.44).
fn is_hidden_shape(shape: &Record<'_>) -> bool {
    const FLAGS: u16 = 0x03bf;
    const HIDDEN: u32 = 1 << 1;
    const SAYS_HIDDEN: u32 = HIDDEN << 16;
    match shape.id {
        GROUP => top(shape.data).next().is_some_and(|own| own.id == SHAPE && is_hidden_shape(&own)),
        SHAPE => top(shape.data).filter(|part| part.id == SHAPE_PROPERTIES).any(|part| {
            let mut properties = part.data.chunks_exact(6).take(part.instance.into());
            let flags = properties.find(|property| u16_at(property, 0) == Some(FLAGS));
            let hides = |flags: u32| flags & (HIDDEN | SAYS_HIDDEN) == HIDDEN | SAYS_HIDDEN;
            flags.and_then(|property| u32_at(property, 2)).is_some_and(hides)
        }),
        _ => false,
    }
}

/// The words that a shape with these properties draws, such as a watermark ([MS-ODRAW] 2.3.22.1).
pub(crate) fn drawn_words(properties: &Record<'_>) -> Option<String> {
    const WORDS: u16 = 0x00c0;
    // The content of a record that holds others is read as records, too: its words would be told over and over.
    if properties.id != SHAPE_PROPERTIES || properties.holds_records {
        return None;
    }
    // Values that do not fit stand behind all properties, in the same order.
    let mut at = 6 * usize::from(properties.instance);
    for property in properties.data.get(..at)?.chunks_exact(6) {
        let (name, len) = (u16_at(property, 0)?, place_at(property, 2)?);
        if name & 0x8000 == 0 {
            continue;
        }
        if name & 0x3fff == WORDS {
            let words = wide(properties.data.get(at..at.checked_add(len)?)?);
            return Some(words.trim_end_matches('\0').to_owned());
        }
        at = at.checked_add(len)?;
    }
    None
}
