//! Credentials of AWS and where they are found (bedrock.md 1).

#[cfg(feature = "aws-config")]
mod chain;
mod profile;
pub(crate) mod source;

use attache_transport::{Auth, Environment};

pub(crate) use self::profile::Profiles;
pub use self::source::{CredentialSource, Credentials};

use crate::error::{self, Result};
use crate::sigv4::SigV4;

/// The variable that holds an API key of Bedrock. It wins over all other credentials.
const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";

/// The credentials of requests in `region`, by the first of: an API key of Bedrock, the keys of the environment, the
/// profile's, and, with the feature `aws-config`, the rest of the usual chain.
pub(crate) fn find(environment: &Environment, profiles: &Profiles, region: &str) -> Result<Auth> {
    if let Some(key) = environment.get(BEARER) {
        return Ok(Auth::from(key));
    }
    if let Some(credentials) = of_environment(environment)? {
        return Ok(SigV4::new(region, credentials).into());
    }
    if let Some(source) = profiles.keys()? {
        return Ok(SigV4::new(region, source).into());
    }
    rest(environment, profiles, region)
}

fn of_environment(environment: &Environment) -> Result<Option<Credentials>> {
    let (id, secret) = (environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY"));
    match (id, secret) {
        (Some(id), Some(secret)) => {
            // A blank token is none.
            let token = environment.get("AWS_SESSION_TOKEN").unwrap_or_default();
            Ok(Some(Credentials::new(id, secret).with_session_token(token)))
        }
        (Some(_), None) => {
            Err(error::configuration("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not"))
        }
        (None, _) => Ok(None),
    }
}

/// The sources that need the network: single sign-on, roles, tokens of containers and machines.
#[cfg(feature = "aws-config")]
fn rest(environment: &Environment, profiles: &Profiles, region: &str) -> Result<Auth> {
    let _ = environment;
    Ok(SigV4::new(region, chain::Chain::new(profiles.chosen(), region)).into())
}

#[cfg(not(feature = "aws-config"))]
fn rest(environment: &Environment, profiles: &Profiles, _: &str) -> Result<Auth> {
    const ELSEWHERE: [&str; 3] = [
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ];
    let needed = profiles.needs_more().or_else(|| {
        let name = ELSEWHERE.into_iter().find(|name| environment.get(name).is_some())?;
        Some(format!("{name} is set"))
    });
    Err(error::configuration(match needed {
        Some(what) => format!("{what}, which needs the feature aws-config of attache-bedrock"),
        None => format!(
            "no credentials for bedrock: set {BEARER}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        ),
    }))
}

#[cfg(test)]
mod tests;
