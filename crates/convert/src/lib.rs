//! Documents to text for models that cannot read them natively, and images and PDFs in the forms that models take.
//!
//! [`convert`] takes the bytes of a document and its media type and gives back its text with markers
//! (`[page 2]`) that a model can cite, lines and table rows kept together: what stands side by side is
//! separated by ` | `, so that an amount can be told from its label. [`can_convert`] says which types are read.
//! An agent takes all converters as one, [`DocumentConverter`]. The crate does no I/O.
//!
//! # What is read
//!
//! | format | feature | markers | what else is in the text |
//! | --- | --- | --- | --- |
//! | PDF | `pdf` | `[page 2]` | rows and columns of tables, values of fields, comments |
//! | DOC, XLS, PPT, MSG | `legacy` | as their successors | of Office 97 to 2003 and Outlook; attachments are [`Converted::attachments`] |
//! | DOCX, ODT, RTF | `office` | `[page 2]` where Word saved its pages | `#` headings, numbers of lists and clauses, footnotes and comments where they stand; deleted and hidden text is not |
//! | XLSX, XLSB, ODS | `office` | `[sheet 2: Budget]`, `7: ` before row 7 | values of formulas, numbers with currency and decimals, ISO dates, comments; hidden sheets say so |
//! | PPTX, ODP | `office` | `[slide 2]` | tables, the speaker's notes, comments; hidden slides say so |
//! | EPUB | `epub` | `[chapter 2: Title]` | |
//! | HTML | `html` | | headings, lists, texts of links and pictures; scripts, styles and what is hidden are not |
//! | e-mail | `email` | | the usual headers, the best text, messages inside; attachments are [`Converted::attachments`] |
//! | CSV, TSV, JSON lines | | `[rows 201-400 of 450, 3 columns]` | the header again with each block of rows |
//! | JSON | | | indented; of a large one long lists and texts are cut, with counts |
//! | other text | | | in any charset; one that was guessed is a [`Note::Charset`] |
//! | zip archives | | | the names and sizes of the files |
//!
//! The format of a cell adds and never hides: `0.00` shows 741.2 as 741.20, and 4.33333333333333 with all its digits, as
//! a model computes with what it reads; dates are ISO dates, a negative number has a minus.
//!
//! Types that say little (`application/zip`, `application/octet-stream`, `application/msword`) are looked into. Files
//! of Office from before 97 are not read: [`ConvertError::OldFormat`] says so. Charts are tables of their values;
//! documents that are embedded in office files or attached to PDFs are [`Converted::attachments`] as those of e-mails
//! are, whatever they are wrapped in: at most 200, and so many bytes together as a part may decode to. The workbook
//! behind a chart is not among them. Pictures and what else is no text is counted in [`Note::NotShown`]. These
//! features are on by default; without `pdf`, `office`, `legacy`, `html`, `epub` and `email` the crate needs hardly any
//! library.
//!
//! [`transcode`] re-encodes and scales images, and cuts PDFs, until they are in a [`MediaLimits`](attache_core::converter::MediaLimits) that a model
//! takes; [`pdf_pages`] takes any pages out of a PDF. The feature `images` reads PNG, JPEG, GIF, WebP, BMP and TIFF;
//! `pdf` reads and cuts PDF. Both are on by default. `render`, which is not, makes images of the pages of PDFs for
//! models that take images and no PDF: `render_pages`. [`passage_areas`] finds where a passage stands on a page of a PDF.
//!
//! # Hostile documents
//!
//! A document may be made to break its reader. [`convert`] and [`transcode`] run on threads of their own, catch panics, and
//! hold [`Limits`] on input, output, pages, decoded bytes and time. Archives are decoded piece by piece: a part
//! counts against [`Limits::max_decoded_bytes`], all parts against four times that. Of XML and HTML no tree is made;
//! depth and length of one node are bounded, and neither external entities nor a document's own are ever resolved.
//! Some things they cannot do:
//!
//! - **A thread cannot be killed.** Our own code looks at its clock all the time, but a call into a library
//!   does not. When such a call outlives the time limit, [`convert`] returns [`ConvertError::TimedOut`] and
//!   leaves the thread behind: it goes on using a core and its memory until the call ends, at worst until the
//!   process does. At most four threads are left behind like this; after that, conversions are refused with
//!   [`ConvertError::Busy`] until one of them ends. A service that converts documents of strangers for many users puts
//!   the conversion into a process of its own.
//! - **Nor can a page that is being drawn be stopped.** What drawing it will take is counted before it begins, and a page
//!   that asks for too much is refused; what is not foreseen ends as a thread left behind.
//! - **Memory is counted, not measured.** What a document will take is reckoned from its headers before it is decoded,
//!   and large images wait for each other. A process that does one conversion at a time stays below 300 MB on all of the
//!   files that `attache-conformance` makes to break it; one that does ten takes more.
//! - **A panic can only be caught where panics unwind.** In a program built with `panic = "abort"` it ends the
//!   process. A caught panic is still reported by the program's panic hook, which prints to stderr by default.
//!
//! # Damaged documents
//!
//! The readable parts of a damaged document are read, and nothing is left out in silence: a page of which parts could
//! not be read says so under its marker, one that could not be read at all keeps its number, and
//! [`Converted::notes`] list both. A document of which nothing could be read is [`ConvertError::NothingRead`], not
//! one without text. Office files and books whose end is missing, and with it the list of their parts, are read as far
//! as their parts can be found ([`Note::Recovered`]).
//!
//! # Blocking
//!
//! [`convert`] blocks its caller for as long as the conversion takes; async code calls it on a thread made for
//! blocking.
//!
//! # Example
//!
//! ```
//! use attache_convert::{ConvertError, Limits, can_convert, convert};
//! use bytes::Bytes;
//!
//! // A document of one page, as small as they come.
//! let pdf = "%PDF-1.4
//! 1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
//! 2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
//! 3 0 obj << /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj
//! 4 0 obj << /Length 88 >> stream
//! BT /F1 12 Tf 72 720 Td (Total due) Tj 300 0 Td (EUR 1,250.00) Tj ET
//! endstream endobj
//! 5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj
//! trailer << /Root 1 0 R >>
//! %%EOF";
//!
//! assert!(can_convert("application/pdf"));
//! let converted = convert("application/pdf", Bytes::from(pdf), &Limits::new())?;
//! assert_eq!(converted.text, "[page 1]\nTotal due | EUR 1,250.00\n");
//! assert_eq!(converted.units, 1);
//!
//! let error = convert("application/pdf", Bytes::from("no PDF"), &Limits::new()).unwrap_err();
//! assert!(matches!(error, ConvertError::Malformed { .. }));
//! # Ok::<(), ConvertError>(())
//! ```

#![cfg_attr(
    not(feature = "office"),
    allow(dead_code, reason = "no other format uses all that formats share")
)]

mod archive;
mod charset;
#[cfg(feature = "legacy")]
mod compound;
mod conversion;
mod converted;
mod converter;
mod csv;
mod detection;
mod dispatch;
#[cfg(feature = "legacy")]
mod doc;
#[cfg(feature = "office")]
mod docx;
#[cfg(feature = "office")]
mod drawings;
#[cfg(feature = "email")]
mod email;
#[cfg(feature = "office")]
mod embedded;
#[cfg(feature = "epub")]
mod epub;
mod error;
#[cfg(feature = "office")]
mod fields;
#[cfg(any(feature = "office", feature = "html"))]
mod flow;
mod format;
#[cfg(feature = "office")]
mod grid;
mod guarded;
#[cfg(feature = "html")]
mod html;
mod json;
mod limits;
mod listing;
mod media_type;
#[cfg(feature = "legacy")]
mod msg;
#[cfg(feature = "office")]
mod numbers;
#[cfg(feature = "office")]
mod numeral;
#[cfg(feature = "office")]
mod odf;
#[cfg(feature = "office")]
mod ooxml;
mod output;
#[cfg(feature = "pdf")]
mod page_area;
#[cfg(feature = "pdf")]
mod passage;
#[cfg(feature = "pdf")]
mod pdf;
mod plain;
#[cfg(feature = "legacy")]
mod ppt;
#[cfg(feature = "office")]
mod pptx;
#[cfg(feature = "render")]
mod render;
#[cfg(feature = "office")]
mod rtf;
#[cfg(feature = "office")]
mod shapes;
mod table;
mod transcode;
#[cfg(feature = "legacy")]
mod xls;
#[cfg(feature = "office")]
mod xlsx;
#[cfg(any(feature = "office", feature = "epub"))]
mod xml;

pub use conversion::{can_convert, convert};
pub use converted::{Attachment, Converted, Label, Note, Unit};
pub use converter::DocumentConverter;
pub use error::ConvertError;
pub use limits::Limits;
#[cfg(feature = "pdf")]
pub use page_area::PageArea;
#[cfg(feature = "pdf")]
pub use passage::passage_areas;
#[cfg(feature = "render")]
pub use render::{can_render, render_page, render_pages};
#[cfg(feature = "pdf")]
pub use transcode::{PdfPages, pdf_pages};
pub use transcode::{can_transcode, transcode};
