//! From a [`ChatRequest`] to an HTTP request.

use std::sync::Arc;

use attache_core::{Caching, ChatRequest, Message, ModelCapabilities, ModelSettings, ProviderError, ToolSet};
use attache_transport::{
    Codec as _, EncodedLog, EncodedRequest, Envelope, Marker, RequestParts, RoleTag, StrictForms, asked,
    check_pairing, forbid, is_same, same_names, system_texts, tail, with_kept, write_json,
};
use serde::Serialize;
use serde_json::Value;

use super::codec::ChatCodec;
use super::messages::Renderer;
use super::options::{Offered, Options, options};
use super::turns::{Place, Turns};
use crate::head::Head;
use crate::options::CACHE_KEY;
use crate::profile::{Profile, ToolSchemas};
use crate::render::invalid;
use crate::server;
use crate::tools::{self, Written};

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);
static ENVELOPE: Envelope = Envelope::LIST;

/// The state of a conversation that is kept between its requests.
#[derive(Debug)]
struct State {
    profile: Arc<Profile>,
    capabilities: Arc<ModelCapabilities>,
    /// The tools whose names the items use.
    tools: Arc<ToolSet>,
    log: EncodedLog,
    head: Option<Head>,
    /// The other things on which the head depends.
    offered: Offered,
    marker: Option<&'static str>,
}

impl ChatCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    ///
    /// # Errors
    /// Also [`ErrorKind::InvalidRequest`](attache_core::ErrorKind::InvalidRequest) for a tool choice that names no tool.
    pub(super) fn request(
        &self,
        request: &ChatRequest,
        settings: &ModelSettings,
        key: Option<&attache_core::Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        let parts = server::envelope(self.profile(), "chat/completions", settings, key)?;
        check_pairing(&request.messages)?;
        let wire_key = self.wire_key();
        let fits = |state: &State| state.fits(self, &request.tools);
        let new = || State::new(self, &request.tools);
        with_kept(request, &wire_key, fits, new, |state| self.body(state, request, settings, parts))
    }

    fn body(
        &self,
        state: &mut State,
        request: &ChatRequest,
        settings: &ModelSettings,
        mut parts: RequestParts,
    ) -> Result<EncodedRequest, ProviderError> {
        let leading = self.server.count_leading(&request.messages);
        self.render(&mut state.log, request, leading)?;
        let has_items = state.log.first_role().is_some();
        let hosted = tools::hosted(self.profile(), settings)?;
        let subset = tools::subset(self.capabilities(), self.profile().tool_schemas);
        let forms = StrictForms::of_tools(&request.tools, subset, None);
        let mut options = options(self.profile(), self.capabilities(), request, settings, &hosted, forms)?;
        let is_known = Arc::ptr_eq(&state.tools, &request.tools)
            && state.offered == options.offered
            && state.marker == options.marker;
        state.tools = Arc::clone(&request.tools);
        (state.offered, state.marker) = (options.offered.clone(), options.marker);
        let known = state.head.take().filter(|head| is_known && head.has(&hosted));
        let head = state.head.insert(self.head(known, request, settings, leading, &options, &hosted)?);
        if head.system.is_empty() && !has_items {
            return Err(invalid("there is no message to send"));
        }
        options.members.remove("model");
        if let Some(key @ Value::Null) = options.members.get_mut(CACHE_KEY) {
            *key = Value::from(head.cache_key.as_str());
        }
        forbid(&options.members, &["messages"])?;
        let tail = tail(&options.members)?;
        let markers = options.marker.map(|marker| markers(&request.messages, &state.log, marker));
        let markers = markers.unwrap_or_default();
        parts.body = state.log.body(head.bytes(has_items), tail, &markers);
        Ok(EncodedRequest::new(parts, options.degradations).with_strict(options.forms))
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

    /// The members before the items, out of the state of before if that still holds.
    fn head(
        &self,
        known: Option<Head>,
        request: &ChatRequest,
        settings: &ModelSettings,
        leading: usize,
        options: &Options,
        hosted: &[&Value],
    ) -> Result<Head, ProviderError> {
        let model = self.server.named_model(settings);
        let mut texts: Vec<&str> = system_texts(settings, &request.messages, leading).collect();
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
        let mut alone = before.clone();
        if !system.is_empty() {
            let marks = self.marks();
            alone.push_str("{\"role\":\"");
            alone.push_str(self.renderer(request).system_role());
            alone.push_str(if marks { r#"","content":[{"type":"text","text":"# } else { r#"","content":"# });
            write_json(&system, &mut alone)?;
            if marks {
                alone.push_str(options.marker.unwrap_or_default());
                alone.push_str("}]");
            }
            alone.push('}');
        }
        let ends_in_item = !system.is_empty();
        Ok(Head::new(model, hosted, system, before, alone, ends_in_item))
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
        self.capabilities().caching == Caching::Explicit
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

impl State {
    fn new(codec: &ChatCodec, tools: &Arc<ToolSet>) -> Self {
        Self {
            profile: Arc::clone(&codec.server.profile),
            capabilities: Arc::clone(&codec.server.capabilities),
            tools: Arc::clone(tools),
            log: EncodedLog::new(&ENVELOPE),
            head: None,
            offered: Offered::All,
            marker: None,
        }
    }

    /// True if this codec would render the same with these tools.
    fn fits(&self, codec: &ChatCodec, tools: &Arc<ToolSet>) -> bool {
        is_same(&self.profile, &codec.server.profile)
            && is_same(&self.capabilities, &codec.server.capabilities)
            && same_names(&self.tools, tools)
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
        let function = Function { name, description: &description, parameters: &parameters, strict };
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
