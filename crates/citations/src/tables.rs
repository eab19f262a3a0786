//! The sums of whole columns and rows of tables, and of lists in JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use attache_core::citation::Derivation;

use crate::number::numbers;
use crate::number_formats::{Reading, value};
use crate::units::Unit;

/// The maximum number of columns of a table, and the maximum number of sums.
const MAX_COLUMNS: usize = 256;
const MAX_SUMS: usize = 20_000;

/// A sum, and where the table stands.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub(crate) value: i128,
    pub(crate) unit: Option<Unit>,
    pub(crate) what: Derivation,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The sums of the tables of a text.
pub(crate) fn sums(text: &str) -> Vec<Sum> {
    let mut sums = Vec::new();
    if matches!(text.trim_start().bytes().next(), Some(b'{' | b'['))
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        lists(&value, text.len(), &mut sums);
        return sums;
    }
    let mut table = Table::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match cells(line.trim()) {
            Some(cells)
                if table.width == 0 || table.width == cells.len() || cells.len() > 1 && table.width > 1 =>
            {
                table.add(&cells, at, end, &mut sums);
            }
            cells => {
                table.close(&mut sums);
                if let Some(cells) = cells {
                    table.add(&cells, at, end, &mut sums);
                }
            }
        }
        at = end;
        if sums.len() >= MAX_SUMS {
            break;
        }
    }
    table.close(&mut sums);
    sums.truncate(MAX_SUMS);
    sums
}

#[derive(Default)]
struct Table {
    width: usize,
    start: usize,
    end: usize,
    /// Of each column its numbers, and how many cells say something else.
    columns: Vec<Column>,
}

#[derive(Clone, Default)]
struct Column {
    values: Vec<i128>,
    unit: Option<Unit>,
    others: usize,
    /// The first value stands in the first row, which may be a head of years.
    may_be_head: bool,
}

impl Table {
    fn add(&mut self, cells: &[&str], start: usize, end: usize, sums: &mut Vec<Sum>) {
        if self.width == 0 {
            (self.width, self.start) = (cells.len(), start);
        }
        self.end = end;
        let is_first = start == self.start;
        let mut row = Column::default();
        self.columns.resize(self.columns.len().max(cells.len()), Column::default());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match amount(cell) {
                Some((reading, unit)) => {
                    column.may_be_head |= is_first && cells.len() > 1;
                    column.values.push(reading.value);
                    column.unit = column.unit.or(unit);
                    row.values.push(reading.value);
                    row.unit = row.unit.or(unit);
                }
                None => column.others += usize::from(!cell.is_empty()),
            }
        }
        row.push(Derivation::Row, start, end, sums);
    }

    fn close(&mut self, sums: &mut Vec<Sum>) {
        for column in std::mem::take(&mut self.columns) {
            // A head may stand above the numbers, no more.
            if column.others <= 1 {
                column.push(Derivation::Column, self.start, self.end, sums);
            }
        }
        *self = Self::default();
    }
}

impl Column {
    fn push(&self, what: Derivation, start: usize, end: usize, sums: &mut Vec<Sum>) {
        if self.values.len() > 1 && sums.len() < MAX_SUMS {
            let value = self.values.iter().fold(0_i128, |sum, value| sum.saturating_add(*value));
            sums.push(Sum { value, unit: self.unit, what, start, end });
            if let Some(head) = self.values.first().filter(|_| self.may_be_head && self.values.len() > 2) {
                sums.push(Sum { value: value.saturating_sub(*head), unit: self.unit, what, start, end });
            }
        }
    }
}

/// The cells of a line of a table: `7: one | two`, `| one | two |`, one number alone.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line
        .split_once(": ")
        .filter(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let line = row.map_or(line, |(_, cells)| cells);
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    if inner.contains(" | ") || inner.contains('\t') || inner.len() < line.len() {
        // The line between head and body.
        if inner.bytes().all(|byte| matches!(byte, b'-' | b'|' | b':' | b' ')) {
            return Some(Vec::new());
        }
        let mark = if inner.contains('|') { '|' } else { '\t' };
        return Some(inner.split(mark).take(MAX_COLUMNS).map(str::trim).collect());
    }
    amount(line).map(|_| vec![line])
}

/// The value of a cell that is one amount and nothing else.
fn amount(cell: &str) -> Option<(Reading, Option<Unit>)> {
    if cell.len() > 40 || !cell.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut all = numbers(cell);
    let number = all.pop().filter(|_| all.is_empty())?;
    let around = [cell.get(..number.start)?, cell.get(number.end..)?].concat();
    let is_alone = around.chars().all(|char| !char.is_alphanumeric());
    // Of two readings of one cell the first is the usual one in tables.
    let reading = number.readings().first().copied().filter(|_| is_alone)?;
    Some((reading, number.unit))
}

/// The value of a number of JSON, which has a point before its decimals and nothing else.
fn decimal(number: &str) -> Option<i128> {
    let unsigned = number.strip_prefix('-').unwrap_or(number);
    let (whole, decimals) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let value = value(whole, decimals)?.value;
    Some(if unsigned.len() < number.len() { -value } else { value })
}

/// The sums of arrays of numbers, and of the members of one name in arrays of objects.
fn lists(value: &Value, end: usize, sums: &mut Vec<Sum>) {
    match value {
        Value::Array(items) => {
            let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
            for item in items {
                let mut add = |name, value: &Value| {
                    let column: &mut Column = columns.entry(name).or_default();
                    match value.as_number().and_then(|number| decimal(&number.to_string())) {
                        Some(value) => column.values.push(value),
                        None => column.others += 1,
                    }
                };
                match item {
                    Value::Object(members) => members.iter().for_each(|(name, value)| add(name, value)),
                    other => add("", other),
                }
                lists(item, end, sums);
            }
            for column in columns.values().filter(|column| column.others == 0) {
                column.push(Derivation::Column, 0, end, sums);
            }
        }
        Value::Object(members) => members.values().for_each(|value| lists(value, end, sums)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::sums;
    use crate::number_formats::ONE;
    use attache_core::citation::Derivation::{Column, Row};

    fn found(text: &str) -> Vec<(super::Derivation, i128)> {
        sums(text).iter().map(|sum| (sum.what, sum.value / ONE)).collect()
    }

    #[test]
    fn columns_rows_and_lists() {
        assert_eq!(found("Item | Cost\nA | 100\nB | 250\nC | 50\n"), [(Column, 400)]);
        assert_eq!(
            found("1: Item | Q1 | Q2\n2: A | 1 | 2\n3: B | 3 | 4\n"),
            [(Row, 3), (Row, 7), (Column, 4), (Column, 6)]
        );
        assert_eq!(found("| a | b |\n|---|---|\n| x | EUR 5 |\n| y | EUR 6 |\n"), [(Column, 11)]);
        assert_eq!(found("100\n250\n50\n"), [(Column, 400)]);
        assert_eq!(
            found(r#"{"rows":[{"n":1,"s":"x"},{"n":2.5,"s":"y"}],"all":[4,5]}"#),
            [(Column, 3), (Column, 9)]
        );
        assert_eq!(found(r#"[1.125,2.250]"#), [(Column, 3)], "a point is one of decimals");
        assert_eq!(found("The rent is 900.\nIt has 3 rooms.\n"), []);
    }
}
