//! Ids of calls as the API takes them.

use attache_core::hash::StableHash;

use crate::capabilities::CallIds;

const MAX_ID: usize = 64;

pub(super) fn is_legal(id: &str, rule: CallIds) -> bool {
    let length = match rule {
        CallIds::Nine => id.len() == 9,
        _ => (1..=MAX_ID).contains(&id.len()),
    };
    length && id.chars().all(|c| is_legal_char(c, rule))
}

fn is_legal_char(c: char, rule: CallIds) -> bool {
    c.is_ascii_alphanumeric()
        || match rule {
            CallIds::Any => matches!(c, '_' | '-' | '.' | ':'),
            CallIds::Plain => matches!(c, '_' | '-'),
            CallIds::Nine => false,
        }
}

/// The legal id next to `id`, always the same.
pub(super) fn legal(id: &str, rule: CallIds) -> String {
    if rule == CallIds::Nine {
        let mut number = hash(id);
        let digits = std::iter::from_fn(|| {
            let digit = char::from_digit(u32::try_from(number % 36).unwrap_or_default(), 36);
            number /= 36;
            digit
        });
        return digits.take(9).collect();
    }
    let legal: String = id.chars().map(|c| if is_legal_char(c, rule) { c } else { '_' }).collect();
    if (1..=MAX_ID).contains(&legal.len()) {
        return legal;
    }
    let head: String = legal.chars().take(MAX_ID - 17).collect();
    format!("{head}_{:016x}", hash(id))
}

/// A number for a text, the same in every process.
pub(super) fn hash(text: &str) -> u64 {
    StableHash::new().bytes(text.as_bytes()).bytes(&[0]).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    // bedrock.md 3: what ids of calls may be
    #[test]
    fn ids_become_legal_and_stay_the_same() {
        for rule in [CallIds::Any, CallIds::Plain, CallIds::Nine] {
            let long = "x".repeat(200);
            for id in ["tooluse_1", "functions.read:0", "", "ünï", "a b", &long] {
                let ours = legal(id, rule);
                assert!(is_legal(&ours, rule), "{id:?} {ours:?}");
                assert_eq!(ours, legal(id, rule));
            }
        }
        assert_eq!(legal("a.b:c", CallIds::Any), "a.b:c");
        assert_eq!(legal("a.b:c", CallIds::Plain), "a_b_c");
        assert_ne!(legal(&"x".repeat(200), CallIds::Any), legal(&"x".repeat(201), CallIds::Any));
        assert_ne!(legal("call_1", CallIds::Nine), legal("call_2", CallIds::Nine));
    }
}
