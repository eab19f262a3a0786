//! Form fields, whose values are no text of the document.

use crate::code_pages::Charset;
use crate::marks;

/// Choices of a list that are kept, and bytes of all of them.
const MAX_CHOICES: usize = 1_000;
const MAX_BYTES: usize = 64 << 10;

/// The number of a result that is not set.
const UNSET: i32 = 25;

/// A form field; there is none as long as its kind is not set.
#[derive(Default)]
pub(super) struct Form {
    kind: i32,
    result: Option<i32>,
    default: i32,
    choices: Vec<Vec<u8>>,
    bytes: usize,
}

impl Form {
    pub(super) fn set(&mut self, word: &str, value: Option<i32>) {
        let value = value.unwrap_or(0);
        match word {
            "fftype" => self.kind = value,
            "ffdefres" => self.default = value,
            _ => self.result = Some(value).filter(|value| *value != UNSET),
        }
    }

    pub(super) fn begin_choice(&mut self) {
        if self.choices.len() < MAX_CHOICES {
            self.choices.push(Vec::new());
        }
    }

    /// A byte of the choice that began last.
    pub(super) fn push(&mut self, byte: u8) {
        self.bytes += 1;
        if let Some(choice) = self.choices.last_mut().filter(|_| self.bytes <= MAX_BYTES) {
            choice.push(byte);
        }
    }

    /// The text that the field shows.
    pub(super) fn shown(self, charset: Charset) -> String {
        let result = self.result.unwrap_or(self.default);
        match self.kind {
            1 => marks::of_box(result != 0).to_owned(),
            2 => {
                let chosen = usize::try_from(result).ok().and_then(|at| self.choices.get(at));
                let text = chosen.map(|choice| charset.decode(choice));
                text.unwrap_or_default().trim().to_owned()
            }
            _ => String::new(),
        }
    }
}
