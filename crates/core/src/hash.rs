//! Hashes that are stable across processes and versions, and hashes as text.

/// FNV-1a with 64 bits, for hashes that are stored or sent: the standard library's hashers do not guarantee stable
/// values. It does not protect against deliberate collisions.
///
/// ```
/// use attache_core::hash::StableHash;
/// assert_eq!(StableHash::new().bytes(b"foobar").finish(), 0x8594_4171_f739_67e8);
/// assert_ne!(StableHash::new().text("ab").text("c").finish(), StableHash::new().text("a").text("bc").finish());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct StableHash(u64);

impl Default for StableHash {
    fn default() -> Self {
        Self::new()
    }
}

impl StableHash {
    /// Creates the hash of no data.
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes, without an end marker.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    /// Adds text with an end marker, so that `"ab", "c"` differs from `"a", "bc"`.
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    /// Adds a number.
    pub fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Returns the hash of all added data.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.0
    }
}

/// Writes bytes, such as those of a hash, as lower-case hexadecimal digits.
///
/// ```
/// use attache_core::hash::hex;
/// assert_eq!(hex(b"\x00\xaf"), "00af");
/// assert_eq!(hex([1, 2, 3].iter().take(2)), "0102");
/// ```
pub fn hex<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> String {
    let bytes = bytes.into_iter();
    let mut digits = String::with_capacity(2 * bytes.size_hint().0);
    for byte in bytes {
        digits
            .extend([byte >> 4, byte & 0xf].into_iter().filter_map(|half| char::from_digit(half.into(), 16)));
    }
    digits
}
