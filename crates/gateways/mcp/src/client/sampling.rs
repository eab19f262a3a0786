//! Requests of servers to a model of ours.
#![allow(deprecated, reason = "servers of the older era ask models")]

use attache_core::tool::Deferred;
use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, FinishReason, Message, ModelHandle, ModelSettings,
};
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage, SamplingMessageContentBlock,
};
use serde_json::{Value, json};

use super::config::Config;

/// The part of a request that people are shown.
const SHOWN: usize = 2_000;
/// The word with which people allow a request.
const YES: &str = "yes";

/// A request to a model, read.
pub(crate) struct Sampling {
    request: ChatRequest,
    shown: String,
}

impl Sampling {
    /// Reads a request; `None` if it holds more than text, or brings tools.
    pub(crate) fn new(asked: &CreateMessageRequestParams) -> Option<Self> {
        if asked.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            return None;
        }
        let mut messages = Vec::new();
        let mut shown = asked.system_prompt.clone().unwrap_or_default();
        for message in &asked.messages {
            let mut text = String::new();
            for block in message.content.clone().into_vec() {
                match block {
                    SamplingMessageContentBlock::Text(said) => text.push_str(&said.text),
                    _ => return None,
                }
            }
            shown.push_str("\n\n");
            shown.push_str(&text);
            messages.push(match message.role {
                Role::Assistant => {
                    Message::Assistant(AssistantMessage::new([AssistantPart::text(text)])).shared()
                }
                _ => Message::user(text).shared(),
            });
        }
        let mut settings = ModelSettings::new();
        settings.system.clone_from(&asked.system_prompt);
        settings.max_tokens = Some(asked.max_tokens);
        settings.temperature = asked.temperature.map(f64::from);
        settings.stop.clone_from(&asked.stop_sequences);
        Some(Self { request: ChatRequest::new(messages).with_settings(settings), shown })
    }

    /// The question whether the model may be asked.
    pub(crate) fn question(&self, config: &Config, model: &ModelHandle, handle: Option<String>) -> Deferred {
        let length = self.shown.trim().chars().count();
        let part =
            if length > SHOWN { format!(", of which you see the first {SHOWN}") } else { String::new() };
        let prompt = format!(
            "The server {:?} wants an answer of your model {}. Allow it? The model is given {length} characters{part}: {}",
            config.alias,
            model.id(),
            config.quoted(&self.shown, SHOWN)
        );
        let mut question = Deferred::ask(prompt).with_schema(json!({"type": "string", "enum": [YES, "no"]}));
        question.handle = handle;
        question
    }

    pub(crate) fn is_allowed(answer: &Value) -> bool {
        answer.as_str() == Some(YES)
    }

    /// Asks the model.
    pub(crate) async fn ask(self, model: &ModelHandle) -> Option<CreateMessageResult> {
        let completion = model.complete(self.request).await.ok()?;
        let reason = match completion.finish_reason {
            FinishReason::Length => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
            _ => CreateMessageResult::STOP_REASON_END_TURN,
        };
        let message = SamplingMessage::assistant_text(completion.message.text());
        Some(CreateMessageResult::new(message, model.id().to_owned()).with_stop_reason(reason))
    }
}
