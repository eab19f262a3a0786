//! The seam between the server and the APIs. Another API is another module and one arm in each function here.

use bytes::Bytes;
use serde_json::Value;

use super::answer::{ErrorAnswer, JSON, Rendered, data_event, named_event};
use super::files::Files;
use super::record::RecordedRequest;
use super::reply::{ChoiceScript, Reply, ReplyBody};
use super::rules::{Rules, Violation};
use super::{chat, cohere, converse, gemini, messages, ollama, responses};
use crate::api::Api;

const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// Judges a whole request: headers first, then the body, then what it refers to.
pub(crate) fn judge(
    api: Api,
    request: &RecordedRequest,
    rules: &Rules,
    caches: &gemini::Caches,
    files: &Files,
) -> Result<(), Violation> {
    let rules = match api {
        Api::ChatCompletions | Api::Responses => {
            chat::check_headers(&request.headers, rules)?;
            rules.clone()
        }
        Api::Messages => messages::check_headers(&request.headers, rules)?,
        Api::Gemini => {
            gemini::check_headers(request, rules)?;
            rules.clone()
        }
        Api::Converse => return converse::judge(request, rules),
        Api::Cohere => {
            cohere::check_headers(&request.headers, rules)?;
            rules.clone()
        }
        // It listens at home, where nobody needs a key. (openai.md C.13)
        Api::Ollama => rules.clone(),
    };
    request.check_content_type()?;
    if api == Api::Messages && request.body.len() > messages::MAX_REQUEST_BYTES {
        return Err(messages::too_large());
    }
    let Some(body) = request.json.as_deref() else {
        return Err(Violation::invalid("the request body is not valid JSON"));
    };
    match api {
        Api::ChatCompletions => chat::validate_chat_with(body, &rules)?,
        Api::Messages => messages::validate_messages_with(body, &rules)?,
        Api::Responses => responses::validate_responses_with(body, &rules)?,
        Api::Gemini => {
            gemini::validate_gemini_with(gemini::resource(request.uri.path()), body, &rules)?;
            caches.check_use(request)?;
        }
        Api::Cohere => cohere::validate_cohere(body)?,
        Api::Ollama => ollama::validate_ollama(body)?,
        // Judged as a whole above.
        Api::Converse => {}
    }
    files.check_use(api, request, &rules)
}

/// Answers a request to Gemini's `cachedContents`.
pub(crate) fn answer_cache(
    request: &RecordedRequest,
    caches: &gemini::Caches,
    files: &Files,
    rules: &Rules,
) -> Result<Value, Violation> {
    gemini::check_headers(request, rules)?;
    if !request.body.is_empty() {
        request.check_content_type()?;
        files.check_use(Api::Gemini, request, rules)?;
    }
    caches.answer(request, rules)
}

/// Renders a scripted reply, or says why this API has no such thing.
pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Rendered, String> {
    match (&reply.body, request.api) {
        (ReplyBody::Raw { status, content_type, events }, api) => {
            let mut events = events.clone();
            reply.delivery.insert_into(&mut events, |at, kind, message| match api {
                Some(api) => error_event(api, at, kind, message, request.index),
                None => Bytes::new(),
            });
            Ok(Rendered::new(*status, content_type, events))
        }
        (_, None) => Err(format!("no API speaks at `{}`", request.uri.path())),
        (ReplyBody::Error { status, kind, code, message }, Some(api)) => Ok(error(
            api,
            &ErrorAnswer {
                status: *status,
                kind: kind.as_deref(),
                code: code.as_deref(),
                path: None,
                message,
                details: reply.error_details.as_ref(),
            },
            request,
        )),
        (ReplyBody::Model, Some(api)) => {
            check_support(reply, api)?;
            let stream = request.wants_stream() && !reply.ignores_stream;
            let terminated = !reply.delivery.no_terminator;
            let mut events = match (api, stream) {
                (Api::ChatCompletions, false) => {
                    return Ok(Rendered::json(200, &chat::render(reply, request)?));
                }
                (Api::Messages, false) => return Ok(Rendered::json(200, &messages::render(reply, request)?)),
                (Api::Responses, false) => {
                    return Ok(Rendered::json(200, &responses::render(reply, request)?));
                }
                (Api::Gemini, false) => return Ok(Rendered::json(200, &gemini::render(reply, request)?)),
                (Api::Converse, false) => return Ok(Rendered::json(200, &converse::render(reply, request)?)),
                (Api::Cohere, false) => return Ok(Rendered::json(200, &cohere::render(reply, request)?)),
                (Api::Ollama, false) => return Ok(Rendered::json(200, &ollama::render(reply, request)?)),
                (Api::ChatCompletions, true) => chat::render_stream(reply, request, terminated)?,
                (Api::Messages, true) => messages::render_stream(reply, request, terminated)?,
                (Api::Responses, true) => responses::render_stream(reply, request, terminated)?,
                (Api::Converse, true) => converse::render_stream(reply, request, terminated)?,
                (Api::Cohere, true) => cohere::render_stream(reply, request, terminated)?,
                (Api::Ollama, true) => ollama::render_stream(reply, request, terminated)?,
                (Api::Gemini, true) if gemini::wants_events(request) => {
                    gemini::render_stream(reply, request, terminated)?
                }
                (Api::Gemini, true) => {
                    let events = gemini::render_array(reply, request, terminated)?;
                    return Ok(Rendered::new(200, JSON, events));
                }
            };
            reply.delivery.insert_into(&mut events, |at, kind, message| {
                error_event(api, at, kind, message, request.index)
            });
            let content_type = match api {
                Api::Converse => converse::EVENT_STREAM,
                Api::Ollama => ollama::LINES,
                _ => EVENT_STREAM,
            };
            Ok(Rendered::new(200, content_type, events))
        }
    }
}

/// Refuses what only some API can say.
fn check_support(reply: &Reply, api: Api) -> Result<(), String> {
    if api != Api::Gemini && (reply.blocked.is_some() || reply.choices.iter().any(ChoiceScript::is_annotated))
    {
        return Err("only Gemini has part signatures, finish messages and blocked prompts".to_owned());
    }
    if api != Api::Responses && reply.failed.is_some() {
        return Err("only Responses has a response that failed".to_owned());
    }
    Ok(())
}

/// An error response in the API's envelope.
pub(crate) fn error(api: Api, answer: &ErrorAnswer<'_>, request: &RecordedRequest) -> Rendered {
    let body = match api {
        Api::ChatCompletions | Api::Responses => chat::error_body(answer),
        Api::Messages => messages::error_body(answer, request.index),
        // To a request for a stream the error comes in an array.
        Api::Gemini if request.wants_stream() => Value::Array(vec![gemini::error_body(answer)]),
        Api::Gemini => gemini::error_body(answer),
        Api::Converse => return converse::error(answer),
        Api::Cohere => cohere::error_body(answer, request.index),
        Api::Ollama => ollama::error_body(answer),
    };
    Rendered::json(answer.status, &body)
}

/// The error event at that place of a stream.
fn error_event(api: Api, at: usize, kind: &str, message: &str, index: usize) -> Bytes {
    let answer =
        ErrorAnswer { status: 200, kind: Some(kind), code: None, path: None, message, details: None };
    match api {
        Api::ChatCompletions => data_event(&chat::error_body(&answer)),
        Api::Messages => named_event("error", &messages::error_body(&answer, index)),
        Api::Responses => responses::error_event(&answer, at),
        Api::Gemini => gemini::error_event(kind, message),
        Api::Converse => converse::error_event(kind, message),
        Api::Cohere => cohere::error_event(kind, message),
        Api::Ollama => ollama::line(&ollama::error_body(&answer)),
    }
}

/// The header in which the API sends its request id, if it has one.
pub(crate) fn request_id_header(api: Api) -> Option<&'static str> {
    match api {
        Api::ChatCompletions | Api::Responses => Some("x-request-id"),
        Api::Messages => Some("request-id"),
        Api::Gemini | Api::Cohere | Api::Ollama => None,
        Api::Converse => Some("x-amzn-requestid"),
    }
}
