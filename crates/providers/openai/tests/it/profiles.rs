//! The bundled profiles: addresses and keys, and one conversation with tools, reasoning and a document as each of them
//! renders it, so that a change of data shows.

#![cfg(test)]

use std::sync::Arc;

use attache_conformance::{Rules, validate_chat_with};
use attache_core::capability::Matrix;
use attache_core::message::{Routed, UserOrigin};
use attache_core::settings::Unsupported;
use attache_core::{
    ChatRequest, Document, Effort, Message, ModelSettings, Reasoning, ResponseFormat, Secret, ToolDefinition,
    ToolResult, ToolSet, UserMessage, UserPart,
};
use attache_openai::{Api, ChatCodec, OllamaCodec, Profile, Profiles, ResponsesCodec};
use attache_transport::{Ask, Auth, Codec as _, Environment};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::common;
use crate::common::{answers, tools, user, whole};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A model of each profile.
const MODELS: [(&str, &str); 24] = [
    ("azure", "gpt-5"),
    ("cerebras", "gpt-oss-120b"),
    ("deepseek", "deepseek-v4-flash"),
    ("docker", "ai/smollm2"),
    ("gemini-chat", "gemini-3-pro-preview"),
    ("github-models", "openai/gpt-4.1"),
    ("groq", "openai/gpt-oss-120b"),
    ("huggingface", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
    ("llamacpp", "local"),
    ("lmstudio", "qwen3-vl-8b"),
    ("minimax", "MiniMax-M3"),
    ("mistral", "magistral-medium-latest"),
    ("moonshot", "kimi-k2.6"),
    ("ollama-chat", "qwen3:4b"),
    ("openai-chat", "gpt-4o"),
    ("openrouter", "anthropic/claude-haiku-4.5"),
    ("perplexity", "sonar-reasoning-pro"),
    ("qwen", "qwen3-vl-plus"),
    ("together", "openai/gpt-oss-20b"),
    ("vllm", "Qwen/Qwen3-VL-8B"),
    ("xai-chat", "grok-3-mini"),
    ("zai", "glm-5.2"),
    ("zhipu", "glm-4.6v"),
    ("groq", "qwen/qwen3-32b"),
];

fn profile(name: &str) -> Arc<Profile> {
    Arc::clone(Profiles::bundled().get(name).unwrap())
}

fn codec(name: &str, model: &str) -> ChatCodec {
    let mut codec = ChatCodec::new(profile(name), model);
    if codec.profile().base_url.is_empty() {
        codec.set_base_url("https://resource.example/openai/v1".to_owned());
    }
    codec
}

/// A reply in the form of the server: reasoning and a call.
fn replied(codec: &ChatCodec, form: &str) -> attache_core::AssistantMessage {
    let mut call = json!({"index": 0, "id": "call_00_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}});
    let mut message = match form {
        "reasoning" => json!({"content": "", "reasoning": "hm"}),
        "details" => {
            json!({"content": null, "reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}]})
        }
        "parts" => {
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]})
        }
        "extra" => {
            call["extra_content"] = json!({"google": {"thought_signature": "s"}});
            json!({"content": null})
        }
        _ => json!({"content": "", "reasoning_content": "hm"}),
    };
    message["tool_calls"] = json!([call]);
    let body = whole(message, "tool_calls");
    let reply = attache_transport::replay(codec, StatusCode::OK, &HeaderMap::new(), [body]);
    assert!(reply.error.is_none(), "{:?}", reply.error);
    reply.completion.message
}

fn form(name: &str) -> &'static str {
    match name {
        "groq" | "ollama-chat" | "vllm" | "together" | "huggingface" => "reasoning",
        "openrouter" | "minimax" => "details",
        "mistral" => "parts",
        "gemini-chat" => "extra",
        _ => "reasoning_content",
    }
}

fn conversation(codec: &ChatCodec, name: &str) -> ChatRequest {
    let capabilities = codec.capabilities();
    let options = ModelSettings::new()
        .with_unsupported(Unsupported::Degrade)
        .with_system("You are kind.")
        .with_max_tokens(100)
        .with_temperature(0.0)
        .with_seed(7)
        .with_top_k(3)
        .with_reasoning(Reasoning::Effort(Effort::High))
        .with_response_format(ResponseFormat::JsonObject);
    let mut messages = vec![Message::system("Answer in JSON.").shared(), user("Read it")];
    let beside = &capabilities.beside_result;
    let documents = [
        Document::from_bytes(PNG, "image/png"),
        Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("q3.pdf"),
        Document::from_bytes(&b"a,b\n"[..], "text/csv").with_file_name("q3.csv"),
    ];
    let parts = documents.into_iter().filter(|document| beside.accepts(document.media_type()));
    let mut synthetic = UserMessage::new([UserPart::text("[q3]")].into_iter().chain(parts.map(Into::into)));
    synthetic.origin = UserOrigin::ToolCallDocuments;
    if capabilities.tools {
        let reply = replied(codec, form(name));
        let mut result = ToolResult::ok(reply.tool_calls().next().unwrap(), "see q3");
        result.routed = Some(Routed::new(Vec::new(), 1));
        messages.extend([Message::Assistant(reply).shared(), answers([result])]);
    }
    messages.push(Message::User(synthetic).shared());
    let request = ChatRequest::new(messages).with_settings(options);
    if capabilities.tools { request.with_tools(tools()) } else { request }
}

#[test]
fn one_conversation_as_each_profile_renders_it() {
    for profile in Profiles::bundled().iter().filter(|profile| profile.api == Api::Chat) {
        assert!(MODELS.iter().any(|(name, _)| *name == profile.name), "{} is not shown", profile.name);
    }
    for (name, model) in MODELS {
        let codec = codec(name, model);
        let request = conversation(&codec, name);
        let encoded =
            codec.encode(Ask::new(&request, &request.settings, Some(&Secret::new("canary")))).unwrap();
        let headers: Vec<_> =
            encoded.parts.shown_headers().map(|(name, value)| format!("{name}: {value}")).collect();
        let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
        validate_chat_with(&body, &Rules::new().with_compatible_fields(true))
            .unwrap_or_else(|violation| panic!("{name}: {violation} in {body:#}"));
        let left_out: Vec<_> = encoded
            .degradations
            .iter()
            .map(|degradation| format!("- {}: {}", degradation.option, degradation.note))
            .collect();
        insta::assert_snapshot!(
            format!("{name}_{}", model.replace(['/', ':'], "_")),
            format!(
                "POST {}\n{}\n\n{}\n\n{}",
                encoded.parts.url,
                headers.join("\n"),
                left_out.join("\n"),
                common::shown(&body)
            )
        );
    }
}

// openai.md C.0
#[test]
fn every_profile_finds_its_key_and_address() {
    for profile in Profiles::bundled().iter() {
        let mut codec = ChatCodec::new(Arc::clone(profile), "m");
        let empty = codec.configure(&Environment::new(|_| None)).unwrap();
        assert_eq!(codec.check(&empty).is_err(), profile.key.required, "{}", profile.name);
        let filled = Environment::new(|name| {
            Some(match name {
                name if name.ends_with("KEY") || name.ends_with("TOKEN") => "canary".to_owned(),
                "OPENAI_API_VERSION" => "2024-10-21".to_owned(),
                _ => "http://127.0.0.1:1/base".to_owned(),
            })
        });
        let auth = codec.configure(&filled).unwrap();
        assert!(codec.check(&auth).is_ok());
        assert_eq!(auth.key().is_some(), !profile.key.variables.is_empty(), "{}", profile.name);
        assert!(codec.profile().base_url.starts_with("http://127.0.0.1:1/base"), "{}", profile.name);
        assert!(!format!("{auth:?} {codec:?}").contains("canary"));
    }
}

// openai.md C.11
#[test]
fn azure_is_where_its_variables_say() {
    let with = |variables: &'static [(&str, &str)]| {
        let mut codec = ChatCodec::new(profile("azure"), "gpt-4o");
        let environment = Environment::new(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        let auth = codec.configure(&environment).unwrap();
        let request = ChatRequest::new([user("Hi")]);
        (codec.encode(Ask::new(&request, &request.settings, auth.key())), auth)
    };
    const ENDPOINT: (&str, &str) = ("AZURE_OPENAI_ENDPOINT", "https://r.example");
    let (dated, auth) =
        with(&[ENDPOINT, ("OPENAI_API_VERSION", "2024-10-21"), ("AZURE_OPENAI_API_KEY", "canary")]);
    let dated = dated.unwrap().parts;
    assert_eq!(
        dated.url,
        "https://r.example/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
    );
    assert!(dated.shown_headers().any(|header| header == ("api-key", "***")));
    assert!(auth.key().is_some());
    let (undated, auth) = with(&[ENDPOINT, ("AZURE_OPENAI_AD_TOKEN", "canary")]);
    let undated = undated.unwrap().parts;
    assert_eq!(undated.url, "https://r.example/openai/v1/chat/completions");
    assert!(undated.shown_headers().all(|(name, _)| name != "api-key"));
    assert!(matches!(auth, Auth::Signer(_)) && !format!("{auth:?}").contains("canary"));
    let (nowhere, _) = with(&[]);
    assert_eq!(nowhere.unwrap_err().message(), "no address for azure: set AZURE_OPENAI_ENDPOINT");
}

// Azure's own documentation: texts, numbers and lists have no bounds where it enforces a schema.
#[test]
fn azure_enforces_schemas_without_bounds() {
    let schema = json!({"type": "object", "properties": {"count": {"type": "integer", "minimum": 0}},
        "required": ["count"]});
    let tool = ToolDefinition::new("count", "", schema).with_strict(true);
    let request = ChatRequest::new([user("Hi")]).with_tools(ToolSet::new([tool]).unwrap());
    for (name, at) in [("azure", "/tools/0/function"), ("azure-responses", "/tools/0")] {
        let environment = Environment::new(|name| match name {
            "AZURE_OPENAI_API_KEY" => Some("canary".to_owned()),
            "AZURE_OPENAI_ENDPOINT" => Some("https://r.example".to_owned()),
            _ => None,
        });
        let encoded = if name == "azure" {
            let mut codec = ChatCodec::new(profile(name), "gpt-4o");
            let auth = codec.configure(&environment).unwrap();
            codec.encode(Ask::new(&request, &request.settings, auth.key()))
        } else {
            let mut codec = ResponsesCodec::new(profile(name), "gpt-4o");
            let auth = codec.configure(&environment).unwrap();
            codec.encode(Ask::new(&request, &request.settings, auth.key()))
        };
        let body: Value = serde_json::from_slice(&encoded.unwrap().parts.body.to_vec()).unwrap();
        let tool = body.pointer(at).unwrap();
        assert_eq!(tool["strict"], true, "{body}");
        let count = &tool["parameters"]["properties"]["count"];
        assert_eq!(*count, json!({"type": "integer", "description": "minimum: 0"}), "{name}");
    }
}

// openai.md C.11: a token stands in `authorization`
#[tokio::test]
async fn a_token_authorizes_each_attempt() {
    let mut codec = ChatCodec::new(profile("azure"), "gpt-4o");
    let environment = Environment::new(|name| match name {
        "AZURE_OPENAI_AD_TOKEN" => Some("canary".to_owned()),
        "AZURE_OPENAI_ENDPOINT" => Some("https://r.example".to_owned()),
        _ => None,
    });
    let auth = codec.configure(&environment).unwrap();
    let request = ChatRequest::new([user("Hi")]);
    let mut parts = codec.encode(Ask::new(&request, &request.settings, None)).unwrap().parts;
    auth.signer().unwrap().authorize(&mut parts).await.unwrap();
    assert!(parts.shown_headers().any(|header| header == ("authorization", "***")));
    assert!(!format!("{parts:?}").contains("canary"));
}

// openai.md E
#[test]
fn media_types_are_taken_by_model() {
    let takes = |name: &str, model: &str, media: &str| {
        let media = attache_core::MediaType::parse(media).unwrap();
        codec(name, model).capabilities().user.accepts(&media)
    };
    for (name, model, media, expected) in [
        ("azure", "gpt-4o", "application/pdf", false),
        ("deepseek", "deepseek-v4-pro", "image/png", false),
        ("groq", "meta-llama/llama-4-maverick-17b-128e-instruct", "image/png", true),
        ("groq", "llama-3.3-70b-versatile", "image/png", false),
        ("mistral", "mistral-large-latest", "application/pdf", true),
        ("mistral", "codestral-latest", "image/png", false),
        ("minimax", "MiniMax-M3", "video/mp4", true),
        ("moonshot", "kimi-k2.6", "image/png", true),
        ("openrouter", "anthropic/claude-haiku-4.5", "application/pdf", true),
        ("qwen", "qwen3-vl-235b-a22b-thinking", "image/png", true),
        ("qwen", "qwen3-omni-flash", "audio/wav", true),
        ("zhipu", "glm-4.6v-flash", "image/png", true),
        ("zai", "glm-5v-turbo", "image/png", true),
        ("zai", "glm-4.7", "image/png", false),
        ("ollama-chat", "qwen3-vl:8b", "image/png", true),
        ("ollama-chat", "qwen3:8b", "image/png", false),
    ] {
        assert_eq!(takes(name, model, media), expected, "{name}/{model} {media}");
    }
    // D 65: nothing is enforced in the cloud
    for model in ["gpt-oss:120b-cloud", "qwen3-coder:480b-cloud", "deepseek-v3.1:671b-cloud"] {
        let promised = codec("ollama-chat", model).capabilities().structured_output;
        assert_eq!(promised, attache_core::capability::StructuredOutput::None, "{model}");
    }
    for profile in Profiles::bundled().iter() {
        assert_ne!(codec(&profile.name, "m").capabilities().row, "unknown", "{} has no rows", profile.name);
    }
}

// documents.md 9.2 D5: what the rows declare can be sent, by both codecs of this crate
#[test]
fn declared_media_types_are_sent() {
    let matrix = Matrix::bundled();
    let mut sent = 0;
    for profile in Profiles::bundled().iter().filter(|profile| profile.api == Api::Chat) {
        for model in matrix.patterns(&profile.family).into_iter().chain(["m"]) {
            let chat = codec(&profile.name, model);
            let native = OllamaCodec::new(model);
            let codecs: [&dyn attache_transport::Codec; 2] = [&chat, &native];
            for codec in codecs.into_iter().take(if profile.name == "ollama-chat" { 2 } else { 1 }) {
                for media in codec.capabilities().user.media.iter().filter(|media| *media != "text") {
                    let document = Document::from_bytes(&[0_u8, 1, 2, 3][..], media);
                    assert_eq!(document.media_type().essence(), media);
                    let message = Message::User(UserMessage::new([document.into()])).shared();
                    let request = ChatRequest::new([message]);
                    let encoded = codec.encode(Ask::new(&request, &request.settings, None));
                    let encoded = encoded.unwrap_or_else(|error| panic!("{}: {error}", codec.model_id()));
                    let body = String::from_utf8(encoded.parts.body.to_vec()).unwrap();
                    assert!(body.contains("AAECAw=="), "{} {media}: {body}", codec.model_id());
                    sent += 1;
                }
            }
        }
    }
    assert!(sent > 100, "only {sent}");
}
