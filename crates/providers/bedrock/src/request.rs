//! Encodes a request of Converse or ConverseStream.

mod documents;
mod history;
mod ids;
mod messages;
mod options;
mod tools;

use std::sync::Arc;

use attache_core::Message;
use attache_core::json::merge_members;
use attache_core::settings::CachePolicy;
use attache_transport::claude::{CachePlaces, Conversation, cache_policy, cites, strict_forms};
use attache_transport::{
    Codec as _, EncodedBody, EncodedRequest, Envelope, Marker, Refusals, RequestParts, RoleTag, StrictForms,
    extra_tools, forbid, head, invalid_history, system_blocks, unsupported, with_kept,
};
use http::header::{ACCEPT, AUTHORIZATION};
use serde_json::{Map, Value};

use self::history::{ASSISTANT, Plan};
use self::messages::{APART, PLACEHOLDER, Renderer};
pub(crate) use self::tools::check as check_tools;
use crate::capabilities::{FAMILY, takes_prefill};
use crate::codec::{Ask, ConverseCodec};
use crate::error::{self, Result};

impl ConverseCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    pub(crate) fn request(&self, ask: attache_transport::Ask<'_>) -> Result<EncodedRequest> {
        let ask = ask.of(self);
        let parts = parts(ask)?;
        with_kept(ask.request, FAMILY, |_| true, || State::new(&ENVELOPE), |state| encode(state, ask, parts))
    }
}

/// The state of a conversation that is kept between its requests.
type State = Conversation<Plan>;

static ENVELOPE: Envelope = Envelope::new(opening, joint, |_| "]}");

fn opening(role: RoleTag) -> &'static str {
    if role == ASSISTANT { r#"{"role":"assistant","content":["# } else { r#"{"role":"user","content":["# }
}

/// Neighbours of one role share a message. Content that may not stand beside tool results is kept apart from them by
/// words of the assistant, since the API would merge two messages of the user.
fn joint(before: RoleTag, after: RoleTag) -> &'static str {
    match (before, after) {
        (before, after) if before == after => ",",
        (_, ASSISTANT) => r#"]},{"role":"assistant","content":["#,
        (ASSISTANT, _) => r#"]},{"role":"user","content":["#,
        _ => APART,
    }
}

fn encode(state: &mut State, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest> {
    let Ask { request, settings, codec, .. } = ask;
    let mut refusals = Refusals::new(codec.model(), settings.unsupported);
    state.log.check_pairing(&request.messages)?;
    let cites = cites(settings, codec.capabilities(), &mut refusals)?;
    messages(state, ask, cites)?;

    let mut options = options::read(ask, &mut refusals)?;
    check_ends(state, ask, &options)?;
    let forms = strict_forms(&request.tools, settings, codec.capabilities(), options.structured);
    let extra = Extra::read(&settings.extra_body)?;
    // The caller's own points among the tools take the place of ours there.
    let own: Vec<&Value> = extra.tools.iter().filter_map(|tool| tool.get("cachePoint")).collect();
    let point = cache_point(ask, &own, &mut refusals)?;
    let tool_config = tool_config(state, ask, &mut options, &extra, forms.as_ref(), &mut refusals)?;
    merge_members(&mut options.additional, &extra.additional);
    if !options.additional.is_empty() {
        let additional = Value::Object(options.additional);
        options.members.insert("additionalModelRequestFields".to_owned(), additional);
    }
    merge_members(&mut options.members, &extra.members);

    let system = system_blocks(settings, &request.messages, state.plan.leading(), r#"{"text":"#);
    let cached_tools = codec.family().cached_tools && tool_config.is_some() && own.is_empty();
    let cached_system = codec.capabilities().system && !system.is_empty();
    let places = match point {
        Some(_) => CachePlaces::place(&request.messages, &state.log, cached_tools, cached_system, own.len()),
        None => CachePlaces::default(),
    };
    let mark = |wanted: bool| if wanted { point.unwrap_or_default() } else { "" };

    let mut head = head(&options.members)?;
    if let Some(ToolConfig { tools, members }) = tool_config {
        head.push_str(r#""toolConfig":{"tools":["#);
        head.push_str(&tools);
        head.push_str(mark(places.tools));
        head.push(']');
        for (name, value) in members {
            head.push_str(&format!(",{}:{value}", Value::String(name)));
        }
        head.push_str("},");
    }
    if cached_system {
        head.push_str(r#""system":["#);
        head.push_str(&system);
        head.push_str(mark(places.system));
        head.push_str("],");
    }
    head.push_str(r#""messages":["#);
    begin(state, ask, &system, &mut head);
    let markers: Vec<Marker> =
        places.messages.into_iter().map(|at| Marker::new(at, mark(true).as_bytes())).collect();
    parts.body = state.log.body(head, &b"]}"[..], &markers);
    Ok(EncodedRequest::new(parts, refusals.into_recorded()).with_strict(forms))
}

/// Plans and renders what is new of the conversation.
fn messages(state: &mut State, ask: Ask<'_>, cites: bool) -> Result<()> {
    let Ask { request, codec, .. } = ask;
    state.take_up(codec.model(), &codec.capabilities().model, &request.tools);
    let messages = &request.messages;
    state.plan.extend(messages, &request.tools, codec);
    let plan = &state.plan;
    let (held, most) = (plan.files(), codec.capabilities().files.max_files);
    if let Some(most) = most.filter(|most| held > *most) {
        let message = format!("a request to Converse holds at most {most} documents, this one has {held}");
        return Err(unsupported(message));
    }
    let is_said = |message: &Arc<Message>| matches!(&**message, Message::Assistant(_));
    let ending = messages.len().checked_sub(1).filter(|_| messages.last().is_some_and(is_said));
    let renderer = Renderer { codec, tools: &request.tools, plan, ending, cites };
    let variant = |index: usize, _: &Message| {
        // The end of a conversation is written without white space behind it.
        plan.variant(index) ^ u64::from(ending == Some(index)) << 63 ^ u64::from(cites) << 62
    };
    state.log.sync(messages, variant, |index, message, item| renderer.message(index, message, item))
}

/// Holds the ends of the conversation against the rules of the API.
fn check_ends(state: &State, ask: Ask<'_>, options: &options::Options) -> Result<()> {
    let codec = ask.codec;
    let invalid = |message: String| Err(invalid_history(message));
    match state.log.last_role() {
        None => return invalid("there is no message to answer".to_owned()),
        Some(ASSISTANT) => {}
        Some(_) => return Ok(()),
    }
    if takes_prefill(codec.family(), codec.capabilities()) && !options.manual_thinking && !options.structured
    {
        return Ok(());
    }
    invalid(format!("the conversation ends with the assistant, {} answers only the user", codec.model()))
}

/// The tools to declare and the choice among them; none if no tool need be declared.
fn tool_config(
    state: &mut State,
    ask: Ask<'_>,
    options: &mut options::Options,
    extra: &Extra,
    forms: Option<&StrictForms>,
    refusals: &mut Refusals<'_>,
) -> Result<Option<ToolConfig>> {
    let (own, rule) = (&ask.request.tools, ask.codec.family().tool_schema);
    let compile = |definition, refusals: &mut Refusals<'_>| tools::compile(own, definition, rule, refusals);
    let capabilities = ask.codec.capabilities();
    let offered = state.written_tools.get(own, capabilities, forms, refusals, compile, tools::write)?;
    let mut tools = String::from(&*offered);
    for tool in &extra.tools {
        if !tools.is_empty() {
            tools.push(',');
        }
        tools.push_str(&tool.to_string());
    }
    let has_calls = !state.plan.called().is_empty();
    let choice = tools::choice(ask, !tools.is_empty(), has_calls, options.manual_thinking, refusals)?;
    if let Some(own) = choice.own {
        options.additional.insert("tool_choice".to_owned(), own);
    }
    if choice.none {
        return Ok(None);
    }
    if tools.is_empty() {
        tools = tools::render_called(state.plan.called())?;
    }
    let mut members = Map::new();
    members.extend(choice.member.map(|member| ("toolChoice".to_owned(), member)));
    merge_members(&mut members, &extra.tool_config);
    Ok((!tools.is_empty()).then_some(ToolConfig { tools, members }))
}

/// The content before the conversation: instructions for a model that has no place of their own for them, and a
/// word of the user where a model does not let the assistant begin.
fn begin(state: &State, ask: Ask<'_>, system: &str, head: &mut String) {
    let (family, capabilities) = (ask.codec.family(), ask.codec.capabilities());
    let assistant_begins = state.log.first_role() == Some(ASSISTANT);
    if !capabilities.system && !system.is_empty() {
        head.push_str(&format!(r#"{{"role":"user","content":[{system}]}},"#));
        if !assistant_begins {
            head.push_str(&format!(r#"{{"role":"assistant","content":[{{"text":"{PLACEHOLDER}"}}]}},"#));
        }
    } else if assistant_begins && !family.leading_assistant {
        head.push_str(&format!(r#"{{"role":"user","content":[{{"text":"{PLACEHOLDER}"}}]}},"#));
    }
}

/// The member `toolConfig`.
struct ToolConfig {
    /// JSON objects, joined by commas.
    tools: String,
    /// The members beside them.
    members: Map<String, Value>,
}

/// The caller's own members of the body.
struct Extra {
    members: Map<String, Value>,
    additional: Map<String, Value>,
    tools: Vec<Value>,
    tool_config: Map<String, Value>,
}

impl Extra {
    fn read(body: &Map<String, Value>) -> Result<Self> {
        let mut extra = Self {
            members: body.clone(),
            additional: Map::new(),
            tools: Vec::new(),
            tool_config: Map::new(),
        };
        forbid(body, &["messages", "system"])?;
        let mut object = |name: &str| match extra.members.shift_remove(name) {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(_) => Err(error::configuration(format!("{name} of extra_body must be an object"))),
        };
        extra.additional = object("additionalModelRequestFields")?;
        extra.tool_config = object("toolConfig")?;
        extra.tools = extra_tools(&extra.tool_config)?.to_vec();
        extra.tool_config.shift_remove("tools");
        Ok(extra)
    }
}

/// A cache point, as a block behind others; `None` where none are wanted.
fn cache_point(ask: Ask<'_>, own: &[&Value], refusals: &mut Refusals<'_>) -> Result<Option<&'static str>> {
    let capabilities = ask.codec.capabilities();
    Ok(match cache_policy(ask.request, ask.settings, capabilities, "points", own, refusals)? {
        CachePolicy::Long if capabilities.long_cache => {
            Some(r#",{"cachePoint":{"type":"default","ttl":"1h"}}"#)
        }
        policy @ (CachePolicy::Short | CachePolicy::Long) => {
            if policy == CachePolicy::Long {
                let why = "the model keeps what it caches for five minutes only";
                refusals.refuse("cache", why, "it is kept that long")?;
            }
            Some(r#",{"cachePoint":{"type":"default"}}"#)
        }
        _ => None,
    })
}

/// The request without its body.
fn parts(ask: Ask<'_>) -> Result<RequestParts> {
    let (whole, extra) = (!ask.request.streaming, &ask.settings.extra_headers);
    let accept = if whole { "application/json" } else { "application/vnd.amazon.eventstream" };
    let mut parts =
        RequestParts::post_json(ask.codec.url(whole)?, EncodedBody::default()).with_header(ACCEPT, accept);
    let authorised = extra.iter().any(|(name, _)| name == "authorization");
    if let Some(key) = ask.key.filter(|key| !key.is_empty() && !authorised) {
        parts = parts.with_secret_header(AUTHORIZATION, "Bearer ", key);
    }
    parts.with_extra_headers(extra)
}
