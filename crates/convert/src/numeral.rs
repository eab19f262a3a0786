//! The numbers of lists and clauses: figures, letters and Roman numerals.

/// A number as a list writes it.
pub(crate) fn numeral(count: u32, format: &str) -> String {
    match format {
        "none" => String::new(),
        "decimalZero" => format!("{count:02}"),
        "lowerLetter" => letters(count).to_lowercase(),
        "upperLetter" => letters(count),
        "lowerRoman" => roman(count).to_lowercase(),
        "upperRoman" => roman(count),
        _ => count.to_string(),
    }
}

/// `A` to `Z`, then `AA`, `BB`.
fn letters(count: u32) -> String {
    let Some(index) = count.checked_sub(1) else { return "0".to_owned() };
    let letter = char::from_u32('A' as u32 + index % 26).unwrap_or('A');
    let times = usize::try_from(index / 26 + 1).unwrap_or(1);
    if times > 9 { count.to_string() } else { std::iter::repeat_n(letter, times).collect() }
}

/// Roman numerals, as far as they go.
fn roman(count: u32) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if count == 0 || count > 3999 {
        return count.to_string();
    }
    let mut rest = count;
    let mut out = String::new();
    for (value, digit) in DIGITS {
        while rest >= value {
            out.push_str(digit);
            rest -= value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::numeral;

    #[test]
    fn numerals() {
        assert_eq!(numeral(1994, "upperRoman"), "MCMXCIV");
        assert_eq!(numeral(4, "lowerRoman"), "iv");
        assert_eq!(numeral(28, "lowerLetter"), "bb");
        assert_eq!(numeral(7, "decimalZero"), "07");
        assert_eq!(numeral(4_000_000_000, "upperLetter"), "4000000000");
        assert_eq!(numeral(0, "lowerLetter"), "0");
    }
}
