//! Encodes a request of the Messages API.

mod history;
mod messages;
mod options;
mod tools;

use attache_core::json::merge_members;
use attache_core::settings::{CachePolicy, RequestHeaders};
use attache_core::{AssistantPart, Message, ModelSettings, Secret};
use attache_transport::claude::{
    CachePlaces, Conversation, cache_policy, cites, keeps_an_hour, strict_forms,
};
use attache_transport::{
    Codec as _, CountRequest, EncodedBody, EncodedRequest, Envelope, Marker, Refusals, RequestParts, RoleTag,
    extra_tools, forbid, head, invalid_history, system_blocks, with_kept,
};
use http::HeaderName;
use serde_json::{Value, json};

use self::history::{Plan, container, is_block};
use self::messages::{ASSISTANT, Renderer};
pub(crate) use self::tools::check as check_tools;
use crate::address::Platform;
use crate::capabilities::{FAMILY, takes_prefill};
use crate::codec::{Ask, BINDING_BETA, FILES_BETA, MessagesCodec};
use crate::error::Result;
use crate::response::CONTAINER;

impl MessagesCodec {
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

fn joint(before: RoleTag, after: RoleTag) -> &'static str {
    match (before == after, after == ASSISTANT) {
        (true, _) => ",",
        (false, true) => r#"]},{"role":"assistant","content":["#,
        (false, false) => r#"]},{"role":"user","content":["#,
    }
}

fn encode(state: &mut State, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest> {
    let Ask { request, settings, codec, .. } = ask;
    let mut refusals = Refusals::new(codec.model(), settings.unsupported);
    let cites = cites(settings, codec.capabilities(), &mut refusals)?;
    messages(state, ask, cites)?;

    let mut options = options::read(ask, &mut refusals)?;
    check_ends(state, ask, &options)?;
    let forms = strict_forms(&request.tools, settings, codec.capabilities(), options.structured);
    let tools = state.written_tools.get(
        &request.tools,
        codec.capabilities(),
        forms.as_ref(),
        &mut refusals,
        |definition, refusals| tools::compile(&request.tools, definition, refusals),
        tools::write,
    )?;
    if let Some(choice) = tools::choice(ask, options.manual_thinking, &mut refusals)? {
        options.members.insert("tool_choice".to_owned(), choice);
    }
    if let Some(id) = container(&request.messages) {
        // The caller's object about it is added to the id.
        let said = settings.extra_body.get(CONTAINER);
        let value = if said.is_some_and(Value::is_object) { json!({"id": id}) } else { json!(id) };
        options.members.insert(CONTAINER.to_owned(), value);
    }
    forbid(&settings.extra_body, &["messages", "system"])?;
    let more_tools = extra_tools(&settings.extra_body)?;
    merge_members(&mut options.members, &settings.extra_body);
    options.members.shift_remove("tools");
    if codec.platform != Platform::Anthropic {
        // The address names the model, and the version stands in the body.
        options.members.shift_remove("model");
        options.members.entry("anthropic_version").or_insert_with(|| json!(codec.version));
    }

    // The caller's own markers among the tools take the place of ours there.
    let own = more_tools.iter().filter_map(|tool| tool.get("cache_control")).filter(|own| !own.is_null());
    let own: Vec<&Value> = own.collect();
    let whole = options.members.get("cache_control");
    let policy = cache_policy(request, settings, codec.capabilities(), "markers", &own, &mut refusals)?;
    let marker = match policy {
        // That of the whole request stands behind ours, and an hour may not stand behind five minutes.
        CachePolicy::Short if settings.cache.is_some() || !whole.is_some_and(keeps_an_hour) => {
            Some(r#","cache_control":{"type":"ephemeral"}"#)
        }
        CachePolicy::Short | CachePolicy::Long => Some(r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#),
        _ => None,
    };
    let system =
        system_blocks(settings, &request.messages, state.plan.leading(), r#"{"type":"text","text":"#);
    let has_tools = !tools.is_empty() || !more_tools.is_empty();
    let spent = own.len() + usize::from(whole.is_some());
    let cached_tools = has_tools && own.is_empty();
    let places = match marker {
        Some(_) => CachePlaces::place(&request.messages, &state.log, cached_tools, !system.is_empty(), spent),
        None => CachePlaces::default(),
    };
    let mark = |wanted: bool| if wanted { marker.unwrap_or_default() } else { "" };

    let mut head = head(&options.members)?;
    if has_tools {
        head.push_str(r#""tools":["#);
        list(&mut head, &tools, more_tools, mark(places.tools));
        head.push_str("],");
    }
    if !system.is_empty() {
        head.push_str(r#""system":["#);
        list(&mut head, &system, &[], mark(places.system));
        head.push_str("],");
    }
    head.push_str(r#""messages":["#);
    let markers: Vec<Marker> =
        places.messages.into_iter().map(|at| Marker::new(at, mark(true).as_bytes())).collect();
    parts.body = state.log.body(head, &b"]}"[..], &markers);
    Ok(EncodedRequest::new(parts, refusals.into_recorded()).with_strict(forms))
}

/// Plans and renders what is new of the conversation.
fn messages(state: &mut State, ask: Ask<'_>, cites: bool) -> Result<()> {
    let Ask { request, codec, .. } = ask;
    state.take_up(codec.model(), "", &request.tools);
    let messages = &request.messages;
    state.plan.extend(messages, &request.tools, codec)?;
    let plan = &state.plan;
    let ending = messages.last().filter(|message| matches!(&***message, Message::Assistant(_)));
    let renderer = Renderer {
        codec,
        tools: &request.tools,
        files: &request.files,
        cites,
        plan,
        ending: ending.map(|message| &**message),
        leading: messages.iter().take(plan.leading()).map(|message| &**message).collect(),
    };
    let last = messages.len().saturating_sub(1);
    let variant = |index: usize, message: &Message| {
        // The end of a conversation is written without white space behind it.
        let ending = u64::from(ending.is_some() && index == last) << 63;
        plan.variant(index) ^ ending ^ u64::from(cites) << 62 ^ request.files.variant(message)
    };
    state.log.sync(messages, variant, |_, message, item| renderer.message(message, item))
}

/// Holds the ends of the conversation against the rules of the API.
fn check_ends(state: &State, ask: Ask<'_>, options: &options::Options) -> Result<()> {
    let Ask { request, codec, .. } = ask;
    let invalid = |message: String| Err(invalid_history(message));
    match state.log.first_role() {
        None => return invalid("there is no message to answer".to_owned()),
        Some(ASSISTANT) => {
            return invalid(
                "the conversation begins with the assistant, it must begin with the user".to_owned(),
            );
        }
        Some(_) => {}
    }
    if state.log.last_role() != Some(ASSISTANT) {
        return Ok(());
    }
    let is_own = |part: &AssistantPart| matches!(part, AssistantPart::Opaque(part) if is_block(part));
    let paused = request.messages.iter().rev().find_map(|message| match &**message {
        Message::Assistant(message) => Some(message.parts.iter().any(is_own)),
        _ => None,
    });
    let prefill = takes_prefill(codec.capabilities()) && !options.manual_thinking && !options.structured;
    if paused == Some(true) || prefill {
        return Ok(());
    }
    invalid(format!("the conversation ends with the assistant, {} answers only the user", codec.model()))
}

/// The request that counts the tokens of another (anthropic.md 10).
pub(crate) fn count(codec: &MessagesCodec, ask: attache_transport::Ask<'_>) -> Result<CountRequest> {
    const KNOWN: [&str; 9] = [
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "cache_control",
        "anthropic_version",
    ];
    let encoded = codec.encode(ask)?;
    CountRequest::of(encoded, codec.count_url()?, "/input_tokens", |mut members| {
        members.retain(|name, _| KNOWN.contains(&name.as_str()));
        // Tools of the provider's own are not counted.
        let is_own = |tool: &Value| tool.get("type").is_none_or(|kind| kind == "custom");
        if let Some(Value::Array(tools)) = members.get_mut("tools") {
            tools.retain(is_own);
            if tools.is_empty() {
                members.shift_remove("tools");
                members.shift_remove("tool_choice");
            }
        }
        if codec.platform != Platform::Anthropic {
            members.insert("model".to_owned(), json!(codec.model()));
        }
        Value::Object(members)
    })
}

/// JSON objects `own`, joined by commas, then `more`, the last of them all with `marker`.
fn list(out: &mut String, own: &str, more: &[Value], marker: &str) {
    out.push_str(own);
    for value in more {
        if !out.ends_with('[') {
            out.push(',');
        }
        out.push_str(&value.to_string());
    }
    if !marker.is_empty() && out.ends_with('}') {
        out.pop();
        out.push_str(marker);
        out.push('}');
    }
}

/// The request without its body.
fn parts(ask: Ask<'_>) -> Result<RequestParts> {
    let parts = RequestParts::post_json(ask.codec.url(!ask.request.streaming)?, EncodedBody::default());
    let files = (!ask.request.files.is_empty()).then_some(FILES_BETA);
    let binding = ask.codec.drops_outdated_thinking().then_some(BINDING_BETA);
    addressed(ask.codec, parts, ask.settings, ask.key, files.into_iter().chain(binding))
}

/// Adds version, key, the headers of the options and flags, `flags` among them.
pub(crate) fn addressed(
    codec: &MessagesCodec,
    parts: RequestParts,
    settings: &ModelSettings,
    key: Option<&Secret>,
    flags: impl IntoIterator<Item = &'static str>,
) -> Result<RequestParts> {
    let extra = &settings.extra_headers;
    let mut parts = parts;
    if codec.platform == Platform::Anthropic {
        parts = parts.with_header(HeaderName::from_static("anthropic-version"), codec.version.as_str());
    }
    let authorised = extra.iter().any(|(name, _)| name == "authorization");
    if let Some(key) = key.filter(|key| !key.is_empty() && !authorised) {
        parts = codec.platform.authorized(parts, key);
    }
    parts = parts.with_extra_headers(extra)?;
    let mut betas = betas(&codec.betas, extra);
    for flag in flags {
        if !betas.contains(&flag) {
            betas.push(flag);
        }
    }
    if !betas.is_empty() {
        parts = parts.with_header(HeaderName::from_static("anthropic-beta"), betas.join(","));
    }
    Ok(parts)
}

/// The flags of the codec and those of the request, each once.
fn betas<'a>(own: &'a [String], extra: &'a RequestHeaders) -> Vec<&'a str> {
    let extra = extra.iter().filter(|(name, _)| *name == "anthropic-beta").map(|(_, value)| value.expose());
    let mut flags = Vec::new();
    for flag in own.iter().map(String::as_str).chain(extra).flat_map(|flags| flags.split(',')).map(str::trim)
    {
        if !flag.is_empty() && !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    flags
}
