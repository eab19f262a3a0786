//! The work of a store of sessions, with the connections of its database.
//!
//! Writes own what they need and go on by themselves: one that stood still because nobody polls its caller would keep
//! others out.

use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use attache_agent::{
    Adopt, Append, Appended, Cleared, Delivery, Entry, Fork, Idle, JournalError, Key, OpenSession, Opened,
    Orphan, RunInfo, SessionError, SessionId, SessionInfo, SessionStore, StopRequest, StoredRun, Take, Taken,
};
use attache_core::words::WordQuery;
use attache_core::{BoxFuture, DocumentId, StoreError, fresh};

use super::clear::Meant;
use super::dialect::{APPENDS_AT_ONCE, append_usual, open_usual, take_usual, tell};
use super::store::{POLL, Store};
use super::{append, clear, fork, lease, nodes, read, search};
use crate::sql::error::{Failing, SqlError, in_time, written};
use crate::sql::given_up_leases::ADOPTED;
use crate::sql::prepared::Prepared;

impl SessionStore for Store {
    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        let OpenSession { id, principal, make, now, expired_before } = open;
        let (store, id, principal) = (self.clone(), id.clone(), principal.to_owned());
        Box::pin(async move {
            if let Some(state) = in_time(open_usual(self, open)).await.map_err(SqlError::session)? {
                return Ok(Opened { state, gone: Cleared::default() });
            }
            let opened = written(async move {
                let open = OpenSession { id: &id, principal: &principal, make, now, expired_before };
                lease::open(&store, open).await
            });
            opened.await.map_err(SqlError::session)
        })
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        Box::pin(async move {
            let listed = in_time(async { read::list(&mut *self.reading().await?, principal).await });
            listed.await.map_err(SqlError::store)
        })
    }

    fn info<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionInfo>, StoreError>> {
        Box::pin(async move {
            let found =
                in_time(async { read::one(&mut *self.reading().await?, principal, session.as_str()).await });
            found.await.map_err(SqlError::store)
        })
    }

    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a WordQuery,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        Box::pin(async move {
            let unread = in_time(async { search::unread(&mut *self.reading().await?, principal).await });
            for session in unread.await.map_err(SqlError::store)? {
                note_words(self, principal, &session).await.map_err(SqlError::store)?;
            }
            let found =
                in_time(async { search::search(&mut *self.reading().await?, principal, query, limit).await });
            found.await.map_err(SqlError::store)
        })
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        Box::pin(async move {
            let counted = in_time(async { read::count(&mut *self.reading().await?, principal).await });
            counted.await.map_err(SqlError::store)
        })
    }

    fn rename<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        let (principal, title) = (principal.to_owned(), title.to_owned());
        Box::pin(async move {
            let renamed = written(async move {
                let mut writing = store.writing().await?;
                let renamed = fork::rename(&mut writing, &principal, session.as_str(), &title).await?;
                writing.commit().await?;
                Ok(renamed)
            });
            renamed.await.map_err(SqlError::store)
        })
    }

    fn fork<'a>(&'a self, fork: Fork<'a>) -> BoxFuture<'a, Result<Cleared, SessionError>> {
        let Fork { principal, session, run, questions, id, now } = fork;
        let (store, session, id) = (self.clone(), session.clone(), id.clone());
        let (principal, run) = (principal.to_owned(), run.map(str::to_owned));
        Box::pin(async move {
            let forked = written(async move {
                let (principal, session, run, id) = (&*principal, &session, run.as_deref(), &id);
                let fork = Fork { principal, session, run, questions, id, now };
                let mut writing = store.writing().await?;
                fork::fork(&mut writing, fork).await?;
                writing.commit().await?;
                // There is room for any number.
                Ok(Cleared::default())
            });
            forked.await.map_err(SqlError::session)
        })
    }

    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<Taken, SessionError>> {
        let Take { session, principal, run, holder, now, until } = take;
        let (store, session, principal) = (self.clone(), session.clone(), principal.to_owned());
        let (run, holder) = (run.map(str::to_owned), holder.to_owned());
        Box::pin(async move {
            if let Some(taken) = in_time(take_usual(self, take)).await.map_err(SqlError::session)? {
                return Ok(taken);
            }
            // A lease is not for a caller that is gone.
            let waits = Arc::new(());
            let waiting = Arc::downgrade(&waits);
            let taken = written(async move {
                let (run, holder) = (run.as_deref(), holder.as_str());
                let take = Take { session: &session, principal: &principal, run, holder, now, until };
                let left = store.left().of(session.as_str());
                waiting.upgrade().ok_or(SqlError::Late)?;
                let mut writing = store.writing().await?;
                let taken = lease::take(&mut writing, take, &left).await?;
                waiting.upgrade().ok_or(SqlError::Late)?;
                writing.commit().await?;
                store.left().forget(session.as_str(), &left);
                Ok(taken)
            });
            let taken = taken.await.map_err(SqlError::session);
            drop(waits);
            taken
        })
    }

    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        Box::pin(async move {
            let renewed = written(async move {
                lease::renew(&mut *store.single().await?, session.as_str(), fence, until).await
            });
            renewed.await.map_err(SqlError::store)
        })
    }

    fn release<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        kept_until: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        Box::pin(async move {
            let released = written(async move {
                lease::release(&mut *store.single().await?, session.as_str(), fence, kept_until).await
            });
            released.await.map_err(SqlError::store)
        })
    }

    fn abandon(&self, session: &SessionId, holder: &str) {
        self.left().note(session.as_str(), holder);
    }

    fn spare(&self, session: &SessionId) {
        self.left().spare(session.as_str());
    }

    fn load<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        Box::pin(async move {
            let loaded = in_time(async {
                read::load(&mut *self.reading().await?, principal, session.as_str(), run).await
            });
            loaded.await.map_err(SqlError::journal)
        })
    }

    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>> {
        Box::pin(async move {
            let runs =
                in_time(async { read::runs(&mut *self.reading().await?, principal, session.as_str()).await });
            runs.await.map_err(SqlError::store)
        })
    }

    fn append<'a>(&'a self, append: &'a Append) -> BoxFuture<'a, Result<Appended, JournalError>> {
        let (store, prepared) = (self.clone(), Prepared::new(append));
        Box::pin(async move {
            let usual = in_time(append_usual(self, prepared.map_err(SqlError::journal)?)).await;
            let (is_done, prepared) = usual.map_err(SqlError::journal)?;
            if is_done {
                return Ok(Appended { stand: Vec::new(), has_deliveries: false });
            }
            let appended = written(async move {
                let appended = if APPENDS_AT_ONCE && prepared.begins.is_none() {
                    append::append(&mut *store.single().await?, &prepared).await?
                } else {
                    let mut writing = store.writing().await?;
                    let appended = append::append(&mut writing, &prepared).await?;
                    writing.commit().await?;
                    appended
                };
                store.changes().wake(&prepared.session, &prepared.run);
                if let Some((closed, _)) = prepared.begins.as_ref().and_then(|begins| begins.closes.as_ref())
                {
                    store.changes().wake(&prepared.session, closed);
                }
                Ok(appended)
            });
            appended.await.map_err(SqlError::journal)
        })
    }

    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Result<Entry, JournalError>> {
        let Delivery { principal, session, run, entry, documents, alone_at, behind_end } = delivery;
        let (store, session) = (self.clone(), session.clone());
        let (principal, run) = (principal.to_owned(), run.to_owned());
        Box::pin(async move {
            let delivered = written(async move {
                let (principal, session, run) = (principal.as_str(), &session, run.as_str());
                let delivery = Delivery { principal, session, run, entry, documents, alone_at, behind_end };
                let mut writing = store.writing().await?;
                let stands = append::deliver(&mut writing, &delivery).await?;
                tell(&mut writing, session.as_str(), run).await?;
                writing.commit().await?;
                store.changes().wake(session.as_str(), run);
                Ok(stands)
            });
            delivered.await.map_err(SqlError::journal)
        })
    }

    fn wait<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(async move {
            let mut failing = Failing::default();
            let waiting = self.changes().waiting(session.as_str(), run);
            loop {
                let mut woken = pin!(waiting.notified());
                // Listening starts before looking, so that nothing is missed between the two.
                woken.as_mut().enable();
                let found = in_time(async {
                    let mut reading = self.reading().await?;
                    append::find(&mut reading, principal, session.as_str(), run, key.as_str()).await
                });
                if let Some(found) = failing.look(found.await, self.is_closed())? {
                    return Ok(Some(found));
                }
                let left = until.map(|until| until.duration_since(fresh::now()).unwrap_or_default());
                if left.is_some_and(|left| left.is_zero()) {
                    return Ok(None);
                }
                let pause = left.map_or(POLL, |left| left.min(POLL));
                let _ = tokio::time::timeout(pause, self.heard(woken)).await;
            }
        })
    }

    fn behind<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        seen: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let read = in_time(async {
                let mut reading = self.reading().await?;
                nodes::behind(&mut reading, principal, session.as_str(), run, seen).await
            });
            read.await.map_err(SqlError::journal)
        })
    }

    fn stop<'a>(&'a self, stop: &'a StopRequest) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (store, stop) = (self.clone(), stop.clone());
        Box::pin(async move {
            let asked = written(async move { nodes::stop(&mut *store.single().await?, &stop).await });
            asked.await.map_err(SqlError::store)
        })
    }

    fn stops(&self) -> BoxFuture<'_, Result<Vec<StopRequest>, StoreError>> {
        Box::pin(async move {
            let stops = in_time(async { nodes::stops(&mut *self.reading().await?).await });
            stops.await.map_err(SqlError::store)
        })
    }

    fn adopt<'a>(&'a self, adopt: Adopt<'a>) -> BoxFuture<'a, Result<Vec<Orphan>, StoreError>> {
        let Adopt { name, holder, now, until, limit, most } = adopt;
        // The driver that goes on with the run takes the lease under another name.
        let (store, name, holder) = (self.clone(), name.to_owned(), format!("{ADOPTED}{holder}"));
        Box::pin(async move {
            let adopted = written(async move {
                let adopt = Adopt { name: &name, holder: &holder, now, until, limit, most };
                let spared = store.left().spared();
                let mut writing = store.writing().await?;
                nodes::spare(&mut writing, &spared).await?;
                let orphans = nodes::adopt(&mut writing, adopt).await?;
                writing.commit().await?;
                store.left().told(&spared);
                // This process takes their leases next.
                orphans.iter().for_each(|orphan| store.left().note(orphan.session.as_str(), &holder));
                Ok(orphans)
            });
            adopted.await.map_err(SqlError::store)
        })
    }

    fn let_go<'a>(
        &'a self,
        session: &'a SessionId,
        adoptable: bool,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        Box::pin(async move {
            let holders = self.left().of(session.as_str());
            if holders.is_empty() {
                return Ok(());
            }
            let gone = written(async move {
                nodes::let_go(&mut *store.single().await?, session.as_str(), &holders, adoptable).await
            });
            gone.await.map_err(SqlError::store)
        })
    }

    fn clear<'a>(
        &'a self,
        principal: &'a str,
        session: Option<&'a SessionId>,
    ) -> BoxFuture<'a, Result<Cleared, StoreError>> {
        let (store, principal, session) = (self.clone(), principal.to_owned(), session.cloned());
        Box::pin(async move {
            let meant = Meant::Own { principal, session };
            written(async move { clear::clear(&store, &meant).await }).await.map_err(SqlError::store)
        })
    }

    fn clean(&self, idle: Idle) -> BoxFuture<'_, Result<Cleared, StoreError>> {
        let store = self.clone();
        Box::pin(async move {
            let cleaned = written(async move { clear::clear(&store, &Meant::Expired(idle)).await });
            cleaned.await.map_err(SqlError::store)
        })
    }

    fn gone_documents(&self, limit: usize) -> BoxFuture<'_, Result<Vec<DocumentId>, StoreError>> {
        Box::pin(async move {
            let gone = in_time(async { clear::gone_documents(&mut *self.reading().await?, limit).await });
            gone.await.map_err(SqlError::store)
        })
    }

    fn forget_documents<'a>(&'a self, documents: &'a [DocumentId]) -> BoxFuture<'a, Result<(), StoreError>> {
        let (store, documents) = (self.clone(), documents.to_vec());
        Box::pin(async move {
            let forgotten =
                written(
                    async move { clear::forget_documents(&mut *store.single().await?, &documents).await },
                );
            forgotten.await.map_err(SqlError::store)
        })
    }
}

/// The number of times that a session may change while it is read before its words are left to the next search.
const CHANGES: u32 = 8;

/// Notes the words that were said in a session, a piece at a time.
async fn note_words(store: &Store, principal: &str, session: &str) -> Result<(), SqlError> {
    let mut changes = 0;
    while changes < CHANGES {
        let read =
            in_time(async { search::read(&mut *store.reading().await?, principal, session).await }).await?;
        let Some(piece) = read else { return Ok(()) };
        let is_last = piece.is_last;
        let (store, principal, session) = (store.clone(), principal.to_owned(), session.to_owned());
        let noted = written(async move {
            let mut writing = store.writing().await?;
            let noted = search::note(&mut writing, &principal, &session, &piece).await?;
            writing.commit().await?;
            Ok(noted)
        });
        match noted.await? {
            true if is_last => return Ok(()),
            true => {}
            false => changes += 1,
        }
    }
    Ok(())
}
