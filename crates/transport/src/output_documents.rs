//! Documents that models make.

use std::borrow::Cow;
use std::sync::Arc;

use attache_core::message::MadeDocument;
use attache_core::{AssistantPart, ChatRequest, Document, Message};

/// The document of base64 as replies carry it; nothing for text that is none. A wrong media type is replaced by what
/// the bytes say.
pub fn made_document(base64: &str, media_type: &str) -> Option<Document> {
    let bytes = attache_core::base64::decode(base64)?;
    (!bytes.is_empty()).then(|| Document::from_bytes(bytes, media_type))
}

/// The document of a `data:` address; nothing for any other.
pub fn made_document_of_uri(uri: &str) -> Option<Document> {
    let (media_type, base64) = uri.strip_prefix("data:")?.split_once(";base64,")?;
    made_document(base64, media_type)
}

/// The request with a note in the place of each document that the model, or another before it, made and that does not
/// go back as `keeps` says: most APIs take nothing but words in the assistant's turn, and nothing may be dropped in
/// silence. A request without such documents is left as it is.
pub fn note_made_documents(
    request: &ChatRequest,
    keeps: impl Fn(&MadeDocument) -> bool,
) -> Cow<'_, ChatRequest> {
    let is_noted = |part: &AssistantPart| matches!(part, AssistantPart::Document(made) if !keeps(made));
    let holds = |message: &Arc<Message>| matches!(&**message, Message::Assistant(assistant) if assistant.parts.iter().any(is_noted));
    if !request.messages.iter().any(holds) {
        return Cow::Borrowed(request);
    }
    let mut noted = request.clone();
    for message in noted.messages.iter_mut().filter(|message| holds(message)) {
        let Message::Assistant(assistant) = &**message else { continue };
        let mut assistant = assistant.clone();
        for part in assistant.parts.iter_mut().filter(|part| is_noted(part)) {
            if let AssistantPart::Document(made) = &*part
                && let Some(note) = AssistantPart::text(note(&made.document))
            {
                *part = note;
            }
        }
        *message = Message::Assistant(assistant).shared();
    }
    Cow::Owned(noted)
}

/// The text in the place of a document that cannot be shown.
pub fn note(document: &Document) -> String {
    let name = document.file_name().map(|name| format!(" {name:?}")).unwrap_or_default();
    format!(
        "[You made a document of type {}{name} here. It cannot be shown in this place.]",
        document.media_type()
    )
}

#[cfg(test)]
mod tests {
    use attache_core::AssistantMessage;

    use super::*;

    #[test]
    fn documents_come_out_of_base64_and_addresses() {
        let png = made_document("iVBORw0KGgo=", "application/octet-stream").unwrap();
        assert_eq!(png.media_type().essence(), "image/png");
        assert_eq!(png.bytes().unwrap(), &b"\x89PNG\r\n\x1a\n"[..]);
        assert!(made_document_of_uri("data:image/png;base64,iVBORw0KGgo=").is_some());
        for none in ["", "https://host/x.png", "data:image/png,abc", "data:image/png;base64,*"] {
            assert!(made_document_of_uri(none).is_none(), "{none}");
        }
    }

    #[test]
    fn a_note_stands_where_a_document_cannot() {
        let made = MadeDocument::new(made_document("iVBORw0KGgo=", "image/png").unwrap());
        let answer = AssistantMessage::new([AssistantPart::text("Here."), made.into()]);
        let id = answer.id.clone();
        let request = ChatRequest::new([Message::user("Draw").shared(), Message::Assistant(answer).shared()]);
        assert!(matches!(note_made_documents(&request, |_| true), Cow::Borrowed(_)));
        let noted = note_made_documents(&request, |_| false);
        let Message::Assistant(noted) = &*noted.messages[1] else { panic!("it is an answer") };
        assert_eq!(noted.id, id);
        let note = "[You made a document of type image/png here. It cannot be shown in this place.]";
        assert_eq!(noted.text(), format!("Here.{note}"));
    }
}
