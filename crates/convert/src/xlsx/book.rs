//! The sheets of a workbook, as it lists them.

use super::escapes::unescaped;
use super::records::{Records, text_at};
use crate::fields::u32_at;
use crate::ooxml::{Package, Reference, References};
use crate::xml::{Node, Stop, Xml};

/// Sheets of one workbook that are listed.
const MAX_SHEETS: usize = 10_000;

/// Numbers of records.
const BOOK: u32 = 153;
const SHEET: u32 = 156;

#[derive(Default)]
pub(super) struct Book {
    pub(super) sheets: Vec<Listed>,
    pub(super) since_1904: bool,
}

pub(super) struct Listed {
    pub(super) name: String,
    pub(super) id: String,
    pub(super) hidden: bool,
}

impl Book {
    /// Finds the sheets of a file that lost the list of them, or the list of where they are; whether it had to.
    pub(super) fn find(&mut self, package: &Package<'_>, references: &mut References) -> bool {
        if self.sheets.iter().any(|sheet| references.contains_key(&sheet.id)) {
            return false;
        }
        let mut refer = |id: &str, kind: &str, target: &str| {
            references.insert(id.to_owned(), Reference { kind: kind.to_owned(), target: target.to_owned() });
        };
        for end in [".xml", ".bin"] {
            for (index, target) in package.archive.numbered("xl/worksheets/", end).into_iter().enumerate() {
                if index >= self.sheets.len() && index < MAX_SHEETS {
                    self.sheets.push(Listed { name: String::new(), id: target.to_owned(), hidden: false });
                }
                if let Some(sheet) = self.sheets.get(index) {
                    refer(&sheet.id, "worksheet", target);
                }
            }
            for (kind, name) in [("sharedStrings", "sharedStrings"), ("styles", "styles")] {
                let target = format!("xl/{name}{end}");
                if package.archive.has(&target) {
                    refer(kind, kind, &target);
                }
            }
        }
        true
    }

    /// Reads the list of sheets of XLSX.
    pub(super) fn read(&mut self, mut xml: Xml<'_>) -> Result<(), Stop> {
        loop {
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "workbookPr" => self.since_1904 = tag.is_on("date1904"),
                    "sheet" if self.sheets.len() < MAX_SHEETS => self.sheets.push(Listed {
                        name: unescaped(&tag.attr("name").unwrap_or_default()).into_owned(),
                        id: tag.prefixed("id").unwrap_or_default(),
                        hidden: tag.attr("state").is_some_and(|state| state != "visible"),
                    }),
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// Reads the list of sheets of XLSB.
    pub(super) fn read_binary(&mut self, records: &mut Records<'_>) -> Result<(), Stop> {
        while let Some((id, data)) = records.next()? {
            match id {
                BOOK => self.since_1904 = data.first().is_some_and(|flags| flags & 1 != 0),
                SHEET if self.sheets.len() < MAX_SHEETS => {
                    let (id, end) = text_at(data, 8).ok_or(Stop::Damaged)?;
                    let (name, _) = text_at(data, end).ok_or(Stop::Damaged)?;
                    let hidden = u32_at(data, 0) != Some(0);
                    self.sheets.push(Listed { name, id, hidden });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
