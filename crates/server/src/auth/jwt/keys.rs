//! The keys of an issuer (RFC 7517), and signatures by them (RFC 7518, RFC 8037).

use std::sync::Arc;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::JwtAlgorithm;

/// The maximum number of keys of an issuer.
const MOST: usize = 256;

/// A public key.
pub(super) struct Key {
    id: Option<String>,
    /// The one way to sign that it is for, if it says so.
    algorithm: Option<JwtAlgorithm>,
    public: Public,
}

enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A set of keys that is no such set.
pub(super) struct NoKeys;

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<Value>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Reads a set of keys. Those that are for something else, or of a kind that is not known, are left out.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Arc<Key>>, NoKeys> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<Value>,
    }
    let set: Set = serde_json::from_slice(bytes).map_err(|_| NoKeys)?;
    Ok(set.keys.into_iter().take(MOST).filter_map(Key::read).map(Arc::new).collect())
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let signs = jwk.used_for.as_deref().is_none_or(|used_for| used_for == "sig")
            && jwk.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !signs {
            return None;
        }
        let decoded = |text: &Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        let number = |text: &Option<String>| {
            let bytes = decoded(text)?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            Some(bytes.get(zeros..)?.to_vec()).filter(|bytes| !bytes.is_empty())
        };
        let point = |size: usize| {
            let (x, y) = (decoded(&jwk.x)?, decoded(&jwk.y)?);
            // A point that is not compressed begins with 4 (SEC 1, 2.3.3).
            (x.len() == size && y.len() == size).then(|| [&[4][..], &x, &y].concat())
        };
        let public = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Public::Rsa { n: number(&jwk.n)?, e: number(&jwk.e)? },
            ("EC", Some("P-256")) => Public::P256(point(32)?),
            ("EC", Some("P-384")) => Public::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Public::Ed25519(decoded(&jwk.x).filter(|x| x.len() == 32)?),
            // A key of a kind that server and issuer share is no key here.
            _ => return None,
        };
        let algorithm = match jwk.alg {
            None => None,
            Some(name) => Some(serde_json::from_value(name).ok()?),
        };
        Some(Self { id: jwk.kid, algorithm, public })
    }

    /// True if it may have signed so a token that names that key, or none.
    pub(super) fn fits(&self, id: Option<&str>, algorithm: JwtAlgorithm) -> bool {
        use JwtAlgorithm as A;
        let kind = match &self.public {
            Public::Rsa { .. } => {
                matches!(algorithm, A::Rs256 | A::Rs384 | A::Rs512 | A::Ps256 | A::Ps384 | A::Ps512)
            }
            Public::P256(_) => algorithm == A::Es256,
            Public::P384(_) => algorithm == A::Es384,
            Public::Ed25519(_) => algorithm == A::EdDsa,
        };
        kind && self.algorithm.is_none_or(|own| own == algorithm)
            && id.is_none_or(|id| self.id.as_deref() == Some(id))
    }

    /// True if it made that signature.
    pub(super) fn verifies(&self, algorithm: JwtAlgorithm, signed: &[u8], made: &[u8]) -> bool {
        use JwtAlgorithm as A;
        let by = |way: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(way, key).verify(signed, made).is_ok()
        };
        match &self.public {
            Public::P256(key) if algorithm == A::Es256 => by(&signature::ECDSA_P256_SHA256_FIXED, key),
            Public::P384(key) if algorithm == A::Es384 => by(&signature::ECDSA_P384_SHA384_FIXED, key),
            Public::Ed25519(key) if algorithm == A::EdDsa => by(&signature::ED25519, key),
            Public::Rsa { n, e } => {
                let way = match algorithm {
                    A::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    A::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    A::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    A::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    A::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                    A::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
                    _ => return false,
                };
                RsaPublicKeyComponents { n, e }.verify(way, signed, made).is_ok()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::Token;
    use super::*;
    use serde_json::json;

    fn is_good(key: &Value, token: &str) -> bool {
        let keys = read(json!({ "keys": [key] }).to_string().as_bytes()).unwrap_or_default();
        let token = Token::read(token).unwrap_or_else(|refusal| panic!("{refusal:?}"));
        let algorithm = token.algorithm.unwrap();
        keys.iter()
            .any(|key| key.fits(None, algorithm) && key.verifies(algorithm, token.signed, &token.signature))
    }

    const PAYLOAD: &str =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

    // RFC 7515, A.2
    #[test]
    fn rsa_of_the_standard() {
        let key = json!({"kty": "RSA", "e": "AQAB", "n": concat!(
            "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2l",
            "ZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEM",
            "a2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2P",
            "AcDTW9gb54h4FRWyuXpoQ")});
        let signature = concat!(
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9C",
            "UAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6",
            "_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp",
            "0igcN_IoypGlUPQGe77Rw"
        );
        assert!(is_good(&key, &format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}.{signature}")));
        assert!(!is_good(&key, &format!("eyJhbGciOiJSUzI1NiJ9.e30.{signature}")));
        let other = |member: &str, value: Value| {
            let mut key = key.clone();
            key[member] = value;
            is_good(&key, &format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}.{signature}"))
        };
        assert!(other("alg", json!("RS256")) && other("use", json!("sig")));
        assert!(!other("alg", json!("RS512")) && !other("alg", json!("HS256")));
        assert!(!other("use", json!("enc")) && !other("key_ops", json!(["encrypt"])));
        assert!(!other("kty", json!("oct")));
    }

    // RFC 7515, A.3
    #[test]
    fn ecdsa_of_the_standard() {
        let key = json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
        let signature =
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        assert!(is_good(&key, &format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.{signature}")));
        // A signature of zeros passed for a good one elsewhere.
        let zeros = BASE64_URL_SAFE_NO_PAD.encode([0; 64]);
        assert!(!is_good(&key, &format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.{zeros}")));
    }

    // RFC 8037, A.4
    #[test]
    fn ed25519_of_the_standard() {
        let key = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert!(is_good(&key, &format!("{signed}.{signature}")));
        assert!(!is_good(&key, &format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode([0; 64]))));
    }

    #[test]
    fn strange_keys_are_left_out_and_a_strange_set_is_none() {
        let keys = json!({"keys": [
            1, {}, {"kty": "oct", "k": "AAAA"}, {"kty": "RSA", "n": "", "e": "AQAB"},
            {"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}, {"kty": "OKP", "crv": "X25519", "x": "AAAA"},
            {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "a"},
        ]});
        let keys = read(keys.to_string().as_bytes()).unwrap_or_default();
        assert_eq!(keys.len(), 1);
        for text in ["", "[]", "{}", r#"{"keys":1}"#, "<html>"] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
