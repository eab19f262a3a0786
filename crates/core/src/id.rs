//! The identifiers of documents, messages and tool calls.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::fresh;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates an identifier from `text`, or returns `None` if it is blank.
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
    /// The id of a document, normally a UUID.
    DocumentId
}

text_id! {
    /// The id of a message within a conversation.
    MessageId
}

text_id! {
    /// Our id of a tool call: always present and unique. Generated ids consist of letters, digits, `_` and `-`.
    ToolCallId
}

text_id! {
    /// A provider's own id of a tool call. It is the only id that is sent back to that provider.
    ProviderCallId
}

impl DocumentId {
    /// Creates a random UUID.
    #[expect(clippy::new_without_default, reason = "a default that differs at each call would surprise")]
    pub fn new() -> Self {
        Self(fresh::document())
    }

    /// The id of the `number`-th document inside this one, the same at each call: a UUID that the author of the
    /// document cannot predict, because this id is random. Its last part identifies the outermost document, so that
    /// [`is_inside`](Self::is_inside) works at any depth.
    pub fn inside(&self, number: usize) -> Self {
        let digest = Sha256::digest(format!("{}\0{number}", self.0).as_bytes());
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(digest.iter()).for_each(|(byte, hash)| *byte = *hash);
        bytes.iter_mut().skip(ROOT_AT).zip(self.root()).for_each(|(byte, root)| *byte = root);
        Self(fresh::text(uuid::Builder::from_custom_bytes(bytes).into_uuid()))
    }

    /// The id under which facts about the document may be stored beside it, in the same store. Code that retains or
    /// deletes a document must do the same with its facts.
    pub fn facts(&self) -> Self {
        Self(Arc::from(format!("{}-facts", self.0)))
    }

    /// True if this is the id of a document inside the document `outer`, at any depth, as created by
    /// [`inside`](Self::inside).
    pub fn is_inside(&self, outer: &DocumentId) -> bool {
        self != outer && self.own_root() == Some(outer.root())
    }

    /// The bytes that stand for the outermost document in the ids of those inside it.
    pub(crate) fn root(&self) -> [u8; 16 - ROOT_AT] {
        self.own_root().unwrap_or_else(|| {
            let digest = Sha256::digest(self.0.as_bytes());
            let mut root = [0; 16 - ROOT_AT];
            root.iter_mut().zip(digest.iter()).for_each(|(byte, hash)| *byte = *hash);
            root
        })
    }

    /// The same, of an id that [`inside`](Self::inside) made: it alone makes UUIDs of the custom version.
    pub(crate) fn own_root(&self) -> Option<[u8; 16 - ROOT_AT]> {
        let uuid = Uuid::parse_str(&self.0).ok().filter(|uuid| uuid.get_version_num() == 8)?;
        uuid.as_bytes().last_chunk().copied()
    }

    /// The id as labels show it in the `spec` profile: the text before the first `-`, or the whole id when there is no
    /// dash or it comes first; at most 64 characters.
    pub fn short(&self) -> &str {
        let short = match self.0.find('-') {
            Some(dash) if dash > 0 => self.0.get(..dash).unwrap_or(&self.0),
            _ => &self.0,
        };
        match short.char_indices().nth(64) {
            Some((end, _)) => short.get(..end).unwrap_or(short),
            None => short,
        }
    }
}

impl MessageId {
    /// Creates an id that is unique across all processes.
    #[expect(clippy::new_without_default, reason = "a default that differs at each call would surprise")]
    pub fn new() -> Self {
        #[cfg(feature = "fixed")]
        if let Some(number) = fresh::next(fresh::Kind::Message) {
            return Self(numbered("msg_", u128::from(number)));
        }
        Self(unique("msg_"))
    }

    /// The id of a message derived from this one, the same at each call.
    pub fn derived(&self, suffix: &str) -> Self {
        Self(Arc::from(format!("{}.{suffix}", self.0)))
    }
}

impl ToolCallId {
    /// Creates an id that is unique across all processes: `call_` and 32 hexadecimal digits, valid for every provider.
    #[expect(clippy::new_without_default, reason = "a default that differs at each call would surprise")]
    pub fn new() -> Self {
        #[cfg(feature = "fixed")]
        if let Some(number) = fresh::next(fresh::Kind::Call) {
            return Self(numbered("call_", u128::from(number)));
        }
        Self(unique("call_"))
    }
}

/// The begin of the part that stands for the outermost document in the id of one inside it: behind the bits of a UUID
/// that are not free.
const ROOT_AT: usize = 10;

/// An id that needs to be unique but not hard to guess, so it costs no system call: a number drawn once in this
/// process, and a count.
fn unique(prefix: &str) -> Arc<str> {
    static DRAWN: OnceLock<u128> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let drawn = *DRAWN.get_or_init(|| Uuid::new_v4().as_u128());
    numbered(prefix, drawn.wrapping_add(u128::from(COUNT.fetch_add(1, Ordering::Relaxed))))
}

fn numbered(prefix: &str, number: u128) -> Arc<str> {
    const LONGEST: usize = "call_".len();
    let mut room = [0_u8; LONGEST + uuid::fmt::Simple::LENGTH];
    let (start, digits) = room.split_at_mut(LONGEST);
    // Formatting a number of 128 bits costs thousands of instructions, writing a UUID's digits some dozens.
    Uuid::from_u128(number).simple().encode_lower(digits);
    start.iter_mut().rev().zip(prefix.bytes().rev()).for_each(|(place, byte)| *place = byte);
    let text = room.get(LONGEST.saturating_sub(prefix.len())..).unwrap_or_default();
    Arc::from(std::str::from_utf8(text).unwrap_or(prefix))
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
        assert_eq!(short(&format!("{}-x", "é".repeat(100))), "é".repeat(64));
    }

    #[test]
    fn ids_inside_tell_their_outermost_document() {
        for outer in ["b20f6e91-93e5-4f6a-8b1d-2a6e5f0c9d34", "plan7"] {
            let outer = DocumentId::parse(outer).unwrap();
            let deep = outer.inside(1).inside(200).inside(3).inside(1);
            assert!(deep.is_inside(&outer) && outer.inside(2).is_inside(&outer));
            assert!(deep != outer.inside(1) && outer.inside(1) != outer.inside(2));
            assert!(!deep.is_inside(&DocumentId::new()) && !outer.is_inside(&outer));
            assert!(!DocumentId::new().is_inside(&outer));
        }
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
        let digits = id.as_str().strip_prefix("call_").unwrap();
        assert!(digits.len() == 32 && u128::from_str_radix(digits, 16).is_ok(), "{digits}");
        assert_ne!(id, ToolCallId::new());
        let id = MessageId::new();
        assert!(id.as_str().strip_prefix("msg_").is_some_and(|digits| digits.len() == 32), "{id}");
    }
}
