//! Takes pages out of a PDF, as a PDF of its own.
//!
//! ```sh
//! cargo run -p attache-convert --example pages -- report.pdf 2 4 pages.pdf
//! ```

use std::error::Error;
use std::io::{Write, stderr};

use attache_convert::{Limits, pdf_pages};
use bytes::Bytes;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, first, last, to] = arguments.as_slice() else {
        return Err("give the path of a PDF, its first page, its last page, and a path to write to".into());
    };
    let bytes = Bytes::from(std::fs::read(from)?);
    let pages = pdf_pages(bytes, first.parse()?..=last.parse()?, None, &Limits::new())?;
    std::fs::write(to, &pages.bytes)?;
    writeln!(stderr(), "pages {} to {} of {}", pages.first, pages.last, pages.total)?;
    Ok(())
}
