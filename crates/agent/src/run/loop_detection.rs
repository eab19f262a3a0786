//! Notices calls that go round in circles.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use attache_core::{ContentTree, ToolCall, ToolResult};

/// The rounds of late.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Repeats {
    /// Signatures of call and result, so that asking for something that changes is no repetition.
    recent: VecDeque<u64>,
    /// The rounds in a row that found nothing.
    empty: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// The model is told that it repeats itself.
    Nudge,
    /// The model is told that it finds nothing.
    Empty,
    Stop,
}

/// Wide enough for circles of three rounds.
const WINDOW: usize = 15;
const NUDGE_AT: usize = 3;
const STOP_AT: usize = 5;
/// The rounds without a result after which the model is told so, and the run stops.
const EMPTY_NUDGE: usize = 4;
const EMPTY_STOP: usize = 8;

impl Repeats {
    /// Takes the calls of a round with their results, and whether each has an effect. A round of none is passed over.
    pub(crate) fn observe<'a>(
        &mut self,
        round: impl Iterator<Item = (&'a ToolCall, &'a ToolResult, bool)>,
    ) -> Verdict {
        let mut hasher = Words::default();
        let (mut calls, mut is_empty) = (0_usize, true);
        for (call, result, has_effect) in round {
            calls += 1;
            // An effect has done something, although it returns nothing.
            is_empty &= !has_effect && found_nothing(result);
            call.name.hash(&mut hasher);
            call.arguments.replay_json().hash(&mut hasher);
            result.is_error().hash(&mut hasher);
            hash_stable(result, &mut hasher);
        }
        if calls == 0 {
            return Verdict::Fine;
        }
        self.empty = if is_empty { self.empty.saturating_add(1) } else { 0 };
        let signature = hasher.finish();
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(signature);
        match (self.recent.iter().filter(|seen| **seen == signature).count(), self.empty) {
            (STOP_AT.., _) | (_, EMPTY_STOP..) => Verdict::Stop,
            (NUDGE_AT.., _) => Verdict::Nudge,
            (_, EMPTY_NUDGE..) => Verdict::Empty,
            _ => Verdict::Fine,
        }
    }
}

fn found_nothing(result: &ToolResult) -> bool {
    !result.is_error()
        && result.documents.is_empty()
        && matches!(result.tree.json(), "null" | "\"\"" | "[]" | "{}")
}

/// The result's text without the ids of its documents, which are new at each call.
fn hash_stable(result: &ToolResult, hasher: &mut Words) {
    let mut text = result.tree.json();
    for document in result.tree.documents() {
        if let Some((before, after)) = text.split_once(document.id().as_str()) {
            before.hash(hasher);
            text = after;
        }
        document.hash().hash(hasher);
    }
    text.hash(hasher);
}

/// A hash of sixteen bytes at a time: results are long, and nobody gains by two that have the same.
#[derive(Default)]
struct Words(u64);

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        let mut add = |pair: [u8; 16]| {
            let pair = u128::from_le_bytes(pair);
            let (first, second) = (self.0 ^ pair as u64, (pair >> 64) as u64 ^ 0xf135_7aea_2e62_a9c5);
            let product = u128::from(first) * u128::from(second);
            self.0 = product as u64 ^ (product >> 64) as u64;
        };
        let (pairs, rest) = bytes.as_chunks();
        pairs.iter().for_each(|pair| add(*pair));
        let mut last = [0xff; 16];
        last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        add(last);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Verdict {
    /// Tells the model, in this result, what is wrong.
    pub(crate) fn told(self, call: &ToolCall, result: &mut ToolResult) {
        match self {
            Self::Nudge => {
                let text = format!(
                    "The call {} was made several times with the same result. Try something else, or answer with what you have.",
                    call.name
                );
                hint(result, &text);
            }
            Self::Empty => hint(
                result,
                "The last calls found nothing. Try something else, or answer with what you have.",
            ),
            Self::Fine | Self::Stop => {}
        }
    }
}

/// Says something behind a result. One with documents keeps its tree, in which their references stand.
pub(super) fn hint(result: &mut ToolResult, text: &str) {
    if result.documents.is_empty() && result.withheld.is_empty() {
        result.tree = ContentTree::text(&format!("{}\n\n[{text}]", result.tree.model_text()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn texts_that_differ_anywhere_differ() {
        let text = "a result of some length, read sixteen bytes at a time";
        let changed = (0..text.len()).map(|at| [&text[..at], "#", &text[at + 1..]].concat());
        let cut = (0..=text.len()).map(|at| text[..at].to_owned());
        let padded = (1..17).map(|count| text.to_owned() + &"\0".repeat(count));
        let texts: HashSet<String> = changed.chain(cut).chain(padded).collect();
        let hash = |text: &String| {
            let mut hasher = Words::default();
            text.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(texts.iter().map(hash).collect::<HashSet<u64>>().len(), texts.len());
    }
}
