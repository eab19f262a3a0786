use attache_macros::toolbox;

struct Files;

#[toolbox]
impl Files {
    /// Lists the files.
    #[tool]
    fn list(self) -> Vec<String> {
        Vec::new()
    }

    /// Deletes a file.
    #[tool]
    fn delete(&mut self, path: String) {
        drop(path);
    }

    /// Reads a file.
    #[tool]
    fn read(self: Box<Self>) {}
}

fn main() {}
