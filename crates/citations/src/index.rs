//! The figures of all sources, by value.

use std::collections::HashMap;

use attache_core::citation::{Citation, How, Source, Span};

use crate::dates::Date;
use crate::number::{Kind, Number, numbers, parts};
use crate::number_formats::{ONE, Reading};
use crate::place::Layout;
use crate::search::is_word;
use crate::units::{self, Unit};

/// The maximum number of figures of one value that are looked at.
const MAX_SAME: usize = 256;
/// So far around a figure its words are looked at, in bytes.
const NEAR: usize = 90;

/// A text with what is known of it.
#[derive(Debug)]
pub(crate) struct Text<'t> {
    pub(crate) source: &'t Source,
    pub(crate) text: &'t str,
    pub(crate) layout: Layout,
}

/// The figures of some texts.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Each figure, and the number of its text.
    pub(crate) numbers: Vec<(usize, Number)>,
    /// Amount without sign, figure, value, in order.
    by_value: Vec<(u128, usize, Reading)>,
    by_date: HashMap<Date, usize>,
}

/// The zeros that stand above a table: `in thousands`.
const HEADERS: [(&str, u32); 12] = [
    ("in thousands", 3),
    ("(000s)", 3),
    ("('000)", 3),
    ("in tsd", 3),
    ("in tausend", 3),
    ("in teur", 3),
    ("in t€", 3),
    ("in millions", 6),
    ("in mio", 6),
    ("in millionen", 6),
    ("eur million", 6),
    ("in billions", 9),
];

impl Index {
    pub(crate) fn of(texts: &[Text<'_>]) -> Self {
        let mut index = Self::default();
        for (of, text) in texts.iter().enumerate() {
            let headers = headers(text.text);
            let mut skipped = text.layout.skipped.iter().copied().peekable();
            for number in numbers(text.text) {
                while skipped.peek().is_some_and(|(_, end)| *end <= number.start) {
                    skipped.next();
                }
                if skipped.peek().is_some_and(|(start, _)| *start <= number.start) {
                    continue;
                }
                let zeros = |at: usize| {
                    let unit = text.layout.unit_start(at);
                    let above = headers.partition_point(|(place, _)| *place < at);
                    above
                        .checked_sub(1)
                        .and_then(|at| headers.get(at))
                        .filter(|(place, _)| *place >= unit)
                        .map(|(_, zeros)| *zeros)
                };
                // Nothing in the text says which of the two a row of figures is.
                for part in parts(text.text, &number).into_iter().chain(inner(text.text, &number)) {
                    index.add(of, part, zeros);
                }
                index.add(of, number, zeros);
            }
        }
        index.by_value.sort_unstable_by_key(|(value, figure, _)| (*value, *figure));
        index
    }

    fn add(&mut self, text: usize, number: Number, zeros: impl Fn(usize) -> Option<u32>) {
        let figure = self.numbers.len();
        match &number.kind {
            Kind::Amount(readings) => {
                for reading in readings {
                    self.by_value.push((reading.value.unsigned_abs(), figure, *reading));
                }
                let factor = zeros(number.start).and_then(|zeros| 10_i128.checked_pow(zeros));
                for reading in readings.iter().filter(|_| factor.is_some()) {
                    let factor = factor.unwrap_or(1);
                    let (value, step) =
                        (reading.value.saturating_mul(factor), reading.step.saturating_mul(factor));
                    self.by_value.push((value.unsigned_abs(), figure, Reading { value, step, ..*reading }));
                }
            }
            Kind::Date(days) => {
                for day in days {
                    self.by_date.entry(*day).or_insert(figure);
                    // A year alone is in it.
                    let value = i128::from(day.0) * ONE;
                    self.by_value.push((
                        value.unsigned_abs(),
                        figure,
                        Reading { value, step: ONE, is_signed: false },
                    ));
                }
            }
            Kind::Word | Kind::Version => {}
        }
        self.numbers.push((text, number));
    }

    /// The figures that are this value as it is rounded, in the order of the texts.
    pub(crate) fn alike(&self, reading: &Reading) -> Vec<(usize, Reading)> {
        let value = reading.value.unsigned_abs();
        let half = reading.step.unsigned_abs().div_ceil(2);
        let place = |value: u128| self.by_value.partition_point(|(known, _, _)| *known < value);
        let between = |from: usize, to: usize| self.by_value.get(from..to).unwrap_or_default().iter();
        let (equal, behind) = (place(value), place(value.saturating_add(1)));
        let below = between(place(value.saturating_sub(half)), equal);
        let above = between(behind, place(value.saturating_add(half).saturating_add(1)));
        // Of many that round to it the nearest are looked at, and the equal ones whatever stands beside them.
        let most = MAX_SAME * 4;
        let near = between(equal, behind).take(most).chain(below.rev().take(most)).chain(above.take(most));
        let alike = near.filter(|(_, _, known)| reading.is(known.value));
        let mut alike: Vec<(usize, Reading)> = alike.map(|(_, figure, known)| (*figure, *known)).collect();
        // An equal one is better than one that rounds to it.
        alike.sort_by_key(|(figure, known)| (known.value.unsigned_abs() != value, *figure));
        alike.truncate(MAX_SAME);
        alike
    }

    pub(crate) fn date(&self, days: &[Date]) -> Option<usize> {
        days.iter().find_map(|day| self.by_date.get(day).copied())
    }

    /// The figure whose value is nearest, within half of it. One of the same unit is nearer.
    pub(crate) fn nearest(&self, reading: &Reading, unit: Option<Unit>) -> Option<&(usize, Number)> {
        let value = reading.value.unsigned_abs();
        let at = self.by_value.partition_point(|(known, _, _)| *known < value);
        let around = self
            .by_value
            .get(at.saturating_sub(MAX_SAME / 2)..(at + MAX_SAME / 2).min(self.by_value.len()))?;
        let rank = |(known, figure, _): &&(u128, usize, Reading)| {
            let of = self.numbers.get(*figure).and_then(|(_, number)| number.unit);
            (of != unit, known.abs_diff(value), *figure)
        };
        let near = around.iter().filter(|(known, figure, _)| {
            let of = self.numbers.get(*figure).and_then(|(_, number)| number.unit);
            let is_money = |unit: Option<Unit>| unit.is_some_and(units::is_currency);
            let fits = of.is_none() || unit.is_none() || of == unit || is_money(of) && is_money(unit);
            fits && known.abs_diff(value).saturating_mul(2) <= value
        });
        let (_, figure, _) = near.min_by_key(rank)?;
        self.numbers.get(*figure)
    }

    /// The citation of a figure.
    pub(crate) fn citation(&self, figure: usize, texts: &[Text<'_>]) -> Option<Citation> {
        let (of, number) = self.numbers.get(figure)?;
        let text = texts.get(*of)?;
        let citation = Citation::new(text.source.clone(), How::Exact);
        Some(
            citation
                .with_place(text.layout.place(text.text, number.digits.0, number.digits.1))
                .with_quote(Some(number.text(text.text)))
                .with_document_span(Span::new(number.start, number.end)),
        )
    }
}

/// The figures inside of another: the time behind a date, and the last number of a word such as `FY2024`, `Q4/2024`.
fn inner(text: &str, number: &Number) -> Vec<Number> {
    let said = number.text(text);
    let from = match number.kind {
        Kind::Date(_) => said
            .find(['T', 't'])
            .map(|at| at + 1)
            .filter(|at| said.as_bytes().get(*at).is_some_and(u8::is_ascii_digit)),
        Kind::Word => Some(said.trim_end_matches(|char: char| char.is_ascii_digit()).len())
            .filter(|from| (1..=8).contains(from) && said.len() - from == 4),
        _ => None,
    };
    let Some(from) = from else { return Vec::new() };
    let mut inner = numbers(said.get(from..).unwrap_or_default());
    for figure in &mut inner {
        let shift = number.start + from;
        (figure.start, figure.end) = (figure.start + shift, figure.end + shift);
        figure.digits = (figure.digits.0 + shift, figure.digits.1 + shift);
    }
    inner
}

fn headers(text: &str) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // Such words stand in short lines.
        if line.len() < 400 {
            let lower = line.to_lowercase();
            found.extend(
                HEADERS.iter().find(|(words, _)| lower.contains(words)).map(|(_, zeros)| (at, *zeros)),
            );
        }
        at += line.len();
    }
    found
}

/// Words that stand everywhere.
const COMMON: [&str; 42] = [
    "the", "and", "for", "from", "with", "that", "this", "was", "are", "were", "has", "have", "its", "per",
    "than", "which", "about", "der", "die", "das", "und", "ist", "von", "mit", "für", "den", "dem", "des",
    "ein", "eine", "auf", "les", "des", "est", "une", "pour", "dans", "que", "los", "las", "del", "por",
];

/// The words around a piece of a text, their first letters alone, so that forms of one word are one.
pub(crate) fn words_near(text: &str, start: usize, end: usize) -> Vec<String> {
    let from = text.ceil_char_boundary(start.saturating_sub(NEAR));
    let to = text.floor_char_boundary((end + NEAR).min(text.len()));
    let pieces = [text.get(from..start.max(from)), text.get(end.min(to)..to)];
    let mut words: Vec<String> = Vec::new();
    for piece in pieces.into_iter().flatten() {
        for word in piece.split(|char: char| !char.is_alphabetic()) {
            // Scripts without blanks have words of about two characters.
            let letters: Vec<char> = word.chars().collect();
            let pairs = letters.windows(2).filter(|pair| pair.iter().all(|char| !is_word(*char)));
            words.extend(pairs.map(|pair| pair.iter().collect::<String>()));
            if letters.iter().any(|char| !is_word(*char)) {
                continue;
            }
            let word: String = word.to_lowercase();
            if word.chars().count() >= 3 && !COMMON.contains(&word.as_str()) {
                words.push(word.chars().take(5).collect());
            }
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}
