//! The lists of DOC, by whose levels paragraphs are numbered ([MS-DOC] 2.9.131, 2.9.147, 2.9.149 and 2.9.150).

use crate::docx::numbering::{LEVELS, Level, Levels, List, MAX_LISTS, Numbering};
use crate::fields::{place_at, u16_at, u32_at, wide};

/// The lengths of what is said of a kind of lists, of a list, of a level of it, and of a level.
const KIND: usize = 28;
const LIST: usize = 16;
const OWN_LEVEL: usize = 8;
const LEVEL: usize = 28;

/// Reads the kinds of lists, whose levels stand right behind their table, and the lists.
pub(super) fn read(kinds: &[u8], lists: &[u8]) -> Numbering {
    let count = u16_at(kinds, 0).map_or(0, usize::from).min(MAX_LISTS);
    let mut rest = kinds.get(2 + KIND * count..).unwrap_or_default();
    let kinds = kinds.get(2..).unwrap_or_default().chunks_exact(KIND).take(count);
    let kinds = kinds.map_while(|kind| {
        let levels = if kind.get(26)? & 1 != 0 { 1 } else { LEVELS };
        let levels = (0..levels).map(|_| level(&mut rest)).collect::<Levels>();
        Some((u32_at(kind, 0)?.to_string(), levels))
    });
    let kinds = kinds.collect();
    let count = place_at(lists, 0).unwrap_or(0).min(MAX_LISTS);
    let mut rest = lists.get(4 + LIST * count..).unwrap_or_default();
    let lists = lists.get(4..).unwrap_or_default().chunks_exact(LIST).take(count);
    let lists = lists.enumerate().map_while(|(index, list)| {
        let kind = u32_at(list, 0)?.to_string();
        let mut list_of = List { kind, ..List::default() };
        rest = rest.get(4..).unwrap_or_default();
        for _ in 0..*list.get(12)? {
            own_level(&mut rest, &mut list_of);
        }
        Some(((index + 1).to_string(), list_of))
    });
    let lists = lists.collect();
    Numbering::new(kinds, lists)
}

/// Reads what a list says of a level other than its kind.
fn own_level(rest: &mut &[u8], list: &mut List) -> Option<()> {
    let (start, flags) = (u32_at(rest, 0)?, *rest.get(4)?);
    *rest = rest.get(OWN_LEVEL..)?;
    let at = usize::from(flags & 15);
    let own = if flags & 0x20 != 0 { level(rest) } else { None };
    if at < LEVELS {
        if flags & 0x10 != 0 {
            list.starts.insert(at, own.as_ref().map_or(start, |own| own.start));
        }
        list.levels.resize_with(list.levels.len().max(at + 1), || None);
        *list.levels.get_mut(at)? = own;
    }
    Some(())
}

/// Reads a level.
fn level(rest: &mut &[u8]) -> Option<Level> {
    let bytes = *rest;
    let (format, flags) = (*bytes.get(4)?, *bytes.get(5)?);
    let at = LEVEL + usize::from(*bytes.get(24)?) + usize::from(*bytes.get(25)?);
    let end = at + 2 + 2 * usize::from(u16_at(bytes, at)?);
    let text = wide(bytes.get(at + 2..end)?);
    *rest = bytes.get(end..)?;
    // Numbers stand as those of their levels.
    let text = text.chars().flat_map(|c| match u32::from(c) {
        level @ 0..=8 => ['%', char::from_digit(level + 1, 10).unwrap_or('1')].into_iter().take(2),
        _ => [c, c].into_iter().take(1),
    });
    let format = match format {
        1 => "upperRoman",
        2 => "lowerRoman",
        3 => "upperLetter",
        4 => "lowerLetter",
        22 => "decimalZero",
        23 => "bullet",
        255 => "none",
        _ => "decimal",
    };
    Some(Level {
        start: u32_at(bytes, 0)?,
        format: format.to_owned(),
        text: text.collect(),
        legal: flags & 4 != 0,
        restart: (flags & 8 != 0).then_some(usize::from(*bytes.get(26)?)),
        ..Level::default()
    })
}
