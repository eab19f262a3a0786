//! Previews of documents: their text by pages, images of the pages of PDFs, and the places of passages on these.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;

use super::body_and_agent::Model;
use super::documents::{Outgoing, found, uploaded};
use super::json_answer::json;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::documents::sha256_of;
use crate::fault::Fault;
use crate::inbound::place::{Path, Query};
use crate::preview::{self, Place};

/// The part of the text that is asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Paged {
    page: Option<usize>,
    model: Option<String>,
}

/// The size of an image.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Sized {
    width: Option<u16>,
    model: Option<String>,
}

/// The words that are looked for on a page.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Quoted {
    text: String,
    model: Option<String>,
}

/// The longest passage that is looked for, in bytes.
const LONGEST: usize = 8 << 10;

/// The width where none is named, in pixels.
const WIDTH: u16 = 1_000;
/// The narrowest and the widest image, in pixels.
const WIDTHS: (u16, u16) = (64, 2_000);

/// The text of an upload.
pub(crate) async fn text(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
    Query(paged): Query<Paged>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let shown = of_upload(&app, &principal, &id).await?;
    text_of(shown, paged.page, &headers).await
}

/// The text of a document of a session.
pub(crate) async fn text_of_session(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path((session, id)): Path<(String, String)>,
    Query(paged): Query<Paged>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let shown = of_session(&app, &principal, paged.model, &session, &id).await?;
    text_of(shown, paged.page, &headers).await
}

/// A page of an upload.
pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path((id, page)): Path<(String, usize)>,
    Query(sized): Query<Sized>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let shown = of_upload(&app, &principal, &id).await?;
    page_of(shown, page, sized.width, &headers).await
}

/// A page of a document of a session.
pub(crate) async fn page_of_session(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path((session, id, page)): Path<(String, String, usize)>,
    Query(sized): Query<Sized>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let shown = of_session(&app, &principal, sized.model, &session, &id).await?;
    page_of(shown, page, sized.width, &headers).await
}

/// The places of a passage on a page of an upload.
pub(crate) async fn passage(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path((id, page)): Path<(String, usize)>,
    Query(quoted): Query<Quoted>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let shown = of_upload(&app, &principal, &id).await?;
    passage_of(shown, page, quoted.text, &headers).await
}

/// The places of a passage on a page of a document of a session.
pub(crate) async fn passage_of_session(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path((session, id, page)): Path<(String, String, usize)>,
    Query(quoted): Query<Quoted>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let shown = of_session(&app, &principal, quoted.model, &session, &id).await?;
    passage_of(shown, page, quoted.text, &headers).await
}

/// A document that is to be shown. Its place was had before it was read: whoever waits for one holds no document.
struct Shown {
    place: Place,
    document: Outgoing,
}

async fn of_upload(app: &App, principal: &Principal, id: &str) -> Result<Shown, Fault> {
    allow(principal, Scope::Read)?;
    let place = preview::place().await?;
    Ok(Shown { place, document: uploaded(app, principal, id).await? })
}

async fn of_session(
    app: &App,
    principal: &Principal,
    model: Option<String>,
    session: &str,
    id: &str,
) -> Result<Shown, Fault> {
    allow(principal, Scope::Read)?;
    let place = preview::place().await?;
    Ok(Shown { place, document: found(app, principal, &Model { model }, session, id).await? })
}

async fn text_of(
    Shown { place, document }: Shown,
    page: Option<usize>,
    headers: &HeaderMap,
) -> Result<Response, Fault> {
    let tag = tag(&document.sha256, &format!("text-{}", page.unwrap_or_default()));
    if let Some(known) = known(headers, &tag) {
        return Ok(known);
    }
    let body = preview::text(place, document.document.clone(), document.held(), page).await?;
    Ok((kept(&tag), json(body)).into_response())
}

async fn page_of(
    Shown { place, document }: Shown,
    page: usize,
    width: Option<u16>,
    headers: &HeaderMap,
) -> Result<Response, Fault> {
    let (least, most) = WIDTHS;
    let width = width.unwrap_or(WIDTH).clamp(least, most);
    let tag = tag(&document.sha256, &format!("page-{page}-{width}"));
    if let Some(known) = known(headers, &tag) {
        return Ok(known);
    }
    let png = preview::page(place, &document.document.clone(), document.held(), page, width).await?;
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("image/png"))];
    Ok((kept(&tag), kind, png).into_response())
}

async fn passage_of(
    Shown { place, document }: Shown,
    page: usize,
    passage: String,
    headers: &HeaderMap,
) -> Result<Response, Fault> {
    if passage.len() > LONGEST {
        return Err(Fault::invalid(format!("a passage has at most {LONGEST} bytes")));
    }
    let tag = tag(&document.sha256, &format!("passage-{page}-{}", sha256_of(passage.clone().into()).await?));
    if let Some(known) = known(headers, &tag) {
        return Ok(known);
    }
    let body = preview::passage(place, &document.document.clone(), document.held(), page, passage).await?;
    Ok((kept(&tag), json(body)).into_response())
}

/// The mark of a preview: that of the document's content, with what is shown of it.
fn tag(sha256: &str, shown: &str) -> String {
    format!("\"{sha256}-{shown}\"")
}

/// The answer to a client that has the preview already.
fn known(headers: &HeaderMap, tag: &str) -> Option<Response> {
    let given = headers.get(header::IF_NONE_MATCH)?.to_str().ok()?;
    let has = given.split(',').any(|known| known.trim().trim_start_matches("W/") == tag);
    has.then(|| (StatusCode::NOT_MODIFIED, kept(tag)).into_response())
}

/// The headers of a preview: a document never changes under its id.
fn kept(tag: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    headers
}
