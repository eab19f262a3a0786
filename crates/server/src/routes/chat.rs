//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;

use super::begin_run::{Place, RunRequest, fresh_id, gather, name_session, named_session, seconds, streamed};
use super::body_and_agent::{Request, read_named};
use super::json_answer::json;
use crate::address::Addresses;
use crate::app::App;
use crate::auth::Principal;
use crate::dialect::answer::PauseForm;
use crate::dialect::chat::{Chunks, Head, Wanted, Whole};
use crate::fault::Fault;
use crate::inbound::chat::Body as Asked;
use crate::inbound::known_documents::KnownDocuments;
use crate::inbound::tools;

/// The header by which a client asks for the events of the run.
const EVENTS: &str = "x-attache-events";

pub(crate) async fn completions(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Fault> {
    let Request { said: mut asked, hosted, .. } =
        read_named(&app, &principal, request, |asked: &Asked| &asked.model).await?;
    let hosted = &hosted;
    let mut extra = asked.extension();
    extra.session = named_session(&headers)?.or(extra.session);
    extra.events |= headers.get(EVENTS).is_some_and(|value| value != "0");
    let pause_form = PauseForm::of(extra.session.is_some());
    let settings = asked.settings()?;
    let tools = asked.take_tools()?;
    let has_tools = !tools.is_empty();
    let tools = tools::tools(hosted.agent(), tools).await?;
    let in_session = extra.session.is_some();
    let known = KnownDocuments::new(principal.name(), &app.documents);
    let conversation = asked.take_conversation(known, in_session).await?;
    let on_disconnect = extra.on_disconnect;
    let run_request = RunRequest {
        app: &app,
        principal: &principal,
        hosted,
        on_disconnect,
        has_tools,
        is_whole: !asked.stream,
        is_numbered: false,
    };
    let place = match &extra.session {
        Some(id) => Place::Session(run_request.session(id).await?),
        None => Place::Request(fresh_id("chatcmpl-")),
    };
    let wanted = Wanted {
        usage: asked.wants_usage(),
        events: extra.events,
        pause_form,
        shown: app.shown,
        documents: match &place {
            Place::Session(session) => Some(Addresses::new(&app.base, session.id().as_str())),
            Place::Request(_) => None,
        },
    };
    let viewer = run_request.start(&place, conversation, settings, tools).await?;
    let live = Arc::clone(viewer.live());
    let head = Head { id: &live.id, created: seconds(), model: &live.agent };
    let mut response = match asked.stream {
        true => streamed(viewer, Chunks::new(&head, wanted)).await?,
        false => {
            let mut whole = Whole::new(&wanted);
            gather(viewer, &mut whole).await;
            json(whole.finish(&head, &wanted)?)
        }
    };
    if let Place::Session(session) = &place {
        name_session(Some(session), &mut response);
    }
    Ok(response)
}
