//! The viability table (C33): every fixture reaches every model in both places, in the form that is expected, and the
//! page docs/guide/viability.md says so. The page is written by `cargo xtask snapshots --accept`.

use std::path::Path;

use attache_tests::viability::{fixtures, parties, table, viability};

/// Cells as the providers' documentation has them: written down by hand, so that a wrong row of the capability table,
/// which decides what is sent and what is expected, is not proof of itself. The APIs stand in the order of `parties`.
const DOCUMENTED: [(&str, &str, [&str; 9]); 15] = [
    // A file in a prompt: openai.md B.2 and A.2, anthropic.md 4, gemini.md 12, bedrock.md 3; none: cohere.md 3,
    // openai.md C.1 and C.13.
    (
        "single",
        "user",
        ["native", "native", "native", "native", "native", "error", "error", "error", "error"],
    ),
    // Messages of the role `tool` are text in Chat Completions, and in the APIs of Cohere and Ollama, whose models read no
    // PDF: cohere.md 3, openai.md C.13. All others take files in results.
    (
        "single",
        "tool_result",
        [
            "native",
            "synthetic",
            "native",
            "native",
            "native",
            "converted",
            "converted",
            "converted",
            "converted",
        ],
    ),
    // Bedrock's 4.5 MB hold for no PDF of Claude 4 and later: bedrock.md 10.
    (
        "heavy_pdf",
        "user",
        ["native", "native", "native", "native", "native", "error", "error", "error", "error"],
    ),
    // 100 pages with a window of 200,000 tokens for Claude, wherever it runs; 1,000 for Gemini.
    (
        "pages_200",
        "user",
        ["native", "native", "error", "native", "error", "error", "error", "error", "error"],
    ),
    (
        "pages_200",
        "tool_result",
        [
            "reencoded",
            "reencoded",
            "reencoded",
            "native",
            "reencoded",
            "converted",
            "converted",
            "converted",
            "converted",
        ],
    ),
    // 8,000 pixels on a side for Claude, wherever it runs; others scale by themselves.
    (
        "image_8k",
        "user",
        ["native", "native", "reencoded", "native", "reencoded", "native", "native", "error", "native"],
    ),
    (
        "image_8k",
        "tool_result",
        [
            "native",
            "synthetic",
            "reencoded",
            "native",
            "reencoded",
            "synthetic",
            "synthetic",
            "note",
            "synthetic",
        ],
    ),
    // xAI's Grok takes PNG and JPEG, and nothing else: openai.md C.8.
    (
        "scan",
        "user",
        ["native", "native", "native", "native", "native", "rendered", "rendered", "error", "rendered"],
    ),
    (
        "scan",
        "tool_result",
        ["native", "synthetic", "native", "native", "native", "rendered", "rendered", "note", "rendered"],
    ),
    (
        "mixed_pdf",
        "tool_result",
        [
            "native",
            "synthetic",
            "native",
            "native",
            "native",
            "rendered",
            "rendered",
            "converted",
            "rendered",
        ],
    ),
    (
        "table_with_gaps",
        "tool_result",
        [
            "native",
            "synthetic",
            "native",
            "native",
            "native",
            "converted",
            "converted",
            "converted",
            "converted",
        ],
    ),
    (
        "old_office",
        "tool_result",
        [
            "converted",
            "converted",
            "converted",
            "converted",
            "converted",
            "converted",
            "converted",
            "converted",
            "converted",
        ],
    ),
    // No more than 20 images on Claude if one has more than 2,000 pixels on a side: anthropic.md 4. No more than 20 at
    // all on Bedrock and Cohere: bedrock.md 10, cohere.md 4.
    (
        "screenshots_25",
        "user",
        [
            "native",
            "native",
            "reencoded",
            "native",
            "native + error",
            "native + error",
            "native",
            "error",
            "native",
        ],
    ),
    // No API takes BMP.
    (
        "other_image",
        "user",
        [
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "error",
            "reencoded",
        ],
    ),
    (
        "other_image",
        "tool_result",
        [
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "reencoded",
            "note",
            "reencoded",
        ],
    ),
];

#[tokio::test]
async fn every_document_reaches_every_model() {
    let cells = viability().await;
    assert_eq!(cells.len(), fixtures().len() * parties().len() * 2, "no cell is empty");
    for (fixture, place, outcomes) in DOCUMENTED {
        let found: Vec<&str> = cells
            .iter()
            .filter(|cell| (cell.fixture, cell.place) == (fixture, place))
            .map(|cell| cell.outcome.as_str())
            .collect();
        assert_eq!(found, outcomes, "{fixture} as {place}");
    }
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
