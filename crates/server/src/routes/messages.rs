//! Anthropic's Messages: `POST /v1/messages`, and the count of its tokens.

use std::sync::Arc;

use attache_agent::{CountError, RunInput, SessionError};
use attache_core::Role;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::begin_run::{Place, RunRequest, fresh_id, gather, name_session, named_session, streamed};
use super::body_and_agent::{Request, read_named};
use super::json_answer::json;
use crate::app::App;
use crate::auth::Principal;
use crate::dialect::answer::PauseForm;
use crate::dialect::messages::Reply;
use crate::fault::Fault;
use crate::inbound::known_documents::KnownDocuments;
use crate::inbound::messages::Body as Asked;
use crate::inbound::tools;
use crate::json::Object;
use crate::request;

pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Fault> {
    let Request { said: mut asked, hosted, .. } =
        read_named(&app, &principal, request, |asked: &Asked| &asked.model).await?;
    let hosted = &hosted;
    asked.check()?;
    let settings = asked.settings()?;
    let tools = asked.take_tools()?;
    let has_tools = !tools.is_empty();
    let tools = tools::tools(hosted.agent(), tools).await?;
    let known = KnownDocuments::new(principal.name(), &app.documents);
    let (conversation, citable) = asked.take_conversation(known).await?;
    let on_disconnect = asked.on_disconnect();
    let run_request = RunRequest {
        app: &app,
        principal: &principal,
        hosted,
        on_disconnect,
        has_tools,
        is_whole: !asked.stream,
        is_numbered: false,
    };
    let id = fresh_id("msg_");
    let place = match named_session(&headers)? {
        Some(id) => Place::Session(run_request.session(&id).await?),
        None => Place::Request(id.clone()),
    };
    let viewer = run_request.start(&place, conversation, settings, tools).await?;
    let pause_form = PauseForm::of(viewer.live().session.is_some());
    let model = viewer.live().agent.to_string();
    let mut told = Reply::new(id, model, citable, app.shown, !asked.stream, pause_form);
    let mut response = match asked.stream {
        true => streamed(viewer, told).await?,
        false => {
            gather(viewer, &mut told).await;
            json(told.finish()?)
        }
    };
    if let Place::Session(session) = &place {
        name_session(Some(session), &mut response);
    }
    Ok(response)
}

/// Counts the tokens of a request: those of the conversation, the tools of the client and all that the agent adds itself.
pub(crate) async fn count_tokens(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Fault> {
    let Request { said: mut asked, hosted, .. } =
        read_named(&app, &principal, request, |asked: &Asked| &asked.model).await?;
    let hosted = &hosted;
    let agent = hosted.agent();
    let settings = asked.settings()?;
    let tools = tools::tools(agent, asked.take_tools()?).await?;
    let known = KnownDocuments::new(principal.name(), &app.documents);
    let (mut conversation, _) = asked.take_conversation(known).await?;
    let tools = tools.with_settings(settings).with_instructions(conversation.system.take());
    let input = match named_session(&headers)? {
        None => RunInput::new(conversation.new).with_history(conversation.history),
        // The session has the history, if it is there.
        Some(id) => match hosted.sessions.get(principal.name(), &id).await {
            Ok(session) => {
                // A run would have its own instructions in place of those of the run before.
                let history = session.history().await?;
                let history = history.into_iter().skip_while(|message| message.role() == Role::System);
                RunInput::new(conversation.new).with_history(history)
            }
            Err(SessionError::NotFound) => RunInput::new(conversation.new),
            Err(error) => return Err(error.into()),
        },
    };
    let options = tools.options(agent);
    let counted = agent.count_tokens(input.with_options(options)).await.map_err(|error| match error {
        CountError::Documents(problem) => Fault::invalid(problem).at("messages"),
        error => Fault::internal(&error),
    })?;
    let mut body = Vec::new();
    Object::begin(&mut body)
        .with("input_tokens", &counted.tokens)
        .by("attache", |out| Object::begin(out).with("estimated", &!counted.is_counted).end())
        .end();
    Ok(json(body))
}

/// The header in which clients of Anthropic look for the id of their request.
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Gives an answer the id of its request, and puts a failure into the shape that clients of Anthropic know.
pub(crate) async fn shaped(mut response: Response) -> Response {
    let id = request::id();
    if let Some(id) = id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let Some(fault) = response.extensions().get::<Fault>().cloned() else { return response };
    let (mut head, _) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut body = Vec::new();
    Object::begin(&mut body)
        .with("type", "error")
        .by("error", |out| fault.write_messages(out))
        .maybe("request_id", id.as_ref())
        .end();
    Response::from_parts(head, body.into())
}
