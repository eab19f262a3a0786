//! The recorded traffic of real providers, and the codecs that read it.

use std::path::PathBuf;
use std::sync::LazyLock;

use attache::models::Registry;
use attache_cohere::CohereCodec;
use attache_conformance::{CassetteIndex, Expectation};
use attache_openai::{ChatCodec, Profile};
use attache_transport::Codec;
use attache_transport::cassette::{Cassette, CassetteError, RecordedCall, RecordedResponse};

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
    /// The request.
    pub request: RecordedCall,
    /// The answer.
    pub response: RecordedResponse,
    /// Its content.
    pub expected: Expectation,
}

impl Recorded {
    /// A codec for the answer. The folder has the name of the server, which tells the profile.
    pub fn codec(&self) -> Option<Box<dyn Codec>> {
        static REGISTRY: LazyLock<Registry> =
            LazyLock::new(|| Registry::bundled().with_codec("cohere", "cohere", CohereCodec::new));
        let folder = self.name.split('/').next().unwrap_or_default();
        REGISTRY.recorded(&self.request, folder).map(|(_, codec)| codec)
    }
}

/// The protocols in the order of the index's README, each with a codec that reads it.
pub const PROTOCOLS: [&str; 7] =
    ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock-converse", "ollama", "cohere"];

/// A codec for answers of a protocol that no server is named for.
pub fn codec(protocol: &str) -> Option<Box<dyn Codec>> {
    Some(match protocol {
        "openai-chat" => Box::new(ChatCodec::new(Profile::compatible(MODEL, "http://localhost"), MODEL)),
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
                    request: interaction.request,
                    response: interaction.response,
                    expected: expected.clone(),
                });
            }
        }
    }
    Ok(found)
}
