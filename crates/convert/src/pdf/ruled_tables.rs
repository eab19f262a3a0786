//! Tables that are ruled: the lines around a text say which cell it stands in.

use std::collections::BTreeMap;

use super::cells::{append, joined};
use super::line::Line;
use super::rows::{Row, rows};
use super::ruling_lines::{Rule, Rules};
use super::runs::Run;
use super::strips::{Entry, Strip, is_number, starts};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::table::push_row;

/// The distance by which lines may miss each other and still meet, in points.
const NEAR: f64 = 3.0;

/// Lines closer together than this are one, as double lines are.
const DOUBLE: f64 = 4.0;

/// Most pairs of a level and an upright line of a page that are held against each other.
const MAX_PAIRS: usize = 4_000_000;

/// Most tables of a page, and most fields of a table.
const MAX_GRIDS: usize = 200;
const MAX_FIELDS: usize = 20_000;

/// Cells have no more lines than this; boxes that have more arrange a page.
const MAX_CELL_LINES: usize = 30;

/// Takes the text of ruled tables out of the runs of a page, each table as one line of its own.
pub(super) fn take(
    runs: Vec<Run>,
    rules: &Rules,
    clock: Clock,
) -> Result<(Vec<Run>, Vec<Line>), ConvertError> {
    let grids = find(rules, clock)?;
    if grids.is_empty() {
        return Ok((runs, Vec::new()));
    }
    let mut inside: Vec<Vec<Run>> = Vec::new();
    inside.resize_with(grids.len(), Vec::new);
    let mut rest = Vec::new();
    for run in runs {
        match grids.iter().position(|grid| grid.field(&run).is_some()).and_then(|at| inside.get_mut(at)) {
            Some(runs) => runs.push(run),
            None => rest.push(run),
        }
    }
    let mut tables = Vec::new();
    for (grid, runs) in grids.iter().zip(inside) {
        clock.check()?;
        let (table, left) = grid.table(runs, clock)?;
        tables.extend(table);
        rest.extend(left);
    }
    Ok((rest, tables))
}

/// The fields between the lines of a table. A cell is made of those that no line parts.
struct Grid {
    /// Where its lines stand: from the left, and from the top.
    xs: Vec<f64>,
    ys: Vec<f64>,
    /// For each field, row by row, the first field of its cell.
    cells: Vec<usize>,
}

/// Finds the grids of lines that meet.
fn find(rules: &Rules, clock: Clock) -> Result<Vec<Grid>, ConvertError> {
    let (mut level, mut upright) = (rules.level.clone(), rules.upright.clone());
    if level.len() < 2 || upright.is_empty() || level.len().saturating_mul(upright.len()) > MAX_PAIRS {
        return Ok(Vec::new());
    }
    level.sort_by(|a, b| b.at.total_cmp(&a.at));
    upright.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut sets = Sets::new(level.len() + upright.len());
    for (index, rule) in level.iter().enumerate() {
        clock.check()?;
        let first = upright.partition_point(|other| other.at < rule.from - NEAR);
        let across = upright.iter().enumerate().skip(first);
        for (other, upright) in across.take_while(|(_, other)| other.at <= rule.to + NEAR) {
            if (upright.from - NEAR..=upright.to + NEAR).contains(&rule.at) {
                sets.join(index, level.len() + other);
            }
        }
    }
    let mut parts: BTreeMap<usize, (Vec<Rule>, Vec<Rule>)> = BTreeMap::new();
    for (index, rule) in level.iter().enumerate() {
        parts.entry(sets.first(index)).or_default().0.push(*rule);
    }
    for (index, rule) in upright.iter().enumerate() {
        parts.entry(sets.first(level.len() + index)).or_default().1.push(*rule);
    }
    Ok(parts.values().filter_map(|(level, upright)| Grid::of(level, upright)).take(MAX_GRIDS).collect())
}

impl Grid {
    fn of(level: &[Rule], upright: &[Rule]) -> Option<Self> {
        // Tables need not be closed at their sides.
        let ends = |rules: &[Rule]| -> Vec<f64> {
            let low = rules.iter().map(|rule| rule.from).fold(f64::INFINITY, f64::min);
            let high = rules.iter().map(|rule| rule.to).fold(f64::NEG_INFINITY, f64::max);
            rules.first().map(|_| vec![low, high]).unwrap_or_default()
        };
        let xs = places(upright.iter().map(|rule| rule.at).chain(ends(level)));
        let mut ys = places(level.iter().map(|rule| rule.at).chain(ends(upright)));
        ys.reverse();
        let (columns, rows) = (xs.len().checked_sub(1)?, ys.len().checked_sub(1)?);
        if columns < 2 || rows < 2 || columns.saturating_mul(rows) > MAX_FIELDS {
            return None;
        }
        // For each field, whether a line stands at its right side, and at its lower side.
        let (mut right, mut lower) = (vec![false; columns * rows], vec![false; columns * rows]);
        for rule in upright {
            let Some(column) = nearest(&xs, rule.at).checked_sub(1) else { continue };
            for (row, pair) in ys.windows(2).enumerate() {
                if let [top, bottom] = pair
                    && rule.to.min(*top) - rule.from.max(*bottom) >= 0.5 * (top - bottom)
                    && column < columns
                    && let Some(wall) = right.get_mut(row * columns + column)
                {
                    *wall = true;
                }
            }
        }
        for rule in level {
            let Some(row) = nearest_from_top(&ys, rule.at).checked_sub(1) else { continue };
            for (column, pair) in xs.windows(2).enumerate() {
                if let [start, end] = pair
                    && rule.to.min(*end) - rule.from.max(*start) >= 0.5 * (end - start)
                    && let Some(wall) = lower.get_mut(row * columns + column)
                {
                    *wall = true;
                }
            }
        }
        let mut sets = Sets::new(columns * rows);
        for (field, (right, lower)) in right.iter().zip(&lower).enumerate() {
            if !right && (field + 1) % columns != 0 {
                sets.join(field, field + 1);
            }
            if !lower && field + columns < columns * rows {
                sets.join(field, field + columns);
            }
        }
        let cells = (0..columns * rows).map(|field| sets.first(field)).collect();
        Some(Self { xs, ys, cells })
    }

    fn columns(&self) -> usize {
        self.xs.len().saturating_sub(1).max(1)
    }

    /// The field in which the middle of a run stands.
    fn field(&self, run: &Run) -> Option<usize> {
        let (x, y) = ((run.x + run.end) / 2.0, run.y + 0.25 * run.size);
        let column = self.xs.partition_point(|start| *start <= x).checked_sub(1)?;
        let row = self.ys.partition_point(|top| *top >= y).checked_sub(1)?;
        (column + 1 < self.xs.len() && row + 1 < self.ys.len()).then_some(row * self.columns() + column)
    }

    /// True if a run goes on far beyond the cell in which it stands.
    fn crosses(&self, run: &Run, cell: usize) -> bool {
        let beside = |x: f64| {
            let field = self.field(&Run { text: String::new(), x, end: x, ..*run });
            field.and_then(|field| self.cells.get(field)) != Some(&cell)
        };
        beside(run.x + 0.6 * run.size) || beside(run.end - 0.6 * run.size)
    }

    /// The table, unless the lines only decorate; and the text that is not part of it.
    fn table(&self, runs: Vec<Run>, clock: Clock) -> Result<(Option<Line>, Vec<Run>), ConvertError> {
        let columns = self.columns();
        let mut cells: BTreeMap<usize, Vec<Run>> = BTreeMap::new();
        let (mut all, mut crossing) = (0_usize, 0_usize);
        for run in runs {
            let cell = self.field(&run).and_then(|field| self.cells.get(field)).copied().unwrap_or_default();
            all += 1;
            crossing += usize::from(run.end - run.x > 1.2 * run.size && self.crosses(&run, cell));
            cells.entry(cell).or_default().push(run);
        }
        let mut rest = Vec::new();
        let mut texts: BTreeMap<usize, BTreeMap<usize, Vec<Line>>> = BTreeMap::new();
        let mut kept = Vec::new();
        for (cell, runs) in cells {
            let copy = runs.clone();
            let rows = rows(runs, clock)?;
            if rows.len() > MAX_CELL_LINES {
                rest.extend(copy);
                continue;
            }
            kept.extend(copy);
            let lines = rows.into_iter().map(Row::into_line).collect();
            texts.entry(cell / columns).or_default().insert(cell % columns, lines);
        }
        let is_table = crossing <= 1 + all / 20
            && texts.len() >= 2
            && texts.values().flat_map(BTreeMap::keys).min() != texts.values().flat_map(BTreeMap::keys).max()
            && texts.values().map(BTreeMap::len).sum::<usize>() >= 3;
        if !is_table {
            rest.extend(kept);
            return Ok((None, rest));
        }
        let lines = || texts.values().flat_map(BTreeMap::values).flatten();
        let y = lines().map(|line| line.y).fold(f64::NEG_INFINITY, f64::max);
        let low = lines().map(|line| line.y).fold(f64::INFINITY, f64::min);
        let size = lines().map(|line| line.size).fold(0.0, f64::max);
        let backwards = lines().filter(|line| line.reads_backwards()).count() * 2 > lines().count();
        let place = |column: usize| if backwards { columns - 1 - column } else { column };
        let mut table = String::new();
        for cells in texts.into_values() {
            for mut row in split(cells) {
                let before = table.len();
                row.iter_mut().for_each(|(column, _)| *column = place(*column));
                row.sort_by_key(|(column, _)| *column);
                push_row(&mut table, row.iter().map(|(column, text)| (*column, text.as_str())));
                if table.len() > before {
                    table.push('\n');
                }
            }
        }
        let (x, end) = (self.xs.first().copied().unwrap_or(y), self.xs.last().copied().unwrap_or(y));
        Ok((Some(Line::table(table, (x, end), (y, low), size)), rest))
    }
}

/// The rows that stand between two level lines: one, unless only its columns are ruled.
fn split(cells: BTreeMap<usize, Vec<Line>>) -> Vec<Vec<(usize, String)>> {
    let mut strips: Vec<Strip> = Vec::new();
    let several = cells.values().filter(|lines| lines.len() > 1).count() > 1;
    if several {
        let mut lines: Vec<(usize, &Line)> =
            cells.iter().flat_map(|(column, lines)| lines.iter().map(|line| (*column, line))).collect();
        lines.sort_by(|a, b| b.1.y.total_cmp(&a.1.y).then(a.0.cmp(&b.0)));
        for (column, line) in lines {
            let (start, end) = line.span();
            let entry = Entry { column, text: line.text(), x: start, end };
            match strips.last_mut() {
                Some(strip) if (strip.y - line.y).abs() < 0.5 * line.size => strip.entries.push(entry),
                _ => strips.push(Strip { y: line.y, size: line.size, entries: vec![entry] }),
            }
        }
    }
    if !several || !holds_rows(&strips, cells.len()) {
        return vec![cells.into_iter().map(|(column, lines)| (column, joined(&lines))).collect()];
    }
    let starts = starts(&strips, |_| false);
    let mut rows: Vec<BTreeMap<usize, String>> = Vec::new();
    for (strip, starts) in strips.into_iter().zip(starts) {
        if starts {
            rows.push(BTreeMap::new());
        }
        let Some(row) = rows.last_mut() else { continue };
        for entry in strip.entries {
            append(row.entry(entry.column).or_default(), &entry.text);
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

/// True if lines side by side are rows of their own: nobody breaks a number, nor all cells of a row alike.
fn holds_rows(strips: &[Strip], columns: usize) -> bool {
    let numbers = |column: usize| {
        let mut texts =
            strips.iter().flat_map(|strip| &strip.entries).filter(|entry| entry.column == column).peekable();
        let mut count = 0;
        texts.all(|entry| {
            count += 1;
            is_number(&entry.text)
        }) && count > 1
    };
    let with_numbers = strips.iter().flat_map(|strip| &strip.entries).any(|entry| numbers(entry.column));
    let full = strips.iter().filter(|strip| strip.entries.len() * 5 >= columns * 4).count();
    with_numbers || (strips.len() >= 4 && full * 5 >= strips.len() * 4)
}

/// Where lines stand, those that are close together as one.
fn places(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let mut places: Vec<f64> = Vec::new();
    let mut first = f64::NEG_INFINITY;
    for value in sorted {
        if value - first > DOUBLE {
            first = value;
            places.push(value);
        }
    }
    places
}

/// Which of some ascending places is the nearest.
fn nearest(places: &[f64], to: f64) -> usize {
    let after = places.partition_point(|place| *place < to);
    let distance = |at: usize| places.get(at).map_or(f64::INFINITY, |place| (place - to).abs());
    match after.checked_sub(1) {
        Some(before) if distance(before) <= distance(after) => before,
        _ => after,
    }
}

/// Which of some descending places is the nearest.
fn nearest_from_top(places: &[f64], to: f64) -> usize {
    let after = places.partition_point(|place| *place > to);
    let distance = |at: usize| places.get(at).map_or(f64::INFINITY, |place| (place - to).abs());
    match after.checked_sub(1) {
        Some(before) if distance(before) <= distance(after) => before,
        _ => after,
    }
}

/// Disjoint sets of numbers.
struct Sets(Vec<usize>);

impl Sets {
    fn new(len: usize) -> Self {
        Self((0..len).collect())
    }

    /// The first number of a set.
    fn first(&mut self, of: usize) -> usize {
        let mut at = of;
        while let Some(&up) = self.0.get(at)
            && up != at
        {
            let above = self.0.get(up).copied().unwrap_or(up);
            if let Some(entry) = self.0.get_mut(at) {
                *entry = above;
            }
            at = up;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        if let Some(entry) = self.0.get_mut(a.max(b)) {
            *entry = a.min(b);
        }
    }
}
