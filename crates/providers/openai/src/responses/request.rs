//! From a request to an HTTP request.

mod assistant;
mod ids;
mod messages;
mod options;
mod tools;

use std::hash::{DefaultHasher, Hash, Hasher};

use attache_core::{Message, ResponseFormat, ToolSet};
use attache_transport::{
    EncodedRequest, RequestParts, RoleTag, StrictForms, asked, behind, system_texts, with_kept, write_json,
};
use serde::Serialize;
use serde_json::Value;

use self::ids::WireIds;
use self::messages::Renderer;
use self::options::{is_stored, options};
use super::codec::Ask;
use crate::error::Result;
use crate::profile::{Profile, SystemPlace, SystemRole};
use crate::request::head::{Form, Kept, Offered, Wanted};
use crate::request::invalid;
use crate::request::tools::{hosted, write_hosted, written};

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
pub(super) fn encode(ask: Ask<'_>) -> Result<EncodedRequest> {
    let (server, tools) = (&ask.codec.server, &ask.request.tools);
    let parts = server.envelope("responses", ask.settings, ask.key)?;
    let wire_key = ["responses/", &server.profile.name, "/", &server.model].concat();
    let stored = is_stored(&server.profile, ask.settings);
    let fits = |state: &State| state.kept.fits(server, tools) && state.stored == stored;
    let new = || State { kept: Kept::new(server, tools), stored, ids: WireIds::default() };
    with_kept(ask.request, &wire_key, fits, new, |state| state.body(ask, parts))
}

impl State {
    fn body(&mut self, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest> {
        let (request, server) = (ask.request, &ask.codec.server);
        self.kept.log.check_pairing(&request.messages)?;
        let leading = server.count_leading(&request.messages);
        self.render(ask, leading)?;
        let hosted = hosted(&server.profile, ask.settings)?;
        // An answer of JSON without a schema is given only if an item asks for it, and `instructions` are none.
        // (openai.md A.4)
        let as_item = !server.profile.responses.instructions
            || matches!(ask.settings.response_format, Some(ResponseFormat::JsonObject));
        let mut forms = server.strict_forms(&request.tools);
        let model = server.named_model(ask.settings);
        let texts: Vec<&str> = system_texts(ask.settings, &request.messages, leading).collect();
        let form = Form { offered: Offered::All, marker: None, as_item };
        let wanted = Wanted { model, hosted: &hosted, system: texts.join("\n\n"), form };
        let before =
            |_: &Form| model_and_tools(&server.profile, model, &request.tools, &hosted, forms.as_ref());
        let cache_key = self.kept.renew_head(&request.tools, wanted, before, |system, head| {
            add_system(system, as_item.then_some(server.profile.system_role), head)
        })?;
        let options = options(ask, &hosted, forms.as_ref(), cache_key)?;
        if options.strict_answer {
            forms = Some(StrictForms::with_answer(forms, server.profile.tool_schemas.subset()));
        }
        parts.body = self.kept.body(options.members, &["input", "instructions"], &[])?;
        Ok(EncodedRequest::new(parts, options.degradations).with_strict(forms))
    }

    fn render(&mut self, ask: Ask<'_>, leading: usize) -> Result<()> {
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
        let renderer = Renderer { server: &ask.codec.server, request, stored: self.stored };
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

/// Writes the instructions and opens the items; as the first of these where they have a role.
fn add_system(system: &str, role: Option<SystemRole>, head: &mut String) -> Result<()> {
    if let Some(role) = role.filter(|_| !system.is_empty()) {
        head.push_str(",\"input\":[{\"type\":\"message\",\"role\":\"");
        head.push_str(role.as_str());
        head.push_str("\",\"content\":");
        write_json(system, head)?;
        head.push('}');
        return Ok(());
    }
    if !system.is_empty() {
        head.push_str(",\"instructions\":");
        write_json(system, head)?;
    }
    head.push_str(",\"input\":[");
    Ok(())
}

fn model_and_tools(
    profile: &Profile,
    model: &str,
    tools: &ToolSet,
    hosted: &[&Value],
    forms: Option<&StrictForms>,
) -> Result<String> {
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
        let tool = written(tool, profile.tool_schemas, forms)?;
        let (description, parameters) = (tool.description.as_str(), &*tool.parameters);
        let strict = (tool.strict || explicit).then_some(tool.strict);
        write_json(&Tool { r#type: "function", name, description, parameters, strict }, &mut head)?;
    }
    write_hosted(hosted, tools.is_empty(), &mut head);
    if !tools.is_empty() || !hosted.is_empty() {
        head.push(']');
    }
    Ok(head)
}
