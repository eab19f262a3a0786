//! Hashes that are stable across processes and versions.

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

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
