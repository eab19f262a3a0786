//! Deterministic pseudo-random chunk boundaries.

use bytes::Bytes;

/// Cuts a body into chunks, the same for the same seed.
///
/// Network chunking is not recorded, so a test chooses its own. Sizes vary widely: runs of single bytes, short
/// pieces that split lines and UTF-8 sequences, and pieces that hold many events. No chunk is empty, and all of
/// them together are the body; its bytes are shared, not copied.
pub fn chunked(body: &Bytes, seed: u64) -> Vec<Bytes> {
    let mut random = SplitMix(seed);
    let mut chunks = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let (size, repeat) = match random.below(4) {
            0 => (1, 1 + random.below(8)),
            1 => (2 + random.below(14), 1),
            2 => (16 + random.below(240), 1),
            _ => (256 + random.below(3840), 1),
        };
        for _ in 0..repeat {
            let end = (at + size).min(body.len());
            if end > at {
                chunks.push(body.slice(at..end));
            }
            at = end;
        }
    }
    chunks
}

/// The SplitMix64 generator: tiny, well distributed, the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        // The modulo's bias does not matter at these bounds, and the remainder fits.
        usize::try_from(self.next() % bound as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::chunked;

    #[test]
    fn chunks_make_up_the_body_and_depend_on_the_seed_alone() {
        let body: Bytes = (0..20_000_u32).map(|at| at.to_le_bytes()[0]).collect::<Vec<_>>().into();
        for seed in 0..50 {
            let chunks = chunked(&body, seed);
            assert_eq!(chunks.concat(), body);
            assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
            assert_eq!(chunks, chunked(&body, seed));
        }
        assert_ne!(chunked(&body, 1), chunked(&body, 2));
        assert!(chunked(&Bytes::new(), 7).is_empty());
    }

    #[test]
    fn chunks_of_one_byte_occur_beside_large_ones() {
        let body = Bytes::from(vec![0; 50_000]);
        let sizes: Vec<usize> = chunked(&body, 11).iter().map(Bytes::len).collect();
        assert!(sizes.contains(&1));
        assert!(sizes.iter().any(|size| *size > 1000));
    }
}
