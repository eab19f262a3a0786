//! The answers of converters about documents.

use std::collections::HashMap;

use attache_core::DocumentId;

use crate::materials::key::Key;

/// Answers to questions about documents, each since an insertion: by document, since few are asked about each.
#[derive(Clone)]
pub(super) struct Answers<Q, A>(HashMap<Key, Vec<(Q, A, u64)>>);

impl<Q, A> Default for Answers<Q, A> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<Q: PartialEq, A> Answers<Q, A> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, key: &Key, question: &Q) -> Option<&A> {
        self.0.get(key)?.iter().find(|(known, ..)| known == question).map(|(_, answer, _)| answer)
    }

    pub(super) fn insert(&mut self, key: Key, question: Q, answer: A, since: u64) {
        let known = self.0.entry(key).or_default();
        known.retain(|(known, ..)| *known != question);
        known.push((question, answer, since));
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Lets go what was inserted then.
    pub(super) fn let_go(&mut self, key: &Key, since: u64) {
        if let Some(known) = self.0.get_mut(key) {
            known.retain(|(_, _, at)| *at != since);
        }
    }

    /// Lets go what was inserted at one of these.
    pub(super) fn forget_since(&mut self, since: &[u64]) {
        for known in self.0.values_mut() {
            known.retain(|(_, _, at)| !since.contains(at));
        }
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&DocumentId) -> bool) {
        self.0.retain(|key, _| keep(&key.id));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &A, u64)> {
        self.0
            .iter()
            .flat_map(|(key, known)| known.iter().map(move |(_, answer, since)| (key, answer, *since)))
    }
}
