//! Styles of DOC, as far as they hide text, number it or make headings, and the names of its fonts ([MS-DOC] 2.9.271, 2.9.260 and 2.9.286).

use super::properties::{HIDDEN, Rank, properties};
use crate::fields::{u16_at, wide};

/// Styles and fonts that a document can have.
const MAX_STYLES: usize = 0x0fff;
const MAX_FONTS: usize = 0x7ff0;

/// The number of styles that are followed, each to the one that it is based on.
const MAX_CHAIN: usize = 12;

/// The place of the name in the record of a font.
const FONT_NAME: usize = 39;

/// Styles by their numbers.
#[derive(Default)]
pub(super) struct Styles(Vec<Style>);

#[derive(Default)]
struct Style {
    based_on: usize,
    hidden: Option<bool>,
    rank: Rank,
}

impl Styles {
    pub(super) fn read(sheet: &[u8]) -> Self {
        let number = |at: usize| u16_at(sheet, at).map(usize::from);
        let mut styles = Vec::new();
        let mut at = number(0).unwrap_or(0) + 2;
        let base = number(4).unwrap_or(0);
        while let Some(len) = number(at).filter(|_| styles.len() < MAX_STYLES) {
            at += 2;
            let style = sheet.get(at..at + len).and_then(|style| Style::read(style, base));
            let mut style = style.unwrap_or_default();
            // Those of headings have these numbers in all documents.
            if let 1..=9 = styles.len() {
                style.rank.outline = style.rank.outline.or(u8::try_from(styles.len() - 1).ok());
            }
            styles.push(style);
            at += len.next_multiple_of(2);
        }
        Self(styles)
    }

    /// True if text is hidden in a style of paragraphs, and in one of characters. Each turns what the other says into its
    /// contrary.
    pub(super) fn hide(&self, paragraph: u16, characters: Option<u16>) -> bool {
        self.says(paragraph) != characters.is_some_and(|style| self.says(style))
    }

    fn says(&self, style: u16) -> bool {
        self.chain(style).find_map(|style| style.hidden).unwrap_or(false)
    }

    /// The rank of paragraphs of a style that say this themselves.
    pub(super) fn rank(&self, style: u16, own: Rank) -> Rank {
        self.chain(style).fold(own, |rank, style| Rank {
            list: rank.list.or(style.rank.list),
            level: rank.level.or(style.rank.level),
            outline: rank.outline.or(style.rank.outline),
        })
    }

    /// A style, and those that it is based on.
    fn chain(&self, style: u16) -> impl Iterator<Item = &Style> {
        let first = self.0.get(usize::from(style));
        std::iter::successors(first, |style| self.0.get(style.based_on)).take(MAX_CHAIN)
    }
}

impl Style {
    /// A style: numbers, its name, and its properties, of which those of characters come last.
    fn read(style: &[u8], base: usize) -> Option<Self> {
        let kind = u16_at(style, 2)?;
        let before = match kind & 15 {
            1 => 1,
            2 => 0,
            3 => 2,
            _ => return None,
        };
        let mut at = base + 2 + 2 * (usize::from(u16_at(style, base)?) + 1);
        let mut rank = Rank::default();
        for _ in 0..before {
            let len = usize::from(u16_at(style, at)?);
            // A number comes first.
            if kind & 15 == 1 {
                let said = properties(style.get(at + 4..at + 2 + len).unwrap_or_default());
                said.for_each(|(property, operand)| rank.set(property, operand));
            }
            at += 2 + len.next_multiple_of(2);
        }
        let len = usize::from(u16_at(style, at)?);
        let said = properties(style.get(at + 2..at + 2 + len)?).filter(|(property, _)| *property == HIDDEN);
        let hidden = said.last().and_then(|(_, operand)| Some(operand.first()? & 1 != 0));
        Some(Self { based_on: usize::from(kind >> 4), hidden, rank })
    }
}

/// The names of the fonts of a document, by their numbers.
pub(super) fn fonts(table: &[u8]) -> Vec<String> {
    let mut fonts = Vec::new();
    let mut at = 4;
    while let Some(len) = table.get(at).copied().map(usize::from).filter(|_| fonts.len() < MAX_FONTS) {
        at += 1;
        let name = table.get(at + FONT_NAME..at + len).map(wide).unwrap_or_default();
        fonts.push(name.split('\0').next().unwrap_or_default().to_owned());
        at += len;
    }
    fonts
}
