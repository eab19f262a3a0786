//! SHA-1 (FIPS 180-4), of short texts: no other part of the programs needs it.

/// The hash of these parts, one behind the other.
pub(super) fn sha1(parts: &[&[u8]]) -> Vec<u8> {
    let mut text = parts.concat();
    let bits = u64::try_from(text.len()).unwrap_or(u64::MAX).wrapping_mul(8);
    text.push(0x80);
    while text.len() % 64 != 56 {
        text.push(0);
    }
    text.extend(bits.to_be_bytes());
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in text.as_chunks::<64>().0 {
        state = next(state, block);
    }
    state.into_iter().flat_map(u32::to_be_bytes).collect()
}

fn next(state: [u32; 5], block: &[u8; 64]) -> [u32; 5] {
    let mut words: Vec<u32> = block.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    for at in 16..80 {
        let word = |back: usize| words.get(at - back).copied().unwrap_or_default();
        let word = (word(3) ^ word(8) ^ word(14) ^ word(16)).rotate_left(1);
        words.push(word);
    }
    let [mut a, mut b, mut c, mut d, mut e] = state;
    for (at, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match at / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let sum = [a.rotate_left(5), mixed, e, constant, word].into_iter().fold(0, u32::wrapping_add);
        (a, b, c, d, e) = (sum, a, b.rotate_left(30), c, d);
    }
    let mut sums = [a, b, c, d, e];
    sums.iter_mut().zip(state).for_each(|(sum, before)| *sum = sum.wrapping_add(before));
    sums
}

#[cfg(test)]
mod tests {
    use super::sha1;

    #[test]
    fn known_answers() {
        // RFC 3174, section 7.3, and the empty text.
        let hash = |parts: &[&[u8]]| sha1(parts).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hash(&[b"ab", b"", b"c"]), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hash(&[two]), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        assert_eq!(hash(&[&[b'a'; 1000].repeat(1000)]), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
        assert_eq!(hash(&[]), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    }
}
