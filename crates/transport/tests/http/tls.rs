//! TLS with ring, certificates of the platform, HTTP/2. Elsewhere no variable says which certificates the platform
//! trusts.
#![cfg(all(unix, not(target_vendor = "apple")))]

use std::convert::Infallible;
use std::process::Command;
use std::sync::Arc;

use attache_core::ErrorKind;
use attache_transport::{ErrorResponse, HttpClient, RequestParts, RetryPolicy, Timeouts};
use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;

/// Where the child process finds the server, and the variable that names trusted certificates.
const URL: &str = "ATTACHE_TEST_TLS_URL";
const TRUSTED: &str = "SSL_CERT_FILE";

/// What the server saw: the version, and the body's size.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let version = request.version();
    let size = request.into_body().collect().await.map_or(0, |body| body.to_bytes().len());
    let name = if version == Version::HTTP_2 { "h2" } else { "http/1.1" };
    Ok(Response::new(Full::from(format!("{name} {size}"))))
}

/// Starts a server with a certificate for `localhost`; returns its URL and the issuer's certificate as PEM.
async fn start() -> (String, String) {
    let mut issuer = CertificateParams::default();
    issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(issuer, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = names.signed_by(&key, &issuer).unwrap();

    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else { return };
                let service = hyper::service::service_fn(answer);
                let server = auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    let issuer = base64_simd::STANDARD.encode_to_string(issuer.der());
    (url, format!("-----BEGIN CERTIFICATE-----\n{issuer}\n-----END CERTIFICATE-----\n"))
}

async fn post(url: &str) -> Result<String, attache_core::ProviderError> {
    let request = RequestParts::post_json(url, "x".repeat(1 << 20));
    let reply = HttpClient::new(Timeouts::new())
        .send(&request, &RetryPolicy::never(), ErrorResponse::to_error)
        .await?;
    Ok(String::from_utf8(reply.bytes(1000).await?.to_vec()).unwrap())
}

// The platform's certificates are read once a process, so each client is a process of its own: this test alone, in which
// `URL` says where the server is.
async fn in_a_process(test: &str, url: String, trusted: String) {
    let file = std::env::temp_dir().join(format!("attache-{test}-{}.pem", std::process::id()));
    std::fs::write(&file, trusted).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("tls::{test}"), "--nocapture"]);
    child.env(URL, url).env(TRUSTED, &file).env_remove("SSL_CERT_DIR");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    std::fs::remove_file(file).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran the test");
}

#[tokio::test]
async fn a_trusted_server_is_spoken_to_over_http_2() {
    match std::env::var(URL) {
        Ok(url) => assert_eq!(post(&url).await.unwrap(), format!("h2 {}", 1 << 20)),
        Err(_) => {
            let (url, issuer) = start().await;
            in_a_process("a_trusted_server_is_spoken_to_over_http_2", url, issuer).await;
        }
    }
}

#[tokio::test]
async fn an_untrusted_server_is_refused_for_good() {
    match std::env::var(URL) {
        Ok(url) => {
            let error = post(&url).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Network);
            assert!(!error.is_retryable(), "it will not be trusted in a second");
            assert!(error.message().contains("certificate"), "{error}");
        }
        Err(_) => {
            // Only the issuer of another server is trusted.
            let ((url, _), (_, another)) = (start().await, start().await);
            in_a_process("an_untrusted_server_is_refused_for_good", url, another).await;
        }
    }
}
