//! Numbers as a reader sees them: the formats of sheets, and the codes that say how digits are written.

mod codes;
mod digits;
mod formats;

pub(crate) use self::codes::Pattern;
pub(crate) use self::digits::plain;
pub(crate) use self::formats::Formats;
