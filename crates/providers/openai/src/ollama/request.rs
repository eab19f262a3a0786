//! From a [`ChatRequest`] to an HTTP request.

use std::sync::Arc;

use attache_core::tool::SchemaReport;
use attache_core::{ChatRequest, Message, ModelCapabilities, ModelSettings, ProviderError, Secret, ToolSet};
use attache_transport::{
    Codec as _, EncodedBody, EncodedLog, EncodedRequest, Envelope, RequestParts, RoleTag, asked, behind,
    check_pairing, forbid, is_same, join_url, own_system, same_names, tail, with_kept, write_json,
};
use bytes::Bytes;
use http::header::AUTHORIZATION;

use super::codec::{Ask, OllamaCodec};
use super::messages::Renderer;
use super::options::options;
use crate::chat::{Offered, before_messages};
use crate::profile::ToolSchemas;
use crate::render::invalid;
use crate::tools;

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);
static ENVELOPE: Envelope = Envelope::LIST;

/// The state of a conversation that is kept between its requests.
#[derive(Debug)]
struct State {
    capabilities: Arc<ModelCapabilities>,
    /// The tools whose names the items use.
    tools: Arc<ToolSet>,
    log: EncodedLog,
    head: Option<Head>,
}

/// Model and tools, up to the bracket that opens the messages.
#[derive(Debug)]
struct Head {
    model: String,
    offered: Offered,
    text: String,
}

/// The fate of the schemas: they are sent as they are.
pub(super) fn check(codec: &OllamaCodec, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
    tools::check(codec.capabilities(), ToolSchemas::AsGiven, tools, settings.unsupported)
}

/// The request to a path of the server, without its body.
pub(super) fn addressed(
    codec: &OllamaCodec,
    path: &str,
    settings: &ModelSettings,
    key: Option<&Secret>,
) -> Result<RequestParts, ProviderError> {
    let mut parts =
        RequestParts::post_json(join_url(&codec.base_url, path)?, EncodedBody::from(Bytes::new()));
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        parts = parts.with_secret_header(AUTHORIZATION, "Bearer ", key);
    }
    parts.with_extra_headers(&settings.extra_headers)
}

impl OllamaCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    pub(super) fn request(&self, ask: attache_transport::Ask<'_>) -> Result<EncodedRequest, ProviderError> {
        let ask = ask.of(self);
        let request = ask.request;
        let parts = addressed(self, "api/chat", ask.settings, ask.key)?;
        check_pairing(&request.messages)?;
        let wire_key = self.model_id();
        let fits = |state: &State| {
            is_same(&state.capabilities, &self.capabilities) && same_names(&state.tools, &request.tools)
        };
        let new = || State {
            capabilities: Arc::clone(&self.capabilities),
            tools: Arc::clone(&request.tools),
            log: EncodedLog::new(&ENVELOPE),
            head: None,
        };
        with_kept(request, &wire_key, fits, new, |state| {
            if !Arc::ptr_eq(&state.tools, &request.tools) {
                state.tools = Arc::clone(&request.tools);
                state.head = None;
            }
            self.render(&mut state.log, request)?;
            state.body(ask, parts)
        })
    }

    fn render(&self, log: &mut EncodedLog, request: &ChatRequest) -> Result<(), ProviderError> {
        let messages = &request.messages;
        let renderer = Renderer { capabilities: self.capabilities(), tools: &request.tools };
        // Results name the calls before them.
        let variant = |at: usize, message: &Message| match message {
            Message::ToolResults(_) => behind(messages, at),
            _ => 0,
        };
        log.sync(messages, variant, |at, message, out| {
            let written = match message {
                Message::System(system) => renderer.system(system, out),
                Message::User(user) => renderer.user(user, out)?,
                Message::Assistant(assistant) => renderer.assistant(assistant, out)?,
                Message::ToolResults(results) => match asked(messages, at) {
                    Some((_, asked)) => renderer.results(results, asked, out)?,
                    None => false,
                },
                _ => return Err(invalid("a message has a role that this API does not know")),
            };
            Ok(written.then_some(ROLE))
        })
    }
}

impl State {
    fn body(&mut self, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest, ProviderError> {
        let mut options = options(ask)?;
        let offered = if options.offers_tools { Offered::All } else { Offered::None };
        let model = options.members.remove("model");
        let model = model.as_ref().and_then(serde_json::Value::as_str).unwrap_or(ask.codec.model());
        forbid(&options.members, &["messages", "tools"])?;
        let known = self.head.take().filter(|head| head.model == model && head.offered == offered);
        let known = match known {
            Some(head) => head,
            None => {
                let text =
                    before_messages(model, &ask.request.tools, &offered, ToolSchemas::AsGiven, &[], None)?;
                Head { model: model.to_owned(), offered, text }
            }
        };
        let mut head = self.head.insert(known).text.clone();
        let has_items = self.log.first_role().is_some();
        match own_system(ask.settings) {
            Some(system) => {
                head.push_str(r#"{"role":"system","content":"#);
                write_json(system, &mut head)?;
                head.push_str(if has_items { "}," } else { "}" });
            }
            None if has_items => {}
            None => return Err(invalid("there is no message to send")),
        }
        parts.body = self.log.body(head, tail(&options.members)?, &[]);
        Ok(EncodedRequest::new(parts, options.degradations))
    }
}
