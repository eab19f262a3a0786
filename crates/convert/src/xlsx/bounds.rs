//! The largest sheet and the longest cell that are read.

/// Columns and rows that a sheet can have.
pub(super) const MAX_COLUMNS: usize = 16_384;
pub(super) const MAX_ROWS: usize = 1_048_576;

/// Longest cell, in bytes; Excel's own limit is lower.
pub(super) const MAX_CELL: usize = 1 << 18;
