//! The promises of a journal in a file to a driver.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use attache_agent::{Entry, EntryKind, Fence, Journal, JournalError};
use attache_core::message::{OpaquePart, ReplayData};
use attache_core::{AssistantMessage, AssistantPart, Message, StoreErrorKind};
use serde_json::value::RawValue;
use tempfile::tempdir;

use crate::common::{all_told, block_on, claimed, entry, key, open, pairs, problem, told};

#[tokio::test]
async fn a_log_is_read_back_in_order_by_another_journal() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("new/folder/run.jsonl");
    let (journal, fence) = claimed(&path).await;
    journal.append(fence, vec![entry("start", "a")]).await.unwrap();
    let appended = journal.append(fence, vec![entry("model/1", "b"), entry("tool/x", "c")]).await.unwrap();
    let read = open(&path).load().await.unwrap();
    assert_eq!(all_told(&read), pairs(&[("start", "a"), ("model/1", "b"), ("tool/x", "c")]));
    assert_eq!(read[1..], appended[..]);
    assert!(read.iter().all(|entry| entry.at > 1_700_000_000_000), "stamped in milliseconds");
}

#[tokio::test]
async fn the_first_entry_under_a_key_stands() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    let first = journal.append(fence, vec![entry("model/1", "first")]).await.unwrap();
    let batch = vec![entry("model/1", "again"), entry("tool/x", "new"), entry("tool/x", "twice")];
    let stand = journal.append(fence, batch.clone()).await.unwrap();
    assert_eq!(all_told(&stand), pairs(&[("model/1", "first"), ("tool/x", "new"), ("tool/x", "new")]));
    assert_eq!(stand[0], first[0], "its stamp stays");
    let before = fs::read(&path).unwrap();
    assert_eq!(journal.append(fence, batch).await.unwrap(), stand);
    assert_eq!(fs::read(&path).unwrap(), before, "what stands is not written again");
    // A journal that never loaded knows what stands, too.
    let (other, fence) = claimed(&path).await;
    let stands = other.append(fence, vec![entry("model/1", "later")]).await.unwrap();
    assert_eq!(told(&stands[0]).1, "first");
}

#[tokio::test]
async fn looking_changes_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let journal = open(&path);
    assert_eq!(journal.load().await.unwrap(), []);
    let waited = journal.wait(&key("start"), Some(SystemTime::now())).await.unwrap();
    assert_eq!(waited, None);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_claim_needs_the_length_of_the_log() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    journal.append(fence, vec![entry("start", "a"), entry("model/1", "b")]).await.unwrap();
    let moved = open(&path).claim(0).await.unwrap_err();
    assert!(matches!(moved, JournalError::Moved { entries: 2 }), "{moved:?}");
    journal.append(fence, vec![entry("model/2", "c")]).await.expect("a claim that failed fences nobody");
}

#[tokio::test]
async fn a_new_claim_fences_the_old_driver() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (old, old_fence) = claimed(&path).await;
    old.append(old_fence, vec![entry("start", "a")]).await.unwrap();
    let (new, new_fence) = claimed(&path).await;
    assert!(new_fence > old_fence);
    for _ in 0..2 {
        let before = fs::read(&path).unwrap();
        let fenced = old.append(old_fence, vec![entry("model/1", "old")]).await.unwrap_err();
        assert!(matches!(fenced, JournalError::Fenced), "{fenced:?}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    new.append(new_fence, vec![entry("model/1", "new")]).await.unwrap();
    let never = new.append(Fence::default(), vec![entry("model/2", "x")]).await.unwrap_err();
    assert!(matches!(never, JournalError::Fenced), "{never:?}");
    let (_, next) = claimed(&path).await;
    assert!(next > new_fence, "claims that wrote nothing count");
}

// Three drivers take the log over from each other again and again, each in a thread of its own: nothing is lost, torn or
// doubled.
#[test]
fn drivers_fight_for_the_fence() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let together = std::sync::Barrier::new(3);
    let fight = |name: &str| {
        let journal = open(&path);
        together.wait();
        let (mut done, mut fenced) = (0, 0);
        while done < 40 {
            let fence = match block_on(async { journal.claim(journal.load().await?.len()).await }) {
                Ok(fence) => fence,
                Err(JournalError::Moved { .. }) => continue,
                Err(error) => panic!("{error:?}"),
            };
            let both = [0, 1].map(|at| entry(&format!("{name}/{done}/{at}"), "x"));
            match block_on(journal.append(fence, both.to_vec())) {
                Ok(stand) => assert_eq!(stand.len(), 2),
                Err(JournalError::Fenced) => {
                    fenced += 1;
                    continue;
                }
                Err(error) => panic!("{error:?}"),
            }
            done += 1;
        }
        fenced
    };
    let fenced: Vec<usize> = std::thread::scope(|scope| {
        let fights = ["a", "b", "c"].map(|name| {
            let fight = &fight;
            scope.spawn(move || fight(name))
        });
        fights.map(|fight| fight.join().unwrap()).to_vec()
    });
    let log = block_on(open(&path).load()).unwrap();
    let mut keys: Vec<_> = log.iter().map(|entry| entry.key.to_string()).collect();
    for pair in keys.chunks(2) {
        assert_eq!(pair[0].strip_suffix("/0"), pair[1].strip_suffix("/1"), "a batch stays together");
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 240, "fenced {fenced:?} times");
}

#[tokio::test]
async fn what_was_delivered_is_taken_once() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    journal.append(fence, vec![entry("start", "a")]).await.unwrap();
    let webhook = open(&path);
    assert_eq!(told(&webhook.deliver(entry("tool/x", "first")).await.unwrap()).1, "first");
    assert_eq!(told(&open(&path).deliver(entry("tool/x", "second")).await.unwrap()).1, "first");
    assert_eq!(told(&webhook.deliver(entry("start", "late")).await.unwrap()).1, "a");
    assert_eq!(all_told(&open(&path).load().await.unwrap()), pairs(&[("start", "a")]), "not in the log yet");
    assert!(journal.claim(1).await.is_ok(), "a delivery moves no log");

    let (journal, fence) = claimed(&path).await;
    let stand = journal.append(fence, vec![entry("tool/x", "the driver's")]).await.unwrap();
    assert_eq!(told(&stand[0]).1, "first");
    assert!(stand[0].at > 0, "stamped when it was recorded");
    let late = webhook.deliver(entry("tool/x", "third")).await.unwrap();
    assert_eq!(late, stand[0]);
    assert_eq!(all_told(&open(&path).load().await.unwrap()), pairs(&[("start", "a"), ("tool/x", "first")]));
}

#[tokio::test]
async fn waiting_ends_when_another_journal_delivers() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    let journal = Arc::new(journal);
    journal.append(fence, vec![entry("start", "a")]).await.unwrap();
    let waiter = {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move { journal.wait(&key("tool/x"), None).await })
    };
    open(&path).deliver(entry("tool/x", "there")).await.unwrap();
    let found = tokio::time::timeout(Duration::from_secs(20), waiter).await.expect("it is noticed").unwrap();
    assert_eq!(told(&found.unwrap().unwrap()).1, "there");
    // It is there already, and the time is up: it is found all the same.
    let found = journal.wait(&key("tool/x"), Some(SystemTime::UNIX_EPOCH)).await.unwrap();
    assert_eq!(told(&found.unwrap()).1, "there");
    let found = journal.wait(&key("start"), None).await.unwrap();
    assert_eq!(told(&found.unwrap()).1, "a");
}

#[tokio::test]
async fn waiting_ends_at_its_time() {
    let folder = tempdir().unwrap();
    let (journal, _) = claimed(&folder.path().join("run.jsonl")).await;
    let since = Instant::now();
    let until = SystemTime::now() + Duration::from_millis(30);
    assert_eq!(journal.wait(&key("tool/x"), Some(until)).await.unwrap(), None);
    assert!(since.elapsed() >= Duration::from_millis(29) && since.elapsed() < Duration::from_secs(20));
}

// A dropped append goes on to its end or never begins; either way the file is whole, and the key tells which.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_append_leaves_a_whole_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    for number in 0..40 {
        let at = format!("model/{number}");
        let batch = vec![entry(&at, "dropped"), entry(&format!("tool/{number}"), "dropped")];
        let mut append = journal.append(fence, batch);
        let _ = futures_poll(&mut append).await;
        drop(append);
        let stand =
            journal.append(fence, vec![entry(&at, "again"), entry(&format!("tool/{number}"), "again")]);
        let stand = stand.await.unwrap();
        assert_eq!(told(&stand[0]).1, told(&stand[1]).1, "all or none");
    }
    assert_eq!(open(&path).load().await.unwrap().len(), 80);
}

// A result whose recording a cancellation drops must not come to stand behind the end of the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_dropped_append_comes_before_a_later_one() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    let mut expected = Vec::new();
    for number in 0..60 {
        let (first, second) = (format!("model/{number}"), format!("tool/{number}"));
        let mut append = journal.append(fence, vec![entry(&first, "dropped")]);
        let _ = futures_poll(&mut append).await;
        drop(append);
        journal.append(fence, vec![entry(&second, "later")]).await.unwrap();
        expected.extend([first, second]);
    }
    let entries = open(&path).load().await.unwrap();
    let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, expected);
}

/// Polls a future once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_ready())
    })
    .await
}

// Verbatim blocks of providers may hold line breaks between their tokens. They come back byte for byte.
#[tokio::test]
async fn line_breaks_inside_an_entry_survive() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    let raw = "{\n  \"type\": \"thing\",\r\n\t\"text\": \"a\\nb\\u2028\u{2028}\"\n}";
    let block = ReplayData::new("family", "model", RawValue::from_string(raw.to_owned()).unwrap());
    let block = OpaquePart::new("thing", block);
    let message = AssistantMessage::new([Some(AssistantPart::Opaque(block))]);
    let odd = Entry::new(key("model/1"), EntryKind::Inbox(vec![Arc::new(Message::Assistant(message))]));
    let appended = journal.append(fence, vec![odd.clone(), entry("end", "x")]).await.unwrap();
    journal.deliver(Entry::new(key("tool/x"), odd.kind.clone())).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    let read = open(&path).load().await.unwrap();
    assert_eq!(read, appended);
    let EntryKind::Inbox(messages) = &read[0].kind else { panic!() };
    let Message::Assistant(message) = &*messages[0] else { panic!() };
    let AssistantPart::Opaque(block) = &message.parts[0] else { panic!() };
    assert_eq!(block.replay.json(), raw);
    let delivered = open(&path).wait(&key("tool/x"), None).await.unwrap().unwrap();
    assert_eq!(delivered.kind, odd.kind);
}

#[tokio::test]
async fn an_entry_that_is_too_long_is_refused_and_leaves_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    let before = fs::read(&path).unwrap();
    let batch = vec![entry("start", "a"), entry("model/1", &"x".repeat(64 << 20))];
    match journal.append(fence, batch).await {
        Err(JournalError::Store(error)) => assert_eq!(error.kind(), StoreErrorKind::TooLarge),
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    journal.append(fence, vec![entry("start", "a")]).await.unwrap();
}

#[tokio::test]
async fn a_log_that_was_removed_or_replaced_is_told() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    journal.append(fence, vec![entry("start", "a")]).await.unwrap();
    fs::rename(&path, folder.path().join("old")).unwrap();
    match journal.append(fence, vec![entry("model/1", "b")]).await {
        Err(JournalError::Store(error)) => assert_eq!(error.kind(), StoreErrorKind::NotFound),
        other => panic!("{other:?}"),
    }
    // A new run in the same place.
    claimed(&path).await;
    let (other, other_fence) = claimed(&path).await;
    other.append(other_fence, vec![entry("start", "other")]).await.unwrap();
    let fenced = journal.append(fence, vec![entry("model/1", "b")]).await.unwrap_err();
    assert!(matches!(fenced, JournalError::Fenced), "{fenced:?}");
    assert_eq!(all_told(&journal.load().await.unwrap()), pairs(&[("start", "other")]));
    // A file that lost its end while a journal holds it.
    let length = fs::metadata(&path).unwrap().len();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 5).unwrap();
    let lost = problem(other.append(other_fence, vec![entry("model/1", "b")]).await);
    assert!(lost.contains("lost 5 bytes"), "{lost}");
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_read_a_log() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    let path = folder.path().join("made/run.jsonl");
    claimed(&path).await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

// Journals are opened before there is a runtime, and used from threads that have none.
#[test]
fn a_journal_works_without_a_runtime() {
    let folder = tempdir().unwrap();
    let journal = open(&folder.path().join("run.jsonl"));
    let mut load = journal.load();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(loaded) = load.as_mut().poll(&mut context) else {
        panic!("it waits for nothing")
    };
    assert_eq!(loaded.unwrap(), []);
}
