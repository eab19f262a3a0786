//! The binary records of XLSB, in which Excel keeps what XLSX has as XML ([MS-XLSB]).

use std::io::{BufReader, Read};

use crate::fields::{place_at, wide};
use crate::guarded::Clock;
use crate::ooxml::Package;
use crate::xml::Stop;

/// Longest record that is read.
const MAX_RECORD: usize = 4 << 20;

/// Records between two looks at the clock.
const BETWEEN_CHECKS: u32 = 1 << 10;

/// The records of a part.
pub(super) struct Records<'r> {
    source: BufReader<Box<dyn Read + 'r>>,
    data: Vec<u8>,
    count: u32,
    clock: Clock,
}

impl<'r> Records<'r> {
    /// The records of a part; `None` if it is not there or cannot be read.
    pub(super) fn open(package: &'r Package<'_>, name: &str) -> Option<Self> {
        let part = package.archive.part(name)?.ok()?;
        Some(Self {
            source: BufReader::new(Box::new(part)),
            data: Vec::new(),
            count: 0,
            clock: package.clock,
        })
    }

    /// The number of the next record and its data; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, &[u8])>, Stop> {
        self.count = self.count.wrapping_add(1);
        if self.count.is_multiple_of(BETWEEN_CHECKS) {
            self.clock.check()?;
        }
        let mut first = [0];
        if self.source.read(&mut first)? == 0 {
            return Ok(None);
        }
        let id = self.number(first, 2)?;
        let mut first = [0];
        self.source.read_exact(&mut first)?;
        let len = usize::try_from(self.number(first, 4)?).map_err(|_| Stop::Damaged)?;
        if len > MAX_RECORD {
            return Err(Stop::Damaged);
        }
        self.data.resize(len, 0);
        self.source.read_exact(&mut self.data)?;
        Ok(Some((id, &self.data)))
    }

    /// A number of at most so many bytes, each of which says whether another follows.
    fn number(&mut self, mut byte: [u8; 1], most: u32) -> Result<u32, Stop> {
        let mut number = u32::from(byte[0] & 0x7f);
        for at in 1..most {
            if byte[0] & 0x80 == 0 {
                break;
            }
            self.source.read_exact(&mut byte)?;
            number |= u32::from(byte[0] & 0x7f) << (7 * at);
        }
        Ok(number)
    }
}

/// True if a part is one of XLSB.
pub(super) fn is_binary(name: &str) -> bool {
    name.ends_with(".bin")
}

/// A text with its length in characters before it, and where it ends.
pub(super) fn text_at(data: &[u8], at: usize) -> Option<(String, usize)> {
    let len = place_at(data, at).filter(|len| *len != 0xffff_ffff).unwrap_or(0);
    let end = (at + 4).checked_add(len.checked_mul(2)?)?;
    Some((wide(data.get(at + 4..end)?), end))
}

/// A text that says how it is formatted.
pub(super) fn rich_text(data: &[u8]) -> Option<String> {
    text_at(data, 1).map(|(text, _)| text)
}
