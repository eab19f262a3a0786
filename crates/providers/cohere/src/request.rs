//! From a [`ChatRequest`] to an HTTP request.

mod messages;
mod options;
pub(crate) mod tools;

use std::sync::Arc;

use attache_core::{Message, ModelCapabilities, ProviderError, ToolSet};
use attache_transport::{
    EncodedBody, EncodedLog, EncodedRequest, Envelope, Refusals, RequestParts, RoleTag, asked, behind,
    count_leading, described, invalid_history as invalid, is_same, system_texts, tail, with_kept,
};
use http::header::AUTHORIZATION;
use serde_json::json;

use self::messages::Renderer;
use crate::capabilities::FAMILY;
use crate::codec::{Ask, CohereCodec};

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);
static ENVELOPE: Envelope = Envelope::LIST;

/// The state that is kept of a conversation between its requests.
#[derive(Debug)]
struct State {
    log: EncodedLog,
    capabilities: Arc<ModelCapabilities>,
    tools: Arc<ToolSet>,
    /// The body up to the brackets of the messages.
    head: String,
}

impl CohereCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    pub(crate) fn request(&self, ask: attache_transport::Ask<'_>) -> Result<EncodedRequest, ProviderError> {
        let ask = ask.of(self);
        let mut parts = RequestParts::post_json(self.url()?, EncodedBody::default());
        if let Some(key) = ask.key.filter(|key| !key.is_empty()) {
            parts = parts.with_secret_header(AUTHORIZATION, "Bearer ", key);
        }
        let parts = parts.with_extra_headers(&ask.settings.extra_headers)?;

        let wire_key = format!("{FAMILY}/{}", self.model());
        let fits = |state: &State| state.fits(self, &ask.request.tools);
        let new = || State::new(self, &ask.request.tools);
        with_kept(ask.request, &wire_key, fits, new, |state| state.body(ask, parts))
    }
}

impl State {
    fn new(codec: &CohereCodec, tools: &Arc<ToolSet>) -> Self {
        Self {
            log: EncodedLog::new(&ENVELOPE),
            capabilities: Arc::clone(&codec.capabilities),
            tools: Arc::clone(tools),
            head: head(codec.model(), tools),
        }
    }

    /// True if this codec would render the same with these tools.
    fn fits(&self, codec: &CohereCodec, tools: &Arc<ToolSet>) -> bool {
        is_same(&self.capabilities, &codec.capabilities) && is_same(&self.tools, tools)
    }

    fn body(&mut self, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest, ProviderError> {
        self.log.check_pairing(&ask.request.messages)?;
        let mut refusals = Refusals::new(ask.codec.model(), ask.settings.unsupported).saying("left out");
        let options = options::members(ask, &mut refusals)?;
        let leading = count_leading(&ask.request.messages);
        self.render(ask, leading)?;

        let mut head = self.head.clone();
        let has_items = self.log.first_role().is_some();
        let system: Vec<&str> = system_texts(ask.settings, &ask.request.messages, leading).collect();
        if !system.is_empty() {
            head.push_str(&json!({"role": "system", "content": system.join("\n\n")}).to_string());
            if has_items {
                head.push(',');
            }
        } else if !has_items {
            return Err(invalid("there is no message to send"));
        }
        parts.body = self.log.body(head, tail(&options)?, &[]);
        Ok(EncodedRequest::new(parts, refusals.into_recorded()))
    }

    /// Renders the messages that the log does not hold. Instructions in the first `leading` of them stand in the head.
    fn render(&mut self, ask: Ask<'_>, leading: usize) -> Result<(), ProviderError> {
        let messages = &ask.request.messages;
        // Results are written with the ids of the calls before them.
        let variant = |at: usize, message: &Message| match message {
            Message::ToolResults(_) => behind(messages, at),
            Message::System(_) => u64::from(at < leading),
            _ => 0,
        };
        let renderer = Renderer { codec: ask.codec, tools: &ask.request.tools };
        self.log.sync(messages, variant, |at, message, out| {
            let written = match message {
                Message::System(system) => at >= leading && renderer.instructions(system, out),
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

/// Model and tools, up to the bracket that opens the messages.
fn head(model: &str, tools: &ToolSet) -> String {
    let mut head = format!("{{\"model\":{}", json!(model));
    for (at, (name, tool)) in tools.iter().enumerate() {
        head.push_str(if at == 0 { ",\"tools\":[" } else { "," });
        let description = described(tool, true);
        let parameters = tool.input_schema();
        let function = match description.as_str() {
            "" => json!({"name": name, "parameters": parameters}),
            _ => json!({"name": name, "description": description, "parameters": parameters}),
        };
        head.push_str(&json!({"type": "function", "function": function}).to_string());
    }
    if !tools.is_empty() {
        head.push(']');
    }
    head.push_str(",\"messages\":[");
    head
}
