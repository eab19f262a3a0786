//! Routing, seen from outside. Numbers with `#` are rows of documents.md 8, `D` numbers those of
//! documents.md 9.2, `C` numbers rows of docs/coverage.md.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the helpers of a test may fail as loudly as the test"
)]

mod attachments;
mod authors;
mod budget;
mod builder;
mod citable;
mod defects;
mod external;
mod fitting;
mod gathering;
mod goldens;
mod guide;
mod handlers;
mod identity;
mod images;
mod limits;
mod logging;
mod materials;
mod matrix;
mod memory;
mod pages;
mod properties;
mod random;
mod rendering;
mod repeats;
mod results;
mod switching;
mod texts;
mod walker;
