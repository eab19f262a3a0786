//! The objects that a file has at all. A reference to one that it has not is `null`, and nothing is lost.

use std::collections::HashSet;

use hayro_syntax::Pdf;
use hayro_syntax::object::{ObjectIdentifier, Stream};
use memchr::memmem;

use super::expand::decode;
use super::object_number::object_number;
use crate::ConvertError;
use crate::guarded::Clock;

/// The distance behind the head of an object stream it says what it is.
const HEAD: usize = 2048;

/// The numbers of all objects, once they are asked for.
#[derive(Default)]
pub(super) struct Defined {
    known: Option<Numbers>,
}

#[derive(Default)]
struct Numbers {
    numbers: HashSet<u32>,
    /// True if a list of objects cannot be read.
    unclear: bool,
}

impl Defined {
    /// True if the file has one of these objects. A list of objects may take `limit` bytes.
    ///
    /// # Errors
    /// The time is over.
    pub(super) fn any(
        &mut self,
        pdf: &Pdf,
        wanted: &[u32],
        limit: usize,
        clock: Clock,
    ) -> Result<bool, ConvertError> {
        if self.known.is_none() {
            self.known = Some(Numbers::of(pdf, limit, clock)?);
        }
        let has =
            |known: &Numbers| known.unclear || wanted.iter().any(|number| known.numbers.contains(number));
        Ok(self.known.as_ref().is_none_or(has))
    }
}

impl Numbers {
    fn of(pdf: &Pdf, limit: usize, clock: Clock) -> Result<Self, ConvertError> {
        let file: &[u8] = pdf.data().as_ref();
        let mut found = Self::default();
        let number = |end: usize| object_number(file.get(..end)?)?.parse().ok();
        for at in memmem::find_iter(file, b"obj") {
            clock.check()?;
            found.numbers.extend(number(at + 3));
        }
        for at in memmem::find_iter(file, b"/ObjStm") {
            clock.check()?;
            let head = at.saturating_sub(HEAD);
            let before = file.get(head..at).unwrap_or_default();
            let container = memmem::rfind(before, b"obj").and_then(|obj| number(head + obj + 3));
            let stream =
                container.and_then(|number| pdf.xref().get::<Stream<'_>>(ObjectIdentifier::new(number, 0)));
            match stream.as_ref().map(|stream| (stream, decode(stream, limit, clock))) {
                Some((stream, Ok(data))) => {
                    found.add_list(&data.bytes, stream.dict().get("First").unwrap_or(0))
                }
                _ => found.unclear = true,
            }
        }
        Ok(found)
    }

    /// Adds the objects that an object stream lists: number and place of each.
    fn add_list(&mut self, data: &[u8], first: usize) {
        let list = data.get(..first).unwrap_or(data);
        let words = list.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let numbers = words.step_by(2).map(|word| std::str::from_utf8(word).ok()?.parse().ok());
        self.numbers.extend(numbers.map_while(|number: Option<u32>| number));
    }
}
