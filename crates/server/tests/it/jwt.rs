//! Tokens of an issuer.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use attache_agent::Agent;
use attache_core::BoxFuture;
use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_server::{ApiKey, ApiKeys, Jwt, JwtAlgorithm, Server};
use attache_transport::GuardedFetcher;
use axum::body::Body;
use axum::response::Response;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use http::{Request, StatusCode, header};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaEncoding, RsaKeyPair};
use serde_json::{Value, json};
use tracing::Level;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::{Client, Stage, sessions, value};
use crate::logged::Lines;

type Sign = Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// A pair of keys with the public one as issuers show it.
struct Signer {
    public: Value,
    sign: Sign,
}

impl Signer {
    fn ecdsa(id: &str) -> Self {
        let random = SystemRandom::new();
        let way = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::generate_pkcs8(way, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(way, pair.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref();
        let public = json!({"kty": "EC", "crv": "P-256", "kid": id, "x": text(&point[1..33]), "y": text(&point[33..])});
        Self { public, sign: Box::new(move |signed| pair.sign(&random, signed).unwrap().as_ref().to_vec()) }
    }

    fn ed25519(id: &str) -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
        let public = json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "alg": "EdDSA",
            "x": text(pair.public_key().as_ref())});
        Self { public, sign: Box::new(move |signed| pair.sign(signed).as_ref().to_vec()) }
    }

    /// A key that is for tests alone.
    fn rsa(id: &str, way: &'static dyn RsaEncoding) -> Self {
        let pair = RsaKeyPair::from_pkcs8(include_bytes!("issuer.pk8")).unwrap();
        let public = signature::RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
        let public = json!({"kty": "RSA", "kid": id, "n": text(&public.n), "e": text(&public.e)});
        let sign = move |signed: &[u8]| {
            let mut made = vec![0; pair.public().modulus_len()];
            pair.sign(way, &SystemRandom::new(), signed, &mut made).unwrap();
            made
        };
        Self { public, sign: Box::new(sign) }
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", text(header.to_string()), text(claims.to_string()));
        format!("{signed}.{}", text((self.sign)(signed.as_bytes())))
    }
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes.as_ref())
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// An issuer over HTTP.
struct Issuer {
    server: MockServer,
}

impl Issuer {
    async fn new(signers: &[&Signer]) -> Self {
        let server = MockServer::start().await;
        let keys =
            Arc::new(Mutex::new(signers.iter().map(|signer| signer.public.clone()).collect::<Vec<_>>()));
        let configuration = json!({"issuer": server.uri(), "jwks_uri": format!("{}/keys", server.uri())});
        let configuration = ResponseTemplate::new(200).set_body_json(configuration);
        let place = path("/.well-known/openid-configuration");
        Mock::given(place).respond_with(configuration).mount(&server).await;
        let keys = ResponseTemplate::new(200).set_body_json(json!({ "keys": keys }));
        Mock::given(path("/keys")).respond_with(keys).mount(&server).await;
        Self { server }
    }

    fn jwt(&self) -> Jwt {
        Jwt::oidc(self.server.uri(), "agents", Arc::new(inside()))
    }

    fn claims(&self) -> Value {
        json!({"iss": self.server.uri(), "aud": "agents", "exp": now() + 60, "sub": "ann"})
    }

    /// The number of times that its keys were asked for.
    async fn asked(&self) -> usize {
        let requests = self.server.received_requests().await.unwrap();
        requests.iter().filter(|request| request.url.path() == "/keys").count()
    }
}

fn inside() -> GuardedFetcher {
    GuardedFetcher::new().with_private_addresses(true).with_any_port()
}

fn client(jwt: Jwt) -> Client {
    Client::new(server().jwt(jwt))
}

fn server() -> Server {
    Server::new("papers", sessions(Agent::builder(Stage::new([]))))
}

async fn ask(client: &Client, token: &str) -> Response {
    let request =
        Request::builder().uri("/v1/models").header(header::AUTHORIZATION, format!("Bearer {token}"));
    client.send(request, Body::empty()).await
}

async fn is_taken(client: &Client, token: &str) -> bool {
    ask(client, token).await.status().is_success()
}

#[tokio::test]
async fn tokens_of_each_kind_of_key_are_taken() {
    let signers = [
        ("ES256", Signer::ecdsa("a")),
        ("EdDSA", Signer::ed25519("b")),
        ("RS256", Signer::rsa("c", &signature::RSA_PKCS1_SHA256)),
        ("RS512", Signer::rsa("d", &signature::RSA_PKCS1_SHA512)),
        ("PS256", Signer::rsa("e", &signature::RSA_PSS_SHA256)),
    ];
    let issuer = Issuer::new(&signers.iter().map(|(_, signer)| signer).collect::<Vec<_>>()).await;
    let client = client(issuer.jwt());
    for (name, signer) in &signers {
        let id = signer.public["kid"].clone();
        for head in [json!({"alg": name, "kid": id, "typ": "JWT"}), json!({"alg": name})] {
            assert!(is_taken(&client, &signer.token(&head, &issuer.claims())).await, "{head}");
        }
    }
    assert_eq!(issuer.asked().await, 1, "the keys are kept");
}

#[tokio::test]
async fn hostile_tokens_are_refused() {
    let (signer, other) = (Signer::ecdsa("a"), Signer::ecdsa("a"));
    let rsa = Signer::rsa("r", &signature::RSA_PKCS1_SHA256);
    let issuer = Issuer::new(&[&signer, &rsa]).await;
    let client = client(issuer.jwt());
    let claims = issuer.claims();
    let head = json!({"alg": "ES256", "kid": "a"});
    let good = signer.token(&head, &claims);
    assert!(is_taken(&client, &good).await);
    let changed = |member: &str, value: Value| {
        let mut claims = claims.clone();
        claims[member] = value;
        signer.token(&head, &claims)
    };
    let (signed, made) = good.rsplit_once('.').unwrap();
    let (first, _) = signed.split_once('.').unwrap();
    let mut boss = claims.clone();
    boss["sub"] = json!("boss");
    // The public key as the secret of a signature by a hash: it is known to everybody.
    let secret = BASE64_URL_SAFE_NO_PAD.decode(rsa.public["n"].as_str().unwrap()).unwrap();
    let hashed = format!("{}.{}", text(r#"{"alg":"HS256","kid":"r"}"#), text(boss.to_string()));
    let hash = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret), hashed.as_bytes());
    let unsigned =
        |alg: &str| format!("{}.{}.", text(json!({ "alg": alg }).to_string()), text(boss.to_string()));
    let bad = [
        ("nobody signed it", unsigned("none")),
        ("nobody signed it, in other letters", unsigned("NoNe")),
        ("the signature is left out", format!("{signed}.")),
        ("the signature is zeros", format!("{signed}.{}", text([0; 64]))),
        ("the claims are others", format!("{first}.{}.{made}", text(boss.to_string()))),
        ("a hash with the public key", format!("{hashed}.{}", text(hash.as_ref()))),
        ("another key of that name", other.token(&head, &claims)),
        ("it brings its key", other.token(&json!({"alg": "ES256", "jwk": other.public}), &claims)),
        ("the key is of another kind", signer.token(&json!({"alg": "RS256", "kid": "r"}), &claims)),
        ("it is over", changed("exp", json!(now() - 61))),
        ("it has no end", changed("exp", Value::Null)),
        ("it is for later", changed("nbf", json!(now() + 120))),
        ("it is of another issuer", changed("iss", json!("https://login.example"))),
        ("it is for others", changed("aud", json!("others"))),
        ("it is nobody's", changed("sub", json!(""))),
        ("it is no token", "a.b.c".to_owned()),
        ("it is long", format!("{good}{}", "A".repeat(20_000))),
    ];
    for (reason, token) in bad {
        let response = ask(&client, &token).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{reason}");
        let challenge = response.headers()[header::WWW_AUTHENTICATE].clone();
        assert_eq!(challenge, "Bearer error=\"invalid_token\"", "{reason}");
        let told = value(response).await;
        assert_eq!(told["error"]["code"], "invalid_token", "{reason}");
        assert!(!told.to_string().contains(token.get(..20).unwrap_or(&token)), "{reason}");
    }
    assert!(is_taken(&client, &good).await);
}

#[tokio::test]
async fn ways_to_sign_can_be_left_out() {
    let (ecdsa, rsa) = (Signer::ecdsa("a"), Signer::rsa("b", &signature::RSA_PKCS1_SHA256));
    let issuer = Issuer::new(&[&ecdsa, &rsa]).await;
    let client = client(issuer.jwt().with_algorithms([JwtAlgorithm::Es256]));
    assert!(is_taken(&client, &ecdsa.token(&json!({"alg": "ES256"}), &issuer.claims())).await);
    assert!(!is_taken(&client, &rsa.token(&json!({"alg": "RS256"}), &issuer.claims())).await);
}

#[tokio::test]
async fn a_token_says_who_asks_and_what_they_may_do() {
    let signer = Signer::ed25519("a");
    let issuer = Issuer::new(&[&signer]).await;
    let jwt = issuer.jwt().with_principal_claim("email").with_scopes("scope", "agents:");
    let (key, secret) = ApiKey::fresh("ann@example.org");
    let client = Client::new(server().keys(ApiKeys::new().with_key(key)).jwt(jwt));
    let token = |email: &str, scope: &str| {
        let mut claims = issuer.claims();
        claims["email"] = json!(email);
        claims["scope"] = json!(scope);
        signer.token(&json!({"alg": "EdDSA", "kid": "a"}), &claims)
    };
    let make = async |bearer: &str| {
        let request = Request::builder().method("POST").uri("/v1/sessions");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
        client.send(request, Body::empty()).await
    };
    let look = async |bearer: &str, id: &str| {
        let request = Request::builder().uri(format!("/v1/sessions/{id}"));
        let request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
        client.send(request, Body::empty()).await.status()
    };
    let reads = token("ann@example.org", "agents:read openid");
    assert_eq!(make(&reads).await.status(), StatusCode::FORBIDDEN);
    let runs = token("ann@example.org", "agents:run agents:read");
    let made = make(&runs).await;
    assert!(made.status().is_success());
    let id = value(made).await["id"].as_str().unwrap().to_owned();
    assert_eq!(look(&reads, &id).await, StatusCode::OK);
    assert_eq!(look(secret.expose(), &id).await, StatusCode::OK, "a key of the same principal");
    assert_eq!(look(&token("bob@example.org", "agents:read"), &id).await, StatusCode::NOT_FOUND);
}

/// A fetcher without a network, whose clock is the test's.
#[derive(Clone, Default)]
struct Scripted {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    keys: Vec<Value>,
    is_down: bool,
    hangs: bool,
    asked: usize,
}

impl Scripted {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn asked(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).asked
    }
}

impl Fetcher for Scripted {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let (answer, hangs) = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.asked += 1;
                let answer = match state.is_down {
                    true => Err(FetchError::new(FetchErrorKind::Unavailable, "its server cannot be reached")),
                    false => Ok(Fetched::new(json!({ "keys": state.keys }).to_string())),
                };
                (answer, state.hangs)
            };
            match hangs {
                true => std::future::pending().await,
                false => answer,
            }
        })
    }
}

const ISSUER: &str = "https://login.example";

fn scripted(fetcher: &Scripted) -> Client {
    client(Jwt::jwks(ISSUER, "agents", "https://login.example/keys", Arc::new(fetcher.clone())))
}

fn token_by(signer: &Signer) -> String {
    let claims = json!({"iss": ISSUER, "aud": "agents", "exp": now() + 600, "sub": "ann"});
    signer.token(&json!({"alg": "ES256", "kid": signer.public["kid"]}), &claims)
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_asked_for_and_not_too_often() {
    let (old, new) = (Signer::ecdsa("old"), Signer::ecdsa("new"));
    let fetcher = Scripted::default();
    fetcher.set(|state| state.keys = vec![old.public.clone()]);
    let client = scripted(&fetcher);
    assert!(is_taken(&client, &token_by(&old)).await);
    assert_eq!(fetcher.asked(), 1);
    // Made-up names do not make the issuer work.
    tokio::time::advance(Duration::from_secs(11)).await;
    for at in 0..50 {
        let stranger = Signer::ecdsa(&format!("stranger {at}"));
        assert!(!is_taken(&client, &token_by(&stranger)).await);
    }
    assert_eq!(fetcher.asked(), 2);
    fetcher.set(|state| state.keys = vec![new.public.clone()]);
    assert!(!is_taken(&client, &token_by(&new)).await, "it was asked a moment ago");
    tokio::time::advance(Duration::from_secs(11)).await;
    assert!(is_taken(&client, &token_by(&new)).await);
    assert!(!is_taken(&client, &token_by(&old)).await, "a key that the issuer took back");
    assert_eq!(fetcher.asked(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_is_down_stops_nobody_for_a_day() {
    let signer = Signer::ecdsa("a");
    let token = token_by(&signer);
    let fetcher = Scripted::default();
    fetcher.set(|state| state.is_down = true);
    let client = scripted(&fetcher);
    let response = ask(&client, &token).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "nothing is wrong with the token");
    assert!(response.headers().contains_key(header::RETRY_AFTER));
    tokio::time::advance(Duration::from_secs(11)).await;
    fetcher.set(|state| *state = State { keys: vec![signer.public.clone()], ..State::default() });
    assert!(is_taken(&client, &token).await);
    fetcher.set(|state| state.hangs = true);
    tokio::time::advance(Duration::from_secs(60 * 60)).await;
    for _ in 0..3 {
        assert!(is_taken(&client, &token).await);
    }
    assert_eq!(fetcher.asked(), 2, "the issuer is asked once a minute while it does not answer");
    tokio::time::advance(Duration::from_secs(22 * 60 * 60)).await;
    assert!(is_taken(&client, &token).await);
    tokio::time::advance(Duration::from_secs(60 * 60)).await;
    assert_eq!(ask(&client, &token).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    fetcher.set(|state| state.hangs = false);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(is_taken(&client, &token).await);
}

#[tokio::test(start_paused = true)]
async fn many_requests_at_once_ask_the_issuer_once() {
    let signer = Signer::ecdsa("a");
    let fetcher = Scripted::default();
    fetcher.set(|state| state.keys = vec![signer.public.clone()]);
    let client = scripted(&fetcher);
    let token = token_by(&signer);
    let all = (0..50).map(|_| is_taken(&client, &token));
    assert!(futures_util::future::join_all(all).await.into_iter().all(|taken| taken));
    assert_eq!(fetcher.asked(), 1);
}

#[tokio::test]
async fn a_configuration_of_another_issuer_is_not_believed() {
    let signer = Signer::ecdsa("a");
    let issuer = Issuer::new(&[&signer]).await;
    let address = *issuer.server.address();
    // The name leads to the same server, whose document names it by its address.
    let fetcher = inside()
        .with_lookup(move |_| async move { Ok::<_, io::Error>(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) });
    let name = format!("http://login.test:{}", address.port());
    let client = client(Jwt::oidc(&name, "agents", Arc::new(fetcher)));
    let mut claims = issuer.claims();
    claims["iss"] = json!(name);
    let token = signer.token(&json!({"alg": "ES256"}), &claims);
    assert_eq!(ask(&client, &token).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(issuer.asked().await, 0);
}

// A84
#[tokio::test]
async fn no_token_is_in_a_log_or_an_error() {
    let lines = Lines::default();
    let _log = lines.begin(Level::TRACE);
    let signer = Signer::ecdsa("a");
    let fetcher = Scripted::default();
    fetcher.set(|state| state.keys = vec![signer.public.clone()]);
    let jwt = Jwt::jwks(ISSUER, "agents", "https://login.example/keys", Arc::new(fetcher.clone()));
    let debugged = format!("{jwt:?}");
    let client = client(jwt);
    let good = token_by(&signer);
    let bad = token_by(&Signer::ecdsa("a"));
    assert!(is_taken(&client, &good).await);
    let refused = crate::common::text(ask(&client, &bad).await).await;
    let logged = lines.text();
    assert!(logged.contains("the keys of the issuer"), "nothing is logged: {logged}");
    for token in [&good, &bad] {
        for part in token.split('.').skip(1) {
            assert!(![&debugged, &refused, &logged].iter().any(|told| told.contains(part)), "{logged}");
        }
    }
}
