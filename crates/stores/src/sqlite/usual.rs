//! The calls of a usual turn, each in one round trip to the thread that has the connection: all statements of a
//! transaction go at once, and each but the first changes something only if the one before it did. Whatever is otherwise
//! changes nothing here, and is left to the statements that look before they write.

use std::fmt::Write as _;

use attache_agent::{OpenSession, SessionState, Take};
use sqlx::{AssertSqlSafe, Row as _, query};

use super::store::Store;
use super::writer::Disk;
use crate::sql::error::SqlError;
use crate::sql::prepared::{Begins, Prepared};
use crate::sql::row::int;

/// The most entries and the most messages of an append of which the statements are kept: there are few texts then.
const MOST: usize = 4;

/// Touches a session, or makes one where there is none. `None` if it has expired, is another's, or is not to be made.
pub(super) async fn open(store: &Store, open: OpenSession<'_>) -> Result<Option<SessionState>, SqlError> {
    let statements = query(
        "BEGIN IMMEDIATE; \
         UPDATE attache_session SET accessed = $3 WHERE id = $1 AND principal = $2 \
         AND NOT (accessed < $4 AND leased_until <= $3 AND kept_until <= $3) RETURNING 0; \
         INSERT INTO attache_session (id, principal, created, accessed) SELECT $1, $2, $3, $3 WHERE $5 \
         ON CONFLICT DO NOTHING RETURNING 1; \
         COMMIT",
    )
    .bind(open.id.as_str())
    .bind(open.principal)
    .bind(int(open.now))
    .bind(open.expired_before.map_or(i64::MIN, int))
    .bind(open.make);
    let (rows, _) = store.usual().await?.run(Disk::Later, statements).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let is_new = row.try_get::<i64, _>(0)? == 1;
    Ok(Some(if is_new { SessionState::New } else { SessionState::Continued }))
}

/// Takes the lease for a run that begins. `None` if it is not to be had; a fencing number is left out then.
pub(super) async fn take(store: &Store, take: Take<'_>, left: &str) -> Result<Option<i64>, SqlError> {
    let Some(run) = take.run else { return Ok(None) };
    let statements = query(
        "BEGIN IMMEDIATE; \
         UPDATE attache_session SET fence = (SELECT number + 1 FROM attache_fence), appends = 0, \
         leased_until = $4, holder = $5, leased_by = $3, accessed = $6 WHERE id = $1 AND principal = $2 \
         AND (leased_until <= $6 OR ($7 <> '' AND holder = $7)) \
         AND NOT EXISTS (SELECT 1 FROM attache_run WHERE session = $1 AND id = $3) RETURNING fence; \
         UPDATE attache_fence SET number = number + 1; \
         COMMIT",
    )
    .bind(take.session.as_str())
    .bind(take.principal)
    .bind(run)
    .bind(int(take.until))
    .bind(take.holder)
    .bind(int(take.now))
    .bind(left);
    let (rows, _) = store.usual().await?.run(Disk::Later, statements).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Appends entries that are all new. False if nothing was written: somebody else has the lease, the run has begun, entries
/// stand, or there is more to do.
pub(super) async fn append(store: &Store, append: &Prepared) -> Result<bool, SqlError> {
    let messages = append.begins.as_ref().map_or(0, |begins| begins.messages.len());
    let closes = append.begins.as_ref().is_some_and(|begins| begins.closes.is_some());
    let keys = &append.keys;
    let is_twice = keys.iter().enumerate().any(|(at, key)| keys.iter().take(at).any(|known| known == key));
    let is_many = keys.len() > MOST || messages > MOST;
    if closes || is_twice || is_many || keys.is_empty() || !append.documents.is_empty() {
        return Ok(false);
    }
    let (text, changes) = match &append.begins {
        Some(begins) => beginning(begins, append.keys.len()),
        None => going_on(append),
    };
    // They are texts of this file, with numbers.
    let mut statements = query(AssertSqlSafe(text))
        .bind(append.session.as_str())
        .bind(append.run.as_str())
        .bind(append.fence)
        .bind(append.number)
        .bind(append.now)
        .bind(append.until)
        .bind(append.kept_until)
        .bind(append.ends);
    for (key, body) in append.keys.iter().zip(&append.bodies) {
        statements = statements.bind(key.as_str()).bind(body.as_str());
    }
    if let Some(begins) = &append.begins {
        statements = statements
            .bind(begins.first)
            .bind(begins.title.as_str())
            .bind(begins.ranges.as_str())
            .bind(begins.name.as_str());
        for message in &begins.messages {
            statements = statements.bind(message.as_str());
        }
    }
    let disk = if append.syncs { Disk::Now } else { Disk::Later };
    let (_, changed) = store.usual().await?.run(disk, statements).await?;
    Ok(usize::try_from(changed).is_ok_and(|changed| changed == changes))
}

/// The number of the parameter with the key of an entry; that of its body is the next one.
const fn key_at(entry: usize) -> usize {
    9 + 2 * entry
}

/// Rows of places, keys and bodies, as `v`.
fn rows(entries: usize) -> String {
    let row = |at: usize| format!("({at}, ${}, ${})", key_at(at), key_at(at) + 1);
    format!("(VALUES {}) v", (0..entries).map(row).collect::<Vec<_>>().join(", "))
}

/// The statements of an append to a run that has begun, and how many rows the last one changes. The last word of a model
/// is no use of the session by itself: the end behind it is.
fn going_on(append: &Prepared) -> (String, usize) {
    let count = append.keys.len();
    let keys: Vec<_> = (0..count).map(|at| format!("${}", key_at(at))).collect();
    let (rows, keys) = (rows(count), keys.join(", "));
    let accessed = if append.syncs { "accessed = $5, " } else { "" };
    let text = format!(
        "BEGIN IMMEDIATE; \
         INSERT INTO attache_entry (run, place, key, at, body) \
         SELECT r.run, r.entries + v.column1, v.column2, $5, v.column3 FROM {rows} \
         JOIN attache_run r ON r.session = $1 AND r.id = $2 \
         JOIN attache_session s ON s.id = $1 AND s.fence = $3 AND s.appends < $4 \
         WHERE NOT EXISTS (SELECT 1 FROM attache_entry e WHERE e.run = r.run AND e.key IN ({keys})) \
         AND NOT EXISTS (SELECT 1 FROM attache_delivered d WHERE d.run = r.run AND d.key IN ({keys})); \
         UPDATE attache_run SET entries = entries + {count}, adopted = 0, \
         ended = CASE WHEN $8 THEN $5 ELSE ended END WHERE session = $1 AND id = $2 AND changes() = {count}; \
         UPDATE attache_session SET appends = $4, {accessed}leased_until = $6, \
         kept_until = coalesce($7, kept_until) WHERE id = $1 AND changes() = 1; \
         COMMIT"
    );
    (text, 1)
}

/// The same of one that begins a run. Its session was touched when the lease was taken.
fn beginning(begins: &Begins, entries: usize) -> (String, usize) {
    let (first, messages) = (key_at(entries), begins.messages.len());
    let (title, ranges, name) = (first + 1, first + 2, first + 3);
    let mut text = format!(
        "BEGIN IMMEDIATE; \
         INSERT INTO attache_run (session, id, began, ended, ranges, name, entries) \
         SELECT id, $2, $5, CASE WHEN $8 THEN $5 END, ${ranges}, ${name}, {entries} FROM attache_session \
         WHERE id = $1 AND fence = $3 AND appends < $4 AND messages = ${first} ON CONFLICT DO NOTHING; \
         UPDATE attache_session SET messages = messages + {messages}, \
         title = CASE WHEN title = '' THEN ${title} ELSE title END, appends = $4, leased_until = $6, \
         kept_until = coalesce($7, kept_until) WHERE id = $1 AND changes() = 1; \
         INSERT INTO attache_entry (run, place, key, at, body) \
         SELECT r.run, v.column1, v.column2, $5, v.column3 FROM {} \
         JOIN attache_run r ON r.session = $1 AND r.id = $2 WHERE changes() = 1; ",
        rows(entries)
    );
    if messages > 0 {
        let row = |at: usize| format!("({at}, ${})", name + 1 + at);
        let rows = (0..messages).map(row).collect::<Vec<_>>().join(", ");
        let _ = write!(
            text,
            "INSERT INTO attache_message (session, place, body) \
             SELECT $1, ${first} + v.column1, v.column2 FROM (VALUES {rows}) v WHERE changes() = {entries}; "
        );
    }
    text.push_str("COMMIT");
    (text, if messages > 0 { messages } else { entries })
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

    fn append_of(session: &SessionId, fence: i64, number: u64, entries: Vec<Entry>) -> Append {
        Append {
            session: session.clone(),
            run: "run".into(),
            fence: fence.try_into().unwrap(),
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
        let fence = take(&store, taking("one"), "").await.unwrap().unwrap();
        assert_eq!(take(&store, taking("two"), "").await.unwrap(), None);
        let next = take(&store, taking("two"), "one").await.unwrap().unwrap();
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
        assert!(!append(&store, &prepared(&stale)).await.unwrap(), "the run has not begun");
        assert!(append(&store, &prepared(&first)).await.unwrap());
        assert!(!append(&store, &prepared(&first)).await.unwrap(), "it has begun");
        assert!(!append(&store, &prepared(&stale)).await.unwrap(), "somebody else has the lease");
        let again = append_of(&id, next, 1, vec![note()]);
        assert!(!append(&store, &prepared(&again)).await.unwrap(), "the number was used");
        let known = append_of(&id, next, 2, first.entries.clone());
        assert!(!append(&store, &prepared(&known)).await.unwrap(), "the entry stands");
        let stored = store.load("ann", &id, None).await.unwrap().unwrap();
        assert_eq!((stored.entries.len(), stored.messages.len()), (1, 1), "nothing else was written");
        let one_known = [first.entries.clone(), vec![note()]].concat();
        assert!(!append(&store, &prepared(&append_of(&id, next, 2, one_known))).await.unwrap());
        let three = vec![note(), note(), note()];
        assert!(append(&store, &prepared(&append_of(&id, next, 2, three.clone()))).await.unwrap());
        let stored = store.load("ann", &id, Some("run")).await.unwrap().unwrap();
        let keys: Vec<_> = stored.entries.iter().map(|entry| entry.key.as_str()).collect();
        let told: Vec<_> = first.entries.iter().chain(&three).map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, told, "all, in their order");
        let runs = store.runs("ann", &id).await.unwrap();
        assert_eq!(runs.first().and_then(|run| run.ended), Some(20));
    }
}
