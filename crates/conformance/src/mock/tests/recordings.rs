//! The requests that real servers accepted, where no refused one is recorded.

use std::path::PathBuf;

use attache_transport::cassette::Cassette;
use serde_json::Value;

use crate::{CassetteIndex, Violation, validate_cohere, validate_ollama};

type Judge = fn(&Value) -> Result<(), Violation>;

#[test]
fn recorded_requests_keep_the_rules() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cassettes"));
    let index = CassetteIndex::load(folder.join("index.json")).expect("the index is readable");
    for (protocol, judge, count) in [("cohere", validate_cohere as Judge, 3), ("ollama", validate_ollama, 11)]
    {
        let mut accepted = 0;
        for file in index.with_protocol(protocol) {
            for interaction in Cassette::load(folder.join(&file.file)).expect("a recording").interactions {
                assert_eq!(interaction.response.status, 200, "{}", file.file);
                let body = interaction.request.body.json().expect("a JSON body");
                assert_eq!(judge(&body), Ok(()), "{}", file.file);
                accepted += 1;
            }
        }
        assert_eq!(accepted, count, "{protocol}");
    }
}
