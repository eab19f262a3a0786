//! Facts in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use attache_core::facts::{Fact, LongTermMemory};
use attache_core::words::{WordQuery, words};
use attache_core::{BoxFuture, StoreError, StoreErrorKind, fresh};

/// Facts of a principal at most by default.
const MAX_FACTS: usize = 10_000;

/// Stores facts in memory, up to 10,000 per principal, and finds them by their words.
#[derive(Debug)]
pub struct MemoryFacts {
    max_facts: usize,
    kept: Mutex<HashMap<String, Vec<Kept>>>,
}

#[derive(Debug)]
struct Kept {
    fact: Fact,
    words: Vec<String>,
}

impl Default for MemoryFacts {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryFacts {
    /// Creates an empty memory.
    pub fn new() -> Self {
        Self { max_facts: MAX_FACTS, kept: Mutex::default() }
    }

    /// Sets the maximum number of facts per principal.
    #[must_use]
    pub fn with_max_facts(mut self, facts: usize) -> Self {
        self.max_facts = facts;
        self
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Kept>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, principal: &str, text: &str) -> Result<Fact, StoreError> {
        let fact = Fact::of(principal, text, fresh::now())?;
        let mut kept = self.lock();
        let facts = kept.entry(principal.to_owned()).or_default();
        let others = facts.iter().filter(|known| known.fact.id != fact.id).count();
        if others >= self.max_facts {
            let message = format!("there are {others} facts already; forget one first");
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        facts.retain(|known| known.fact.id != fact.id);
        facts.push(Kept { words: words(&fact.text), fact: fact.clone() });
        Ok(fact)
    }

    fn find(&self, principal: &str, query: &str, limit: usize) -> Vec<Fact> {
        let kept = self.lock();
        let facts = kept.get(principal).map(Vec::as_slice).unwrap_or_default();
        let query = WordQuery::new(query);
        if query.words().is_empty() {
            return facts.iter().rev().take(limit).map(|kept| kept.fact.clone()).collect();
        }
        let newest: Vec<&Kept> = facts.iter().rev().collect();
        let held: Vec<u64> =
            newest.iter().map(|kept| query.held(kept.words.iter().map(String::as_str))).collect();
        let best = query.best(&held, limit);
        best.into_iter().filter_map(|at| newest.get(at)).map(|kept| kept.fact.clone()).collect()
    }

    fn drop_fact(&self, principal: &str, id: &str) -> bool {
        let mut kept = self.lock();
        let Some(facts) = kept.get_mut(principal) else { return false };
        let before = facts.len();
        facts.retain(|kept| kept.fact.id != id);
        facts.len() < before
    }
}

impl LongTermMemory for MemoryFacts {
    fn remember<'a>(&'a self, principal: &'a str, text: &'a str) -> BoxFuture<'a, Result<Fact, StoreError>> {
        Box::pin(std::future::ready(self.keep(principal, text)))
    }

    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Fact>, StoreError>> {
        Box::pin(std::future::ready(Ok(self.find(principal, query, limit))))
    }

    fn forget<'a>(&'a self, principal: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Ok(self.drop_fact(principal, id))))
    }
}
