//! The requests that the real service accepted and refused.

use std::path::PathBuf;

use attache_transport::cassette::Cassette;

use crate::CassetteIndex;
use crate::mock::converse::{percent_decoded, validate_converse};
use crate::paths::converse_model;

/// Refused requests whose fault the request shows: a PDF in a tool result of Nova, a document by reference for
/// Claude, a model that is served through a profile only.
const REFUSED: [(&str, &str); 3] = [
    (
        "bedrock-converse/pyd_test_multimodal_tool_returns_test_multimodal_tool_return_matrix_direct_uploaded_ec0e.json#1",
        "Malformed input request",
    ),
    (
        "bedrock-converse/pyd_test_multimodal_tool_returns_test_multimodal_tool_return_matrix_tool_return_cont_f427.json#1",
        "The model returned the following errors: messages.2.content.2.document.source.type: Field required",
    ),
    (
        "bedrock-converse/rig_bedrock_model_ids_bare_profile_only_model_id_is_rejected_0141.json#0",
        "Invocation of model ID deepseek.r1-v1:0 with on-demand throughput isn\u{2019}t supported.",
    ),
];

/// Accepted requests that are refused now: a text of one newline, from before the service asked for text that is not
/// white space, which it has done since the middle of 2026 (bedrock.md (a) 2).
const OLDER: &str = "bedrock-converse/pyd_test_bedrock_test_bedrock_cache_write_and_read_a454.json";

#[test]
fn the_rules_agree_with_the_service() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cassettes"));
    let index = CassetteIndex::load(folder.join("index.json")).expect("the index is readable");
    let (mut accepted, mut refused) = (0, Vec::new());
    for file in index.with_protocol("bedrock-converse") {
        let cassette = Cassette::load(folder.join(&file.file)).expect("a readable recording");
        for (number, interaction) in cassette.interactions.iter().enumerate() {
            let path = interaction.request.uri.trim_start_matches("https://");
            let Some(model_id) = converse_model(path).and_then(percent_decoded) else { continue };
            let body = interaction.request.body.json().expect("a JSON body");
            let judged = validate_converse(&model_id, &body);
            let name = format!("{}#{number}", file.file);
            if file.file == OLDER {
                let violation = judged.expect_err("a blank text");
                assert!(violation.message.contains("messages.0.content.2 is blank"), "{violation}");
                let mut body = body;
                body["messages"][0]["content"][2]["text"] = ".".into();
                assert_eq!(validate_converse(&model_id, &body), Ok(()), "{name}");
            } else if interaction.response.status < 400 {
                assert_eq!(judged, Ok(()), "{name}");
                accepted += 1;
            } else if let Err(violation) = judged {
                assert_eq!(violation.status, interaction.response.status, "{name}");
                refused.push((name, violation.message));
            }
        }
    }
    assert_eq!(accepted, 23);
    assert_eq!(refused.len(), REFUSED.len());
    for ((name, message), (file, words)) in refused.iter().zip(REFUSED) {
        assert_eq!(name, file);
        assert!(message.starts_with(words), "{message}");
    }
}
