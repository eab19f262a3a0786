//! The configuration of an agent, known before it is asked.

use std::fmt;
use std::time::Duration;

use attache_core::{Effect, Secret, ToolError, ToolErrorKind};
use attache_transport::{HttpClient, Redactor, RequestParts};

use crate::card::{A2aBinding, A2aKey};
use crate::push::A2aPush;
use crate::wire::A2aVersion;

/// The limits on the time that work with an agent takes, and on how much it may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct A2aLimits {
    /// For the card, and for each short request: the state of a task, a cancellation; 30 s.
    pub request: Duration,
    /// The time that a call waits for a task; 60 s. One that is still worked on then becomes a deferred call.
    pub patience: Duration,
    /// The maximum number of bytes of one answer, and of all events of one stream; 32 MiB.
    pub message_bytes: usize,
    /// The maximum number of bytes of the documents that one message brings; 32 MiB.
    pub sent_bytes: usize,
    /// The maximum number of pieces of content in a result; 1,000.
    pub parts: usize,
    /// The maximum number of documents in a result; 500.
    pub documents: usize,
    /// The maximum number of characters of a tool's description; 8,000.
    pub description_chars: usize,
    /// The maximum number of events of one stream; 100,000.
    pub events: usize,
}

impl Default for A2aLimits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            patience: Duration::from_secs(60),
            message_bytes: 32 << 20,
            sent_bytes: 32 << 20,
            parts: 1_000,
            documents: 500,
            description_chars: 8_000,
            events: 100_000,
        }
    }
}

impl A2aLimits {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limit of a short request.
    #[must_use]
    pub fn with_request(mut self, limit: Duration) -> Self {
        self.request = limit;
        self
    }

    /// Sets how long a call waits for a task.
    #[must_use]
    pub fn with_patience(mut self, limit: Duration) -> Self {
        self.patience = limit;
        self
    }

    /// Sets the maximum number of bytes of one answer or stream.
    #[must_use]
    pub fn with_message_bytes(mut self, bytes: usize) -> Self {
        self.message_bytes = bytes;
        self
    }

    /// Sets the maximum number of bytes of the documents that one message brings.
    #[must_use]
    pub fn with_sent_bytes(mut self, bytes: usize) -> Self {
        self.sent_bytes = bytes;
        self
    }

    /// Sets the maximum number of documents in a result.
    #[must_use]
    pub fn with_documents(mut self, documents: usize) -> Self {
        self.documents = documents;
        self
    }
}

/// The one who answers what an agent asks in the midst of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum A2aQuestions {
    /// The user: the run pauses with the question, and the call goes on with the answer, as with
    /// [`ToolContext::ask`](attache_core::ToolContext::ask).
    #[default]
    User,
    /// The model: it reads the question with the task's id, and may answer with another call.
    Model,
}

#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) alias: String,
    /// The family's name.
    pub(crate) name: String,
    /// The text before each tool's name.
    pub(crate) prefix: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Secret)>,
    pub(crate) bearer: Option<Secret>,
    pub(crate) client: Option<HttpClient>,
    pub(crate) public: bool,
    /// Other origins that credentials go to.
    pub(crate) origins: Vec<String>,
    pub(crate) keys: Option<Vec<A2aKey>>,
    pub(crate) limits: A2aLimits,
    pub(crate) per_skill: bool,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) questions: A2aQuestions,
    pub(crate) effect: Effect,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) defers: bool,
    pub(crate) push: Option<A2aPush>,
    pub(crate) conversations: bool,
    pub(crate) version: Option<A2aVersion>,
    pub(crate) binding: Option<A2aBinding>,
}

impl Config {
    pub(crate) fn new(alias: String, url: String) -> Self {
        Self {
            name: format!("a2a:{alias}"),
            prefix: format!("a2a_{alias}___"),
            alias,
            url,
            headers: Vec::new(),
            bearer: None,
            client: None,
            public: false,
            origins: Vec::new(),
            keys: None,
            limits: A2aLimits::default(),
            per_skill: false,
            only: None,
            questions: A2aQuestions::default(),
            effect: Effect::SideEffect,
            lifetime: None,
            defers: true,
            push: None,
            conversations: false,
            version: None,
            binding: None,
        }
    }

    /// The problem with the alias, if there is one: with it, tools of two agents could have one name.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let is_apart = !self.alias.contains("___") && !self.alias.ends_with('_') && !self.alias.is_empty();
        (!is_apart).then_some("its alias must be there, and neither hold `___` nor end with `_`")
    }

    /// The redactor that takes the secrets that this agent was given out of texts.
    pub(crate) fn redactor(&self) -> Redactor {
        let given = self.headers.iter().map(|(_, value)| value).chain(&self.bearer);
        let redactor = RequestParts::get(self.url.clone()).redactor();
        given.fold(redactor, |redactor, secret| {
            let text = secret.expose();
            // `Bearer x` comes back as `x` too.
            let token = text.split_once(' ').map_or("", |(_, token)| token.trim());
            redactor.with_secret(text).with_secret(token)
        })
    }

    pub(crate) fn has_credentials(&self) -> bool {
        self.bearer.is_some() || !self.headers.is_empty()
    }

    pub(crate) fn late(&self, what: &str) -> ToolError {
        ToolError::new(format!("the agent {:?} {what}", self.alias)).with_kind(ToolErrorKind::Timeout)
    }

    pub(crate) fn unavailable(&self, what: &str) -> ToolError {
        ToolError::new(format!("the agent {:?} {what}", self.alias)).with_kind(ToolErrorKind::Unavailable)
    }

    pub(crate) fn failed(&self, what: &str) -> ToolError {
        ToolError::new(format!("the agent {:?} {what}", self.alias))
    }

    /// A text of the agent: without secrets, then cut, without control characters.
    pub(crate) fn told(&self, text: &str, longest: usize) -> String {
        let clean = self.redactor().redact(text).into_owned();
        cut(&clean, longest)
    }
}

/// A text without control characters, cut at a number of characters.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    let mut cut: String =
        text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).take(longest).collect();
    if text.chars().nth(longest).is_some() {
        cut.push('…');
    }
    cut
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("alias", &self.alias)
            .field("url", &attache_transport::shown_url(&self.url))
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
