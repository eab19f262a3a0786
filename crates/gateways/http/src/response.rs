//! Answers as results of a tool.

use attache_core::{Document, MediaKind, MediaType};
use attache_transport::{named_file, redact_texts, said_media_type};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::request::Secrets;
use crate::send::Answered;
use crate::write::is_json;

/// Longer texts become documents, which a model reads piece by piece.
const LONGEST_TEXT: usize = 256 << 10;

/// The maximum number of characters that the model reads of the body of an error.
const SHOWN_OF_ERROR: usize = 4 << 10;

/// The answer of an endpoint: JSON, a text, or a document.
#[derive(Clone, Debug)]
pub struct HttpOutput {
    status: StatusCode,
    content: Content,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Content {
    Value(Value),
    Document(Document),
}

/// As the model reads it.
impl Serialize for HttpOutput {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.content.serialize(serializer)
    }
}

impl HttpOutput {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// True if the status says that the call failed.
    pub fn is_error(&self) -> bool {
        !self.status.is_success()
    }

    /// A success whose answer is not shown, with the reason.
    pub(crate) fn unshown(status: StatusCode, why: &str) -> Self {
        let reason = status.canonical_reason().unwrap_or_default();
        let note = format!("the service did what was asked, so it is not to be called again for it; {why}");
        Self {
            status,
            content: Content::Value(json!({"status": status.as_u16(), "reason": reason, "note": note})),
        }
    }

    /// Reads an answer. `name` names a document whose server does not.
    pub(crate) fn read(answered: Answered, secrets: &Secrets, name: &str) -> Self {
        let status = answered.status;
        if !status.is_success() {
            return Self { status, content: Content::Value(failure(&answered, secrets)) };
        }
        if answered.body.is_empty() {
            let reason = status.canonical_reason().unwrap_or_default();
            return Self {
                status,
                content: Content::Value(json!({"status": status.as_u16(), "reason": reason})),
            };
        }
        Self { status, content: content(answered, secrets, name) }
    }
}

fn content(answered: Answered, secrets: &Secrets, name: &str) -> Content {
    let declared =
        answered.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let file_name = named_file(&answered.headers).map(|name| secrets.redact(&name).into_owned());
    let is_attached = answered.headers.get(CONTENT_DISPOSITION).is_some_and(|value| {
        let kind = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"attachment")
    });
    let body = answered.body;
    // A server that says JSON and sends a PDF sent a PDF.
    let text = std::str::from_utf8(&body).ok().filter(|text| !text.contains('\0'));
    let text = text.map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
    let media = MediaType::resolve(Some(declared), Some(&body), file_name.as_deref());
    // Its letters may be a file's that says JSON and is none.
    let sniffed = MediaType::sniff(&body).filter(|seen| seen.kind() != MediaKind::Text);
    let mistaken = is_json(declared) && sniffed.is_some();
    let is_text = media.kind() == MediaKind::Text && media.essence() != "image/svg+xml" && !mistaken;
    if let Some(text) = text.filter(|_| is_text && !is_attached && body.len() <= LONGEST_TEXT) {
        let claims_json = is_json(declared) || declared.is_empty() || looks_like_json(text, &media);
        if claims_json && let Ok(mut value) = serde_json::from_str::<Value>(text) {
            if !secrets.is_empty() {
                secrets.redact_value(&mut value);
            }
            return Content::Value(value);
        }
        return Content::Value(Value::String(secrets.redact(text).into_owned()));
    }
    let body = if is_text { redact_texts(body, |text| secrets.redact(text)) } else { body };
    let said = said_media_type(&answered.headers).map(|media| media.to_string()).unwrap_or_default();
    let document = Document::from_bytes(body, if mistaken { "" } else { &said });
    let file_name = file_name.or_else(|| last_step(&answered.url)).unwrap_or_else(|| {
        let extension = document.media_type().extension();
        extension.map_or_else(|| name.to_owned(), |extension| format!("{name}.{extension}"))
    });
    Content::Document(document.with_file_name(file_name))
}

/// Unknown text that is JSON.
fn looks_like_json(text: &str, media: &MediaType) -> bool {
    media.essence() == "text/plain" && text.trim_start().starts_with(['{', '['])
}

/// The end of an address, if it names a file by its extension; it may be a token otherwise.
fn last_step(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next()?.split_once("://")?.1;
    let (_, last) = path.rsplit_once('/')?;
    let name = String::from_utf8(attache_transport::percent_decoded(last)).ok()?;
    let is_name = MediaType::from_file_name(&name).is_some() && !name.contains(['/', '\\']);
    (is_name && !name.chars().any(char::is_control)).then_some(name)
}

/// The observation of an answer that is no success. The body may hold anything.
fn failure(answered: &Answered, secrets: &Secrets) -> Value {
    let status = answered.status;
    let mut error = Map::new();
    error.insert("status".to_owned(), json!(status.as_u16()));
    let reason = status.canonical_reason().unwrap_or("unknown");
    error.insert("reason".to_owned(), json!(reason));
    if status.is_redirection() {
        let message = "the service leads elsewhere, which is not followed";
        error.insert("message".to_owned(), json!(message));
    } else if let Some(body) = told(answered, secrets) {
        error.insert("body".to_owned(), body);
    }
    if let Some(wait) = answered.headers.get(http::header::RETRY_AFTER).and_then(|wait| wait.to_str().ok()) {
        let shown: String = wait.chars().take(40).collect();
        error.insert("retryAfter".to_owned(), json!(shown));
    }
    json!({"error": error})
}

fn told(answered: &Answered, secrets: &Secrets) -> Option<Value> {
    let declared =
        answered.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = MediaType::resolve(Some(declared), Some(&answered.body), None);
    if answered.body.is_empty() {
        return None;
    }
    let is_text = media.kind() == MediaKind::Text
        || media == MediaType::octet_stream() && std::str::from_utf8(&answered.body).is_ok();
    if !is_text {
        return Some(json!(format!("{} bytes of {}", answered.body.len(), media.essence())));
    }
    let whole = !answered.is_cut && answered.body.len() <= SHOWN_OF_ERROR;
    if whole && let Ok(mut value) = serde_json::from_slice::<Value>(&answered.body) {
        secrets.redact_value(&mut value);
        return Some(value);
    }
    let text = String::from_utf8_lossy(&answered.body);
    // A text of UTF-16 has a zero between its letters, so a secret is whole without these. It is looked for before the text
    // is cut: half a secret is no secret to a search.
    let shown: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let shown = secrets.redact(&shown).into_owned();
    let text = if media.essence() == "text/html" { page_title(&shown) } else { shown };
    let cut: String = text.trim().chars().take(SHOWN_OF_ERROR).collect();
    let is_cut = answered.is_cut || cut.len() < text.trim().len();
    Some(Value::String(if is_cut { format!("{cut}… (cut)") } else { cut }))
}

/// A web page says in its title what went wrong.
fn page_title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| {
        let open = start + lower.get(start..)?.find('>')? + 1;
        let end = open + lower.get(open..)?.find("</title")?;
        page.get(open..end)
    });
    match title {
        Some(title) => format!("a web page: {}", title.trim()),
        None => "a web page".to_owned(),
    }
}
