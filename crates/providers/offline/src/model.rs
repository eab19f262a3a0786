//! The model behind the provider trait.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use attache_core::capability::Matrix;
use attache_core::message::{NOTICE, UserOrigin};
use attache_core::provider::{ProviderState, StateCell};
use attache_core::{
    ChatRequest, ChunkStream, ErrorKind, LlmProvider, Message, ModelCapabilities, ModelSettings,
    ProviderError, StreamChunk,
};
use futures_core::Stream;

use crate::answer;
use crate::capabilities::{self, FAMILY};
use crate::index::Index;
use crate::material::{self, Material};
use crate::next_calls::Planner;
use crate::options;
use crate::question::Question;
use crate::reply::{self, Frame, Said};
use crate::words::count;

/// The model's name where none is given.
const MODEL: &str = "extractive";

/// The deterministic extractive model. See the [crate's description](crate) for what it does.
///
/// ```
/// use attache_core::{Message, ModelHandle, ChatRequest, UserPart, UserMessage};
/// use attache_offline::OfflineModel;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), attache_core::ProviderError> {
/// let model = ModelHandle::new(OfflineModel::new());
/// let mail = "<document filename=\"mail.txt\" />\nThe caterer is booked for 11 June. The plants come on 28 April.";
/// let message = UserMessage::new([UserPart::text(mail), UserPart::text("When is the caterer booked?")]);
/// let reply = model.complete(ChatRequest::new([Message::User(message).shared()])).await?;
/// assert_eq!(reply.message.text(), "“The caterer is booked for 11 June.” (mail.txt)");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct OfflineModel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// `offline/…`
    id: String,
    capabilities: ModelCapabilities,
    state: StateCell,
}

impl OfflineModel {
    /// Creates the model `offline/extractive`.
    pub fn new() -> Self {
        Self::named(MODEL)
    }

    /// Creates the offline model with another name: it is the same model under any name.
    pub fn named(model: impl Into<String>) -> Self {
        Self::build(&model.into(), Matrix::bundled(), ModelSettings::new())
    }

    /// Uses the capabilities of another table.
    #[must_use]
    pub fn with_matrix(self, matrix: &Matrix) -> Self {
        let settings = self.shared.state.settings();
        Self::build(&self.shared.capabilities.model, matrix, (*settings).clone())
    }

    /// Sets the default settings, which apply where a request sets none.
    #[must_use]
    pub fn with_settings(self, settings: ModelSettings) -> Self {
        self.shared.state.set_settings(settings);
        self
    }

    fn build(model: &str, matrix: &Matrix, settings: ModelSettings) -> Self {
        let shared = Shared {
            id: format!("{FAMILY}/{model}"),
            capabilities: capabilities::resolve(matrix, model),
            state: StateCell::new(settings),
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Default for OfflineModel {
    fn default() -> Self {
        Self::new()
    }
}

impl LlmProvider for OfflineModel {
    fn model_id(&self) -> &str {
        &self.shared.id
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.shared.capabilities
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.shared.state.settings()
    }

    fn set_settings(&self, settings: ModelSettings) {
        self.shared.state.set_settings(settings);
    }

    fn state(&self) -> ProviderState {
        self.shared.state.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let options = self.shared.state.settings().merged(&request.settings);
        Box::pin(Reply {
            shared: Arc::clone(&self.shared),
            state: State::Asked(Box::new((request, options))),
        })
    }
}

/// A reply that is made when it is first polled.
struct Reply {
    shared: Arc<Shared>,
    state: State,
}

enum State {
    Asked(Box<(ChatRequest, ModelSettings)>),
    Answering(std::vec::IntoIter<StreamChunk>),
    Ended,
}

impl Stream for Reply {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let State::Asked(asked) = &this.state {
            this.shared.state.started();
            match answered(&this.shared, &asked.0, &asked.1) {
                Ok(chunks) => this.state = State::Answering(chunks.into_iter()),
                Err(error) => {
                    this.shared.state.finished(Err(&error));
                    this.state = State::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let State::Answering(chunks) = &mut this.state else { return Poll::Ready(None) };
        let chunk = chunks.next();
        if let Some(StreamChunk::Done(completion)) = &chunk {
            this.shared.state.finished(Ok(&completion.usage));
        }
        Poll::Ready(chunk.map(Ok))
    }
}

fn answered(
    shared: &Shared,
    request: &ChatRequest,
    options: &ModelSettings,
) -> Result<Vec<StreamChunk>, ProviderError> {
    let degradations = options::check(options)?;
    let (asked_at, text) = asked(&request.messages)?;
    let question = Question::read(&text);
    let mut material = Material::read(&request.messages, asked_at, &question.beside, &request.tools)?;
    material.words += options.system.as_deref().map_or(0, count);
    let index = Index::new(&material);
    let planner = Planner::new(&question, &material, &request.tools);
    let enough = answer::is_answered(&question, &material, &index);
    let calls = planner.next(&request.tool_choice, enough, options.parallel_tool_calls != Some(false))?;
    let said = if calls.is_empty() {
        Said::Text(answer::answer(&question, &material, &index, &planner.unread()))
    } else {
        Said::Calls(calls)
    };
    let Some(last) = request.messages.last() else {
        return Err(ProviderError::new(ErrorKind::InvalidRequest, "there is no message to answer"));
    };
    let frame = Frame {
        options,
        tools: &request.tools,
        after: last.id(),
        read: material.words,
        model: &shared.capabilities.model,
        degradations,
    };
    Ok(reply::chunks(said, frame))
}

/// The place of the message that asks, and its text: the last one of an author or an event.
fn asked(messages: &[Arc<Message>]) -> Result<(usize, String), ProviderError> {
    let mut from_the_end = messages.iter().enumerate().rev();
    let found = from_the_end.find_map(|(at, message)| match &**message {
        Message::User(user)
            if user.origin != UserOrigin::ToolCallDocuments && user.metadata.get(NOTICE).is_none() =>
        {
            Some((at, material::asked(user)))
        }
        _ => None,
    });
    found.ok_or_else(|| ProviderError::new(ErrorKind::InvalidRequest, "there is no user message to answer"))
}
