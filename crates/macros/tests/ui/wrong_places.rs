use attache_macros::{tool, toolbox};

struct Files;

impl Files {
    /// Lists.
    #[tool]
    fn list(&self) {}
}

#[toolbox]
impl Default for Files {
    fn default() -> Self {
        Files
    }
}

#[toolbox]
impl Files {
    fn none(&self) {}
}

/// A struct.
#[tool]
struct Report;

/// Adds a pair.
#[tool]
fn add((a, b): (u8, u8)) -> u8 {
    a + b
}

/// Is not safe.
#[tool]
unsafe fn danger() {}

fn main() {}
