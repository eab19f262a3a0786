//! The values that are sent with every request and are none of the model's: headers, cookies and parameters
//! from configuration, from the context of a call, and from its caller.

use std::fmt;
use std::sync::Arc;

use attache_core::{Secret, ToolContext};
use attache_transport::percent_encoded;
use http::HeaderName;
use http::header::AUTHORIZATION;

use crate::caller::{
    CallerHeaders, Forwarded, check_cookie_name, header_name, is_cookie_value, is_of_the_connection,
};
use crate::error::HttpToolsError;

/// The schemes of credentials that one token follows.
const SCHEMES: [&str; 8] = ["basic", "bearer", "token", "apikey", "api-key", "dpop", "negotiate", "key"];

type OfContext = Arc<dyn Fn(&ToolContext) -> Option<String> + Send + Sync>;

/// A header, a cookie or a parameter of the query that no model writes.
#[derive(Clone)]
pub(crate) struct Fixed {
    place: FixedPlace,
    value: FixedValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FixedPlace {
    Header(HeaderName),
    Cookie(String),
    Query(String),
}

#[derive(Clone)]
enum FixedValue {
    Given { prefix: String, secret: Secret, is_secret: bool },
    Context { value: OfContext, is_secret: bool },
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}

fn own_header(name: &str) -> Result<FixedPlace, HttpToolsError> {
    let name = header_name(name)?;
    if is_of_the_connection(&name) || name == http::header::COOKIE {
        return Err(HttpToolsError::new(format!("the header {name} is for the client to say")));
    }
    Ok(FixedPlace::Header(name))
}

impl Fixed {
    /// Lets its value be seen.
    pub(crate) fn plain(mut self) -> Self {
        let (FixedValue::Given { is_secret, .. } | FixedValue::Context { is_secret, .. }) = &mut self.value;
        *is_secret = false;
        self
    }

    /// Hides its value.
    pub(crate) fn secret(mut self) -> Self {
        let (FixedValue::Given { is_secret, .. } | FixedValue::Context { is_secret, .. }) = &mut self.value;
        *is_secret = true;
        self
    }

    pub(crate) fn header(
        name: &str,
        prefix: &str,
        secret: impl Into<Secret>,
    ) -> Result<Self, HttpToolsError> {
        let value = FixedValue::Given { prefix: prefix.to_owned(), secret: secret.into(), is_secret: true };
        Ok(Self { place: own_header(name)?, value })
    }

    pub(crate) fn query(name: &str, secret: impl Into<Secret>) -> Result<Self, HttpToolsError> {
        let value = FixedValue::Given { prefix: String::new(), secret: secret.into(), is_secret: true };
        Ok(Self { place: FixedPlace::Query(name.to_owned()), value })
    }

    pub(crate) fn cookie(name: &str, secret: impl Into<Secret>) -> Result<Self, HttpToolsError> {
        check_cookie_name(name)?;
        let secret = secret.into();
        if !is_cookie_value(secret.expose()) {
            let message = format!("the value of the cookie {name:?} has a sign that none may have");
            return Err(HttpToolsError::new(message));
        }
        let value = FixedValue::Given { prefix: String::new(), secret, is_secret: true };
        Ok(Self { place: FixedPlace::Cookie(name.to_owned()), value })
    }

    pub(crate) fn header_of_context(
        name: &str,
        value: impl Fn(&ToolContext) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, HttpToolsError> {
        let value = FixedValue::Context { value: Arc::new(value), is_secret: false };
        Ok(Self { place: own_header(name)?, value })
    }

    pub(crate) fn query_of_context(
        name: &str,
        value: impl Fn(&ToolContext) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, HttpToolsError> {
        let value = FixedValue::Context { value: Arc::new(value), is_secret: false };
        Ok(Self { place: FixedPlace::Query(name.to_owned()), value })
    }
}

/// The values that an endpoint, or a whole set of them, sends with every request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    fixed: Vec<Fixed>,
    pub(crate) forwarded: Forwarded,
}

impl Sent {
    pub(crate) fn set(&mut self, fixed: Fixed) {
        self.fixed.retain(|known| known.place != fixed.place);
        self.fixed.push(fixed);
    }

    pub(crate) fn has_query(&self, name: &str) -> bool {
        self.fixed.iter().any(|fixed| matches!(&fixed.place, FixedPlace::Query(known) if known == name))
    }

    pub(crate) fn has_header(&self, name: &str) -> bool {
        let own = self.fixed.iter().any(|fixed| {
            matches!(&fixed.place, FixedPlace::Header(known) if known.as_str().eq_ignore_ascii_case(name))
        });
        own || self.forwarded.headers.iter().any(|known| known.as_str().eq_ignore_ascii_case(name))
    }

    pub(crate) fn has_cookie(&self, name: &str) -> bool {
        let own =
            self.fixed.iter().any(|fixed| matches!(&fixed.place, FixedPlace::Cookie(known) if known == name));
        own || self.forwarded.cookies.iter().any(|known| known == name)
    }
}

/// The values that go out with one request. Each of them is a secret.
#[derive(Default)]
pub(crate) struct Dressing {
    pub(crate) headers: Vec<(HeaderName, String, Secret)>,
    cookies: Vec<(String, Secret)>,
    /// Names and values, encoded.
    pub(crate) query: Vec<(String, String)>,
    /// Texts that must not come back.
    pub(crate) secrets: Vec<String>,
}

impl Dressing {
    /// Adds what `sent` says for a call. A later value wins, and a fixed one wins over a caller's.
    pub(crate) fn add(&mut self, sent: &Sent, context: &ToolContext) {
        if !sent.forwarded.is_empty()
            && let Some(caller) = context.get::<CallerHeaders>()
        {
            for name in &sent.forwarded.headers {
                if let Some(secret) = caller.header(name) {
                    self.note_all(secret, *name == AUTHORIZATION);
                    self.set_header(name, "", secret);
                }
            }
            for name in &sent.forwarded.cookies {
                if let Some(secret) = caller.cookie(name) {
                    self.note_all(secret, false);
                    self.set_cookie(name, secret);
                }
            }
        }
        for fixed in &sent.fixed {
            let of_context;
            let (prefix, secret, is_secret) = match &fixed.value {
                FixedValue::Given { prefix, secret, is_secret } => (prefix.as_str(), secret, *is_secret),
                FixedValue::Context { value, is_secret } => match value(context) {
                    Some(text) => {
                        of_context = Secret::new(text);
                        ("", &of_context, *is_secret)
                    }
                    None => continue,
                },
            };
            if is_secret {
                self.note_all(secret, fixed.place == FixedPlace::Header(AUTHORIZATION));
            }
            match &fixed.place {
                FixedPlace::Header(name) => self.set_header(name, prefix, secret),
                FixedPlace::Cookie(name) => self.set_cookie(name, secret),
                FixedPlace::Query(name) => {
                    let name = percent_encoded(name.as_bytes());
                    self.query.retain(|(known, _)| *known != name);
                    self.query.push((name, percent_encoded(secret.expose().as_bytes())));
                }
            }
        }
    }

    /// Notes what must not come back of a secret.
    fn note_all(&mut self, secret: &Secret, is_authorization: bool) {
        self.note(secret.expose());
        // `Bearer x` comes back as `x` too, and `Basic x` as what it stands for. Other values are no schemes with tokens:
        // their words are ordinary ones.
        if let Some((scheme, token)) = secret.expose().split_once(' ')
            && (is_authorization || SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
        {
            self.note(token.trim());
            let decoded = attache_core::base64::decode(token.trim());
            if scheme.eq_ignore_ascii_case("basic")
                && let Some(Ok(user)) = decoded.map(String::from_utf8)
            {
                self.note(&user);
                self.note(user.split_once(':').map_or("", |(_, password)| password));
            }
        }
    }

    fn set_header(&mut self, name: &HeaderName, prefix: &str, secret: &Secret) {
        self.headers.retain(|(known, _, _)| known != name);
        self.headers.push((name.clone(), prefix.to_owned(), secret.clone()));
    }

    fn set_cookie(&mut self, name: &str, secret: &Secret) {
        // One that would end elsewhere than it is written to end is none.
        if is_cookie_value(secret.expose()) {
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_owned(), secret.clone()));
        } else {
            tracing::warn!(
                cookie = name,
                "a cookie of a caller is not passed on: no cookie may have its value"
            );
        }
    }

    fn note(&mut self, secret: &str) {
        if !secret.is_empty() && !self.secrets.iter().any(|known| known == secret) {
            self.secrets.push(secret.to_owned());
        }
    }

    /// The cookies as one header.
    pub(crate) fn cookies(&self) -> Option<Secret> {
        let pairs: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect();
        (!pairs.is_empty()).then(|| Secret::new(pairs.join("; ")))
    }
}
