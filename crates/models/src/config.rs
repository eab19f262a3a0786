//! A registry's configuration file.

use std::sync::Arc;

use attache_core::capability::{Matrix, MatrixError};
use serde::Deserialize;
use toml::Table;

use crate::registry::Registry;

/// Why text is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not TOML, or has a section that is unknown.
    #[error("the configuration is not valid: {0}")]
    Syntax(String),
    /// Its part about models is wrong.
    #[error("{0}")]
    Capabilities(#[from] MatrixError),
    /// A profile of its providers is wrong.
    #[cfg(feature = "openai")]
    #[error("{0}")]
    Profiles(#[from] attache_openai::ProfileError),
    /// It describes providers, and the feature that speaks to them is not enabled.
    #[error("[providers] describes servers with an API of OpenAI's, which this program was built without")]
    NoProfiles,
    /// Its part about uploads is wrong.
    #[error("{0}")]
    Uploads(String),
    /// A name for a model holds a slash, so that it could not be told from a provider's model.
    #[error("the name {0:?} for a model holds a slash")]
    Name(String),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    uploads: Option<toml::Value>,
    providers: Table,
    models: std::collections::BTreeMap<String, String>,
    capabilities: Table,
}

impl Registry {
    /// Adds what a configuration says, in TOML:
    ///
    /// * `uploads = true`: models upload large documents once, where their API has files. A size instead of `true`, as in
    ///   `uploads = "2 MiB"`, says from which on; a table says both that and for how long files are kept,
    ///   `uploads = { above = "2 MiB", hours = 2 }`.
    /// * `[providers.NAME]`: a compatible server as a profile, with the members of `attache_openai::Profile`; `like`
    ///   names a profile to start from, whose variables do not move a `base_url` that is said here. A bundled one of the
    ///   same name is changed member by member. Its rows are those of `family`; of a new one without, those of
    ///   `[capabilities.NAME]` if there is such a section, else those of `like`.
    /// * `[models]`: names that stand for models, `fast = "groq/llama-3.3-70b-versatile"`.
    /// * `[capabilities]`: what is known of models, in the form of the [`Matrix`](attache_core::capability::Matrix). A section that
    ///   [no provider has](Self::families_of_nobody) is kept, and told as a warning of `tracing`: providers may be added later.
    ///
    /// These are four sections of an `attache.toml`. `attache_config::Config` reads all of one.
    ///
    /// # Errors
    /// [`ConfigError`] says what is wrong and where.
    pub fn with_config(self, text: &str) -> Result<Self, ConfigError> {
        let Config { uploads, mut providers, models, capabilities } =
            toml::from_str(text).map_err(|error| ConfigError::Syntax(error.message().to_owned()))?;
        for (name, profile) in &mut providers {
            // The section that has the server's own name is about the server.
            if let Some(profile) = profile.as_table_mut()
                && capabilities.contains_key(name)
                && !self.has_profile(name)
            {
                profile.entry("family").or_insert_with(|| name.clone().into());
            }
        }
        let mut registry = self;
        if let Some(uploads) = uploads {
            registry = registry.with_uploads(crate::uploads::read(&uploads).map_err(ConfigError::Uploads)?);
        }
        if !capabilities.is_empty() {
            let matrix = Arc::new(registry.matrix().merged_with(&text_of(&capabilities)?)?);
            registry = registry.with_matrix(matrix);
        }
        if let Some(name) = models.keys().find(|name| name.contains('/')) {
            return Err(ConfigError::Name(name.clone()));
        }
        let registry =
            models.into_iter().fold(registry, |registry, (name, model)| registry.with_name(name, model));
        let registry = registry.with_profiles(&providers)?;
        for family in registry.families_of_nobody().filter(|family| capabilities.contains_key(*family)) {
            tracing::warn!(family, "the capabilities of this family count for no model: no provider has it");
        }
        Ok(registry)
    }

    /// The families of the matrix that are not bundled, that no provider has, and that no other family is like: their rows
    /// count for no model.
    pub fn families_of_nobody(&self) -> impl Iterator<Item = &str> {
        let bundled = Matrix::bundled();
        let is_bundled = |family: &str| bundled.families().any(|known| known == family);
        let is_had = |family: &str| self.providers().any(|(_, of)| of == family);
        let matrix = self.matrix();
        let is_liked =
            |family: &str| matrix.families().any(|other| matrix.likes(other).any(|like| like == family));
        let families = matrix.families();
        families.filter(move |family| !is_bundled(family) && !is_had(family) && !is_liked(family))
    }

    #[cfg(feature = "openai")]
    fn has_profile(&self, name: &str) -> bool {
        self.profiles.get(name).is_some()
    }

    #[cfg(not(feature = "openai"))]
    fn has_profile(&self, _: &str) -> bool {
        false
    }

    #[cfg(feature = "openai")]
    fn with_profiles(mut self, tables: &Table) -> Result<Self, ConfigError> {
        if tables.is_empty() {
            return Ok(self);
        }
        self.profiles = Arc::new(self.profiles.merged_with(&text_of(tables)?)?);
        let profiles = Arc::clone(&self.profiles);
        let named = tables.keys().filter_map(|name| profiles.get(name));
        Ok(named.fold(self, crate::bundled::with_profile))
    }

    #[cfg(not(feature = "openai"))]
    fn with_profiles(self, tables: &Table) -> Result<Self, ConfigError> {
        if tables.is_empty() { Ok(self) } else { Err(ConfigError::NoProfiles) }
    }
}

/// A section as a text of its own.
fn text_of(section: &Table) -> Result<String, ConfigError> {
    toml::to_string(section).map_err(|error| ConfigError::Syntax(error.to_string()))
}
