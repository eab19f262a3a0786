//! Clients and tokens of authorization servers.

use serde::Deserialize;
use serde_json::{Value, json};

use attache_core::fresh;

use super::address::is_local;
use super::discovery::{Found, Issuer};
use super::error::McpLoginError;
use super::settings::Settings;
use super::tokens::{Client, McpGrant, Method, seconds};
use super::wire::{Asked, Web};

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    token_type: String,
    expires_in: Option<Value>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// The client to be: the one that the user names, the one whose document the server reads, or a new one.
pub(crate) async fn client(
    web: &Web<'_>,
    settings: &Settings,
    issuer: &Issuer,
    redirect: &str,
) -> Result<Client, McpLoginError> {
    if let Some(id) = &settings.client_id {
        // A server that names an authorization server of its choice is not given the secret by that.
        if settings.client_secret.is_some() && !web.is_meant(&issuer.issuer) {
            return Err(McpLoginError::Elsewhere);
        }
        let secret = settings.client_secret.as_ref().map(|secret| secret.expose().to_owned());
        let method = method_of(issuer, secret.is_some());
        return Ok(Client { id: id.clone(), secret, method });
    }
    if let Some(document) =
        settings.client_document.as_ref().filter(|_| issuer.client_id_metadata_document_supported)
    {
        return Ok(Client { id: document.clone(), secret: None, method: Method::None });
    }
    let endpoint = issuer.registration_endpoint.as_deref().ok_or(McpLoginError::NoClient)?;
    let wanted = method_of(issuer, false);
    let is_web = redirect.starts_with("https://") && !is_local(redirect);
    let body = json!({
        "client_name": settings.name,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": word(wanted),
        "application_type": if is_web { "web" } else { "native" },
    });
    let answer = web.post_json(endpoint, &body).await?;
    let registered: Registered = read(&answer)?;
    let method = match registered.token_endpoint_auth_method.as_deref() {
        Some("client_secret_basic") => Method::ClientSecretBasic,
        Some("client_secret_post") => Method::ClientSecretPost,
        Some(_) => Method::None,
        None if registered.client_secret.is_some() => method_of(issuer, true),
        None => wanted,
    };
    Ok(Client { id: registered.client_id, secret: registered.client_secret, method })
}

fn word(method: Method) -> &'static str {
    match method {
        Method::None => "none",
        Method::ClientSecretPost => "client_secret_post",
        Method::ClientSecretBasic => "client_secret_basic",
    }
}

/// The way in which a client says who it is, of those that the server takes. Without a list that is `client_secret_basic`.
fn method_of(issuer: &Issuer, has_secret: bool) -> Method {
    let takes = |method: Method| {
        let methods = issuer.token_endpoint_auth_methods_supported.as_ref();
        methods.map(|methods| methods.iter().any(|known| known == word(method)))
    };
    match has_secret {
        true if takes(Method::ClientSecretBasic) != Some(false) => Method::ClientSecretBasic,
        true => Method::ClientSecretPost,
        false if takes(Method::None) != Some(false) => Method::None,
        false if takes(Method::ClientSecretBasic) == Some(true) => Method::ClientSecretBasic,
        false => Method::ClientSecretPost,
    }
}

/// The grant for a code.
pub(crate) async fn redeem(
    web: &Web<'_>,
    found: &Found,
    client: &Client,
    code: (&str, &str, &str),
    scope: Option<&str>,
) -> Result<McpGrant, McpLoginError> {
    let (code, verifier, redirect) = code;
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect),
        ("code_verifier", verifier),
        ("resource", &*found.resource),
    ];
    let answer = web.post_form(&found.issuer.token_endpoint, client, &form).await?;
    grant(&answer, &Terms::of(found), client, scope)
}

/// The grant of a client that acts for itself.
pub(crate) async fn own_grant(
    web: &Web<'_>,
    found: &Found,
    client: &Client,
    scope: Option<&str>,
) -> Result<McpGrant, McpLoginError> {
    let mut form = vec![("grant_type", "client_credentials"), ("resource", &*found.resource)];
    form.extend(scope.map(|scope| ("scope", scope)));
    let answer = web.post_form(&found.issuer.token_endpoint, client, &form).await?;
    grant(&answer, &Terms::of(found), client, scope)
}

/// The grant in the place of one that ends.
pub(crate) async fn renew(web: &Web<'_>, old: &McpGrant) -> Result<McpGrant, McpLoginError> {
    let token = old.refresh_token.as_deref().ok_or(McpLoginError::NotLoggedIn)?;
    let form = [("grant_type", "refresh_token"), ("refresh_token", token), ("resource", &*old.resource)];
    let answer = web.post_form(&old.token_endpoint, &old.client, &form).await?;
    let terms = Terms { resource: &old.resource, issuer: &old.issuer, token_endpoint: &old.token_endpoint };
    let mut new = grant(&answer, &terms, &old.client, old.scope.as_deref())?;
    // A server that gives no other leaves the one before.
    new.refresh_token = new.refresh_token.or_else(|| old.refresh_token.clone());
    Ok(new)
}

/// The purpose of a token, and its issuer.
struct Terms<'a> {
    resource: &'a str,
    issuer: &'a str,
    token_endpoint: &'a str,
}

impl<'a> Terms<'a> {
    fn of(found: &'a Found) -> Self {
        let Found { resource, issuer, .. } = found;
        Self { resource, issuer: &issuer.issuer, token_endpoint: &issuer.token_endpoint }
    }
}

fn grant(
    answer: &Asked,
    terms: &Terms<'_>,
    client: &Client,
    scope: Option<&str>,
) -> Result<McpGrant, McpLoginError> {
    let token: Token = read(answer)?;
    let lifetime = token.expires_in.as_ref().and_then(whole_seconds);
    if !token.token_type.eq_ignore_ascii_case("bearer") || token.access_token.is_empty() {
        return Err(McpLoginError::Malformed);
    }
    Ok(McpGrant {
        resource: terms.resource.to_owned(),
        issuer: terms.issuer.to_owned(),
        access_token: token.access_token,
        refresh_token: token.refresh_token.filter(|token| !token.is_empty()),
        expires_at: lifetime.map(|life| seconds(fresh::now()).saturating_add(life)),
        lifetime,
        scope: token.scope.or_else(|| scope.map(str::to_owned)),
        token_endpoint: terms.token_endpoint.to_owned(),
        client: client.clone(),
    })
}

/// Some servers write numbers as texts, or as floats.
fn whole_seconds(written: &Value) -> Option<u64> {
    let text = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
    text.trim().split('.').next()?.parse().ok()
}

fn read<T: serde::de::DeserializeOwned>(answer: &Asked) -> Result<T, McpLoginError> {
    if !(200..300).contains(&answer.status) {
        // It may be another matter in a while.
        if answer.status >= 500 || matches!(answer.status, 408 | 429) {
            return Err(McpLoginError::Unreachable);
        }
        let unsaid = || McpLoginError::Refused { error: format!("HTTP {}", answer.status) };
        return Err(refusal(answer).unwrap_or_else(unsaid));
    }
    // Some refuse under a good status.
    let other = |_| refusal(answer).unwrap_or(McpLoginError::Malformed);
    serde_json::from_slice(&answer.body).map_err(other)
}

fn refusal(answer: &Asked) -> Option<McpLoginError> {
    let Refusal { error } = serde_json::from_slice(&answer.body).ok()?;
    Some(McpLoginError::Refused { error: plain(&error) })
}

/// A code of an error as it may be shown.
pub(crate) fn plain(error: &str) -> String {
    error.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(body: &str) -> Result<McpGrant, McpLoginError> {
        let answer = Asked { status: 200, body: body.as_bytes().to_vec() };
        let terms =
            Terms { resource: "https://h/mcp", issuer: "https://h", token_endpoint: "https://h/token" };
        let client = Client { id: "client-1".to_owned(), secret: None, method: Method::None };
        grant(&answer, &terms, &client, None)
    }

    #[test]
    fn the_life_of_a_token_is_read_as_servers_write_it() {
        for (written, life) in [
            ("3599", Some(3_599)),
            ("\"3599\"", Some(3_599)),
            ("3600.0", Some(3_600)),
            ("null", None),
            ("\"soon\"", None),
            ("-1", None),
        ] {
            let body = format!(r#"{{"access_token":"a","token_type":"bearer","expires_in":{written}}}"#);
            assert_eq!(given(&body).unwrap().lifetime, life, "{written}");
        }
    }

    #[test]
    fn a_refusal_under_a_good_status_is_a_refusal() {
        let refused = given(r#"{"error":"invalid_grant","error_description":"used"}"#).unwrap_err();
        assert!(matches!(refused, McpLoginError::Refused { error } if error == "invalid_grant"));
        assert!(matches!(given("<html>").unwrap_err(), McpLoginError::Malformed));
    }
}
