//! RC4, which is a stream of bytes to combine with those of a text.

pub(super) struct Rc4 {
    state: [u8; 256],
    first: u8,
    second: u8,
}

impl Rc4 {
    pub(super) fn new(key: &[u8]) -> Self {
        let mut cipher = Self { state: std::array::from_fn(|at| at.to_le_bytes()[0]), first: 0, second: 0 };
        let mut second = 0_u8;
        for (first, key) in (0..=u8::MAX).zip(key.iter().cycle()) {
            second = second.wrapping_add(cipher.at(first)).wrapping_add(*key);
            cipher.state.swap(first.into(), second.into());
        }
        cipher
    }

    fn at(&self, place: u8) -> u8 {
        self.state.get(usize::from(place)).copied().unwrap_or_default()
    }

    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().zip(self).for_each(|(byte, key)| *byte ^= key);
    }
}

impl Iterator for Rc4 {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.first = self.first.wrapping_add(1);
        let one = self.at(self.first);
        self.second = self.second.wrapping_add(one);
        let other = self.at(self.second);
        self.state.swap(self.first.into(), self.second.into());
        Some(self.at(one.wrapping_add(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::Rc4;

    #[test]
    fn known_answers() {
        // RFC 6229, sections 2: keys of 40 and 128 bits.
        let stream = |key: &[u8]| Rc4::new(key).take(8).collect::<Vec<u8>>();
        assert_eq!(stream(&[1, 2, 3, 4, 5]), [0xb2, 0x39, 0x63, 0x05, 0xf0, 0x3d, 0xc0, 0x27]);
        let key: Vec<u8> = (1..=16).collect();
        assert_eq!(stream(&key), [0x9a, 0xc7, 0xcc, 0x9a, 0x60, 0x9d, 0x1e, 0xf7]);
    }
}
