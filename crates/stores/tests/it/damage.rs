//! Logs that a crash cut off, and logs that were damaged.

use std::fs;
use std::path::Path;

use attache_agent::{Journal, JournalError};
use proptest::prelude::*;
use tempfile::tempdir;

use crate::common::{all_told, block_on, claimed, entry, open, problem, told};

/// A log with claims, batches of several entries, and a delivery. Yields how long the file was after each write, with
/// the entries that it held then.
async fn write(path: &Path) -> Vec<(usize, usize)> {
    let mut stood = vec![(0, 0)];
    let length = |path: &Path| usize::try_from(fs::metadata(path).unwrap().len()).unwrap();
    let (journal, fence) = claimed(path).await;
    stood.push((length(path), 0));
    let mut entries = 0;
    for (batch, size) in [1, 3, 2].into_iter().enumerate() {
        let batch = (0..size).map(|n| entry(&format!("tool/{batch}/{n}"), "ä\n")).collect();
        journal.append(fence, batch).await.unwrap();
        entries += size;
        stood.push((length(path), entries));
    }
    open(path).deliver(entry("tool/x", "delivered")).await.unwrap();
    stood.push((length(path), entries));
    let (journal, fence) = claimed(path).await;
    stood.push((length(path), entries));
    journal.append(fence, vec![entry("tool/x", ""), entry("end", "b")]).await.unwrap();
    stood.push((length(path), entries + 2));
    stood
}

// The heart of it: wherever a crash cuts the file, a batch is there as a whole or not at all, and the log goes on.
#[tokio::test]
async fn a_log_torn_at_any_byte_goes_on() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let stood = write(&path).await;
    let whole = fs::read(&path).unwrap();
    let all = open(&path).load().await.unwrap();
    assert_eq!(all.len(), 8);
    for cut in 0..=whole.len() {
        let torn = folder.path().join("torn.jsonl");
        // Some file systems lengthen a file before they fill it.
        for zeros in [0, 600] {
            let zeros = if cut == whole.len() { 0 } else { zeros };
            let text = [&whole[..cut], &vec![0; zeros]].concat();
            fs::write(&torn, &text).unwrap();
            let entries = stood.iter().rev().find(|(length, _)| *length <= cut).unwrap().1;
            let journal = open(&torn);
            let loaded = journal.load().await.unwrap_or_else(|error| panic!("cut at {cut}: {error:?}"));
            assert_eq!(loaded, all[..entries], "cut at {cut}");
            assert_eq!(fs::read(&torn).unwrap(), text, "looking changes nothing");
            // It is cut off at the next claim, and the run goes on. Writing takes its time, so near the ends of lines and
            // at some places between.
            let near = stood.iter().any(|(length, _)| cut.abs_diff(*length) <= 2);
            if !near && cut % 23 != 0 {
                continue;
            }
            let fence = journal.claim(entries).await.unwrap();
            let stand =
                journal.append(fence, vec![entry("tool/0/0", "again"), entry("later", "c")]).await.unwrap();
            assert_eq!(stand[0].key, all[0].key);
            assert_eq!(told(&stand[0]).1 == "again", entries == 0);
            let again = open(&torn).load().await.unwrap();
            assert_eq!(again.len(), entries.max(1) + 1, "cut at {cut}");
            let lines = fs::read_to_string(&torn).unwrap();
            assert!(lines.ends_with('\n') && !lines.contains('\0'), "cut at {cut}");
        }
    }
}

// A damaged byte is never passed over: the log is refused, and nothing is written. Only where the last line loses its
// end may it look like a crash; then checksum and length tell it apart.
#[tokio::test]
async fn a_flipped_byte_is_told_and_nothing_is_written() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    write(&path).await;
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for flip in [0x01, whole[at] ^ b'\n', whole[at]] {
            let mut text = whole.clone();
            text[at] ^= flip;
            if text == whole {
                continue;
            }
            let damaged = folder.path().join("damaged.jsonl");
            fs::write(&damaged, &text).unwrap();
            let journal = open(&damaged);
            let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let load = problem(journal.load().await);
            assert!(load.contains(&format!("line {line}:")), "byte {at} of line {line}: {load}");
            assert!(load.contains("checksum") || load.contains("its end"), "{load}");
            if at % 13 != 0 && at + 3 < whole.len() {
                continue;
            }
            for entries in [0, 8] {
                problem(open(&damaged).claim(entries).await);
            }
            problem(open(&damaged).deliver(entry("new", "x")).await);
            assert_eq!(fs::read(&damaged).unwrap(), text);
        }
    }
}

#[tokio::test]
async fn a_line_that_is_missing_doubled_or_moved_is_told() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    write(&path).await;
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let count = lines.len();
    for at in 0..count - 1 {
        let mut missing = lines.clone();
        missing.remove(at);
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        let mut moved = lines.clone();
        moved.swap(at, at + 1);
        for (changed, line) in [(missing, at + 1), (doubled, at + 2), (moved, at + 1)] {
            fs::write(&path, changed.concat()).unwrap();
            let problem = problem(open(&path).load().await);
            assert!(problem.contains(&format!("line {line}:")), "{at}: {problem}");
        }
    }
}

/// A line of these members, with its checksum.
fn sealed(members: &str) -> String {
    format!("{{\"crc\":\"{:08x}\",{members}\n", crc32fast::hash(members.as_bytes()))
}

// Lines that are whole, each by itself, and make no log together.
#[tokio::test]
async fn lines_that_contradict_each_other_are_told() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let line = |number: usize, left: usize, says: &str| {
        sealed(&format!("\"line\":{number},\"left\":{left},{says}}}"))
    };
    let entry = |at: &str| format!("\"entry\":{}", serde_json::to_string(&entry(at, "x")).unwrap());
    let claim = |number: usize| format!("\"claim\":{number},\"at\":1");
    let whole =
        [line(1, 0, &claim(1)), line(2, 1, &entry("a")), line(3, 0, &entry("b")), line(4, 0, &claim(2))];
    fs::write(&path, whole.concat()).unwrap();
    assert_eq!(open(&path).load().await.unwrap().len(), 2);
    let others = [
        (3, line(3, 1, &entry("b")), "1 lines of its batch follow it, not 0"),
        (3, line(3, 5, &entry("b")), "5 lines of its batch follow it, not 0"),
        (3, line(3, 0, &entry("a")), "the key a is there already"),
        (4, line(4, 0, &entry("a")), "the key a is there already"),
        (4, line(4, 0, &claim(1)), "claim 1 comes after claim 1"),
        (4, line(4, 0, &claim(0)), "claim 0 comes after claim 1"),
        (4, line(5, 0, &claim(2)), "line 5 is in its place"),
    ];
    for (at, other, told) in others {
        let mut lines = whole.clone();
        lines[at - 1] = other;
        fs::write(&path, lines.concat()).unwrap();
        let load = problem(open(&path).load().await);
        assert!(load.contains(&format!("line {at}:")) && load.contains(told), "{load}");
    }
}

#[tokio::test]
async fn an_unknown_version_or_member_is_refused_by_name() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let (journal, fence) = claimed(&path).await;
    journal.append(fence, vec![entry("start", "a")]).await.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let (first, second) = text.split_once('\n').unwrap();
    let members = second.trim_end().split_once(',').unwrap().1;
    let changes = [
        (r#""schemaVersion":1,"key""#, r#""schemaVersion":7,"key""#, "schema version 7"),
        (r#""schemaVersion":1,"key""#, r#""schemaVersion":1,"mood":2,"key""#, "mood"),
        (r#""left":0,"#, r#""left":0,"colour":3,"#, "colour"),
        (r#""inbox":"#, r#""weather":"#, "weather"),
        (r#""entry":"#, r#""claim":2,"entry":"#, "one of the members"),
    ];
    for (from, to, named) in changes {
        let changed = members.replacen(from, to, 1);
        assert_ne!(changed, members, "{from}");
        fs::write(&path, format!("{first}\n{}", sealed(&changed))).unwrap();
        let before = fs::read(&path).unwrap();
        let load = problem(open(&path).load().await);
        assert!(load.contains("line 2:") && load.contains(named), "{load}");
        problem(open(&path).claim(1).await);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_file_that_is_no_log_is_left_alone() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for text in ["dear diary\n", "{}\n", "\n", "{\"crc\":\"00000000\",}\n"] {
        fs::write(&path, text).unwrap();
        let load = problem(open(&path).load().await);
        assert!(load.contains("line 1:"), "{load}");
        assert!(matches!(open(&path).claim(0).await, Err(JournalError::Unreadable { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    // Any texts, in any batches, come back; and torn anywhere, the batches before the tear do.
    #[test]
    fn any_batches_come_back_whole(
        batches in prop::collection::vec(prop::collection::vec("\\PC{1,40}|[\\n\\r\"\\\\]{1,5}x", 1..4), 0..5),
        tear in any::<prop::sample::Index>(),
    ) {
        block_on(async {
            let folder = tempdir().unwrap();
            let path = folder.path().join("run.jsonl");
            let (journal, fence) = claimed(&path).await;
            let mut stood = vec![(0, 0)];
            let mut all = Vec::new();
            for (number, batch) in batches.iter().enumerate() {
                let entries = batch.iter().enumerate().map(|(at, text)| entry(&format!("{number}/{at}"), text)).collect();
                all.extend(journal.append(fence, entries).await.unwrap());
                stood.push((fs::metadata(&path).unwrap().len(), all.len()));
            }
            prop_assert_eq!(all_told(&open(&path).load().await.unwrap()), all_told(&all));
            let text = fs::read(&path).unwrap();
            let cut = tear.index(text.len() + 1);
            fs::write(&path, &text[..cut]).unwrap();
            let entries = stood.iter().rev().find(|(length, _)| *length <= cut as u64).unwrap().1;
            prop_assert_eq!(open(&path).load().await.unwrap(), all[..entries].to_vec());
            Ok(())
        })?;
    }
}
