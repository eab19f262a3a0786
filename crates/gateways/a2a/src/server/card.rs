//! The card of an agent of ours.

use attache_core::Secret;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use serde_json::{Map, Value, json};

use crate::card::{base64url, canonical, clean};

/// The media types that an agent takes where nothing else is said: those that models take or converters read.
const INPUT: [&str; 31] = [
    "text/plain",
    "text/markdown",
    "text/html",
    "text/csv",
    "application/json",
    "application/xml",
    "application/pdf",
    "application/rtf",
    "application/epub+zip",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.presentation",
    "message/rfc822",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/bmp",
    "image/tiff",
    "audio/mpeg",
    "audio/wav",
    "audio/ogg",
    "audio/flac",
    "audio/mp4",
    "video/mp4",
];

/// The words of an agent of ours about itself.
///
/// ```
/// use attache_a2a::{A2aAbility, A2aProfile};
/// let profile = A2aProfile::new("Leases", "Knows all leases.", "https://leases.example/a2a")
///     .skill(A2aAbility::new("find", "Find", "Finds leases").tag("leases").example("Until when does the bakery's run?"));
/// # let _ = profile;
/// ```
#[derive(Clone, Debug)]
pub struct A2aProfile {
    name: String,
    description: String,
    pub(crate) url: String,
    version: String,
    skills: Vec<A2aAbility>,
    pub(crate) input: Vec<String>,
    output: Vec<String>,
    schemes: Map<String, Value>,
    provider: Option<(String, String)>,
    documentation: Option<String>,
    old: bool,
}

/// An ability of an agent of ours.
#[derive(Clone, Debug)]
pub struct A2aAbility {
    id: String,
    name: String,
    description: String,
    tags: Vec<String>,
    examples: Vec<String>,
}

impl A2aAbility {
    /// An ability.
    pub fn new(id: impl Into<String>, name: impl Into<String>, description: impl Into<String>) -> Self {
        let (id, name, description) = (id.into(), name.into(), description.into());
        Self { id, name, description, tags: Vec::new(), examples: Vec::new() }
    }

    /// Adds a word by which it is found.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Adds a question that it takes.
    #[must_use]
    pub fn example(mut self, example: impl Into<String>) -> Self {
        self.examples.push(example.into());
        self
    }

    fn json(&self) -> Value {
        // Tags are required, so there is one.
        let own = [self.id.clone()];
        let tags: &[String] = if self.tags.is_empty() { &own } else { &self.tags };
        let mut skill =
            json!({"id": self.id, "name": self.name, "description": self.description, "tags": tags});
        if let Some(skill) = skill.as_object_mut().filter(|_| !self.examples.is_empty()) {
            skill.insert("examples".to_owned(), self.examples.clone().into());
        }
        skill
    }
}

impl A2aProfile {
    /// An agent whose [router](crate::A2aServer::router) is served at `url`, for everybody who reads the card.
    pub fn new(name: impl Into<String>, description: impl Into<String>, url: impl Into<String>) -> Self {
        let modes = |modes: &[&str]| modes.iter().map(|mode| (*mode).to_owned()).collect();
        Self {
            name: name.into(),
            description: description.into(),
            url: url.into().trim_end_matches('/').to_owned(),
            version: "1.0.0".to_owned(),
            skills: Vec::new(),
            input: modes(&INPUT),
            output: modes(&["text/plain", "application/json", "application/octet-stream"]),
            schemes: Map::new(),
            provider: None,
            documentation: None,
            old: true,
        }
    }

    /// Sets the agent's own version; `1.0.0` by default.
    #[must_use]
    pub fn agent_version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Adds an ability. Without one the card names the agent as its only one.
    #[must_use]
    pub fn skill(mut self, skill: A2aAbility) -> Self {
        self.skills.push(skill);
        self
    }

    /// Sets the media types that it takes, such as `image/png` or `*/*`. A message with a part of another one is refused; any
    /// text is taken where `text/plain` is.
    #[must_use]
    pub fn input_modes(mut self, modes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.input = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the media types that it gives.
    #[must_use]
    pub fn output_modes(mut self, modes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.output = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Says that callers need a bearer token, such as `JWT`. It is for the host program to check.
    #[must_use]
    pub fn bearer(mut self, format: impl Into<String>) -> Self {
        let scheme = json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": format.into()}});
        self.schemes.insert("bearer".to_owned(), scheme);
        self
    }

    /// Says that callers need a key in that header. It is for the host program to check.
    #[must_use]
    pub fn api_key(mut self, header: impl Into<String>) -> Self {
        let scheme = json!({"apiKeySecurityScheme": {"location": "header", "name": header.into()}});
        self.schemes.insert("apiKey".to_owned(), scheme);
        self
    }

    /// Sets who offers the agent.
    #[must_use]
    pub fn provider(mut self, organization: impl Into<String>, url: impl Into<String>) -> Self {
        self.provider = Some((organization.into(), url.into()));
        self
    }

    /// Sets where people read about it.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Says whether the card has the members of version 0.3 beside those of 1.0, as it does by default. Clients of 0.3
    /// need them; strict readers of 1.0 allow no others.
    #[must_use]
    pub fn for_0_3(mut self, old: bool) -> Self {
        self.old = old;
        self
    }

    /// The card of version 1.0.
    fn plain(&self, notifies: bool) -> Value {
        let interface = |binding: &str, version: &str| json!({"url": self.url, "protocolBinding": binding, "protocolVersion": version});
        let mut interfaces = vec![interface("JSONRPC", "1.0"), interface("HTTP+JSON", "1.0")];
        interfaces.extend(self.old.then(|| interface("JSONRPC", "0.3")));
        let own = A2aAbility::new("ask", &self.name, &self.description);
        let skills: Vec<Value> = match self.skills.is_empty() {
            true => vec![own.json()],
            false => self.skills.iter().map(A2aAbility::json).collect(),
        };
        let mut card = json!({
            "name": self.name,
            "description": self.description,
            "supportedInterfaces": interfaces,
            "version": self.version,
            "capabilities": {"streaming": true, "pushNotifications": notifies, "extendedAgentCard": false},
            "defaultInputModes": self.input,
            "defaultOutputModes": self.output,
            "skills": skills,
        });
        if let Some(card) = card.as_object_mut() {
            if let Some((organization, url)) = &self.provider {
                card.insert("provider".to_owned(), json!({"organization": organization, "url": url}));
            }
            if let Some(url) = &self.documentation {
                card.insert("documentationUrl".to_owned(), url.clone().into());
            }
            if !self.schemes.is_empty() {
                let required: Vec<Value> =
                    self.schemes.keys().map(|name| json!({"schemes": {name: {"list": []}}})).collect();
                card.insert("securitySchemes".to_owned(), Value::Object(self.schemes.clone()));
                card.insert("securityRequirements".to_owned(), Value::Array(required));
            }
        }
        card
    }

    /// The card as it is served.
    pub(crate) fn card(&self, signer: Option<&A2aSigner>, notifies: bool) -> Value {
        let plain = self.plain(notifies);
        let mut card = plain.clone();
        if let Some(card) = card.as_object_mut().filter(|_| self.old) {
            card.insert("url".to_owned(), self.url.clone().into());
            card.insert("preferredTransport".to_owned(), "JSONRPC".into());
            card.insert("protocolVersion".to_owned(), "0.3.0".into());
        }
        let Some(signer) = signer else { return card };
        // A program that reads 1.0 alone signs and verifies that alone.
        let mut signatures = vec![signer.sign(&plain)];
        if self.old {
            signatures.push(signer.sign(&card));
        }
        if let Some(card) = card.as_object_mut() {
            card.insert("signatures".to_owned(), signatures.into());
        }
        card
    }
}

/// A private key that signs the card.
pub struct A2aSigner {
    key: Private,
    id: String,
}

enum Private {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// A private key that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the private key cannot be used")]
pub struct A2aSignerError;

impl A2aSigner {
    /// A key on P-256 (`ES256`) as PKCS #8. `id` names it to those who verify.
    ///
    /// # Errors
    /// If it is no such key.
    pub fn es256(pkcs8: &[u8], id: impl Into<String>) -> Result<Self, A2aSignerError> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random);
        Ok(Self { key: Private::P256(key.map_err(|_| A2aSignerError)?), id: id.into() })
    }

    /// A key on Ed25519 (`EdDSA`) as PKCS #8. `id` names it to those who verify.
    ///
    /// # Errors
    /// If it is no such key.
    pub fn ed25519(pkcs8: &[u8], id: impl Into<String>) -> Result<Self, A2aSignerError> {
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(|_| A2aSignerError)?;
        Ok(Self { key: Private::Ed25519(key), id: id.into() })
    }

    /// A key on P-256 (`ES256`) or Ed25519 (`EdDSA`) as PEM, `-----BEGIN PRIVATE KEY-----`. `id` names it to those who verify.
    ///
    /// # Errors
    /// If it is no key that is known here.
    pub fn pem(pem: &Secret, id: impl Into<String>) -> Result<Self, A2aSignerError> {
        let lines = pem.expose().lines().map(str::trim);
        let body: String = lines.filter(|line| !line.starts_with("-----")).collect();
        let der = attache_core::base64::decode(body).ok_or(A2aSignerError)?;
        let id = id.into();
        Self::es256(&der, id.clone()).or_else(|_| Self::ed25519(&der, id))
    }

    /// A signature on a card. (RFC 7515 appendix F, A2A 1.0 section 8.4)
    fn sign(&self, card: &Value) -> Value {
        let algorithm = match self.key {
            Private::P256(_) => "ES256",
            Private::Ed25519(_) => "EdDSA",
        };
        let header = json!({"alg": algorithm, "kid": self.id, "typ": "JOSE"});
        let protected = base64url(header.to_string().as_bytes());
        let mut filled = card.clone();
        clean(&mut filled);
        let message = format!("{protected}.{}", base64url(canonical(&filled).as_bytes()));
        let signature = match &self.key {
            Private::P256(key) => {
                // It fails only where the system has no random numbers.
                let signed = key.sign(&SystemRandom::new(), message.as_bytes());
                signed.map(|signature| base64url(signature.as_ref())).unwrap_or_default()
            }
            Private::Ed25519(key) => base64url(key.sign(message.as_bytes()).as_ref()),
        };
        json!({"protected": protected, "signature": signature})
    }
}

impl std::fmt::Debug for A2aSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("A2aSigner").field("id", &self.id).finish_non_exhaustive()
    }
}
