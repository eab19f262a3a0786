//! Figures that follow from others.

use attache_core::citation::Derivation;

use crate::number_formats::{ONE, Reading};
use crate::units::{self, Unit};

/// The maximum number of figures of a paragraph that are reckoned with.
const MAX_OPERANDS: usize = 12;
/// The maximum number of rows that are added up.
const MAX_ROWS: usize = 100;

/// A figure that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) value: i128,
    pub(crate) unit: Option<Unit>,
    pub(crate) start: usize,
    /// The start of its line.
    pub(crate) line: usize,
}

/// True if the figures that stand at the same place of the lines above add up to this one: a column of rows that the
/// answer quotes. Rows have as many figures as the last of them.
pub(crate) fn adds_up_column(reading: &Reading, unit: Option<Unit>, line: usize, known: &[Operand]) -> bool {
    let above = known.get(..known.partition_point(|operand| operand.line < line)).unwrap_or_default();
    let lines = || above.chunk_by(|one, other| one.line == other.line).rev().take(MAX_ROWS);
    let Some(columns) = lines().next().map(<[_]>::len) else { return false };
    (0..columns.min(MAX_OPERANDS)).any(|column| {
        let rows = || lines().take_while(|row| row.len() == columns).filter_map(|row| row.get(column));
        let same = |operand: &Operand| operand.unit == unit || operand.unit.is_none() || unit.is_none();
        let sum = rows().fold(0_i128, |sum, operand| sum.saturating_add(operand.value));
        rows().count() > 1 && rows().all(same) && reading.is(sum)
    })
}

/// The derivation of a figure from those of its paragraph: sums of neighbours, and differences, products,
/// parts and changes of two. Far ones are left out, where there are many.
pub(crate) fn derivation(
    reading: &Reading,
    unit: Option<Unit>,
    at: usize,
    known: &[Operand],
) -> Option<Derivation> {
    let mut near: Vec<Operand> = known.iter().copied().filter(|operand| operand.start != at).collect();
    near.sort_by_key(|operand| (operand.start.abs_diff(at), operand.start));
    near.truncate(MAX_OPERANDS);
    near.sort_by_key(|operand| operand.start);
    if near.len() < 2 {
        return None;
    }
    let unsigned = Reading { is_signed: false, ..*reading };
    let is = |value: Option<i128>| value.is_some_and(|value| unsigned.is(value));
    let same = |operand: &Operand| operand.unit == unit || operand.unit.is_none() || unit.is_none();
    for (first, one) in near.iter().enumerate() {
        let mut sum = Some(one.value);
        for (last, other) in near.iter().enumerate().skip(first + 1) {
            sum = sum.and_then(|sum| sum.checked_add(other.value));
            let terms = near.get(first..=last).unwrap_or_default();
            if terms.iter().all(same) && is(sum) {
                return Some(Derivation::Sum);
            }
        }
    }
    let pairs = || {
        near.iter()
            .flat_map(|one| near.iter().map(move |other| (one, other)))
            .filter(|(one, other)| one.start != other.start)
    };
    if pairs().any(|(one, other)| same(one) && same(other) && is(one.value.checked_sub(other.value))) {
        return Some(Derivation::Difference);
    }
    if unit == Some("%") {
        let part = |one: i128, of: i128| one.checked_mul(100)?.checked_mul(ONE)?.checked_div(of);
        let alike = |one: &Operand, other: &Operand| {
            one.unit == other.unit || one.unit.is_none() || other.unit.is_none()
        };
        let found = pairs().filter(|(one, other)| alike(one, other)).any(|(one, other)| {
            is(part(one.value, other.value))
                || is(one.value.checked_sub(other.value).and_then(|gap| part(gap, other.value)))
        });
        if found {
            return Some(Derivation::Percentage);
        }
    }
    let product = pairs().any(|(one, other)| {
        let money =
            [one.unit, other.unit].into_iter().flatten().filter(|unit| units::is_currency(unit)).count();
        let percent = if other.unit == Some("%") { 100 } else { 1 };
        let product = one.value.checked_mul(other.value).map(|product| product / ONE / percent);
        // No product of money and money is an amount.
        money < 2 && (unit.is_none() || [one.unit, other.unit].contains(&unit)) && is(product)
    });
    product.then_some(Derivation::Product)
}
