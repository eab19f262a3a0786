//! Numbers that stay the same across processes and versions.

/// FNV-1a with 64 bits: the standard library's hashers promise no stable values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    /// Text and its end, so that `"ab", "c"` differs from `"a", "bc"`.
    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Hash;

    #[test]
    fn values_are_those_of_the_algorithm() {
        assert_eq!(Hash::new().bytes(b"").finish(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Hash::new().bytes(b"foobar").finish(), 0x8594_4171_f739_67e8);
        assert_ne!(Hash::new().text("ab").text("c").finish(), Hash::new().text("a").text("bc").finish());
    }
}
