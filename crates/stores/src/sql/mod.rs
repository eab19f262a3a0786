//! What SQLite and PostgreSQL have in common.

pub(crate) mod error;
pub(crate) mod left;
pub(crate) mod migrate;
pub(crate) mod row;
