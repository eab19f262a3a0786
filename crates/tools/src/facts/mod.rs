//! Facts that are remembered across conversations.

mod memory;
mod tools;

use attache_core::facts::Fact;
use serde_json::json;

pub use memory::MemoryFacts;
pub use tools::fact_tools;

/// Facts as JSON lines, which nothing in them can leave.
fn listed(facts: &[Fact]) -> String {
    let lines: Vec<String> =
        facts.iter().map(|fact| json!({"id": fact.id, "fact": fact.text}).to_string()).collect();
    lines.join("\n")
}
