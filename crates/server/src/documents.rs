//! Documents that clients upload, and those of sessions.

use std::sync::Arc;

use attache_agent::Session;
use attache_core::hash::hex;
use attache_core::{
    Document, DocumentId, DocumentStore, MediaKind, Message, StoreError, StoreErrorKind, fresh,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use crate::fault::Fault;

/// The documents of all principals. The id of an upload says whose it is, so that no other list has to.
#[derive(Clone)]
pub(crate) struct Documents {
    store: Arc<dyn DocumentStore>,
    /// The media types of uploads; all if there are none.
    types: Arc<[String]>,
}

/// The facts about an upload that its bytes do not tell. They are kept beside it, under [an id of its own](DocumentId::facts).
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    media_type: Option<String>,
    file_name: Option<String>,
    size: Option<u64>,
    /// None of uploads of versions before.
    sha256: Option<String>,
}

/// An upload before its bytes are read.
pub(crate) struct Upload {
    id: DocumentId,
    facts: Facts,
}

impl Upload {
    pub(crate) fn size(&self) -> Option<u64> {
        self.facts.size
    }

    /// The SHA-256 of its bytes in hexadecimal digits, if it was kept with them.
    pub(crate) fn sha256(&self) -> Option<&str> {
        self.facts.sha256.as_deref()
    }

    /// The document, where all is known of it without its bytes.
    fn known(&self, store: &str) -> Option<Document> {
        let Facts { media_type, file_name, size, .. } = &self.facts;
        let document = Document::stored(self.id.clone(), store, media_type.as_deref()?).with_size((*size)?);
        Some(match file_name {
            Some(name) => document.with_file_name(name.as_str()),
            None => document,
        })
    }
}

impl Documents {
    pub(crate) fn new(store: Arc<dyn DocumentStore>, types: &[String]) -> Self {
        Self { store, types: types.into() }
    }

    /// Keeps a document of a principal.
    pub(crate) async fn put(
        &self,
        principal: &str,
        bytes: Bytes,
        media_type: &str,
        file_name: Option<String>,
    ) -> Result<(Document, String), Fault> {
        let id = format!("{}-{}", fresh::uuid(), owner(principal));
        let id = DocumentId::parse(id).ok_or_else(Fault::broken)?;
        let mut document = Document::from_bytes(bytes, media_type).with_id(id);
        if let Some(name) = file_name {
            document = document.with_file_name(name);
        }
        let media_type = document.media_type();
        if !self.types.is_empty() && !self.types.iter().any(|pattern| media_type.matches(pattern)) {
            return Err(Fault::wrong_type(media_type.essence()));
        }
        let document = document.with_store_id(self.store.id());
        let sha256 = sha256_of(document.bytes().unwrap_or_default()).await?;
        self.put_facts(&document, Some(&sha256)).await?;
        self.store.put(&document).await.map_err(|error| failed(&error))?;
        Ok((document, sha256))
    }

    /// Keeps what the bytes of an upload do not tell.
    async fn put_facts(&self, document: &Document, sha256: Option<&str>) -> Result<(), Fault> {
        let facts = Facts {
            media_type: Some(document.media_type().to_string()),
            file_name: document.file_name().map(str::to_owned),
            size: document.size(),
            sha256: sha256.map(str::to_owned),
        };
        let facts = serde_json::to_string(&facts).map_err(|error| Fault::internal(&error))?;
        let facts = Document::inline(facts).with_id(document.id().facts());
        self.store.put(&facts).await.map_err(|error| failed(&error))
    }

    /// An upload of that principal, for a message that refers to it. It counts as young from now on: a collection would
    /// remove one that is old before a log mentions it.
    pub(crate) async fn reference(&self, principal: &str, id: &str) -> Result<Document, Fault> {
        let upload = self.find(principal, id).await?;
        self.store.renew(&upload.id).await.map_err(|error| failed(&error))?;
        let sha256 = upload.sha256().map(str::to_owned);
        let document = match upload.known(self.store.id()) {
            Some(document) => document,
            None => self.read(upload).await?.0.without_bytes(),
        };
        match self.store.renew(&document.id().facts()).await {
            // They were removed meanwhile, or it lacks them and has what its bytes tell from now on.
            Err(error) if error.kind() == StoreErrorKind::NotFound => {
                self.put_facts(&document, sha256.as_deref()).await?;
            }
            renewed => renewed.map_err(|error| failed(&error))?,
        }
        Ok(document)
    }

    /// An upload of that principal.
    pub(crate) async fn get(&self, principal: &str, id: &str) -> Result<(Document, Bytes), Fault> {
        self.read(self.find(principal, id).await?).await
    }

    /// The facts about what may be an upload of that principal.
    pub(crate) async fn find(&self, principal: &str, id: &str) -> Result<Upload, Fault> {
        let id = DocumentId::parse(id).filter(|id| owns(principal, id.as_str()));
        let id = id.ok_or_else(|| Fault::not_found("document"))?;
        let facts = match self.store.get(&id.facts()).await {
            Ok(facts) => serde_json::from_slice(&facts).unwrap_or_default(),
            // The bytes tell most of it.
            Err(_) => Facts::default(),
        };
        Ok(Upload { id, facts })
    }

    /// An upload with its bytes.
    pub(crate) async fn read(&self, Upload { id, facts }: Upload) -> Result<(Document, Bytes), Fault> {
        let bytes = self.store.get(&id).await.map_err(|error| failed(&error))?;
        let mut document = Document::from_bytes(bytes.clone(), facts.media_type.as_deref().unwrap_or(""));
        if let Some(name) = facts.file_name {
            document = document.with_file_name(name);
        }
        Ok((document.with_id(id).with_store_id(self.store.id()), bytes))
    }

    /// Forgets an upload of that principal.
    pub(crate) async fn delete(&self, principal: &str, id: &str) -> Result<(), Fault> {
        let (document, _) = self.get(principal, id).await?;
        self.store.delete(document.id()).await.map_err(|error| failed(&error))?;
        self.store.delete(&document.id().facts()).await.map_err(|error| failed(&error))
    }
}

/// The SHA-256 of bytes in hexadecimal digits. Many take a while, in which a thread answers nobody.
pub(crate) async fn sha256_of(bytes: Bytes) -> Result<String, Fault> {
    spawn_blocking(move || hex(&Sha256::digest(bytes))).await.map_err(|error| Fault::internal(&error))
}

/// The document of that id that a session shows: without details, none that a tool returned.
pub(crate) async fn document_of_session(
    session: &Session,
    id: &str,
    details: bool,
) -> Result<Option<Document>, Fault> {
    let Some(id) = DocumentId::parse(id) else { return Ok(None) };
    let history = session.history().await?;
    let mut shown = history.iter().flat_map(|message| shown(message, details));
    Ok(shown.find(|document| *document.id() == id).cloned())
}

/// The documents of a message that may be shown. One that a handler withholds from the model is nobody's business either.
fn shown(message: &Message, details: bool) -> Vec<&Document> {
    let is_of_tools = matches!(message, Message::ToolResults(_)) || message.is_tool_call_documents();
    if is_of_tools && !details {
        return Vec::new();
    }
    let withheld: Vec<&DocumentId> = match message {
        Message::ToolResults(results) => results.results.iter().flat_map(|result| &result.withheld).collect(),
        _ => Vec::new(),
    };
    let mut documents = message.documents();
    documents.retain(|document| !withheld.contains(&document.id()));
    documents
}

/// The content of a document of a conversation.
pub(crate) async fn content(store: &dyn DocumentStore, document: &Document) -> Result<Bytes, Fault> {
    if let Some(bytes) = document.bytes() {
        return Ok(bytes);
    }
    let bytes = store.get(document.id()).await.map_err(|error| failed(&error))?;
    let (document, read) = (document.clone(), bytes.clone());
    let is_its = spawn_blocking(move || document.may_have(&read)).await;
    match is_its.map_err(|error| Fault::internal(&error))? {
        true => Ok(bytes),
        false => Err(Fault::not_found("document")),
    }
}

/// The images among these documents, with their content. One that cannot be read is left out.
pub(crate) async fn images_with_content<'d>(
    store: &dyn DocumentStore,
    documents: impl Iterator<Item = &'d Document>,
) -> Vec<Document> {
    let mut images = Vec::new();
    for image in documents.filter(|made| made.media_type().kind() == MediaKind::Image) {
        match content(store, image).await {
            Ok(bytes) => images.push(image.clone().with_bytes(bytes)),
            Err(fault) => tracing::warn!(code = fault.code(), "an image that a model made cannot be told"),
        }
    }
    images
}

fn failed(error: &StoreError) -> Fault {
    match error.kind() {
        StoreErrorKind::NotFound => Fault::not_found("document"),
        StoreErrorKind::TooLarge => Fault::invalid("the store takes no document of this size"),
        _ => Fault::internal(error),
    }
}

/// True for an id that only an upload of that principal has.
pub(crate) fn owns(principal: &str, id: &str) -> bool {
    id.strip_suffix(owner(principal).as_str()).is_some_and(|rest| rest.ends_with('-'))
}

/// The end of the ids of a principal's uploads.
fn owner(principal: &str) -> String {
    hex(Sha256::digest(format!("attache uploads\0{principal}").as_bytes()).iter().take(16))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use attache_agent::MemoryDocumentStore;
    use attache_core::BoxFuture;
    use attache_stores::FileDocumentStore;
    use http::StatusCode;

    // A collection looks at the age of files.
    #[tokio::test]
    async fn an_upload_that_is_used_again_is_as_young_as_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(FileDocumentStore::open(folder.path()).unwrap());
        let documents = Documents::new(store, &[]);
        let name = Some("a.csv".to_owned());
        let (put, _) =
            documents.put("ann", Bytes::from_static(b"day,rain\n"), "text/csv", name).await.unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let files: Vec<_> = files().filter(|path| path.extension().is_some_and(|end| end == "doc")).collect();
        assert_eq!(files.len(), 2, "it and its facts");
        for file in &files {
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        let again = documents.reference("ann", put.id().as_str()).await.unwrap();
        assert_eq!((again.file_name(), again.media_type().essence()), (Some("a.csv"), "text/csv"));
        let written = || files.iter().map(|file| std::fs::metadata(file).unwrap().modified().unwrap());
        let renewed: Vec<_> = written().collect();
        assert!(renewed.iter().all(|written| *written > std::time::UNIX_EPOCH));
        documents.reference("ann", put.id().as_str()).await.unwrap();
        assert!(written().eq(renewed), "it is young, and nothing is written again");
    }

    /// A store whose collection takes the facts about what is renewed a moment before, and that counts what is read.
    #[derive(Default)]
    struct Collected(MemoryDocumentStore, Mutex<Vec<String>>);

    impl DocumentStore for Collected {
        fn id(&self) -> &str {
            self.0.id()
        }

        fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
            self.0.put(document)
        }

        fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
            self.1.lock().unwrap().push(id.to_string());
            self.0.get(id)
        }

        fn renew<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async move {
                if id.as_str().ends_with("-facts") {
                    self.0.delete(id).await?;
                }
                self.0.renew(id).await
            })
        }

        fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
            self.0.delete(id)
        }
    }

    // Each turn of a conversation names the uploads of all turns before.
    #[tokio::test]
    async fn an_upload_is_referred_to_without_its_bytes_and_keeps_its_facts() {
        let store = Arc::new(Collected::default());
        let documents = Documents::new(store.clone(), &[]);
        let name = Some("a.csv".to_owned());
        let (put, sha256) =
            documents.put("ann", Bytes::from_static(b"day,rain\n"), "text/csv", name).await.unwrap();
        let named = documents.reference("ann", put.id().as_str()).await.unwrap();
        assert_eq!(
            (
                named.id(),
                named.file_name(),
                named.media_type(),
                named.size(),
                named.store_id(),
                named.bytes()
            ),
            (put.id(), Some("a.csv"), put.media_type(), Some(9), put.store_id(), None)
        );
        assert_eq!(*store.1.lock().unwrap(), [put.id().facts().to_string()]);
        let upload = documents.find("ann", put.id().as_str()).await.unwrap();
        assert_eq!(upload.sha256(), Some(&*sha256));
        let (found, bytes) = documents.get("ann", put.id().as_str()).await.unwrap();
        assert_eq!((found.file_name(), &bytes[..]), (Some("a.csv"), &b"day,rain\n"[..]));
        // One of a version before, which has no facts.
        store.0.delete(&put.id().facts()).await.unwrap();
        let named = documents.reference("ann", put.id().as_str()).await.unwrap();
        assert_eq!((named.size(), named.bytes()), (Some(9), None));
        documents.delete("ann", put.id().as_str()).await.unwrap();
        let gone = documents.reference("ann", put.id().as_str()).await.unwrap_err();
        assert_eq!(gone.status, StatusCode::NOT_FOUND);
    }

    // A40
    #[tokio::test]
    async fn an_upload_is_its_principals_alone() {
        let documents = Documents::new(Arc::new(MemoryDocumentStore::default()), &[]);
        let name = Some("a.csv".to_owned());
        let (put, _) =
            documents.put("ann", Bytes::from_static(b"day,rain\n"), "text/plain", name).await.unwrap();
        let (found, bytes) = documents.get("ann", put.id().as_str()).await.unwrap();
        assert_eq!((found.file_name(), found.media_type().essence()), (Some("a.csv"), "text/csv"));
        assert_eq!(&bytes[..], b"day,rain\n");
        for (principal, id) in [
            ("bob", put.id().as_str().to_owned()),
            ("ann", format!("{}-facts", put.id())),
            ("ann", "other".to_owned()),
            ("ann", String::new()),
        ] {
            let fault = documents.get(principal, &id).await.unwrap_err();
            assert_eq!(fault.status, StatusCode::NOT_FOUND, "{principal} {id}");
        }
    }
}
