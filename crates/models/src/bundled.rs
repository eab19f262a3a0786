//! The providers that are bundled with attache.

#[cfg(feature = "openai")]
use std::sync::Arc;

#[cfg(feature = "openai")]
use attache_openai::{Api, ChatCodec, OllamaCodec, Profile, ResponsesCodec};

use crate::registry::Registry;

impl Registry {
    /// Creates a registry of the providers whose crate features are enabled; `openai` includes every bundled profile.
    pub fn bundled() -> Self {
        add(Self::empty())
    }
}

fn add(registry: Registry) -> Registry {
    #[cfg(feature = "openai")]
    let registry = {
        let profiles = Arc::clone(&registry.profiles);
        let registry = profiles.iter().fold(registry, with_profile);
        registry.with_codec("ollama", "ollama", OllamaCodec::new)
    };
    #[cfg(feature = "anthropic")]
    let registry = registry.with_codec("anthropic", "anthropic", attache_anthropic::MessagesCodec::new);
    #[cfg(feature = "bedrock")]
    let registry = registry.with_codec("bedrock", "bedrock-converse", attache_bedrock::ConverseCodec::new);
    #[cfg(feature = "gemini")]
    let registry = registry.with_codec("gemini", "gemini", attache_gemini::GenerateCodec::new).with_codec(
        "vertex",
        "vertex",
        attache_gemini::GenerateCodec::vertex,
    );
    #[cfg(feature = "anthropic")]
    let registry = registry.with_codec_for(
        "vertex",
        "vertex",
        |model| model.api.as_deref() == Some("anthropic"),
        attache_anthropic::MessagesCodec::vertex,
    );
    #[cfg(feature = "offline")]
    let registry = registry.with_provider("offline", "offline", |model, settings| {
        if model != "extractive" {
            let problem = format!("there is no offline/{model}; the one model is offline/extractive");
            return Err(attache_transport::configuration(problem));
        }
        Ok(attache_offline::OfflineModel::named(model).with_matrix(&settings.matrix).into())
    });
    registry
}

/// Adds a server that speaks an API of OpenAI's.
#[cfg(feature = "openai")]
pub(crate) fn with_profile(registry: Registry, profile: &Arc<Profile>) -> Registry {
    let (shared, name, family) = (Arc::clone(profile), profile.name.clone(), profile.family.clone());
    match profile.api {
        Api::Responses => {
            registry.with_codec(name, family, move |model| ResponsesCodec::new(Arc::clone(&shared), model))
        }
        _ => registry.with_codec(name, family, move |model| ChatCodec::new(Arc::clone(&shared), model)),
    }
}
