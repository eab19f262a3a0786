//! The properties of paragraphs and characters of DOC, as far as they change how a text reads. They stand on pages of
//! their own ([MS-DOC] 2.9.22 and 2.9.33), and are told by where the bytes of the text are.

use std::ops::Range;

use crate::ConvertError;
use crate::fields::{place_at, u16_at};
use crate::guarded::Clock;

/// The length of a page of properties, and how many of them are read.
const PAGE: usize = 512;
const MAX_PAGES: usize = 1 << 16;

/// The role of a paragraph in a table.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Place {
    pub(super) in_table: bool,
    pub(super) ends_row: bool,
}

/// The paragraphs by where their bytes end.
#[derive(Default)]
pub(super) struct Paragraphs(Vec<(usize, Place)>);

impl Paragraphs {
    pub(super) fn read(list: &[u8], head: &[u8], clock: Clock) -> Result<Self, ConvertError> {
        let mut found = Vec::new();
        // Beside its offset, each of these pages has the height of a paragraph.
        runs(list, head, 13, clock, |bytes, page, offset| {
            let place = place(page, offset).unwrap_or_default();
            found.push((bytes.end, place));
        })?;
        found.sort_by_key(|(end, _)| *end);
        Ok(Self(found))
    }

    /// The paragraph in which a byte stands.
    pub(super) fn at(&self, byte: usize) -> Place {
        let index = self.0.partition_point(|(end, _)| *end <= byte);
        self.0.get(index).map(|(_, place)| *place).unwrap_or_default()
    }
}

/// The way in which characters are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// Deleted, which is still to be approved.
    Deleted,
    Hidden,
}

/// The bytes of characters that are not part of the text as it stands now, in their order.
#[derive(Default)]
pub(super) struct Characters(Vec<(Range<usize>, Gone)>);

impl Characters {
    pub(super) fn read(list: &[u8], head: &[u8], clock: Clock) -> Result<Self, ConvertError> {
        let mut found = Vec::new();
        runs(list, head, 1, clock, |bytes, page, offset| {
            found.extend(gone(page, offset).map(|gone| (bytes, gone)));
        })?;
        found.sort_by_key(|(bytes, _)| bytes.end);
        Ok(Self(found))
    }

    /// Says whether a byte is gone, and up to which byte that holds.
    pub(super) fn at(&self, byte: usize) -> (Option<Gone>, usize) {
        let index = self.0.partition_point(|(bytes, _)| bytes.end <= byte);
        match self.0.get(index) {
            Some((bytes, gone)) if bytes.start <= byte => (Some(*gone), bytes.end),
            Some((bytes, _)) => (None, bytes.start),
            None => (None, usize::MAX),
        }
    }
}

/// Goes through the runs of the pages that a list names: their bytes, and their page with where their properties
/// stand on it; at 0 there are none. Behind the bytes of its runs a page has an entry of so many bytes for each.
fn runs(
    list: &[u8],
    head: &[u8],
    entry: usize,
    clock: Clock,
    mut each: impl FnMut(Range<usize>, &[u8], usize),
) -> Result<(), ConvertError> {
    let count = (list.len().saturating_sub(4) / 8).min(MAX_PAGES);
    for index in 0..count {
        clock.check()?;
        let Some(page) = place_at(list, 4 * (count + 1) + 4 * index)
            .and_then(|number| head.get(number.checked_mul(PAGE)?..)?.get(..PAGE))
        else {
            continue;
        };
        let runs = page.last().copied().map_or(0, usize::from);
        for run in 0..runs {
            let Some((start, end)) = place_at(page, 4 * run).zip(place_at(page, 4 * run + 4)) else { break };
            let offset = page.get(4 * (runs + 1) + entry * run).copied().map_or(0, usize::from) * 2;
            each(start..end, page, offset);
        }
    }
    Ok(())
}

/// The properties of a paragraph that concern tables; they stand at an offset of their page.
fn place(page: &[u8], offset: usize) -> Option<Place> {
    let mut found = Place::default();
    if offset == 0 {
        return Some(found);
    }
    let (start, len) = match *page.get(offset)? {
        0 => (offset + 2, usize::from(*page.get(offset + 1)?) * 2),
        words => (offset + 1, usize::from(words) * 2 - 1),
    };
    for (property, operand) in properties(page.get(start + 2..(start + len).min(PAGE))?) {
        let on = operand.first().is_some_and(|value| *value != 0);
        match property {
            0x2416 => found.in_table = on,
            0x2417 => found.ends_row = on,
            _ => {}
        }
    }
    Some(found)
}

/// The fate of characters whose properties stand at an offset of their page; `None` if they stand.
fn gone(page: &[u8], offset: usize) -> Option<Gone> {
    if offset == 0 {
        return None;
    }
    let len = usize::from(*page.get(offset)?);
    let (mut deleted, mut hidden) = (false, false);
    for (property, operand) in properties(page.get(offset + 1..(offset + 1 + len).min(PAGE))?) {
        match property {
            0x0800 => deleted = operand.first().is_some_and(|value| *value != 0),
            // Of the other values one leaves it to the style, which is hardly ever hidden, and one is its contrary.
            0x083c => hidden = operand.first().is_some_and(|value| value & 1 != 0),
            _ => {}
        }
    }
    match (deleted, hidden) {
        (true, _) => Some(Gone::Deleted),
        (_, true) => Some(Gone::Hidden),
        _ => None,
    }
}

/// Properties, one behind the other, with their operands and what follows.
fn properties(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let property = u16_at(rest, 0)?;
        let operand = rest.get(2..)?;
        let len = match property >> 13 {
            0 | 1 => 1,
            2 | 4 | 5 => 2,
            3 => 4,
            7 => 3,
            _ if property == 0xd608 => usize::from(u16_at(operand, 0)?) + 1,
            _ => usize::from(*operand.first()?) + 1,
        };
        rest = operand.get(len..).unwrap_or_default();
        Some((property, operand))
    })
}
