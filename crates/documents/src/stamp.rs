//! Numbers that stay the same across processes and versions.

pub(crate) use attache_core::StableHash as Hash;
