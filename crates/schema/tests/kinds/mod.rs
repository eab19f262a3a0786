//! Rust types of every form that JSON can take.
#![allow(dead_code, reason = "each test looks at some of them")]

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Scalars {
    pub(crate) float: f64,
    pub(crate) small: Option<u8>,
    pub(crate) signed: i32,
    pub(crate) wide: u64,
    pub(crate) flag: bool,
    pub(crate) text: String,
    pub(crate) letter: Option<char>,
    #[serde(default)]
    pub(crate) optional: Option<f32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Collections {
    pub(crate) list: Vec<Scalars>,
    pub(crate) set: BTreeSet<i16>,
    pub(crate) pair: (u8, String),
    pub(crate) array: Option<[bool; 2]>,
    pub(crate) words: BTreeMap<String, Vec<i8>>,
    pub(crate) numbers: BTreeMap<i32, f64>,
    pub(crate) keys: BTreeMap<Order, bool>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    Up,
    Down,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum External {
    Nothing,
    One(u32),
    Two(i8, String),
    Named { order: Order, of: Option<Box<External>> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Tagged {
    Amount { above: u32 },
    Not { filter: Box<Tagged> },
    Either { left: Box<Tagged>, right: Box<Tagged> },
    Scalars(Scalars),
    All,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "of")]
pub(crate) enum Adjacent {
    Text(String),
    List(Vec<Order>),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Number(i64),
    Float(f64),
    Text(String),
    Chain { of: Box<Untagged>, right: u8 },
    End { of: Box<Untagged> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Closed {
    pub(crate) order: Order,
    #[serde(default)]
    pub(crate) right: u8,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Flattened {
    #[serde(flatten)]
    pub(crate) tagged: Tagged,
    pub(crate) order: Option<Order>,
}
