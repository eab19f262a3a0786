//! Documents: uploads, and those of sessions.

use std::ops::RangeInclusive;
use std::sync::Arc;

use attache_agent::bodies::{BodyError, BodyRoom};
use attache_core::hash::hex;
use attache_core::{Document, DocumentSource};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;

use super::body_and_agent::Model;
use super::json_answer::json;
use crate::address::encoded;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::documents::{content, document_of_session, sha256_of};
use crate::fault::Fault;
use crate::inbound::body;
use crate::inbound::place::{Path, Query};
use crate::json::Object;

/// The facts that an upload's body does not tell.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Named {
    name: Option<String>,
}

/// Takes a document: the body is its bytes.
pub(crate) async fn upload(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(Named { name }): Query<Named>,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let bytes = body::bytes(&app.bodies, &principal, request, app.limits.upload).await?;
    if bytes.is_empty() {
        return Err(Fault::invalid("the document is empty"));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // A program that sends a file says what forms send.
    let kind = if kind == "application/x-www-form-urlencoded" { "" } else { kind };
    if kind.starts_with("multipart/form-data") {
        let message = "the body is the document itself, with its type and `?name=`: a form would be kept as it is written";
        return Err(Fault::invalid(message));
    }
    let (document, sha256) = app.documents.put(principal.name(), bytes.clone(), kind, name).await?;
    let mut body = Vec::new();
    Object::begin(&mut body)
        .with("id", document.id())
        .with("mediaType", document.media_type().essence())
        .maybe("fileName", document.file_name())
        .with("size", &document.size())
        .with("sha256", &sha256)
        .end();
    Ok((StatusCode::CREATED, json(body)).into_response())
}

/// An upload.
pub(crate) async fn download(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    Ok(answer(uploaded(&app, &principal, &id).await?, &principal, &headers))
}

/// A document with its bytes, and the room that they take until the last of them is sent.
pub(super) struct Outgoing {
    pub(super) document: Document,
    bytes: Bytes,
    room: BodyRoom,
    /// The SHA-256 of the bytes in hexadecimal digits.
    pub(super) sha256: String,
}

impl Outgoing {
    /// The bytes with their room.
    pub(super) fn held(self) -> Bytes {
        Bytes::from_owner(Held { bytes: self.bytes, _room: self.room })
    }

    /// Leaves a part of the bytes alone. A large document is not kept for a small one.
    fn cut(&mut self, principal: &Principal, part: RangeInclusive<usize>) {
        let part = self.bytes.slice(part);
        if part.len() > self.bytes.len() / 2 {
            self.bytes = part;
            return;
        }
        self.bytes = Bytes::copy_from_slice(&part);
        // It is less than before.
        let _ = self.room.hold(principal.name(), self.bytes.len());
    }
}

/// Bytes that keep their room.
struct Held {
    bytes: Bytes,
    _room: BodyRoom,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a document into its room, which is taken before as far as its size is known.
async fn outgoing(
    app: &App,
    principal: &Principal,
    size: Option<u64>,
    sha256: Option<String>,
    read: impl Future<Output = Result<(Document, Bytes), Fault>>,
) -> Result<Outgoing, Fault> {
    let crowded = |error: BodyError| Fault::crowded_out(error.retry_after());
    let size = size.map_or(0, |size| usize::try_from(size).unwrap_or(usize::MAX));
    let mut room = app.outgoing.take(principal.name(), size).map_err(crowded)?;
    let (document, bytes) = read.await?;
    room.hold(principal.name(), bytes.len()).map_err(crowded)?;
    let sha256 = match sha256 {
        Some(known) => known,
        None => sha256_of(bytes.clone()).await?,
    };
    Ok(Outgoing { document, bytes, room, sha256 })
}

/// An upload with its bytes.
pub(super) async fn uploaded(app: &App, principal: &Principal, id: &str) -> Result<Outgoing, Fault> {
    let upload = app.documents.find(principal.name(), id).await?;
    let (size, sha256) = (upload.size(), upload.sha256().map(str::to_owned));
    outgoing(app, principal, size, sha256, app.documents.read(upload)).await
}

pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    app.documents.delete(principal.name(), &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A document of a conversation, whoever brought it: the user, a tool, the model.
pub(crate) async fn of_session(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path((session, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    Ok(answer(found(&app, &principal, &model, &session, &id).await?, &principal, &headers))
}

/// A document that a conversation shows, with its bytes.
pub(super) async fn found(
    app: &App,
    principal: &Principal,
    model: &Model,
    session: &str,
    id: &str,
) -> Result<Outgoing, Fault> {
    let hosted = &app.hosted(model.model.as_deref())?;
    let session = hosted.sessions.get(principal.name(), session).await?;
    let found = document_of_session(&session, id, app.shown.details).await?;
    let document = found.ok_or_else(|| Fault::not_found("document"))?;
    let store = hosted.agent().store();
    // The bytes of the store are compared with that.
    let known = matches!(document.source(), DocumentSource::Stored).then(|| document.hash()).flatten();
    outgoing(app, principal, document.size(), known.map(|hash| hex(&hash)), async {
        let bytes = content(&*store, &document).await?;
        Ok((document, bytes))
    })
    .await
}

/// The media types that a browser may show by itself: they hold no script.
const SHOWN: [&str; 7] =
    ["application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp", "text/csv", "text/plain"];

/// The bytes, or the part of them that is asked for. (RFC 9110, sections 13 and 14)
fn answer(mut outgoing: Outgoing, principal: &Principal, asked: &HeaderMap) -> Response {
    let (tag, length) = (format!("\"{}\"", outgoing.sha256), outgoing.bytes.len());
    let document = &outgoing.document;
    let mut headers = HeaderMap::new();
    let essence = document.media_type().essence();
    let is_shown = SHOWN.contains(&essence);
    let kind = match document.media_type().to_string() {
        kind if is_shown => kind,
        _ => "application/octet-stream".to_owned(),
    };
    let text = |text: &str| HeaderValue::from_str(text).ok();
    let fields = [
        (header::CONTENT_TYPE, text(&kind)),
        (header::ETAG, text(&tag)),
        (header::ACCEPT_RANGES, text("bytes")),
        (header::CACHE_CONTROL, text("private, no-cache")),
        (header::CONTENT_SECURITY_POLICY, text("sandbox; default-src 'none'; frame-ancestors 'self'")),
        (header::CONTENT_DISPOSITION, text(&disposition(document.file_name(), is_shown))),
    ];
    headers.extend(fields.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let given = |name| asked.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let is_known = |tags: &str| tags.split(',').any(|known| known.trim().trim_start_matches("W/") == tag);
    if given(header::IF_NONE_MATCH).is_some_and(|tags| tags.trim() == "*" || is_known(tags)) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    let range = given(header::RANGE).filter(|_| given(header::IF_RANGE).is_none_or(|known| known == tag));
    match range.map(|range| part(range, length)) {
        None | Some(Wanted::Whole) => (headers, outgoing.held()).into_response(),
        Some(Wanted::Part(first, last)) => {
            let told = format!("bytes {first}-{last}/{length}");
            headers.extend(text(&told).map(|told| (header::CONTENT_RANGE, told)));
            outgoing.cut(principal, first..=last);
            (StatusCode::PARTIAL_CONTENT, headers, outgoing.held()).into_response()
        }
        Some(Wanted::Nothing) => {
            let told = format!("bytes */{length}");
            headers.extend(text(&told).map(|told| (header::CONTENT_RANGE, told)));
            (StatusCode::RANGE_NOT_SATISFIABLE, headers).into_response()
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    /// From one byte to another, both included.
    Part(usize, usize),
    Nothing,
}

/// The part of `length` bytes that a header asks for. Several parts, and what is no range, count as the whole.
fn part(range: &str, length: usize) -> Wanted {
    let Some(range) = range.trim().strip_prefix("bytes=").filter(|range| !range.contains(',')) else {
        return Wanted::Whole;
    };
    let Some((first, last)) = range.trim().split_once('-') else { return Wanted::Whole };
    let number = |text: &str| -> Option<Option<usize>> {
        match text {
            "" => Some(None),
            text if text.bytes().all(|digit| digit.is_ascii_digit()) => {
                Some(Some(text.parse().unwrap_or(usize::MAX)))
            }
            _ => None,
        }
    };
    let (Some(first), Some(last)) = (number(first), number(last)) else { return Wanted::Whole };
    match (first, last) {
        (None, None) => Wanted::Whole,
        (Some(first), Some(last)) if last < first => Wanted::Whole,
        (None, Some(0)) => Wanted::Nothing,
        (None, Some(count)) if length > 0 => Wanted::Part(length.saturating_sub(count), length - 1),
        (Some(first), last) if first < length => {
            Wanted::Part(first, last.map_or(length - 1, |last| last.min(length - 1)))
        }
        _ => Wanted::Nothing,
    }
}

/// The way in which a browser shows it, and the name under which it keeps it. (RFC 6266)
fn disposition(name: Option<&str>, is_shown: bool) -> String {
    let kind = if is_shown { "inline" } else { "attachment" };
    let Some(name) = name else { return kind.to_owned() };
    let plain: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    format!("{kind}; filename=\"{plain}\"; filename*=UTF-8''{}", encoded(name))
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || " .-_()".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    // https://www.rfc-editor.org/rfc/rfc9110#name-range
    #[test]
    fn ranges_are_parts_of_what_there_is() {
        for (range, wanted) in [
            ("bytes=0-3", Wanted::Part(0, 3)),
            ("bytes=5-", Wanted::Part(5, 9)),
            ("bytes=-4", Wanted::Part(6, 9)),
            ("bytes=-40", Wanted::Part(0, 9)),
            ("bytes=8-99999999999999999999999", Wanted::Part(8, 9)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=3-2", Wanted::Whole),
            ("bytes=0-1,4-5", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("items=0-1", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
        ] {
            assert_eq!(part(range, 10), wanted, "{range}");
        }
        assert_eq!(part("bytes=0-0", 0), Wanted::Nothing);
        assert_eq!(part("bytes=-1", 0), Wanted::Nothing);
    }

    #[test]
    fn a_name_breaks_no_header() {
        let named = disposition(Some("a\"b\r\nSet-Cookie: é.pdf"), true);
        assert_eq!(
            named,
            "inline; filename=\"a_b__Set-Cookie_ _.pdf\"; filename*=UTF-8''a%22b%0D%0ASet-Cookie%3A%20%C3%A9.pdf"
        );
    }
}
