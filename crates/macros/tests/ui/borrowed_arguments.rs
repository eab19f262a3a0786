use attache_macros::tool;

/// Finds.
#[tool]
fn find(number: &str, pages: &[u32], period: &Vec<String>, out: &mut String) -> String {
    format!("{number}{pages:?}{period:?}{out}")
}

fn main() {
    drop(find);
}
