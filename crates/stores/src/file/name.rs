//! Ids as file names.
//!
//! An id may come from a provider, a tool or a stranger's request. Its name must lead nowhere else, be no other id's
//! name on a file system that ignores case or normalises letters, and be no device of Windows.

use attache_core::hash::hex;
use sha2::{Digest, Sha256};

/// The longest name that spells an id out; file systems take 255 bytes, suffixes included.
const MAX_SPELT: usize = 200;

/// The file name of an id, without a suffix: the id itself with all but `a`-`z`, `0`-`9`, `-` and `_` as `%` and two
/// digits for each byte, or, where that would be too long, `~` and its SHA-256.
pub(super) fn of_id(id: &str) -> String {
    spelt(id).unwrap_or_else(|| format!("~{}", hex(&Sha256::digest(id.as_bytes()))))
}

/// The file name that spells an id out; `None` if it would be too long or empty.
pub(super) fn spelt(id: &str) -> Option<String> {
    let device = is_device(id);
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' if !(device && at == 0) => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
        if name.len() > MAX_SPELT {
            return None;
        }
    }
    (!name.is_empty()).then_some(name)
}

/// The id that [`spelt`] made a name of; `None` for any other name.
pub(super) fn id_of(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut pieces = name.split('%');
    bytes.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    let id = String::from_utf8(bytes).ok()?;
    (spelt(&id)? == name).then_some(id)
}

/// True if Windows takes a file of that name, with any suffix, for a device.
fn is_device(id: &str) -> bool {
    match id.split_at_checked(3) {
        Some(("con" | "prn" | "aux" | "nul", "")) => true,
        Some(("com" | "lpt", number)) => matches!(number.as_bytes(), [b'0'..=b'9']),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_that_are_plain_stay_readable() {
        assert_eq!(of_id("6f1ed002-ab5a-4b9d-9c1a-70b0a3b4c5d6"), "6f1ed002-ab5a-4b9d-9c1a-70b0a3b4c5d6");
        assert_eq!(of_id("Report 7.pdf"), "%52eport%207%2epdf");
    }

    #[test]
    fn hostile_ids_stay_inside_the_folder() {
        let long = "../".repeat(100);
        let hostile = [
            "..",
            ".",
            "/",
            "../../etc/passwd",
            "a/b",
            "a\\b",
            "C:",
            "a\0b",
            "con",
            "nul",
            "com1",
            "lpt9",
            "CON",
            ".lock",
            "~x",
            "%2e",
            "a:b",
            "é",
            "e\u{301}",
            "\u{212a}",
            "-",
            " ",
            "a ",
            "a.",
            &long,
            "",
        ];
        let mut names = HashMap::new();
        for id in hostile {
            let name = of_id(id);
            assert!(
                name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'%' | b'~')),
                "{name}"
            );
            assert!(!name.is_empty() && name.len() <= MAX_SPELT + 3 && !is_device(&name), "{name}");
            assert_eq!(names.insert(name, id), None);
        }
        assert_eq!(of_id("con"), "%63on");
    }

    #[test]
    fn names_that_spell_no_id_are_told() {
        for name in ["", "A", "%2", "%zz", "%61", "a.b", "~00", "%ff", "%+1"] {
            assert_eq!(id_of(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_spells_one_id(id in any::<String>(), other in any::<String>()) {
            let name = of_id(&id);
            prop_assert!(name.to_lowercase() == name);
            prop_assert_eq!(id == other, name == of_id(&other));
            if let Some(name) = spelt(&id) {
                prop_assert_eq!(id_of(&name), Some(id));
            }
        }
    }
}
