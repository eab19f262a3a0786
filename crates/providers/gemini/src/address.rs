//! Where models are reached: the Gemini API, or Vertex AI (gemini.md 1).

use attache_core::Secret;
use attache_transport::{
    Auth, Environment, RequestParts, google_auth, join_url, missing_project, vertex_host,
};
use http::HeaderName;
use http::header::AUTHORIZATION;

use crate::error::{Result, configuration};

/// The location that the newest models are reached at.
const GLOBAL: &str = "global";

const KEY_VARIABLES: [&str; 2] = ["GOOGLE_API_KEY", "GEMINI_API_KEY"];

/// A platform, as far as addresses and credentials go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Platform {
    Gemini,
    /// Without a project, keys of the platform's express mode are taken.
    Vertex {
        project: String,
        location: String,
    },
}

impl Platform {
    /// The name in model ids, the key of the capability table, and the tag of replay data: what one platform signed
    /// means nothing to the other.
    pub(crate) fn family(&self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Vertex { .. } => "vertex",
        }
    }

    /// The address of `path` at the platform, or below `base`: a base without a version gets the platform's.
    pub(crate) fn url(&self, base: Option<&str>, path: &str) -> Result<String> {
        let (own, version) = self.address();
        let base = base.unwrap_or(&own);
        match version_of(base) {
            Some(_) => join_url(base, path),
            None => join_url(base, &format!("{version}/{path}")),
        }
    }

    /// The address to which files are uploaded: a path of its own in front of the version.
    pub(crate) fn upload_url(&self, base: Option<&str>) -> Result<String> {
        let (own, version) = self.address();
        let base = base.unwrap_or(&own);
        let Some((before, named)) = version_of(base) else {
            return join_url(base, &format!("upload/{version}/files"));
        };
        let query = base.split_once('?').map_or("", |(_, query)| query);
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        join_url(&format!("{before}{query}"), &format!("upload/{named}/files"))
    }

    /// The platform's own address, and the version of its API.
    fn address(&self) -> (String, &'static str) {
        match self {
            Self::Gemini => ("https://generativelanguage.googleapis.com".to_owned(), "v1beta"),
            Self::Vertex { location, .. } => (vertex_host(location), "v1beta1"),
        }
    }

    /// The resource path of a model. A path is taken as it is.
    pub(crate) fn model_path(&self, model: &str) -> Result<String> {
        let legal = |c: char| c.is_ascii_alphanumeric() || "._-/@:".contains(c);
        if !model.chars().all(legal) || model.contains("..") {
            return Err(configuration(format!("{model:?} is no model's name")));
        }
        Ok(match self {
            Self::Gemini if model.contains('/') => model.to_owned(),
            Self::Gemini => format!("models/{model}"),
            Self::Vertex { .. } if model.starts_with("projects/") => model.to_owned(),
            Self::Vertex { .. } => {
                let below = match model.split_once('/') {
                    None => format!("publishers/google/models/{model}"),
                    Some(("models", name)) => format!("publishers/google/models/{name}"),
                    Some(("publishers", _)) => model.to_owned(),
                    Some((publisher, name)) => format!("publishers/{publisher}/models/{name}"),
                };
                self.parent().map_or(below.clone(), |parent| format!("{parent}/{below}"))
            }
        })
    }

    /// The path of the cached contents; `None` where there are none.
    pub(crate) fn caches_path(&self) -> Option<String> {
        match self {
            Self::Gemini => Some("cachedContents".to_owned()),
            Self::Vertex { .. } => self.parent().map(|parent| format!("{parent}/cachedContents")),
        }
    }

    /// The beginning of names of resources on Vertex AI.
    fn parent(&self) -> Option<String> {
        match self {
            Self::Vertex { project, location } if !project.is_empty() => {
                Some(format!("projects/{project}/locations/{location}"))
            }
            _ => None,
        }
    }

    /// Takes what is not set from the environment, and credentials.
    pub(crate) fn configure(&mut self, environment: &Environment) -> Result<Auth> {
        let Self::Vertex { project, location } = self else {
            return environment.key("gemini", &KEY_VARIABLES);
        };
        if project.is_empty() {
            *project = environment.get("GOOGLE_CLOUD_PROJECT").unwrap_or_default();
        }
        if location.is_empty() {
            let region = environment.first(["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"]);
            *location = region.unwrap_or_else(|| GLOBAL.to_owned());
        }
        match environment.get("GOOGLE_API_KEY").filter(|_| project.is_empty()) {
            Some(key) => Ok(Auth::from(key)),
            None if project.is_empty() => Err(missing_project()),
            None => google_auth(environment),
        }
    }

    /// Fails where requests cannot be addressed at all.
    pub(crate) fn check(&self, auth: &Auth) -> Result<()> {
        match self {
            Self::Vertex { project, .. } if project.is_empty() && matches!(auth, Auth::Signer(_)) => {
                Err(missing_project())
            }
            _ => Ok(()),
        }
    }

    /// Adds the key where the platform looks for it.
    pub(crate) fn authorized(&self, parts: RequestParts, key: &Secret) -> RequestParts {
        match self {
            Self::Vertex { project, .. } if !project.is_empty() => {
                parts.with_secret_header(AUTHORIZATION, "Bearer ", key)
            }
            _ => parts.with_secret_header(HeaderName::from_static("x-goog-api-key"), "", key),
        }
    }
}

/// The part before the version that a base URL ends in, and the version; `None` if it ends in none.
fn version_of(base: &str) -> Option<(&str, &str)> {
    let place = base.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    place.rsplit_once('/').filter(|(_, last)| is_version(last))
}

/// True if a segment of a path is a version: `v1`, `v1beta`, `v1beta1`.
fn is_version(segment: &str) -> bool {
    let mut rest = segment.chars();
    rest.next() == Some('v')
        && rest.next().is_some_and(|c| c.is_ascii_digit())
        && rest.all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(project: &str, location: &str) -> Platform {
        Platform::Vertex { project: project.to_owned(), location: location.to_owned() }
    }

    // gemini.md 1
    #[test]
    fn hosts_and_paths() {
        let gemini = Platform::Gemini;
        assert_eq!(
            gemini.url(None, &gemini.model_path("gemini-2.5-flash").unwrap()).unwrap(),
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"
        );
        assert_eq!(gemini.model_path("tunedModels/mine").unwrap(), "tunedModels/mine");
        for (location, host) in [
            ("global", "aiplatform.googleapis.com"),
            ("us", "aiplatform.us.rep.googleapis.com"),
            ("eu", "aiplatform.eu.rep.googleapis.com"),
            ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ] {
            let vertex = vertex("p", location);
            assert_eq!(
                vertex.url(None, &vertex.model_path("gemini-2.5-flash").unwrap()).unwrap(),
                format!(
                    "https://{host}/v1beta1/projects/p/locations/{location}/publishers/google/models/gemini-2.5-flash"
                )
            );
        }
        let vertex = vertex("p", "l");
        let path = |model| vertex.model_path(model).unwrap();
        assert_eq!(path("meta/llama-4"), "projects/p/locations/l/publishers/meta/models/llama-4");
        assert_eq!(path("publishers/google/models/x"), "projects/p/locations/l/publishers/google/models/x");
        assert_eq!(path("projects/q/locations/m/endpoints/7"), "projects/q/locations/m/endpoints/7");
        assert_eq!(vertex.caches_path().unwrap(), "projects/p/locations/l/cachedContents");
        assert!(gemini.model_path("a?b").is_err() && gemini.model_path("../x").is_err());
    }

    #[test]
    fn base_urls_keep_their_version() {
        let url = |base| Platform::Gemini.url(Some(base), "models/x").unwrap();
        assert_eq!(url("https://proxy/"), "https://proxy/v1beta/models/x");
        assert_eq!(url("https://proxy/v1?a=b"), "https://proxy/v1/models/x?a=b");
        assert_eq!(url("https://proxy/gemini/v1beta1/"), "https://proxy/gemini/v1beta1/models/x");
        let upload = |base| Platform::Gemini.upload_url(base).unwrap();
        assert_eq!(upload(None), "https://generativelanguage.googleapis.com/upload/v1beta/files");
        assert_eq!(upload(Some("https://proxy/gemini")), "https://proxy/gemini/upload/v1beta/files");
        assert_eq!(upload(Some("https://proxy/g/v1/?a=b")), "https://proxy/g/upload/v1/files?a=b");
    }

    // P02
    #[test]
    fn credentials_come_from_the_environment() {
        let environment = |pairs: &'static [(&str, &str)]| {
            Environment::new(move |name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let both = environment(&[("GEMINI_API_KEY", "second"), ("GOOGLE_API_KEY", "first")]);
        let auth = Platform::Gemini.configure(&both).unwrap();
        assert_eq!(auth.key().map(Secret::expose), Some("first"));
        let error = Platform::Gemini.configure(&environment(&[])).unwrap_err();
        assert_eq!(error.message(), "no key for gemini: set GOOGLE_API_KEY");

        let mut platform = vertex("", "");
        let cloud = environment(&[
            ("GOOGLE_CLOUD_PROJECT", "p"),
            ("GOOGLE_ACCESS_TOKEN", "t"),
            ("GOOGLE_API_KEY", "k"),
        ]);
        let auth = platform.configure(&cloud).unwrap();
        assert!(auth.signer().is_some(), "the token wins over the key");
        assert_eq!(platform, vertex("p", "global"));
        let known = environment(&[("GOOGLE_CLOUD_PROJECT", "p"), ("GCE_METADATA_HOST", "h")]);
        assert!(vertex("", "").configure(&known).unwrap().signer().is_some(), "the machine has an account");
        let error = vertex("p", "").configure(&environment(&[])).unwrap_err();
        assert!(error.message().contains("GOOGLE_ACCESS_TOKEN"), "{error}");
        let mut express = vertex("", "");
        let auth = express.configure(&environment(&[("GOOGLE_API_KEY", "k")])).unwrap();
        assert_eq!(auth.key().map(Secret::expose), Some("k"));
        assert_eq!(express.model_path("m").unwrap(), "publishers/google/models/m");
        let error = vertex("", "").configure(&environment(&[])).unwrap_err();
        assert_eq!(error.message(), "no project for vertex: set GOOGLE_CLOUD_PROJECT");
    }
}
