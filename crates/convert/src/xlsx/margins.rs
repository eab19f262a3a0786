//! The headers and footers of a sheet.

use super::bounds::MAX_CELL;
use super::escapes::unescaped;
use super::records::{Records, text_at};
use crate::fields::u16_at;
use crate::margins::{MAX_MARGINS, Margin};
use crate::xml::{Node, Stop, Xml};

/// The number of the record of headers and footers.
const MARGINS: u32 = 479;

/// Reads those of a sheet of XLSX, up to its end. Of several, as saved views have them, the last are those of the sheet.
pub(super) fn read(xml: &mut Xml<'_>, found: &mut Vec<Margin>) -> Result<(), Stop> {
    let (mut even, mut first) = (false, false);
    loop {
        let kind = match xml.next()? {
            Node::Open(tag) => match tag.name() {
                "headerFooter" => {
                    found.clear();
                    (even, first) = (tag.is_on("differentOddEven"), tag.is_on("differentFirst"));
                    None
                }
                "oddHeader" => Some("header"),
                "oddFooter" => Some("footer"),
                "evenHeader" => even.then_some("header"),
                "evenFooter" => even.then_some("footer"),
                "firstHeader" => first.then_some("header"),
                "firstFooter" => first.then_some("footer"),
                _ => None,
            },
            Node::End => return Ok(()),
            _ => None,
        };
        if let Some(kind) = kind.filter(|_| found.len() < MAX_MARGINS) {
            found.push((kind, unescaped(&xml.text(MAX_CELL)?).into_owned()));
        }
    }
}

/// Reads those of a sheet of XLSB, up to its end.
pub(super) fn read_binary(records: &mut Records<'_>, found: &mut Vec<Margin>) -> Result<(), Stop> {
    while let Some((id, data)) = records.next()? {
        if id == MARGINS {
            found.clear();
            let flags = u16_at(data, 0).unwrap_or(0);
            let mut at = 2;
            for is_used in [true, flags & 1 != 0, flags & 2 != 0] {
                for kind in ["header", "footer"] {
                    let (text, end) = text_at(data, at).ok_or(Stop::Damaged)?;
                    found.extend(is_used.then_some((kind, text)));
                    at = end;
                }
            }
        }
    }
    Ok(())
}
