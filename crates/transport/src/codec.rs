//! The part of an API beside the network: its codec.

use std::fmt;
use std::sync::Arc;

use attache_core::capability::Matrix;
use attache_core::response::ResponseInfo;
use attache_core::tool::SchemaReport;
use attache_core::{
    BoxFuture, Completion, Degradation, ErrorKind, ModelCapabilities, ModelSettings, ProviderError,
    StreamChunk, ToolSet,
};
use http::{HeaderMap, StatusCode};

use crate::ask::Ask;
use crate::auth::{Auth, Environment};
use crate::count::CountRequest;
use crate::encoded::EncodedRequest;
use crate::error::{ErrorReader, ErrorResponse, with_response};
use crate::files::FileApi;
use crate::listing::ModelApi;
use crate::network::Network;
use crate::reply::{ChunkSink, Decoder};

/// One API, spoken to one model, without I/O: requests to HTTP, replies to chunks.
///
/// This is all that a provider crate has to write; [`HttpModel`](crate::HttpModel) makes a provider of it. Registries
/// and tools hold it as `dyn Codec`, to show requests that are not sent and to read replies that were recorded.
pub trait Codec: fmt::Debug + Send + Sync + 'static {
    /// The registry name of the provider and the model's id there, `provider/model`.
    fn model_id(&self) -> String;

    /// The media that the model takes in each place, and its abilities.
    fn capabilities(&self) -> &ModelCapabilities;

    /// Takes what the model can do from a table other than the bundled one. A crate with a table of its own lays this
    /// one on top, [`Matrix::override_with`].
    fn set_matrix(&mut self, matrix: &Matrix);

    /// Sends requests to another base URL than the API's own.
    fn set_base_url(&mut self, url: String);

    /// Takes address and credentials from the variables of `environment`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] names the variable that is missing.
    fn configure(&mut self, environment: &Environment) -> Result<Auth, ProviderError>;

    /// Looks at what needs no request to be known to fail: a blank name, a key that is demanded and not there.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] says what is missing.
    fn check(&self, auth: &Auth) -> Result<(), ProviderError>;

    /// The schemas of `tools` in the API's dialect, and which of them it cannot be offered, by the code
    /// that encodes them. `settings` are the options, as for [`encode`](Self::encode). By default there is nothing to
    /// say: schemas are sent as they are.
    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        let _ = (tools, settings);
        SchemaReport::new()
    }

    /// The work that must be done over the network before the request of `ask` is encoded, such as making a cached prefix;
    /// usually nothing. Called once per call, and once more if [`recovers`](Self::recovers) says so.
    ///
    /// # Errors
    /// The reasons that end the call before the request is sent. A result that is merely worse than planned is no
    /// error.
    fn prepare<'a>(
        &'a self,
        ask: Ask<'a>,
        network: &'a Network,
    ) -> Option<BoxFuture<'a, Result<(), ProviderError>>> {
        let _ = (ask, network);
        None
    }

    /// The HTTP request for what `ask` holds. The rendered form of a conversation's messages is kept in the request's
    /// transcript, so that each is rendered once.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidHistory`] for a conversation that the API would refuse, [`ErrorKind::Unsupported`] for
    /// options and documents that the model does not take, [`ErrorKind::Configuration`] for what is wrong with URL,
    /// headers and extra members.
    fn encode(&self, ask: Ask<'_>) -> Result<EncodedRequest, ProviderError>;

    /// The request that has the API count what the model would read of the request of `ask`; nothing where it counts none.
    fn count(&self, ask: Ask<'_>) -> Option<Result<CountRequest, ProviderError>> {
        let _ = ask;
        None
    }

    /// A decoder for one reply, streamed or whole. `tools` are those of the request: they map names back.
    /// `degradations` become part of the reply.
    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder>;

    /// The reader of error responses.
    fn error_reader(&self) -> ErrorReader {
        ErrorResponse::to_error
    }

    /// The way in which the API keeps files, if it does. The files that it keeps stand in [`ChatRequest::files`](attache_core::ChatRequest::files) when
    /// a request is prepared and encoded; a codec whose API has no files leaves that alone.
    fn files(&self) -> Option<&dyn FileApi> {
        None
    }

    /// The list of the API's models, if it has one. By default it lists none.
    fn models(&self) -> Option<&dyn ModelApi> {
        None
    }

    /// True if preparing and encoding the request once more may mend `error`, such as that of a cached prefix which is
    /// gone. Asked at most once per call, only where something was prepared, and before any chunk was handed out.
    fn recovers(&self, error: &ProviderError) -> bool {
        let _ = error;
        false
    }
}

/// A recorded reply as a decoder understood it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replay {
    /// The chunks in order, those before an error included.
    pub chunks: Vec<StreamChunk>,
    /// The reply. After an error, what had come of it.
    pub completion: Completion,
    /// Its failure, if it failed.
    pub error: Option<ProviderError>,
}

/// Reads a recorded response, its body cut anywhere, with the decoder that a live one goes through.
pub fn replay<B: AsRef<[u8]>>(
    codec: &dyn Codec,
    status: StatusCode,
    headers: &HeaderMap,
    body: impl IntoIterator<Item = B>,
) -> Replay {
    let mut decoder = codec.decoder(Arc::default(), Vec::new());
    if !status.is_success() {
        let body = body.into_iter().fold(Vec::new(), |mut whole, piece| {
            whole.extend_from_slice(piece.as_ref());
            whole
        });
        let error = codec.error_reader()(&ErrorResponse::new(status, headers.clone(), &body));
        return Replay { chunks: Vec::new(), completion: decoder.partial(), error: Some(error) };
    }
    let mut out = ChunkSink::new();
    let outcome = feed(&mut *decoder, body, &mut out);
    let chunks: Vec<StreamChunk> = std::iter::from_fn(|| out.pop()).collect();
    let error = match (outcome, chunks.last()) {
        (Ok(()), Some(StreamChunk::Done(completion))) => {
            let completion = (**completion).clone();
            return Replay { chunks, completion, error: None };
        }
        (Ok(()), _) => ProviderError::new(ErrorKind::StreamCut, "the reply ended before its end"),
        (Err(error), _) => error,
    };
    let error = with_response(error, ResponseInfo::new(headers.clone()));
    let error = if chunks.is_empty() { error } else { error.after_output() };
    Replay { chunks, completion: decoder.partial(), error: Some(error) }
}

fn feed<B: AsRef<[u8]>>(
    decoder: &mut dyn Decoder,
    body: impl IntoIterator<Item = B>,
    out: &mut ChunkSink,
) -> Result<(), ProviderError> {
    for piece in body {
        decoder.push(piece.as_ref(), out)?;
        if out.is_done() {
            return Ok(());
        }
    }
    decoder.finish(out)
}
