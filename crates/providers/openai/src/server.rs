//! How a server is addressed, whichever of its APIs is spoken.

use std::sync::Arc;

use attache_core::{ModelSettings, ProviderError, Secret};
use attache_transport::{Auth, EncodedBody, Environment, RequestParts, join_url, missing_key};
use bytes::Bytes;
use http::HeaderName;

use crate::error;
use crate::profile::{Profile, from_environment, missing};

/// Takes base URL and key from the profile's variables.
pub(crate) fn configure(
    profile: &mut Arc<Profile>,
    model: &str,
    environment: &Environment,
) -> Result<Auth, ProviderError> {
    if let Some(url) = from_environment(profile, model, environment) {
        Arc::make_mut(profile).base_url = url;
    }
    let headers: Vec<_> = profile
        .header_variables
        .iter()
        .filter(|(_, variable)| !variable.is_empty())
        .filter_map(|(name, variable)| Some((name.clone(), environment.get(variable)?)))
        .collect();
    if !headers.is_empty() {
        Arc::make_mut(profile).headers.extend(headers);
    }
    let rules = &profile.key;
    Ok(match (environment.first(&rules.variables), environment.first(&rules.token_variables)) {
        (Some(key), _) => Auth::from(key),
        (None, Some(token)) => Auth::bearer(token),
        (None, None) => Auth::None,
    })
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
    config: &ModelSettings,
    key: Option<&Secret>,
) -> Result<RequestParts, ProviderError> {
    if profile.base_url.trim().is_empty() {
        return Err(error::configuration(match missing(profile) {
            Some(variable) => format!("no address for {}: set {variable}", profile.name),
            None => format!("no address for {}", profile.name),
        }));
    }
    let url = join_url(&profile.base_url, path)?;
    let mut parts = RequestParts::post_json(url, EncodedBody::from(Bytes::new()));
    let named = |name: &str| {
        HeaderName::try_from(name).map_err(|_| error::configuration(format!("{name:?} is no header name")))
    };
    for (name, value) in &profile.headers {
        parts = parts.with_header(named(name)?, value.as_str());
    }
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        parts = parts.with_secret_header(named(&profile.key.header)?, &profile.key.prefix, key);
    }
    parts.with_extra_headers(&config.extra_headers)
}
