//! The comments of a sheet by their cells.

use std::collections::HashMap;

use super::bounds::{MAX_CELL, MAX_COLUMNS};
use super::records::{Records, is_binary, rich_text};
use crate::ConvertError;
use crate::fields::place_at;
use crate::ooxml::{Package, References, of_kind};
use crate::output::one_line;
use crate::table::column_name;
use crate::xml::{Node, Stop};

/// Comments of one sheet that are kept.
const MAX_COMMENTS: usize = 20_000;

/// Numbers of records.
const COMMENT: u32 = 635;
const COMMENT_TEXT: u32 = 637;

/// The comments of a sheet by their cells.
pub(super) fn read(
    package: &Package<'_>,
    references: &References,
) -> Result<HashMap<String, String>, ConvertError> {
    let mut found = HashMap::new();
    for name in of_kind(references, "comments") {
        if is_binary(name) {
            let Some(mut records) = Records::open(package, name) else { continue };
            if let Err(Stop::Over(error)) = add_binary(&mut records, &mut found) {
                return Err(error);
            }
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
                && let Some(cell) = cell.take()
                && found.len() < MAX_COMMENTS
            {
                found.insert(cell, one_line(&text));
            }
        }
    }
    Ok(found)
}

/// Adds the comments of a part of XLSB.
fn add_binary(records: &mut Records<'_>, found: &mut HashMap<String, String>) -> Result<(), Stop> {
    let mut cell = None;
    while let Some((id, data)) = records.next()? {
        match id {
            COMMENT => {
                let place =
                    place_at(data, 12).zip(place_at(data, 4)).filter(|(column, _)| *column < MAX_COLUMNS);
                cell = place.map(|(column, row)| format!("{}{}", column_name(column), row.saturating_add(1)));
            }
            COMMENT_TEXT if found.len() < MAX_COMMENTS => {
                if let (Some(cell), Some(text)) = (cell.take(), rich_text(data)) {
                    found.insert(cell, one_line(&text));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
