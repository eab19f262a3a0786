//! Access tokens of Google's own sources, for Vertex AI.

mod file;
mod jwt;
mod source;

use std::fmt;
use std::sync::Arc;

use attache_core::{BoxFuture, ProviderError};
use http::HeaderName;

use self::source::Source;
use crate::auth::{Auth, Authorizer, Environment};
use crate::error::configuration;
use crate::request::RequestParts;
use crate::token::Tokens;

/// The server that tells programs on Google Cloud about themselves.
const METADATA_HOST: &str = "metadata.google.internal";

const TOKEN_VARIABLES: [&str; 3] =
    ["GOOGLE_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"];

/// The authorization of requests to Vertex AI: a token in `GOOGLE_ACCESS_TOKEN` or a variable like it, or what
/// [`GoogleCredentials::find`] finds.
///
/// # Errors
/// As for [`GoogleCredentials::find`].
pub fn google_auth(environment: &Environment) -> Result<Auth, ProviderError> {
    match environment.first(TOKEN_VARIABLES) {
        Some(token) => Ok(Auth::bearer(token)),
        None => Ok(Auth::Signer(Arc::new(GoogleCredentials::find(environment)?))),
    }
}

/// The address of Vertex AI for a location. `global`, which a blank one is, `us` and `eu` stand for several regions and
/// have hosts of their own.
pub fn vertex_host(location: &str) -> String {
    match location {
        "" | "global" => "https://aiplatform.googleapis.com".to_owned(),
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    }
}

/// The error of an address of Vertex AI for which nobody names a project.
pub fn missing_project() -> ProviderError {
    configuration("no project for vertex: set GOOGLE_CLOUD_PROJECT")
}

/// Application default credentials. It fetches access tokens, one for however many requests, and renews them. It reads:
///
/// * the refresh token that `gcloud auth application-default login` leaves in a file,
/// * the key file of a service account,
/// * the file of a workload identity, whose token stands in another file or is told by a server, with and without a
///   service account that is impersonated,
/// * the file of a service account that is impersonated by any of these,
/// * the service account of the machine that a program runs on.
///
/// Other tokens come from an [`Authorizer`] of your own, such as [`Tokens`] of a source.
///
/// ```no_run
/// use std::sync::Arc;
/// use attache_transport::{Auth, Authorizer, Environment, GoogleCredentials};
///
/// let credentials: Arc<dyn Authorizer> = Arc::new(GoogleCredentials::find(&Environment::process())?);
/// let auth = Auth::from(credentials);
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub struct GoogleCredentials {
    tokens: Tokens<Source>,
    /// The project that pays, where one is named.
    quota_project: Option<String>,
}

impl GoogleCredentials {
    /// The credentials that the environment leads to: the file of `GOOGLE_APPLICATION_CREDENTIALS`, the one that
    /// `gcloud` writes, or the metadata server where the environment is one of Google Cloud's. The project that pays is
    /// that of `GOOGLE_CLOUD_QUOTA_PROJECT`, else the one that a file names.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if there are none, or if they are of a kind that is not read.
    pub fn find(environment: &Environment) -> Result<Self, ProviderError> {
        let mut found = Self::found(environment)?;
        found.quota_project = environment.get("GOOGLE_CLOUD_QUOTA_PROJECT").or(found.quota_project);
        Ok(found)
    }

    fn found(environment: &Environment) -> Result<Self, ProviderError> {
        if let Some(path) = environment.get("GOOGLE_APPLICATION_CREDENTIALS") {
            let text = std::fs::read_to_string(&path)
                .map_err(|cause| configuration(format!("cannot read {path}")).with_source(cause))?;
            return Self::from_json(&text);
        }
        let folder = environment.get("CLOUDSDK_CONFIG").or_else(|| {
            let home = environment.get("HOME").map(|home| format!("{home}/.config/gcloud"));
            home.or_else(|| environment.get("APPDATA").map(|data| format!("{data}/gcloud")))
        });
        let path = folder.map(|folder| format!("{folder}/application_default_credentials.json"));
        if let Some(text) = path.and_then(|path| std::fs::read_to_string(path).ok()) {
            return Self::from_json(&text);
        }
        let host = environment.get("GCE_METADATA_HOST");
        let on_cloud = ["K_SERVICE", "CLOUD_RUN_JOB", "GAE_SERVICE", "FUNCTION_TARGET"];
        match host {
            Some(host) => Ok(Self::of(Source::Metadata { host }, None)),
            None if environment.first(on_cloud).is_some() => Ok(Self::metadata_server()),
            None => Err(configuration(
                "no credentials for vertex: set GOOGLE_ACCESS_TOKEN or GOOGLE_APPLICATION_CREDENTIALS, or log in with gcloud auth application-default login",
            )),
        }
    }

    /// The service account of the machine, told by its metadata server: what virtual machines of Google Cloud have,
    /// which no variable gives away.
    pub fn metadata_server() -> Self {
        Self::of(Source::Metadata { host: METADATA_HOST.to_owned() }, None)
    }

    /// The credentials of a file: its text, as Google writes it.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if it is none, or of a kind that is not read.
    pub fn from_json(text: &str) -> Result<Self, ProviderError> {
        let (source, quota_project) = file::read(text)?;
        Ok(Self::of(source, quota_project))
    }

    fn of(source: Source, quota_project: Option<String>) -> Self {
        Self { tokens: Tokens::new(source), quota_project }
    }
}

impl Authorizer for GoogleCredentials {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            self.tokens.authorize(request).await?;
            if let Some(project) = &self.quota_project {
                let user_project = HeaderName::from_static("x-goog-user-project");
                *request = request.clone().with_header(user_project, project.as_str());
            }
            Ok(())
        })
    }

    fn refused(&self, request: &RequestParts, error: &ProviderError) -> bool {
        self.tokens.refused(request, error)
    }
}

impl fmt::Debug for GoogleCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoogleCredentials").field("source", self.tokens.source()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
