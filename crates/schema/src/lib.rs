//! JSON Schema for the output of models: tool arguments and structured answers.
//!
//! A [`Schema`] is compiled once and then used for every call. [`Schema::check`] reports the problems of a value and
//! their places. [`Schema::coerce`] first corrects mere differences in notation, such as `"5"` for 5, and then checks.
//! This crate does no I/O and never fetches anything.
//!
//! ```
//! use attache_schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::new(&json!({
//!     "type": "object",
//!     "properties": {"pages": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
//!     "required": ["pages"],
//! }))?;
//! let mut value = json!({"pages": "3"});
//! assert_eq!(schema.check(&value)[0].to_string(), r#"`pages` must be an array, not "3""#);
//! assert_eq!(schema.coerce(&mut value), []);
//! assert_eq!(value, json!({"pages": [3]}));
//! # Ok::<(), attache_schema::SchemaError>(())
//! ```

mod branches;
mod check;
mod coerce;
mod compile;
mod error;
mod keywords;
mod loose;
mod path;
mod pattern;
mod rules;
mod sample;
mod schema;
mod strict;
mod values;
mod violation;
mod words;

#[cfg(test)]
mod tests;

pub use error::SchemaError;
pub use loose::{Dialect, Loosened, PlainRoot, bare_root, loosen, plain_root};
pub use sample::{example, sample};
pub use schema::{Schema, Unchecked};
pub use strict::{Refusal, Strict, Subset, Unsaid, strict};
pub use violation::Violation;
