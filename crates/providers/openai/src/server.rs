//! How a server is addressed, whichever of its APIs is spoken.

use std::sync::Arc;

use attache_core::{ProviderConfig, ProviderError, Secret};
use attache_transport::{Auth, EncodedBody, Environment, RequestParts, join_url, missing_key};
use bytes::Bytes;
use http::HeaderName;

use crate::error;
use crate::profile::Profile;

/// Takes base URL and key from the profile's variables.
pub(crate) fn configure(
    profile: &mut Arc<Profile>,
    environment: &Environment,
) -> Result<Auth, ProviderError> {
    if let Some(url) = environment.get(&profile.base_url_variable) {
        Arc::make_mut(profile).base_url = url;
    }
    Ok(environment.first(&profile.key.variables).map_or(Auth::None, Auth::from))
}

/// What fails before anything is sent.
pub(crate) fn check(profile: &Profile, model: &str, auth: &Auth) -> Result<(), ProviderError> {
    if model.trim().is_empty() {
        return Err(error::configuration("no model is named"));
    }
    if profile.key.required && auth.is_none() {
        return Err(missing_key(&profile.name, &profile.key.variables));
    }
    Ok(())
}

/// The request to `path` below the base URL, without its body.
pub(crate) fn envelope(
    profile: &Profile,
    path: &str,
    config: &ProviderConfig,
    key: Option<&Secret>,
) -> Result<RequestParts, ProviderError> {
    let url = join_url(&profile.base_url, path)?;
    let mut parts = RequestParts::post_json(url, EncodedBody::from(Bytes::new()));
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        let rules = &profile.key;
        let header = HeaderName::try_from(rules.header.as_str())
            .map_err(|_| error::configuration(format!("{:?} is no header name", rules.header)))?;
        parts = parts.with_secret_header(header, &rules.prefix, key);
    }
    parts.with_extra_headers(&config.extra_headers)
}
