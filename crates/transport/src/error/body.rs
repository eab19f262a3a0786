//! The shapes of error objects.

use attache_core::{ErrorKind, ProviderError};
use serde_json::{Map, Value};

use super::{kind_of_code, kind_of_status, shortened, tells_of_full_window};

/// The facts of an error object in JSON, however it is shaped: `{"error":{…}}`, `{"error":"…"}`, flat members,
/// `detail` lists, `base_resp`. (openai.md 0.3, D 28, anthropic.md 11)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorBody {
    /// The text for people.
    pub message: Option<String>,
    /// The provider's type of the error.
    pub error_type: Option<String>,
    /// The provider's code, numbers as text.
    pub code: Option<String>,
    /// The request field that the provider objects to.
    pub param: Option<String>,
    /// The provider's id of the request, where the body has one.
    pub request_id: Option<String>,
    /// The message of the server behind the one that tells of the error, which is a part of `message`, too.
    inner: Option<String>,
    /// The router's own word for the error, which is the same in all of its APIs and says more than code and type.
    /// (openai.md C.9)
    canonical: Option<String>,
}

impl ErrorBody {
    /// Reads JSON that is known to be an error, whether a whole body or the data of an event. `None` if it holds
    /// none of the shapes.
    pub fn parse(json: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(json).ok()?;
        let object = object(&value)?;
        let mut body = Self::read(object)?;
        body.request_id = text(object, "request_id");
        Some(body)
    }

    /// In order: `error` as object or text, `response.error`, `message`, `detail`, `base_resp`.
    fn read(object: &Map<String, Value>) -> Option<Self> {
        let holders = [Some(object), object.get("response").and_then(Value::as_object)];
        let mut errors = holders.into_iter().flatten();
        match errors.find_map(|holder| Some((holder, present(holder.get("error"))?))) {
            Some((holder, Value::Object(error))) => {
                let mut body = Self::of_fields(error);
                body.canonical = body.canonical.or_else(|| text(holder, CANONICAL));
                return Some(body);
            }
            Some((_, Value::String(message))) => {
                // Codes may stand beside it, or what the word of an OAuth server means (RFC 6749, section 5.2).
                let message = match text(object, "error_description") {
                    Some(description) => format!("{message}: {description}"),
                    None => message.clone(),
                };
                return Some(Self { message: Some(message), ..Self::of_fields(object) });
            }
            _ => {}
        }
        if let Some(Value::Object(inner)) = object.get("message") {
            return Some(Self::of_fields(inner));
        }
        let flat = Self::of_fields(object);
        if flat.message.is_some() {
            return Some(flat);
        }
        if let Some(message) = object.get("detail").and_then(detail) {
            return Some(Self { message: Some(message), ..flat });
        }
        let base = object.get("base_resp")?.as_object()?;
        Some(Self { message: text(base, "status_msg"), code: text(base, "status_code"), ..Self::default() })
    }

    fn of_fields(error: &Map<String, Value>) -> Self {
        let details = error.get("details").and_then(Value::as_object);
        let metadata = error.get("metadata").and_then(Value::as_object);
        let inner = metadata.and_then(|metadata| Self::of_upstream(metadata.get("raw")?));
        let inner = inner.unwrap_or_default();
        let message = match (text(error, "message"), &inner.message) {
            (Some(message), Some(inner)) if !message.contains(inner) => Some(format!("{message}: {inner}")),
            (message, inner) => message.or_else(|| inner.clone()),
        };
        // Codes in numbers are statuses, of which the outer one counts.
        let inner_code = inner.code.filter(|code| code.parse::<u64>().is_err());
        Self {
            message,
            error_type: text(error, "type").or(inner_code).or(inner.error_type),
            code: text(error, "code").or_else(|| text(details?, "error_code")),
            param: text(error, "param").or(inner.param),
            request_id: None,
            inner: inner.message,
            canonical: metadata.and_then(|metadata| text(metadata, CANONICAL)),
        }
    }

    /// The error of the server behind a router: an object, JSON as text, or a plain text. (openai.md C.9)
    fn of_upstream(raw: &Value) -> Option<Self> {
        match raw {
            Value::String(raw) => {
                let json = serde_json::from_str::<Value>(raw).ok();
                let read = json.as_ref().and_then(|json| Self::read(object(json)?));
                read.or_else(|| Some(Self { message: Some(raw.trim().to_owned()), ..Self::default() }))
            }
            raw => Self::read(object(raw)?),
        }
        .filter(|inner| inner.message.as_ref().is_some_and(|message| !message.is_empty()))
    }

    /// The kind of error, from code, type and message; `None` if they tell nothing.
    pub fn kind(&self) -> Option<ErrorKind> {
        self.kind_under(self.status())
    }

    /// The same in a response with that status. Words tell of a full window, but a limit that code or status name may
    /// be told in the same words.
    pub(super) fn kind_under(&self, status: Option<u16>) -> Option<ErrorKind> {
        let canonical = self.canonical.as_deref();
        let mut words = [&self.code, &self.error_type].into_iter().flatten();
        let by_code = canonical.and_then(kind_of_canonical);
        let by_code = by_code.or_else(|| words.find_map(|word| kind_of_code(word)));
        let is_limit = status == Some(429)
            || canonical == Some(ANSWER_TOO_LONG)
            || matches!(by_code, Some(ErrorKind::RateLimited | ErrorKind::QuotaExceeded));
        let message = self.inner.as_deref().or(self.message.as_deref());
        let is_full = !is_limit && message.is_some_and(tells_of_full_window);
        if is_full { Some(ErrorKind::ContextTooLong) } else { by_code }
    }

    /// A code that is an HTTP status.
    fn status(&self) -> Option<u16> {
        let code = self.code.as_ref().and_then(|code| code.parse::<u16>().ok());
        code.filter(|status| (400..600).contains(status))
    }

    /// An error inside a reply under status 200: the kind by [`kind`](Self::kind), or that of a numeric code read
    /// as an HTTP status, or [`ErrorKind::Api`].
    pub fn to_error(&self) -> ProviderError {
        let by_status = self.status().map(kind_of_status);
        let is_invalid = self.error_type.as_deref() == Some("invalid_request_error");
        let kind = self.kind().or(by_status).unwrap_or(match is_invalid {
            true => ErrorKind::InvalidRequest,
            false => ErrorKind::Api,
        });
        let message = self.message.as_deref().map(shortened).filter(|message| !message.is_empty());
        ProviderError::new(kind, message.unwrap_or_else(|| "the provider reported an error".to_owned()))
            .with_code(self.code.clone().or_else(|| self.error_type.clone()))
            .with_param(self.param.clone())
            .with_request_id(self.request_id.clone())
    }
}

/// The member that holds a router's own word for an error.
const CANONICAL: &str = "error_type";
/// The word for an answer that came to the limit of tokens that the request set.
const ANSWER_TOO_LONG: &str = "max_tokens_exceeded";

/// The kind that such a word stands for. Those of a request that is wrong are said of it alone: the code beside them may
/// be that of a refusal. (openai.md C.9)
fn kind_of_canonical(word: &str) -> Option<ErrorKind> {
    Some(match word {
        "authentication" => ErrorKind::Authentication,
        "payment_required" | "token_limit_exceeded" => ErrorKind::QuotaExceeded,
        "provider_overloaded" | "provider_unavailable" | "server" => ErrorKind::Overloaded,
        "refusal" => ErrorKind::Refused,
        "invalid_request"
        | "invalid_prompt"
        | ANSWER_TOO_LONG
        | "string_too_long"
        | "precondition_failed"
        | "payload_too_large"
        | "unprocessable"
        | "invalid_image"
        | "image_too_large"
        | "image_too_small"
        | "unsupported_image_format"
        | "image_not_found"
        | "image_download_failed" => ErrorKind::InvalidRequest,
        word => return kind_of_code(word),
    })
}

/// `null`, `""` and `{}` mean no error. (openai.md D 38)
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(object) => !object.is_empty(),
        _ => true,
    })
}

/// An object, or the one of a list, as some gateways send it.
fn object(value: &Value) -> Option<&Map<String, Value>> {
    value.as_array().and_then(|list| list.first()).unwrap_or(value).as_object()
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    match object.get(key)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A text, or a list of `{loc, msg}` as web frameworks send it.
fn detail(value: &Value) -> Option<String> {
    let list = match value {
        Value::String(text) => return Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Array(list) => list,
        _ => return None,
    };
    let lines = list.iter().filter_map(|problem| {
        let message = problem.get("msg")?.as_str()?;
        let place = problem.get("loc").and_then(Value::as_array).map(|path| {
            let steps = path.iter().map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned));
            steps.collect::<Vec<_>>().join(".")
        });
        Some(match place {
            Some(place) if !place.is_empty() => format!("{place}: {message}"),
            _ => message.to_owned(),
        })
    });
    Some(lines.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}
