//! From a request to an HTTP request.

use std::sync::Arc;

use attache_core::capability::Caching;
use attache_core::{Message, ProviderError, ToolSet};
use attache_transport::{
    EncodedLog, EncodedRequest, Marker, RequestParts, RoleTag, StrictForms, asked, check_pairing, forbid,
    system_texts, tail, with_kept, write_json,
};
use serde::Serialize;
use serde_json::Value;

use super::ask::Ask;
use super::messages::Renderer;
use super::options::{Offered, Options, options};
use super::turns::{Place, Turns};
use crate::head::{Head, Kept};
use crate::options::CACHE_KEY;
use crate::profile::ToolSchemas;
use crate::render::invalid;
use crate::tools::{self, Written};

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);

/// The state of a conversation that is kept between its requests.
#[derive(Debug)]
struct State {
    kept: Kept,
    /// The other things on which the head depends.
    offered: Offered,
    marker: Option<&'static str>,
}

/// [`Codec::encode`](attache_transport::Codec::encode).
///
/// # Errors
/// Also [`ErrorKind::InvalidRequest`](attache_core::ErrorKind::InvalidRequest) for a tool choice that names no tool.
pub(super) fn encode(ask: Ask<'_>) -> Result<EncodedRequest, ProviderError> {
    let (server, tools) = (&ask.codec.server, &ask.request.tools);
    let parts = server.envelope("chat/completions", ask.settings, ask.key)?;
    check_pairing(&ask.request.messages)?;
    let wire_key = format!("chat/{}", server.model_id());
    let fits = |state: &State| state.kept.fits(server, tools);
    let new = || State { kept: Kept::new(server, tools), offered: Offered::All, marker: None };
    with_kept(ask.request, &wire_key, fits, new, |state| state.body(ask, parts))
}

impl State {
    fn body(&mut self, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest, ProviderError> {
        let (request, server) = (ask.request, &ask.codec.server);
        let leading = server.count_leading(&request.messages);
        self.render(ask, leading)?;
        let has_items = self.kept.log.first_role().is_some();
        let hosted = tools::hosted(&server.profile, ask.settings)?;
        let mut options = options(ask, &hosted, server.strict_forms(&request.tools))?;
        let is_known = self.offered == options.offered && self.marker == options.marker;
        (self.offered, self.marker) = (options.offered.clone(), options.marker);
        let known = self.kept.known_head(&request.tools, &hosted).filter(|_| is_known);
        let head = self.kept.head.insert(head(ask, known, leading, &options, &hosted)?);
        if head.system.is_empty() && !has_items {
            return Err(invalid("there is no message to send"));
        }
        options.members.remove("model");
        if let Some(key @ Value::Null) = options.members.get_mut(CACHE_KEY) {
            *key = Value::from(head.cache_key.as_str());
        }
        forbid(&options.members, &["messages"])?;
        let tail = tail(&options.members)?;
        let markers = options.marker.map(|marker| markers(&request.messages, &self.kept.log, marker));
        let markers = markers.unwrap_or_default();
        parts.body = self.kept.log.body(head.bytes(has_items), tail, &markers);
        Ok(EncodedRequest::new(parts, options.degradations).with_strict(options.forms))
    }

    fn render(&mut self, ask: Ask<'_>, leading: usize) -> Result<(), ProviderError> {
        let (request, renderer) = (ask.request, renderer(ask));
        let turns = Turns::new(renderer, &request.messages, leading);
        self.kept.log.sync(
            &request.messages,
            |at, _| turns.variant(at) ^ turns.files_variant(at),
            |at, message, out| {
                let written = match (message, turns.place(at)) {
                    (_, Place::Nowhere) => false,
                    (Message::System(system), Place::Here) => {
                        renderer.system(system, renderer.profile.system_role.as_str(), out)
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
}

/// The members before the items, out of the state of before if that still holds.
fn head(
    ask: Ask<'_>,
    known: Option<Head>,
    leading: usize,
    options: &Options,
    hosted: &[&Value],
) -> Result<Head, ProviderError> {
    let (tools, server) = (&ask.request.tools, &ask.codec.server);
    let model = server.named_model(ask.settings);
    let mut texts: Vec<&str> = system_texts(ask.settings, &ask.request.messages, leading).collect();
    texts.extend(options.instruction.as_deref());
    let system = texts.join("\n\n");
    let before = match known.filter(|head| head.model == model) {
        Some(head) if head.system == system => return Ok(head),
        Some(head) => head.before,
        None => {
            let (schemas, forms) = (server.profile.tool_schemas, options.forms.as_ref());
            before_messages(model, tools, &options.offered, schemas, hosted, forms)?
        }
    };
    let mut alone = before.clone();
    if !system.is_empty() {
        let renderer = renderer(ask);
        alone.push_str("{\"role\":\"");
        alone.push_str(renderer.profile.system_role.as_str());
        alone.push_str(if renderer.marks {
            r#"","content":[{"type":"text","text":"#
        } else {
            r#"","content":"#
        });
        write_json(&system, &mut alone)?;
        if renderer.marks {
            alone.push_str(options.marker.unwrap_or_default());
            alone.push_str("}]");
        }
        alone.push('}');
    }
    let ends_in_item = !system.is_empty();
    Ok(Head::new(model, hosted, system, before, alone, ends_in_item))
}

fn renderer<'a>(ask: Ask<'a>) -> Renderer<'a> {
    let server = &ask.codec.server;
    Renderer {
        profile: &server.profile,
        model: &server.model,
        capabilities: &server.capabilities,
        tools: &ask.request.tools,
        files: &ask.request.files,
        // Messages are lists of parts for the sake of markers.
        marks: server.capabilities.caching == Caching::Explicit,
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
