//! From a request to an HTTP request.

use std::hash::{DefaultHasher, Hash, Hasher};

use attache_core::{Message, ProviderError, ResponseFormat, ToolSet};
use attache_transport::{
    EncodedRequest, RequestParts, RoleTag, StrictForms, asked, behind, check_pairing, forbid, system_texts,
    tail, with_kept, write_json,
};
use serde::Serialize;
use serde_json::Value;

use super::ask::Ask;
use super::ids::WireIds;
use super::messages::Renderer;
use super::options::{is_stored, options};
use crate::head::{Head, Kept};
use crate::profile::{Profile, SystemPlace};
use crate::render::invalid;
use crate::tools;

/// Items are separated by commas whatever their roles.
const ROLE: RoleTag = RoleTag::new(0);

/// The state of a conversation that is kept between its requests.
///
/// Instructions of the configuration stand in `instructions`, which the server puts before all items; they are the
/// same through a run. Those of the history stay items in their places, so that a history which grows by one keeps
/// its beginning, as the prompt cache wants it. Where a server takes instructions only at the start, those at the
/// start of the history join the others.
#[derive(Debug)]
struct State {
    kept: Kept,
    stored: bool,
    ids: WireIds,
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

/// [`Codec::encode`](attache_transport::Codec::encode).
///
/// # Errors
/// Also [`ErrorKind::InvalidRequest`](attache_core::ErrorKind::InvalidRequest) for a tool choice that names no tool.
pub(super) fn encode(ask: Ask<'_>) -> Result<EncodedRequest, ProviderError> {
    let (server, tools) = (&ask.codec.server, &ask.request.tools);
    let parts = server.envelope("responses", ask.settings, ask.key)?;
    check_pairing(&ask.request.messages)?;
    let wire_key = format!("responses/{}", server.model_id());
    let stored = is_stored(&server.profile, ask.settings);
    let fits = |state: &State| state.kept.fits(server, tools) && state.stored == stored;
    let new = || State { kept: Kept::new(server, tools), stored, ids: WireIds::default(), as_item: false };
    with_kept(ask.request, &wire_key, fits, new, |state| state.body(ask, parts))
}

impl State {
    fn body(&mut self, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest, ProviderError> {
        let (request, server) = (ask.request, &ask.codec.server);
        let leading = server.count_leading(&request.messages);
        self.render(ask, leading)?;
        let has_items = self.kept.log.first_role().is_some();
        let hosted = tools::hosted(&server.profile, ask.settings)?;
        // An answer of JSON without a schema is given only if an item asks for it, and `instructions` are none.
        // (openai.md A.4)
        let as_item = !server.profile.responses.instructions
            || matches!(ask.settings.response_format, Some(ResponseFormat::JsonObject));
        let is_known = std::mem::replace(&mut self.as_item, as_item) == as_item;
        let known = self.kept.known_head(&request.tools, &hosted).filter(|_| is_known);
        let mut forms = server.strict_forms(&request.tools);
        let head = self.kept.head.insert(head(ask, known, (leading, as_item), &hosted, forms.as_ref())?);
        let has_instructions = as_item && !head.system.is_empty();
        if !has_items && !has_instructions {
            return Err(invalid("there is no message to send"));
        }
        let mut options = options(ask, &hosted, forms.as_ref(), || head.cache_key.clone())?;
        options.members.remove("model");
        forbid(&options.members, &["input", "instructions"])?;
        let tail = tail(&options.members)?;
        if options.strict_answer {
            forms = Some(StrictForms::with_answer(forms, server.profile.tool_schemas.subset()));
        }
        parts.body = self.kept.log.body(head.bytes(has_items), tail, &[]);
        Ok(EncodedRequest::new(parts, options.degradations).with_strict(forms))
    }

    fn render(&mut self, ask: Ask<'_>, leading: usize) -> Result<(), ProviderError> {
        let (request, profile) = (ask.request, ask.codec.profile());
        let (place, rule) = (profile.system_place, profile.call_ids);
        self.ids.sync(&request.messages, rule);
        let ids = &self.ids;
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
        let renderer = renderer(ask, self.stored);
        self.kept.log.sync(&request.messages, variant, |at, message, out| {
            let written = match message {
                Message::System(_) if at < leading => false,
                Message::System(system) if place == SystemPlace::MergedFirst => {
                    renderer.system(system, "user", out)
                }
                Message::System(system) => renderer.system(system, profile.system_role.as_str(), out),
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
}

/// The members before the items, out of the state of before if that still holds.
fn head(
    ask: Ask<'_>,
    known: Option<Head>,
    (leading, as_item): (usize, bool),
    hosted: &[&Value],
    forms: Option<&StrictForms>,
) -> Result<Head, ProviderError> {
    let server = &ask.codec.server;
    let model = server.named_model(ask.settings);
    let texts: Vec<&str> = system_texts(ask.settings, &ask.request.messages, leading).collect();
    let system = texts.join("\n\n");
    let before = match known.filter(|head| head.model == model) {
        Some(head) if head.system == system => return Ok(head),
        Some(head) => head.before,
        None => model_and_tools(&server.profile, model, &ask.request.tools, hosted, forms)?,
    };
    let mut alone = before.clone();
    let ends_in_item = as_item && !system.is_empty();
    if ends_in_item {
        alone.push_str(",\"input\":[{\"type\":\"message\",\"role\":\"");
        alone.push_str(server.profile.system_role.as_str());
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
    profile: &Profile,
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
    let explicit = profile.responses.explicit_strict;
    let mut head = String::from("{\"model\":");
    write_json(model, &mut head)?;
    for (at, (name, tool)) in tools.iter().enumerate() {
        head.push_str(if at == 0 { ",\"tools\":[" } else { "," });
        let tool = tools::written(tool, profile.tool_schemas, forms);
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

fn renderer<'a>(ask: Ask<'a>, stored: bool) -> Renderer<'a> {
    let server = &ask.codec.server;
    Renderer {
        profile: &server.profile,
        model: &server.model,
        capabilities: &server.capabilities,
        tools: &ask.request.tools,
        files: &ask.request.files,
        stored,
    }
}
