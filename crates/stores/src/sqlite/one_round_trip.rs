//! The calls of a usual turn, each in one round trip to the thread that writes. An unusual case changes nothing here, and is
//! left to the statements that look before they write.

use attache_agent::{OpenSession, SessionId, SessionState, Take, Taken};
use rusqlite::params;

use super::store::Store;
use super::writer::{Disk, Done, Turn};
use crate::sql::error::SqlError;
use crate::sql::prepared::{Begins, Prepared};
use crate::sql::ranges::each;
use crate::sql::row::{int, number, place};

/// Touches a session, or makes one where there is none. `None` if it has expired, is another's, or is not to be made.
pub(super) async fn open(store: &Store, open: OpenSession<'_>) -> Result<Option<SessionState>, SqlError> {
    let OpenSession { id, principal, make, now, expired_before } = open;
    let (id, principal) = (id.clone(), principal.to_owned());
    let (now, before) = (int(now), expired_before.map_or(i64::MIN, int));
    let opened = store.usual().run(Disk::Later, move |turn| {
        let (id, principal) = (id.as_str(), principal.as_str());
        let touched = turn.execute(
            "UPDATE attache_session SET accessed = ?3 WHERE id = ?1 AND principal = ?2 \
             AND NOT (accessed < ?4 AND leased_until <= ?3 AND kept_until <= ?3)",
            params![id, principal, now, before],
        )?;
        if touched == 1 {
            return Ok(Done::Yes(Some(SessionState::Continued)));
        }
        let made = make
            && turn.execute(
                "INSERT INTO attache_session (id, principal, created, accessed) VALUES (?1, ?2, ?3, ?3) \
                 ON CONFLICT DO NOTHING",
                params![id, principal, now],
            )? == 1;
        Ok(if made { Done::Yes(Some(SessionState::New)) } else { Done::No(None) })
    });
    opened.await
}

/// Takes the lease for a run that begins. `None` if it is not to be had, or the caller is gone.
pub(super) async fn take(store: &Store, take: Take<'_>) -> Result<Option<Taken>, SqlError> {
    let Take { session: session_id, principal, run, holder, now, until } = take;
    let Some(run) = run.map(str::to_owned) else { return Ok(None) };
    let (session, principal, holder): (SessionId, _, _) =
        (session_id.clone(), principal.to_owned(), holder.to_owned());
    let (now, until, left) = (int(now), int(until), store.left());
    let taken = store.usual().run(Disk::Later, move |turn| {
        // A lease is not for a caller that is gone.
        if !turn.is_awaited {
            return Ok(Done::No(None));
        }
        let session = session.as_str();
        let gone = left.of(session);
        let holders = each(&gone)?;
        let taken: Option<(i64, bool)> = turn.first(
            "UPDATE attache_session SET fence = (SELECT number + 1 FROM attache_fence), appends = 0, \
             leased_until = ?4, holder = ?5, leased_by = ?3, accessed = ?6 WHERE id = ?1 AND principal = ?2 \
             AND (leased_until <= ?6 OR holder IN (SELECT q.value ->> 0 FROM json_each(?7) AS q)) \
             AND NOT EXISTS (SELECT 1 FROM attache_run WHERE session = ?1 AND id = ?3) \
             RETURNING fence, EXISTS (SELECT 1 FROM attache_run WHERE session = ?1)",
            params![session, principal, run, until, holder, now, holders],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let Some((fence, has_runs)) = taken else { return Ok(Done::No(None)) };
        turn.execute("UPDATE attache_fence SET number = number + 1", [])?;
        Ok(Done::Yes(Some((Taken { fence: number(fence), has_runs }, gone))))
    });
    let Some((taken, gone)) = taken.await? else { return Ok(None) };
    // A caller that is gone by now has noted so, for the next one.
    store.left().forget(session_id.as_str(), &gone);
    Ok(Some(taken))
}

/// Appends entries that are all new. False if nothing was written: somebody else has the lease, the run has begun, entries
/// stand, or there is more to do. The append comes back with it.
pub(super) async fn append(store: &Store, append: Prepared) -> Result<(bool, Prepared), SqlError> {
    let closes = append.begins.as_ref().is_some_and(|begins| begins.closes.is_some());
    if closes || append.keys.is_empty() || !append.documents.is_empty() {
        return Ok((false, append));
    }
    let disk = if append.syncs { Disk::Now } else { Disk::Later };
    let appended = store.usual().run(disk, move |turn| {
        let is_usual = match &append.begins {
            Some(begins) => begin(turn, &append, begins)?,
            None => go_on(turn, &append)?,
        };
        Ok(if is_usual { Done::Yes((true, append)) } else { Done::No((false, append)) })
    });
    let (is_done, append) = appended.await?;
    if is_done {
        store.changes().wake(&append.session, &append.run);
    }
    Ok((is_done, append))
}

/// Appends to a run that has begun. The last word of a model is no use of the session by itself: the end behind it is.
fn go_on(turn: &Turn<'_>, append: &Prepared) -> Result<bool, SqlError> {
    let (session, now) = (append.session.as_str(), append.now);
    let held = turn.execute(
        "UPDATE attache_session SET appends = ?3, accessed = coalesce(?4, accessed), leased_until = ?5, \
         kept_until = coalesce(?6, kept_until) WHERE id = ?1 AND fence = ?2 AND appends < ?3",
        params![
            session,
            append.fence,
            append.number,
            append.syncs.then_some(now),
            append.until,
            append.kept_until
        ],
    )?;
    if held == 0 {
        return Ok(false);
    }
    let run: Option<(i64, i64)> = turn.first(
        "UPDATE attache_run SET entries = entries + ?3, adopted = 0, ended = coalesce(?4, ended) \
         WHERE session = ?1 AND id = ?2 RETURNING run, entries",
        params![session, append.run, place(append.keys.len()), append.ends.then_some(now)],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let Some((run, entries)) = run else { return Ok(false) };
    let delivered = "SELECT 1 FROM attache_delivered WHERE run = ?1 LIMIT 1";
    let is_delivered = turn.first(delivered, [run], |_| Ok(()))?.is_some();
    // One of them may stand in the place of an entry.
    Ok(!is_delivered && write(turn, append, run, entries - place(append.keys.len()))?)
}

/// Begins a run. Its session was touched when the lease was taken.
fn begin(turn: &Turn<'_>, append: &Prepared, begins: &Begins) -> Result<bool, SqlError> {
    let (session, now) = (append.session.as_str(), append.now);
    let held = turn.execute(
        "UPDATE attache_session SET messages = messages + ?5, \
         title = CASE WHEN title = '' THEN ?6 ELSE title END, appends = ?3, leased_until = ?7, \
         kept_until = coalesce(?8, kept_until) WHERE id = ?1 AND fence = ?2 AND appends < ?3 AND messages = ?4",
        params![
            session,
            append.fence,
            append.number,
            begins.first,
            place(begins.messages.len()),
            begins.title,
            append.until,
            append.kept_until
        ],
    )?;
    if held == 0 {
        return Ok(false);
    }
    let begun = turn.execute(
        "INSERT INTO attache_run (session, id, began, ended, ranges, name, entries) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        params![
            session,
            append.run,
            now,
            append.ends.then_some(now),
            begins.ranges,
            begins.name,
            place(append.keys.len())
        ],
    )?;
    if begun == 0 {
        return Ok(false);
    }
    let run = turn.inserted();
    for (at, message) in (begins.first..).zip(&begins.messages) {
        turn.execute(
            "INSERT INTO attache_message (session, place, body) VALUES (?1, ?2, ?3)",
            params![session, at, message],
        )?;
    }
    write(turn, append, run, 0)
}

/// Writes the entries from that place of the log on. False if one of them stands there.
fn write(turn: &Turn<'_>, append: &Prepared, run: i64, first: i64) -> Result<bool, SqlError> {
    for (at, (key, body)) in (first..).zip(append.keys.iter().zip(&append.bodies)) {
        let written = turn.execute(
            "INSERT INTO attache_entry (run, place, key, at, body) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO NOTHING",
            params![run, at, key, append.now, body],
        )?;
        if written == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use attache_agent::{Append, Beginning, Entry, EntryKind, Key, SessionId, SessionStore as _};
    use attache_core::{Message, ToolCallId};

    use super::*;
    use crate::SqliteStore;

    fn note() -> Entry {
        Entry::new(Key::result(&ToolCallId::new()), EntryKind::Inbox(Vec::new()))
    }

    fn append_of(session: &SessionId, fence: u64, number: u64, entries: Vec<Entry>) -> Append {
        Append {
            session: session.clone(),
            run: "run".into(),
            fence,
            number,
            now: 20,
            until: 40,
            ends: number == 2,
            entries,
            begins: None,
            documents: Vec::new(),
            kept_until: None,
        }
    }

    // A turn that took the other way would be right, too, and twice as dear.
    #[tokio::test]
    async fn each_call_of_a_usual_turn_is_one_round_trip_and_no_other_call_changes_anything_on_that_way() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
        let id = SessionId::parse("one").unwrap();
        let opening =
            |principal, make| OpenSession { id: &id, principal, make, now: 10, expired_before: Some(5) };
        assert_eq!(open(&store, opening("ann", false)).await.unwrap(), None);
        assert_eq!(open(&store, opening("ann", true)).await.unwrap(), Some(SessionState::New));
        assert_eq!(open(&store, opening("ann", true)).await.unwrap(), Some(SessionState::Continued));
        assert_eq!(open(&store, opening("bob", true)).await.unwrap(), None);

        let taking =
            |holder| Take { session: &id, principal: "ann", run: Some("run"), holder, now: 10, until: 40 };
        let taken = take(&store, taking("one")).await.unwrap().unwrap();
        assert!(!taken.has_runs);
        let fence = taken.fence;
        assert_eq!(take(&store, taking("two")).await.unwrap(), None);
        store.left().note("one", "one");
        let next = take(&store, taking("two")).await.unwrap().unwrap().fence;
        assert!(next > fence);

        let message = Message::user("Hello.").shared();
        let mut first = append_of(&id, next, 1, vec![note()]);
        first.begins = Some(Box::new(Beginning {
            name: "".into(),
            title: "Hello.".to_owned(),
            first: 0,
            messages: vec![message],
            ranges: std::iter::once(0..1).collect(),
            closes: None,
        }));
        let prepared = |append: &Append| Prepared::new(append).unwrap();
        let stale = append_of(&id, fence, 1, vec![note()]);
        assert!(!append(&store, prepared(&stale)).await.unwrap().0, "the run has not begun");
        assert!(append(&store, prepared(&first)).await.unwrap().0);
        assert!(!append(&store, prepared(&first)).await.unwrap().0, "it has begun");
        assert!(!append(&store, prepared(&stale)).await.unwrap().0, "somebody else has the lease");
        let again = append_of(&id, next, 1, vec![note()]);
        assert!(!append(&store, prepared(&again)).await.unwrap().0, "the number was used");
        let known = append_of(&id, next, 2, first.entries.clone());
        assert!(!append(&store, prepared(&known)).await.unwrap().0, "the entry stands");
        let stored = store.load("ann", &id, None).await.unwrap().unwrap();
        assert_eq!((stored.entries.len(), stored.messages.len()), (1, 1), "nothing else was written");
        let one_known = [first.entries.clone(), vec![note()]].concat();
        assert!(!append(&store, prepared(&append_of(&id, next, 2, one_known))).await.unwrap().0);
        let three = vec![note(), note(), note()];
        assert!(append(&store, prepared(&append_of(&id, next, 2, three.clone()))).await.unwrap().0);
        let stored = store.load("ann", &id, Some("run")).await.unwrap().unwrap();
        let keys: Vec<_> = stored.entries.iter().map(|entry| entry.key.as_str()).collect();
        let told: Vec<_> = first.entries.iter().chain(&three).map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, told, "all, in their order");
        let runs = store.runs("ann", &id).await.unwrap();
        assert_eq!(runs.first().and_then(|run| run.ended), Some(20));
    }
}
