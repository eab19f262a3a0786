//! From a [`ChatRequest`] to an HTTP request.

mod messages;
mod options;

use attache_core::Message;
use attache_transport::{
    EncodedLog, EncodedRequest, RequestParts, RoleTag, asked, behind, own_system, with_kept,
};

use self::messages::Renderer;
use self::options::{Options, options};
use super::codec::{Ask, OllamaCodec};
use crate::chat::{add_system, before_messages};
use crate::error::Result;
use crate::profile::{SystemRole, ToolSchemas};
use crate::request::head::{Form, Kept, Wanted};
use crate::request::invalid;

/// Every item is a message of its own, so the roles make no difference.
const ROLE: RoleTag = RoleTag::new(0);

impl OllamaCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    pub(super) fn request(&self, ask: attache_transport::Ask<'_>) -> Result<EncodedRequest> {
        let (ask, server, tools) = (ask.of(self), &self.server, &ask.request.tools);
        let parts = server.envelope("api/chat", ask.settings, ask.key)?;
        let (fits, new) = (|kept: &Kept| kept.fits(server, tools), || Kept::new(server, tools));
        with_kept(ask.request, &server.model_id(), fits, new, |kept| body(kept, ask, parts))
    }
}

fn body(kept: &mut Kept, ask: Ask<'_>, mut parts: RequestParts) -> Result<EncodedRequest> {
    let (server, request) = (&ask.codec.server, ask.request);
    kept.log.check_pairing(&request.messages)?;
    render(&mut kept.log, Renderer { capabilities: &server.capabilities, tools: &request.tools }, ask)?;
    let Options { members, offered, degradations } = options(ask)?;
    let model = server.named_model(ask.settings);
    let system = own_system(ask.settings).unwrap_or_default().to_owned();
    let form = Form { offered, marker: None, as_item: true };
    let before =
        |form: &Form| before_messages(model, &request.tools, &form.offered, ToolSchemas::AsGiven, &[], None);
    kept.renew_head(&request.tools, Wanted { model, hosted: &[], system, form }, before, |system, head| {
        add_system(system, SystemRole::System, None, head)
    })?;
    parts.body = kept.body(members, &["messages", "tools"], &[])?;
    Ok(EncodedRequest::new(parts, degradations))
}

fn render(log: &mut EncodedLog, renderer: Renderer<'_>, ask: Ask<'_>) -> Result<()> {
    let messages = &ask.request.messages;
    // Results name the calls before them.
    let variant = |at: usize, message: &Message| match message {
        Message::ToolResults(_) => behind(messages, at),
        _ => 0,
    };
    log.sync(messages, variant, |at, message, out| {
        let written = match message {
            Message::System(system) => renderer.system(system, out),
            Message::User(user) => renderer.user(user, out)?,
            Message::Assistant(assistant) => renderer.assistant(assistant, out)?,
            Message::ToolResults(results) => match asked(messages, at) {
                Some((_, asked)) => renderer.results(results, asked, out)?,
                None => false,
            },
            _ => return Err(invalid("a message has a role that this API does not know")),
        };
        Ok(written.then_some(ROLE))
    })
}
