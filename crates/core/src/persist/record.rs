//! The members of the JSON form.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::reference::ReferenceRecord;
use crate::citation::Citation;
use crate::id::{DocumentId, MessageId, ToolCallId};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageRecord {
    #[serde(default)]
    pub(super) id: Option<MessageId>,
    pub(super) role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<PartList>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) results: Vec<ResultRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) citations: Vec<Citation>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) metadata: Map<String, Value>,
}

/// A list of parts; a plain string is read as one text.
#[derive(Serialize)]
pub(super) struct PartList(pub(super) Vec<PartRecord>);

impl<'de> Deserialize<'de> for PartList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            return Ok(Self(vec![PartRecord { text: Some(text), ..part("text") }]));
        }
        serde_json::from_str(raw.get()).map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PartRecord {
    pub(super) r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) refusal: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) redacted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) document: Option<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) documents: Vec<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) withheld: Vec<DocumentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replay: Option<ReplayRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayRecord {
    pub(super) family: String,
    pub(super) model: String,
    pub(super) data: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ResultRecord {
    pub(super) call_id: ToolCallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Box<RawValue>>,
    /// Every document of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) documents: Vec<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) withheld: Vec<DocumentId>,
    /// The documents to show where they are not the tree's without the withheld ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shown: Option<Vec<ReferenceRecord>>,
}

/// A part of that type without other members.
pub(super) fn part(kind: &str) -> PartRecord {
    PartRecord { r#type: kind.to_owned(), ..PartRecord::default() }
}
