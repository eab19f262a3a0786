//! Facts that are remembered across conversations.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use attache_core::facts::{Fact, LongTermMemory};
use attache_core::words::{WordQuery, words};
use attache_core::{BoxFuture, StoreError, StoreErrorKind, fresh};
use futures_util::TryStreamExt as _;
use sqlx::{Row as _, query};

use super::dialect::{Connection, HOLD_FACTS, Row, elements};
use super::store::Store;
use crate::sql::error::{SqlError, in_time, written};
use crate::sql::ranges::{each, forms};
use crate::sql::row::{number, place};

/// The maximum number of facts of a principal by default.
const MAX_FACTS: usize = 10_000;

/// Long-term memory in the database of a session store, with up to 10,000 facts per principal. Clones share it.
///
/// It finds facts by their words and ranks them like `MemoryFacts` of `attache-tools`. A search reads only the words of
/// its principal, so the facts of others do not affect the ranking.
#[derive(Clone)]
pub struct Facts {
    store: Store,
    max_facts: usize,
}

impl Facts {
    /// Opens the facts in the database of `store`.
    pub fn new(store: Store) -> Self {
        Self { store, max_facts: MAX_FACTS }
    }

    /// Sets the maximum number of facts per principal.
    #[must_use]
    pub fn with_max_facts(mut self, facts: usize) -> Self {
        self.max_facts = facts;
        self
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts").field("max_facts", &self.max_facts).finish_non_exhaustive()
    }
}

impl LongTermMemory for Facts {
    fn remember<'a>(&'a self, principal: &'a str, text: &'a str) -> BoxFuture<'a, Result<Fact, StoreError>> {
        let (store, principal, max) = (self.store.clone(), principal.to_owned(), self.max_facts);
        Box::pin(async move {
            if principal.contains('\0') {
                let text = "the name of a principal contains a NUL character";
                return Err(StoreError::new(StoreErrorKind::Conflict, text));
            }
            let fact = Fact::of(&principal, text, fresh::now())?;
            let remembered = written(async move {
                let mut writing = store.writing().await?;
                remember(&mut writing, &principal, &fact, max).await?;
                writing.commit().await?;
                Ok(fact)
            });
            remembered.await.map_err(SqlError::store)
        })
    }

    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Fact>, StoreError>> {
        Box::pin(async move {
            if principal.contains('\0') {
                return Ok(Vec::new());
            }
            let query = WordQuery::new(query);
            let found = in_time(async {
                let mut reading = self.store.reading().await?;
                match query.words().is_empty() {
                    true => newest(&mut reading, principal, limit).await,
                    false => best(&mut reading, principal, &query, limit).await,
                }
            });
            found.await.map_err(SqlError::store)
        })
    }

    fn forget<'a>(&'a self, principal: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (store, principal, id) = (self.store.clone(), principal.to_owned(), id.to_owned());
        Box::pin(async move {
            if principal.contains('\0') || id.contains('\0') {
                return Ok(false);
            }
            let forgotten =
                written(async move { forget(&mut *store.single().await?, &principal, &id).await });
            forgotten.await.map_err(SqlError::store)
        })
    }
}

async fn remember(
    connection: &mut Connection,
    principal: &str,
    fact: &Fact,
    max: usize,
) -> Result<(), SqlError> {
    query(HOLD_FACTS).bind(principal).fetch_optional(&mut *connection).await?;
    forget(connection, principal, &fact.id).await?;
    let others: i64 = query("SELECT count(*) FROM attache_fact WHERE principal = $1")
        .bind(principal)
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
    if others >= place(max) {
        let text = format!("there are {others} facts already; forget one first");
        return Err(SqlError::Store(StoreError::new(StoreErrorKind::TooLarge, text)));
    }
    let at = fact.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let number: i64 =
        query("INSERT INTO attache_fact (principal, id, body, at) VALUES ($1, $2, $3, $4) RETURNING fact")
            .bind(principal)
            .bind(fact.id.as_str())
            .bind(fact.text.as_str())
            .bind(i64::try_from(at).unwrap_or(i64::MAX))
            .fetch_one(&mut *connection)
            .await?
            .try_get(0)?;
    query(concat!(
        "INSERT INTO attache_fact_word (principal, word, fact) SELECT $1, q.value ->> 0, $3 FROM ",
        elements!("2"),
        " AS q"
    ))
    .bind(principal)
    .bind(each(words(&fact.text))?)
    .bind(number)
    .execute(connection)
    .await?;
    Ok(())
}

async fn forget(connection: &mut Connection, principal: &str, id: &str) -> Result<bool, SqlError> {
    let forgotten = query("DELETE FROM attache_fact WHERE principal = $1 AND id = $2")
        .bind(principal)
        .bind(id)
        .execute(connection)
        .await?;
    Ok(forgotten.rows_affected() > 0)
}

async fn newest(connection: &mut Connection, principal: &str, limit: usize) -> Result<Vec<Fact>, SqlError> {
    let rows =
        query("SELECT id, body, at, fact FROM attache_fact WHERE principal = $1 ORDER BY fact DESC LIMIT $2")
            .bind(principal)
            .bind(place(limit))
            .fetch_all(connection)
            .await?;
    rows.iter().map(fact).collect()
}

/// The facts that match best. Each of them holds a number: their texts are read for the best alone.
async fn best(
    connection: &mut Connection,
    principal: &str,
    wanted: &WordQuery,
    limit: usize,
) -> Result<Vec<Fact>, SqlError> {
    let mut held: BTreeMap<i64, u64> = BTreeMap::new();
    let mut rows = query(concat!(
        "SELECT w.fact, w.word FROM ",
        elements!("2"),
        " AS q JOIN attache_fact_word w ON w.principal = $1 AND w.word BETWEEN q.value ->> 0 AND q.value ->> 1"
    ))
    .bind(principal)
    .bind(forms(wanted)?)
    .fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        *held.entry(row.try_get(0)?).or_default() |= wanted.held([row.try_get(1)?]);
    }
    drop(rows);
    // The newest first.
    let (numbers, held): (Vec<i64>, Vec<u64>) = held.into_iter().rev().unzip();
    let best: Vec<i64> =
        wanted.best(&held, limit).into_iter().filter_map(|at| numbers.get(at).copied()).collect();
    let rows = query(concat!(
        "SELECT id, body, at, fact FROM attache_fact WHERE principal = $1 AND fact IN \
         (SELECT CAST(q.value ->> 0 AS BIGINT) FROM ",
        elements!("2"),
        " AS q)"
    ))
    .bind(principal)
    .bind(each(&best)?)
    .fetch_all(connection)
    .await?;
    let mut facts = HashMap::with_capacity(rows.len());
    for row in &rows {
        facts.insert(row.try_get::<i64, _>(3)?, fact(row)?);
    }
    // One that was forgotten meanwhile is left out.
    Ok(best.iter().filter_map(|number| facts.remove(number)).collect())
}

fn fact(row: &Row) -> Result<Fact, SqlError> {
    let at = UNIX_EPOCH + Duration::from_millis(number(row.try_get(2)?));
    Ok(Fact::new(row.try_get::<&str, _>(0)?, row.try_get::<&str, _>(1)?, at))
}
