//! Documents that clients send with a question.

use attache_core::{Document, UserMessage, UserPart};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::kept_documents::{Shelf, Whose};
use super::limits::McpServeLimits;

/// The arguments of a question to an agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    question: String,
    #[serde(default)]
    documents: Vec<Attached>,
    session: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Attached {
    name: Option<String>,
    media_type: Option<String>,
    data: Option<String>,
    text: Option<String>,
    uri: Option<String>,
}

/// A question to an agent.
pub(super) struct Question {
    pub(super) message: UserMessage,
    pub(super) session: Option<String>,
}

/// The schema of the arguments.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "The question or task, with all that the agent must know"},
            "documents": {
                "type": "array",
                "description": "Documents that belong to the question",
                "items": {
                    "type": "object",
                    "description": "One document: its bytes as data, or its text, or the address of one",
                    "properties": {
                        "name": {"type": "string", "description": "The file name, such as invoice.pdf"},
                        "mediaType": {"type": "string", "description": "Such as application/pdf"},
                        "data": {"type": "string", "description": "The bytes in base64"},
                        "text": {"type": "string", "description": "The text, in place of data"},
                        "uri": {
                            "type": "string",
                            "description": "The address of a document that this server returned, or a public https \
                                address, in place of data",
                        },
                    },
                    "additionalProperties": false,
                },
            },
            "session": {
                "type": "string",
                "description": "The session of an earlier answer, to go on with that conversation",
            },
        },
        "required": ["question"],
        "additionalProperties": false,
    })
}

/// Reads a question. The error tells whoever asks what is wrong.
pub(super) fn read(
    arguments: Map<String, Value>,
    whose: &Whose,
    shelf: &Shelf,
    limits: &McpServeLimits,
) -> Result<Question, String> {
    let asked: Asked = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| format!("the arguments do not fit: {error}"))?;
    if asked.documents.len() > limits.documents {
        return Err(format!("a question takes at most {} documents", limits.documents));
    }
    let mut parts = vec![UserPart::text(asked.question)];
    for (number, attached) in (1..).zip(asked.documents) {
        let document = document(attached, whose, shelf)
            .map_err(|problem| format!("document {number} of the question: {problem}"))?;
        parts.push(Some(UserPart::Document(document)));
    }
    if parts.iter().flatten().next().is_none() {
        return Err("the question is empty".to_owned());
    }
    Ok(Question { message: UserMessage::new(parts), session: asked.session })
}

fn document(attached: Attached, whose: &Whose, shelf: &Shelf) -> Result<Document, String> {
    let Attached { name, media_type, data, text, uri } = attached;
    let mut document = match (data, text, uri) {
        (Some(data), None, None) => {
            let written: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let bytes = attache_core::base64::decode(&written).ok_or("its data is not base64")?;
            Document::new(bytes)
        }
        (None, Some(text), None) => Document::new(text.into_bytes()),
        (None, None, Some(uri)) => match shelf.read(whose, &uri) {
            Some(kept) => kept,
            None if uri.starts_with("https://") => Document::external(uri),
            None => {
                return Err(
                    "its address is none of this session's documents, and no https address; send its \
                    bytes as data"
                        .to_owned(),
                );
            }
        },
        _ => return Err("it needs one of data, text and uri".to_owned()),
    };
    if let Some(name) = name {
        let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let name: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
        if !name.trim().is_empty() {
            document = document.with_file_name(name.trim());
        }
    }
    Ok(match media_type {
        Some(media_type) => document.with_media_type(&media_type),
        None => document,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use attache_core::DocumentSource;

    use super::*;

    fn asked(documents: &Value) -> Result<Vec<Document>, String> {
        let whose = Whose { principal: "ann".into(), scope: Some(Arc::from("1")), may_approve: true };
        let shelf = Shelf::default();
        let arguments = json!({"question": "What is it?", "documents": documents});
        let question = read(arguments.as_object().unwrap().clone(), &whose, &shelf, &McpServeLimits::new())?;
        let documents = question.message.shown().iter().filter_map(|part| match part {
            UserPart::Document(document) => Some(document.clone()),
            _ => None,
        });
        Ok(documents.collect())
    }

    #[test]
    fn documents_come_as_bytes_as_text_and_by_address() {
        let documents = asked(&json!([
            {"name": "../../a.pdf", "data": "JVBERi0x\nLjc="},
            {"text": "day,rain", "mediaType": "text/csv"},
            {"uri": "https://example.org/b.png"},
        ]))
        .unwrap();
        let media: Vec<_> = documents.iter().map(|document| document.media_type().essence()).collect();
        assert_eq!(media, ["application/pdf", "text/csv", "image/png"]);
        assert_eq!(documents[0].file_name(), Some("a.pdf"));
        assert_eq!(documents[0].bytes().unwrap(), "%PDF-1.7");
        assert!(matches!(documents[2].source(), DocumentSource::External { .. }));
    }

    #[test]
    fn what_is_no_document_is_named() {
        for (documents, problem) in [
            (json!([{"data": "%%"}]), "document 1 of the question: its data is not base64"),
            (json!([{"text": "a"}, {}]), "document 2 of the question: it needs one of data, text and uri"),
            (json!([{"text": "a", "data": ""}]), "it needs one of"),
            (json!([{"uri": "file:///etc/passwd"}]), "no https address"),
            (json!([{"uri": "http://127.0.0.1/"}]), "no https address"),
            (json!([{"uri": "attache://documents/1/a.pdf"}]), "none of this session's documents"),
            (json!([{"path": "/etc/passwd"}]), "unknown field"),
        ] {
            let error = asked(&documents).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
