//! The recordings of the repository, read and judged.

use std::collections::BTreeSet;
use std::path::PathBuf;

use attache_transport::cassette::{Cassette, Interaction, RecordedBody};
use serde_json::{Value, json};

use super::CassetteIndex;
use crate::testing::Request;
use crate::{
    Api, MockProvider, Reply, ReplyUsage, Rules, Server, Violation, validate_chat_with,
    validate_converse_with, validate_gemini_with, validate_messages_with, validate_responses_with,
};

/// Accepted requests that the rules refuse, and why they may.
const MILDER_SERVERS: &[(&str, &str)] = &[
    (
        "bedrock-converse/pyd_test_bedrock_test_bedrock_cache_write_and_read_a454.json#0",
        "a text of one line break, which is refused since 2026 (bedrock.md 3)",
    ),
    ("bedrock-converse/pyd_test_bedrock_test_bedrock_cache_write_and_read_a454.json#1", "the same"),
    (
        "groq/rig_groq_agent_tool_sessions_parallel_tool_calls_single_turn_streaming_a643.json#1",
        "arguments of a call that are `null`, which other servers refuse",
    ),
    (
        "mistral/pyd_test_mistral_test_mistral_model_thinking_part_506a.json#1",
        "an empty list of calls, which OpenAI refuses",
    ),
    (
        "mistral/pyd_test_multimodal_tool_returns_test_multimodal_tool_return_matrix_tool_return_cont_4037.json#1",
        "an empty content, which OpenAI refuses",
    ),
    (
        "mistral/pyd_test_multimodal_tool_returns_test_multimodal_tool_return_matrix_tool_return_cont_84f0.json#1",
        "the same",
    ),
];

/// Refused requests that the rules accept, since no body shows their fault.
const NOT_OF_THE_BODY: &[(&str, &str)] = &[
    (
        "anthropic/rig_anthropic_error_identity_edge_streaming_connect_auth_rejection_classifies_with_c_8ea7.json#0",
        "the key is wrong",
    ),
    (
        "gemini/pyd_test_model_name_suggestions_test_model_name_suggestion_google_484d.json#0",
        "there is no such model",
    ),
    (
        "groq/pyd_test_groq_test_tool_use_failed_error_with_text_ced2.json#0",
        "the model did not call the tool that it must call",
    ),
    (
        "mistral/rig_mistral_response_identity_edge_streaming_error_carries_the_correlation_id_25df.json#0",
        "there is no such model",
    ),
    (
        "openai-chat/pyd_test_model_name_suggestions_test_model_name_suggestion_openai_chat_5469.json#0",
        "there is no such model",
    ),
    (
        "openai-responses/rig_openai_error_envelope_nonexistent_model_streaming_error_preserves_status_and_bod_fbf0.json#0",
        "there is no such model",
    ),
    (
        "openai-responses/rig_openai_error_identity_edge_extractor_failure_surfaces_provider_error_context_c8ef.json#0",
        "there is no such model",
    ),
    ("openrouter/pyd_test_openrouter_test_openrouter_errors_raised_e8e1.json#0", "a rate limit"),
    ("openrouter/pyd_test_openrouter_test_openrouter_errors_raised_e8e1.json#1", "a rate limit"),
    ("openrouter/pyd_test_openrouter_test_openrouter_errors_raised_e8e1.json#2", "a rate limit"),
    (
        "vertex-gemini/pyd_test_multimodal_tool_returns_test_multimodal_tool_return_matrix_direct_url_image_3f62.json#2",
        "the host of an image lets no robot read it",
    ),
    (
        "vertex-gemini/pyd_test_multimodal_tool_returns_test_multimodal_tool_return_matrix_tool_return_cont_ac86.json#3",
        "the same",
    ),
    (
        "xai-responses/rig_xai_response_identity_auth_rejection_classifies_with_contract_0961.json#0",
        "the key is wrong",
    ),
];

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cassettes"))
}

fn index() -> CassetteIndex {
    CassetteIndex::load(fixtures().join("index.json")).expect("the index is readable")
}

fn load(file: &str) -> Cassette {
    Cassette::load(fixtures().join(file)).expect("a readable recording")
}

#[test]
fn every_recording_parses_and_has_an_expectation_an_interaction() {
    let index = index();
    assert_eq!((index.format, index.files.len()), (1, 159));
    for file in &index.files {
        let cassette = load(&file.file);
        assert_eq!(cassette.api, file.api, "{}", file.file);
        assert_eq!(cassette.interactions.len(), file.expect.len(), "{}", file.file);
        for (interaction, expected) in cassette.interactions.iter().zip(&file.expect) {
            assert_eq!(interaction.response.status, expected.status, "{}", file.file);
            assert_ne!(interaction.response.body, RecordedBody::None, "{}", file.file);
        }
    }
    assert_eq!(index.with_protocol("openai-chat").count(), 61);
    assert_eq!(index.with_protocol("anthropic").count(), 20);
}

#[test]
fn an_index_is_read_leniently() {
    let text = json!({"files": [{"file": "a.json", "new": 1, "expect": [
        {"kind": "error", "error": {"code": 429, "message": "m"}, "more": null},
        {"kind": "generate", "usage": {"input": 1, "output": null}},
    ]}]});
    let index = CassetteIndex::parse(&text.to_string()).expect("an index");
    let [error, answer] = index.files[0].expect.as_slice() else { panic!("{index:?}") };
    assert_eq!(error.error.as_ref().and_then(|error| error.code.as_deref()), Some("429"));
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((Some(1), None)));
}

/// The server of a folder of recordings, if it is one of those whose own rules are known.
fn server(api: &str) -> Option<Server> {
    Some(match api {
        "azure-chat" => Server::Azure,
        "deepseek" => Server::DeepSeek,
        "groq" => Server::Groq,
        "llamacpp" => Server::LlamaCpp,
        "mistral" => Server::Mistral,
        "ollama-chat" => Server::Ollama,
        "openrouter" => Server::OpenRouter,
        "zhipu" => Server::Zhipu,
        _ => return None,
    })
}

/// The verdict of the rules on a recorded request; `None` where there are no rules for its API.
fn judge(api: &str, protocol: &str, interaction: &Interaction) -> Option<Result<(), Violation>> {
    let body = interaction.request.body.json()?;
    let own = ["openai-chat", "openai-responses", "azure-responses"].contains(&api);
    let rules = server(api).map_or_else(|| Rules::new().with_compatible_fields(!own), Rules::for_server);
    let path = interaction.request.uri.split('?').next().unwrap_or_default();
    Some(match protocol {
        "openai-chat" => validate_chat_with(&body, &rules),
        "anthropic" => validate_messages_with(&body, &rules),
        "openai-responses" => validate_responses_with(&body, &rules),
        "gemini" => {
            validate_gemini_with(path.rsplit_once(':').map_or(path, |(model, _)| model), &body, &rules)
        }
        "bedrock-converse" => {
            let model = path.split("/model/").nth(1)?.rsplit_once('/')?.0.replace("%3A", ":");
            validate_converse_with(&model, &body, &rules)
        }
        _ => return None,
    })
}

// The rules are as strict as the real servers, and no stricter where it was not decided.
#[test]
fn the_rules_agree_with_what_real_servers_accepted_and_refused() {
    let (mut accepted, mut refused) = (0, 0);
    let (mut too_strict, mut too_mild) = (Vec::new(), Vec::new());
    for file in &index().files {
        for (number, (interaction, expected)) in
            load(&file.file).interactions.iter().zip(&file.expect).enumerate()
        {
            let protocol = expected.protocol.as_deref().unwrap_or_default();
            let name = format!("{}#{number}", file.file);
            match (judge(&file.api, protocol, interaction), expected.status < 400) {
                (None, _) => {}
                (Some(Ok(())), true) => accepted += 1,
                (Some(Err(_)), false) => refused += 1,
                (Some(Err(violation)), true) => too_strict.push((name, violation.to_string())),
                (Some(Ok(())), false) => too_mild.push((name, expected.error.clone())),
            }
        }
    }
    let names = |list: &[(&str, &str)]| list.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let strict: Vec<_> = too_strict.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(strict, names(MILDER_SERVERS), "{too_strict:#?}");
    let mild: Vec<_> = too_mild.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(mild, names(NOT_OF_THE_BODY), "{too_mild:#?}");
    assert_eq!((accepted, refused), (243, 10));
}

/// Every member of a JSON value as a path; items of a list share theirs, and what stands in `stops` is one.
fn members(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = format!("{path}/{key}");
                members(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, path, found)),
        _ => {}
    }
}

/// The members of a body or of a stream's payloads, each under its kind.
fn members_of(bytes: &[u8], found: &mut BTreeSet<String>) {
    let text = std::str::from_utf8(bytes).expect("text");
    let payloads: Vec<&str> = match serde_json::from_str::<Value>(text) {
        Ok(_) => vec![text],
        Err(_) => text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line)).collect(),
    };
    for payload in payloads {
        let Ok(payload) = serde_json::from_str::<Value>(payload) else { continue };
        let kind = payload.get("type").or(payload.get("object")).and_then(Value::as_str).unwrap_or_default();
        members(&payload, kind, found);
    }
}

// The mock renders no member that real answers lack.
#[tokio::test]
async fn rendered_answers_have_the_members_of_recorded_ones() {
    let mock = MockProvider::start().await.expect("a free port");
    mock.respond_with(|request| {
        let usage = ReplyUsage::new(100, 20).with_cached(10).with_reasoning(5);
        let reply = Reply::new().text("Hi there").usage(usage);
        let reply = match request.api {
            Some(Api::Messages | Api::Responses) => reply.signed_thinking("hm", "sig"),
            Some(Api::Gemini) => reply.thinking("hm").text("so").part_signature("c2ln"),
            _ => reply,
        };
        reply.call("call_1", "add", json!({})).call("call_2", "add", json!({}))
    });
    for (api, unseen) in [
        // Newer than the recordings: openai.md A.5.
        (Api::ChatCompletions, &["usage/prompt_tokens_details/cache_write_tokens"][..]),
        (Api::Messages, &[][..]),
        // OpenAI pads every delta, the recorded server none.
        (Api::Responses, &["response.reasoning_summary_text.delta/obfuscation"][..]),
        (Api::Gemini, &[][..]),
        // Reasoning was recorded in a stream alone, a text in a whole answer.
        (Api::Cohere, &["/usage/tokens/reasoning_tokens", "/delta/message/content/text"][..]),
        // Newer than the recordings: openai.md C.13.
        (Api::Ollama, &["/prompt_eval_cached_count"][..]),
    ] {
        let mut recorded = BTreeSet::new();
        let index = index();
        // Summaries of reasoning were recorded at a compatible server alone.
        let servers = [api.as_str(), if api == Api::Responses { "xai-responses" } else { "" }];
        for file in index.files.iter().filter(|file| servers.contains(&file.api.as_str())) {
            for interaction in load(&file.file).interactions {
                members_of(&interaction.response.body.bytes(), &mut recorded);
            }
        }
        let mut rendered = BTreeSet::new();
        for stream in [false, true] {
            let mut body =
                json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "hi"}]});
            let request = match api {
                Api::ChatCompletions => {
                    if stream {
                        body["stream_options"] = json!({"include_usage": true});
                    }
                    Request::chat(mock.url(), &body)
                }
                Api::Messages => {
                    body["max_tokens"] = json!(100);
                    Request::messages(mock.url(), &body)
                }
                Api::Responses => {
                    Request::responses(mock.url(), &json!({"model": "m", "stream": stream, "input": "hi"}))
                }
                Api::Gemini => {
                    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
                    Request::gemini(mock.url(), "gemini-m", stream, &contents)
                }
                Api::Cohere => Request::cohere(mock.url(), &body),
                Api::Ollama => Request::ollama(mock.url(), &body),
                // Frames are read where they are written.
                Api::Converse => continue,
            };
            let answer = request.send().await.expect("an answer");
            assert_eq!(answer.status, 200, "{}", answer.text());
            members_of(&answer.body(), &mut rendered);
        }
        let new: Vec<_> = rendered
            .difference(&recorded)
            .filter(|path| !unseen.iter().any(|unseen| path.ends_with(unseen)))
            .collect();
        assert!(new.is_empty(), "{api}: {new:?}");
        let least = if matches!(api, Api::Cohere | Api::Ollama) { 15 } else { 25 };
        assert!(rendered.len() > least, "{rendered:?}");
    }
}
