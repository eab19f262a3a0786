//! One file of the corpus.

use bytes::Bytes;

/// A document made to break its reader.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HostileFile {
    /// A name that no other of them has, with the extension that goes with the media type.
    pub name: &'static str,
    /// The media type that it claims.
    pub media_type: &'static str,
    /// The trap in it.
    pub what: &'static str,
    make: fn() -> Vec<u8>,
}

impl HostileFile {
    pub(super) const fn new(
        name: &'static str,
        media_type: &'static str,
        what: &'static str,
        make: fn() -> Vec<u8>,
    ) -> Self {
        Self { name, media_type, what, make }
    }

    /// Makes its content: up to 32 MiB, the same each time.
    pub fn bytes(&self) -> Bytes {
        (self.make)().into()
    }
}
