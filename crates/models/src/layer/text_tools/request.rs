//! The request that asks in text for what tools do.

use std::sync::Arc;

use attache_core::message::UserOrigin;
use attache_core::{ChatRequest, Message, ModelHandle, ToolChoice, UserMessage, UserPart};

use crate::layer::text_tools::{history, prompt};

/// The ways in which a model is asked.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) always: bool,
    pub(super) language: Option<String>,
    pub(super) takes_plain_answers: bool,
    pub(super) is_lenient: bool,
    pub(super) hints: u32,
}

/// The texts before which a reply is stopped: the tool speaks there.
const STOPS: [&str; 2] = ["\nObservation:", "<OBSERVE>"];

/// The maximum number of stop sequences that every API takes.
const MAX_STOPS: usize = 4;

/// The request without the tools that may not be called: a text has no other way to say so.
pub(super) fn allowed_alone(mut request: ChatRequest) -> ChatRequest {
    if let Some(allowed) = request.allowed_tools.take() {
        request.tools = Arc::new(request.tools.subset(|name| allowed.iter().any(|allowed| allowed == name)));
    }
    request
}

pub(super) fn request_in_text(
    inner: &ModelHandle,
    request: &ChatRequest,
    options: &Options,
    stops: bool,
) -> ChatRequest {
    let mut asked = request.clone();
    asked.tools = Arc::default();
    asked.tool_choice = ToolChoice::Auto;
    let has_tools = !request.tools.is_empty();
    let protocol = has_tools.then(|| prompt::protocol(&request.tools));
    let language = options.language.as_deref().map(prompt::language);
    let instructions: Vec<String> = protocol.into_iter().chain(language).collect();
    asked.messages = history::as_text(request, &instructions.join("\n\n"));
    let wish = match &request.tool_choice {
        ToolChoice::Required => Some("Use a tool now.".to_owned()),
        ToolChoice::Tool(name) => Some(format!("Use the tool {} now.", request.tools.wire_name(name))),
        ToolChoice::None if has_tools => {
            Some("Use no tool now. Write \"Final Answer:\" and your answer.".to_owned())
        }
        _ => None,
    };
    asked.messages.extend(wish.map(|wish| event(&wish)));
    if has_tools && stops && inner.capabilities().stop {
        let own = request.settings.stop.clone().or_else(|| inner.settings().stop.clone()).unwrap_or_default();
        let room = MAX_STOPS.saturating_sub(own.len());
        let more = STOPS.iter().take(room).map(|stop| (*stop).to_owned());
        asked.settings.stop = Some(own.into_iter().chain(more).collect());
    }
    asked
}

/// The request of a model with native tools, which is asked for the language alone.
pub(super) fn native(mut request: ChatRequest, options: &Options) -> ChatRequest {
    if let Some(language) = &options.language {
        let (system, rest) = history::instructed(&request.messages, &prompt::language(language));
        request.messages = std::iter::once(system).chain(rest.iter().cloned()).collect();
    }
    request
}

/// A word to the model that stands in no history.
pub(super) fn event(text: &str) -> Arc<Message> {
    let mut message = UserMessage::new([UserPart::text(text)]);
    message.origin = UserOrigin::Event;
    Message::User(message).shared()
}
