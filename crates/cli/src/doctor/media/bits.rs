//! Numbers of any count of bits in bytes.

/// Writes numbers of any count of bits, the lowest bit first, as GIF and WebP do.
#[derive(Debug, Default)]
pub(super) struct LowFirst {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl LowFirst {
    /// At most 16 bits.
    pub(super) fn put(&mut self, value: u32, bits: u32) {
        self.held |= value << self.count;
        self.count += bits;
        while self.count >= 8 {
            let [low, ..] = self.held.to_le_bytes();
            self.bytes.push(low);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        self.bytes
    }
}
