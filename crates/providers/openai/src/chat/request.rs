//! From a request to an HTTP request.

mod assistant;
mod history;
pub(super) mod ids;
pub(super) mod messages;
mod options;
pub(super) mod reasoning;
mod tools;

use std::sync::Arc;

use attache_core::capability::Caching;
use attache_core::{Message, ToolSet};
use attache_transport::{
    EncodedLog, EncodedRequest, Marker, RequestParts, RoleTag, StrictForms, asked, system_texts, with_kept,
    write_json,
};
use serde::Serialize;
use serde_json::Value;

use self::history::{Place, Turns};
use self::messages::Renderer;
use self::options::{Options, options};
use super::codec::Ask;
use crate::error::Result;
use crate::profile::{SystemRole, ToolSchemas};
use crate::request::head::{Form, Kept, Offered, Wanted};
use crate::request::invalid;
use crate::request::options::CACHE_KEY;
use crate::request::tools::{Written, hosted, write_hosted, written};

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);

/// [`Codec::encode`](attache_transport::Codec::encode).
///
/// # Errors
/// Also [`ErrorKind::InvalidRequest`](attache_core::ErrorKind::InvalidRequest) for a tool choice that names no tool.
pub(super) fn encode(ask: Ask<'_>) -> Result<EncodedRequest> {
    let (server, tools) = (&ask.codec.server, &ask.request.tools);
    let parts = server.envelope("chat/completions", ask.settings, ask.key)?;
    let wire_key = ["chat/", &server.profile.name, "/", &server.model].concat();
    let (fits, new) = (|kept: &Kept| kept.fits(server, tools), || Kept::new(server, tools));
    with_kept(ask.request, &wire_key, fits, new, |kept| body(kept, ask, parts))
}

fn body(kept: &mut Kept, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest> {
    let (request, server) = (ask.request, &ask.codec.server);
    kept.log.check_pairing(&request.messages)?;
    let leading = server.count_leading(&request.messages);
    // Messages are lists of parts for the sake of markers.
    let marks = server.capabilities.caching == Caching::Explicit;
    render(&mut kept.log, Renderer { server, request, marks }, leading)?;
    let hosted = hosted(&server.profile, ask.settings)?;
    let options = options(ask, &hosted, server.strict_forms(&request.tools))?;
    let Options { mut members, offered, instruction, marker, forms, degradations } = options;
    let model = server.named_model(ask.settings);
    let mut texts: Vec<&str> = system_texts(ask.settings, &request.messages, leading).collect();
    texts.extend(instruction.as_deref());
    let form = Form { offered, marker, as_item: true };
    let wanted = Wanted { model, hosted: &hosted, system: texts.join("\n\n"), form };
    let before = |form: &Form| {
        let schemas = server.profile.tool_schemas;
        before_messages(model, &request.tools, &form.offered, schemas, &hosted, forms.as_ref())
    };
    let part_end = marks.then(|| marker.unwrap_or_default());
    let cache_key = kept.renew_head(&request.tools, wanted, before, |system, head| {
        add_system(system, server.profile.system_role, part_end, head)
    })?;
    if let Some(key @ Value::Null) = members.get_mut(CACHE_KEY) {
        *key = Value::from(cache_key);
    }
    let markers = marker.map(|marker| markers(&request.messages, &kept.log, marker)).unwrap_or_default();
    parts.body = kept.body(members, &["messages"], &markers)?;
    Ok(EncodedRequest::new(parts, degradations).with_strict(forms))
}

fn render(log: &mut EncodedLog, renderer: Renderer<'_>, leading: usize) -> Result<()> {
    let messages = &renderer.request.messages;
    let turns = Turns::new(renderer, messages, leading);
    let variant = |at, message: &Message| turns.variant(at, message);
    log.sync(messages, variant, |at, message, out| {
        let written = match (message, turns.place(at)) {
            (_, Place::Nowhere) => false,
            (Message::System(system), Place::Here) => {
                renderer.system(system, renderer.server.profile.system_role.as_str(), out)
            }
            (Message::System(_) | Message::User(_), _) => {
                turns.bridge(at, out);
                renderer.user_turn(&turns.members(at), out)?
            }
            (Message::Assistant(assistant), _) => match turns.joined(at) {
                Some(joined) => renderer.assistant(&joined, out)?,
                None => renderer.assistant(assistant, out)?,
            },
            (Message::ToolResults(results), _) => match asked(messages, at) {
                Some((_, asked)) => renderer.results(results, asked, out)?,
                None => false,
            },
            _ => return Err(invalid("a message has a role that this API does not know")),
        };
        Ok(written.then_some(ROLE))
    })
}

/// Writes the instructions before the messages; as a part with `part_end` behind its text, if that is given.
pub(crate) fn add_system(
    system: &str,
    role: SystemRole,
    part_end: Option<&str>,
    head: &mut String,
) -> Result<()> {
    if system.is_empty() {
        return Ok(());
    }
    head.push_str("{\"role\":\"");
    head.push_str(role.as_str());
    head.push_str("\",\"content\":");
    head.push_str(if part_end.is_some() { "[{\"type\":\"text\",\"text\":" } else { "" });
    write_json(system, head)?;
    if let Some(part_end) = part_end {
        head.push_str(part_end);
        head.push_str("}]");
    }
    head.push('}');
    Ok(())
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

/// Model and tools, up to the bracket that opens the messages.
pub(crate) fn before_messages(
    model: &str,
    tools: &ToolSet,
    offered: &Offered,
    schemas: ToolSchemas,
    hosted: &[&Value],
    forms: Option<&StrictForms>,
) -> Result<String> {
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
        let Written { description, parameters, strict } = written(tool, schemas, forms)?;
        let function = Function { name, description: &description, parameters: &parameters, strict };
        write_json(&Tool { r#type: "function", function }, &mut head)?;
    }
    let hosted = if *offered == Offered::All { hosted } else { &[] };
    write_hosted(hosted, count == 0, &mut head);
    if count + hosted.len() > 0 {
        head.push(']');
    }
    head.push_str(",\"messages\":[");
    Ok(head)
}
