//! Sessions and their documents, in the platform's folder for data.

mod command;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, Session, SessionError, SessionInfo, SessionStore, Sessions, is_read};
use attache_config::SessionsPlace;
#[cfg(any(feature = "postgres", feature = "server"))]
use attache_core::StoreError;
use attache_core::message::UserOrigin;
use attache_core::{Document, DocumentStore, Message, Secret, UserPart};
#[cfg(feature = "server")]
use attache_stores::Collection;
use attache_stores::{FileDocumentStore, References, SqliteStore};

use crate::config_files::{Config, Folder, folder};
use crate::model_by_name::SetupError;

pub(crate) use command::{run, shown, table};

/// The one whose sessions they are: whoever may read the folder.
pub(crate) const PRINCIPAL: &str = "local";

/// The least age of a document that no session mentions before it is removed: an upload may wait so long for its message.
const GRACE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The time between two collections of a folder, by whichever process.
#[cfg(feature = "server")]
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// The opened stores of sessions and of their documents.
#[derive(Clone)]
pub(crate) struct Stores {
    /// The sessions that those of all agents share, so that each knows of the runs of the others. They have an agent that is
    /// never asked: one of a configuration would keep the servers of its tools.
    sessions: Sessions,
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "a server alone collects"))]
    references: Arc<dyn References>,
    documents: Arc<FileDocumentStore>,
    /// The name of the sessions among those that keep documents in the folder; empty where they are only looked at.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "a server alone collects"))]
    owner: String,
    folder: PathBuf,
}

impl Stores {
    /// Opens the stores, which are made if they are not there, for runs. The folder of documents has the mark of the
    /// sessions then, or is not opened: a server of other sessions would take unmarked documents for its own and remove them.
    pub(crate) async fn open(config: &Config) -> Result<Self, SetupError> {
        Self::opened(config, true).await
    }

    /// Opens the stores for whoever puts no documents, which leaves no mark.
    pub(crate) async fn look(config: &Config) -> Result<Self, SetupError> {
        Self::opened(config, false).await
    }

    async fn opened(config: &Config, puts: bool) -> Result<Self, SetupError> {
        let folder = data()?;
        let documents = config.said.documents_folder().unwrap_or_else(|| folder.join("documents"));
        let of = |path: &std::path::Path, error: &dyn std::fmt::Display| {
            SetupError::new(format!("{}: {error}", path.display()))
        };
        let Opened { store, references, owner } = match config.said.sessions_place() {
            Some(SessionsPlace::Postgres(address)) => database(&address, puts).await?,
            place => {
                let file = match place {
                    Some(SessionsPlace::File(file)) => file,
                    _ => folder.join("sessions.db"),
                };
                let store = SqliteStore::open(&file).await.map_err(|error| of(&file, &error))?;
                let mut owner = String::new();
                if puts {
                    let id = store.database_id().await.map_err(|error| of(&file, &error))?;
                    // A copy of the file has the same id, and sessions of its own.
                    let beside = documents.parent().and_then(|beside| file.strip_prefix(beside).ok());
                    owner = format!("{id} {}", beside.unwrap_or(&file).display());
                }
                Opened::new(Arc::new(store), owner)
            }
        };
        let place = documents;
        let documents =
            FileDocumentStore::open(&place).map_err(|error| of(&place, &error))?.with_grace(GRACE);
        if puts {
            let noted = documents.note_owner(&owner).await;
            noted.map_err(|error| of(&place, &crate::output::with_causes(&error)))?;
        }
        let nobody = Agent::without_model().build().map_err(|error| SetupError::new(error.to_string()))?;
        let documents = Arc::new(documents);
        let sessions =
            Sessions::new(nobody, store).with_expiry(None).with_documents(Arc::clone(&documents) as _);
        Ok(Self { sessions, references, documents, owner, folder })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// The store that an agent's documents go to.
    pub(crate) fn documents(&self) -> Arc<dyn DocumentStore> {
        Arc::clone(&self.documents) as _
    }

    /// Removes documents that no session mentions, unless that was done not long ago, or is not for these sessions to do.
    #[cfg(feature = "server")]
    pub(crate) async fn collect(&self) -> Result<Collection, StoreError> {
        self.documents.collect_as(&self.owner, &[&*self.references], EVERY).await
    }

    /// The sessions, in which this agent answers. They do not expire: their owner deletes them.
    pub(crate) fn sessions(&self, agent: Agent) -> Sessions {
        self.sessions.with_agent(agent)
    }
}

/// A store of sessions that was opened.
struct Opened {
    store: Arc<dyn SessionStore>,
    references: Arc<dyn References>,
    owner: String,
}

impl Opened {
    fn new<S: SessionStore + References + 'static>(store: Arc<S>, owner: String) -> Self {
        Self { references: Arc::clone(&store) as _, store, owner }
    }
}

/// The platform's folder for data, which is made if it is not there.
pub(crate) fn data() -> Result<PathBuf, SetupError> {
    let folder = folder(Folder::Data)
        .ok_or_else(|| SetupError::new("there is no folder for sessions: set ATTACHE_HOME"))?;
    private(&folder).map_err(|error| SetupError::new(format!("{}: {error}", folder.display())))?;
    Ok(folder)
}

/// The sessions of a PostgreSQL database.
#[cfg(feature = "postgres")]
async fn database(address: &Secret, puts: bool) -> Result<Opened, SetupError> {
    // No error of the store shows the address.
    let failed = |error: StoreError| {
        SetupError::new(format!("stores.sessions: {}", crate::output::with_causes(&error)))
    };
    let store = attache_stores::PostgresStore::connect(address.expose()).await.map_err(failed)?;
    let owner = if puts { store.database_id().await.map_err(failed)? } else { String::new() };
    Ok(Opened::new(Arc::new(store), owner))
}

/// The command was built without PostgreSQL.
#[cfg(not(feature = "postgres"))]
async fn database(_: &Secret, _: bool) -> Result<Opened, SetupError> {
    let text = "stores.sessions names a PostgreSQL database, and this program was built without the feature `postgres`";
    Err(SetupError::new(text))
}

/// Makes a folder that nobody else may look into.
fn private(folder: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The session of this id, or the only one whose id begins so.
pub(crate) async fn found(sessions: &Sessions, id: &str) -> Result<SessionInfo, SetupError> {
    if id.is_empty() {
        return Err(SetupError::new("the id of the session is empty"));
    }
    let all = all(sessions).await?;
    if let Some(exact) = all.iter().find(|info| info.id.as_str() == id) {
        return Ok(exact.clone());
    }
    let alike: Vec<&SessionInfo> = all.iter().filter(|info| info.id.as_str().starts_with(id)).collect();
    match alike.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(SetupError::new(format!(
            "there is no session {id:?}; `attache sessions list` lists the sessions"
        ))),
        _ => Err(SetupError::new(format!("the ids of {} sessions begin with {id:?}", alike.len()))),
    }
}

pub(crate) async fn session(sessions: &Sessions, info: &SessionInfo) -> Result<Session, SetupError> {
    sessions.get(PRINCIPAL, info.id.as_str()).await.map_err(|error| failed(&error))
}

/// The latest session in which something was asked.
async fn last(sessions: &Sessions) -> Result<Session, SetupError> {
    let all = all(sessions).await?;
    let last = all.iter().find(|info| info.runs > 0);
    session(sessions, last.ok_or_else(|| SetupError::new("there is no session yet"))?).await
}

/// All sessions, the latest first.
pub(crate) async fn all(sessions: &Sessions) -> Result<Vec<SessionInfo>, SetupError> {
    sessions.list(PRINCIPAL).await.map_err(|error| failed(&error))
}

/// The session that the options name, which must be there.
pub(crate) async fn existing(
    sessions: &Sessions,
    choice: &crate::args::Choice,
) -> Result<Session, SetupError> {
    match &choice.session {
        Some(id) => session(sessions, &found(sessions, id).await?).await,
        None => last(sessions).await,
    }
}

/// The session that the options name; a new one if they name none.
pub(crate) async fn chosen(sessions: &Sessions, choice: &crate::args::Choice) -> Result<Session, SetupError> {
    if choice.last {
        return last(sessions).await;
    }
    let Some(id) = &choice.session else { return opened(sessions, None).await };
    let is_known = all(sessions).await?.iter().any(|info| info.id.as_str().starts_with(id.as_str()));
    if is_known {
        return session(sessions, &found(sessions, id).await?).await;
    }
    opened(sessions, Some(id)).await
}

/// A session that may be new.
pub(crate) async fn opened(sessions: &Sessions, id: Option<&str>) -> Result<Session, SetupError> {
    sessions.open(PRINCIPAL, id).await.map_err(|error| failed(&error))
}

pub(crate) fn failed(error: &SessionError) -> SetupError {
    SetupError::new(crate::output::with_causes(error))
}

/// Somebody's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) by_user: bool,
    pub(crate) text: String,
}

/// The words of user and model, with the names of attached documents. Calls and their results are left out, and so are
/// replies that a hook blocked or had made again.
pub(crate) fn said(messages: &[Arc<Message>]) -> Vec<Said> {
    let mut said = Vec::new();
    for message in messages.iter().filter(|message| is_read(message)) {
        let (by_user, text) = match &**message {
            Message::User(user) if user.origin == UserOrigin::Author => {
                let parts = user.parts.iter().filter_map(|part| match part {
                    UserPart::Document(document) => Some(format!("[{}]", name(document))),
                    UserPart::Text(text) => Some(text.text().to_owned()),
                    _ => None,
                });
                (true, parts.collect::<Vec<_>>().join("\n"))
            }
            Message::Assistant(assistant) => (false, assistant.text()),
            _ => continue,
        };
        if !text.trim().is_empty() {
            said.push(Said { by_user, text });
        }
    }
    said
}

/// A document's name for people.
pub(crate) fn name(document: &Document) -> String {
    document.file_name().unwrap_or(document.id().short()).to_owned()
}

#[cfg(test)]
mod tests {
    use attache_core::AssistantMessage;
    use attache_core::message::{AssistantPart, Metadata, TextPart};

    use super::*;

    #[test]
    fn a_reply_that_was_taken_back_is_not_shown() {
        let reply = |text: &str| AssistantMessage::new([TextPart::new(text).map(AssistantPart::Text)]);
        let mut hasty = reply("hasty");
        hasty.metadata = Metadata::default().with("withdrawn", true);
        let messages = [hasty, reply("better")].map(|reply| Message::Assistant(reply).shared());
        assert_eq!(said(&messages), [Said { by_user: false, text: "better".to_owned() }]);
    }
}
