//! The providers that come with attache.

use crate::registry::Registry;

/// Adds the providers whose features are enabled.
pub(crate) fn add(registry: Registry) -> Registry {
    #[cfg(feature = "openai")]
    let registry = {
        let profiles = std::sync::Arc::clone(&registry.profiles);
        profiles.iter().fold(registry, |registry, profile| with_profile(registry, profile))
    };
    #[cfg(feature = "anthropic")]
    let registry = registry.with_codec("anthropic", "anthropic", attache_anthropic::MessagesCodec::new);
    #[cfg(feature = "offline")]
    let registry = registry.with_provider("offline", "offline", |model, settings| {
        Ok(attache_offline::OfflineModel::named(model).with_matrix(&settings.matrix).into())
    });
    registry
}

/// Adds a server that speaks an API of OpenAI's.
#[cfg(feature = "openai")]
pub(crate) fn with_profile(
    registry: Registry,
    profile: &std::sync::Arc<attache_openai::Profile>,
) -> Registry {
    let shared = std::sync::Arc::clone(profile);
    registry.with_codec(profile.name.clone(), profile.family.clone(), move |model| {
        attache_openai::ChatCodec::new(std::sync::Arc::clone(&shared), model)
    })
}
