//! Writes what agents are asked.

use attache_core::{Document, MediaType};
use serde_json::{Map, Value, json};

use super::A2aVersion;

/// A message to an agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Documents whose bytes are in memory.
    pub(crate) documents: Vec<Document>,
    pub(crate) task: Option<String>,
    pub(crate) context: Option<String>,
    pub(crate) skill: Option<String>,
}

/// The parameters of a request that sends a message. `waits` asks for an answer when the task ends or waits.
pub(crate) fn send_params(version: A2aVersion, draft: &Draft, waits: bool) -> Value {
    let mut message = Map::new();
    let mut put = |name: &str, value: Value| message.insert(name.to_owned(), value);
    let (role, mut configuration) = match version {
        A2aVersion::V0_3 => {
            put("kind", "message".into());
            ("user", json!({"blocking": waits}))
        }
        A2aVersion::V1 if waits => ("ROLE_USER", json!({})),
        A2aVersion::V1 => ("ROLE_USER", json!({"returnImmediately": true})),
    };
    put("messageId", draft.id.clone().into());
    put("role", role.into());
    if let Some(task) = &draft.task {
        put("taskId", task.clone().into());
    }
    if let Some(context) = &draft.context {
        put("contextId", context.clone().into());
    }
    if let Some(skill) = &draft.skill {
        put("metadata", json!({"skillId": skill}));
    }
    put("parts", Value::Array(parts(version, draft)));
    // Whatever a document is, the model is shown it.
    if let Some(configuration) = configuration.as_object_mut() {
        configuration.insert("historyLength".to_owned(), 100.into());
    }
    json!({"message": message, "configuration": configuration})
}

fn parts(version: A2aVersion, draft: &Draft) -> Vec<Value> {
    let mut parts = Vec::new();
    if !draft.text.is_empty() {
        parts.push(match version {
            A2aVersion::V0_3 => json!({"kind": "text", "text": draft.text}),
            A2aVersion::V1 => json!({"text": draft.text}),
        });
    }
    parts.extend(draft.documents.iter().filter_map(|document| file(version, document)));
    parts
}

/// A document as a file part, if its bytes are in memory.
pub(crate) fn file(version: A2aVersion, document: &Document) -> Option<Value> {
    let bytes = attache_core::base64::encode(document.bytes()?);
    let media_type = document.media_type();
    let name = document.file_name();
    let is_known = *media_type != MediaType::octet_stream();
    let mut file = Map::new();
    let (bytes_as, name_as, type_as) = match version {
        A2aVersion::V0_3 => ("bytes", "name", "mimeType"),
        A2aVersion::V1 => ("raw", "filename", "mediaType"),
    };
    file.insert(bytes_as.to_owned(), bytes.into());
    if let Some(name) = name {
        file.insert(name_as.to_owned(), name.into());
    }
    if is_known || version == A2aVersion::V1 {
        file.insert(type_as.to_owned(), media_type.to_string().into());
    }
    Some(match version {
        A2aVersion::V0_3 => json!({"kind": "file", "file": file}),
        A2aVersion::V1 => Value::Object(file),
    })
}
