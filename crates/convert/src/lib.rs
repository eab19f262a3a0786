//! Converts documents to text for models that cannot read them natively, and images and PDFs into forms that models
//! accept.
//!
//! [`convert`] takes the bytes of a document and its media type and returns its text with markers (`[page 2]`) that a
//! model can cite. Lines and table rows are kept together: items side by side are separated by ` | `, so that an amount
//! can be distinguished from its label. [`can_convert`] reports the supported types. [`DocumentConverter`] combines all
//! converters for an agent. The crate does no I/O.
//!
//! # What is read
//!
//! | format | feature | markers | further content of the text |
//! | --- | --- | --- | --- |
//! | PDF | `pdf` | `[page 2]` | rows and columns of tables, values of fields, comments |
//! | DOC, XLS, PPT, MSG | `legacy` | as their successors | of Office 97 to 2003 and Outlook; attachments are [`Converted::attachments`] |
//! | DOCX, ODT, RTF | `office` | `[page 2]` if Word saved its pages | `#` headings, numbers of lists and clauses, footnotes and comments in place; not deleted or hidden text |
//! | XLSX, XLSB, ODS | `office` | `[sheet 2: Budget]`, `7: ` before row 7 | values of formulas, numbers with currency and decimals, ISO dates, comments, headers and footers, form controls; hidden sheets, rows and columns are marked |
//! | PPTX, ODP | `office` | `[slide 2]` | tables, the speaker's notes, comments; hidden slides are marked |
//! | EPUB | `epub` | `[chapter 2: Title]` | |
//! | HTML | `html` | | headings, lists, texts of links and pictures, values of form controls; not scripts, styles or hidden content |
//! | e-mail | `email` | | the usual headers, the best text, nested messages; attachments are [`Converted::attachments`] |
//! | CSV, TSV, JSON lines | | `[rows 201-400 of 450, 3 columns]` | the header row repeated with each block of rows |
//! | JSON | | | indented; in large documents long lists and texts are cut, with counts |
//! | other text | | | in any charset; a guessed one is a [`Note::Charset`] |
//! | zip and tar archives | | | the names and sizes of the files |
//! | gzip | | | as the file that it packs |
//!
//! Cell formats add digits but never hide them: `0.00` shows 741.2 as 741.20, and 4.33333333333333 with all its digits,
//! since a model calculates with the text it reads; dates are ISO dates, a negative number has a minus.
//!
//! For unspecific types (`application/zip`, `application/octet-stream`, `application/msword`) the content is inspected.
//! Office files from before Office 97 are not supported and yield [`ConvertError::OldFormat`]. Charts become tables of
//! their values. Documents embedded in office files or attached to PDFs are [`Converted::attachments`], like those of
//! e-mails, however they are wrapped: at most 200, with a total size up to the decoding limit of one part. The workbook
//! behind a chart is not among them. Pictures and other content that is not text are counted in [`Note::NotShown`].
//! These features are enabled by default; without `pdf`, `office`, `legacy`, `html`, `epub` and `email` the crate needs
//! hardly any dependencies.
//!
//! [`transcode`] re-encodes and scales images, and cuts PDFs, until they fit the
//! [`MediaLimits`](attache_core::converter::MediaLimits) of a model; [`pdf_pages`] extracts pages of a PDF. The feature
//! `images` reads PNG, JPEG, GIF, WebP, BMP and TIFF; `pdf` reads and cuts PDF. Both are enabled by default. The
//! feature `render`, disabled by default, renders PDF pages as images for models that accept images but not PDF:
//! `render_pages`. [`passage_areas`] finds the position of a passage on a PDF page.
//!
//! # Hostile documents
//!
//! A document may be crafted to break its reader. [`convert`] and [`transcode`] run on their own threads, catch panics,
//! and enforce [`Limits`] on input, output, pages, decoded bytes and time. Archives are decoded piece by piece: a part
//! counts against [`Limits::max_decoded_bytes`], all parts together against four times that. XML and HTML are processed
//! without building a tree; the depth and the length of one node are limited, and neither external nor internal
//! entities are ever resolved. There are limitations:
//!
//! - **A thread cannot be killed.** Our own code checks the time continuously, but a call into a library does not. If
//!   such a call exceeds the time limit, [`convert`] returns [`ConvertError::TimedOut`] and leaves the thread behind:
//!   it continues to use a core and its memory until the call ends, at worst until the process ends. At most four
//!   threads are left behind in this way; after that, conversions fail with [`ConvertError::Busy`] until one of them
//!   ends. A service that converts untrusted documents for many users should run the conversion in a separate process.
//! - **The rendering of a page cannot be stopped.** Its cost is estimated before it begins, and a page that is too
//!   expensive is refused; if the estimate is too low, the thread is left behind.
//! - **Memory is estimated, not measured.** The memory for a document is calculated from its headers before it is
//!   decoded, and large images wait for each other. A process that runs one conversion at a time stays below 300 MB on
//!   all hostile files that `attache-conformance` generates; a process that runs ten needs more.
//! - **A panic can only be caught where panics unwind.** In a program built with `panic = "abort"` it ends the
//!   process. A caught panic is still reported by the program's panic hook, which prints to stderr by default.
//!
//! # Damaged documents
//!
//! The readable parts of a damaged document are read, and nothing is left out silently: a partly unreadable page says
//! so under its marker, an unreadable page keeps its number, and [`Converted::notes`] list both. A document that is
//! completely unreadable is [`ConvertError::NothingRead`], not a document without text. Truncated office files and
//! e-books, which lack the list of their parts, are read as far as their parts can be found ([`Note::Recovered`]).
//!
//! # Blocking
//!
//! [`convert`] blocks its caller until the conversion ends; async code should call it on a blocking thread.
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
#[cfg(any(feature = "email", feature = "legacy"))]
mod base64;
mod charset;
mod code_pages;
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
#[cfg(feature = "office")]
mod eq;
mod error;
#[cfg(feature = "office")]
mod fields;
#[cfg(any(feature = "office", feature = "html"))]
mod flow;
mod format;
#[cfg(feature = "office")]
mod formula;
#[cfg(feature = "office")]
mod grid;
mod guarded;
mod gzip;
#[cfg(feature = "html")]
mod html;
mod json;
mod limits;
mod listing;
#[cfg(feature = "office")]
mod margins;
#[cfg(any(feature = "office", feature = "html"))]
mod marks;
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
#[cfg(feature = "legacy")]
mod protected;
#[cfg(feature = "legacy")]
mod records;
#[cfg(feature = "render")]
mod render;
#[cfg(feature = "office")]
mod rtf;
#[cfg(feature = "office")]
mod shapes;
#[cfg(any(feature = "office", feature = "pdf"))]
mod symbol_fonts;
mod table;
mod tar;
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
