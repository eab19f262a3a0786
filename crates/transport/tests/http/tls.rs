//! TLS with ring, certificates of the platform, HTTP/2. Elsewhere no variable says which certificates the platform
//! trusts.
#![cfg(all(unix, not(target_vendor = "apple")))]

use std::convert::Infallible;
use std::future::Future;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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
use tokio::sync::Barrier;

/// Where the child process finds the server, and the variable that names trusted certificates.
const URL: &str = "ATTACHE_TEST_TLS_URL";
const TRUSTED: &str = "SSL_CERT_FILE";

/// The server's view: the version, and the body's size.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let version = request.version();
    let size = request.into_body().collect().await.map_or(0, |body| body.to_bytes().len());
    let name = if version == Version::HTTP_2 { "h2" } else { "http/1.1" };
    Ok(Response::new(Full::from(format!("{name} {size}"))))
}

/// A server with a certificate for `localhost`.
struct Server {
    url: String,
    /// The issuer's certificate as PEM.
    issuer: String,
    connections: Arc<AtomicUsize>,
}

/// Starts one that answers at once.
async fn start() -> Server {
    serve(None, answer).await
}

/// Starts one that allows `streams` calls on a connection.
async fn serve<S, F>(streams: Option<u32>, service: S) -> Server
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send + 'static,
{
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
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, service, counted) = (acceptor.clone(), service.clone(), Arc::clone(&counted));
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else { return };
                counted.fetch_add(1, Ordering::SeqCst);
                let service = hyper::service::service_fn(service);
                let mut server = auto::Builder::new(TokioExecutor::new());
                server.http2().max_concurrent_streams(streams);
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    let issuer = attache_core::base64::encode(issuer.der());
    let issuer = format!("-----BEGIN CERTIFICATE-----\n{issuer}\n-----END CERTIFICATE-----\n");
    Server { url, issuer, connections }
}

/// Runs the test of that name in a process that trusts the server, with its URL. The platform's certificates are read
/// once a process.
async fn trusting(server: &Server, test: &str) {
    in_a_process(&server.url, &server.issuer, test).await;
}

/// The same with the URL of one server and the certificate of any issuer.
async fn in_a_process(url: &str, issuer: &str, test: &str) {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let file = format!("attache-issuer-{}-{}.pem", std::process::id(), FILES.fetch_add(1, Ordering::SeqCst));
    let file = std::env::temp_dir().join(file);
    std::fs::write(&file, issuer).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child.env(URL, url).env(TRUSTED, &file).env_remove("SSL_CERT_DIR");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    std::fs::remove_file(file).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran the test");
}

fn clients() -> [HttpClient; 2] {
    [crate::built_in::client_with(Timeouts::new()), crate::over_reqwest::client_with(Timeouts::new())]
}

async fn post(client: &HttpClient, url: &str) -> Result<String, attache_core::ProviderError> {
    let request = RequestParts::post_json(url, "x".repeat(1 << 20));
    let reply = client.send(&request, &RetryPolicy::never(), ErrorResponse::to_error).await?;
    Ok(String::from_utf8(reply.bytes(1000).await?.to_vec()).unwrap())
}

#[tokio::test]
async fn a_trusted_server_is_spoken_to_over_http_2() {
    if let Ok(url) = std::env::var(URL) {
        for client in clients() {
            assert_eq!(post(&client, &url).await.unwrap(), format!("h2 {}", 1 << 20));
        }
        return;
    }
    trusting(&start().await, "tls::a_trusted_server_is_spoken_to_over_http_2").await;
}

/// A server that answers none of its calls before `calls` of them are there at a time, for each of two rounds.
async fn patient(streams: u32, calls: usize) -> Server {
    let all = Arc::new(Barrier::new(calls));
    let service = move |_: Request<Incoming>| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            Ok(Response::new(Full::from("ok")))
        }
    };
    serve(Some(streams), service).await
}

/// Makes so many calls at once, twice: without a connection, and with some.
async fn rounds(url: &str, calls: usize) {
    let client = HttpClient::new(Timeouts::new().with_first_byte(Duration::from_secs(30)));
    for round in ["cold", "warm"] {
        let all = (0..calls).map(|_| {
            let (client, url) = (client.clone(), url.to_owned());
            tokio::spawn(async move {
                let request = RequestParts::post_json(url, "{}".to_owned());
                let reply = client.send(&request, &RetryPolicy::never(), ErrorResponse::to_error).await?;
                reply.bytes(10).await
            })
        });
        for call in all.collect::<Vec<_>>() {
            assert_eq!(call.await.unwrap().map_err(|error| error.to_string()), Ok("ok".into()), "{round}");
        }
    }
}

// RFC 9113, 5.1.2
#[tokio::test]
async fn more_calls_than_a_connection_allows_are_in_flight_together() {
    if let Ok(url) = std::env::var(URL) {
        return rounds(&url, 250).await;
    }
    let server = patient(100, 250).await;
    trusting(&server, "tls::more_calls_than_a_connection_allows_are_in_flight_together").await;
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn few_calls_on_a_connection_are_enough() {
    if let Ok(url) = std::env::var(URL) {
        return rounds(&url, 5).await;
    }
    let server = patient(2, 5).await;
    trusting(&server, "tls::few_calls_on_a_connection_are_enough").await;
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn an_untrusted_server_is_refused_for_good() {
    if let Ok(url) = std::env::var(URL) {
        for client in clients() {
            let error = post(&client, &url).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Network);
            assert!(!error.is_retryable(), "it will not be trusted in a second");
            assert!(error.message().contains("certificate"), "{error}");
        }
        return;
    }
    // Only the issuer of another server is trusted.
    let (server, another) = (start().await, start().await);
    in_a_process(&server.url, &another.issuer, "tls::an_untrusted_server_is_refused_for_good").await;
}
