//! The identifiers of documents, messages and tool calls.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The identifier `text`, or `None` if it is blank.
            pub fn parse(text: impl AsRef<str>) -> Option<Self> {
                let text = text.as_ref().trim();
                (!text.is_empty()).then(|| Self(Arc::from(text)))
            }

            /// The identifier as text, never blank.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(text).ok_or_else(|| serde::de::Error::custom("an identifier must not be blank"))
            }
        }
    };
}

text_id! {
    /// The identity of a document, normally a UUID.
    DocumentId
}

text_id! {
    /// The identity of a message inside a conversation.
    MessageId
}

text_id! {
    /// Our identity of a tool call: always present, unique, and of letters, digits, `_` and `-` when we minted it.
    ToolCallId
}

text_id! {
    /// A provider's own id of a tool call. It is the only one that goes back on that provider's wire.
    ProviderCallId
}

impl DocumentId {
    /// A fresh random UUID.
    #[expect(clippy::new_without_default, reason = "a default that differs at each call would surprise")]
    pub fn new() -> Self {
        Self(uuid_text(Uuid::new_v4()))
    }

    /// The id of the `number`-th document inside this one, the same at each call: a UUID that whoever wrote the
    /// document could not know, as this one is random.
    pub fn inside(&self, number: usize) -> Self {
        let digest = Sha256::digest(format!("{}\0{number}", self.0).as_bytes());
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(digest.iter()).for_each(|(byte, hash)| *byte = *hash);
        Self(uuid_text(uuid::Builder::from_custom_bytes(bytes).into_uuid()))
    }

    /// What labels show in the `spec` profile: the text before the first `-`, or the whole id, at most 64
    /// characters, when there is no dash or it comes first.
    pub fn short(&self) -> &str {
        match self.0.find('-') {
            Some(dash) if dash > 0 => self.0.get(..dash).unwrap_or(&self.0),
            _ => match self.0.char_indices().nth(64) {
                Some((end, _)) => self.0.get(..end).unwrap_or(&self.0),
                None => &self.0,
            },
        }
    }
}

impl MessageId {
    /// A fresh id, unique in this process and all others.
    #[expect(clippy::new_without_default, reason = "a default that differs at each call would surprise")]
    pub fn new() -> Self {
        Self(unique("msg_"))
    }

    /// The id of a message that is derived from this one, the same at each call.
    pub fn derived(&self, suffix: &str) -> Self {
        Self(Arc::from(format!("{}.{suffix}", self.0)))
    }
}

impl ToolCallId {
    /// A fresh id, unique in this process and all others: `call_` and 32 hexadecimal digits, legal on every
    /// provider's wire.
    #[expect(clippy::new_without_default, reason = "a default that differs at each call would surprise")]
    pub fn new() -> Self {
        Self(unique("call_"))
    }
}

/// An id that needs to be unique but not hard to guess, so it costs no system call: a number drawn once in this
/// process, and a count.
fn unique(prefix: &str) -> Arc<str> {
    static DRAWN: OnceLock<u128> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let drawn = *DRAWN.get_or_init(|| Uuid::new_v4().as_u128());
    let number = drawn.wrapping_add(u128::from(COUNT.fetch_add(1, Ordering::Relaxed)));
    Arc::from(format!("{prefix}{number:032x}"))
}

fn uuid_text(uuid: Uuid) -> Arc<str> {
    let mut buffer = [0u8; uuid::fmt::Hyphenated::LENGTH];
    Arc::from(&*uuid.hyphenated().encode_lower(&mut buffer))
}

#[cfg(test)]
mod tests {
    use super::*;

    // C08, documents.md 8.5 #61 and #72
    #[test]
    fn short_ids() {
        let short = |id: &str| DocumentId::parse(id).unwrap().short().to_owned();
        assert_eq!(short("b20f6e91-93e5-4f6a-8b1d-2a6e5f0c9d34"), "b20f6e91");
        assert_eq!(short("plan7"), "plan7");
        assert_eq!(short("-abc-def"), "-abc-def");
        assert_eq!(short(&"é".repeat(100)), "é".repeat(64));
    }

    #[test]
    fn blank_ids_cannot_be_made() {
        assert_eq!(ToolCallId::parse(" \n"), None);
        assert!(serde_json::from_str::<ProviderCallId>("\"\"").is_err());
    }

    #[test]
    fn minted_ids_are_legal_on_every_wire() {
        let id = ToolCallId::new();
        assert!(id.as_str().len() <= 40);
        assert!(id.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        assert_ne!(id, ToolCallId::new());
    }
}
