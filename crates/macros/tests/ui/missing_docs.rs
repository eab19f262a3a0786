#![deny(deprecated)]

use attache_macros::{tool, toolbox};

#[tool]
fn undescribed() {}

#[tool(description = "")]
fn deliberately_undescribed() {}

struct Files;

#[toolbox]
impl Files {
    #[tool]
    fn list(&self) {}
}

fn main() {}
