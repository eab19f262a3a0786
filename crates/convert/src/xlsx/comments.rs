//! The comments of a sheet by their cells.

use std::collections::BTreeMap;

use super::bounds::{MAX_CELL, MAX_COLUMNS};
use super::escapes::unescaped;
use super::records::{Records, is_binary, rich_text};
use crate::ConvertError;
use crate::fields::place_at;
use crate::grid::place;
use crate::ooxml::{Package, References, of_kind};
use crate::output::{Output, one_line};
use crate::table::column_name;
use crate::xml::{Node, Stop, whole};

/// Comments of one sheet that are kept.
const MAX_COMMENTS: usize = 20_000;

/// The address at the end of what Excel says of threads, in every language.
const OF_THREADS: &str = "https://go.microsoft.com/fwlink/?linkid=870924";

/// Numbers of records.
const COMMENT: u32 = 635;
const COMMENT_TEXT: u32 = 637;

/// The comments of a sheet by their cells: row from 1, column from 0.
#[derive(Default)]
pub(super) struct Comments(BTreeMap<(usize, usize), String>);

impl Comments {
    /// Takes the comment of a cell out.
    pub(super) fn take(&mut self, row: usize, column: usize) -> Option<String> {
        self.0.remove(&(row, column))
    }

    /// Writes those of cells that hold nothing, which a sheet need not list.
    pub(super) fn write(self, output: &mut Output) {
        for ((row, column), comment) in self.0 {
            output.line(&format!("[comment on {}{row}: {comment}]", column_name(column)));
        }
    }

    fn add(&mut self, (column, row): (usize, usize), text: &str) {
        let text = one_line(told(text));
        if self.0.len() < MAX_COMMENTS && column < MAX_COLUMNS && !text.is_empty() {
            self.0.insert((row, column), text);
        }
    }
}

/// The text of a comment without what Excel says to older versions of itself before the comments of a thread.
fn told(text: &str) -> &str {
    match text.split_once(OF_THREADS) {
        Some((_, text)) => text.trim_start().strip_prefix("Comment:").unwrap_or(text),
        None => text,
    }
}

/// The comments of a sheet.
pub(super) fn read(package: &Package<'_>, references: &References) -> Result<Comments, ConvertError> {
    let mut found = Comments::default();
    for name in of_kind(references, "comments") {
        if is_binary(name) {
            let Some(mut records) = Records::open(package, name) else { continue };
            whole(add_binary(&mut records, &mut found))?;
            continue;
        }
        let Some(Ok(mut xml)) = package.xml(name) else { continue };
        let mut cell = None;
        loop {
            let in_text = match xml.next() {
                Ok(Node::Open(tag)) => {
                    if tag.name() == "comment" {
                        cell = tag.attr("ref");
                    }
                    tag.name() == "text"
                }
                Ok(Node::End) | Err(Stop::Damaged) => break,
                Err(Stop::Over(error)) => return Err(error),
                Ok(_) => false,
            };
            if in_text
                && let Ok(text) = xml.text(MAX_CELL)
                && let Some(cell) = cell.take().as_deref().and_then(place)
            {
                found.add(cell, &unescaped(&text));
            }
        }
    }
    Ok(found)
}

/// Adds the comments of a part of XLSB.
fn add_binary(records: &mut Records<'_>, found: &mut Comments) -> Result<(), Stop> {
    let mut cell = None;
    while let Some((id, data)) = records.next()? {
        match id {
            COMMENT => {
                let row = place_at(data, 4).map(|row| row.saturating_add(1));
                cell = place_at(data, 12).zip(row);
            }
            COMMENT_TEXT => {
                if let (Some(cell), Some(text)) = (cell.take(), rich_text(data)) {
                    found.add(cell, &text);
                }
            }
            _ => {}
        }
    }
    Ok(())
}
