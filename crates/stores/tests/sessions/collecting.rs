//! The documents that sessions mention stay, and those of cleared ones go.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{
    Agent, EndReason, NoArguments, RunInput, SessionId, SessionStore, Sessions, deliver, tool_fn,
};
use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::tool::Deferred;
use attache_core::{
    BoxFuture, Capture, Document, DocumentId, DocumentStore as _, MediaType, Message, ResultStatus,
    ToolError, ToolResult, UserMessage, UserPart,
};
use attache_stores::{FileDocumentStore, ObjectDocumentStore, PostgresStore, References, SqliteStore};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use futures_util::future::join;
use sqlx::Connection as _;

use crate::place::Place;

/// A store as whoever collects sees it.
async fn references(place: &Place) -> Box<dyn References> {
    match place {
        Place::Memory(_) => panic!("memory has no references"),
        Place::Sqlite(folder) => Box::new(SqliteStore::open(folder.path().join("s.db")).await.unwrap()),
        Place::Postgres(database) => Box::new(PostgresStore::connect(&database.url).await.unwrap()),
    }
}

fn document(name: &str) -> Document {
    Document::from_bytes(format!("This is {name}."), "text/plain")
        .with_id(DocumentId::parse(name).unwrap())
        .with_file_name(name)
}

/// Documents of which none is too young to be removed.
fn documents() -> Arc<ObjectDocumentStore> {
    Arc::new(ObjectDocumentStore::in_memory().with_grace(Duration::ZERO))
}

/// Sessions whose first answer fetches `fetched` and begins a job.
async fn sessions(place: &Place, documents: &Arc<ObjectDocumentStore>, fetched: &[Document]) -> Sessions {
    let fetched = fetched.to_vec();
    let fetch = tool_fn("fetch", "Fetches.", move |_: NoArguments| {
        let fetched = fetched.clone();
        async move { Ok::<_, ToolError>(fetched) }
    });
    let render =
        tool_fn("render", "Renders.", |_: NoArguments| async { Ok::<_, ToolError>(Deferred::to("job")) });
    let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::User(_)) if request.messages.len() == 1 => {
            Turn::call("fetch", "{}").and_call("render", "{}")
        }
        _ => Turn::text("done"),
    });
    let agent = Agent::builder(model.unverified()).tool(fetch).tool(render).store(Arc::clone(documents) as _);
    Sessions::new(agent.build().unwrap(), place.store().await).with_expiry(None)
}

async fn are_kept(documents: &ObjectDocumentStore, names: &[&str]) -> Vec<bool> {
    let mut kept = Vec::new();
    for name in names {
        kept.push(documents.get(&DocumentId::parse(*name).unwrap()).await.is_ok());
    }
    kept
}

/// Documents of questions, of results, and of results that nobody has taken yet.
async fn what_sessions_mention_stays(place: Place) {
    let documents = documents();
    let sessions = sessions(&place, &documents, &[document("fetched")]).await;
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let parts = [UserPart::text("Read this."), Some(UserPart::Document(document("given")))];
    let input = RunInput::new([Message::User(UserMessage::new(parts)).shared()]);
    let pending = session.run(input).outcome().await.unwrap();
    assert_eq!(pending.reason, EndReason::PendingExternal);
    let call = &pending.deferred[0].call;
    documents.put(&document("rendered")).await.unwrap();
    let stored = document("rendered").without_bytes().with_store_id(documents.id());
    let tree = Capture::new().finish(&stored).unwrap();
    let journal = session.journal().await.unwrap().unwrap();
    deliver(&*journal, ToolResult::new(call, ResultStatus::Ok, tree)).await.unwrap();
    documents.put(&document("stray")).await.unwrap();

    let names = ["given", "fetched", "rendered", "stray"];
    let references = references(&place).await;
    documents.collect(&[&*references]).await.unwrap();
    assert_eq!(are_kept(&documents, &names).await, [true, true, true, false]);
    // The same once they stand in the messages of the next run.
    session.resume().outcome().await.unwrap();
    session.run("And now?").outcome().await.unwrap();
    documents.collect(&[&*references]).await.unwrap();
    assert_eq!(are_kept(&documents, &names).await, [true, true, true, false]);
    // The process that clears the session dies before it deletes the documents.
    assert_eq!(place.store().await.clear("ann", None).await.unwrap().sessions.len(), 1);
    assert_eq!(documents.collect(&[&*references]).await.unwrap().documents, 3);
    assert_eq!(are_kept(&documents, &names).await, [false; 4]);
}

/// Two sessions with a document in common, each cleared by another process.
async fn what_two_that_clear_at_once_leave_is_collected(place: Place) {
    for round in 0..8 {
        let documents = documents();
        let fetched = [document("shared")];
        let (here, there) =
            (sessions(&place, &documents, &fetched).await, sessions(&place, &documents, &fetched).await);
        let (here, there) = (here.with_documents(documents.clone()), there.with_documents(documents.clone()));
        for (sessions, id) in [(&here, "a"), (&there, "b")] {
            sessions.open("ann", Some(id)).await.unwrap().run("go").outcome().await.unwrap();
        }
        if round == 0 {
            here.clear("ann", "a").await.unwrap();
            assert_eq!(are_kept(&documents, &["shared"]).await, [true], "the other one has it still");
            there.clear("ann", "b").await.unwrap();
        } else {
            let (one, other) = join(here.clear("ann", "a"), there.clear("ann", "b")).await;
            one.and(other).unwrap();
        }
        documents.collect(&[&*references(&place).await]).await.unwrap();
        assert_eq!(are_kept(&documents, &["shared"]).await, [false], "round {round}");
    }
}

#[tokio::test]
async fn what_sessions_in_sqlite_mention_stays() {
    what_sessions_mention_stays(Place::sqlite()).await;
}

#[tokio::test]
async fn what_sessions_in_postgres_mention_stays() {
    what_sessions_mention_stays(Place::postgres()).await;
}

#[tokio::test]
async fn what_two_that_clear_sqlite_at_once_leave_is_collected() {
    what_two_that_clear_at_once_leave_is_collected(Place::sqlite()).await;
}

#[tokio::test]
async fn what_two_that_clear_postgres_at_once_leave_is_collected() {
    what_two_that_clear_at_once_leave_is_collected(Place::postgres()).await;
}

/// A server with one file, or none.
struct Web(Option<&'static [u8]>);

impl Fetcher for Web {
    fn fetch<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let found = self.0.map(|bytes| {
            let fetched = Fetched::new(bytes).with_media_type(MediaType::parse("application/pdf"));
            fetched.with_file_name(Some("lease.pdf".to_owned()))
        });
        let gone = || FetchError::new(FetchErrorKind::NotFound, "its server answers with status 404");
        Box::pin(std::future::ready(found.ok_or_else(gone)))
    }
}

#[tokio::test]
async fn the_word_of_a_server_about_a_document_stays_and_goes_with_it() {
    let (place, documents) = (Place::sqlite(), documents());
    let here = async |web| {
        let model = ScriptedModel::new([Turn::text("It is a lease.")]);
        let model = model.with_capabilities_of("anthropic", "claude-opus-4-8");
        let agent = Agent::builder(model.clone()).fetcher(Web(web)).store(Arc::clone(&documents) as _);
        let sessions = Sessions::new(agent.build().unwrap(), place.store().await);
        (sessions.with_documents(documents.clone()), model)
    };
    let (sessions, model) = here(Some(b"%PDF-1.4 a lease")).await;
    let lease = Document::external("https://files.example/d/1").with_id(DocumentId::parse("d").unwrap());
    let parts = [UserPart::text("What is this?"), Some(UserPart::Document(lease))];
    let input = RunInput::new([Message::User(UserMessage::new(parts)).shared()]);
    sessions.open("ann", Some("s")).await.unwrap().run(input).outcome().await.unwrap();
    let shown = format!("{:?}", model.requests()[0].messages);
    assert!(shown.contains("lease.pdf") && shown.contains("application/pdf"), "{shown}");

    let references = references(&place).await;
    assert_eq!(documents.collect(&[&*references]).await.unwrap().documents, 0);
    let (sessions, model) = here(None).await;
    sessions.get("ann", "s").await.unwrap().run("And now?").outcome().await.unwrap();
    let again = format!("{:?}", model.requests()[0].messages);
    assert!(again.starts_with(shown.trim_end_matches(']')), "{again} is not {shown}");

    sessions.clear("ann", "s").await.unwrap();
    assert_eq!(documents.collect(&[&*references]).await.unwrap().documents, 0, "nothing is left of it");
}

/// Two transactions that do not see each other: each finds the document in the session of the other one.
#[tokio::test]
async fn a_document_that_two_clearings_left_to_each_other_is_collected() {
    let place = Place::postgres();
    let Place::Postgres(database) = &place else { unreachable!() };
    let documents = documents();
    let sessions =
        sessions(&place, &documents, &[document("shared")]).await.with_documents(documents.clone());
    for id in ["a", "b"] {
        sessions.open("ann", Some(id)).await.unwrap().run("go").outcome().await.unwrap();
    }
    let mut other = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let mut clearing = other.begin().await.unwrap();
    sqlx::query("DELETE FROM attache_session WHERE id = 'b'").execute(&mut *clearing).await.unwrap();
    let store: Arc<dyn SessionStore> = place.store().await;
    let id = SessionId::parse("a").unwrap();
    assert!(store.clear("ann", Some(&id)).await.unwrap().documents.is_empty(), "b has it still");
    clearing.commit().await.unwrap();
    assert_eq!(are_kept(&documents, &["shared"]).await, [true]);
    documents.collect(&[&*references(&place).await]).await.unwrap();
    assert_eq!(are_kept(&documents, &["shared"]).await, [false]);
}

#[tokio::test]
async fn documents_of_sessions_stay_in_a_folder_until_their_session_is_gone() {
    let place = Place::sqlite();
    let Place::Sqlite(folder) = &place else { unreachable!() };
    let documents = FileDocumentStore::open(folder.path().join("documents")).unwrap();
    let documents = Arc::new(documents.with_grace(Duration::ZERO));
    let fetched = document("fetched");
    let fetch = tool_fn("fetch", "Fetches.", move |_: NoArguments| {
        let fetched = fetched.clone();
        async move { Ok::<_, ToolError>(fetched) }
    });
    let model = FunctionModel::new(|request, _| match request.messages.len() {
        1 => Turn::call("fetch", "{}"),
        _ => Turn::text("done"),
    });
    let agent = Agent::builder(model.unverified()).tool(fetch).store(Arc::clone(&documents) as _);
    let sessions = Sessions::new(agent.build().unwrap(), place.store().await);
    sessions.open("ann", Some("s")).await.unwrap().run("go").outcome().await.unwrap();
    let references = references(&place).await;
    let id = DocumentId::parse("fetched").unwrap();
    documents.collect(&[&*references]).await.unwrap();
    documents.get(&id).await.unwrap();
    place.store().await.clear("ann", None).await.unwrap();
    documents.collect(&[&*references]).await.unwrap();
    documents.get(&id).await.unwrap_err();
}

#[tokio::test]
async fn nothing_is_collected_where_a_session_cannot_be_read() {
    let place = Place::sqlite();
    let Place::Sqlite(folder) = &place else { unreachable!() };
    let documents = documents();
    let sessions = sessions(&place, &documents, &[document("fetched")]).await;
    sessions.open("ann", Some("s")).await.unwrap().run("go").outcome().await.unwrap();
    let path = format!("sqlite://{}", folder.path().join("s.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&path).await.unwrap();
    let torn =
        "UPDATE attache_entry SET body = substr(body, 1, length(body) - 9) WHERE body LIKE '%fetched%'";
    assert!(sqlx::query(torn).execute(&mut connection).await.unwrap().rows_affected() > 0);
    let references = references(&place).await;
    assert_eq!(
        documents.collect(&[&*references]).await.unwrap_err().kind(),
        attache_core::StoreErrorKind::Corrupt
    );
    assert_eq!(are_kept(&documents, &["fetched"]).await, [true]);
}

/// Another node was updated meanwhile, and may mention documents elsewhere.
#[tokio::test]
async fn nothing_is_collected_from_a_database_of_a_newer_form() {
    let newer = "INSERT INTO attache_migration (version, description, success, checksum, execution_time) \
                 SELECT max(version) + 1, 'newer', success, checksum, 0 FROM attache_migration GROUP BY success, checksum \
                 ORDER BY 1 DESC LIMIT 1";
    for place in [Place::sqlite(), Place::postgres()] {
        let references = references(&place).await;
        assert!(references.document_ids().await.unwrap().is_empty());
        match &place {
            Place::Memory(_) => unreachable!(),
            Place::Sqlite(folder) => {
                let path = format!("sqlite://{}", folder.path().join("s.db").display());
                let mut other = sqlx::SqliteConnection::connect(&path).await.unwrap();
                sqlx::query(newer).execute(&mut other).await.unwrap();
            }
            Place::Postgres(database) => {
                let mut other = sqlx::PgConnection::connect(&database.url).await.unwrap();
                sqlx::query(newer).execute(&mut other).await.unwrap();
            }
        }
        let refused = references.document_ids().await.unwrap_err();
        assert_eq!(refused.kind(), attache_core::StoreErrorKind::Corrupt, "{refused}");
    }
}

#[tokio::test]
async fn each_database_has_a_name_that_stays() {
    for place in [Place::sqlite(), Place::postgres()] {
        let mut names = Vec::new();
        for _ in 0..2 {
            names.push(match &place {
                Place::Memory(_) => unreachable!(),
                Place::Sqlite(folder) => {
                    SqliteStore::open(folder.path().join("s.db")).await.unwrap().database_id().await.unwrap()
                }
                Place::Postgres(database) => {
                    PostgresStore::connect(&database.url).await.unwrap().database_id().await.unwrap()
                }
            });
        }
        assert!(names[0] == names[1] && names[0].len() == 32, "{names:?}");
    }
    let other = Place::sqlite();
    let Place::Sqlite(folder) = &other else { unreachable!() };
    let name = SqliteStore::open(folder.path().join("s.db")).await.unwrap().database_id().await.unwrap();
    let Place::Sqlite(folder) = &Place::sqlite() else { unreachable!() };
    let another = SqliteStore::open(folder.path().join("s.db")).await.unwrap().database_id().await.unwrap();
    assert_ne!(name, another);
}

// More sessions than are read at a time.
#[tokio::test]
async fn documents_of_many_sessions_stay() {
    for place in [Place::sqlite(), Place::postgres()] {
        let documents = documents();
        let names: Vec<_> = (0..120).map(|at| format!("d{at}")).collect();
        let agent = Agent::builder(ScriptedModel::new(names.iter().map(|_| Turn::text("done"))));
        let agent = agent.store(Arc::clone(&documents) as _).build().unwrap();
        let sessions = Sessions::new(agent, place.store().await).with_expiry(None);
        for name in &names {
            let parts = [UserPart::text("Read this."), Some(UserPart::Document(document(name)))];
            let input = RunInput::new([Message::User(UserMessage::new(parts)).shared()]);
            sessions.open("ann", Some(name)).await.unwrap().run(input).outcome().await.unwrap();
        }
        documents.put(&document("stray")).await.unwrap();
        assert_eq!(documents.collect(&[&*references(&place).await]).await.unwrap().documents, 1);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert!(are_kept(&documents, &names).await.iter().all(|kept| *kept));
    }
}
