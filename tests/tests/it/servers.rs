//! Every scenario for every compatible server: what its profile renders, the server's own rules accept.

use std::sync::Arc;

use attache_conformance::{Rules, Server, validate_chat_with};
use attache_core::capability::Place;
use attache_core::message::Routed;
use attache_core::settings::Unsupported;
use attache_core::{
    ChatRequest, Document, Effort, ErrorKind, Message, ModelSettings, Reasoning, UserMessage,
};
use attache_documents::{Materials, route};
use attache_openai::{ChatCodec, Profiles};
use attache_tests::{Scenario, scenarios};
use attache_transport::{Ask, Codec as _};
use serde_json::Value;

/// The profile of each server, and models of it that differ.
const SERVERS: [(Server, &str, &[&str]); 16] = [
    (Server::Azure, "azure", &["gpt-4o", "gpt-5"]),
    (Server::DeepSeek, "deepseek", &["deepseek-v4-flash", "deepseek-chat", "deepseek-reasoner"]),
    (Server::DockerModelRunner, "docker", &["ai/smollm2"]),
    (
        Server::Groq,
        "groq",
        &["llama-3.3-70b-versatile", "openai/gpt-oss-120b", "qwen/qwen3-32b", "meta-llama/llama-4-scout"],
    ),
    (Server::LlamaCpp, "llamacpp", &["local"]),
    (Server::LmStudio, "lmstudio", &["qwen3-vl-8b"]),
    (Server::MiniMax, "minimax", &["MiniMax-M2.7", "MiniMax-M3"]),
    (Server::Mistral, "mistral", &["mistral-small-latest", "magistral-medium-latest", "codestral-latest"]),
    (Server::Moonshot, "moonshot", &["kimi-k2.6", "kimi-k3", "moonshot-v1-8k"]),
    (Server::Ollama, "ollama-chat", &["qwen3:4b", "llava", "gpt-oss:20b-cloud"]),
    (
        Server::OpenRouter,
        "openrouter",
        &["anthropic/claude-haiku-4.5", "openai/gpt-4o", "minimax/minimax-m2"],
    ),
    (Server::Qwen, "qwen", &["qwen-plus", "qwen3-32b", "qwen3-vl-plus", "qwq-plus"]),
    (Server::Vllm, "vllm", &["Qwen/Qwen3-VL-8B", "mistralai/Devstral"]),
    (Server::Xai, "xai-chat", &["grok-4.3", "grok-3-mini"]),
    (Server::Zhipu, "zhipu", &["glm-4.7", "glm-5.3", "glm-4.6v"]),
    (Server::Zhipu, "zai", &["glm-5.2"]),
];

/// The body that is sent where the caller lets the provider leave out options. `None` if the author attached a
/// document that the model does not take, which routing refuses (C25).
fn body(codec: &ChatCodec, scenario: &Scenario, options: &ModelSettings, stream: bool) -> Option<Value> {
    let tools = Arc::new(scenario.tool_set());
    let routed =
        route(&scenario.messages, codec.capabilities(), &tools, &Materials::new(), &scenario.routing);
    let routing = match routed {
        Err(error)
            if error.kind() == ErrorKind::Unsupported
                && ["author_documents", "cited_documents"].contains(&scenario.name) =>
        {
            return None;
        }
        routed => routed.unwrap(),
    };
    let mut request =
        ChatRequest::new(routing.messages).with_tools(tools).with_tool_choice(scenario.tool_choice.clone());
    request.streaming = stream;
    let config =
        ModelSettings::new().with_unsupported(Unsupported::Degrade).merged(&scenario.options).merged(options);
    let encoded = codec.encode(Ask::new(&request, &config, None));
    let encoded = encoded.unwrap_or_else(|error| panic!("{} {}: {error}", codec.model_id(), scenario.name));
    Some(serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap())
}

// openai.md C, D
#[test]
fn every_server_accepts_every_scenario() {
    for server in Server::ALL {
        assert!(SERVERS.iter().any(|(known, ..)| *known == server), "{server:?} has no profile here");
    }
    let options = [
        ModelSettings::new(),
        ModelSettings::new().with_reasoning(Reasoning::Off),
        ModelSettings::new().with_reasoning(Reasoning::Effort(Effort::Medium)),
        ModelSettings::new().with_reasoning(Reasoning::Budget(2_000)),
        ModelSettings::new().with_seed(1).with_top_k(2).with_presence_penalty(0.5),
    ];
    let mut problems = Vec::new();
    let (mut judged, mut refused) = (0, 0);
    for (server, name, models) in SERVERS {
        let rules = Rules::for_server(server);
        for model in models {
            let mut codec = ChatCodec::new(Arc::clone(Profiles::bundled().get(name).unwrap()), model);
            codec.set_base_url("http://localhost/v1".to_owned());
            for scenario in scenarios() {
                for (at, options) in options.iter().enumerate() {
                    for stream in [true, false] {
                        let Some(body) = body(&codec, &scenario, options, stream) else {
                            refused += 1;
                            continue;
                        };
                        judged += 1;
                        if let Err(violation) = validate_chat_with(&body, &rules) {
                            let (case, path) = (scenario.name, &violation.path);
                            problems.push(format!(
                                "{name}/{model} {case} options {at} stream {stream}: {violation} at {path}"
                            ));
                        }
                    }
                }
            }
        }
    }
    problems.truncate(40);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // Options that a server cannot honour are refused before anything is sent.
    assert!(judged > refused, "{judged} bodies judged, {refused} requests refused");
}

// An address is passed on where the provider takes one: openai.md C.2, C.6, C.9
#[test]
fn every_server_accepts_the_addresses_that_its_profile_writes() {
    let mut written = Vec::new();
    // Models that take sound, which no part holds as an address.
    let sound: [(Server, &str, &[&str]); 3] = [
        (Server::Mistral, "mistral", &["voxtral-small-latest"]),
        (Server::OpenRouter, "openrouter", &["google/gemini-3-flash"]),
        (Server::Qwen, "qwen", &["qwen3-omni-flash"]),
    ];
    for (server, name, models) in SERVERS.into_iter().chain(sound) {
        let rules = Rules::for_server(server);
        for model in models {
            let mut codec = ChatCodec::new(Arc::clone(Profiles::bundled().get(name).unwrap()), model);
            codec.set_base_url("http://localhost/v1".to_owned());
            for (end, media) in
                [("png", "image/png"), ("mp4", "video/mp4"), ("pdf", "application/pdf"), ("wav", "audio/wav")]
            {
                let document =
                    Document::external(format!("https://files.example/a.{end}")).with_media_type(media);
                let taken = codec.capabilities().takes_url(Place::User, document.media_type());
                let mut message = UserMessage::new([document.into()]);
                message.routed = Some(Routed::new(message.parts.clone(), 1));
                let request = ChatRequest::new([Message::User(message).shared()]).streaming(false);
                match codec.encode(Ask::new(&request, &ModelSettings::new(), None)) {
                    Ok(encoded) => {
                        let body = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
                        let violation = validate_chat_with(&body, &rules).err();
                        assert!(taken && violation.is_none(), "{name}/{model} {media}: {violation:?}");
                        written.push(format!("{name} {end}"));
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Unsupported);
                        assert!(!taken, "{name}/{model} {media}: {error}");
                    }
                }
            }
        }
    }
    for case in [
        "mistral pdf",
        "openrouter png",
        "openrouter pdf",
        "qwen mp4",
        "vllm mp4",
        "xai-chat png",
        "zhipu pdf",
    ] {
        assert!(written.iter().any(|written| written == case), "{case}: {written:?}");
    }
    assert!(!written.iter().any(|written| written.starts_with("ollama")), "{written:?}");
}
