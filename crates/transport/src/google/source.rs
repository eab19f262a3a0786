//! Where tokens come from.

use std::fmt;
use std::time::{Duration, SystemTime};

use attache_core::{BoxFuture, ErrorKind, ProviderError, Secret};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, Method};
use serde::Deserialize;
use serde_json::{Value, json};

use super::jwt::{SCOPE, Signer};
use crate::body::EncodedBody;
use crate::client::{HttpClient, Timeouts};
use crate::error::ErrorResponse;
use crate::error::configuration;
use crate::request::{RequestParts, percent_encoded};
use crate::retry::RetryPolicy;
use crate::token::{AccessToken, TokenSource};

/// The time that a new token may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum number of bytes of an answer with a token.
const ANSWER_LIMIT: usize = 64 << 10;
/// The life that is asked for a service account's token.
const LIFETIME: Duration = Duration::from_secs(3_600);

/// A source of tokens. Its `Debug` says what kind it is.
pub(super) enum Source {
    /// Of a person.
    Refresh { url: String, client_id: String, client_secret: Secret, refresh_token: Secret },
    /// Of the machine.
    Metadata { host: String },
    /// Of a service account, by its key.
    ServiceAccount { url: String, signer: Box<Signer> },
    /// Of a workload, whose own token is exchanged.
    Federated(Box<Federated>),
    /// Of a service account, by another identity that may act for it.
    Impersonated { by: Box<Source>, url: String, delegates: Vec<String> },
}

/// A workload identity.
pub(super) struct Federated {
    pub(super) url: String,
    pub(super) audience: String,
    pub(super) subject_token_type: String,
    pub(super) user_project: Option<String>,
    pub(super) subject: Subject,
    pub(super) format: SubjectFormat,
}

/// Where a workload's own token is.
pub(super) enum Subject {
    File(String),
    Url { url: String, headers: Vec<(String, String)> },
}

/// The form in which it is read.
pub(super) enum SubjectFormat {
    Text,
    /// This member of a JSON object.
    Member(String),
}

/// An answer with a token.
#[derive(Deserialize)]
struct Answer {
    #[serde(alias = "accessToken")]
    access_token: String,
    expires_in: Option<u64>,
}

impl TokenSource for Source {
    fn fetch(&self) -> BoxFuture<'_, Result<AccessToken, ProviderError>> {
        Box::pin(async move {
            let request = match self {
                Self::Metadata { host } => {
                    let path = "computeMetadata/v1/instance/service-accounts/default/token";
                    RequestParts::get(format!("http://{host}/{path}"))
                        .with_header(HeaderName::from_static("metadata-flavor"), "Google")
                }
                Self::Refresh { url, client_id, client_secret, refresh_token } => form(
                    url,
                    &[
                        ("grant_type", "refresh_token"),
                        ("client_id", client_id.as_str()),
                        ("client_secret", client_secret.expose()),
                        ("refresh_token", refresh_token.expose()),
                    ],
                ),
                Self::ServiceAccount { url, signer } => {
                    let assertion = signer.assertion(SystemTime::now())?;
                    let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
                    form(url, &[("grant_type", grant), ("assertion", &assertion)])
                }
                Self::Federated(federated) => federated.request().await?,
                Self::Impersonated { by, url, delegates } => {
                    let own = by.fetch().await?;
                    let mut body = json!({"scope": [SCOPE], "lifetime": format!("{}s", LIFETIME.as_secs())});
                    if let (false, Some(body)) = (delegates.is_empty(), body.as_object_mut()) {
                        body.insert("delegates".to_owned(), json!(delegates));
                    }
                    RequestParts::post_json(url.as_str(), body.to_string()).with_secret_header(
                        AUTHORIZATION,
                        "Bearer ",
                        &own.secret,
                    )
                }
            };
            let answer: Answer = serde_json::from_slice(&ask(&request).await?)
                .map_err(|_| refused("the answer holds no token"))?;
            let lifetime = match answer.expires_in {
                Some(seconds) => Duration::from_secs(seconds),
                // An impersonated one tells a date; it is as long as was asked for.
                None if matches!(self, Self::Impersonated { .. }) => LIFETIME,
                None => Duration::ZERO,
            };
            Ok(AccessToken::new(answer.access_token, lifetime))
        })
    }
}

impl Federated {
    /// The exchange of the workload's own token (RFC 8693).
    async fn request(&self) -> Result<RequestParts, ProviderError> {
        let subject = self.subject_token().await?;
        let options = self.user_project.as_ref().map(|project| json!({"userProject": project}).to_string());
        let mut members = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", self.audience.as_str()),
            ("scope", SCOPE),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token_type", self.subject_token_type.as_str()),
            ("subject_token", subject.expose()),
        ];
        members.extend(options.as_deref().map(|options| ("options", options)));
        Ok(form(&self.url, &members))
    }

    async fn subject_token(&self) -> Result<Secret, ProviderError> {
        let text = match &self.subject {
            Subject::File(path) => {
                // It is small and on this machine, and renewed by others.
                std::fs::read(path).map_err(|cause| {
                    refused(&format!("the token of the workload cannot be read from {path}"))
                        .with_source(cause)
                })?
            }
            Subject::Url { url, headers } => {
                let mut request = RequestParts::get(url.as_str());
                for (name, value) in headers {
                    let name = HeaderName::try_from(name.as_str())
                        .map_err(|_| configuration(format!("{name:?} is no header name")))?;
                    request = request.with_secret_header(name, "", &Secret::new(value.as_str()));
                }
                ask(&request).await?
            }
        };
        let token = match &self.format {
            SubjectFormat::Text => String::from_utf8(text).ok(),
            SubjectFormat::Member(name) => {
                let value = serde_json::from_slice::<Value>(&text).ok();
                value.and_then(|value| Some(value.get(name)?.as_str()?.to_owned()))
            }
        };
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        token.map(Secret::new).ok_or_else(|| refused("the workload has no token of its own"))
    }
}

/// The body of the answer.
async fn ask(request: &RequestParts) -> Result<Vec<u8>, ProviderError> {
    let limits = Timeouts::default().with_first_byte(PATIENCE).with_total(PATIENCE);
    let http = HttpClient::shared().with_timeouts(limits);
    let answer = match http.send(request, &RetryPolicy::default(), ErrorResponse::to_error).await {
        Ok(reply) => reply.bytes(ANSWER_LIMIT).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(answer) => Ok(answer.into()),
        // A network that fails may come back; what the server says will not change.
        Err(error) if error.is_retryable() => Err(error),
        Err(error) => Err(refused(error.message()).with_source(error)),
    }
}

fn form(url: &str, members: &[(&str, &str)]) -> RequestParts {
    let mut form = String::new();
    for (name, value) in members {
        if !form.is_empty() {
            form.push('&');
        }
        form.push_str(name);
        form.push('=');
        form.push_str(&percent_encoded(value.as_bytes()));
    }
    let mut parts = RequestParts::get(url).with_header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    parts.method = Method::POST;
    parts.body = EncodedBody::from(form);
    parts
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refresh { .. } => f.write_str("a refresh token"),
            Self::Metadata { host } => f.write_str(host),
            Self::ServiceAccount { signer, .. } => write!(f, "the key of {}", signer.email()),
            Self::Federated(_) => f.write_str("a workload identity"),
            Self::Impersonated { by, .. } => write!(f, "a service account by {by:?}"),
        }
    }
}

fn refused(why: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Authentication, format!("there is no access token to be had: {why}"))
}
