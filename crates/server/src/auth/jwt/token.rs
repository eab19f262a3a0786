//! A token as it is written: three texts in Base64, the last of which is a signature over the others (RFC 7515, 3.1).

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::algorithm::JwtAlgorithm;
use super::refusal::Refusal;

/// The maximum number of bytes of a token.
const MOST: usize = 16 << 10;

/// A token whose signature nobody looked at yet.
pub(super) struct Token<'a> {
    /// None for a way to sign that nobody here knows.
    pub(super) algorithm: Option<JwtAlgorithm>,
    pub(super) key_id: Option<String>,
    /// The bytes that are signed.
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
    payload: &'a str,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that whoever reads the token must know. There is none here.
    crit: Option<Value>,
}

impl<'a> Token<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, Refusal> {
        if text.len() > MOST {
            return Err(Refusal::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Refusal::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(Refusal::Malformed)?;
        if payload.contains('.') {
            return Err(Refusal::Malformed);
        }
        let header: Header = serde_json::from_slice(&decoded(header)?).map_err(|_| Refusal::Malformed)?;
        let is_known = header.typ.as_deref().is_none_or(|typ| {
            let typ = typ.to_ascii_lowercase();
            // RFC 9068 names access tokens so.
            matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
        });
        if !is_known || header.crit.is_some() {
            return Err(Refusal::Malformed);
        }
        let algorithm = serde_json::from_value(Value::String(header.alg)).ok();
        let signature = decoded(signature)?;
        Ok(Self { algorithm, key_id: header.kid, signed: signed.as_bytes(), signature, payload })
    }

    /// The things that it says. They count once the signature does.
    pub(super) fn claims(&self) -> Result<Map<String, Value>, Refusal> {
        serde_json::from_slice(&decoded(self.payload)?).map_err(|_| Refusal::Malformed)
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, Refusal> {
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| Refusal::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str) -> Result<Option<JwtAlgorithm>, Refusal> {
        let text = format!("{}.e30.", BASE64_URL_SAFE_NO_PAD.encode(header));
        Token::read(&text).map(|token| token.algorithm)
    }

    #[test]
    fn only_signatures_by_public_keys_are_known() {
        assert_eq!(read(r#"{"alg":"RS256"}"#), Ok(Some(JwtAlgorithm::Rs256)));
        assert_eq!(read(r#"{"alg":"EdDSA","typ":"at+jwt"}"#), Ok(Some(JwtAlgorithm::EdDsa)));
        assert_eq!(read(r#"{"alg":"Ed25519","typ":"JWT"}"#), Ok(Some(JwtAlgorithm::EdDsa)));
        for name in ["none", "None", "nOnE", "HS256", "HS512", "rs256", "ES512", "", "dir", "RSA-OAEP"] {
            assert_eq!(read(&format!(r#"{{"alg":"{name}"}}"#)), Ok(None), "{name}");
        }
    }

    #[test]
    fn texts_that_are_no_tokens_are_refused() {
        for header in [
            "{}",
            "[]",
            "",
            r#"{"alg":1}"#,
            r#"{"alg":"RS256","typ":"dpop+jwt"}"#,
            r#"{"alg":"RS256","crit":["exp"]}"#,
            r#"{"alg":"RS256","alg":"none"}"#,
        ] {
            assert_eq!(read(header), Err(Refusal::Malformed), "{header}");
        }
        let long = format!("e30.{}.", "A".repeat(MOST));
        for text in
            ["", ".", "..", "a", "a.b", "e30.e30", "e30.e30.e30.e30.e30", "e30=.e30.", "e 0.e30.", &long]
        {
            assert!(matches!(Token::read(text), Err(Refusal::Malformed)), "{text}");
        }
    }
}
