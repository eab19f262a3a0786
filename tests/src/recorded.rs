//! The recorded traffic of real providers, and the codecs that read it.

use std::path::PathBuf;
use std::sync::Arc;

use attache_cohere::CohereCodec;
use attache_conformance::{CassetteIndex, Expectation};
use attache_openai::{ChatCodec, OllamaCodec, Profile, Profiles, ResponsesCodec};
use attache_transport::Codec;
use attache_transport::cassette::{Cassette, CassetteError, RecordedResponse};

use crate::api::APIS;

/// The name of the model where the model does not matter.
const MODEL: &str = "recorded";

/// A recorded answer of a provider, and what an independent parser found in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// The file and the number of the interaction in it.
    pub name: String,
    /// The protocol, as the index names it.
    pub protocol: String,
    /// The answer.
    pub response: RecordedResponse,
    /// Its content.
    pub expected: Expectation,
}

impl Recorded {
    /// A codec for the answer. Which calls of Responses are for a client depends on the server, which names the folder.
    pub fn codec(&self) -> Option<Box<dyn Codec>> {
        let folder = self.name.split('/').next().unwrap_or_default();
        match Profiles::bundled().get(folder).filter(|_| self.protocol == "openai-responses") {
            Some(profile) => Some(Box::new(ResponsesCodec::new(Arc::clone(profile), MODEL))),
            None => codec(&self.protocol),
        }
    }
}

/// The protocols in the order of the index's README, each with a codec that reads it.
pub const PROTOCOLS: [&str; 7] =
    ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock-converse", "ollama", "cohere"];

/// A codec for answers of a protocol, as the server that it is named for gives them.
pub fn codec(protocol: &str) -> Option<Box<dyn Codec>> {
    Some(match protocol {
        "openai-chat" => Box::new(ChatCodec::new(Profile::compatible(MODEL, "http://localhost"), MODEL)),
        "ollama" => Box::new(OllamaCodec::new(MODEL)),
        "cohere" => Box::new(CohereCodec::new(MODEL)),
        _ => APIS.into_iter().find(|api| api.name() == protocol)?.codec_of(MODEL),
    })
}

/// The folder of the recordings.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/cassettes")
}

/// Every recorded model call, those of protocols that nobody reads included.
///
/// # Errors
/// When the recordings cannot be read.
pub fn recordings() -> Result<Vec<Recorded>, CassetteError> {
    let index = CassetteIndex::load(folder().join("index.json"))?;
    let mut found = Vec::new();
    for file in &index.files {
        let cassette = Cassette::load(folder().join(&file.file))?;
        for (at, (interaction, expected)) in cassette.interactions.into_iter().zip(&file.expect).enumerate() {
            let Some(protocol) = &expected.protocol else { continue };
            if matches!(expected.kind.as_str(), "generate" | "error") {
                found.push(Recorded {
                    name: format!("{}[{at}]", file.file),
                    protocol: protocol.clone(),
                    response: interaction.response,
                    expected: expected.clone(),
                });
            }
        }
    }
    Ok(found)
}
