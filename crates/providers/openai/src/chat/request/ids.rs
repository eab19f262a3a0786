//! Ids of calls as a server takes them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use attache_core::tool::wire_name;

use crate::profile::CallIds;

/// The longest id that is sent back as it came.
const MAX_ID: usize = 64;
/// The length that some servers demand.
const NINE: usize = 9;

/// The id as it goes on the wire, the same for the same.
pub(crate) fn legal(id: &str, rule: CallIds) -> String {
    let plain =
        |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    match rule {
        CallIds::AsReceived => id.to_owned(),
        CallIds::Plain if id.len() <= MAX_ID && plain(id) => id.to_owned(),
        // The rule for names is stricter, deterministic, and marks what it cuts with a digest of the whole.
        CallIds::Plain => wire_name(id),
        CallIds::Nine if id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            id.to_owned()
        }
        CallIds::Nine => digest(id),
    }
}

/// Nine letters and digits that stand for an id.
fn digest(id: &str) -> String {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let mut rest = hasher.finish();
    let digits = (0..NINE).filter_map(|_| {
        let digit = usize::try_from(rest % 62).ok().and_then(|digit| DIGITS.get(digit));
        rest /= 62;
        digit.map(|digit| char::from(*digit))
    });
    digits.collect()
}

#[cfg(test)]
mod tests {
    use attache_core::{Arguments, ProviderCallId, ToolCall};
    use attache_transport::wire_ids;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall::new("t", Arguments::new("{}")).with_provider_id(ProviderCallId::parse(id))
    }

    fn ids(list: &[&str], rule: CallIds) -> Vec<String> {
        let calls: Vec<_> = list.iter().map(|id| call(id)).collect();
        wire_ids(&calls.iter().collect::<Vec<_>>(), |id| legal(id, rule))
    }

    // openai.md D 13, D 19
    #[test]
    fn d19_ids_are_replaced_only_where_they_must_be() {
        let long = "x".repeat(70);
        let odd = ["call_1", "functions.add:0", &long, "toolu_01-a"];
        assert_eq!(ids(&odd, CallIds::AsReceived), odd);
        let plain = ids(&odd, CallIds::Plain);
        assert_eq!(
            (plain[0].as_str(), plain[1].as_str(), plain[3].as_str()),
            ("call_1", "functions_add_0", "toolu_01-a")
        );
        assert!(plain[2].len() <= 64);
        assert_eq!(plain, ids(&odd, CallIds::Plain), "always the same");
        assert_eq!(ids(&["a.b", "a:b", "a_b"], CallIds::Plain), ["a_b", "a_b_2", "a_b_3"]);
        assert_eq!(ids(&["a", "a"], CallIds::AsReceived), ["a", "a_2"]);
    }

    // openai.md D 14, C.6
    #[test]
    fn d14_ids_of_nine_letters_and_digits() {
        let list = ["j0n95wytd", "call_1", "null", "toolu_01A", "j0n95wyt-"];
        let nine = ids(&list, CallIds::Nine);
        assert_eq!(nine[0], "j0n95wytd");
        assert!(nine.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
        assert_eq!(nine, ids(&list, CallIds::Nine), "always the same");
        assert_eq!(nine.iter().collect::<std::collections::HashSet<_>>().len(), list.len());
        let twice = ids(&["a", "a"], CallIds::Nine);
        assert_ne!(twice[0], twice[1]);
    }
}
