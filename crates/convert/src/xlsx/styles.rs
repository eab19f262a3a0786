//! The formats that the styles of a workbook give its cells.

use super::records::{Records, is_binary, text_at};
use crate::ConvertError;
use crate::fields::u16_at;
use crate::numbers::Formats;
use crate::ooxml::{Package, References, of_kind};
use crate::xml::{Node, Stop, Xml, whole};

/// Numbers of records.
const FORMAT: u32 = 44;
const STYLE: u32 = 47;
const STYLES: u32 = 617;
const END_OF_STYLES: u32 = 618;

/// The formats of a workbook whose days are counted from 1900, or from 1904.
///
/// # Errors
/// The time is over.
pub(super) fn read(
    package: &Package<'_>,
    references: &References,
    since_1904: bool,
) -> Result<Formats, ConvertError> {
    let mut formats = Formats::new(since_1904);
    for name in of_kind(references, "styles") {
        let ended = if is_binary(name) {
            let Some(mut records) = Records::open(package, name) else { continue };
            add_binary(&mut formats, &mut records)
        } else {
            let Some(Ok(xml)) = package.xml(name) else { continue };
            add(&mut formats, xml)
        };
        // Without its format a number is shown as a number.
        whole(ended)?;
    }
    Ok(formats)
}

/// Adds the styles of XLSX.
fn add(formats: &mut Formats, mut xml: Xml<'_>) -> Result<(), Stop> {
    let mut in_cells = false;
    loop {
        match xml.next()? {
            Node::Open(tag) => match tag.name() {
                "numFmt" => {
                    if let (Some(id), Some(code)) = (tag.number("numFmtId"), tag.attr("formatCode")) {
                        formats.add_code(id, &code);
                    }
                }
                "cellXfs" => in_cells = true,
                "xf" if in_cells => formats.add_style(tag.number("numFmtId").unwrap_or(0)),
                _ => {}
            },
            Node::Close(name) if name == "cellXfs" => in_cells = false,
            Node::End => return Ok(()),
            _ => {}
        }
    }
}

/// Adds the styles of XLSB.
fn add_binary(formats: &mut Formats, records: &mut Records<'_>) -> Result<(), Stop> {
    let mut in_cells = false;
    let two = |data: &[u8], at| u16_at(data, at).map(u32::from);
    while let Some((id, data)) = records.next()? {
        match id {
            FORMAT => {
                if let (Some(id), Some((code, _))) = (two(data, 0), text_at(data, 2)) {
                    formats.add_code(id, &code);
                }
            }
            STYLES => in_cells = true,
            END_OF_STYLES => in_cells = false,
            STYLE if in_cells => formats.add_style(two(data, 2).unwrap_or(0)),
            _ => {}
        }
    }
    Ok(())
}
