//! The sheets of ODS.

use std::collections::{HashMap, HashSet};

use super::margins::Margins;
use super::objects::Objects;
use super::styles::{SHAPES, is_hidden_shape};
use crate::Note;
use crate::grid::Grid;
use crate::guarded::Clock;
use crate::numbers::Pattern;
use crate::output::{Output, one_line};
use crate::xml::{Node, Stop, Tag, Xml};

/// Columns and rows that a sheet can have.
const MAX_COLUMNS: usize = 16_384;
const MAX_ROWS: usize = 1_048_576;

/// Longest cell and longest row, in bytes.
const MAX_CELL: usize = 1 << 18;
const MAX_ROW: usize = 4 << 20;

/// A row or cell that is repeated more often is written once, with a remark.
const MAX_REPEATED: usize = 50;

#[derive(Default)]
struct Row {
    number: usize,
    hidden: bool,
    repeated: usize,
    cells: Vec<(usize, String)>,
    bytes: usize,
    column: usize,
}

#[derive(Default)]
struct Cell {
    kind: String,
    value: String,
    formula: Option<String>,
    repeated: usize,
    text: String,
    comment: String,
}

/// Reads all sheets.
pub(super) fn read(
    mut xml: Xml<'_>,
    objects: &mut Objects<'_, '_>,
    margins: &Margins,
    output: &mut Output,
    clock: Clock,
) -> Result<(), Stop> {
    let mut hidden = HashSet::new();
    // The master pages of styles; the style and the name of the sheet.
    let mut pages: HashMap<String, String> = HashMap::new();
    let (mut sheet_style, mut sheet_name) = (String::new(), String::new());
    let (mut style, mut total, mut formulas, mut columns) = (String::new(), 0_usize, 0_usize, 0_usize);
    let (mut grid, mut row, mut cell) = (Grid::default(), Row::default(), Cell::default());
    // Sheets hold no sheets, but their cells may hold drawn tables.
    let (mut in_sheet, mut shown, mut in_cell, mut paragraphs, mut in_comment) =
        (false, false, false, 0_usize, false);
    let (mut lost, mut in_shapes, mut pictured) = (false, false, false);
    let mut boxes = String::new();
    loop {
        let mut skip = false;
        match xml.next()? {
            Node::Open(tag) => match tag.name() {
                "style" => {
                    style = tag.exact("style:name").unwrap_or_default();
                    pages.extend(tag.attr("master-page-name").map(|page| (style.clone(), page)));
                }
                "table-properties" if tag.attr("display").is_some_and(|display| display == "false") => {
                    hidden.insert(std::mem::take(&mut style));
                }
                "tracked-changes" | "forms" | "dde-links" | "database-ranges" | "creator"
                | "table-source" => skip = true,
                "table" if !in_sheet => {
                    total += 1;
                    sheet_style = tag.attr("style-name").unwrap_or_default();
                    let is_hidden = hidden.contains(&sheet_style);
                    sheet_name = tag.attr("name").unwrap_or_default();
                    if std::mem::take(&mut lost) {
                        output.partial();
                    }
                    (in_sheet, shown) = (true, output.begin_labelled(&sheet_name, is_hidden));
                    output.set_total(total);
                    (grid, row, columns) = (Grid::default(), Row::default(), 0);
                }
                _ if !shown => {}
                name if SHAPES.contains(&name) && is_hidden_shape(&tag) => skip = true,
                "table-row" => {
                    let number = row.number + row.repeated.max(1);
                    let number = if row.number == 0 { 1 } else { number };
                    let repeated = tag.number("number-rows-repeated").unwrap_or(1).clamp(1, MAX_ROWS);
                    let (number, hidden) = (number.min(MAX_ROWS), is_hidden(&tag));
                    row = Row { number, hidden, repeated, ..Row::default() };
                }
                "table-column" => {
                    let repeated = tag.number("number-columns-repeated").unwrap_or(1).clamp(1, MAX_COLUMNS);
                    if is_hidden(&tag) {
                        grid.hide_columns(columns..=columns + repeated - 1);
                    }
                    columns += repeated;
                }
                "table-cell" | "covered-table-cell" => {
                    in_cell = true;
                    cell = begin(&tag);
                }
                // A drawing on the sheet, which belongs to no cell.
                "shapes" => in_shapes = true,
                "annotation" => in_comment = true,
                "p" => paragraphs += 1,
                "s" => target(&mut cell, in_comment).push(' '),
                "tab" | "line-break" => target(&mut cell, in_comment).push('\n'),
                "frame" => pictured = false,
                "image" if !pictured => output.not_shown("image"),
                "object" | "object-ole" => {
                    pictured = true;
                    objects.refer(tag.attr("href"), output);
                }
                _ => {}
            },
            Node::Text(text) if in_cell && paragraphs > 0 => {
                let target = target(&mut cell, in_comment);
                if target.len() + text.len() <= MAX_CELL {
                    target.push_str(&text);
                } else {
                    lost = true;
                }
            }
            Node::Text(text) if in_shapes && paragraphs > 0 && boxes.len() + text.len() <= MAX_ROW => {
                boxes.push_str(&text);
            }
            Node::Close(name) => match &*name {
                "shapes" => in_shapes = false,
                "p" if in_shapes => {
                    paragraphs = paragraphs.saturating_sub(1);
                    boxes.push('\n');
                }
                "p" => {
                    paragraphs = paragraphs.saturating_sub(1);
                    target(&mut cell, in_comment).push('\n');
                }
                "annotation" => in_comment = false,
                "table-cell" | "covered-table-cell" if in_cell => {
                    in_cell = false;
                    paragraphs = 0;
                    let whole = row.add(&std::mem::take(&mut cell), &mut formulas);
                    lost |= !whole;
                }
                "table-row" if shown && !in_cell => {
                    clock.check()?;
                    row.write(&mut grid, output);
                }
                "table" if !in_cell => {
                    clock.check()?;
                    grid.finish(output);
                    let page = pages.get(&sheet_style).map_or("Default", String::as_str);
                    if let Some(found) = margins.get(page).filter(|_| shown) {
                        crate::margins::write(found, &sheet_name, output);
                    }
                    let boxes = std::mem::take(&mut boxes);
                    boxes.lines().filter(|line| !line.trim().is_empty()).for_each(|line| output.line(line));
                    objects.write(output)?;
                    (in_sheet, shown) = (false, false);
                }
                _ => {}
            },
            Node::End => {
                if in_sheet {
                    grid.finish(output);
                }
                break;
            }
            _ => {}
        }
        if skip {
            xml.skip()?;
        }
    }
    if lost {
        output.partial();
    }
    if formulas > 0 {
        output.note(Note::FormulasWithoutValues { count: formulas });
    }
    Ok(())
}

/// True of rows and columns that are hidden, or left out by a filter.
fn is_hidden(tag: &Tag<'_>) -> bool {
    tag.attr("visibility").is_some_and(|visibility| visibility != "visible")
}

fn target(cell: &mut Cell, in_comment: bool) -> &mut String {
    if in_comment { &mut cell.comment } else { &mut cell.text }
}

fn begin(tag: &Tag<'_>) -> Cell {
    let kind = tag.attr("value-type").unwrap_or_default();
    let value = match kind.as_str() {
        "date" => tag.attr("date-value"),
        "time" => tag.attr("time-value"),
        "boolean" => tag.attr("boolean-value"),
        "string" => tag.attr("string-value"),
        _ => tag.exact("office:value"),
    };
    let repeated = tag.number("number-columns-repeated").unwrap_or(1).clamp(1, MAX_COLUMNS);
    let formula = tag.attr("formula");
    Cell { kind, value: value.unwrap_or_default(), formula, repeated, ..Cell::default() }
}

impl Cell {
    /// The text that a reader sees.
    fn show(&self, formulas: &mut usize) -> String {
        let number = || self.value.parse::<f64>().ok();
        let text = self.text.trim();
        match self.kind.as_str() {
            // A format may make words of numbers.
            "float" if !text.is_empty() && !text.contains(|c: char| c.is_ascii_digit()) => text.to_owned(),
            "float" | "currency" | "percentage" => {
                let percent = self.kind == "percentage";
                let show = |number| Pattern::of_shown(text, number, percent).show(number);
                number().map_or_else(|| text.to_owned(), show)
            }
            "date" if !self.value.is_empty() => {
                let value = self.value.replacen('T', " ", 1);
                let value = value.strip_suffix(" 00:00:00").unwrap_or(&value);
                value.strip_suffix(":00").filter(|rest| rest.contains(':')).unwrap_or(value).to_owned()
            }
            "time" if text.is_empty() => self.value.clone(),
            "boolean" if !self.value.is_empty() => self.value.to_uppercase(),
            _ if !text.is_empty() => text.to_owned(),
            _ if !self.value.is_empty() => self.value.clone(),
            _ => match &self.formula {
                Some(formula) if self.kind.is_empty() => {
                    *formulas += 1;
                    let formula = formula.split_once(":=").map_or(formula.as_str(), |(_, formula)| formula);
                    format!("={formula}")
                }
                _ => String::new(),
            },
        }
    }
}

impl Row {
    /// Adds a cell; whether all of it.
    fn add(&mut self, cell: &Cell, formulas: &mut usize) -> bool {
        let mut text = cell.show(formulas);
        let comment = one_line(&cell.comment);
        if !comment.is_empty() {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(&format!("[comment: {comment}]"));
        }
        let start = self.column;
        self.column = (start + cell.repeated).min(MAX_COLUMNS);
        if text.is_empty() {
            return true;
        }
        let often = cell.repeated > MAX_REPEATED;
        if often {
            text.push_str(&format!(
                " [the same up to column {}]",
                crate::table::column_name(self.column - 1)
            ));
        }
        let times = if often { 1 } else { self.column.saturating_sub(start) };
        for at in start..start + times {
            if self.bytes + text.len() > MAX_ROW {
                return false;
            }
            self.bytes += text.len();
            self.cells.push((at, text.clone()));
        }
        times > 0
    }

    fn write(&self, grid: &mut Grid, output: &mut Output) {
        if self.cells.is_empty() {
            return;
        }
        let times = if self.repeated > MAX_REPEATED { 1 } else { self.repeated };
        for number in self.number..self.number + times {
            let cells = self.cells.iter().map(|(column, text)| (*column, text.as_str()));
            grid.row(number, self.hidden, cells, output);
        }
        if times < self.repeated {
            let last = (self.number + self.repeated - 1).min(MAX_ROWS);
            output.line(&format!("[the same up to row {last}]"));
        }
    }
}
