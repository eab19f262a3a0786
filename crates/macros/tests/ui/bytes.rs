use attache_core::{ToolError, ToolReturn};
use attache_macros::tool;

#[derive(serde::Serialize)]
struct Bytes(String);

/// Fetches a file.
#[tool]
async fn fetch(key: String) -> Result<Vec<u8>, ToolError> {
    Ok(key.into_bytes())
}

/// Fetches a file if there is one.
#[tool]
fn look_up(key: String) -> std::io::Result<Option<Bytes>> {
    Ok(Some(Bytes(key)))
}

/// Hashes.
#[tool]
fn hash() -> [u8; 32] {
    [0; 32]
}

/// Has a file.
#[tool]
fn file() -> ToolReturn<&'static [u8]> {
    ToolReturn::new(b"%PDF-1.7")
}

/// Rolls dice: numbers, of a type that is no byte.
#[tool]
fn roll(dice: u8) -> Result<Vec<u16>, ToolError> {
    Ok(vec![6; dice.into()])
}

/// Counts files by their first byte.
#[tool]
fn counts() -> std::collections::BTreeMap<u8, usize> {
    Default::default()
}

fn main() {}
