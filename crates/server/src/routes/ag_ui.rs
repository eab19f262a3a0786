//! AG-UI: `POST /v1/ag-ui`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use super::asking::{Asking, streamed};
use super::thread::{Said, turn};
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::ag_ui::AgUi;
use crate::fault::Fault;
use crate::inbound::ag_ui::Body as Asked;
use crate::inbound::{body, tools};

pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    request: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let bytes = body::bytes(request, app.limits.body, app.limits.body_time).await?;
    let mut asked: Asked = body::json(&bytes)?;
    drop(bytes);
    let hosted = &app.hosted(asked.model())?;
    let has_tools = !asked.tools.is_empty();
    let tools = tools::tools(hosted.agent(), std::mem::take(&mut asked.tools)).await?;
    let on_disconnect = asked.on_disconnect()?.map(Into::into);
    let conversation = asked.take_conversation(principal.name(), &app.documents).await?;
    let resumed = Said::Resumed(asked.resume.take().unwrap_or_default());
    let asking =
        Asking { app: &app, principal: &principal, hosted, on_disconnect, has_tools, is_whole: false };
    let viewer = turn(&asking, &asked.thread_id, conversation, resumed, tools).await?;
    streamed(viewer, AgUi::new(asked.thread_id, asked.run_id, app.shown)).await
}
