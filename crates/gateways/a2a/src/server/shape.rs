//! Tasks and events as JSON, in both versions.

use attache_core::Document;
use attache_core::calendar::to_rfc3339;
use serde_json::{Map, Value, json};

use super::view::{File, Said, View};
use crate::wire::{A2aState, A2aVersion, file};

/// The id of the artifact that holds an answer.
const ANSWER: &str = "answer";

/// Writes in one version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape(pub(crate) A2aVersion);

impl Shape {
    fn is_old(self) -> bool {
        self.0 == A2aVersion::V0_3
    }

    fn text(self, text: &str) -> Value {
        match self.is_old() {
            true => json!({"kind": "text", "text": text}),
            false => json!({"text": text}),
        }
    }

    fn data(self, data: &Value) -> Value {
        match self.is_old() {
            true => {
                // An object, whatever it is.
                let data = if data.is_object() { data.clone() } else { json!({"value": data}) };
                json!({"kind": "data", "data": data})
            }
            false => json!({"data": data}),
        }
    }

    fn file(self, given: &File) -> Value {
        match given {
            File::Bytes(document) => file(self.0, document).unwrap_or_else(|| self.text("")),
            File::Url(document, url) => self.url(document, url),
            File::Note(text) => self.text(text),
        }
    }

    fn url(self, document: &Document, url: &str) -> Value {
        let (at, name_as, type_as) = match self.is_old() {
            true => ("uri", "name", "mimeType"),
            false => ("url", "filename", "mediaType"),
        };
        let mut part = Map::new();
        part.insert(at.to_owned(), url.into());
        part.insert(type_as.to_owned(), document.media_type().to_string().into());
        if let Some(name) = document.file_name() {
            part.insert(name_as.to_owned(), name.into());
        }
        match self.is_old() {
            true => json!({"kind": "file", "file": part}),
            false => Value::Object(part),
        }
    }

    fn state(self, state: A2aState) -> String {
        let name = state.as_str();
        match self.is_old() {
            true => name.to_owned(),
            false => format!("TASK_STATE_{}", name.to_ascii_uppercase().replace('-', "_")),
        }
    }

    fn role(self, is_agent: bool) -> &'static str {
        match (self.is_old(), is_agent) {
            (true, true) => "agent",
            (true, false) => "user",
            (false, true) => "ROLE_AGENT",
            (false, false) => "ROLE_USER",
        }
    }

    fn message(self, view: &View, id: &str, is_agent: bool, parts: &[Value]) -> Value {
        let mut message = json!({
            "messageId": id, "contextId": view.context, "taskId": view.id,
            "role": self.role(is_agent), "parts": parts,
        });
        self.kind(&mut message, "message");
        message
    }

    fn kind(self, value: &mut Value, kind: &str) {
        if let Some(members) = value.as_object_mut().filter(|_| self.is_old()) {
            members.insert("kind".to_owned(), kind.into());
        }
    }

    fn status(self, view: &View) -> Value {
        let mut status = json!({"state": self.state(view.state), "timestamp": to_rfc3339(view.at)});
        if let (Some(status), Some(said)) = (status.as_object_mut(), &view.said) {
            let mut parts = vec![self.text(said)];
            parts.extend(view.asks.as_ref().map(|asks| self.data(asks)));
            let mut id = format!("{}-{}", view.id, view.state.as_str());
            if let Some(word) = view.word {
                id = format!("{id}-{word}");
            }
            status.insert("message".to_owned(), self.message(view, &id, true, &parts));
        }
        status
    }

    fn artifacts(self, view: &View) -> Vec<Value> {
        let mut parts: Vec<Value> = view.answer.iter().map(|text| self.text(text)).collect();
        parts.extend(view.structured.as_ref().map(|value| self.data(value)));
        parts.extend(view.files.iter().map(|file| self.file(file)));
        match parts.is_empty() {
            true => Vec::new(),
            false => vec![json!({"artifactId": ANSWER, "name": ANSWER, "parts": parts})],
        }
    }

    /// A task, with the history that the view has.
    pub(crate) fn task(self, view: &View, with_artifacts: bool) -> Value {
        let mut task = json!({"id": view.id, "contextId": view.context, "status": self.status(view)});
        let Some(members) = task.as_object_mut() else { return task };
        let artifacts = if with_artifacts { self.artifacts(view) } else { Vec::new() };
        if !artifacts.is_empty() {
            members.insert("artifacts".to_owned(), artifacts.into());
        }
        let said = |said: &Said| {
            let text = Some(&said.text).filter(|text| !text.is_empty()).map(|text| self.text(text));
            let parts: Vec<Value> =
                text.into_iter().chain(said.files.iter().map(|file| self.file(file))).collect();
            self.message(view, &said.id, said.is_agent, &parts)
        };
        let history: Vec<Value> = view.history.iter().map(said).collect();
        if !history.is_empty() {
            members.insert("history".to_owned(), history.into());
        }
        self.kind(&mut task, "task");
        task
    }

    /// A task as the answer to a message, or as the first event of a stream.
    pub(crate) fn wrapped(self, task: Value) -> Value {
        if self.is_old() { task } else { json!({"task": task}) }
    }

    /// The events that tell of a task's end, or of its question.
    pub(crate) fn last_events(self, view: &View) -> Vec<Value> {
        let artifacts = self.artifacts(view).into_iter().map(|artifact| {
            let event = json!({
                "taskId": view.id, "contextId": view.context, "artifact": artifact, "append": false, "lastChunk": true,
            });
            self.event(event, "artifact-update", "artifactUpdate")
        });
        artifacts.chain([self.status_event(view)]).collect()
    }

    /// The event of a task's state.
    pub(crate) fn status_event(self, view: &View) -> Value {
        let mut event = json!({"taskId": view.id, "contextId": view.context, "status": self.status(view)});
        if let Some(members) = event.as_object_mut().filter(|_| self.is_old()) {
            let is_last = view.state.is_final() || view.state.is_waiting();
            members.insert("final".to_owned(), is_last.into());
        }
        self.event(event, "status-update", "statusUpdate")
    }

    fn event(self, mut event: Value, old: &str, new: &str) -> Value {
        self.kind(&mut event, old);
        if self.is_old() { event } else { json!({new: event}) }
    }
}
