//! The rest of the usual chain: single sign-on, roles, web identity, processes, containers and machines.

use std::fmt;

use attache_core::{BoxFuture, ErrorKind, ProviderError};
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use tokio::sync::OnceCell;

use super::source::{CredentialSource, Credentials};
use crate::error::Result;

/// The chain of the AWS configuration crate, set up at the first fetch. It looks at the variables of the process.
pub(super) struct Chain {
    profile: Option<String>,
    region: String,
    provider: OnceCell<Option<SharedCredentialsProvider>>,
}

impl Chain {
    pub(super) fn new(profile: Option<String>, region: &str) -> Self {
        Self { profile, region: region.to_owned(), provider: OnceCell::new() }
    }

    async fn provider(&self) -> Option<SharedCredentialsProvider> {
        // The same TLS as everywhere else.
        let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(self.region.clone()));
        let loader = match &self.profile {
            Some(profile) => loader.profile_name(profile),
            None => loader,
        };
        loader.load().await.credentials_provider()
    }
}

impl CredentialSource for Chain {
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials>> {
        Box::pin(async move {
            let none = || ProviderError::new(ErrorKind::Authentication, "there are no credentials of AWS");
            let provider = self.provider.get_or_init(|| self.provider()).await.as_ref().ok_or_else(none)?;
            let found = provider.provide_credentials().await.map_err(|error| {
                let (kind, what) = match &error {
                    CredentialsError::CredentialsNotLoaded(_) => {
                        (ErrorKind::Configuration, "no source of AWS credentials is set up")
                    }
                    CredentialsError::InvalidConfiguration(_) => {
                        (ErrorKind::Configuration, "the settings for AWS credentials are not valid")
                    }
                    CredentialsError::ProviderTimedOut(_) => {
                        (ErrorKind::Timeout, "the source of AWS credentials did not answer in time")
                    }
                    _ => (ErrorKind::Authentication, "the source of AWS credentials failed"),
                };
                ProviderError::new(kind, what).with_source(error)
            })?;
            let mut credentials = Credentials::new(found.access_key_id(), found.secret_access_key());
            if let Some(token) = found.session_token() {
                credentials = credentials.with_session_token(token);
            }
            if let Some(expiry) = found.expiry() {
                credentials = credentials.with_expiry(expiry);
            }
            Ok(credentials)
        })
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("profile", &self.profile)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}
