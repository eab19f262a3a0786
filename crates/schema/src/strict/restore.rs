//! The way from a strict reply back to the original form, place by place.

use std::collections::HashMap;

/// The way from one place of a reply to the form that the original schema asks for.
#[derive(Debug)]
pub(super) enum Back {
    /// As it is.
    Same,
    /// An object; each property with whether `null` stands for its absence.
    Object(HashMap<String, (Back, bool)>),
    List(Box<Back>),
    /// A list of pairs that is a map.
    Map(Box<Back>),
    /// An object that is a list.
    Tuple(Vec<Back>),
    /// A text that is JSON.
    Json,
    /// The way of the first branch whose strict schema, of that pointer, takes the value.
    Union(Vec<(String, Back)>),
    /// The definition of that name.
    Definition(String),
    /// An object whose `value` is meant.
    Wrapped(Box<Back>),
}

impl Back {
    /// True if values stay as they are, definitions apart.
    pub(super) fn keeps_form(&self) -> bool {
        match self {
            Self::Same | Self::Definition(_) => true,
            Self::Object(properties) => {
                properties.values().all(|(back, null_is_absence)| !null_is_absence && back.keeps_form())
            }
            Self::List(item) => item.keeps_form(),
            Self::Union(branches) => branches.iter().all(|(_, back)| back.keeps_form()),
            Self::Map(_) | Self::Tuple(_) | Self::Json | Self::Wrapped(_) => false,
        }
    }
}

/// The name of a member of a tuple.
pub(super) fn item_name(at: usize) -> String {
    format!("item_{}", at + 1)
}
