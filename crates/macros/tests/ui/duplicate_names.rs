use attache_macros::{tool, toolbox};

/// Finds.
#[tool]
fn find(number: String, #[arg(rename = "number")] other: String) -> String {
    number + &other
}

struct Files;

#[toolbox]
impl Files {
    /// Lists.
    #[tool(name = "files")]
    fn list(&self) {}

    /// Reads.
    #[tool(name = "files")]
    fn read(&self) {}

    fn tools(&self) {}
}

fn main() {}
