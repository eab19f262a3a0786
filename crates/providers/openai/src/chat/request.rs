//! From a [`ChatRequest`] to an HTTP request.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, ErrorKind, Message, ModelCapabilities, ModelSettings, ProviderError,
    SchemaReport, SystemMessage, TextPart, ToolSet,
};
use attache_transport::{
    Codec as _, EncodedBody, EncodedLog, EncodedRequest, Envelope, Marker, RoleTag, StrictForms,
    check_pairing,
};
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::ChatCodec;
use super::messages::Renderer;
use super::options::{CACHE_KEY, Offered, Options, options};
use super::turns::{Place, Turns};
use crate::profile::{Profile, SystemPlace, ToolSchemas};
use crate::render::{asked, invalid, same, same_names, write_json};
use crate::server;
use crate::tools::{self, Written};

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);
static ENVELOPE: Envelope = Envelope::LIST;

/// What is kept of a conversation between its requests.
#[derive(Debug)]
struct Memo {
    profile: Arc<Profile>,
    capabilities: Arc<ModelCapabilities>,
    /// The tools whose names the items use.
    tools: Arc<ToolSet>,
    log: EncodedLog,
    head: Option<Head>,
}

/// What stands before the items: model, tools, and instructions that are not part of the history.
#[derive(Debug)]
struct Head {
    model: String,
    offered: Offered,
    hosted: Vec<Value>,
    marker: Option<&'static str>,
    system: String,
    /// Up to the bracket that opens the messages.
    before: String,
    /// With the instructions, and with a comma if items follow.
    alone: Bytes,
    followed: Bytes,
    cache_key: String,
}

impl ChatCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    ///
    /// # Errors
    /// Also [`ErrorKind::InvalidRequest`] for a tool choice that names no tool.
    pub(super) fn request(
        &self,
        request: &ChatRequest,
        config: &ModelSettings,
        key: Option<&attache_core::Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        let mut parts = server::envelope(self.profile(), "chat/completions", config, key)?;
        check_pairing(&request.messages)?;
        let wire_key = self.wire_key();
        let memo = request.transcript.as_ref().and_then(|transcript| transcript.take::<Memo>(&wire_key));
        let mut memo = memo
            .filter(|memo| memo.fits(self, &request.tools))
            .unwrap_or_else(|| Memo::new(self, &request.tools));
        let encoded = self.body(&mut memo, request, config);
        if let Some(transcript) = &request.transcript {
            transcript.put(&wire_key, memo);
        }
        let (body, degradations, strict) = encoded?;
        parts.body = body;
        Ok(EncodedRequest::new(parts, degradations).with_strict(strict))
    }

    fn body(
        &self,
        memo: &mut Memo,
        request: &ChatRequest,
        config: &ModelSettings,
    ) -> Result<(EncodedBody, Vec<Degradation>, Option<StrictForms>), ProviderError> {
        let leading = match self.profile().system_place {
            SystemPlace::Anywhere => 0,
            SystemPlace::MergedFirst => {
                request.messages.iter().take_while(|message| matches!(***message, Message::System(_))).count()
            }
        };
        self.render(&mut memo.log, request, leading)?;
        let has_items = memo.log.first_role().is_some();
        let hosted = tools::hosted(self.profile(), config)?;
        let subset = tools::subset(self.capabilities(), self.profile().tool_schemas);
        let forms = StrictForms::of_tools(&request.tools, subset, None);
        let has_hosted = !hosted.is_empty();
        let mut options = options(self.profile(), self.capabilities(), request, config, has_hosted, forms)?;
        let same_tools = Arc::ptr_eq(&memo.tools, &request.tools);
        memo.tools = Arc::clone(&request.tools);
        let known = memo.head.take().filter(|head| {
            same_tools
                && head.offered == options.offered
                && head.marker == options.marker
                && head.hosted.iter().eq(hosted.iter().copied())
        });
        let head = memo.head.insert(self.head(known, request, config, leading, &options, &hosted)?);
        if head.system.is_empty() && !has_items {
            return Err(invalid("there is no message to send"));
        }
        options.members.remove("model");
        if let Some(key @ Value::Null) = options.members.get_mut(CACHE_KEY) {
            *key = Value::from(head.cache_key.as_str());
        }
        if options.members.contains_key("messages") {
            let error = ProviderError::new(ErrorKind::Configuration, "extra_body cannot replace messages");
            return Err(error.with_param("messages".to_owned()));
        }
        let mut tail = String::from("]");
        for (name, value) in &options.members {
            tail.push(',');
            write_json(name, &mut tail)?;
            tail.push(':');
            write_json(value, &mut tail)?;
        }
        tail.push('}');
        let head = if has_items { &head.followed } else { &head.alone };
        let markers = options.marker.map(|marker| markers(&request.messages, &memo.log, marker));
        let markers = markers.unwrap_or_default();
        Ok((memo.log.body(head.clone(), tail, &markers), options.degradations, options.forms))
    }

    fn render(
        &self,
        log: &mut EncodedLog,
        request: &ChatRequest,
        leading: usize,
    ) -> Result<(), ProviderError> {
        let renderer = self.renderer(request);
        let turns = Turns::new(renderer, &request.messages, leading);
        log.sync(
            &request.messages,
            |at, _| turns.variant(at) ^ turns.files_variant(at),
            |at, message, out| {
                let written = match (message, turns.place(at)) {
                    (_, Place::Nowhere) => false,
                    (Message::System(system), Place::Here) => {
                        renderer.system(system, renderer.system_role(), out)
                    }
                    (Message::System(_) | Message::User(_), _) => {
                        turns.bridge(at, out);
                        renderer.user_turn(&turns.members(at), out)?
                    }
                    (Message::Assistant(assistant), _) => match turns.joined(at) {
                        Some(joined) => renderer.assistant(&joined, out)?,
                        None => renderer.assistant(assistant, out)?,
                    },
                    (Message::ToolResults(results), _) => match asked(&request.messages, at) {
                        Some((_, asked)) => renderer.results(results, asked, out)?,
                        None => false,
                    },
                    _ => return Err(invalid("a message has a role that this API does not know")),
                };
                Ok(written.then_some(ROLE))
            },
        )
    }

    /// What stands before the items, out of what was known before if that still holds.
    fn head(
        &self,
        known: Option<Head>,
        request: &ChatRequest,
        config: &ModelSettings,
        leading: usize,
        options: &Options,
        hosted: &[&Value],
    ) -> Result<Head, ProviderError> {
        let model = match (config.extra_body.get("model"), self.profile().extra_body.get("model")) {
            (Some(Value::String(model)), _) | (None, Some(Value::String(model))) => model.as_str(),
            _ => self.model(),
        };
        let mut texts: Vec<&str> =
            config.system.as_deref().into_iter().filter(|text| !text.trim().is_empty()).collect();
        for message in request.messages.iter().take(leading) {
            if let Message::System(SystemMessage { parts, .. }) = &**message {
                texts.extend(parts.iter().map(TextPart::text));
            }
        }
        texts.extend(options.instruction.as_deref());
        let system = texts.join("\n\n");
        let before = match known.filter(|head| head.model == model) {
            Some(head) if head.system == system => return Ok(head),
            Some(head) => head.before,
            None => {
                let schemas = self.profile().tool_schemas;
                before_messages(
                    model,
                    &request.tools,
                    &options.offered,
                    schemas,
                    hosted,
                    options.forms.as_ref(),
                )?
            }
        };
        let role = self.renderer(request).system_role();
        let mut head = Head::new(model, system, before, role, self.marks(), options.marker)?;
        head.offered = options.offered.clone();
        head.hosted = hosted.iter().copied().cloned().collect();
        Ok(head)
    }

    fn renderer<'a>(&'a self, request: &'a ChatRequest) -> Renderer<'a> {
        Renderer {
            profile: self.profile(),
            model: self.model(),
            capabilities: self.capabilities(),
            tools: &request.tools,
            files: &request.files,
            marks: self.marks(),
        }
    }

    /// True if messages are lists of parts, for the sake of markers.
    fn marks(&self) -> bool {
        Profile::covers(&self.profile.cache_markers, &self.model)
    }
}

/// Markers at the end of the conversation, which the next request reads, and at the end of the request before, which
/// this one reads. A third stands at the end of the instructions.
fn markers(messages: &[Arc<Message>], log: &EncodedLog, marker: &'static str) -> Vec<Marker> {
    let is_answer =
        |at: &usize| messages.get(*at).is_some_and(|message| matches!(&**message, Message::Assistant(_)));
    let takes = |at: &usize| !is_answer(at) && log.takes_marker(*at);
    let last = (0..messages.len()).rev().find(takes);
    let answer = last.and_then(|last| (0..last).rev().find(is_answer));
    let before = answer.and_then(|answer| (0..answer).rev().find(takes));
    last.into_iter().chain(before).map(|at| Marker::new(at, marker)).collect()
}

/// What becomes of the schemas, by the code that writes them.
pub(super) fn check(codec: &ChatCodec, tools: &ToolSet, config: &ModelSettings) -> SchemaReport {
    tools::check(codec.capabilities(), codec.profile().tool_schemas, tools, config.unsupported)
}

impl Memo {
    fn new(codec: &ChatCodec, tools: &Arc<ToolSet>) -> Self {
        Self {
            profile: Arc::clone(&codec.profile),
            capabilities: Arc::clone(&codec.capabilities),
            tools: Arc::clone(tools),
            log: EncodedLog::new(&ENVELOPE),
            head: None,
        }
    }

    /// Whether this codec would render the same with these tools.
    fn fits(&self, codec: &ChatCodec, tools: &Arc<ToolSet>) -> bool {
        same(&self.profile, &codec.profile)
            && same(&self.capabilities, &codec.capabilities)
            && same_names(&self.tools, tools)
    }
}

impl Head {
    fn new(
        model: &str,
        system: String,
        before: String,
        role: &str,
        marks: bool,
        marker: Option<&'static str>,
    ) -> Result<Self, ProviderError> {
        let mut alone = before.clone();
        if !system.is_empty() {
            alone.push_str("{\"role\":\"");
            alone.push_str(role);
            alone.push_str("\",\"content\":");
            if marks {
                alone.push_str(r#"[{"type":"text","text":"#);
            }
            write_json(&system, &mut alone)?;
            if marks {
                alone.push_str(marker.unwrap_or_default());
                alone.push_str("}]");
            }
            alone.push('}');
        }
        let mut hasher = DefaultHasher::new();
        alone.hash(&mut hasher);
        let followed = if system.is_empty() { alone.clone() } else { format!("{alone},") };
        Ok(Self {
            model: model.to_owned(),
            offered: Offered::All,
            hosted: Vec::new(),
            marker,
            system,
            before,
            alone: alone.into(),
            followed: followed.into(),
            // The same for all conversations of an agent, whose common prefix it is.
            cache_key: format!("attache-{:016x}", hasher.finish()),
        })
    }
}

/// Model and tools, up to the bracket that opens the messages.
pub(crate) fn before_messages(
    model: &str,
    tools: &ToolSet,
    offered: &Offered,
    schemas: ToolSchemas,
    hosted: &[&Value],
    forms: Option<&StrictForms>,
) -> Result<String, ProviderError> {
    #[derive(Serialize)]
    struct Tool<'a> {
        r#type: &'static str,
        function: Function<'a>,
    }
    #[derive(Serialize)]
    struct Function<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        parameters: &'a Value,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
    }
    let mut head = String::from("{\"model\":");
    write_json(model, &mut head)?;
    let is_offered = |name: &str| match offered {
        Offered::All => true,
        Offered::None => false,
        Offered::One(one) => one == name,
    };
    let mut count = 0;
    for (name, tool) in tools.iter().filter(|(_, tool)| is_offered(tool.name())) {
        head.push_str(if count == 0 { ",\"tools\":[" } else { "," });
        count += 1;
        let Written { description, parameters, strict } = tools::written(tool, schemas, forms);
        let function =
            Function { name, description: description.trim_start(), parameters: &parameters, strict };
        write_json(&Tool { r#type: "function", function }, &mut head)?;
    }
    let hosted = if *offered == Offered::All { hosted } else { &[] };
    tools::write_hosted(hosted, count == 0, &mut head);
    if count + hosted.len() > 0 {
        head.push(']');
    }
    head.push_str(",\"messages\":[");
    Ok(head)
}
