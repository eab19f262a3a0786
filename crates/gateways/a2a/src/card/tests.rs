use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

use super::canonical::canonical;
use super::signature::base64url;
use super::*;

fn v1() -> Value {
    json!({
        "name": "Leases", "description": "Knows leases", "version": "1.2.0",
        "supportedInterfaces": [
            {"url": "https://h/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": "https://h/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"},
            {"url": "https://h/grpc", "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true, "extendedAgentCard": true},
        "skills": [{"id": "find", "name": "Find", "description": "Finds leases", "tags": ["x"], "examples": ["Where?"]}],
    })
}

#[test]
fn cards_of_both_versions_are_read() {
    let card = A2aCard::read(&v1()).unwrap();
    assert_eq!(
        (&*card.name, card.streaming, card.extended, card.push_notifications),
        ("Leases", true, true, false)
    );
    let chosen = card.interface((None, None)).unwrap();
    assert_eq!((&*chosen.url, chosen.tenant.as_deref()), ("https://h/rpc", Some("t")));
    let rest = card.interface((None, Some(A2aBinding::HttpJson))).unwrap();
    assert_eq!(rest.url, "https://h/rest");
    assert_eq!(card.others, ["GRPC 1.0"]);

    let old = json!({"name": "Old", "url": "https://h/", "protocolVersion": "0.3.0", "skills": [],
        "additionalInterfaces": [{"url": "https://h/v1", "transport": "HTTP+JSON"}],
        "supportsAuthenticatedExtendedCard": true});
    let old = A2aCard::read(&old).unwrap();
    let chosen = old.interface((None, None)).unwrap();
    assert_eq!((chosen.version, chosen.binding, old.extended), (A2aVersion::V0_3, A2aBinding::JsonRpc, true));

    let mut both = v1();
    both["url"] = json!("https://h/old");
    both["protocolVersion"] = json!("0.3.0");
    let both = A2aCard::read(&both).unwrap();
    assert_eq!(both.interface((None, None)).unwrap().version, A2aVersion::V1);
    assert_eq!(both.interface((Some(A2aVersion::V0_3), None)).unwrap().url, "https://h/old");
}

#[test]
fn json_that_is_no_card_is_none() {
    for odd in
        [json!(null), json!([]), json!({}), json!({"name": "x"}), json!({"name": 7, "url": "https://h"})]
    {
        assert_eq!(A2aCard::read(&odd), None, "{odd}");
    }
}

struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap())
    }

    fn key(&self, id: &str) -> A2aKey {
        let point = self.0.public_key().as_ref();
        let jwk = json!({"kty": "EC", "crv": "P-256", "kid": id, "x": base64url(&point[1..33]), "y": base64url(&point[33..])});
        A2aKey::from_jwk(&jwk).unwrap()
    }

    fn sign(&self, card: &Value, header: &Value) -> Value {
        let protected = base64url(header.to_string().as_bytes());
        let message = format!("{protected}.{}", base64url(canonical(card).as_bytes()));
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        let mut signed = card.clone();
        signed["signatures"] = json!([{"protected": protected, "signature": base64url(signature.as_ref())}]);
        signed
    }
}

#[test]
fn only_what_is_signed_is_believed() {
    let signer = Signer::new();
    let keys = [signer.key("k1")];
    let header = json!({"alg": "ES256", "kid": "k1", "typ": "JOSE"});
    let signed = signer.sign(&v1(), &header);
    assert_eq!(verified(&signed, &keys), Some(v1()));
    // Members in another order are the same card.
    let again: Value = serde_json::from_str(&canonical(&signed)).unwrap();
    assert!(verified(&again, &keys).is_some());

    let mut tampered = signed.clone();
    tampered["supportedInterfaces"][1]["url"] = json!("https://evil.example");
    assert_eq!(verified(&tampered, &keys), None);
    assert_eq!(verified(&signed, &[Signer::new().key("k1")]), None, "a key of somebody else");
    assert_eq!(verified(&signed, &[signer.key("k2")]), None, "a key of another name");
    assert_eq!(verified(&v1(), &keys), None, "no signature");
    for header in [
        json!({"alg": "none", "kid": "k1"}),
        json!({"alg": "HS256", "kid": "k1"}),
        json!({"alg": "ES384", "kid": "k1"}),
        json!({"alg": "ES256", "crit": ["b64"], "b64": false}),
    ] {
        assert_eq!(verified(&signer.sign(&v1(), &header), &keys), None, "{header}");
    }
}

// A server of the official SDK signs the card of 1.0, and puts the members of 0.3 beside it afterwards.
#[test]
fn members_beside_what_is_signed_are_not_believed() {
    let signer = Signer::new();
    let mut signed = signer.sign(&v1(), &json!({"alg": "ES256"}));
    signed["url"] = json!("https://evil.example");
    signed["protocolVersion"] = json!("0.3.0");
    signed["iconUrl"] = json!("");
    let believed = verified(&signed, &[signer.key("k")]).unwrap();
    assert_eq!(believed, v1());
}

#[test]
fn keys_that_cannot_be_used_are_refused() {
    for odd in [
        json!({"kty": "oct", "k": "AA"}),
        json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
        json!({"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"}),
        json!({"kty": "RSA", "n": "AA"}),
        json!("key"),
    ] {
        assert!(A2aKey::from_jwk(&odd).is_err(), "{odd}");
    }
}
