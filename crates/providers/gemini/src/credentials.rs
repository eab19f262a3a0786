//! Access tokens of Google's own sources, for Vertex AI.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use attache_core::{BoxFuture, ErrorKind, ProviderError, Secret};
use attache_transport::{
    Authorizer, EncodedBody, Environment, HttpClient, RequestParts, RetryPolicy, Timeouts,
};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, Method};
use serde::Deserialize;

use crate::error::{self, configuration};

/// Where refresh tokens are exchanged. A file may not name another place: it would get the secrets.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// The server that tells programs on Google Cloud about themselves.
const METADATA_HOST: &str = "metadata.google.internal";
/// A token is not used when it ends so soon.
const MARGIN: Duration = Duration::from_secs(60);
/// The longest that a token is kept, whatever is said of it.
const LONGEST: Duration = Duration::from_secs(12 * 3_600);
/// How long a new token may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of an answer with a token.
const ANSWER_LIMIT: usize = 64 << 10;

/// Application default credentials: the refresh token that `gcloud auth application-default login` leaves in a file,
/// or the service account of the machine that a program runs on. It fetches access tokens and renews them.
///
/// Key files of service accounts and federated identities are not read: an
/// [`Authorizer`](attache_transport::Authorizer) of your own brings their tokens.
///
/// ```no_run
/// use std::sync::Arc;
/// use attache_gemini::{Gemini, GenerateCodec, GoogleCredentials};
/// use attache_transport::{Authorizer, Environment};
///
/// let credentials: Arc<dyn Authorizer> = Arc::new(GoogleCredentials::find(&Environment::process())?);
/// let codec = GenerateCodec::vertex("gemini-3-flash-preview").with_project("my-project", "global");
/// let model = Gemini::new(codec, credentials)?;
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub struct GoogleCredentials {
    source: Source,
    http: HttpClient,
    token: Mutex<Option<Token>>,
}

enum Source {
    /// Of a person.
    Refresh {
        url: String,
        client_id: String,
        client_secret: Secret,
        refresh_token: Secret,
        project: Option<String>,
    },
    /// Of the machine.
    Metadata { host: String },
}

struct Token {
    secret: Secret,
    ends: Instant,
}

/// A file of credentials.
#[derive(Deserialize)]
struct File {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    client_id: String,
    #[serde(default)]
    client_secret: String,
    #[serde(default)]
    refresh_token: String,
    #[serde(default)]
    quota_project_id: Option<String>,
}

/// An answer with a token.
#[derive(Deserialize)]
struct Answer {
    access_token: String,
    #[serde(default)]
    expires_in: u64,
}

impl GoogleCredentials {
    /// The credentials that the environment leads to: the file of `GOOGLE_APPLICATION_CREDENTIALS`, the one that
    /// `gcloud` writes, or the metadata server where the environment is one of Google Cloud's.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if there are none, or if they are of a kind that is not read.
    pub fn find(environment: &Environment) -> Result<Self, ProviderError> {
        if let Some(path) = environment.get("GOOGLE_APPLICATION_CREDENTIALS") {
            let text = std::fs::read_to_string(&path)
                .map_err(|cause| configuration(format!("cannot read {path}")).with_source(cause))?;
            return Self::of_file(&text);
        }
        let folder = environment.get("CLOUDSDK_CONFIG").or_else(|| {
            let home = environment.get("HOME").map(|home| format!("{home}/.config/gcloud"));
            home.or_else(|| environment.get("APPDATA").map(|data| format!("{data}/gcloud")))
        });
        let path = folder.map(|folder| format!("{folder}/application_default_credentials.json"));
        if let Some(text) = path.and_then(|path| std::fs::read_to_string(path).ok()) {
            return Self::of_file(&text);
        }
        let host = environment.get("GCE_METADATA_HOST");
        let on_cloud = ["K_SERVICE", "CLOUD_RUN_JOB", "GAE_SERVICE", "FUNCTION_TARGET"];
        match host {
            Some(host) => Ok(Self::of(Source::Metadata { host })),
            None if environment.first(on_cloud).is_some() => Ok(Self::metadata_server()),
            None => Err(configuration(
                "no credentials for vertex: set GOOGLE_ACCESS_TOKEN, or log in with gcloud auth application-default login",
            )),
        }
    }

    /// The service account of the machine, told by its metadata server: what virtual machines of Google Cloud have,
    /// which no variable gives away.
    pub fn metadata_server() -> Self {
        Self::of(Source::Metadata { host: METADATA_HOST.to_owned() })
    }

    fn of(source: Source) -> Self {
        let limits = Timeouts::default().with_first_byte(PATIENCE).with_total(PATIENCE);
        Self { source, http: HttpClient::shared().with_timeouts(limits), token: Mutex::new(None) }
    }

    fn of_file(text: &str) -> Result<Self, ProviderError> {
        let file: File = serde_json::from_str(text)
            .map_err(|_| configuration("the file of credentials is not what gcloud writes"))?;
        if file.kind != "authorized_user" {
            let message = format!(
                "credentials of the kind {:?} are not read: set GOOGLE_ACCESS_TOKEN or bring an authorizer",
                file.kind
            );
            return Err(configuration(message));
        }
        Ok(Self::of(Source::Refresh {
            url: TOKEN_URL.to_owned(),
            client_id: file.client_id,
            client_secret: Secret::new(file.client_secret),
            refresh_token: Secret::new(file.refresh_token),
            project: file.quota_project_id,
        }))
    }

    fn kept(&self) -> Option<Secret> {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.as_ref().filter(|token| token.ends > Instant::now() + MARGIN).map(|token| token.secret.clone())
    }

    /// A token that is good for a while. Two requests at a time may both fetch one.
    async fn token(&self) -> Result<Secret, ProviderError> {
        if let Some(kept) = self.kept() {
            return Ok(kept);
        }
        let asked = Instant::now();
        let reply = self.http.send(&self.request(), &RetryPolicy::default(), error::read).await;
        let answer = match reply {
            Ok(reply) => reply.bytes(ANSWER_LIMIT).await,
            Err(error) => Err(error),
        };
        let answer: Answer = match answer {
            Ok(answer) => {
                serde_json::from_slice(&answer).map_err(|_| refused("the answer holds no token"))?
            }
            // A network that fails may come back; what the server says will not change.
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => return Err(refused(error.message()).with_source(error)),
        };
        let secret = Secret::new(answer.access_token);
        let ends = asked + Duration::from_secs(answer.expires_in).min(LONGEST);
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Token { secret: secret.clone(), ends });
        Ok(secret)
    }

    fn request(&self) -> RequestParts {
        match &self.source {
            Source::Metadata { host } => {
                let path = "computeMetadata/v1/instance/service-accounts/default/token";
                RequestParts::get(format!("http://{host}/{path}"))
                    .with_header(HeaderName::from_static("metadata-flavor"), "Google")
            }
            Source::Refresh { url, client_id, client_secret, refresh_token, .. } => {
                let mut form = String::from("grant_type=refresh_token");
                for (name, value) in [
                    ("client_id", client_id.as_str()),
                    ("client_secret", client_secret.expose()),
                    ("refresh_token", refresh_token.expose()),
                ] {
                    form.push('&');
                    form.push_str(name);
                    form.push('=');
                    percent_encode(value, &mut form);
                }
                let mut parts = RequestParts::get(url.as_str())
                    .with_header(CONTENT_TYPE, "application/x-www-form-urlencoded");
                parts.method = Method::POST;
                parts.body = EncodedBody::from(form);
                parts
            }
        }
    }
}

impl Authorizer for GoogleCredentials {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let token = self.token().await?;
            let mut authorized = request.clone().with_secret_header(AUTHORIZATION, "Bearer ", &token);
            if let Source::Refresh { project: Some(project), .. } = &self.source {
                let user_project = HeaderName::from_static("x-goog-user-project");
                authorized = authorized.with_header(user_project, project.as_str());
            }
            *request = authorized;
            Ok(())
        })
    }

    fn refused(&self, error: &ProviderError) -> bool {
        let is_stale = error.kind() == ErrorKind::Authentication;
        if is_stale {
            *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        is_stale
    }
}

impl fmt::Debug for GoogleCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Refresh { .. } => "a refresh token",
            Source::Metadata { host } => host,
        };
        f.debug_struct("GoogleCredentials").field("source", &source).finish_non_exhaustive()
    }
}

fn refused(why: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Authentication, format!("there is no access token to be had: {why}"))
}

fn percent_encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wiremock::matchers::{body_string, header, method, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Environment::new(move |name| {
            pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        })
    }

    fn answer(token: &str, seconds: u64) -> ResponseTemplate {
        let body = json!({"access_token": token, "expires_in": seconds, "token_type": "Bearer"});
        ResponseTemplate::new(200).set_body_json(body)
    }

    async fn authorized(credentials: &GoogleCredentials) -> RequestParts {
        let mut request = RequestParts::get("https://host/x");
        credentials.authorize(&mut request).await.unwrap();
        assert!(!format!("{request:?} {credentials:?}").contains("canary"));
        request
    }

    #[tokio::test]
    async fn the_machine_is_asked_once_and_again_when_a_token_is_refused() {
        let server = MockServer::start().await;
        Mock::given(method("GET"))
            .and(path("/computeMetadata/v1/instance/service-accounts/default/token"))
            .and(header("metadata-flavor", "Google"))
            .respond_with(answer("canary", 3600))
            .expect(2)
            .mount(&server)
            .await;
        let host = server.address().to_string();
        let credentials = GoogleCredentials::find(&environment(&[("GCE_METADATA_HOST", &host)])).unwrap();
        for _ in 0..2 {
            let request = authorized(&credentials).await;
            assert!(request.shown_headers().any(|pair| pair == ("authorization", "***")));
        }
        assert!(!credentials.refused(&ProviderError::new(ErrorKind::Permission, "no")));
        assert!(credentials.refused(&ProviderError::new(ErrorKind::Authentication, "old")));
        authorized(&credentials).await;
    }

    #[tokio::test]
    async fn refresh_tokens_are_exchanged() {
        let server = MockServer::start().await;
        let form = "grant_type=refresh_token&client_id=id&client_secret=canary-s&refresh_token=1%2F%2Fcanary";
        Mock::given(method("POST"))
            .and(body_string(form))
            // It ends too soon to be kept.
            .respond_with(answer("canary", 10))
            .expect(2)
            .mount(&server)
            .await;
        let file = json!({"type": "authorized_user", "client_id": "id", "client_secret": "canary-s",
            "refresh_token": "1//canary", "quota_project_id": "p", "token_uri": "https://elsewhere"});
        let mut credentials = GoogleCredentials::of_file(&file.to_string()).unwrap();
        if let Source::Refresh { url, .. } = &mut credentials.source {
            assert_eq!(url, TOKEN_URL);
            *url = server.uri();
        }
        let request = authorized(&credentials).await;
        assert!(request.shown_headers().any(|pair| pair == ("x-goog-user-project", "p")));
        authorized(&credentials).await;
    }

    #[tokio::test]
    async fn what_is_refused_says_why_and_no_secret() {
        let server = MockServer::start().await;
        let refusal =
            json!({"error": "invalid_grant", "error_description": "Token has been expired or revoked."});
        Mock::given(method("POST"))
            .respond_with(ResponseTemplate::new(400).set_body_json(refusal))
            .expect(1)
            .mount(&server)
            .await;
        let file = r#"{"type": "authorized_user", "refresh_token": "canary"}"#;
        let mut credentials = GoogleCredentials::of_file(file).unwrap();
        if let Source::Refresh { url, .. } = &mut credentials.source {
            *url = server.uri();
        }
        let error = credentials.authorize(&mut RequestParts::get("https://host")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Authentication, false));
        assert!(
            error.message().contains("invalid_grant") && !format!("{error:?}").contains("canary"),
            "{error:?}"
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_before_anything_is_sent() {
        for file in [r#"{"type": "service_account", "private_key": "canary"}"#, "canary"] {
            let error = GoogleCredentials::of_file(file).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(!format!("{error:?}").contains("canary"));
        }
        let error = GoogleCredentials::find(&environment(&[])).unwrap_err();
        assert!(error.message().contains("GOOGLE_ACCESS_TOKEN"), "{error}");
        let missing = environment(&[("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/at/all.json")]);
        assert_eq!(GoogleCredentials::find(&missing).unwrap_err().kind(), ErrorKind::Configuration);
        assert!(GoogleCredentials::find(&environment(&[("K_SERVICE", "s")])).is_ok());
    }
}
