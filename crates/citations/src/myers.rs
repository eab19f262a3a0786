//! The edit distance between a pattern and pieces of a text, 64 rows at once.
//!
//! Myers, "A fast bit-vector algorithm for approximate string matching" (1999), in blocks as Hyyrö describes them.

/// A pattern that is looked for.
#[derive(Debug)]
pub(crate) struct Pattern {
    len: usize,
    blocks: usize,
    /// For each byte and block, the rows that hold the byte.
    rows: Vec<u64>,
}

/// The place where the text before a column begins to count.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Begin {
    /// The match may begin anywhere.
    Free,
    /// The match begins where the text does.
    Fixed,
}

impl Pattern {
    pub(crate) fn new(pattern: impl ExactSizeIterator<Item = u8>) -> Self {
        let len = pattern.len();
        let blocks = len.div_ceil(64).max(1);
        let mut rows = vec![0_u64; 256 * blocks];
        for (at, byte) in pattern.enumerate() {
            if let Some(row) = rows.get_mut(usize::from(byte) * blocks + at / 64) {
                *row |= 1 << (at % 64);
            }
        }
        Self { len, blocks, rows }
    }

    /// The fewest edits that make the pattern of a piece of `text` that ends at each byte, in order.
    pub(crate) fn distances(
        &self,
        text: impl Iterator<Item = u8>,
        begin: Begin,
        mut each: impl FnMut(usize, usize),
    ) {
        let top = 1_u64 << ((self.len.max(1) - 1) % 64);
        let mut state = vec![(u64::MAX, 0_u64); self.blocks];
        let mut score = self.len;
        for (at, byte) in text.enumerate() {
            let from = usize::from(byte) * self.blocks;
            let rows = self.rows.get(from..from + self.blocks).unwrap_or_default();
            let mut carry = i8::from(begin == Begin::Fixed);
            let last = self.blocks - 1;
            for (number, (block, equal)) in state.iter_mut().zip(rows).enumerate() {
                carry = advance(block, *equal, carry, if number == last { top } else { 1 << 63 });
            }
            match carry {
                1.. => score += 1,
                0 => {}
                _ => score = score.saturating_sub(1),
            }
            each(at + 1, score);
        }
    }
}

/// One column of one block. `carry` is what the row above it adds.
fn advance((more, less): &mut (u64, u64), equal: u64, carry: i8, top: u64) -> i8 {
    let vertical = equal | *less;
    let equal = equal | u64::from(carry < 0);
    let across = ((equal & *more).wrapping_add(*more) ^ *more) | equal;
    let up = *less | !(across | *more);
    let down = *more & across;
    let out = i8::from(up & top != 0) - i8::from(down & top != 0);
    let up = up << 1 | u64::from(carry > 0);
    let down = down << 1 | u64::from(carry < 0);
    *more = down | !(vertical | up);
    *less = up & vertical;
    out
}

/// The piece of `text` that is the pattern with the fewest edits, at most `most`, and how many: the first of equal ones.
pub(crate) fn best(pattern: &[u8], text: &[u8], most: usize) -> Option<(usize, usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    Pattern::new(pattern.iter().copied()).distances(text.iter().copied(), Begin::Free, |end, edits| {
        if edits <= most && found.is_none_or(|(_, fewest)| edits < fewest) {
            found = Some((end, edits));
        }
    });
    let (end, edits) = found?;
    let before = text.get(..end)?.iter().rev().copied();
    let mut length: Option<usize> = None;
    Pattern::new(pattern.iter().rev().copied()).distances(before, Begin::Fixed, |len, cost| {
        let nearer = |known: usize| len.abs_diff(pattern.len()) < known.abs_diff(pattern.len());
        if cost == edits && length.is_none_or(nearer) {
            length = Some(len);
        }
    });
    Some((end.checked_sub(length?)?, end, edits))
}

#[cfg(test)]
mod tests {
    use super::{Begin, Pattern, best};
    use proptest::prelude::*;

    /// The textbook's table.
    fn plain(pattern: &[u8], text: &[u8], begin: Begin) -> Vec<usize> {
        let mut column: Vec<usize> = (0..=pattern.len()).collect();
        let mut out = Vec::new();
        for (at, byte) in text.iter().enumerate() {
            let mut diagonal = column[0];
            column[0] = if begin == Begin::Fixed { at + 1 } else { 0 };
            for row in 1..=pattern.len() {
                let above = column[row];
                let same = diagonal + usize::from(pattern[row - 1] != *byte);
                column[row] = same.min(above + 1).min(column[row - 1] + 1);
                diagonal = above;
            }
            out.push(column[pattern.len()]);
        }
        out
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_table(pattern in "[ab]{1,150}", text in "[abc]{0,200}", fixed: bool) {
            let begin = if fixed { Begin::Fixed } else { Begin::Free };
            let mut found = Vec::new();
            Pattern::new(pattern.bytes()).distances(text.bytes(), begin, |_, edits| found.push(edits));
            prop_assert_eq!(found, plain(pattern.as_bytes(), text.as_bytes(), begin));
        }
    }

    #[test]
    fn the_best_piece_is_found() {
        assert_eq!(best(b"hello world", b"say helo world!", 2), Some((4, 14, 1)));
        assert_eq!(best(b"hello world", b"nothing of it", 2), None);
    }
}
