//! The digits of a number that a reader sees.

/// A number with the fifteen digits that Excel shows and no more.
pub(crate) fn plain(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    if rounded == 0.0 {
        return "0".to_owned();
    }
    let magnitude: f64 = f64::abs(rounded);
    if (1e-7..1e21).contains(&magnitude) { format!("{rounded}") } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn zero_has_no_sign_and_a_large_number_no_exponent() {
        assert_eq!(plain(-0.0), "0");
        assert_eq!(plain(1e20), "100000000000000000000");
    }
}
