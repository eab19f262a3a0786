//! The properties of a message that have a fixed length: moments and numbers.

use attache_core::calendar::date_of;

use crate::fields::{u16_at, u32_at};

/// The type of a property that is a number of four bytes, and of one that is a moment.
const NUMBER: u16 = 0x0003;
const MOMENT: u16 = 0x0040;

/// The length of an entry: type and number of the property, flags, and its value.
const ENTRY: usize = 16;

/// The entries behind the header of a stream of properties.
pub(super) struct Fixed {
    stream: Vec<u8>,
    header: usize,
}

impl Fixed {
    pub(super) fn new(stream: Vec<u8>, header: usize) -> Self {
        Self { stream, header }
    }

    pub(super) fn number(&self, property: u16) -> Option<i32> {
        Some(u32_at(self.value(property, NUMBER)?, 0)?.cast_signed())
    }

    /// A moment, as a header of a message says it.
    pub(super) fn moment(&self, property: u16) -> Option<String> {
        // Tenths of a microsecond since the first of January 1601, in UTC.
        let ticks = u64::from_le_bytes(self.value(property, MOMENT)?.first_chunk().copied()?);
        let seconds = i64::try_from(ticks / 10_000_000).ok().filter(|seconds| *seconds > 0)?;
        let (year, month, day) = date_of(seconds / 86_400 - 134_774);
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        Some(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC"))
    }

    fn value(&self, property: u16, kind: u16) -> Option<&[u8]> {
        let entries = self.stream.get(self.header..)?.chunks_exact(ENTRY);
        let mut found =
            entries.filter(|entry| u16_at(entry, 0) == Some(kind) && u16_at(entry, 2) == Some(property));
        found.next()?.get(8..)
    }
}
