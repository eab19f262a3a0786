//! Documents in a body of Ollama's own chat: images beside the text of a user (openai.md C.13).

use serde_json::Value;

use super::parts::text_of;
use super::seen::{SeenDocument, SeenPlace};
use crate::media::{decode_base64, sniff};

pub(super) fn documents(messages: &[Value]) -> Vec<SeenDocument> {
    let users = messages.iter().filter(|message| text_of(message, "role") == "user");
    let images = users.filter_map(|message| message.get("images")?.as_array()).flatten();
    let document = |image: &Value| {
        let bytes = image.as_str().and_then(decode_base64);
        let media_type = bytes.as_deref().and_then(sniff).unwrap_or_default();
        SeenDocument::new(SeenPlace::User, media_type).with_bytes(bytes)
    };
    images.map(document).collect()
}
