//! The tools that the files are built with.

/// Bits of a deflate stream, first bit lowest.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u32, length: u32) {
        self.held |= value << self.count;
        self.count += length;
        while self.count >= 8 {
            self.bytes.push(self.held.to_le_bytes()[0]);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// A Huffman code goes in with its first bit first.
    fn push_code(&mut self, code: u32, length: u32) {
        self.push(code.reverse_bits() >> (32 - length), length);
    }
}

/// A deflate stream of so many times the same byte, at least as many as asked for: a thousandth of that long.
pub(super) fn deflated_run(byte: u8, length: usize) -> Vec<u8> {
    let mut bits = Bits { bytes: Vec::with_capacity(length / 158 + 16), ..Bits::default() };
    // The last block, with fixed codes: the byte once, then copies of 258 bytes from one byte before.
    bits.push(0b1, 1);
    bits.push(0b01, 2);
    let byte = u32::from(byte);
    if byte < 144 {
        bits.push_code(0x30 + byte, 8)
    } else {
        bits.push_code(0x190 + byte - 144, 9)
    }
    let copies = |count: usize, bits: &mut Bits| {
        for _ in 0..count {
            bits.push_code(0b1100_0101, 8);
            bits.push_code(0, 5);
        }
    };
    // Eight copies are thirteen bytes, which are the same from the second time on.
    let count = run_copies(length);
    let (first, rest) = (count.min(8), count.saturating_sub(8));
    copies(first, &mut bits);
    if rest >= 8 {
        let start = bits.bytes.len();
        copies(8, &mut bits);
        let eight = bits.bytes.get(start..).unwrap_or_default().repeat(rest / 8 - 1);
        bits.bytes.extend_from_slice(&eight);
    }
    copies(rest % 8, &mut bits);
    bits.push_code(0, 7);
    bits.push(0, 7);
    bits.bytes
}

fn run_copies(length: usize) -> usize {
    length.saturating_sub(1).div_ceil(258)
}

/// The number of bytes that [`deflated_run`] makes.
pub(super) fn run_length(length: usize) -> usize {
    1 + run_copies(length) * 258
}

/// The same with the header of zlib and its checksum.
pub(super) fn zlib_run(byte: u8, length: usize) -> Vec<u8> {
    const BASE: u64 = 65_521;
    let (count, byte64) = (run_length(length) as u64, u64::from(byte));
    let low = (1 + count % BASE * byte64) % BASE;
    // Every byte counts once more for each that follows it.
    let triangle = (u128::from(count) * u128::from(count + 1) / 2 % u128::from(BASE)) as u64;
    let high = (count + triangle * byte64) % BASE;
    let sum = u32::try_from((high << 16) | low).unwrap_or_default();
    [&[0x78, 0x9c], deflated_run(byte, length).as_slice(), &sum.to_be_bytes()].concat()
}

/// A deflate stream that stores bytes as they are.
pub(super) fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 65_535 * 5 + 5);
    let last = bytes.chunks(65_535).count().max(1) - 1;
    let mut blocks = bytes.chunks(65_535);
    for index in 0..=last {
        let block = blocks.next().unwrap_or_default();
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(index == last));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out
}

/// The same as zlib has it.
pub(super) fn zlib_stored(bytes: &[u8]) -> Vec<u8> {
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    [&[0x78, 0x01], stored(bytes).as_slice(), &((high << 16) | low).to_be_bytes()].concat()
}

/// The checksum of zip and PNG, of so many times the same byte.
pub(super) fn crc_of_run(byte: u8, length: usize) -> u32 {
    const PIECE: usize = 1 << 20;
    let hash = |length: usize| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&vec![byte; length]);
        hasher
    };
    let piece = hash(PIECE.min(length));
    let mut all = crc32fast::Hasher::new();
    for _ in 0..length / PIECE {
        all.combine(&piece);
    }
    all.combine(&hash(length % PIECE));
    all.finalize()
}

/// An archive under construction.
#[derive(Default)]
pub(super) struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: usize,
}

impl Zip {
    /// Adds a file as it is.
    pub(super) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        self.entry(name, 0, content, crc32fast::hash(content), content.len())
    }

    /// Adds a file of at least so many times the same byte.
    pub(super) fn run(self, name: &str, byte: u8, length: usize) -> Self {
        let length = run_length(length);
        self.entry(name, 8, &deflated_run(byte, length), crc_of_run(byte, length), length)
    }

    /// Adds what is given as a compressed file.
    pub(super) fn entry(mut self, name: &str, method: u16, data: &[u8], crc: u32, length: usize) -> Self {
        let start = self.bytes.len();
        self.bytes.extend(b"PK\x03\x04\x14\0\0\x08");
        let shared = Self::shared(name, method, data.len(), crc, length);
        self.bytes.extend_from_slice(&shared);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(data);
        self.listed(name, &shared, start)
    }

    /// Lists the file that starts in a place, with this checksum and length, under another name.
    pub(super) fn again(self, name: &str, crc: u32, length: usize, start: usize) -> Self {
        let shared = Self::shared(name, 0, length, crc, length);
        self.listed(name, &shared, start)
    }

    /// From the method to the lengths of the name and of what follows it: both headers have that.
    fn shared(name: &str, method: u16, packed: usize, crc: u32, length: usize) -> Vec<u8> {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        let mut out = method.to_le_bytes().to_vec();
        // The first of January 1980.
        out.extend([0, 0, 0x21, 0]);
        out.extend(crc.to_le_bytes());
        out.extend(number(packed));
        out.extend(number(length));
        out.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
        out.extend([0, 0]);
        out
    }

    fn listed(mut self, name: &str, shared: &[u8], start: usize) -> Self {
        self.directory.extend(b"PK\x01\x02\x14\0\x14\0\0\x08");
        self.directory.extend_from_slice(shared);
        self.directory.extend([0; 10]);
        self.directory.extend(u32::try_from(start).unwrap_or(u32::MAX).to_le_bytes());
        self.directory.extend_from_slice(name.as_bytes());
        self.count += 1;
        self
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let start = self.bytes.len();
        let count = u16::try_from(self.count).unwrap_or(u16::MAX).to_le_bytes();
        let length = self.directory.len();
        self.bytes.append(&mut self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend(count);
        self.bytes.extend(count);
        self.bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        self.bytes.extend(u32::try_from(start).unwrap_or(u32::MAX).to_le_bytes());
        self.bytes.extend([0, 0]);
        self.bytes
    }
}

/// The same file with other bytes in one place.
pub(super) fn patched(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    for (old, new) in file.iter_mut().skip(at).zip(bytes) {
        *old = *new;
    }
    file
}

/// Bytes without any order, the same each time.
pub(super) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::{crc_of_run, run_length, zlib_run, zlib_stored};

    #[test]
    fn checksums_are_those_of_the_long_way() {
        assert_eq!(crc_of_run(b'a', 3_000_001), crc32fast::hash(&vec![b'a'; 3_000_001]));
        // The sums of a run and of the same bytes one by one.
        let length = run_length(1000);
        let (run, plain) = (zlib_run(b'x', 1000), zlib_stored(&vec![b'x'; length]));
        assert_eq!(run[run.len() - 4..], plain[plain.len() - 4..]);
    }
}
