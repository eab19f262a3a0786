//! Each request body is one that the newest official SDK of its API could have sent. (interop.md 4)
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use attache_conformance::CassetteIndex;
use attache_core::files::FileReferences;
use attache_core::{ChatRequest, Document, ErrorKind, Message, ModelSettings, UserMessage, UserPart};
use attache_tests::real::{Asked, Python, judge};
use attache_tests::{Api, PDF_APIS, scenarios};
use attache_transport::cassette::Cassette;
use serde_json::{Value, json};

/// A type of an SDK that is narrower than its API: the API, how the reason ends, and why we differ.
type Deviation = (&'static str, &'static str, &'static str);

/// Deviations of what we send.
const OURS: &[Deviation] = &[(
    "anthropic",
    "temperature: Extra inputs are not permitted",
    "the types are those of the version 2026-10-21, we ask for an earlier one, which has it",
)];

/// Deviations of what others sent and providers accepted.
const RECORDED: &[Deviation] = &[
    ("anthropic", "temperature: Extra inputs are not permitted", "as above"),
    (
        "openai-responses",
        "FunctionToolParam/strict: Field required",
        "the type demands it, the API has a default",
    ),
];

fn python() -> Python {
    Python::installed("sdks", Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// Judges requests, each of which has a name. Yields what is wrong beyond the deviations, each of which must occur.
fn beyond(python: &Python, asked: &[(String, Asked)], deviations: &[Deviation]) -> Vec<String> {
    let (names, requests): (Vec<_>, Vec<_>) = asked.iter().cloned().unzip();
    let verdicts = judge(python, &requests).unwrap();
    let mut met = BTreeSet::new();
    let mut found = Vec::new();
    for ((name, request), reasons) in names.iter().zip(&requests).zip(verdicts) {
        for reason in reasons {
            let known = |(api, end, _): &&Deviation| *api == request.api && reason.ends_with(end);
            match deviations.iter().find(known) {
                Some(deviation) => _ = met.insert(deviation),
                None => found.push(format!("{name}: {reason}")),
            }
        }
    }
    let unmet = deviations.iter().filter(|deviation| !met.contains(deviation));
    found.extend(unmet.map(|(api, end, _)| format!("{api} deviates no longer in {end}")));
    found
}

#[test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
fn every_body_is_one_that_the_official_sdk_knows() {
    let python = python();
    let mut asked = Vec::new();
    for api in PDF_APIS.into_iter().chain([Api::Cohere]) {
        for scenario in scenarios() {
            let wire = match api.wire(&scenario, None) {
                // Its models read no PDF of an author.
                Err(error) if api == Api::Cohere && error.kind() == ErrorKind::Unsupported => continue,
                wire => wire.unwrap(),
            };
            let request = Asked { api: api.name().to_owned(), url: wire.url, body: wire.body };
            asked.push((format!("{} of {}", scenario.name, api.name()), request));
        }
    }
    let found = beyond(&python, &asked, OURS);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
fn every_reference_is_one_that_the_official_sdk_knows() {
    let python = python();
    let content = [b"%PDF-1.7\n".to_vec(), vec![b'x'; 100]].concat();
    let pdf = Document::from_bytes(content, "application/pdf").with_file_name("a.pdf");
    let photo = Document::from_bytes(&b"\x89PNG\r\n\x1a\n......"[..], "image/png").with_file_name("a.png");
    let mut files = FileReferences::new();
    files.insert(&pdf, "file-1");
    files.insert(&photo, "file-2");
    let parts = [pdf, photo].map(UserPart::Document);
    let mut asked = Vec::new();
    for api in PDF_APIS.into_iter().filter(|api| api.codec().files().is_some()) {
        let message = Message::User(UserMessage::new(parts.clone().map(Some))).shared();
        let request = ChatRequest::new([message]).with_files(files.clone());
        let encoded =
            api.codec().encode(attache_transport::Ask::new(&request, &ModelSettings::new(), None)).unwrap();
        let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
        assert!(body.to_string().contains("file-1"), "{}: {body}", api.name());
        let request = Asked { api: api.name().to_owned(), url: encoded.parts.url, body };
        asked.push((api.name().to_owned(), request));
    }
    assert_eq!(asked.len(), 4);
    let found = beyond(&python, &asked, &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The API of a recorded request, by the names of the judge; `None` for servers that imitate one.
fn official(provider: &str, protocol: &str, uri: &str) -> Option<String> {
    let is_official =
        ["openai", "azure", "anthropic", "gemini", "vertex", "bedrock", "cohere"].contains(&provider);
    let beta = protocol == "anthropic" && uri.contains("beta=true");
    (is_official && !protocol.is_empty())
        .then(|| if beta { format!("{protocol}-beta") } else { protocol.to_owned() })
}

// The judge is fair: what providers accepted from others is right.
#[test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
fn every_recorded_body_that_was_accepted_is_right() {
    let python = python();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cassettes");
    let index = CassetteIndex::load(folder.join("index.json")).unwrap();
    let mut asked = Vec::new();
    let mut counts = BTreeMap::<String, usize>::new();
    for indexed in &index.files {
        let cassette = Cassette::load(folder.join(&indexed.file)).unwrap();
        for (at, (interaction, expected)) in cassette.interactions.iter().zip(&indexed.expect).enumerate() {
            let (provider, protocol) = (expected.provider.as_deref(), expected.protocol.as_deref());
            let request = &interaction.request;
            let api = official(provider.unwrap_or_default(), protocol.unwrap_or_default(), &request.uri);
            let (Some(api), Some(body)) = (api, request.body.json()) else { continue };
            if interaction.response.status == 200 {
                *counts.entry(api.clone()).or_default() += 1;
                let request = Asked { api, url: request.uri.clone(), body };
                asked.push((format!("{} #{at}", indexed.file), request));
            }
        }
    }
    let found = beyond(&python, &asked, RECORDED);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let apis: Vec<&str> = counts.keys().map(String::as_str).collect();
    let all = [
        "anthropic",
        "anthropic-beta",
        "bedrock-converse",
        "cohere",
        "gemini",
        "openai-chat",
        "openai-responses",
    ];
    assert_eq!(apis, all, "{counts:?}");
}

/// Bodies with one mistake each, and what the judge must say of it.
fn mistakes() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let (openai, anthropic) = ("https://api.openai.com/v1", "https://api.anthropic.com/v1/messages");
    let gemini = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent";
    let bedrock = "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.model-v1%3A0/converse";
    let unescaped = "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.model-v1:0/converse";
    let cohere = "https://api.cohere.com/v2/chat";
    let said = |content: Value| json!([{"role": "user", "content": content}]);
    let google = |part: Value| json!([{"role": "user", "parts": [part]}]);
    vec![
        // A misspelt member, at the top and deep inside; an unknown type; a member that is missing; a wrong type.
        (
            "openai-chat",
            openai,
            json!({"model": "m", "messages": said("x".into()), "max_token": 1}),
            "max_token: Extra",
        ),
        (
            "openai-chat",
            openai,
            json!({"model": "m", "messages": said(json!([{"type": "image", "image_url": "x"}]))}),
            "ChatCompletionUserMessageParam/content/0: It is of no known type",
        ),
        (
            "openai-chat",
            openai,
            json!({"model": "m", "messages": [{"role": "tool", "content": "x"}]}),
            "tool_call_id: Field required",
        ),
        (
            "openai-responses",
            openai,
            json!({"model": "m", "input": [{"type": "function_call_output", "call_id": "c",
                "output": [{"type": "input_text", "txt": "x"}]}]}),
            "text: Field required",
        ),
        (
            "openai-responses",
            openai,
            json!({"model": "m", "input": [{"type": "no_such"}]}),
            "input/0: It is of no known",
        ),
        (
            "anthropic",
            anthropic,
            json!({"model": "m", "messages": said("x".into())}),
            "max_tokens: Field required",
        ),
        (
            "anthropic",
            anthropic,
            json!({"model": "m", "max_tokens": "5", "messages": said("x".into())}),
            "max_tokens: Input should be a valid integer",
        ),
        (
            "anthropic",
            anthropic,
            json!({"model": "m", "max_tokens": 5, "messages": said(json!([
                {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "txt", "text": "y"}]}]))}),
            "ToolResultBlockParam/content/0: It is of no known type",
        ),
        (
            "anthropic-beta",
            anthropic,
            json!({"model": "m", "max_tokens": 5, "messages": said("x".into()), "betas_": []}),
            "betas_: Extra",
        ),
        ("gemini", gemini, json!({"contents": google(json!({"txt": "x"}))}), "txt: Extra"),
        (
            "gemini",
            gemini,
            json!({"contents": google(json!({"text": "x"})), "temperature": 1.0}),
            "/temperature: the SDK sends no such member",
        ),
        ("gemini", gemini, json!({}), "/contents: it is missing"),
        (
            "bedrock-converse",
            bedrock,
            json!({"messages": [{"role": "usr", "content": [{"text": "x"}]}]}),
            "/messages/0/role: usr is none of",
        ),
        (
            "bedrock-converse",
            bedrock,
            json!({"messages": said(json!([{"text": "x", "cachePoint": {"type": "default"}}]))}),
            "Can only set one of",
        ),
        (
            "bedrock-converse",
            bedrock,
            json!({"messages": said(json!([{"image": {"format": "png", "source": {"bytes": "A!"}}}]))}),
            "/messages/0/content/0/image/source/bytes: it is no base64",
        ),
        (
            "bedrock-converse",
            unescaped,
            json!({"messages": said(json!([{"text": "x"}]))}),
            "the SDK sends to /model/a.model-v1%3A0/converse",
        ),
        ("cohere", cohere, json!({"model": "m", "messages": said("x".into()), "top_p": 1.0}), "top_p: Extra"),
        ("cohere", cohere, json!({"model": "m", "messages": [{"content": "x"}]}), "role: Field required"),
    ]
}

#[test]
#[ignore = "runs against Python packages, which `cargo xtask test` installs"]
fn every_mistake_is_found() {
    let python = python();
    let mistakes = mistakes();
    let ask = |(api, url, body, _): &(&str, &str, Value, &str)| Asked {
        api: (*api).to_owned(),
        url: (*url).to_owned(),
        body: body.clone(),
    };
    let asked: Vec<Asked> = mistakes.iter().map(ask).collect();
    for ((api, _, body, expected), reasons) in mistakes.iter().zip(judge(&python, &asked).unwrap()) {
        assert!(reasons.iter().any(|reason| reason.contains(expected)), "{api} {body}: {reasons:?}");
    }
}
