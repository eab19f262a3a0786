use attache_macros::{tool, toolbox};

/// A.
#[tool(timeout = "30")]
fn a() {}

/// B.
#[tool(timeout = "0s")]
fn b() {}

/// C.
#[tool(effect = "write")]
fn c() {}

/// D.
#[tool(retries = 3)]
fn d() {}

/// E.
#[tool]
fn e(#[arg(desc = "x")] x: u8) -> u8 {
    x
}

/// F.
#[tool]
fn f(#[arg(required, default = 1)] x: u8) -> u8 {
    x
}

/// G.
#[tool]
fn g(#[arg(flat, rename = "y")] x: u8) -> u8 {
    x
}

/// H.
#[tool(name = " ")]
fn h() {}

#[toolbox(name = "x")]
struct I;

/// J.
#[tool(produces = "application/pdf, pictures")]
fn j() {}

/// K.
#[tool(approval = "always")]
fn k() {}

fn main() {}
