//! Uploads what a request needs, once.

use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use attache_core::capability::Place;
use attache_core::files::{FileKey, FileReferences};
use attache_core::message::UserOrigin;
use attache_core::{
    BoxFuture, ChatRequest, Degradation, Document, DocumentSource, ErrorKind, Message, ModelCapabilities,
    ProviderError, UserPart,
};

use super::memo::{Kept, Key, Right, Step};
use super::owner::Owner;
use super::uploads::TIMEOUT;
use super::{NewFile, RemoteFile, Uploads};

/// The number of documents of one request that are uploaded at the same time.
const WIDTH: usize = 4;

/// The uploads of one call, and their results.
pub(crate) struct Uploading {
    uploads: Uploads,
    /// The capabilities of the model, and that it uploads.
    capabilities: Arc<ModelCapabilities>,
    owner: Arc<Owner>,
    /// The files that the caller referred to.
    given: FileReferences,
    used: Vec<Used>,
}

/// A file that a request names.
struct Used {
    key: Key,
    file: RemoteFile,
    /// True if it was uploaded for this request.
    fresh: bool,
}

/// A request's references, and what it sends itself against expectation.
pub(crate) struct Prepared {
    pub(crate) files: FileReferences,
    pub(crate) notes: Vec<Degradation>,
}

/// Documents that were sent with a request of a conversation. There they stay, since what was sent stays the prefix of
/// what is sent next.
#[derive(Clone, Debug, Default)]
struct Inline(HashSet<FileKey>);

impl Uploading {
    pub(crate) fn new(
        uploads: Uploads,
        capabilities: Arc<ModelCapabilities>,
        owner: Owner,
        given: FileReferences,
    ) -> Self {
        Self { uploads, capabilities, owner: Arc::new(owner), given, used: Vec::new() }
    }

    /// Sees to it that the large documents of a request are at the provider. No failure here is one of the call: what
    /// cannot be uploaded goes with the request.
    pub(crate) async fn prepare(&mut self, request: &ChatRequest) -> Prepared {
        self.used.clear();
        let mut prepared = Prepared { files: self.given.clone(), notes: Vec::new() };
        let documents = self.candidates(&request.messages);
        if documents.is_empty() {
            return prepared;
        }
        let scope = match self.owner.scope() {
            Ok(scope) => scope,
            // Whatever is wrong with address or headers is told when the request is encoded.
            Err(_) => return prepared,
        };
        let slot = format!("files/{}", self.owner.codec.model_id());
        let mut inline = Inline::default();
        if let Some(transcript) = &request.transcript
            && let Some(kept) = transcript.take::<Inline>(&slot)
        {
            // Put back at once: a call that is dropped must not take it along.
            transcript.put(&slot, kept.clone());
            inline = kept;
        }
        let now = tokio::time::Instant::now();
        let deadline = now.checked_add(self.uploads.timeout).unwrap_or(now + TIMEOUT);
        let wanted = documents.into_iter().filter(|(key, _)| !inline.0.contains(key));
        let ensured = wanted.map(|(key, document)| {
            let ensured = self.ensure((scope, key), document, deadline);
            let outcome: BoxFuture<'_, _> = Box::pin(async move { (key, document, ensured.await) });
            outcome
        });
        let mut is_new = false;
        let ensured = ensured.collect();
        for (key, document, outcome) in some_at_a_time(ensured).await {
            match outcome {
                Ok((file, fresh)) => {
                    prepared.files.insert(document, file.reference.as_str());
                    self.used.push(Used { key: (scope, key), file, fresh });
                }
                Err(why) => {
                    is_new = true;
                    inline.0.insert(key);
                    prepared.notes.push(note(document, &why));
                }
            }
        }
        if let Some(transcript) = request.transcript.as_ref().filter(|_| is_new) {
            transcript.put(&slot, inline);
        }
        prepared
    }

    /// True if preparing the request again may mend an error: a file that it named is lost.
    pub(crate) fn recovers(&self, error: &ProviderError) -> bool {
        let is_lost = self.owner.codec.files().is_some_and(|api| api.is_lost(error));
        if self.used.is_empty() || !is_lost {
            return false;
        }
        // An error names one file, but what was uploaded before is often lost together, and there is one more try. A
        // file that was uploaded just now is only to blame if it is named, or if there is nothing else.
        let is_named = |used: &Used| {
            let id = used.file.id.rsplit('/').next().unwrap_or_default();
            error.message().contains(id) || error.message().contains(&used.file.reference)
        };
        let (fresh, old): (Vec<_>, Vec<_>) = self.used.iter().partition(|used| used.fresh);
        let named: Vec<_> = fresh.iter().copied().filter(|used| is_named(used)).collect();
        let lost = [named, old, fresh].into_iter().find(|files| !files.is_empty());
        for used in lost.into_iter().flatten() {
            self.uploads.memo.lose(&used.key, &used.file.reference, used.fresh, Instant::now());
        }
        true
    }

    /// The documents that are large enough and may be named in their place, each once.
    fn candidates<'m>(&self, messages: &'m [Arc<Message>]) -> Vec<(FileKey, &'m Document)> {
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        let mut look = |content: &'m UserPart, place: Place| {
            let UserPart::Document(document) = content else { return };
            let DocumentSource::Bytes(bytes) = document.source() else { return };
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if self.capabilities.uploads(place, document.media_type(), size)
                && self.given.get(document).is_none()
                && let Some(key) = FileKey::of(document)
                && seen.insert(key)
            {
                found.push((key, document));
            }
        };
        for message in messages {
            match &**message {
                Message::User(message) => {
                    let place = match message.origin {
                        UserOrigin::ToolCallDocuments => Place::AfterToolResults,
                        _ => Place::User,
                    };
                    message.shown().iter().for_each(|content| look(content, place));
                }
                Message::ToolResults(message) => {
                    for result in &message.results {
                        let place = if result.is_error() { Place::FailedResult } else { Place::ToolResult };
                        result.attached().iter().for_each(|content| look(content, place));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The file of a document, uploaded if nobody did before, and whether it was. Requests that want the same document
    /// at the same time upload it once.
    ///
    /// # Errors
    /// Why it goes with the request.
    async fn ensure(
        &self,
        key: Key,
        document: &Document,
        deadline: tokio::time::Instant,
    ) -> Result<(RemoteFile, bool), String> {
        let late = || format!("the provider did not take it within {} s", self.uploads.timeout.as_secs());
        loop {
            match self.uploads.memo.next_step(key, Instant::now()) {
                Step::Use(file) => return Ok((file, false)),
                Step::Leave(why) => return Err(why),
                Step::Wait(mut settled) => {
                    // It only ever ends.
                    let ended = tokio::time::timeout_at(deadline, settled.changed()).await;
                    ended.map_err(|_| late())?.unwrap_or_default();
                }
                Step::Upload(right) => {
                    let sent = match NewFile::of(document, self.uploads.lifetime) {
                        Some(file) => {
                            let uploaded = tokio::time::timeout_at(deadline, self.owner.upload(&file)).await;
                            let late = |_| Err(ProviderError::new(ErrorKind::Timeout, late()));
                            uploaded.unwrap_or_else(late).map(|remote| (file, remote))
                        }
                        None => Err(ProviderError::new(ErrorKind::Unsupported, "its bytes are not loaded")),
                    };
                    return self.settle(right, sent).map(|file| (file, true));
                }
            }
        }
    }

    fn settle(
        &self,
        right: Right,
        sent: Result<(NewFile, RemoteFile), ProviderError>,
    ) -> Result<RemoteFile, String> {
        let now = Instant::now();
        match sent {
            Ok((new, file)) => {
                tracing::debug!(
                    bytes = new.content.len(),
                    media = new.media_type.essence(),
                    "document uploaded"
                );
                let kept = Kept {
                    ends: file.lifetime.and_then(|lifetime| now.checked_add(lifetime)),
                    file: file.clone(),
                    bytes: new.content.len(),
                    name: new.name,
                    media_type: new.media_type,
                    owner: Arc::clone(&self.owner),
                };
                right.settle(Ok(kept), now);
                Ok(file)
            }
            Err(error) => {
                tracing::warn!(%error, "a document could not be uploaded, it goes with the request");
                right.settle(Err((&error, &self.owner)), now);
                Err(error.message().to_owned())
            }
        }
    }
}

fn note(document: &Document, why: &str) -> Degradation {
    let name = document.file_name().unwrap_or_else(|| document.id().short());
    let size = document.size().unwrap_or_default();
    Degradation::new("uploads", format!("{name} ({size} bytes) was sent with the request: {why}"))
}

/// The outputs of futures, in order, of which only so many go on at the same time.
async fn some_at_a_time<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut waiting = futures.into_iter().enumerate();
    let mut going: Vec<_> = waiting.by_ref().take(WIDTH).collect();
    let mut done = Vec::new();
    poll_fn(|context| {
        let mut at = 0;
        while let Some((number, future)) = going.get_mut(at) {
            match future.as_mut().poll(context) {
                Poll::Ready(output) => {
                    done.push((*number, output));
                    drop(going.swap_remove(at));
                    going.extend(waiting.next());
                }
                Poll::Pending => at += 1,
            }
        }
        if going.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, output)| output).collect()
}

impl fmt::Debug for Uploading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploading").field("owner", &self.owner).finish_non_exhaustive()
    }
}
