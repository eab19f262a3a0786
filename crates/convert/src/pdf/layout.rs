//! Puts the runs of a page into lines, cells and columns that read as the page does.

use super::line::{CELL_SEPARATOR, Line, lead};
use super::rows::rows;
use super::ruled_tables as grids;
use super::ruling_lines::{Rule, Rules};
use super::runs::Run;
use super::unruled_tables as tables;
use super::unruled_tables::{Row as TableRow, Table};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::pdf::columns;
use crate::table::push_row;

/// Lines further apart than usual by this factor are separate paragraphs.
const PARAGRAPH_GAP: f64 = 1.4;

/// The text of runs that have the same direction: lines in reading order, each ending in `\n`, and an empty
/// line between paragraphs.
pub(super) fn text(runs: Vec<Run>, rules: &Rules, clock: Clock) -> Result<String, ConvertError> {
    let (runs, mut lines) = grids::take(runs, rules, clock)?;
    for row in rows(runs, clock)? {
        clock.check()?;
        lines.push(row.into_line());
    }
    lines.sort_by(|a, b| b.y.total_cmp(&a.y));
    let mut parting: Vec<Rule> = rules.level.iter().chain(&rules.edges).copied().collect();
    parting.sort_by(|a, b| b.at.total_cmp(&a.at));
    let mut text = String::new();
    for block in columns::order(lines, clock)? {
        if !text.is_empty() {
            text.push('\n');
        }
        write(&block, &parting, clock, &mut text)?;
    }
    Ok(text)
}

fn write(lines: &[Line], rules: &[Rule], clock: Clock, text: &mut String) -> Result<(), ConvertError> {
    let leading = usual_leading(lines);
    let tables = tables::find(lines, &|at| is_parted(lines, at, rules), clock)?;
    let mut tables = tables.into_iter().peekable();
    let mut at = 0;
    let mut above: Option<&Line> = None;
    while let Some(line) = lines.get(at) {
        if let Some(table) = tables.next_if(|table| table.lines.start == at) {
            at = table.lines.end;
            write_table(&table, lines, above, leading, text);
            above = lines.get(at.saturating_sub(1));
            continue;
        }
        if above.is_some_and(|above| lead(above, line) > leading * PARAGRAPH_GAP) {
            text.push('\n');
        }
        match &line.table {
            Some(rows) => text.push_str(rows),
            None => {
                for (index, cell) in line.cells.iter().enumerate() {
                    text.push_str(if index > 0 { CELL_SEPARATOR } else { "" });
                    text.push_str(&cell.text);
                }
                text.push('\n');
            }
        }
        above = Some(line);
        at += 1;
    }
    Ok(())
}

/// Writes the rows of a table; those that stand further apart than others part it.
fn write_table(table: &Table, lines: &[Line], above: Option<&Line>, leading: f64, text: &mut String) {
    let gap = |row: &TableRow, above: Option<&Line>| Some(lead(above?, lines.get(row.lines.start)?));
    let before = |row: &TableRow| gap(row, row.lines.start.checked_sub(1).and_then(|at| lines.get(at)));
    let mut gaps: Vec<f64> = table.rows.iter().skip(1).filter_map(before).collect();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(leading).max(leading);
    for (index, row) in table.rows.iter().enumerate() {
        let (gap, usual) = if index == 0 { (gap(row, above), leading) } else { (before(row), usual) };
        if gap.is_some_and(|gap| gap > usual * PARAGRAPH_GAP) {
            text.push('\n');
        }
        push_row(text, row.cells.iter().map(|(column, cell)| (*column, cell.as_str())));
        text.push('\n');
    }
}

/// True if a line is drawn above the line of this number that parts it from the one before.
fn is_parted(lines: &[Line], at: usize, rules: &[Rule]) -> bool {
    let Some((above, below)) = at.checked_sub(1).and_then(|above| Some((lines.get(above)?, lines.get(at)?)))
    else {
        return false;
    };
    let (high, low) = (above.low + 0.1 * above.size, below.y + 0.3 * below.size);
    let (a, b) = (above.span(), below.span());
    let width = a.1.max(b.1) - a.0.min(b.0);
    let first = rules.partition_point(|rule| rule.at > high);
    let between = rules.iter().skip(first).take_while(|rule| rule.at >= low);
    between
        .map(|rule| rule.to.min(a.1.max(b.1)) - rule.from.max(a.0.min(b.0)))
        .any(|long| long >= 0.5 * width)
}

fn usual_leading(lines: &[Line]) -> f64 {
    let mut leads: Vec<f64> = lines
        .windows(2)
        .filter_map(|pair| match pair {
            [above, below] => Some(lead(above, below)),
            _ => None,
        })
        .collect();
    leads.sort_by(f64::total_cmp);
    leads.get(leads.len() / 2).copied().unwrap_or(1.2).clamp(1.1, 2.5)
}
