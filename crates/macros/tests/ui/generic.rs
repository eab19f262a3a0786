use attache_macros::{tool, toolbox};

/// Finds.
#[tool]
fn find<T: Into<String>>(number: T) -> String {
    number.into()
}

/// Finds.
#[tool]
fn find_any(number: impl Into<String>) -> String {
    number.into()
}

struct Files<T>(T);

#[toolbox]
impl<T: Send + Sync + 'static> Files<T> {
    /// Lists.
    #[tool]
    fn list(&self) {}
}

fn main() {
    drop(find::<String>);
}
