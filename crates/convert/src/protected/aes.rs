//! AES, as far as it decrypts (FIPS 197). The key is known to all, so that time tells nobody anything.

pub(super) const BLOCK: usize = 16;

type Block = [u8; BLOCK];

/// A key, made ready.
pub(super) struct Aes {
    /// The inverse of the substitution.
    inverse: [u8; 256],
    /// The product of each byte and the first column of the matrix that undoes the mixing of columns.
    products: [u32; 256],
    /// The keys of the rounds, the last one first.
    rounds: Vec<Block>,
}

impl Aes {
    /// `None` unless the key has 16, 24 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return None;
        }
        let substitution = substitution();
        let mut inverse = [0; 256];
        for (from, to) in (0..=u8::MAX).zip(substitution) {
            *inverse.get_mut(usize::from(to))? = from;
        }
        let products = std::array::from_fn(|at| {
            let byte = at.to_le_bytes()[0];
            u32::from_le_bytes([14, 9, 13, 11].map(|factor| product(byte, factor)))
        });
        Some(Self { inverse, products, rounds: rounds(key, &substitution)? })
    }

    fn block(&self, block: Block) -> Block {
        let mut rounds = self.rounds.iter();
        let mut state = combined(block, rounds.next());
        let count = rounds.len();
        for (round, key) in (1..).zip(rounds) {
            state = combined(self.unshifted(&state), Some(key));
            if round < count {
                state = self.unmixed(state);
            }
        }
        state
    }

    /// Undoes the shift of the rows and the substitution.
    fn unshifted(&self, state: &Block) -> Block {
        std::array::from_fn(|at| {
            let (row, column) = (at % 4, at / 4);
            let from = row + 4 * ((column + 4 - row) % 4);
            let byte = state.get(from).copied().unwrap_or_default();
            self.inverse.get(usize::from(byte)).copied().unwrap_or_default()
        })
    }

    fn unmixed(&self, mut state: Block) -> Block {
        let (columns, _) = state.as_chunks_mut::<4>();
        for column in columns {
            let mut mixed = 0;
            for (byte, turn) in column.iter().zip([0, 8, 16, 24]) {
                mixed ^= self.products.get(usize::from(*byte)).copied().unwrap_or_default().rotate_left(turn);
            }
            *column = mixed.to_le_bytes();
        }
        state
    }

    /// Decrypts whole blocks, each by itself.
    pub(super) fn each(&self, bytes: &mut [u8]) {
        for block in bytes.as_chunks_mut::<BLOCK>().0 {
            *block = self.block(*block);
        }
    }

    /// Decrypts whole blocks, each combined with the one before it.
    pub(super) fn chained(&self, start: &[u8], bytes: &mut [u8]) {
        let mut before = start.first_chunk().copied().unwrap_or_default();
        for block in bytes.as_chunks_mut::<BLOCK>().0 {
            let sealed = *block;
            *block = combined(self.block(sealed), Some(&before));
            before = sealed;
        }
    }
}

fn combined(mut one: Block, other: Option<&Block>) -> Block {
    one.iter_mut().zip(other.into_iter().flatten()).for_each(|(one, other)| *one ^= other);
    one
}

/// Twice a byte, in the field of the cipher.
fn doubled(byte: u8) -> u8 {
    byte << 1 ^ if byte & 0x80 == 0 { 0 } else { 0x1b }
}

fn product(mut one: u8, mut other: u8) -> u8 {
    let mut product = 0;
    while other != 0 {
        if other & 1 != 0 {
            product ^= one;
        }
        one = doubled(one);
        other >>= 1;
    }
    product
}

fn substitution() -> [u8; 256] {
    let mut table = [0; 256];
    // All numbers but zero are powers of three; each power and its inverse, side by side.
    let (mut power, mut inverse) = (1_u8, 1_u8);
    for _ in 0..255 {
        let turned = (1..5).fold(inverse, |turned, by| turned ^ inverse.rotate_left(by));
        if let Some(place) = table.get_mut(usize::from(power)) {
            *place = turned ^ 0x63;
        }
        power ^= doubled(power);
        // 246 is the inverse of three.
        inverse = product(inverse, 246);
    }
    if let Some(zero) = table.first_mut() {
        *zero = 0x63;
    }
    table
}

/// The keys of the rounds, the last one first.
fn rounds(key: &[u8], substitution: &[u8; 256]) -> Option<Vec<Block>> {
    let len = key.len() / 4;
    let substituted =
        |word: [u8; 4]| word.map(|byte| substitution.get(usize::from(byte)).copied().unwrap_or_default());
    let mut words = key.as_chunks::<4>().0.to_vec();
    let mut constant = 1;
    for at in len..4 * (len + 7) {
        let mut word = *words.last()?;
        if at % len == 0 {
            word.rotate_left(1);
            word = substituted(word);
            word[0] ^= constant;
            constant = doubled(constant);
        } else if len > 6 && at % len == 4 {
            word = substituted(word);
        }
        let before = words.get(at - len)?;
        word.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
        words.push(word);
    }
    let mut rounds: Vec<Block> = words.as_flattened().as_chunks().0.to_vec();
    rounds.reverse();
    Some(rounds)
}

#[cfg(test)]
mod tests {
    use super::Aes;

    #[test]
    fn known_answers() {
        // FIPS 197, appendix C: the same text under keys of each length.
        let text: Vec<u8> = (0..16).map(|digit| digit * 0x11).collect();
        for (len, sealed) in [
            (16, 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128),
            (24, 0xdda9_7ca4_864c_dfe0_6eaf_70a0_ec0d_7191),
            (32, 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089),
        ] {
            let key: Vec<u8> = (0..len).collect();
            let aes = Aes::new(&key).unwrap();
            let mut block = sealed.to_be_bytes();
            aes.each(&mut block);
            assert_eq!(block[..], text);
            let mut two = [sealed.to_be_bytes(), sealed.to_be_bytes()].concat();
            aes.chained(&[0xff; 16], &mut two);
            let combined = |with: &[u8]| text.iter().zip(with).map(|(a, b)| a ^ b).collect::<Vec<u8>>();
            assert_eq!(two, [combined(&[0xff; 16]), combined(&sealed.to_be_bytes())].concat());
        }
        assert!(Aes::new(&[0; 15]).is_none());
    }
}
