//! Numbers that stay the same across processes and versions.

/// FNV-1a with 64 bits, for numbers that are stored or sent: the standard library's hashers promise no stable values.
/// It is no defence against somebody who looks for collisions.
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
    /// The hash of nothing.
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes, without a mark where they end.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    /// Adds text and its end, so that `"ab", "c"` differs from `"a", "bc"`.
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    /// Adds a number.
    pub fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// The hash of all that was added.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.0
    }
}
