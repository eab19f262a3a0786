//! A function is no tool; the tool stands beside it.

use attache_macros::tool;

/// Looks.
#[tool]
fn look() -> String {
    String::new()
}

fn offer(_: impl attache_core::Tool) {}

fn main() {
    offer(look_tool());
    offer(look);
}
