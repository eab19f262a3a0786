//! Puts and collections whose calls cross in every order that chance finds.

use std::cell::Cell;
use std::time::Duration;

use attache_core::{DocumentStore, StoreErrorKind};
use futures_util::future::{join, join_all};

use crate::storage::Storage;
use crate::{Mentioned, document, id, over};

const CONTENTS: usize = 2;
const DOCUMENTS: usize = 6;
const ROUNDS: usize = 6;

fn name(at: usize) -> String {
    format!("d{at}")
}

fn content(at: usize) -> String {
    format!("content {}", at % CONTENTS)
}

/// No document is ever too young to be collected here: only the order of calls protects it.
#[tokio::test]
async fn a_document_that_is_mentioned_survives_every_crossing() {
    let mut again = 0;
    for seed in 0..40 {
        let storage = Storage::new();
        storage.wait_at_random(seed * 7 + 1);
        let store = over(&storage).with_grace(Duration::ZERO);
        let mentioned = Mentioned::default();
        let busy = Cell::new(DOCUMENTS);
        let refused = Cell::new(0);
        let users = join_all((0..DOCUMENTS).map(|at| {
            let (store, mentioned, busy, refused) = (&store, &mentioned, &busy, &refused);
            async move {
                for round in 0..ROUNDS {
                    mentioned.add(&name(at));
                    while let Err(error) = store.put(&document(&name(at), content(at))).await {
                        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "seed {seed}: {error}");
                        refused.set(refused.get() + 1);
                    }
                    for _ in 0..3 {
                        let bytes = store.get(&id(&name(at))).await;
                        let bytes = bytes
                            .unwrap_or_else(|error| panic!("seed {seed}, round {round}, d{at}: {error}"));
                        assert_eq!(bytes, content(at));
                    }
                    mentioned.remove(&name(at));
                }
                busy.set(busy.get() - 1);
            }
        }));
        let collectors = join_all((0..2).map(|_| {
            let (store, mentioned, busy) = (&store, &mentioned, &busy);
            async move {
                let mut removed = 0;
                while busy.get() > 0 {
                    removed += store.collect(&[mentioned]).await.unwrap().contents;
                }
                removed
            }
        }));
        let (_, removed) = join(users, collectors).await;
        again += removed.iter().sum::<u64>();
        assert!(refused.get() < 5, "seed {seed}: {}", refused.get());
        // Nobody mentions anything any more.
        store.collect(&[&mentioned]).await.unwrap();
        storage.let_pass(Duration::from_secs(3600));
        store.collect(&[&mentioned]).await.unwrap();
        assert_eq!(storage.names().await, Vec::<String>::new(), "seed {seed}");
    }
    assert!(again > 40, "contents were removed {again} times while others were put");
}
