//! A tool in another crate that a program only links.

use attache_macros::tool;

/// Counts what is in stock.
#[tool(name = "stock.count", effect = "read")]
fn count() -> u32 {
    3
}
