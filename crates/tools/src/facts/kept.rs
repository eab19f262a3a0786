//! Facts in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use attache_core::{BoxFuture, Fact, LongTermMemory, StableHash, StoreError, StoreErrorKind, fresh};

use super::words::{are_alike, words};

/// Facts of a principal at most by default.
const MAX_FACTS: usize = 10_000;
/// Characters of a fact at most.
const MAX_CHARS: usize = 4_000;
/// Words of a query that are looked for at most, the longest ones.
const MAX_WORDS: usize = 64;

/// Keeps facts in memory, up to 10,000 for each principal, and finds them by their words.
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
    /// No facts.
    pub fn new() -> Self {
        Self { max_facts: MAX_FACTS, kept: Mutex::default() }
    }

    /// Sets the most facts of a principal.
    #[must_use]
    pub fn with_max_facts(mut self, facts: usize) -> Self {
        self.max_facts = facts;
        self
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Kept>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, principal: &str, text: &str) -> Result<Fact, StoreError> {
        let text = text.trim();
        if text.chars().count() > MAX_CHARS {
            let message = format!("a fact has at most {MAX_CHARS} characters");
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        let id = format!("{:016x}", StableHash::new().text(principal).text(text).finish());
        let fact = Fact::new(id, text, fresh::now());
        let mut kept = self.lock();
        let facts = kept.entry(principal.to_owned()).or_default();
        let others = facts.iter().filter(|known| known.fact.id != fact.id).count();
        if others >= self.max_facts {
            let message = format!("there are {others} facts already; forget one first");
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        facts.retain(|known| known.fact.id != fact.id);
        facts.push(Kept { words: words(text), fact: fact.clone() });
        Ok(fact)
    }

    fn find(&self, principal: &str, query: &str, limit: usize) -> Vec<Fact> {
        let kept = self.lock();
        let facts = kept.get(principal).map(Vec::as_slice).unwrap_or_default();
        let mut query = words(query);
        if query.len() > MAX_WORDS {
            query.sort_by_key(|word| std::cmp::Reverse(word.len()));
            query.truncate(MAX_WORDS);
        }
        if query.is_empty() {
            return facts.iter().rev().take(limit).map(|kept| kept.fact.clone()).collect();
        }
        let has = |kept: &Kept, word: &str| kept.words.iter().any(|known| are_alike(known, word));
        // A word that many facts hold says little.
        let weights: Vec<usize> = query
            .iter()
            .map(|word| {
                let holding = facts.iter().filter(|kept| has(kept, word)).count().max(1);
                1_000 / holding + 1
            })
            .collect();
        let score = |kept: &Kept| -> usize {
            query.iter().zip(&weights).filter(|(word, _)| has(kept, word)).map(|(_, weight)| weight).sum()
        };
        let mut found: Vec<(usize, &Kept)> =
            facts.iter().rev().map(|kept| (score(kept), kept)).filter(|(score, _)| *score > 0).collect();
        // The newer one of two that match alike stands first.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().take(limit).map(|(_, kept)| kept.fact.clone()).collect()
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
