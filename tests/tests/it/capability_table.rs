//! The page docs/guide/capabilities.md: what each API can, out of the capability table, and the tests that prove it. It
//! is written by `cargo xtask snapshots --accept` and checked by every test run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use attache_core::ModelCapabilities;
use attache_core::capability::{Matrix, PlaceCapabilities};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// The APIs of their own, each with its family in the table and the name before the slash.
const APIS: [(&str, &str, &str); 6] = [
    ("Responses", "openai-responses", "openai"),
    ("Chat Completions", "openai-chat", "openai-chat"),
    ("Messages", "anthropic", "anthropic"),
    ("generateContent", "gemini", "gemini"),
    ("generateContent on Vertex AI", "vertex", "vertex"),
    ("Converse", "bedrock-converse", "bedrock"),
];

type Cell = fn(&ModelCapabilities) -> String;

/// A capability: what stands in its cells, and the tests that prove it, as `file::name`.
const CAPABILITIES: [(&str, Cell, &[&str]); 12] = [
    ("documents from the author", |row| media(&row.user.media), &[EMITTERS, WIRE_DOCUMENTS]),
    ("documents in a tool result", |row| media(&row.tool_result.media), &[EMITTERS, E2E_DOCUMENTS]),
    ("documents in a failed result", |row| media(&row.failed_result.media), &[EMITTERS]),
    ("documents next to a result", |row| media(&row.beside_result.media), &[WIRE_DOCUMENTS]),
    ("uploaded once: from the author / in a tool result", references, &[UPLOADS]),
    ("tools", |row| yes(row.tools), &[WIRE_JUDGED, RECORDED]),
    ("several calls in a reply", |row| yes(row.parallel_tools), &[RECORDED, PARITY]),
    ("forced tools", |row| yes(row.forced_tools), &[WIRE_JUDGED, OPTIONS]),
    ("structured output", |row| word(&row.structured_output), &[OPTIONS, WIRE_JUDGED]),
    ("prompt caching", |row| word(&row.caching), &[CACHES, WIRE_PREFIX]),
    ("reasoning is set by", |row| listed(&row.reasoning), &[OPTIONS, E2E_REASONING]),
    ("reasoning is sent back", |row| word(&row.reasoning_replay), &[E2E_REASONING]),
];

const UPLOADS: &str = "tests/tests/it/uploads.rs::a_large_document_is_uploaded_once_and_named_at_every_step";
const WIRE_DOCUMENTS: &str = "tests/tests/it/wire.rs::every_document_arrives";
const WIRE_JUDGED: &str = "tests/tests/it/wire.rs::every_body_is_one_that_the_api_takes";
const WIRE_PREFIX: &str = "tests/tests/it/wire.rs::a_request_is_a_prefix_of_the_next";
const E2E_DOCUMENTS: &str = "tests/tests/it/end_to_end.rs::the_model_sees_the_documents";
const EMITTERS: &str =
    "tests/tests/it/emitters.rs::emitters_write_every_declared_media_type_and_nothing_else";
const OPTIONS: &str = "tests/tests/it/options.rs::each_option_reaches_its_member_or_is_refused";
const CACHES: &str = "tests/tests/it/caching.rs::markers_hit";
const E2E_REASONING: &str = "tests/tests/it/end_to_end.rs::reasoning_goes_back_over_three_turns";
const RECORDED: &str = "tests/tests/cassettes.rs::recordings_replay_as_expected_at_any_chunking";
const PARITY: &str = "tests/tests/it/parity.rs::streamed_or_whole_is_the_same";

fn media(list: &[String]) -> String {
    let short = |media: &String| match media.split_once('/') {
        Some(("image", kind)) => kind.to_owned(),
        Some((kind @ ("audio" | "video"), _)) => kind.to_owned(),
        _ => media.replace("application/pdf", "PDF"),
    };
    let mut list: Vec<String> = list.iter().map(short).collect();
    list.dedup();
    if list.is_empty() { "nothing".to_owned() } else { list.join(" ") }
}

/// The media types that a reference to an uploaded file may name.
fn references(row: &ModelCapabilities) -> String {
    if row.files.upload != Some(true) {
        return "nothing".to_owned();
    }
    let place = |place: &PlaceCapabilities| {
        let short = |media: &String| media.replace("application/pdf", "PDF").replace("/*", "");
        let taken = |media: &&String| {
            let kind = media.trim_end_matches('*');
            place.media.iter().any(|known| known.starts_with(kind))
        };
        let list: Vec<String> = place.references.iter().filter(taken).map(short).collect();
        if list.is_empty() { "nothing".to_owned() } else { list.join(" ") }
    };
    format!("{} / {}", place(&row.user), place(&row.tool_result))
}

fn listed(list: &[String]) -> String {
    if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap_or_default().replace('_', " ")
}

/// The cells of a family's rows: the default, and those that differ, by pattern.
fn cell(matrix: &Matrix, family: &str, of: Cell) -> String {
    let default = of(&matrix.resolve(family, "-"));
    let mut text = default.clone();
    let mut others: Vec<(String, Vec<String>)> = Vec::new();
    for pattern in matrix.patterns(family) {
        let own = of(&matrix.resolve(family, pattern));
        if own != default {
            match others.iter_mut().find(|(value, _)| *value == own) {
                Some((_, patterns)) => patterns.push(format!("`{pattern}`")),
                None => others.push((own, vec![format!("`{pattern}`")])),
            }
        }
    }
    for (value, patterns) in others {
        let _ = write!(text, "; {value}: {}", patterns.join(" "));
    }
    text
}

fn page() -> String {
    let matrix = Matrix::bundled();
    let mut page = String::from(
        "# What each API can\n\n\
         This page is generated from the capability table (`crates/core/src/capability/matrix/*.toml`) by \
         `cargo xtask snapshots --accept`; a test fails if it is out of date, or if a test that it names is gone. \
         `text` is everything that can be read as text. The first value of a cell applies to models that are not in \
         the table; exceptions follow, with the patterns of their models. `attache models PATTERN` prints a model's \
         row.\n",
    );
    for (capability, of, tests) in CAPABILITIES {
        let _ = write!(
            page,
            "\n## {}{}\n\n| API | |\n| --- | --- |\n",
            capability[..1].to_uppercase(),
            &capability[1..]
        );
        for (api, family, name) in APIS {
            let _ = writeln!(page, "| {api} (`{name}/`) | {} |", cell(matrix, family, of));
        }
        let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
        let _ = write!(page, "\nProven by {}.\n", tests.join(", "));
    }
    let others: Vec<&str> =
        matrix.families().filter(|family| !APIS.iter().any(|(_, known, _)| known == family)).collect();
    page.push_str("\n## Compatible servers and others\n\n");
    page.push_str(
        "| family | author | tool result | tools | structured output | caching | reasoning | sent back |\n",
    );
    page.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for family in others {
        let of = |of: Cell| cell(matrix, family, of);
        let _ = writeln!(
            page,
            "| {family} | {} | {} | {} | {} | {} | {} | {} |",
            of(|row| media(&row.user.media)),
            of(|row| media(&row.tool_result.media)),
            of(|row| yes(row.tools)),
            of(|row| word(&row.structured_output)),
            of(|row| word(&row.caching)),
            of(|row| listed(&row.reasoning)),
            of(|row| word(&row.reasoning_replay)),
        );
    }
    page
}

#[test]
fn the_page_says_what_the_table_says() {
    let file = root().join("docs/guide/capabilities.md");
    let page = page();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "docs/guide/capabilities.md is out of date: cargo xtask snapshots --accept");
}

#[test]
fn the_tests_that_it_names_are_there() {
    for (capability, _, tests) in CAPABILITIES {
        assert!(!tests.is_empty(), "{capability}");
        for test in tests {
            let (file, name) = test.split_once("::").unwrap();
            let text = std::fs::read_to_string(root().join(Path::new(file))).unwrap_or_default();
            let before = text.split_once(&format!("fn {name}(")).map(|(before, _)| before);
            let before = before.unwrap_or_else(|| panic!("{test} is gone"));
            // Its attributes stand right before it.
            let lines = before.trim_end_matches("async ").lines().rev().map(str::trim);
            let lines = lines.skip_while(|line| line.is_empty());
            let attributes: Vec<&str> = lines.take_while(|line| line.starts_with('#')).collect();
            let is = |start: &str| attributes.iter().any(|line| line.starts_with(start));
            assert!(is("#[test]") || is("#[tokio::test"), "{test} is no test: {attributes:?}");
            assert!(!is("#[ignore") && !is("#[cfg"), "{test} does not always run: {attributes:?}");
        }
    }
}
