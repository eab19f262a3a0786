//! Document references as they are stored, and where their bytes come from.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::document::Document;
use crate::document::reference::Reader;
use crate::id::DocumentId;

/// A document reference: read from the documented form, written by the document itself.
pub(super) struct ReferenceRecord(pub(super) Document);

impl Serialize for ReferenceRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The stored document is whole, also if it is stored while a tool's output is captured.
        self.0.write_reference(serializer, Reader::Store)
    }
}

impl<'de> Deserialize<'de> for ReferenceRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Reference {
            #[serde(rename = "attache.document")]
            kind: String,
            document_id: DocumentId,
            #[serde(default)]
            store_id: Option<String>,
            #[serde(default)]
            url: Option<String>,
            #[serde(default)]
            content: Option<String>,
            #[serde(default)]
            metadata: ReferenceMetadata,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default, deny_unknown_fields)]
        struct ReferenceMetadata {
            content_type: Option<String>,
            file_name: Option<String>,
            size: Option<u64>,
            sha256: Option<Sha256Digits>,
        }
        let Reference { kind, document_id, store_id, url, content, metadata } =
            Reference::deserialize(deserializer)?;
        let missing =
            |member| serde::de::Error::custom(format!("the {kind} document reference has no {member}"));
        let hashed = metadata.sha256.as_ref().map(|_| "sha256");
        let foreign = match kind.as_str() {
            "stored" => url.as_ref().map(|_| "url").or(content.as_ref().map(|_| "content")),
            "external" => content.as_ref().map(|_| "content").or(hashed),
            "inline" => url.as_ref().map(|_| "url").or(hashed),
            _ => None,
        };
        if let Some(member) = foreign {
            let problem = format!("the {kind} document reference cannot have the member `{member}`");
            return Err(serde::de::Error::custom(problem));
        }
        let mut document = match kind.as_str() {
            "stored" => Document::stored(
                document_id.clone(),
                "",
                metadata.content_type.as_deref().unwrap_or_default(),
            ),
            "external" => Document::external(url.ok_or_else(|| missing("url"))?),
            "inline" => Document::inline(content.ok_or_else(|| missing("content"))?),
            other => {
                return Err(serde::de::Error::custom(format!("unknown kind of document reference: {other}")));
            }
        };
        document = document.with_id(document_id).with_optional_store_id(store_id);
        if let Some(name) = metadata.file_name {
            document = document.with_file_name(name);
        }
        if let Some(media_type) = metadata.content_type {
            document = document.with_media_type(&media_type);
        }
        if let Some(size) = metadata.size {
            document = document.with_size(size);
        }
        if let Some(Sha256Digits(hash)) = metadata.sha256 {
            document = document.with_hash(hash);
        }
        Ok(Self(document))
    }
}

/// A SHA-256 in hexadecimal digits.
struct Sha256Digits([u8; 32]);

impl<'de> Deserialize<'de> for Sha256Digits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4) | digit(*low)?);
        let (pairs, rest) = text.as_bytes().as_chunks();
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let hash = bytes.filter(|_| rest.is_empty()).and_then(|bytes| bytes.try_into().ok());
        hash.map(Self).ok_or_else(|| serde::de::Error::custom("`sha256` must be 64 hexadecimal digits"))
    }
}

/// Finds the bytes of references while messages are read.
pub(crate) struct Resolve<'a>(Option<&'a HashMap<DocumentId, Document>>);

impl<'a> Resolve<'a> {
    pub(super) fn without_bytes() -> Self {
        Self(None)
    }

    pub(crate) fn from_table(table: &'a HashMap<DocumentId, Document>) -> Self {
        Self(Some(table))
    }

    pub(super) fn one(&self, reference: ReferenceRecord) -> Document {
        let document = reference.0;
        match self.0.and_then(|table| table.get(document.id())) {
            Some(held) => match held.bytes() {
                Some(bytes) => {
                    let named = match (document.file_name(), held.file_name()) {
                        (None, Some(name)) => document.with_file_name(name),
                        _ => document,
                    };
                    named.with_bytes(bytes)
                }
                None => document,
            },
            None => document,
        }
    }

    pub(super) fn all(&self, references: Vec<ReferenceRecord>) -> Vec<Document> {
        references.into_iter().map(|reference| self.one(reference)).collect()
    }
}
