//! Messages and tasks as they are here, whichever version of the protocol brought them.

mod json;
mod read;
mod write;

use attache_core::MediaType;
use bytes::Bytes;
use serde_json::Value;

pub(crate) use json::{Json, Node};
#[cfg(feature = "server")]
pub(crate) use read::bare_message;
pub(crate) use read::{bare_task, event};
#[cfg(feature = "server")]
pub(crate) use write::file;
pub(crate) use write::{Draft, send_params};

/// The versions of the protocol that are spoken. (A2A 0.3.0, A2A 1.0)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum A2aVersion {
    /// 0.3: each object says its kind.
    V0_3,
    /// 1.0: the JSON of protocol buffers.
    V1,
}

impl A2aVersion {
    /// The version as the header `A2A-Version` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1 => "1.0",
        }
    }
}

/// The state of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum A2aState {
    /// It was taken.
    Submitted,
    /// It is worked on.
    Working,
    /// The agent asks something.
    InputRequired,
    /// The agent needs somebody's leave or credentials.
    AuthRequired,
    /// It is done.
    Completed,
    /// It was cancelled.
    Canceled,
    /// It failed.
    Failed,
    /// The agent does not take it.
    Rejected,
    /// A state that is not known here.
    #[default]
    Unknown,
}

impl A2aState {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Submitted, "submitted"),
        (Self::Working, "working"),
        (Self::InputRequired, "input-required"),
        (Self::AuthRequired, "auth-required"),
        (Self::Completed, "completed"),
        (Self::Canceled, "canceled"),
        (Self::Failed, "failed"),
        (Self::Rejected, "rejected"),
    ];

    /// The state in words of version 0.3, such as `input-required`.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(state, _)| *state == self).map_or("unknown", |(_, name)| name)
    }

    /// Reads the words of either version.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.strip_prefix("TASK_STATE_").unwrap_or(text).to_ascii_lowercase().replace('_', "-");
        let text = if text == "cancelled" { "canceled".to_owned() } else { text };
        Self::NAMES.iter().find(|(_, name)| *name == text).map_or(Self::Unknown, |(state, _)| *state)
    }

    /// True if nothing happens any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Canceled | Self::Failed | Self::Rejected)
    }

    /// True if the task waits for somebody.
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// A piece of a message or an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) content: Content,
    pub(crate) name: Option<String>,
    pub(crate) media_type: Option<String>,
}

impl Part {
    /// True for a text that is a file: it has a name, or a type that plain words do not have.
    pub(crate) fn is_text_file(&self) -> bool {
        const WORDS: [&str; 3] = ["text/plain", "text/markdown", "application/octet-stream"];
        let is_named = self.name.as_ref().is_some_and(|name| !name.trim().is_empty());
        let said = self.media_type.as_deref().and_then(MediaType::parse);
        let is_typed = said.is_some_and(|said| !WORDS.contains(&said.essence()));
        matches!(self.content, Content::Text(_)) && (is_named || is_typed)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    Text(String),
    Bytes(Bytes),
    Url(String),
    Data(Value),
    /// JSON that is nested too deeply to be read, as it came.
    Deep(String),
    /// A file whose bytes are no base64.
    Broken,
    /// Something that is not known here, as it came.
    Other(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) context: Option<String>,
    pub(crate) task: Option<String>,
    /// True if the agent speaks.
    pub(crate) is_agent: bool,
    pub(crate) parts: Vec<Part>,
}

impl Message {
    /// Its texts.
    pub(crate) fn words(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match &part.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The member of data in the message of a status with which an agent of ours says how far a call of it has come.
pub(crate) const PROGRESS: &str = "attache.toolProgress";

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Artifact {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) parts: Vec<Part>,
}

/// Something that a task went through: a message, or an artifact of a task inside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Past {
    Message(Message),
    Artifact(Artifact),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) context: Option<String>,
    pub(crate) state: A2aState,
    /// The words with which it came into its state.
    pub(crate) said: Option<Message>,
    pub(crate) artifacts: Vec<Artifact>,
    /// Its history, depth first.
    pub(crate) history: Vec<Past>,
    /// True if there was more of the history than is read.
    pub(crate) is_cut: bool,
    /// True if the agent may have given pieces of it that were not told here.
    pub(crate) is_partial: bool,
}

/// An answer, or an event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Task(Task),
    Message(Message),
    Status { task: String, context: Option<String>, state: A2aState, said: Option<Message>, is_last: bool },
    Artifact { task: String, context: Option<String>, artifact: Artifact, appends: bool },
}
