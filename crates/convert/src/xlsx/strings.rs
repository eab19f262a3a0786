//! The texts that the cells of a workbook share, in little memory.

use std::borrow::Cow;

use super::escapes::unescaped;
use super::records::{Records, is_binary, rich_text};
use crate::ooxml::{Package, References, of_kind};
use crate::xml::{Node, Stop, Xml, whole};
use crate::{ConvertError, Limits};

/// The number of the records of texts.
const SHARED_TEXT: u32 = 19;

/// Shared texts, one behind the other.
#[derive(Default)]
pub(super) struct Strings {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Strings {
    /// The texts, and whether these are all.
    pub(super) fn read(
        package: &Package<'_>,
        references: &References,
        limits: &Limits,
    ) -> Result<(Self, bool), ConvertError> {
        let mut strings = Self::default();
        let mut is_all = true;
        for name in of_kind(references, "sharedStrings") {
            let ended = if is_binary(name) {
                Records::open(package, name)
                    .ok_or(Stop::Damaged)
                    .and_then(|mut records| strings.read_binary(&mut records, limits.max_decoded_bytes))
            } else {
                match package.xml(name) {
                    Some(Ok(xml)) => strings.add(xml, limits.max_decoded_bytes),
                    _ => Err(Stop::Damaged),
                }
            };
            is_all &= whole(ended)?.is_some();
        }
        Ok((strings, is_all))
    }

    fn add(&mut self, mut xml: Xml<'_>, limit: usize) -> Result<(), Stop> {
        let (mut in_text, mut said_aloud, mut from) = (false, false, 0);
        loop {
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "t" => (in_text, from) = (!said_aloud, self.text.len()),
                    "rPh" => said_aloud = true,
                    _ => {}
                },
                Node::Text(text) if in_text => self.push_some(&text, limit)?,
                Node::Close(name) => match &*name {
                    "t" => {
                        in_text = false;
                        if let Cow::Owned(text) = unescaped(self.text.get(from..).unwrap_or_default()) {
                            self.text.truncate(from);
                            self.text.push_str(&text);
                        }
                    }
                    "rPh" => said_aloud = false,
                    "si" => self.end()?,
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// Adds the texts of XLSB.
    fn read_binary(&mut self, records: &mut Records<'_>, limit: usize) -> Result<(), Stop> {
        while let Some((id, data)) = records.next()? {
            if id == SHARED_TEXT {
                self.push(&rich_text(data).ok_or(Stop::Damaged)?, limit)?;
            }
        }
        Ok(())
    }

    fn push_some(&mut self, text: &str, limit: usize) -> Result<(), Stop> {
        if self.text.len() + text.len() > limit {
            return Err(Stop::Damaged);
        }
        self.text.push_str(text);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Stop> {
        self.ends.push(u32::try_from(self.text.len()).map_err(|_| Stop::Damaged)?);
        Ok(())
    }

    /// Adds a text.
    fn push(&mut self, text: &str, limit: usize) -> Result<(), Stop> {
        self.push_some(text, limit)?;
        self.end()
    }

    pub(super) fn get(&self, at: usize) -> Option<&str> {
        let end = usize::try_from(*self.ends.get(at)?).ok()?;
        let start = match at.checked_sub(1) {
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
            None => 0,
        };
        self.text.get(start..end)
    }
}
