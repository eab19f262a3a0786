//! Three files that gateways bring, and how they must arrive at a model.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken expectation is a failed test")]

use attache::{Document, Message, Outcome};
use attache_conformance::{MockProvider, seen_documents, sha256_hex};
use attache_core::DocumentStore;

use crate::Api;

/// A letter of one page.
pub const PDF: &[u8] = include_bytes!("../../crates/convert/tests/fixtures/libreoffice-letter.pdf");
/// Eight by eight shades of grey.
pub const PNG: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 8, 0, 0, 0, 8, 8, 0, 0, 0, 0, 225,
    100, 225, 87, 0, 0, 0, 38, 73, 68, 65, 84, 120, 156, 53, 197, 181, 1, 0, 32, 0, 192, 176, 226, 206, 255,
    231, 178, 148, 44, 129, 16, 83, 46, 181, 253, 59, 62, 240, 137, 47, 124, 227, 7, 191, 15, 50, 40, 1, 193,
    209, 184, 49, 100, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];
/// A spreadsheet with "and a bar" in one of its cells.
pub const SHEET: &[u8] = include_bytes!("../../crates/convert/tests/fixtures/xlsxwriter.xlsx");

/// Holds the second request and the outcome of a run against the three files, which its tools returned in this order: PDF
/// and image byte for byte, the spreadsheet by the text of its cells, and all three in the store as they came.
///
/// # Panics
/// If one of them did not arrive.
pub async fn assert_delivered(api: Api, mock: &MockProvider, outcome: &Outcome, store: &dyn DocumentStore) {
    assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
    let body = mock.requests()[1].json().clone();
    let seen = seen_documents(api.conformance(), &body);
    for bytes in [PDF, PNG] {
        let hash = Some(sha256_hex(bytes));
        assert!(seen.iter().any(|document| document.sha256 == hash), "{}: {seen:?}", api.name());
    }
    assert!(body.to_string().contains("and a bar"), "{}: the text of the sheet's cells", api.name());
    let results = outcome.messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    let kept: Vec<Document> = results.flatten().flat_map(|result| result.documents.clone()).collect();
    assert_eq!(kept.len(), 3, "{}", api.name());
    for (document, bytes) in kept.iter().zip([PDF, PNG, SHEET]) {
        assert_eq!(store.get(document.id()).await.unwrap(), bytes, "{}", api.name());
    }
}
