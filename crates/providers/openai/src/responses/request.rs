//! From a [`ChatRequest`] to an HTTP request.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, ErrorKind, Message, ModelCapabilities, ModelSettings, ProviderError,
    ResponseFormat, SchemaReport, Secret, SystemMessage, TextPart, ToolSet,
};
use attache_transport::{
    Codec as _, EncodedBody, EncodedLog, EncodedRequest, Envelope, RoleTag, StrictForms, check_pairing,
};
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::ResponsesCodec;
use super::ids::WireIds;
use super::items::Renderer;
use super::options::{is_stored, options};
use crate::profile::{Profile, SystemPlace};
use crate::render::{asked, invalid, same, same_names, write_json};
use crate::{server, tools};

/// Items are separated by commas whatever their roles.
const ROLE: RoleTag = RoleTag::new(0);
static ENVELOPE: Envelope = Envelope::LIST;

/// What is kept of a conversation between its requests.
#[derive(Debug)]
struct Memo {
    profile: Arc<Profile>,
    capabilities: Arc<ModelCapabilities>,
    /// The tools whose names the items use.
    tools: Arc<ToolSet>,
    stored: bool,
    ids: WireIds,
    log: EncodedLog,
    head: Option<Head>,
}

/// What stands before the items: model, tools, and instructions that are not part of the history.
///
/// Those of the configuration stand in `instructions`, which the server puts before all items; they are the same
/// through a run. Instructions of the history stay items in their places, so that a history which grows by one keeps
/// its beginning, as the prompt cache wants it. Where a server takes instructions only at the start, those at the start
/// of the history join the others.
#[derive(Debug)]
struct Head {
    model: String,
    hosted: Vec<Value>,
    system: String,
    as_item: bool,
    /// Model and tools.
    before: String,
    /// With the instructions and the bracket that opens the items, and with a comma if items follow.
    alone: Bytes,
    followed: Bytes,
    cache_key: String,
}

/// How a message is rendered beside its own content.
mod variant {
    use super::{Arc, DefaultHasher, Hash, Hasher, Message};

    /// In its place.
    pub(super) const PLAIN: u64 = 0;
    /// Instructions that are merged with those before the items.
    pub(super) const IN_HEAD: u64 = 1;
    /// Instructions in the words of the user.
    pub(super) const AS_USER: u64 = 2;

    /// With these ids of its calls, which are not its own.
    pub(super) fn renamed(ids: &[String]) -> u64 {
        let mut hasher = DefaultHasher::new();
        ids.hash(&mut hasher);
        hasher.finish()
    }

    /// Behind this message, whose calls have these ids if not their own.
    pub(super) fn behind(before: Option<&Arc<Message>>, ids: Option<&[String]>) -> u64 {
        let mut hasher = DefaultHasher::new();
        (before.map(|before| before.id()), ids).hash(&mut hasher);
        hasher.finish()
    }
}

impl ResponsesCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    ///
    /// # Errors
    /// Also [`ErrorKind::InvalidRequest`] for a tool choice that names no tool.
    pub(super) fn request(
        &self,
        request: &ChatRequest,
        config: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        let mut parts = server::envelope(self.profile(), "responses", config, key)?;
        check_pairing(&request.messages)?;
        let wire_key = format!("responses/{}/{}", self.profile.name, self.model);
        let stored = is_stored(self.profile(), config);
        let memo = request.transcript.as_ref().and_then(|transcript| transcript.take::<Memo>(&wire_key));
        let mut memo = memo
            .filter(|memo| memo.fits(self, &request.tools, stored))
            .unwrap_or_else(|| Memo::new(self, &request.tools, stored));
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
        self.render(memo, request, leading)?;
        let has_items = memo.log.first_role().is_some();
        let same_tools = Arc::ptr_eq(&memo.tools, &request.tools);
        memo.tools = Arc::clone(&request.tools);
        let hosted = tools::hosted(self.profile(), config)?;
        let known =
            memo.head.take().filter(|head| same_tools && head.hosted.iter().eq(hosted.iter().copied()));
        let subset = tools::subset(self.capabilities(), self.profile().tool_schemas);
        let mut forms = StrictForms::of_tools(&request.tools, subset, None);
        let head = memo.head.insert(self.head(known, request, config, leading, &hosted, forms.as_ref())?);
        let has_instructions = head.as_item && !head.system.is_empty();
        if !has_items && !has_instructions {
            return Err(invalid("there is no message to send"));
        }
        let key = || head.cache_key.clone();
        let has_hosted = !hosted.is_empty();
        let mut options =
            options(self.profile(), self.capabilities(), request, config, has_hosted, forms.as_ref(), key)?;
        options.members.remove("model");
        for name in ["input", "instructions"] {
            if options.members.contains_key(name) {
                let text = format!("extra_body cannot replace {name}");
                return Err(ProviderError::new(ErrorKind::Configuration, text).with_param(name.to_owned()));
            }
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
        if options.strict_answer {
            forms = Some(StrictForms::with_answer(forms, self.profile().tool_schemas.subset()));
        }
        Ok((memo.log.body(head.clone(), tail, &[]), options.degradations, forms))
    }

    fn render(&self, memo: &mut Memo, request: &ChatRequest, leading: usize) -> Result<(), ProviderError> {
        let place = self.profile().system_place;
        let rule = self.profile().call_ids;
        memo.ids.sync(&request.messages, rule);
        let ids = &memo.ids;
        let variant = |at: usize, message: &Message| match (message, place) {
            (Message::System(_), SystemPlace::MergedFirst) if at < leading => variant::IN_HEAD,
            (Message::System(_), SystemPlace::MergedFirst) => variant::AS_USER,
            (Message::Assistant(_), _) => ids.renamed(at).map_or(variant::PLAIN, variant::renamed),
            // Results repeat the ids of the calls before them.
            (Message::ToolResults(_), _) => at.checked_sub(1).map_or(variant::PLAIN, |before| {
                variant::behind(request.messages.get(before), ids.renamed(before))
            }),
            _ => variant::PLAIN,
        };
        let variant = |at: usize, message: &Message| variant(at, message) ^ request.files.variant(message);
        let renderer = self.renderer(request, memo.stored);
        memo.log.sync(&request.messages, variant, |at, message, out| {
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

    /// What stands before the items, out of what was known before if that still holds.
    fn head(
        &self,
        known: Option<Head>,
        request: &ChatRequest,
        config: &ModelSettings,
        leading: usize,
        hosted: &[&Value],
        forms: Option<&StrictForms>,
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
        let system = texts.join("\n\n");
        // An answer of JSON without a schema is given only if an item asks for it, and `instructions` are none.
        // (openai.md A.4)
        let as_item = !self.profile().responses.instructions
            || matches!(config.response_format, Some(ResponseFormat::JsonObject));
        let before = match known.filter(|head| head.model == model) {
            Some(head) if head.system == system && head.as_item == as_item => return Ok(head),
            Some(head) => head.before,
            None => self.model_and_tools(model, &request.tools, hosted, forms)?,
        };
        let role = self.renderer(request, false).system_role();
        let mut head = Head::new(model, system, before, as_item.then_some(role))?;
        head.hosted = hosted.iter().copied().cloned().collect();
        Ok(head)
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
            let (description, parameters) = (tool.description.trim_start(), &*tool.parameters);
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

/// What becomes of the schemas, by the code that writes them.
pub(super) fn check(codec: &ResponsesCodec, tools: &ToolSet, config: &ModelSettings) -> SchemaReport {
    tools::check(codec.capabilities(), codec.profile().tool_schemas, tools, config.unsupported)
}

impl Memo {
    fn new(codec: &ResponsesCodec, tools: &Arc<ToolSet>, stored: bool) -> Self {
        Self {
            profile: Arc::clone(&codec.profile),
            capabilities: Arc::clone(&codec.capabilities),
            tools: Arc::clone(tools),
            stored,
            ids: WireIds::default(),
            log: EncodedLog::new(&ENVELOPE),
            head: None,
        }
    }

    /// Whether this codec would render the same with these tools.
    fn fits(&self, codec: &ResponsesCodec, tools: &Arc<ToolSet>, stored: bool) -> bool {
        same(&self.profile, &codec.profile)
            && same(&self.capabilities, &codec.capabilities)
            && same_names(&self.tools, tools)
            && self.stored == stored
    }
}

impl Head {
    /// `role` is that of the item in which the instructions stand, if it is one.
    fn new(model: &str, system: String, before: String, role: Option<&str>) -> Result<Self, ProviderError> {
        let mut alone = before.clone();
        let mut followed = None;
        match role.filter(|_| !system.is_empty()) {
            Some(role) => {
                alone.push_str(",\"input\":[{\"type\":\"message\",\"role\":\"");
                alone.push_str(role);
                alone.push_str("\",\"content\":");
                write_json(&system, &mut alone)?;
                alone.push('}');
                followed = Some(format!("{alone},"));
            }
            None => {
                if !system.is_empty() {
                    alone.push_str(",\"instructions\":");
                    write_json(&system, &mut alone)?;
                }
                alone.push_str(",\"input\":[");
            }
        }
        let mut hasher = DefaultHasher::new();
        alone.hash(&mut hasher);
        let followed = followed.unwrap_or_else(|| alone.clone());
        Ok(Self {
            model: model.to_owned(),
            hosted: Vec::new(),
            system,
            as_item: role.is_some(),
            before,
            alone: alone.into(),
            followed: followed.into(),
            // The same for all conversations of an agent, whose common prefix it is.
            cache_key: format!("attache-{:016x}", hasher.finish()),
        })
    }
}
