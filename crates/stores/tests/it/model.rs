//! A journal in a file does what the journal in memory does.

use std::time::SystemTime;

use attache_agent::{Entry, Fence, Journal, JournalError, MemoryJournal};
use proptest::prelude::*;
use tempfile::tempdir;

use crate::common::{block_on, entry, key, open, told};

/// One thing to do, by one of two journals on the same file.
#[derive(Clone, Debug)]
enum Step {
    Load,
    /// Claims the log as if it had this many entries more than it has.
    Claim(usize),
    /// Appends under these keys, with the newest fence or an older one.
    Append(Vec<u8>, bool),
    Deliver(u8),
    Wait(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Load),
        2 => prop_oneof![4 => Just(0_usize), 1 => 1..3_usize].prop_map(Step::Claim),
        6 => (prop::collection::vec(0..12_u8, 0..4), prop::bool::weighted(0.9)).prop_map(|(keys, new)| Step::Append(keys, new)),
        3 => (0..12_u8).prop_map(Step::Deliver),
        2 => (0..12_u8).prop_map(Step::Wait),
    ]
}

/// The answer of a journal, without the times.
async fn answer(journal: &dyn Journal, step: &Step, number: usize, fences: &mut Vec<Fence>) -> String {
    let name = |key: &u8| format!("key/{key}");
    let told = |entries: Vec<Entry>| entries.iter().map(told).collect::<Vec<_>>();
    let answer = match step {
        Step::Load => journal.load().await.map(|entries| format!("{:?}", told(entries))),
        Step::Claim(more) => {
            let length = journal.load().await.unwrap().len();
            journal.claim(length + more).await.map(|fence| {
                fences.push(fence);
                "claimed".to_owned()
            })
        }
        Step::Append(keys, is_newest) => {
            let Some(fence) = fences.iter().nth_back(usize::from(!is_newest)) else { return String::new() };
            let entries = keys.iter().enumerate();
            let entries = entries.map(|(at, key)| entry(&name(key), &format!("{number}.{at}"))).collect();
            journal.append(*fence, entries).await.map(|entries| format!("{:?}", told(entries)))
        }
        Step::Deliver(key) => {
            let delivered = journal.deliver(entry(&name(key), &format!("delivered {number}"))).await;
            delivered.map(|entry| format!("{:?}", told(vec![entry])))
        }
        Step::Wait(at) => {
            let found = journal.wait(&key(&name(at)), Some(SystemTime::UNIX_EPOCH)).await;
            found.map(|entry| format!("{:?}", entry.map(|entry| told(vec![entry]))))
        }
    };
    answer.unwrap_or_else(|error| match error {
        JournalError::Fenced | JournalError::Moved { .. } => error.to_string(),
        other => panic!("{other:?}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn two_journals_on_one_file_do_what_one_in_memory_does(steps in prop::collection::vec((step(), any::<bool>()), 1..30)) {
        block_on(async {
            let folder = tempdir().unwrap();
            let files = [0, 1].map(|_| open(&folder.path().join("run.jsonl")));
            let memory = MemoryJournal::new();
            let (mut file_fences, mut memory_fences) = (Vec::new(), Vec::new());
            for (number, (step, second)) in steps.iter().enumerate() {
                let in_memory = answer(&memory, step, number, &mut memory_fences).await;
                let in_file = answer(&files[usize::from(*second)], step, number, &mut file_fences).await;
                prop_assert_eq!(in_file, in_memory, "step {}: {:?}", number, step);
            }
            Ok(())
        })?;
    }
}
