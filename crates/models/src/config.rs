//! A registry's configuration file.

use std::sync::Arc;

use attache_core::capability::{Matrix, MatrixError};
use serde::Deserialize;
use toml::Table;

use crate::registry::Registry;

/// The reason why a text is not a valid configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not TOML or has an unknown section.
    #[error("the configuration is not valid: {0}")]
    Syntax(String),
    /// The capabilities section is invalid.
    #[error("{0}")]
    Capabilities(#[from] MatrixError),
    /// A provider profile is invalid.
    #[cfg(feature = "openai")]
    #[error("{0}")]
    Profiles(#[from] attache_openai::ProfileError),
    /// The text defines providers, but the required feature is not enabled.
    #[error("[providers] describes servers with an API of OpenAI's, which this program was built without")]
    NoProfiles,
    /// The uploads setting is invalid.
    #[error("{0}")]
    Uploads(String),
    /// A provider contains a variable `${NAME}`, which only `attache_config::Config` substitutes.
    #[error(
        "the profile {profile} is not valid: nobody fills in {variable} here; read the file by `attache_config::Config`, \
         or name the variable in `key.variables` or `header_variables`"
    )]
    Variable {
        /// The server's name.
        profile: String,
        /// The variable as it is written, `${NAME}`.
        variable: String,
    },
    /// An alias contains a slash, so that it cannot be distinguished from `provider/model`.
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
    /// Adds the settings of a configuration in TOML:
    ///
    /// * `uploads = true`: models upload large documents once, if their API supports files. A size instead of `true`,
    ///   as in `uploads = "2 MiB"`, sets the minimum size; a table sets both that and how long files are kept,
    ///   `uploads = { above = "2 MiB", hours = 2 }`.
    /// * `[providers.NAME]`: a compatible server as a profile, with the members of `attache_openai::Profile`; `like`
    ///   names a base profile, whose variables do not override a `base_url` that is set here. A bundled profile of the
    ///   same name is changed member by member. The capability rows are those of `family`; for a new profile without
    ///   `family`, those of `[capabilities.NAME]` if there is such a section, otherwise those of `like`.
    /// * `[models]`: aliases of models, `fast = "groq/llama-3.3-70b-versatile"`.
    /// * `[capabilities]`: capabilities of models, in the form of the [`Matrix`](attache_core::capability::Matrix). A
    ///   section that [no provider uses](Self::families_of_nobody) is kept and logged as a `tracing` warning: providers
    ///   may be added later.
    ///
    /// These are four sections of an `attache.toml`. `attache_config::Config` reads the whole file.
    ///
    /// # Errors
    /// [`ConfigError`] with the problem and its place.
    pub fn with_config(self, text: &str) -> Result<Self, ConfigError> {
        let Config { uploads, mut providers, models, capabilities } =
            toml::from_str(text).map_err(|error| ConfigError::Syntax(error.message().to_owned()))?;
        if let Some((profile, variable)) =
            providers.iter().find_map(|(name, profile)| Some((name, variable(profile)?)))
        {
            let (profile, variable) = (profile.clone(), variable.to_owned());
            return Err(ConfigError::Variable { profile, variable });
        }
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

    /// The families of the matrix that are not bundled, that no provider uses, and that no other family is based on:
    /// their rows apply to no model.
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

/// The first `${NAME}` in a value.
fn variable(value: &toml::Value) -> Option<&str> {
    match value {
        toml::Value::String(text) => {
            let (_, name) = text.split_at(text.find("${")?);
            let end = name.find('}')?;
            name.get(..=end)
        }
        toml::Value::Array(items) => items.iter().find_map(variable),
        toml::Value::Table(members) => members.values().find_map(variable),
        _ => None,
    }
}

/// A section as a text of its own.
fn text_of(section: &Table) -> Result<String, ConfigError> {
    toml::to_string(section).map_err(|error| ConfigError::Syntax(error.to_string()))
}
