//! Numbers as a reader sees them: the formats of sheets, their dates, and the codes that say how digits are written.

mod digits;
mod format_code;
mod formats;
mod serial_dates;

pub(crate) use self::digits::plain;
pub(crate) use self::format_code::Pattern;
pub(crate) use self::formats::Formats;
