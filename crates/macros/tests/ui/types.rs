use attache_macros::tool;

struct Opaque;

/// Takes what JSON cannot be.
#[tool]
fn takes(what: Opaque) {
    drop(what);
}

/// Returns what is no JSON.
#[tool]
fn returns() -> Opaque {
    Opaque
}

/// Fails with what is no error.
#[tool]
fn fails() -> Result<String, Opaque> {
    Err(Opaque)
}

/// Has a default of another type.
#[tool]
fn defaults(#[arg(default = 1.5)] limit: u8) -> u8 {
    limit
}

/// Cannot move between threads.
#[tool]
async fn stays() -> usize {
    let shared = std::rc::Rc::new(1);
    std::future::ready(()).await;
    *shared
}

fn main() {}
