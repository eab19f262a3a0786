//! The switch for uploads in a configuration.

use std::time::Duration;

use attache_transport::Uploads;
use toml::{Table, Value};

const UNITS: [(&str, f64); 8] = [
    ("", 1.0),
    ("B", 1.0),
    ("kB", 1e3),
    ("KiB", 1024.0),
    ("MB", 1e6),
    ("MiB", 1_048_576.0),
    ("GB", 1e9),
    ("GiB", 1_073_741_824.0),
];

/// The value of `uploads`: a switch, the size in bytes from which on, or a table of both that size and a time.
///
/// # Errors
/// One line that says what is wrong with it.
pub(crate) fn read(value: &Value) -> Result<Option<Uploads>, String> {
    match value {
        Value::Boolean(false) => Ok(None),
        Value::Boolean(true) => Ok(Some(Uploads::new())),
        Value::Table(table) => read_table(table).map(Some),
        size => Ok(Some(Uploads::above(bytes(size)?))),
    }
}

fn read_table(table: &Table) -> Result<Uploads, String> {
    if let Some(key) = table.keys().find(|key| !matches!(key.as_str(), "above" | "hours")) {
        return Err(format!("uploads has no member {key}, but above and hours"));
    }
    let uploads = match table.get("above") {
        Some(size) => Uploads::above(bytes(size)?),
        None => Uploads::new(),
    };
    match table.get("hours") {
        None => Ok(uploads),
        Some(Value::Integer(hours @ 1..=2_160)) => {
            let seconds = u64::try_from(*hours).unwrap_or_default().saturating_mul(3_600);
            Ok(uploads.with_lifetime(Duration::from_secs(seconds)))
        }
        Some(other) => Err(format!("uploads.hours must be a whole number from 1 to 2160, not {other}")),
    }
}

/// A size: a number of bytes, or a text such as `2 MiB`.
fn bytes(value: &Value) -> Result<u64, String> {
    let wrong = || format!("{value} is no size, such as 2000000 or \"2 MiB\"");
    let text = match value {
        Value::Integer(bytes) => return u64::try_from(*bytes).map_err(|_| wrong()),
        Value::String(text) => text.trim(),
        _ => return Err(wrong()),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).ok_or_else(wrong)?;
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(wrong)?;
    let bytes = number * factor;
    // The length of any file is exact in a float.
    if bytes.is_finite() && bytes < 1e15 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> Result<Option<u64>, String> {
        let table: Table = toml::from_str(text).unwrap();
        read(&table["uploads"]).map(|uploads| uploads.map(|uploads| uploads.from_bytes()))
    }

    #[test]
    fn a_switch_a_size_or_both() {
        assert_eq!(from("uploads = false"), Ok(None));
        assert_eq!(from("uploads = true"), Ok(Some(1 << 20)));
        assert_eq!(from("uploads = '2 MiB'"), Ok(Some(2 << 20)));
        assert_eq!(from("uploads = '1.5MB'"), Ok(Some(1_500_000)));
        assert_eq!(from("uploads = 4096"), Ok(Some(4096)));
        assert_eq!(from("uploads = { above = '10 kB', hours = 2 }"), Ok(Some(10_000)));
        assert_eq!(from("[uploads]\nhours = 2"), Ok(Some(1 << 20)));
    }

    #[test]
    fn an_invalid_upload_setting_is_named() {
        for (text, said) in [
            ("uploads = 'large'", "\"large\" is no size"),
            ("uploads = '2 pages'", "\"2 pages\" is no size"),
            ("uploads = -1", "-1 is no size"),
            ("uploads = 1.5", "1.5 is no size"),
            ("uploads = { abov = 1 }", "no member abov"),
            ("uploads = { hours = 0 }", "hours must be"),
        ] {
            let error = from(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
