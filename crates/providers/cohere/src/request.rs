//! From a [`ChatRequest`] to an HTTP request.

mod messages;
mod options;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, ErrorKind, Message, ModelCapabilities, ModelSettings, ProviderError,
    SchemaLoosening, SchemaReport, Secret, ToolDefinition, ToolSet,
};
use attache_transport::{
    Codec as _, EncodedBody, EncodedLog, EncodedRequest, Envelope, Refusals, RequestParts, RoleTag,
    check_pairing, strict_loosened,
};
use bytes::Bytes;
use http::header::AUTHORIZATION;
use serde_json::json;

use self::messages::Renderer;
use crate::capabilities::FAMILY;
use crate::codec::CohereCodec;
use crate::error;

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);
static ENVELOPE: Envelope = Envelope::LIST;

/// What is kept of a conversation between its requests.
#[derive(Debug)]
struct Memo {
    log: EncodedLog,
    capabilities: Arc<ModelCapabilities>,
    tools: Arc<ToolSet>,
    /// The body up to the brackets of the messages.
    head: String,
}

/// What becomes of the schemas: they are sent as they are.
pub(crate) fn check_tools(codec: &CohereCodec, tools: &ToolSet, config: &ModelSettings) -> SchemaReport {
    if !tools.is_empty() && !codec.capabilities().tools {
        return SchemaReport::refusing(format!("{} does not call tools", codec.model()));
    }
    let mut refusals = Refusals::new(codec.model(), config.unsupported);
    attache_transport::check_tools(tools, None, |definition| {
        loosened(codec, tools, definition, &mut refusals)
    })
}

/// What a strict tool loses: the API enforces the schemas of all tools or of none.
fn loosened(
    codec: &CohereCodec,
    tools: &ToolSet,
    definition: &ToolDefinition,
    refusals: &mut Refusals<'_>,
) -> Result<Vec<SchemaLoosening>, ProviderError> {
    if codec.strict_tools() {
        Ok(Vec::new())
    } else {
        strict_loosened(tools, definition, None, None, refusals)
    }
}

impl CohereCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    pub(crate) fn request(
        &self,
        request: &ChatRequest,
        config: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        let mut parts = RequestParts::post_json(self.url()?, EncodedBody::from(Bytes::new()));
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            parts = parts.with_secret_header(AUTHORIZATION, "Bearer ", key);
        }
        let mut parts = parts.with_extra_headers(&config.extra_headers)?;

        check_pairing(&request.messages)?;
        let wire_key = format!("{FAMILY}/{}", self.model());
        let kept = request.transcript.as_ref().and_then(|transcript| transcript.take::<Memo>(&wire_key));
        let mut memo = match kept.filter(|memo| memo.fits(self, &request.tools)) {
            Some(memo) => memo,
            None => Memo::new(self, &request.tools),
        };
        let encoded = memo.body(self, request, config);
        if let Some(transcript) = &request.transcript {
            transcript.put(&wire_key, memo);
        }
        let (body, degradations) = encoded?;
        parts.body = body;
        Ok(EncodedRequest::new(parts, degradations))
    }
}

impl Memo {
    fn new(codec: &CohereCodec, tools: &Arc<ToolSet>) -> Self {
        Self {
            log: EncodedLog::new(&ENVELOPE),
            capabilities: Arc::clone(codec.shared_capabilities()),
            tools: Arc::clone(tools),
            head: head(codec.model(), tools),
        }
    }

    /// Whether this codec would render the same with these tools.
    fn fits(&self, codec: &CohereCodec, tools: &Arc<ToolSet>) -> bool {
        let capabilities = codec.shared_capabilities();
        (Arc::ptr_eq(&self.capabilities, capabilities) || self.capabilities == *capabilities)
            && (Arc::ptr_eq(&self.tools, tools) || self.tools == *tools)
    }

    fn body(
        &mut self,
        codec: &CohereCodec,
        request: &ChatRequest,
        config: &ModelSettings,
    ) -> Result<(EncodedBody, Vec<Degradation>), ProviderError> {
        let mut refusals = Refusals::new(codec.model(), config.unsupported);
        let options = options::members(codec, request, config, &mut refusals)?;
        self.render(codec, request)?;

        let mut head = self.head.clone();
        let has_items = self.log.first_role().is_some();
        if let Some(text) = config.system.as_deref().filter(|text| !text.trim().is_empty()) {
            head.push_str(&json!({"role": "system", "content": text}).to_string());
            if has_items {
                head.push(',');
            }
        } else if !has_items {
            return Err(invalid("there is no message to send"));
        }
        let mut tail = String::from("]");
        for (name, value) in &options {
            tail.push_str(&format!(",{}:{value}", json!(name)));
        }
        tail.push('}');
        Ok((self.log.body(head, tail, &[]), refusals.into_recorded()))
    }

    /// Renders the messages that the log does not hold.
    fn render(&mut self, codec: &CohereCodec, request: &ChatRequest) -> Result<(), ProviderError> {
        let messages = &request.messages;
        let before = |at: usize| at.checked_sub(1).and_then(|at| messages.get(at)).map(|message| &**message);
        // Results are written with the ids of the calls before them.
        let variant = |at: usize, message: &Message| match message {
            Message::ToolResults(_) => hash_of(before(at).map(Message::id)),
            _ => 0,
        };
        let renderer = Renderer { codec, tools: &request.tools };
        self.log.sync(messages, variant, |at, message, out| {
            let written = match message {
                Message::System(system) => renderer.system(system, out),
                Message::User(user) => renderer.user(user, out)?,
                Message::Assistant(assistant) => renderer.assistant(assistant, out)?,
                Message::ToolResults(results) => match before(at) {
                    Some(Message::Assistant(asked)) => renderer.results(results, asked, out)?,
                    _ => false,
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
        let mut description = tool.description().trim().to_owned();
        // The API has no member for examples.
        for (at, example) in tool.examples().iter().enumerate() {
            description.push_str(if at == 0 { "\n\nExamples of arguments:\n" } else { "\n" });
            description.push_str(&example.to_string());
        }
        let parameters = tool.input_schema();
        let description = description.trim_start();
        let function = match description {
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

fn hash_of<T: Hash>(value: T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn invalid(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::InvalidHistory, text)
}

/// Options that cannot be sent as they are, of the caller's making.
fn misused(option: &str, text: impl Into<String>) -> ProviderError {
    error::configuration(text).with_param(option.to_owned())
}
