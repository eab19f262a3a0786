//! The things that a token says, held against what is expected (RFC 7519, 4.1).

use std::time::Duration;

use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::auth::principal::{Principal, Scope};

/// The maximum number of bytes of a principal's name.
const MOST: usize = 256;

/// The things that a token must say.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) issuer: String,
    pub(super) audiences: Vec<String>,
    /// The claim that names the principal.
    pub(super) principal: String,
    /// The claim of scopes, and what stands before each.
    pub(super) scopes: Option<(String, String)>,
    pub(super) skew: Duration,
}

impl Expected {
    /// The principal of claims at a time since 1970.
    pub(super) fn check(&self, claims: &Map<String, Value>, now: Duration) -> Result<Principal, Refusal> {
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(Refusal::Issuer);
        }
        let is_ours = |audience: &Value| {
            audience.as_str().is_some_and(|audience| self.audiences.iter().any(|own| own == audience))
        };
        let is_for_us = match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_ours),
            Some(one) => is_ours(one),
            None => false,
        };
        if !is_for_us {
            return Err(Refusal::Audience);
        }
        let (now, skew) = (now.as_secs_f64(), self.skew.as_secs_f64());
        // A time that is none does not make a token that holds for ever.
        let expires = claims.get("exp").and_then(Value::as_f64).ok_or(Refusal::Malformed)?;
        if now >= expires + skew {
            return Err(Refusal::Expired);
        }
        if let Some(begins) = claims.get("nbf") {
            let begins = begins.as_f64().ok_or(Refusal::Malformed)?;
            if now + skew < begins {
                return Err(Refusal::NotYet);
            }
        }
        let name = find(claims, &self.principal).and_then(Value::as_str).ok_or(Refusal::Principal)?;
        let is_name = !name.is_empty() && name.len() <= MOST && !name.contains(char::is_control);
        let is_unproved = self.principal == "email"
            && claims.get("email_verified").is_some_and(|verified| {
                verified == &Value::Bool(false) || verified.as_str() == Some("false")
            });
        if !is_name || is_unproved {
            return Err(Refusal::Principal);
        }
        let principal = Principal::new(name);
        Ok(match &self.scopes {
            None => principal,
            Some((claim, prefix)) => principal.with_scopes(scopes(find(claims, claim), prefix)),
        })
    }
}

/// A claim by its name, or by a JSON Pointer.
fn find<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    match name.strip_prefix('/') {
        None => claims.get(name),
        Some(path) => {
            let mut parts = path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~"));
            let first = claims.get(&parts.next()?);
            parts.fold(first, |value, part| value?.as_object()?.get(&part))
        }
    }
}

/// The scopes in a claim: words of a text (RFC 8693, 4.2), or the texts of an array.
fn scopes(claim: Option<&Value>, prefix: &str) -> Vec<Scope> {
    let words: Vec<&str> = match claim {
        Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let known = |word: &&str| {
        let name = word.strip_prefix(prefix)?;
        serde_json::from_value(Value::String(name.to_owned())).ok()
    };
    words.iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Duration = Duration::from_secs(1_000_000);

    fn expected() -> Expected {
        Expected {
            issuer: "https://login.example".to_owned(),
            audiences: vec!["agents".to_owned(), "others".to_owned()],
            principal: "sub".to_owned(),
            scopes: None,
            skew: Duration::from_secs(60),
        }
    }

    fn claims(more: &Value) -> Map<String, Value> {
        let claims = json!({"iss": "https://login.example", "aud": "agents", "exp": 1_000_000, "sub": "ann"});
        let mut claims = claims.as_object().unwrap().clone();
        for (name, value) in more.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.shift_remove(name)),
                value => drop(claims.insert(name.clone(), value.clone())),
            }
        }
        claims
    }

    fn check(more: &Value) -> Result<String, Refusal> {
        expected().check(&claims(more), NOW).map(|principal| principal.name().to_owned())
    }

    #[test]
    fn a_token_is_of_its_issuer_for_its_audience_and_for_now() {
        let ann = Ok("ann".to_owned());
        for good in [
            json!({}),
            json!({"aud": ["somebody", "others"]}),
            json!({"exp": 999_941}),
            json!({"exp": 1_000_000.5}),
            json!({"nbf": 1_000_060}),
        ] {
            assert_eq!(check(&good), ann, "{good}");
        }
        for (refusal, bad) in [
            (Refusal::Issuer, json!({"iss": "https://login.example/"})),
            (Refusal::Issuer, json!({"iss": null})),
            (Refusal::Issuer, json!({"iss": ["https://login.example"]})),
            (Refusal::Audience, json!({"aud": "agents "})),
            (Refusal::Audience, json!({"aud": []})),
            (Refusal::Audience, json!({"aud": null})),
            (Refusal::Audience, json!({"aud": {"agents": true}})),
            (Refusal::Expired, json!({"exp": 999_940})),
            (Refusal::Expired, json!({"exp": -1})),
            (Refusal::Malformed, json!({"exp": null})),
            (Refusal::Malformed, json!({"exp": "1000000"})),
            (Refusal::NotYet, json!({"nbf": 1_000_061})),
            (Refusal::Malformed, json!({"nbf": "0"})),
            (Refusal::Principal, json!({"sub": null})),
            (Refusal::Principal, json!({"sub": ""})),
            (Refusal::Principal, json!({"sub": 7})),
            (Refusal::Principal, json!({"sub": "a\nb"})),
            (Refusal::Principal, json!({"sub": "a".repeat(257)})),
        ] {
            assert_eq!(check(&bad), Err(refusal), "{bad}");
        }
    }

    #[test]
    fn the_principal_is_where_the_server_looks_for_it() {
        let mut by_email = expected();
        by_email.principal = "email".to_owned();
        let name = |expected: &Expected, more: Value| -> Result<String, Refusal> {
            expected.check(&claims(&more), NOW).map(|principal| principal.name().to_owned())
        };
        assert_eq!(name(&by_email, json!({"email": "ann@example.org"})), Ok("ann@example.org".to_owned()));
        for verified in [json!(false), json!("false")] {
            let unproved = json!({"email": "boss@example.org", "email_verified": verified});
            assert_eq!(name(&by_email, unproved), Err(Refusal::Principal));
        }
        let mut inside = expected();
        inside.principal = "/act/sub".to_owned();
        assert_eq!(name(&inside, json!({"act": {"sub": "bob"}})), Ok("bob".to_owned()));
        assert_eq!(name(&inside, json!({"act": "bob"})), Err(Refusal::Principal));
    }

    #[test]
    fn scopes_are_words_behind_a_prefix() {
        let may = |claim: &str, more: Value| -> Vec<Scope> {
            let mut expected = expected();
            expected.scopes = Some((claim.to_owned(), "agents:".to_owned()));
            let principal = expected.check(&claims(&more), NOW).unwrap();
            [Scope::Run, Scope::Read, Scope::Approve]
                .into_iter()
                .filter(|scope| principal.may(*scope))
                .collect()
        };
        assert_eq!(may("scope", json!({"scope": "openid agents:run run agents:approved"})), [Scope::Run]);
        assert_eq!(may("scp", json!({"scp": ["agents:read", 1]})), [Scope::Read]);
        assert_eq!(may("/realm/roles", json!({"realm": {"roles": ["agents:approve"]}})), [Scope::Approve]);
        assert!(may("scope", json!({})).is_empty());
    }
}
