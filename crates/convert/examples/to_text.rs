//! Prints the text of a document, and to stderr what has to be said about it.
//!
//! ```sh
//! cargo run -p attache-convert --example to_text -- docs/examples/inbox/invoice-2026-0417.pdf
//! ```

use std::error::Error;
use std::io::{Write, stderr, stdout};
use std::path::Path;

use attache_convert::{Limits, convert};
use attache_core::MediaType;
use bytes::Bytes;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of a document")?;
    let bytes = Bytes::from(std::fs::read(&path)?);
    let name = Path::new(&path).file_name().map(|name| name.to_string_lossy());
    let media_type = MediaType::resolve(None, Some(&bytes), name.as_deref());
    let converted = convert(&media_type.to_string(), bytes, &Limits::new())?;
    stdout().write_all(converted.text.as_bytes())?;
    for note in &converted.notes {
        writeln!(stderr(), "note: {note}")?;
    }
    for attachment in &converted.attachments {
        let name = attachment.file_name.as_deref().unwrap_or("without a name");
        writeln!(
            stderr(),
            "attachment: {name}, {}, {} bytes",
            attachment.media_type,
            attachment.bytes.len()
        )?;
    }
    Ok(())
}
