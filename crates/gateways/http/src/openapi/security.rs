//! Security schemes and the credentials that a program has for them.

use std::collections::{BTreeMap, HashSet};

use attache_core::Secret;
use serde_json::Value;

use super::document::OpenApi;
use super::reference::{resolved, text};
use crate::error::HttpToolsError;
use crate::fixed_values::Fixed;

/// The alternatives of one operation that are looked at.
const MOST_ALTERNATIVES: usize = 256;

/// The way in which a scheme's credential is sent.
#[derive(Clone, Debug)]
enum Scheme {
    Header(String),
    Query(String),
    Cookie(String),
    Bearer,
    Basic,
}

/// The security of a document.
pub(super) struct Security<'d> {
    openapi: &'d OpenApi,
    schemes: BTreeMap<&'d str, Scheme>,
    /// Where they have their credentials.
    places: HashSet<(&'static str, String)>,
}

impl<'d> Security<'d> {
    pub(super) fn new(openapi: &'d OpenApi) -> Result<Self, HttpToolsError> {
        let document = &*openapi.document;
        let described = document.pointer("/components/securitySchemes").and_then(Value::as_object);
        let mut schemes = BTreeMap::new();
        for (name, scheme) in described.into_iter().flatten() {
            if let Ok(scheme) = resolved(document, scheme)
                && let Some(scheme) = read(scheme)
            {
                schemes.insert(name.as_str(), scheme);
            }
        }
        if let Some(unknown) = openapi.credentials.keys().find(|name| !schemes.contains_key(name.as_str())) {
            let known: Vec<&str> = schemes.keys().copied().collect();
            let message =
                format!("the document has no security scheme {unknown:?}; it has: {}", known.join(", "));
            return Err(HttpToolsError::new(message));
        }
        let place = |scheme: &Scheme| match scheme {
            Scheme::Header(name) => Some(("header", name.to_ascii_lowercase())),
            Scheme::Query(name) => Some(("query", name.clone())),
            Scheme::Cookie(name) => Some(("cookie", name.clone())),
            Scheme::Bearer | Scheme::Basic => None,
        };
        let places = schemes.values().filter_map(place).collect();
        Ok(Self { openapi, schemes, places })
    }

    /// True if a parameter is where a scheme has its credential, but for an operation that says that it has none.
    pub(super) fn is_credential(&self, place: &str, name: &str, operation: &Value) -> bool {
        if operation.get("security").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            return false;
        }
        match place {
            "header" => self.places.contains(&("header", name.to_ascii_lowercase())),
            "query" | "cookie" => self.places.contains(&(place, name.to_owned())),
            _ => false,
        }
    }

    /// The credentials that an operation sends: the first alternative that it allows and that is complete.
    pub(super) fn credentials(&self, operation: &Value) -> Result<Vec<Fixed>, HttpToolsError> {
        let allowed = operation.get("security").or_else(|| self.openapi.document.get("security"));
        let alternatives = allowed.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for alternative in alternatives.iter().take(MOST_ALTERNATIVES).filter_map(Value::as_object) {
            let all: Option<Vec<(&Scheme, &Secret)>> = alternative
                .keys()
                .map(|name| Some((self.schemes.get(name.as_str())?, self.openapi.credentials.get(name)?)))
                .collect();
            if let Some(all) = all.filter(|all| !all.is_empty()) {
                return all.into_iter().map(|(scheme, secret)| fixed(scheme, secret)).collect();
            }
        }
        Ok(Vec::new())
    }
}

fn read(scheme: &Value) -> Option<Scheme> {
    match text(scheme, "type")? {
        "apiKey" => {
            let name = text(scheme, "name")?.to_owned();
            match text(scheme, "in")? {
                "header" => Some(Scheme::Header(name)),
                "query" => Some(Scheme::Query(name)),
                "cookie" => Some(Scheme::Cookie(name)),
                _ => None,
            }
        }
        "http" => match text(scheme, "scheme")?.to_ascii_lowercase().as_str() {
            "bearer" => Some(Scheme::Bearer),
            "basic" => Some(Scheme::Basic),
            _ => None,
        },
        "oauth2" | "openIdConnect" => Some(Scheme::Bearer),
        _ => None,
    }
}

fn fixed(scheme: &Scheme, secret: &Secret) -> Result<Fixed, HttpToolsError> {
    match scheme {
        Scheme::Header(name) => Fixed::header(name, "", secret.clone()),
        Scheme::Query(name) => Fixed::query(name, secret.clone()),
        Scheme::Cookie(name) => Fixed::cookie(name, secret.clone()),
        Scheme::Bearer => Fixed::header("authorization", "Bearer ", secret.clone()),
        Scheme::Basic => {
            let encoded = attache_core::base64::encode(secret.expose());
            // In one piece, so that what it stands for is a secret too.
            Fixed::header("authorization", "", format!("Basic {encoded}"))
        }
    }
}
