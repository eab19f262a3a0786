//! Values that options take.

/// Bytes, as a number or with a unit: `500k`, `1M`, `1.5 MiB`. A unit is a power of 1024.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size, such as 500k, 1M or 32MiB");
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).ok_or_else(wrong)?;
    let power = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        _ => return Err(wrong()),
    };
    let unit = 1_u64 << (10 * power);
    if !number.contains('.') {
        return number.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit)).ok_or_else(wrong);
    }
    let number: f64 = number.parse().map_err(|_| wrong())?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a cast of a float saturates, and a limit need not be exact"
    )]
    let bytes = (number * unit as f64) as u64;
    Ok(bytes)
}

/// A text that says something.
pub(super) fn said(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it says nothing".to_owned()) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes = [
            ("0", 0),
            ("512", 512),
            ("500k", 512_000),
            ("1M", 1 << 20),
            ("1.5 MiB", 3 << 19),
            ("2gb", 2 << 30),
        ];
        for (text, bytes_) in sizes {
            assert_eq!(bytes(text), Ok(bytes_), "{text}");
        }
        for text in ["", "M", "1 parsec", "-1", "1.2.3", "99999999999999999999G"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
