//! Keys never show. (Invariant 11.)

use std::error::Error as _;
use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::{
    ChatRequest, Degradation, Document, ErrorKind, Message, ModelCapabilities, ModelHandle, ModelSettings,
    ProviderError, Secret, ToolSet, UserMessage,
};
use attache_transport::{
    Ask, Auth, Codec as ApiCodec, Decoder, EncodedRequest, Environment, ErrorBody, ErrorResponse, Exchange,
    FileAnswer, FileApi, FileAsk, FileStep, HttpModel, ModelApi, ModelPage, NewFile, ReplyDecoder,
    RequestParts, Uploads, excerpt,
};
use http::header::AUTHORIZATION;

use super::client;
use crate::support::{Codec, DONE, Server, call_with, collect, quick};

const KEY: &str = "canary-0123456789";

fn request(url: &str) -> RequestParts {
    let options = ModelSettings::new().with_extra_header("X-Gateway", "canary-gateway");
    RequestParts::post_json(format!("{url}/v1?key=canary-query"), "{\"prompt\":\"canary-prompt\"}".to_owned())
        .with_secret_header(AUTHORIZATION, "Bearer ", &Secret::new(KEY))
        .with_extra_headers(&options.extra_headers)
        .unwrap()
}

fn shown(error: &ProviderError) -> String {
    let mut text = format!("{error} {error:?} {error:#?} {:?}", error.response_body());
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!(" {inner} {inner:?}");
        cause = inner.source();
    }
    text
}

async fn error_of(url: &str) -> ProviderError {
    collect(call_with(&client(), &Arc::default(), request(url), quick())).await.1.unwrap_err()
}

#[tokio::test]
async fn a_server_that_repeats_the_key_does_not_spread_it() {
    let echo = format!("key {KEY} of canary-gateway at canary-query, Bearer {KEY}");
    let body = format!("{{\"error\":{{\"message\":\"{echo}\",\"code\":\"{KEY}\",\"param\":\"{KEY}\"}}}}");
    for (status, body) in [
        (401, body.clone()),
        (401, echo.clone()),
        (400, format!("<title>{echo}</title>")),
        (200, body.clone()),
        (200, format!("data: {body}\n\n")),
    ] {
        let server = Server::start(move |_, mut connection| {
            let body = body.clone();
            async move {
                connection.respond(status, "", &body).await;
                Some(connection)
            }
        })
        .await;
        let error = error_of(&server.url).await;
        let text = shown(&error);
        assert!(!text.contains("canary") && text.contains("***"), "{text}");
        let sent = server.requests.lock().unwrap()[0].clone();
        assert!(sent.contains(&format!("authorization: Bearer {KEY}\r\n")), "it was sent");
        assert!(sent.contains("x-gateway: canary-gateway\r\n"));
    }
}

#[tokio::test]
async fn secrets_are_redacted_from_errors_that_a_codec_made() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(401, &format!("x-echo: {KEY}\r\n"), "").await;
        Some(connection)
    })
    .await;
    let (request, retry) = (request(&server.url), quick());
    let read_error = |response: &ErrorResponse| {
        let echo = response.headers["x-echo"].to_str().unwrap();
        response.error(ErrorKind::Authentication, format!("no {echo}"))
    };
    let error = client().send(&request, &retry, read_error).await.unwrap_err();
    assert_eq!((error.message(), error.status()), ("no ***", Some(401)));
}

#[tokio::test]
async fn failures_of_the_network_do_not_show_the_url() {
    let text = shown(&error_of("http://user:canary-password@127.0.0.1:1").await);
    assert!(!text.contains("canary"), "{text}");
    let text = shown(&error_of("http://canary-user:canary-password@").await);
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn debug_of_everything_is_clean() {
    let request = request("http://user:canary-password@localhost");
    let redactor = request.redactor();
    let exchange = Exchange::new(request.clone(), || Box::new(ReplyDecoder::new(Codec::default())));
    let text = format!("{request:?} {redactor:?} {exchange:?} {:?}", client());
    assert!(!text.contains("canary"), "{text}");
}

/// An API whose every answer about files and models is an error.
#[derive(Clone, Debug)]
struct Refusing {
    url: String,
    capabilities: ModelCapabilities,
}

impl Refusing {
    fn request(&self, path: &str, key: Option<&Secret>) -> RequestParts {
        let parts = RequestParts::post_json(format!("{}/{path}", self.url), "{}".to_owned());
        parts.with_secret_header(AUTHORIZATION, "Bearer ", key.unwrap_or(&Secret::new("")))
    }
}

fn reported(body: &[u8]) -> ProviderError {
    ErrorBody::parse(body).unwrap().to_error().with_response_body(excerpt(body))
}

impl FileApi for Refusing {
    fn upload(&self, ask: FileAsk<'_>, _: &NewFile) -> Result<RequestParts, ProviderError> {
        Ok(self.request("files", ask.key))
    }

    fn answered(&self, _: FileAsk<'_>, _: &NewFile, answer: &FileAnswer) -> Result<FileStep, ProviderError> {
        Err(reported(&answer.body))
    }

    fn delete(&self, ask: FileAsk<'_>, id: &str) -> Result<RequestParts, ProviderError> {
        Ok(self.request(id, ask.key))
    }

    fn is_lost(&self, _: &ProviderError) -> bool {
        false
    }
}

impl ModelApi for Refusing {
    fn list(&self, _: Option<&str>, key: Option<&Secret>) -> Result<RequestParts, ProviderError> {
        Ok(self.request("models", key))
    }

    fn listed(&self, body: &[u8]) -> Result<ModelPage, ProviderError> {
        Err(reported(body))
    }
}

impl ApiCodec for Refusing {
    fn model_id(&self) -> String {
        "refusing/one".to_owned()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, _: &Matrix) {}

    fn set_base_url(&mut self, url: String) {
        self.url = url;
    }

    fn configure(&mut self, _: &Environment) -> Result<Auth, ProviderError> {
        Ok(Auth::None)
    }

    fn check(&self, _: &Auth) -> Result<(), ProviderError> {
        Ok(())
    }

    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest, ProviderError> {
        Ok(EncodedRequest::new(self.request("chat", ask.key), Vec::new()))
    }

    fn decoder(&self, _: Arc<ToolSet>, notes: Vec<Degradation>) -> Box<dyn Decoder> {
        Box::new(ReplyDecoder::new(Codec::noting(notes)))
    }

    fn files(&self) -> Option<&dyn FileApi> {
        Some(self)
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        Some(self)
    }
}

#[tokio::test]
async fn answers_about_files_and_models_do_not_spread_the_key() {
    let server = Server::start(|number, mut connection| async move {
        let body = match number {
            1 => DONE.to_owned(),
            _ => format!("{{\"error\":{{\"message\":\"invalid key {KEY}\",\"type\":\"auth {KEY}\"}}}}"),
        };
        connection.respond(200, "", &body).await;
        Some(connection)
    })
    .await;
    let mut capabilities = ModelCapabilities::text_only("refusing", "one");
    capabilities.files.upload = Some(true);
    capabilities.user.media = vec!["application/pdf".to_owned()];
    capabilities.user.references.clone_from(&capabilities.user.media);
    let model = HttpModel::<Refusing>::new(Refusing { url: server.url.clone(), capabilities }, KEY).unwrap();
    let model = model.with_http(client()).with_uploads(Uploads::above(1));
    let document = Document::from_bytes(&b"%PDF-1.4 a lease"[..], "application/pdf");
    let ask = ChatRequest::new([Message::User(UserMessage::new([document.into()])).shared()]);
    let completion = ModelHandle::new(model.clone()).complete(ask).await.unwrap();
    let note = &completion.degradations[0];
    assert!(note.note.contains("invalid key ***"), "{note:?}");
    let codec = model.codec();
    let listed = model.network().list_models(codec, codec.error_reader()).await;
    let text = shown(&listed.unwrap_err());
    assert!(text.contains("invalid key ***") && !text.contains("canary"), "{text}");
}
