//! A provider made of a codec: what is prepared, authorized, refreshed and made anew.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_core::capability::Matrix;
use attache_core::{
    BoxFuture, ChatRequest, Degradation, ErrorKind, LlmProvider, Message, ModelCapabilities, ModelHandle,
    ModelSettings, ProviderError, Secret, ToolSet,
};
use attache_transport::{
    Ask, Auth, Authorizer, Codec as ApiCodec, Decoder, EncodedRequest, Environment, HttpModel, Network,
    ReplyDecoder, RequestParts, Timeouts,
};
use http::header::AUTHORIZATION;

use crate::support::{Codec as Events, DONE, Server, TEXT, quick};

type Model = HttpModel<Counting>;

/// A codec whose request names how often it was prepared.
#[derive(Clone, Debug)]
struct Counting {
    url: String,
    prepared: Arc<AtomicUsize>,
    prepares: bool,
    capabilities: ModelCapabilities,
}

impl ApiCodec for Counting {
    fn model_id(&self) -> String {
        "counting/one".to_owned()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.capabilities = matrix.resolve("counting", "one");
    }

    fn set_base_url(&mut self, url: String) {
        self.url = url;
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth, ProviderError> {
        environment.key("counting", &["COUNTING_KEY"])
    }

    fn check(&self, _: &Auth) -> Result<(), ProviderError> {
        Ok(())
    }

    fn prepare<'a>(&'a self, _: Ask<'a>, _: &'a Network) -> Option<BoxFuture<'a, Result<(), ProviderError>>> {
        self.prepares.then(|| {
            Box::pin(async {
                self.prepared.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }) as BoxFuture<'a, _>
        })
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest, ProviderError> {
        let body = format!("{{\"prepared\":{}}}", self.prepared.load(Ordering::SeqCst));
        let mut parts = RequestParts::post_json(self.url.clone(), body);
        if let Some(key) = ask.key {
            parts = parts.with_secret_header(AUTHORIZATION, "Bearer ", key);
        }
        Ok(EncodedRequest::new(parts, Vec::new()))
    }

    fn decoder(&self, _: Arc<ToolSet>, _: Vec<Degradation>) -> Box<dyn Decoder> {
        Box::new(ReplyDecoder::new(Events::default()))
    }

    fn recovers(&self, error: &ProviderError) -> bool {
        error.kind() == ErrorKind::NotFound
    }
}

fn counting(server: &Server, prepares: bool) -> Counting {
    Counting {
        url: server.url.clone(),
        prepared: Arc::default(),
        prepares,
        capabilities: ModelCapabilities::text_only("counting", "one"),
    }
}

/// Tokens that are numbered; a refused one is replaced.
#[derive(Debug, Default)]
struct Tokens {
    number: AtomicUsize,
    refused: Mutex<Vec<Option<u16>>>,
}

impl Authorizer for Tokens {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let token = Secret::new(format!("canary-token-{}", self.number.load(Ordering::SeqCst)));
            *request = request.clone().with_secret_header(AUTHORIZATION, "Bearer ", &token);
            Ok(())
        })
    }

    fn refused(&self, request: &RequestParts, error: &ProviderError) -> bool {
        let sent = Secret::new(format!("canary-token-{}", self.number.load(Ordering::SeqCst)));
        assert!(request.holds_secret(&sent), "the request is told as it was sent");
        if let Ok(mut seen) = self.refused.lock() {
            seen.push(error.status());
        }
        let is_refused = error.kind() == ErrorKind::Authentication;
        if is_refused {
            self.number.fetch_add(1, Ordering::SeqCst);
        }
        is_refused
    }
}

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("hi").shared()])
}

/// Answers each request with the next status; 200 with a stream.
async fn answering(statuses: &'static [u16]) -> Server {
    Server::start(move |number, mut connection| async move {
        match statuses.get(number).copied().unwrap_or(200) {
            200 => {
                connection.start_events().await;
                connection.chunk(TEXT).await;
                connection.chunk(DONE).await;
                connection.end().await;
            }
            status => connection.respond(status, "", r#"{"error":{"message":"no canary-token-1"}}"#).await,
        }
        Some(connection)
    })
    .await
}

fn tokens_sent(server: &Server) -> Vec<String> {
    let Ok(requests) = server.requests.lock() else { return Vec::new() };
    let token = |request: &String| {
        request.split("canary-token-").nth(1).unwrap_or_default().chars().take(1).collect()
    };
    requests.iter().map(token).collect()
}

#[tokio::test]
async fn credentials_that_are_refused_are_replaced_once() {
    let server = answering(&[401]).await;
    let tokens = Arc::new(Tokens::default());
    let signer: Arc<dyn Authorizer> = tokens.clone();
    let model = Model::new(counting(&server, false), signer).unwrap().with_retry(quick());
    assert_eq!(ModelHandle::new(model).complete(ask()).await.unwrap().message.text(), "hello");
    assert_eq!(tokens_sent(&server), ["0", "1"]);
    assert_eq!(*tokens.refused.lock().unwrap(), [Some(401)]);

    let server = answering(&[401, 401, 401]).await;
    let signer: Arc<dyn Authorizer> = Arc::new(Tokens::default());
    let model = Model::new(counting(&server, false), signer).unwrap().with_retry(quick());
    let error = ModelHandle::new(model).complete(ask()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert_eq!(tokens_sent(&server).len(), 2, "once, not for ever");
    assert!(!format!("{error} {error:?} {:?}", error.response_body()).contains("canary"), "invariant 11");
}

// P26: each attempt is authorized anew, since a signature grows old
#[tokio::test]
async fn every_attempt_is_authorized() {
    let server = answering(&[503, 503]).await;
    let signer: Arc<dyn Authorizer> = Arc::new(Tokens::default());
    let model = Model::new(counting(&server, false), signer).unwrap().with_retry(quick());
    ModelHandle::new(model).complete(ask()).await.unwrap();
    assert_eq!(tokens_sent(&server), ["0", "0", "0"]);
}

#[tokio::test]
async fn a_prepared_request_is_made_anew_once() {
    let server = answering(&[404]).await;
    let model = Model::new(counting(&server, true), "key").unwrap();
    ModelHandle::new(model.clone()).complete(ask()).await.unwrap();
    let bodies: Vec<_> =
        server.requests.lock().unwrap().iter().map(|request| request.contains("\"prepared\":2")).collect();
    assert_eq!(bodies, [false, true]);

    let server = answering(&[404, 404, 404]).await;
    let model = model.with_base_url(server.url.clone());
    let error = ModelHandle::new(model).complete(ask()).await.unwrap_err();
    assert_eq!((error.kind(), server.requests.lock().unwrap().len()), (ErrorKind::NotFound, 2));

    let server = answering(&[404]).await;
    let model = Model::new(counting(&server, false), "key").unwrap();
    assert!(ModelHandle::new(model).complete(ask()).await.is_err(), "nothing was prepared");
}

#[test]
fn options_of_a_clone_are_its_own() {
    let codec = Counting {
        url: "http://localhost:1".to_owned(),
        prepared: Arc::default(),
        prepares: false,
        capabilities: ModelCapabilities::text_only("counting", "one"),
    };
    let base = Model::new(codec, "key").unwrap().with_settings(ModelSettings::new().with_max_tokens(7));
    let hot = base.clone().with_settings(ModelSettings::new().with_temperature(1.0));
    let cold = base.clone();
    cold.set_settings(ModelSettings::new().with_temperature(0.0));
    let of = |model: &Model| (model.settings().max_tokens, model.settings().temperature);
    assert_eq!((of(&base), of(&hot), of(&cold)), ((Some(7), None), (None, Some(1.0)), (None, Some(0.0))));
}

// An attempt that is made anew is paid for anew
#[tokio::test]
async fn an_answer_that_comes_whole_is_waited_for_and_asked_for_once() {
    let server = Server::start(|_, mut connection| async move {
        tokio::time::sleep(Duration::from_millis(400)).await;
        connection.respond(200, "", "{}").await;
        Some(connection)
    })
    .await;
    let limits = Timeouts::new().with_first_byte(Duration::from_millis(100));
    let model =
        Model::new(counting(&server, false), "key").unwrap().with_timeouts(limits).with_retry(quick());
    ModelHandle::new(model.clone()).complete(ask().streaming(false)).await.unwrap();
    assert_eq!(server.requests(), 1);
    let limits = Timeouts::new().with_total(Duration::from_millis(100));
    let error =
        ModelHandle::new(model.with_timeouts(limits)).complete(ask().streaming(false)).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable(), server.requests()), (ErrorKind::Timeout, false, 2));
}

// P02
#[test]
fn blank_keys_fail_before_anything_is_sent() {
    let codec = Counting {
        url: "http://localhost:1".to_owned(),
        prepared: Arc::default(),
        prepares: false,
        capabilities: ModelCapabilities::text_only("counting", "one"),
    };
    assert_eq!(Model::new(codec.clone(), " ").unwrap_err().kind(), ErrorKind::Configuration);
    let nothing = Environment::new(|_| None);
    let error = Model::from_environment(codec.clone(), &nothing).unwrap_err();
    assert_eq!(error.message(), "no key for counting: set COUNTING_KEY");
    let model = Model::from_environment(codec, &Environment::new(|_| Some("canary".to_owned()))).unwrap();
    assert_eq!(model.model_id(), "counting/one");
    assert!(!format!("{model:?}").contains("canary"));
}
