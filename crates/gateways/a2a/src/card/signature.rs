//! Signatures on agent cards: JSON Web Signatures over the card's one form, which the card holds apart from it. (RFC 7515
//! appendix F, A2A 1.0 section 8.4)

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::Value;

use super::canonical::canonical;
use super::key::{A2aKey, from_base64url};

/// The maximum number of signatures that are looked at.
const MOST: usize = 20;

/// Members that servers put beside those of version 1.0 for clients of 0.3, after they signed it.
const OF_0_3: [&str; 6] = [
    "additionalInterfaces",
    "preferredTransport",
    "protocolVersion",
    "security",
    "supportsAuthenticatedExtendedCard",
    "url",
];

/// The part of a card that somebody signed whose key is among `keys`; nothing else of the card can be believed.
pub(crate) fn verified(card: &Value, keys: &[A2aKey]) -> Option<Value> {
    let signatures = card.get("signatures")?.as_array()?;
    let mut whole = card.clone();
    whole.as_object_mut()?.remove("signatures");
    let mut filled = whole.clone();
    clean(&mut filled);
    let mut plain = filled.clone();
    plain.as_object_mut()?.retain(|name, _| !OF_0_3.contains(&&**name));
    let forms = [whole, filled, plain].map(|form| (base64url(canonical(&form).as_bytes()), form));
    signatures.iter().take(MOST).find_map(|signature| signed(signature, &forms, keys)).cloned()
}

fn signed<'f>(signature: &Value, forms: &'f [(String, Value)], keys: &[A2aKey]) -> Option<&'f Value> {
    let protected = signature.get("protected")?.as_str()?;
    let bytes = from_base64url(signature.get("signature")?.as_str()?)?;
    let header: Value = serde_json::from_slice(&from_base64url(protected)?).ok()?;
    // Nothing is known of what must be known, then. (RFC 7515 section 4.1.11)
    if header.get("crit").is_some() {
        return None;
    }
    let algorithm = header.get("alg")?.as_str()?;
    let id = header.get("kid").and_then(Value::as_str);
    let of_payload = |payload: &str| {
        let message = format!("{protected}.{payload}");
        keys.iter().any(|key| key.is_named(id) && key.verifies(algorithm, message.as_bytes(), &bytes))
    };
    forms.iter().find(|(payload, _)| of_payload(payload)).map(|(_, form)| form)
}

/// Takes out what says nothing, as protocol buffers leave it out. False for a value that says nothing.
pub(crate) fn clean(value: &mut Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => {
            items.retain_mut(clean);
            !items.is_empty()
        }
        Value::Object(members) => {
            members.retain(|_, value| clean(value));
            !members.is_empty()
        }
        Value::Bool(_) | Value::Number(_) => true,
    }
}

pub(crate) fn base64url(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
