//! Checks an answer against the texts shown to the model: which passages it quotes, and which of its figures have no
//! source.
//!
//! [`check`] takes the text of an answer and the texts of documents, tool results and messages, and returns
//! [`Checked`](attache_core::citation::Checked): a citation for each passage in quotation marks that occurs in one of
//! them, with its page or cell, and the evidence for each figure. It reads no clock, does no I/O, and uses integer
//! arithmetic, so that the same input gives the same result on every machine. Its cost is linear in the size of the
//! texts; see [`Options`] for its limits.
//!
//! ```
//! use attache_citations::{Options, Shown, check};
//! use attache_core::DocumentId;
//! use attache_core::citation::{How, Place, Source};
//!
//! let lease = Source::Document { id: DocumentId::new(), name: Some("lease.pdf".into()) };
//! let shown = [Shown::text(lease, "[page 1]\nLease\n[page 2]\nThe rent is EUR 900 a month.")];
//! let answer = r#"The lease says "the rent is EUR 900", so a year costs EUR 12,000."#;
//! let checked = check(answer, &[], &shown, &Options::new());
//!
//! let citation = &checked.citations[0];
//! assert_eq!((citation.how, &citation.place), (How::Normalised, &Some(Place::Pages(2, 2))));
//! assert_eq!(citation.quote.as_deref(), Some("The rent is EUR 900"));
//! let unsupported: Vec<_> = checked.unsupported().map(|figure| &*figure.text).collect();
//! assert_eq!(unsupported, ["EUR 12,000"]);
//! ```

mod altered;
mod answer;
mod around_digits;
mod check;
mod dates;
mod derive;
mod figures;
mod fuzzy;
mod identifier;
mod index;
mod myers;
mod names;
mod normal;
mod number;
mod number_formats;
mod place;
mod quotes;
mod search;
mod sources;
mod tables;
mod units;

pub use check::check;
pub use sources::{Options, Shown};
