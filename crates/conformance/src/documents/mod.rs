//! The documents in a request, decoded as the provider would see them (C33).

mod chat;
mod cohere;
mod converse;
mod gemini;
mod label;
mod messages;
mod ollama;
mod parts;
mod responses;
mod seen;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::seen::{SeenDocument, SeenPlace};

use crate::api::Api;

/// The documents of a request body, in order of appearance.
///
/// A part counts if the API itself takes it for an image, a file, audio or a document. Besides, a text part that
/// directly follows a document label (`<document … />`, `<doc … />` in a part of its own) is that document as
/// text, with whatever fence is drawn around it; a label also gives its attributes to the block after it.
pub fn seen_documents(api: Api, body: &Value) -> Vec<SeenDocument> {
    let list = |key: &str| body.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    match api {
        Api::ChatCompletions => chat::documents(list("messages")),
        Api::Messages => messages::documents(list("messages")),
        Api::Responses => responses::documents(list("input")),
        Api::Gemini => gemini::documents(body),
        Api::Converse => converse::documents(list("messages")),
        Api::Cohere => cohere::documents(list("messages")),
        Api::Ollama => ollama::documents(list("messages")),
    }
}
