//! Requests of the server's own routes.

use std::time::Duration;

use attache_core::{UserMessage, UserPart};
use serde::Deserialize;
use serde_json::Value;

use super::tools::ClientTool;
use crate::documents::Documents;
use crate::fault::Fault;
use crate::live::OnDisconnect;

/// A turn of a conversation: what the user says, and how it is answered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Turn {
    /// The words of the user.
    #[serde(default)]
    pub(crate) message: String,
    /// The documents that were uploaded, by their ids.
    #[serde(default)]
    pub(crate) documents: Vec<String>,
    /// The agent.
    pub(crate) model: Option<String>,
    pub(crate) session_id: Option<String>,
    #[serde(default, alias = "frontend_tools")]
    pub(crate) frontend_tools: Vec<ClientTool>,
    pub(crate) on_disconnect: Option<Disconnect>,
}

impl Turn {
    /// The message.
    pub(crate) async fn message(&self, principal: &str, documents: &Documents) -> Result<UserMessage, Fault> {
        let mut parts = vec![UserPart::text(self.message.as_str())];
        for id in &self.documents {
            parts.push(documents.reference(principal, id).await?.into());
        }
        if parts.iter().all(Option::is_none) {
            return Err(Fault::invalid("a turn needs a message").at("message"));
        }
        Ok(UserMessage::new(parts))
    }
}

/// The fate of a run whose client leaves, as the client wants it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Disconnect {
    Cancel,
    Detach,
    GraceSeconds(u32),
}

impl From<Disconnect> for OnDisconnect {
    fn from(disconnect: Disconnect) -> Self {
        match disconnect {
            Disconnect::Cancel => Self::Cancel,
            Disconnect::Detach => Self::Detach,
            Disconnect::GraceSeconds(seconds) => Self::Grace(Duration::from_secs(seconds.into())),
        }
    }
}

/// The answer of a frontend tool.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolAnswer {
    pub(crate) session_id: String,
    pub(crate) call_id: String,
    #[serde(default)]
    pub(crate) result: Value,
    #[serde(default)]
    pub(crate) is_error: bool,
}

/// A decision about an approval.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Decide {
    pub(crate) decision: Choice,
    /// The reason for a denial, which the model reads.
    pub(crate) text: Option<String>,
    /// Other arguments.
    pub(crate) arguments: Option<Value>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Choice {
    Approve,
    Always,
    Deny,
    Edit,
}
