//! The number of the object that follows, as the bytes before it say.

/// The digits of `12` if the bytes end in `12 0 obj` and white space.
pub(super) fn object_number(before: &[u8]) -> Option<&str> {
    let before = before.trim_ascii_end().strip_suffix(b"obj")?.trim_ascii_end();
    let (before, generation) = split_digits(before);
    let trimmed = before.trim_ascii_end();
    let (_, number) = split_digits(trimmed);
    let separated = trimmed.len() < before.len();
    (separated && !generation.is_empty() && !number.is_empty() && number.len() <= 10)
        .then_some(number)
        .and_then(|number| std::str::from_utf8(number).ok())
}

/// Splits off the digits at the end.
fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let digits = bytes.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    bytes.split_at(bytes.len() - digits)
}

#[cfg(test)]
mod tests {
    use super::object_number;

    #[test]
    fn object_numbers_are_read_backwards() {
        assert_eq!(object_number(b"endobj\n12 0 obj\r\n"), Some("12"));
        assert_eq!(object_number(b"x 7 65535 obj"), Some("7"));
        assert_eq!(object_number(b"12 0 obj % note\n"), None);
        assert_eq!(object_number(b"0 obj "), None);
        assert_eq!(object_number(b"trailer"), None);
    }
}
