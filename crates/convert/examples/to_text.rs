//! Prints the text of a PDF, and to stderr what has to be said about it.
//!
//! ```sh
//! cargo run -p attache-convert --example to_text -- docs/examples/inbox/invoice-2026-0417.pdf
//! ```

use std::error::Error;
use std::io::{Write, stderr, stdout};

use attache_convert::{Limits, convert};
use bytes::Bytes;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of a PDF")?;
    let bytes = Bytes::from(std::fs::read(path)?);
    let converted = convert("application/pdf", bytes, &Limits::new())?;
    stdout().write_all(converted.text.as_bytes())?;
    for note in &converted.notes {
        writeln!(stderr(), "note: {note}")?;
    }
    Ok(())
}
