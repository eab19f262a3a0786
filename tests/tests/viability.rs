//! The viability table (C33): every fixture reaches every model in both places, in the form that is expected, and the
//! page docs/guide/viability.md says so. The page is written by `cargo xtask snapshots --accept`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::path::Path;

use attache_tests::viability::{fixtures, parties, table, viability};

#[tokio::test]
async fn every_document_reaches_every_model() {
    let cells = viability().await;
    assert_eq!(cells.len(), fixtures().len() * parties().len() * 2, "no cell is empty");
    let wrong: Vec<_> = cells.iter().filter(|cell| !cell.ok).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");

    let mut page = include_str!("viability.head.md").to_owned();
    page.push_str(&table(&cells));
    page.push_str("\n## The fixtures\n\n");
    for fixture in fixtures() {
        page.push_str(&format!("- `{}`: {}\n", fixture.name, fixture.about));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/viability.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &page).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(known, page, "the page is out of date: cargo xtask snapshots --accept");
}
