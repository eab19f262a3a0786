//! From a [`ChatRequest`] to an HTTP request.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use attache_core::{
    ChatRequest, Message, ModelCapabilities, ModelSettings, ProviderError, ResponseFormat, Secret, ToolSet,
};
use attache_transport::{
    Codec as _, EncodedLog, EncodedRequest, Envelope, RequestParts, RoleTag, StrictForms, asked, behind,
    check_pairing, forbid, is_same, same_names, system_texts, tail, with_kept, write_json,
};
use serde::Serialize;
use serde_json::Value;

use super::codec::ResponsesCodec;
use super::ids::WireIds;
use super::messages::Renderer;
use super::options::{is_stored, options};
use crate::head::Head;
use crate::profile::{Profile, SystemPlace};
use crate::render::invalid;
use crate::{server, tools};

/// Items are separated by commas whatever their roles.
const ROLE: RoleTag = RoleTag::new(0);
static ENVELOPE: Envelope = Envelope::LIST;

/// The state of a conversation that is kept between its requests.
#[derive(Debug)]
struct State {
    profile: Arc<Profile>,
    capabilities: Arc<ModelCapabilities>,
    /// The tools whose names the items use.
    tools: Arc<ToolSet>,
    stored: bool,
    ids: WireIds,
    log: EncodedLog,
    /// The part before the items.
    ///
    /// Instructions of the configuration stand in `instructions`, which the server puts before all items; they are the
    /// same through a run. Those of the history stay items in their places, so that a history which grows by one keeps
    /// its beginning, as the prompt cache wants it. Where a server takes instructions only at the start, those at the
    /// start of the history join the others.
    head: Option<Head>,
    /// True if the instructions in the head are an item.
    as_item: bool,
}

/// How a message is rendered beside its own content: in its place, merged with the instructions before the items, or
/// as instructions in the words of the user.
const PLAIN: u64 = 0;
const IN_HEAD: u64 = 1;
const AS_USER: u64 = 2;

/// With ids of calls which are not its own.
fn renamed(ids: Option<&[String]>) -> u64 {
    let Some(ids) = ids else { return PLAIN };
    let mut hasher = DefaultHasher::new();
    ids.hash(&mut hasher);
    hasher.finish()
}

impl ResponsesCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    ///
    /// # Errors
    /// Also [`ErrorKind::InvalidRequest`](attache_core::ErrorKind::InvalidRequest) for a tool choice that names no tool.
    pub(super) fn request(
        &self,
        request: &ChatRequest,
        settings: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        let parts = server::envelope(self.profile(), "responses", settings, key)?;
        check_pairing(&request.messages)?;
        let wire_key = format!("responses/{}", self.model_id());
        let stored = is_stored(self.profile(), settings);
        let fits = |state: &State| state.fits(self, &request.tools, stored);
        let new = || State::new(self, &request.tools, stored);
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
        self.render(state, request, leading)?;
        let has_items = state.log.first_role().is_some();
        let same_tools = Arc::ptr_eq(&state.tools, &request.tools);
        state.tools = Arc::clone(&request.tools);
        let hosted = tools::hosted(self.profile(), settings)?;
        // An answer of JSON without a schema is given only if an item asks for it, and `instructions` are none.
        // (openai.md A.4)
        let as_item = !self.profile().responses.instructions
            || matches!(settings.response_format, Some(ResponseFormat::JsonObject));
        let is_known = same_tools && std::mem::replace(&mut state.as_item, as_item) == as_item;
        let known = state.head.take().filter(|head| is_known && head.has(&hosted));
        let subset = tools::subset(self.capabilities(), self.profile().tool_schemas);
        let mut forms = StrictForms::of_tools(&request.tools, subset, None);
        let head = state.head.insert(self.head(
            known,
            request,
            settings,
            (leading, as_item),
            &hosted,
            forms.as_ref(),
        )?);
        let has_instructions = as_item && !head.system.is_empty();
        if !has_items && !has_instructions {
            return Err(invalid("there is no message to send"));
        }
        let key = || head.cache_key.clone();
        let mut options =
            options(self.profile(), self.capabilities(), request, settings, &hosted, forms.as_ref(), key)?;
        options.members.remove("model");
        forbid(&options.members, &["input", "instructions"])?;
        let tail = tail(&options.members)?;
        if options.strict_answer {
            forms = Some(StrictForms::with_answer(forms, self.profile().tool_schemas.subset()));
        }
        parts.body = state.log.body(head.bytes(has_items), tail, &[]);
        Ok(EncodedRequest::new(parts, options.degradations).with_strict(forms))
    }

    fn render(&self, state: &mut State, request: &ChatRequest, leading: usize) -> Result<(), ProviderError> {
        let place = self.profile().system_place;
        let rule = self.profile().call_ids;
        state.ids.sync(&request.messages, rule);
        let ids = &state.ids;
        let variant = |at: usize, message: &Message| match (message, place) {
            (Message::System(_), SystemPlace::MergedFirst) if at < leading => IN_HEAD,
            (Message::System(_), SystemPlace::MergedFirst) => AS_USER,
            (Message::Assistant(_), _) => renamed(ids.renamed(at)),
            // Results repeat the ids of the calls before them.
            (Message::ToolResults(_), _) => {
                let before = at.checked_sub(1).and_then(|before| ids.renamed(before));
                behind(&request.messages, at) ^ renamed(before)
            }
            _ => PLAIN,
        };
        let variant = |at: usize, message: &Message| variant(at, message) ^ request.files.variant(message);
        let renderer = self.renderer(request, state.stored);
        state.log.sync(&request.messages, variant, |at, message, out| {
            let written = match message {
                Message::System(_) if at < leading => false,
                Message::System(system) if place == SystemPlace::MergedFirst => {
                    renderer.system(system, "user", out)
                }
                Message::System(system) => renderer.system(system, renderer.system_role(), out),
                Message::User(user) => renderer.user(user, out)?,
                Message::Assistant(assistant) => {
                    renderer.assistant(assistant, &ids.of(at, assistant, rule), out)?
                }
                Message::ToolResults(results) => match asked(&request.messages, at) {
                    Some((before, asked)) => {
                        renderer.results(results, asked, &ids.of(before, asked, rule), out)?
                    }
                    None => false,
                },
                _ => return Err(invalid("a message has a role that this API does not know")),
            };
            Ok(written.then_some(ROLE))
        })
    }

    /// The members before the items, out of the state of before if that still holds.
    fn head(
        &self,
        known: Option<Head>,
        request: &ChatRequest,
        settings: &ModelSettings,
        (leading, as_item): (usize, bool),
        hosted: &[&Value],
        forms: Option<&StrictForms>,
    ) -> Result<Head, ProviderError> {
        let model = self.server.named_model(settings);
        let texts: Vec<&str> = system_texts(settings, &request.messages, leading).collect();
        let system = texts.join("\n\n");
        let before = match known.filter(|head| head.model == model) {
            Some(head) if head.system == system => return Ok(head),
            Some(head) => head.before,
            None => self.model_and_tools(model, &request.tools, hosted, forms)?,
        };
        let mut alone = before.clone();
        let ends_in_item = as_item && !system.is_empty();
        if ends_in_item {
            alone.push_str(",\"input\":[{\"type\":\"message\",\"role\":\"");
            alone.push_str(self.renderer(request, false).system_role());
            alone.push_str("\",\"content\":");
            write_json(&system, &mut alone)?;
            alone.push('}');
        } else {
            if !system.is_empty() {
                alone.push_str(",\"instructions\":");
                write_json(&system, &mut alone)?;
            }
            alone.push_str(",\"input\":[");
        }
        Ok(Head::new(model, hosted, system, before, alone, ends_in_item))
    }

    fn model_and_tools(
        &self,
        model: &str,
        tools: &ToolSet,
        hosted: &[&Value],
        forms: Option<&StrictForms>,
    ) -> Result<String, ProviderError> {
        #[derive(Serialize)]
        struct Tool<'a> {
            r#type: &'static str,
            name: &'a str,
            #[serde(skip_serializing_if = "str::is_empty")]
            description: &'a str,
            parameters: &'a Value,
            #[serde(skip_serializing_if = "Option::is_none")]
            strict: Option<bool>,
        }
        // Without the member the server tries strict mode, the first use of which is slow for each schema.
        let explicit = self.profile().responses.explicit_strict;
        let mut head = String::from("{\"model\":");
        write_json(model, &mut head)?;
        for (at, (name, tool)) in tools.iter().enumerate() {
            head.push_str(if at == 0 { ",\"tools\":[" } else { "," });
            let tool = tools::written(tool, self.profile().tool_schemas, forms);
            let (description, parameters) = (tool.description.as_str(), &*tool.parameters);
            let strict = (tool.strict || explicit).then_some(tool.strict);
            write_json(&Tool { r#type: "function", name, description, parameters, strict }, &mut head)?;
        }
        tools::write_hosted(hosted, tools.is_empty(), &mut head);
        if !tools.is_empty() || !hosted.is_empty() {
            head.push(']');
        }
        Ok(head)
    }

    fn renderer<'a>(&'a self, request: &'a ChatRequest, stored: bool) -> Renderer<'a> {
        Renderer {
            profile: self.profile(),
            model: self.model(),
            capabilities: self.capabilities(),
            tools: &request.tools,
            files: &request.files,
            stored,
        }
    }
}

impl State {
    fn new(codec: &ResponsesCodec, tools: &Arc<ToolSet>, stored: bool) -> Self {
        Self {
            profile: Arc::clone(&codec.server.profile),
            capabilities: Arc::clone(&codec.server.capabilities),
            tools: Arc::clone(tools),
            stored,
            ids: WireIds::default(),
            log: EncodedLog::new(&ENVELOPE),
            head: None,
            as_item: false,
        }
    }

    /// True if this codec would render the same with these tools.
    fn fits(&self, codec: &ResponsesCodec, tools: &Arc<ToolSet>, stored: bool) -> bool {
        is_same(&self.profile, &codec.server.profile)
            && is_same(&self.capabilities, &codec.server.capabilities)
            && same_names(&self.tools, tools)
            && self.stored == stored
    }
}
