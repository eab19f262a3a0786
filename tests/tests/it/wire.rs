//! Every scenario on every API: the exact body as a snapshot, judged as the real API would, and its documents decoded
//! back.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;
use std::sync::Arc;

use attache_conformance::{seen_documents, sha256_hex};
use attache_core::{Document, ErrorKind, Message, Transcript, UserPart};
use attache_documents::DocumentOutcome;
use attache_tests::{APIS, Api, Scenario, Wire, scenarios};
use serde_json::{Value, json};

#[test]
fn names_differ() {
    let all = scenarios();
    let names: BTreeSet<_> = all.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), all.len());
}

/// Compares every scenario on an API with its snapshot. All are compared, whichever differs.
fn compare_bodies(api: Api) {
    let mut differ = Vec::new();
    for scenario in scenarios() {
        let shown = match api.wire(&scenario, None) {
            Ok(wire) => json!({ "url": wire.url, "body": wire.body, "report": wire.report.decisions }),
            Err(error) => {
                json!({ "error": { "kind": error.kind().as_str(), "message": error.message() } })
            }
        };
        let compared = catch_unwind(|| {
            insta::with_settings!({ snapshot_path => format!("snapshots/{}", api.name()), prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(scenario.name, format!("{shown:#}"));
            });
        });
        if compared.is_err() {
            differ.push(scenario.name);
        }
    }
    assert!(differ.is_empty(), "{} of {}: {}", differ.len(), api.name(), differ.join(", "));
}

#[test]
fn bodies_of_responses() {
    compare_bodies(Api::OpenAi);
}

#[test]
fn bodies_of_chat_completions() {
    compare_bodies(Api::OpenAiChat);
}

#[test]
fn bodies_of_messages() {
    compare_bodies(Api::Anthropic);
}

#[test]
fn bodies_of_gemini() {
    compare_bodies(Api::Gemini);
}

#[test]
fn bodies_of_converse() {
    compare_bodies(Api::Bedrock);
}

/// A scenario on an API. Neither Cohere nor Ollama takes a PDF of the author (cohere.md 3, openai.md C.13), which is
/// refused in words (C25).
fn sent(api: Api, scenario: &Scenario) -> Option<Wire> {
    let wire = api.wire(scenario, None);
    let has_pdf = ["author_documents", "cited_documents"].contains(&scenario.name);
    if matches!(api, Api::Cohere | Api::Ollama) && has_pdf {
        assert_eq!(wire.unwrap_err().kind(), ErrorKind::Unsupported, "{}", api.name());
        return None;
    }
    Some(wire.unwrap_or_else(|error| panic!("{} on {}: {error:?}", scenario.name, api.name())))
}

// Invariant 3, P37: what we send is what the real APIs take
#[test]
fn every_body_is_one_that_the_api_takes() {
    for scenario in scenarios() {
        for api in APIS {
            let Some(wire) = sent(api, &scenario) else { continue };
            if let Err(violation) = api.judge(&wire.body) {
                panic!("{} on {}: {violation}: {:#}", scenario.name, api.name(), wire.body);
            }
        }
    }
}

/// The documents that a scenario's author, tools and events hold.
fn documents(scenario: &Scenario) -> Vec<Document> {
    let of = |message: &Arc<Message>| -> Vec<Document> {
        match &**message {
            Message::User(user) => user
                .parts
                .iter()
                .flat_map(|part| match part {
                    UserPart::Document(document) => vec![document.clone()],
                    UserPart::Object(tree) => tree.documents().to_vec(),
                    _ => vec![],
                })
                .collect(),
            Message::ToolResults(results) => {
                results.results.iter().flat_map(|result| result.documents.clone()).collect()
            }
            _ => vec![],
        }
    };
    scenario.messages.iter().flat_map(of).collect()
}

// Invariant 1, C33: every document has one outcome, and what is said to be shown is there, byte for byte
#[test]
fn every_document_arrives() {
    for scenario in scenarios() {
        let held = documents(&scenario);
        for api in APIS {
            let Some(wire) = sent(api, &scenario) else { continue };
            let context = format!("{} on {}", scenario.name, api.name());
            assert_eq!(wire.report.decisions.len(), held.len(), "{context}");
            let seen = seen_documents(api.conformance(), &wire.body);
            let hashes: BTreeSet<String> =
                seen.iter().filter_map(|document| document.sha256.clone()).collect();
            let body = wire.body.to_string();
            for (decision, document) in wire.report.decisions.iter().zip(&held) {
                assert_eq!(&decision.document_id, document.id(), "{context}");
                let bytes = document.bytes().unwrap();
                match decision.outcome {
                    DocumentOutcome::Native => {
                        assert!(hashes.contains(&sha256_hex(&bytes)), "{context}: {decision:?}")
                    }
                    DocumentOutcome::Synthetic => {
                        let text = std::str::from_utf8(&bytes).map(|text| json!(text).to_string());
                        let as_text = text.is_ok_and(|text| body.contains(text.trim_matches('"')));
                        assert!(as_text || hashes.contains(&sha256_hex(&bytes)), "{context}: {decision:?}");
                    }
                    DocumentOutcome::Text => {
                        let text = String::from_utf8(bytes.to_vec()).unwrap();
                        let holds = |text: &str| body.contains(json!(text).to_string().trim_matches('"'));
                        // A text that is to be cited comes in paragraphs.
                        let is_cited =
                            scenario.routing.citations && text.split("\n\n").all(|one| holds(one.trim()));
                        assert!(is_cited || holds(text.trim_end()), "{context}: {decision:?}");
                    }
                    DocumentOutcome::Note => {
                        assert!(
                            body.contains("status=\\\\\\\"") || body.contains("status=\\\""),
                            "{context}: {decision:?}"
                        );
                    }
                    other => panic!("{context}: {other:?}"),
                }
            }
        }
    }
}

/// The texts of the tool results in a body, documents in them left out.
fn result_texts(api: Api, body: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let texts = |parts: &Value| match parts {
        Value::String(text) => vec![text.clone()],
        parts => list(parts).iter().filter_map(|part| Some(part.get("text")?.to_string())).collect(),
    };
    match api {
        Api::OpenAi => {
            let items =
                list(&body["input"]).into_iter().filter(|item| item["type"] == "function_call_output");
            items.flat_map(|item| texts(&item["output"])).collect()
        }
        Api::OpenAiChat | Api::Cohere | Api::Ollama => {
            let messages = list(&body["messages"]).into_iter().filter(|message| message["role"] == "tool");
            messages.flat_map(|message| texts(&message["content"])).collect()
        }
        Api::Anthropic => {
            let blocks = list(&body["messages"]).into_iter().flat_map(|message| list(&message["content"]));
            blocks
                .filter(|block| block["type"] == "tool_result")
                .flat_map(|block| texts(&block["content"]))
                .collect()
        }
        Api::Gemini => {
            let parts = list(&body["contents"]).into_iter().flat_map(|content| list(&content["parts"]));
            parts
                .filter_map(|part| Some(part.get("functionResponse")?.get("response")?.to_string()))
                .collect()
        }
        Api::Bedrock => {
            let blocks = list(&body["messages"]).into_iter().flat_map(|message| list(&message["content"]));
            let parts = blocks.flat_map(|block| list(&block["toolResult"]["content"]));
            parts.filter_map(|part| Some(part.get("text").or(part.get("json"))?.to_string())).collect()
        }
    }
}

// C30: no bytes inside JSON text of a tool result
#[test]
fn no_base64_in_result_texts() {
    for api in APIS {
        let mut checked = 0;
        for scenario in scenarios() {
            let held = documents(&scenario);
            let Some(wire) = sent(api, &scenario) else { continue };
            for text in result_texts(api, &wire.body) {
                for document in &held {
                    let base64 = base64(&document.bytes().unwrap());
                    let start = &base64[..base64.len().min(24)];
                    assert!(!text.contains(start), "{} on {}", scenario.name, api.name());
                    checked += 1;
                }
            }
        }
        assert!(checked >= 10, "{checked} pairs of a result and a document on {}", api.name());
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks_exact(3).flat_map(|group| {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|shift| char::from(ALPHABET[(bits >> shift & 63) as usize]))
    });
    groups.collect()
}

// Invariant 4: the blocks of request n are a prefix of those of request n + 1; and the memo changes no byte (invariant 5)
#[test]
fn a_request_is_a_prefix_of_the_next() {
    let mut compared = 0;
    for scenario in scenarios() {
        for api in APIS {
            let transcript = Transcript::new();
            let tools = Arc::new(scenario.tool_set());
            let mut before: Option<Vec<Value>> = None;
            let ends: Vec<usize> = (1..=scenario.messages.len())
                .filter(|len| {
                    !matches!(*scenario.messages[len - 1], Message::Assistant(_) | Message::System(_))
                })
                .collect();
            for len in ends {
                let cut = Scenario { messages: scenario.messages[..len].to_vec(), ..scenario.clone() };
                let context = format!("{} on {} at {len}", scenario.name, api.name());
                let (wire, fresh) =
                    match (api.wire_with(&cut, &tools, Some(&transcript)), api.wire(&cut, None)) {
                        (Ok(wire), Ok(fresh)) => (wire, fresh),
                        (Err(_), Err(_)) => continue,
                        (remembered, _) => {
                            panic!("{context}: the memo decides whether it works: {:?}", remembered.err())
                        }
                    };
                compared += 1;
                assert_eq!(
                    String::from_utf8_lossy(&wire.bytes),
                    String::from_utf8_lossy(&fresh.bytes),
                    "{context}: the memo"
                );
                let now = api.blocks(&wire.body);
                if let Some(before) = before {
                    assert!(
                        now.starts_with(&before),
                        "{context}: {}",
                        json!({ "before": before, "now": now })
                    );
                }
                before = Some(now);
            }
        }
    }
    assert!(compared >= APIS.len() * scenarios().len(), "{compared} comparisons");
}

// C24, E20, the one promise: the same tools and the same code, every API
#[test]
fn one_conversation_every_api() {
    let scenario = scenarios().into_iter().find(|scenario| scenario.name == "tool_documents").unwrap();
    let outcomes: BTreeMap<_, Vec<_>> = APIS
        .map(|api| {
            let wire = api.wire(&scenario, None).unwrap();
            (api.name(), wire.report.decisions.iter().map(|decision| decision.outcome).collect())
        })
        .into_iter()
        .collect();
    assert_eq!(outcomes["openai-chat"], [DocumentOutcome::Synthetic, DocumentOutcome::Synthetic]);
    for api in ["cohere", "ollama"] {
        assert_eq!(outcomes[api], [DocumentOutcome::Note, DocumentOutcome::Synthetic], "{api}");
    }
    for api in ["openai-responses", "anthropic", "gemini"] {
        assert_eq!(outcomes[api], [DocumentOutcome::Native, DocumentOutcome::Native], "{api}");
    }
}
