//! The issuers of tokens for a server.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::address::{covers, is_of_host, of_issuer, of_resource, parts};
use super::challenge::Challenge;
use super::error::McpLoginError;
use super::wire::{Asked, Web};

/// The metadata of a protected resource, as far as it is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Resource {
    resource: String,
    authorization_servers: Vec<String>,
    scopes_supported: Option<Vec<String>>,
}

/// The metadata of an authorization server, as far as it is used.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Issuer {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) client_id_metadata_document_supported: bool,
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// The findings about a server.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The resource that tokens are asked for.
    pub(crate) resource: String,
    /// The rights to ask for where nothing else says so.
    pub(crate) scopes: Option<String>,
    pub(crate) issuer: Issuer,
    /// True if the authorization server says that it takes a proof of who began a login, or is too old to say so.
    takes_proof: bool,
}

impl Found {
    /// A program that acts for itself has no code that somebody could steal, and needs no such proof.
    pub(crate) fn for_a_person(self) -> Result<Self, McpLoginError> {
        if self.takes_proof { Ok(self) } else { Err(McpLoginError::NoPkce) }
    }
}

/// Asks the server who gives tokens for it, and them how.
pub(crate) async fn discover(
    web: &Web<'_>,
    url: &str,
    challenge: &Challenge,
    named: Option<&str>,
) -> Result<Found, McpLoginError> {
    let own = super::address::resource(url).ok_or(McpLoginError::Address)?;
    let (origin, _) = parts(url).ok_or(McpLoginError::Address)?;
    let mut resource = None;
    // The place that the server names is its own word; elsewhere it is no error that nothing is there.
    let places = match &challenge.metadata {
        // It says something about itself, so it does that at its own place.
        Some(place) if parts(place).is_some_and(|(theirs, _)| theirs == origin) => vec![place.clone()],
        Some(_) => return Err(McpLoginError::Elsewhere),
        None => of_resource(url),
    };
    for place in places {
        if let Some(found) = metadata::<Resource>(web, &place).await? {
            // A token for what is above the server is good for others there as well, so that the host must say that such
            // are for it: a server below a path of it does not speak for the rest.
            let is_own = super::address::resource(&found.resource) == Some(own.clone());
            if !is_own && covers(&found.resource, url) && !is_of_host(&place) {
                return Err(McpLoginError::Elsewhere);
            }
            resource = Some(found);
            break;
        }
    }
    let (servers, scopes, resource, is_old) = match resource {
        Some(found) => {
            if !covers(&found.resource, url) {
                return Err(McpLoginError::Elsewhere);
            }
            let scopes = found.scopes_supported.map(|scopes| scopes.join(" "));
            (found.authorization_servers, scopes, found.resource, false)
        }
        // Servers of 2025-03-26 give their tokens themselves.
        None => (vec![origin.clone()], None, own, true),
    };
    let issuer = match named {
        // The user's word counts, and the server must take its tokens.
        Some(named) if is_old || servers.iter().any(|server| same(server, named)) => named.to_owned(),
        Some(_) => return Err(McpLoginError::Elsewhere),
        None => servers.into_iter().next().ok_or(McpLoginError::NotOffered)?,
    };
    for place in of_issuer(&issuer) {
        let Some(found) = metadata::<Issuer>(web, &place).await? else { continue };
        // Otherwise one authorization server could speak for another.
        if !same(&found.issuer, &issuer) {
            return Err(McpLoginError::Issuer);
        }
        let methods = found.code_challenge_methods_supported.as_ref();
        let takes_proof = methods.map_or(is_old, |methods| methods.iter().any(|known| known == "S256"));
        return Ok(Found { resource, scopes, issuer: found, takes_proof });
    }
    if !is_old {
        return Err(McpLoginError::NotOffered);
    }
    let issuer = Issuer {
        authorization_endpoint: format!("{origin}/authorize"),
        token_endpoint: format!("{origin}/token"),
        registration_endpoint: Some(format!("{origin}/register")),
        issuer,
        ..Issuer::default()
    };
    Ok(Found { resource, scopes, issuer, takes_proof: true })
}

fn same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// A document of metadata; `None` if there is none at that place.
async fn metadata<T: DeserializeOwned>(web: &Web<'_>, place: &str) -> Result<Option<T>, McpLoginError> {
    match web.get(place).await? {
        Asked { status, body } if (200..300).contains(&status) => {
            // A page that a server shows for every address is no metadata.
            Ok(serde_json::from_slice(&body).ok())
        }
        Asked { status, .. } if (500..600).contains(&status) => Err(McpLoginError::Unreachable),
        Asked { .. } => Ok(None),
    }
}
