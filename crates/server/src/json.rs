//! JSON written straight into bytes.

use attache_core::json::write_string;
use serde::Serialize;

/// An object that is being written.
pub(crate) struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(crate) fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// Adds a member.
    pub(crate) fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        let out = self.key(name);
        write(out, value);
        self
    }

    /// Adds a text, which may be long.
    pub(crate) fn text(mut self, name: &str, text: &str) -> Self {
        write_string(text, self.key(name));
        self
    }

    /// Adds a member that may be missing.
    pub(crate) fn maybe(self, name: &str, value: Option<&(impl Serialize + ?Sized)>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a member that somebody else writes.
    pub(crate) fn by(mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        write(self.key(name));
        self
    }

    /// Adds an array of what somebody else writes.
    pub(crate) fn each<T>(
        self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(T, &mut Vec<u8>),
    ) -> Self {
        self.by(name, |out| {
            out.push(b'[');
            for (at, item) in items.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        })
    }

    pub(crate) fn end(self) {
        self.out.push(b'}');
    }

    fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        write_string(name, self.out);
        self.out.push(b':');
        self.out
    }
}

/// Writes a value.
pub(crate) fn write(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // A value that cannot be written as JSON is none.
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

/// Writes JSON text, such as what a tool returned; text that is none as a string.
pub(crate) fn write_json(out: &mut Vec<u8>, text: &str) {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        // A line feed would end an event.
        Ok(raw) if !raw.get().contains(['\n', '\r']) => out.extend_from_slice(raw.get().as_bytes()),
        Ok(_) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => write(out, &value),
            Err(_) => write(out, text),
        },
        Err(_) => write(out, text),
    }
}
