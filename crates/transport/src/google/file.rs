//! Files of credentials.

use std::collections::BTreeMap;

use attache_core::{ProviderError, Secret};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::jwt::Signer;
use super::jwt::TOKEN_URL;
use super::source::{Federated, Source, Subject, SubjectFormat};
use crate::error::configuration;

/// The maximum number of files that may name each other in a row.
const MAX_DEPTH: usize = 4;

#[derive(Default, Deserialize)]
#[serde(default)]
struct File<'a> {
    #[serde(rename = "type")]
    kind: String,
    quota_project_id: Option<String>,
    // Of a person.
    client_id: String,
    client_secret: String,
    refresh_token: String,
    // Of a service account.
    client_email: String,
    private_key_id: String,
    private_key: String,
    // Of a workload.
    audience: String,
    subject_token_type: String,
    token_url: String,
    credential_source: CredentialSource,
    workforce_pool_user_project: Option<String>,
    // Of one that is impersonated.
    service_account_impersonation_url: Option<String>,
    #[serde(borrow)]
    source_credentials: Option<&'a RawValue>,
    delegates: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CredentialSource {
    /// A cloud whose own way it is to sign, such as `aws1`: what its addresses tell is no token.
    environment_id: Option<IgnoredAny>,
    file: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    format: Format,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Format {
    #[serde(rename = "type")]
    kind: String,
    subject_token_field_name: String,
}

/// The source that the text of a file describes, and the project that pays.
pub(super) fn read(text: &str) -> Result<(Source, Option<String>), ProviderError> {
    let mut quota_project = None;
    let source = source(text, &mut quota_project, 0)?;
    Ok((source, quota_project))
}

fn source(text: &str, quota_project: &mut Option<String>, depth: usize) -> Result<Source, ProviderError> {
    let unreadable = "the file of credentials is not what Google writes";
    let file: File<'_> = serde_json::from_str(text).map_err(|_| configuration(unreadable))?;
    if depth > MAX_DEPTH {
        return Err(configuration("the file of credentials stands in itself"));
    }
    if quota_project.is_none() {
        quota_project.clone_from(&file.quota_project_id);
    }
    match file.kind.as_str() {
        "authorized_user" => Ok(Source::Refresh {
            url: TOKEN_URL.to_owned(),
            client_id: file.client_id,
            client_secret: Secret::new(file.client_secret),
            refresh_token: Secret::new(file.refresh_token),
        }),
        "service_account" => {
            let signer = Signer::new(file.client_email, file.private_key_id, &file.private_key)?;
            Ok(Source::ServiceAccount { url: TOKEN_URL.to_owned(), signer: Box::new(signer) })
        }
        "external_account" => {
            let impersonated = file.service_account_impersonation_url.clone();
            let federated = Source::Federated(Box::new(federated(file)?));
            match impersonated {
                None => Ok(federated),
                Some(url) => impersonating(federated, url, Vec::new()),
            }
        }
        "impersonated_service_account" => {
            let own = file.source_credentials.ok_or_else(|| configuration(unreadable))?;
            let url = file.service_account_impersonation_url.unwrap_or_default();
            impersonating(source(own.get(), quota_project, depth + 1)?, url, file.delegates)
        }
        kind => Err(configuration(format!(
            "credentials of the kind {kind:?} are not read: set GOOGLE_ACCESS_TOKEN or bring an authorizer"
        ))),
    }
}

fn impersonating(by: Source, url: String, delegates: Vec<String>) -> Result<Source, ProviderError> {
    of_google(&url)?;
    Ok(Source::Impersonated { by: Box::new(by), url, delegates })
}

fn federated(file: File<'_>) -> Result<Federated, ProviderError> {
    of_google(&file.token_url)?;
    let CredentialSource { environment_id, file: path, url, headers, format } = file.credential_source;
    let subject = match (environment_id, path, url) {
        (None, Some(path), None) => Subject::File(path),
        (None, None, Some(url)) => Subject::Url { url, headers: headers.into_iter().collect() },
        _ => {
            return Err(configuration(
                "the token of a workload identity is read from a file or told by a server; others need an authorizer of yours",
            ));
        }
    };
    let format = match format.kind.as_str() {
        "json" => SubjectFormat::Member(format.subject_token_field_name),
        _ => SubjectFormat::Text,
    };
    Ok(Federated {
        url: file.token_url,
        audience: file.audience,
        subject_token_type: file.subject_token_type,
        user_project: file.workforce_pool_user_project,
        subject,
        format,
    })
}

/// Tokens are sent nowhere but to Google, whatever a file says.
fn of_google(url: &str) -> Result<(), ProviderError> {
    let host = url.strip_prefix("https://").and_then(|rest| rest.split(['/', '?', '#']).next());
    let is_google = |host: &str| {
        host.ends_with(".googleapis.com")
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
    };
    match host {
        Some(host) if is_google(host) => Ok(()),
        _ => Err(configuration("the file of credentials names an address that is not Google's")),
    }
}
