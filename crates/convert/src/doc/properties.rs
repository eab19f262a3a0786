//! The properties of paragraphs and characters of DOC, as far as they change how a text reads. They stand on pages of
//! their own ([MS-DOC] 2.9.22 and 2.9.33), and are told by where the bytes of the text are.

use std::ops::Range;

use crate::ConvertError;
use crate::fields::{place_at, u16_at};
use crate::guarded::Clock;

/// The length of a page of properties, and how many of them are read.
const PAGE: usize = 512;
const MAX_PAGES: usize = 1 << 16;

/// The role of a paragraph in a table, a list and the outline, and the number of its style.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Place {
    pub(super) style: u16,
    pub(super) rank: Rank,
    pub(super) in_table: bool,
    pub(super) ends_row: bool,
}

/// The list of a paragraph, its level in it, and its level in the outline, from 0.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Rank {
    pub(super) list: Option<u16>,
    pub(super) level: Option<u8>,
    pub(super) outline: Option<u8>,
}

impl Rank {
    pub(super) fn set(&mut self, property: u16, operand: &[u8]) {
        match property {
            0x460b => self.list = u16_at(operand, 0),
            0x260a => self.level = operand.first().copied(),
            0x2640 => self.outline = operand.first().copied(),
            _ => {}
        }
    }
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
        self.with_end(byte).1
    }

    /// The paragraph in which a byte stands, with its end.
    pub(super) fn with_end(&self, byte: usize) -> (usize, Place) {
        let index = self.0.partition_point(|(end, _)| *end <= byte);
        self.0.get(index).copied().unwrap_or_default()
    }
}

/// The property that hides text.
pub(super) const HIDDEN: u16 = 0x083c;

/// The properties of characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// True if they are deleted, which is still to be approved.
    pub(super) is_deleted: bool,
    /// The word on hiding them: no, yes, as the style says, or the contrary of that.
    pub(super) hidden: Option<u8>,
    pub(super) style: Option<u16>,
    pub(super) font: Option<u16>,
    /// The font and the code of the sign that is shown in their place.
    pub(super) symbol: Option<(u16, u16)>,
}

/// The bytes of characters that have properties, in their order.
#[derive(Default)]
pub(super) struct Characters(Vec<(Range<usize>, Look)>);

impl Characters {
    pub(super) fn read(list: &[u8], head: &[u8], clock: Clock) -> Result<Self, ConvertError> {
        let mut found = Vec::new();
        runs(list, head, 1, clock, |bytes, page, offset| {
            found.extend(look(page, offset).map(|look| (bytes, look)));
        })?;
        found.sort_by_key(|(bytes, _)| bytes.end);
        Ok(Self(found))
    }

    /// The properties of a byte, and up to which byte they hold.
    pub(super) fn at(&self, byte: usize) -> (Look, usize) {
        let index = self.0.partition_point(|(bytes, _)| bytes.end <= byte);
        match self.0.get(index) {
            Some((bytes, look)) if bytes.start <= byte => (*look, bytes.end),
            Some((bytes, _)) => (Look::default(), bytes.start),
            None => (Look::default(), usize::MAX),
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

/// The style of a paragraph and its properties that concern tables, lists and the outline; they stand at an offset of their page.
fn place(page: &[u8], offset: usize) -> Option<Place> {
    let mut found = Place::default();
    if offset == 0 {
        return Some(found);
    }
    let (start, len) = match *page.get(offset)? {
        0 => (offset + 2, usize::from(*page.get(offset + 1)?) * 2),
        words => (offset + 1, usize::from(words) * 2 - 1),
    };
    found.style = u16_at(page, start)?;
    for (property, operand) in properties(page.get(start + 2..(start + len).min(PAGE))?) {
        let on = operand.first().is_some_and(|value| *value != 0);
        match property {
            0x2416 => found.in_table = on,
            0x2417 => found.ends_row = on,
            _ => found.rank.set(property, operand),
        }
    }
    Some(found)
}

/// The properties of characters, which stand at an offset of their page; `None` if they are the usual ones.
fn look(page: &[u8], offset: usize) -> Option<Look> {
    if offset == 0 {
        return None;
    }
    let len = usize::from(*page.get(offset)?);
    let mut look = Look::default();
    for (property, operand) in properties(page.get(offset + 1..(offset + 1 + len).min(PAGE))?) {
        match property {
            0x0800 => look.is_deleted = operand.first().is_some_and(|value| *value != 0),
            HIDDEN => look.hidden = operand.first().copied(),
            0x4a30 => look.style = u16_at(operand, 0),
            0x4a4f => look.font = u16_at(operand, 0),
            0x6a09 => look.symbol = u16_at(operand, 0).zip(u16_at(operand, 2)),
            _ => {}
        }
    }
    (look != Look::default()).then_some(look)
}

/// Properties, one behind the other, with their operands and what follows.
pub(super) fn properties(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
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
