//! Facts that outlive conversations, over each store.

use std::sync::Arc;

use attache_core::StoreErrorKind;
use attache_core::facts::{Fact, LongTermMemory};
use attache_stores::{PostgresFacts, PostgresStore, SqliteFacts, SqliteStore};
use attache_tools::MemoryFacts;
use futures_util::future::join_all;

use crate::place::Place;

/// A memory of at most so many facts, as another process has it.
async fn facts(place: &Place, most: usize) -> Arc<dyn LongTermMemory> {
    match place {
        Place::Memory(_) => Arc::new(MemoryFacts::new().with_max_facts(most)),
        Place::Sqlite(folder) => {
            let store = SqliteStore::open(folder.path().join("s.db")).await.unwrap();
            Arc::new(SqliteFacts::new(store).with_max_facts(most))
        }
        Place::Postgres(database) => {
            let store = PostgresStore::connect(&database.url).await.unwrap();
            Arc::new(PostgresFacts::new(store).with_max_facts(most))
        }
    }
}

fn texts(facts: Vec<Fact>) -> Vec<String> {
    facts.into_iter().map(|fact| fact.text).collect()
}

async fn found(memory: &Arc<dyn LongTermMemory>, query: &str) -> Vec<String> {
    texts(memory.search("ann", query, 5).await.unwrap())
}

async fn remember(memory: &Arc<dyn LongTermMemory>, of_ann: &[&str]) {
    for text in of_ann {
        memory.remember("ann", text).await.unwrap();
    }
}

pub(crate) async fn the_best_match_comes_first_and_the_same_text_is_one_fact(place: Place) {
    let memory = facts(&place, 100).await;
    let first = memory.remember("ann", "Invoices go to Berlin.").await.unwrap();
    remember(&memory, &["Berlin is cold.", "The cat is called Mia.", "Lamps hang in the hall."]).await;
    let again = memory.remember("ann", "  Invoices go to Berlin.\n").await.unwrap();
    assert_eq!((&again.id, again.text.as_str()), (&first.id, "Invoices go to Berlin."));
    let both = found(&memory, "where does the invoice to Berlin go").await;
    let others = ["Lamps hang in the hall.", "The cat is called Mia.", "Berlin is cold."];
    assert_eq!((&*both[0], &both[1..]), ("Invoices go to Berlin.", &others.map(str::to_owned)[..]));
    assert_eq!(
        found(&memory, "berlin").await,
        ["Invoices go to Berlin.", "Berlin is cold."],
        "the newer one first"
    );
    assert_eq!(found(&memory, "LAMP").await, ["Lamps hang in the hall."]);
    assert!(found(&memory, "lam nothing").await.is_empty(), "three characters are a word of their own");
    assert_eq!(texts(memory.search("ann", "", 2).await.unwrap())[0], "Invoices go to Berlin.", "the newest");
    assert_eq!(memory.search("ann", "the", 1).await.unwrap().len(), 1);
    assert!(memory.search("ann", "the", 0).await.unwrap().is_empty());
}

pub(crate) async fn facts_are_found_in_every_script(place: Place) {
    let memory = facts(&place, 100).await;
    let all = [
        "租赁合同从七月开始。",
        "Das Café heißt Zur Brücke.",
        "Η οδός είναι κλειστή.",
        "Договор подписан в июле.",
        "予約は火曜日です。",
        "계약서는 칠월에 시작됩니다.",
    ];
    remember(&memory, &all).await;
    for (query, at) in [
        ("合同什么时候开始", 0),
        ("CAFÉ", 1),
        ("brücken", 1),
        ("ΟΔΌΣ", 2),
        ("договора", 3),
        ("火曜", 4),
        ("租", 0),
        ("同", 0),
        ("始", 0),
        ("曜", 4),
        ("계약서", 5),
        ("서", 5),
    ] {
        assert_eq!(found(&memory, query).await, [all[at]], "{query}");
    }
    for nothing in ["cafe", "🙂", "合租", "书", "…"] {
        let found = found(&memory, nothing).await;
        // Without a word there are the newest.
        assert!(found.is_empty() || found.len() == 5, "{nothing}: {found:?}");
    }
}

pub(crate) async fn a_query_is_words_whatever_is_in_it(place: Place) {
    let memory = facts(&place, 100).await;
    remember(&memory, &["Berlin is cold.", "Rome is warm or hot.", "A 100% sure_thing."]).await;
    let long = "z".repeat(1 << 20);
    for (query, expected) in [
        ("\"berlin", "Berlin is cold."),
        ("berlin*) OR (1=1", "Rome is warm or hot."),
        ("'; DROP TABLE attache_fact; -- berlin", "Berlin is cold."),
        ("NEAR(berlin, 3) NOT berlin", "Berlin is cold."),
        ("be\0rlin berlin\0", "Berlin is cold."),
        ("principal : berlin ^ {berlin} : & | ! <->", "Berlin is cold."),
        (&format!("{long} berlin {}", "q'\"*%".repeat(1 << 17)), "Berlin is cold."),
        ("sure_", "A 100% sure_thing."),
    ] {
        let found = found(&memory, query).await;
        assert_eq!(found.first().map(String::as_str), Some(expected), "{}", &query[..query.len().min(60)]);
    }
    for nothing in ["ber*", "%erli%", "b_rlin", "[\"\\u0062erlin\"]", &long] {
        assert!(found(&memory, nothing).await.is_empty(), "{}", &nothing[..nothing.len().min(60)]);
    }
    let hostile = memory.remember("ann", "a\0b '); DELETE FROM attache_fact; -- \u{10ffff}").await.unwrap();
    assert_eq!(hostile.text, "ab '); DELETE FROM attache_fact; -- \u{10ffff}");
    assert_eq!(found(&memory, "delete").await, [hostile.text]);
    assert_eq!(memory.search("ann", "", 9).await.unwrap().len(), 4, "all are there still");
    let words: String = (0..600).map(|number| format!("w{number} ")).collect();
    memory.remember("ann", &words).await.unwrap();
    assert_eq!(found(&memory, "w599").await, [words.trim()]);
}

pub(crate) async fn facts_of_others_are_neither_found_nor_counted(place: Place) {
    let memory = facts(&place, 100).await;
    let own = ["Red roses.", "Red lamps.", "Blue lamps.", "Lamps and roses."];
    remember(&memory, &own).await;
    let queries = ["red roses", "lamps", "blue lamps red", "roses rose"];
    let mut alone = Vec::new();
    for query in queries {
        alone.push(found(&memory, query).await);
    }
    // If what others remember counted, their words would say little to her.
    for principal in ["bob", "an", "anna", "ann%", "ann' OR '1'='1", "ANN", ""] {
        for number in 0..12 {
            memory.remember(principal, &format!("Red roses and blue {number}.")).await.unwrap();
        }
    }
    for (query, alone) in queries.iter().zip(&alone) {
        assert_eq!(found(&memory, query).await, *alone, "{query}");
    }
    let hers = memory.remember("ann", "Red roses.").await.unwrap();
    let his = memory.remember("bob", "Red roses.").await.unwrap();
    assert_ne!(hers.id, his.id);
    assert!(!memory.forget("bob", &hers.id).await.unwrap());
    assert!(memory.forget("bob", &his.id).await.unwrap() && !memory.forget("bob", &his.id).await.unwrap());
    assert_eq!(memory.search("ann", "", 50).await.unwrap().len(), 4);
    assert!(memory.forget("ann", &hers.id).await.unwrap());
    assert!(!found(&memory, "red").await.contains(&"Red roses.".to_owned()), "its words are gone with it");
    assert!(memory.search("a\0nn", "red", 5).await.unwrap().is_empty());
}

pub(crate) async fn a_memory_is_bounded_also_by_two_at_once(place: Place) {
    let memory = facts(&place, 3).await;
    let other = if let Place::Memory(_) = place { Arc::clone(&memory) } else { facts(&place, 3).await };
    let same = [&memory, &other].map(|memory| memory.remember("ann", "one"));
    for fact in join_all(same).await {
        fact.unwrap();
    }
    let many = (0..10).map(|number| {
        let memory = if number % 2 == 0 { &memory } else { &other };
        async move { memory.remember("ann", &format!("fact {number}")).await }
    });
    let refused = join_all(many).await.into_iter().filter_map(Result::err);
    assert!(refused.map(|error| error.kind()).eq([StoreErrorKind::TooLarge; 8]));
    assert_eq!(memory.search("ann", "", 50).await.unwrap().len(), 3);
    memory.remember("ann", "one").await.unwrap();
    memory.remember("bob", "two").await.unwrap();
    let long = memory.remember("eve", &"é".repeat(4_001)).await.unwrap_err();
    assert_eq!(long.kind(), StoreErrorKind::TooLarge);
    memory.remember("eve", &"é".repeat(4_000)).await.unwrap();
}

/// Each store answers as memory does.
async fn answers_as_memory_does(place: Place) {
    let stems = ["lamp", "lam", "invoice", "form", "formal", "租赁合同", "café", "a", "berlin"];
    let endings = ["", "s", "ing", "er", "ally"];
    let mut seed = 11_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut text = |most: usize| {
        let count = 1 + random(most);
        let words = (0..count).map(|_| format!("{}{}", stems[random(stems.len())], endings[random(5)]));
        words.collect::<Vec<_>>().join(" ")
    };
    let (memory, kept) = (facts(&Place::memory(), 1000).await, facts(&place, 1000).await);
    for _ in 0..60 {
        let fact = text(6);
        for memory in [&memory, &kept] {
            memory.remember("ann", &fact).await.unwrap();
        }
    }
    // A fact that was written is read by another process.
    drop(kept);
    let kept = facts(&place, 1000).await;
    for _ in 0..60 {
        let query = text(4);
        let expected = texts(memory.search("ann", &query, 20).await.unwrap());
        assert_eq!(texts(kept.search("ann", &query, 20).await.unwrap()), expected, "{query}");
    }
}

#[tokio::test]
async fn sqlite_answers_as_memory_does() {
    answers_as_memory_does(Place::sqlite()).await;
}

#[tokio::test]
async fn postgres_answers_as_memory_does() {
    answers_as_memory_does(Place::postgres()).await;
}
