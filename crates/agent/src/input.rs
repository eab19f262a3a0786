//! The input of a run.

use std::sync::Arc;

use attache_core::hash::StableHash;
use attache_core::message::UserOrigin;
use attache_core::{ContentTree, Document, DocumentSource, Message, UserMessage, UserPart};

use crate::limits::Limits;
use crate::log::Grant;
use crate::options::RunOptions;

/// The input of a run: the conversation so far, and the new messages.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunInput {
    /// The run's id; a random one is drawn where none is given.
    pub run_id: Option<String>,
    /// The conversation so far; see [`with_history`](Self::with_history).
    pub history: Vec<Arc<Message>>,
    /// The new messages.
    pub messages: Vec<Arc<Message>>,
    /// The limits of the run, in place of the agent's. The log keeps them.
    pub limits: Option<Limits>,
    /// True if the run may start although calls of the conversation wait for approval in another run.
    pub leaves_approvals: bool,
    /// Leave to call tools without asking, from [`Outcome::grants`](crate::Outcome::grants) of earlier runs.
    pub grants: Vec<Grant>,
    /// The agent that has the conversation from the start.
    pub agent: Option<String>,
    /// The options of this run alone.
    pub options: RunOptions,
}

/// The metadata of a user message that holds for the run that it comes with: later runs of the conversation leave it out,
/// so that such messages do not pile up. It belongs behind what the user says: the next run reads the conversation from a
/// prompt cache up to there.
///
/// ```
/// use attache_agent::RUN_ONLY;
/// use attache_core::UserMessage;
/// use attache_core::message::Metadata;
///
/// let time = UserMessage::text("It is 15:04.").with_metadata(Metadata::new().with(RUN_ONLY, true));
/// ```
pub const RUN_ONLY: &str = "runOnly";

/// The metadata of a reply that a hook blocked or had made again, and of the results of its calls.
pub(crate) const WITHDRAWN: &str = "withdrawn";

/// True for a message that holds for one run.
pub(crate) fn is_run_only(message: &Message) -> bool {
    matches!(message, Message::User(user) if user.metadata.get(RUN_ONLY).is_some())
}

/// True for a message that a person reads: instructions, messages that only carry documents of results or what one run alone
/// was told (facts about a page, memories), words of the loop to the model (a summary, a hint), and replies that a hook
/// blocked or had made again are none.
pub fn is_read(message: &Message) -> bool {
    match message {
        Message::System(_) => false,
        message if is_run_only(message) || message.metadata().get(WITHDRAWN).is_some() => false,
        // Something that happened has an object.
        Message::User(said) if said.origin == UserOrigin::Event => {
            said.parts.iter().any(|part| matches!(part, UserPart::Object(_)))
        }
        message => !message.is_tool_call_documents(),
    }
}

impl RunInput {
    /// New messages without a history.
    pub fn new(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Sets the conversation so far, such as [`Outcome::messages`](crate::Outcome::messages). The agent's instructions of
    /// now stand in the place of a system message at its beginning, which holds where the agent has none.
    #[must_use]
    pub fn with_history(mut self, history: impl IntoIterator<Item = Arc<Message>>) -> Self {
        self.history = history.into_iter().collect();
        self
    }

    /// Sets the run's id.
    #[must_use]
    pub fn with_run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// Adds a value for tools to find by its type; it wins over the agent's of the same type.
    #[must_use]
    pub fn with_context<T: std::any::Any + Send + Sync>(mut self, value: T) -> Self {
        self.options.extensions.insert(value);
        self
    }

    /// Sets the limits of the run, in place of the agent's. No steps at all count as one.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Lets the run start although calls of the conversation wait for approval in another run, which may still be
    /// approved and run there. It is refused by default, see [`DecideError::Open`](crate::DecideError::Open): resume the
    /// other run and [deny](crate::AgentRun::deny_all) them. In a session calls that somebody has approved are not left,
    /// see [`SessionError::Approved`](crate::SessionError::Approved).
    #[must_use]
    pub fn with_leaves_approvals(mut self, leaves: bool) -> Self {
        self.leaves_approvals = leaves;
        self
    }

    /// Gives leave to call tools without asking: what somebody granted "always" in an earlier run of the conversation.
    /// Take it from an [`Outcome`](crate::Outcome::grants) that only you could write, never from a client.
    #[must_use]
    pub fn with_grants(mut self, grants: impl IntoIterator<Item = Grant>) -> Self {
        self.grants = grants.into_iter().collect();
        self
    }

    /// Lets the agent of that name go on with the conversation, to which an earlier run
    /// [handed it over](crate::Outcome::agent): it is one to which the agent may hand it over, or one of those further
    /// on. Take it from an outcome, never from a client.
    #[must_use]
    pub fn with_agent(mut self, agent: impl Into<Option<String>>) -> Self {
        self.agent = agent.into();
        self
    }

    /// Sets what the run has otherwise than its agent: a model, settings, instructions, tools, a principal. Values for tools that
    /// were added before are replaced.
    ///
    /// ```
    /// use attache_agent::{Agent, RunInput, RunOptions};
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let thorough = ScriptedModel::new([]);
    /// # let quick = ScriptedModel::new([Turn::text("Berlin.")]);
    /// let agent = Agent::builder(thorough).system("You answer briefly.").build()?;
    /// let options = RunOptions::new().with_model(quick).with_principal("ann@example.org");
    /// let question = RunInput::from("What is the capital of Germany?").with_options(options);
    /// assert_eq!(agent.run(question).outcome().await?.text, "Berlin.");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// A number for the run: of its name if it has one, else of all that its model is asked. A tool that is run again
    /// makes its messages and documents anew, so that their ids do not count.
    pub(crate) fn question(&self, system: Option<&str>) -> u64 {
        match &self.run_id {
            Some(name) => named(name),
            None => {
                let mut hash = StableHash::new().text("asked").text(system.unwrap_or_default());
                if let Some(options) = self.options.number() {
                    hash = hash.text("options").bytes(&options.to_le_bytes());
                }
                if let Some(agent) = &self.agent {
                    hash = hash.text("agent").text(agent);
                }
                let messages = self.history.iter().chain(&self.messages);
                messages.fold(hash, |hash, message| with_message(hash, message)).finish()
            }
        }
    }
}

/// The number of a run with this name.
pub(crate) fn named(name: &str) -> u64 {
    StableHash::new().text("named").text(name).finish()
}

fn with_message(hash: StableHash, message: &Message) -> StableHash {
    let hash = hash.text(&format!("{:?}", message.role()));
    match message {
        Message::System(system) => system.parts.iter().fold(hash, |hash, part| hash.text(part.text())),
        Message::User(user) => user.parts.iter().fold(hash, |hash, part| match part {
            UserPart::Text(part) => hash.text("text").text(part.text()),
            UserPart::Document(document) => with_document(hash.text("document"), document),
            UserPart::Object(tree) => with_tree(hash.text("object"), tree),
            _ => hash,
        }),
        Message::Assistant(reply) => {
            let hash = hash.text(&reply.text());
            reply.tool_calls().fold(hash, |hash, call| hash.text(&call.name).text(call.arguments.raw()))
        }
        Message::ToolResults(results) => {
            results.results.iter().fold(hash, |hash, result| with_tree(hash, &result.tree))
        }
        _ => hash,
    }
}

/// The JSON without the ids of its documents, and the documents.
fn with_tree(hash: StableHash, tree: &ContentTree) -> StableHash {
    let (mut hash, mut text) = (hash, tree.json());
    for document in tree.documents() {
        if let Some((before, after)) = text.split_once(document.id().as_str()) {
            hash = hash.text(before);
            text = after;
        }
        hash = with_document(hash, document);
    }
    hash.text(text)
}

fn with_document(hash: StableHash, document: &Document) -> StableHash {
    let hash = hash.text(&document.media_type().to_string()).text(document.file_name().unwrap_or_default());
    match (document.hash(), document.source()) {
        (Some(content), _) => hash.bytes(&content),
        (None, DocumentSource::External { url }) => hash.text(url),
        // A document whose content is in a store is known by its id.
        (None, _) => hash.text(document.id().as_str()),
    }
}

impl From<&str> for RunInput {
    fn from(text: &str) -> Self {
        Self::new([Message::user(text).shared()])
    }
}

impl From<String> for RunInput {
    fn from(text: String) -> Self {
        Self::new([Message::user(text).shared()])
    }
}

impl From<UserMessage> for RunInput {
    fn from(message: UserMessage) -> Self {
        Self::new([Message::User(message).shared()])
    }
}

impl From<Vec<Option<UserPart>>> for RunInput {
    fn from(parts: Vec<Option<UserPart>>) -> Self {
        UserMessage::new(parts).into()
    }
}
