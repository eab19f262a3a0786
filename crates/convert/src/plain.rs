//! Text of any kind: only its charset is to be found.

use bytes::Bytes;

use crate::guarded::Clock;
use crate::output::Output;
use crate::{ConvertError, Converted, Limits, Note, Unit, charset};

pub(crate) fn convert(
    bytes: &Bytes,
    charset: Option<&str>,
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    let decoded = charset::decode(bytes, charset).ok_or(NOT_TEXT)?;
    clock.check()?;
    as_it_is(&decoded.text, decoded.notes(), limits)
}

/// Bytes that fit no charset.
pub(crate) const NOT_TEXT: ConvertError =
    ConvertError::Malformed { reason: "it is not text: its bytes fit no known charset" };

/// A text as it is, lines ended alike.
pub(crate) fn as_it_is(
    text: &str,
    notes: impl IntoIterator<Item = Note>,
    limits: &Limits,
) -> Result<Converted, ConvertError> {
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    for note in notes {
        output.note(note);
    }
    for line in text.split_inclusive('\n') {
        if output.is_full() {
            break;
        }
        match line.strip_suffix("\r\n") {
            Some(line) => output.line(line),
            None => output.push(line),
        }
    }
    output.finish()
}
