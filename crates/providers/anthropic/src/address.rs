//! Where models are reached: Anthropic's own API, or Vertex AI.

use attache_core::{ModelCapabilities, Secret};
use attache_transport::{
    Auth, Environment, RequestParts, google_auth, join_url, missing_key, missing_project, vertex_host,
};
use http::HeaderName;
use http::header::AUTHORIZATION;

use crate::capabilities::FAMILY;
use crate::error::{Result, configuration};

/// The variables that hold a key, and a token that takes its place.
const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
const TOKEN_VARIABLE: &str = "ANTHROPIC_AUTH_TOKEN";

/// The public API.
const OWN: &str = "https://api.anthropic.com";

/// A platform, as far as addresses and credentials go. (anthropic.md 1, 13)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    Anthropic,
    Vertex { project: String, location: String },
}

impl Platform {
    /// The name in model ids.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Anthropic => FAMILY,
            Self::Vertex { .. } => "vertex",
        }
    }

    /// The variable that may hold another base URL.
    pub(crate) fn url_variable(&self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Vertex { .. } => "ANTHROPIC_VERTEX_BASE_URL",
        }
    }

    /// True if a base URL, or none, leads to the platform itself and to no other server.
    pub(crate) fn is_own(&self, base: Option<&str>) -> bool {
        base.is_none_or(|base| {
            let base = base.trim_end_matches('/');
            *self == Self::Anthropic && base.strip_suffix("/v1").unwrap_or(base) == OWN
        })
    }

    /// The address of a path below the version of the API.
    pub(crate) fn url(&self, base: Option<&str>, path: &str) -> Result<String> {
        let own = match self {
            Self::Anthropic => OWN.to_owned(),
            Self::Vertex { location, .. } => vertex_host(location),
        };
        let base = base.unwrap_or(&own);
        let place = base.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let path = match self {
            Self::Anthropic => path.to_owned(),
            Self::Vertex { project, location } => {
                let location = if location.is_empty() { "global" } else { location };
                format!("projects/{project}/locations/{location}/publishers/anthropic/models/{path}")
            }
        };
        if place.ends_with("/v1") { join_url(base, &path) } else { join_url(base, &format!("v1/{path}")) }
    }

    /// The address that answers messages. On Vertex AI it names the model.
    pub(crate) fn messages(&self, base: Option<&str>, model: &str, whole: bool) -> Result<String> {
        match self {
            Self::Anthropic => self.url(base, "messages"),
            Self::Vertex { .. } => {
                let legal = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
                if !model.chars().all(legal) || model.contains("..") {
                    return Err(configuration(format!("{model:?} is no model's name")));
                }
                let method = if whole { "rawPredict" } else { "streamRawPredict" };
                self.url(base, &format!("{model}:{method}"))
            }
        }
    }

    /// The capabilities of a model there: Vertex AI keeps no files and fetches none.
    pub(crate) fn fitted(&self, mut capabilities: ModelCapabilities) -> ModelCapabilities {
        if let Self::Vertex { .. } = self {
            capabilities.files.upload = None;
            capabilities.files.max_upload_bytes = None;
            capabilities.files.urls = None;
            for place in [
                &mut capabilities.user,
                &mut capabilities.tool_result,
                &mut capabilities.failed_result,
                &mut capabilities.beside_result,
            ] {
                place.references.clear();
            }
        }
        capabilities
    }

    /// Takes what is not set from the environment, and credentials.
    pub(crate) fn configure(&mut self, environment: &Environment) -> Result<Auth> {
        let Self::Vertex { project, location } = self else {
            if let Some(key) = environment.get(KEY_VARIABLE) {
                return Ok(Auth::from(key));
            }
            let token = environment.get(TOKEN_VARIABLE).map(Auth::bearer);
            return token.ok_or_else(|| missing_key(FAMILY, &[KEY_VARIABLE]));
        };
        if project.is_empty() {
            let set = environment.first(["ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"]);
            *project = set.ok_or_else(missing_project)?;
        }
        if location.is_empty() {
            let set = environment.first(["CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"]);
            *location = set.unwrap_or_default();
        }
        google_auth(environment)
    }

    /// Fails where requests cannot be addressed at all.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Vertex { project, .. } if project.is_empty() => Err(missing_project()),
            _ => Ok(()),
        }
    }

    /// Adds the key where the platform looks for it.
    pub(crate) fn authorized(&self, parts: RequestParts, key: &Secret) -> RequestParts {
        match self {
            Self::Anthropic => parts.with_secret_header(HeaderName::from_static("x-api-key"), "", key),
            Self::Vertex { .. } => parts.with_secret_header(AUTHORIZATION, "Bearer ", key),
        }
    }
}
