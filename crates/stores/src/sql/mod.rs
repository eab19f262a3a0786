//! The common ground of SQLite and PostgreSQL.

pub(crate) mod changes;
pub(crate) mod error;
pub(crate) mod given_up_leases;
pub(crate) mod prepared;
pub(crate) mod ranges;
pub(crate) mod row;
