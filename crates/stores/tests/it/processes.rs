//! Several processes at one log.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use attache_agent::{Journal, JournalError};
use tempfile::tempdir;

use crate::common::{all_told, block_on, claimed, entry, key, open, pairs, process, role, told};

#[test]
fn a_result_delivered_by_another_process_is_noticed_and_taken() {
    const TEST: &str = "processes::a_result_delivered_by_another_process_is_noticed_and_taken";
    if let Some(path) = role() {
        let stands = block_on(open(Path::new(&path)).deliver(entry("tool/x", "from outside"))).unwrap();
        assert_eq!(told(&stands).1, "from outside");
        return;
    }
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    block_on(async {
        let (journal, fence) = claimed(&path).await;
        journal.append(fence, vec![entry("start", "a")]).await.unwrap();
        let mut webhook = process(TEST, path.to_str().unwrap()).stdout(Stdio::null()).spawn().unwrap();
        let until = SystemTime::now() + Duration::from_secs(60);
        let found = journal.wait(&key("tool/x"), Some(until)).await.unwrap().expect("it is noticed");
        assert_eq!(told(&found).1, "from outside");
        assert!(webhook.wait().unwrap().success());
        let stand = journal.append(fence, vec![entry("tool/x", "mine")]).await.unwrap();
        assert_eq!(told(&stand[0]).1, "from outside");
    });
    let log = block_on(open(&path).load()).unwrap();
    assert_eq!(all_told(&log), pairs(&[("start", "a"), ("tool/x", "from outside")]));
}

#[test]
fn a_claim_in_another_process_fences_this_one() {
    const TEST: &str = "processes::a_claim_in_another_process_fences_this_one";
    if let Some(path) = role() {
        block_on(async {
            let (journal, fence) = claimed(Path::new(&path)).await;
            journal.append(fence, vec![entry("model/1", "theirs")]).await.unwrap();
        });
        return;
    }
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    block_on(async {
        let (journal, fence) = claimed(&path).await;
        journal.append(fence, vec![entry("start", "a")]).await.unwrap();
        assert!(process(TEST, path.to_str().unwrap()).stdout(Stdio::null()).status().unwrap().success());
        let fenced = journal.append(fence, vec![entry("model/1", "mine")]).await.unwrap_err();
        assert!(matches!(fenced, JournalError::Fenced), "{fenced:?}");
        assert!(matches!(journal.claim(1).await, Err(JournalError::Moved { entries: 2 })));
    });
    let log = block_on(open(&path).load()).unwrap();
    assert_eq!(all_told(&log), pairs(&[("start", "a"), ("model/1", "theirs")]));
}

// All that claim at once get the log one after another; after the last claim exactly one of them can append.
#[test]
fn of_processes_that_claim_at_once_one_wins() {
    const TEST: &str = "processes::of_processes_that_claim_at_once_one_wins";
    if let Some(role) = role() {
        let (path, name) = role.split_once('|').unwrap();
        block_on(async {
            let journal = open(Path::new(path));
            let fence = journal.claim(0).await.unwrap();
            // Nobody appends before all have claimed: each leaves a sign and waits for all four.
            std::fs::write(format!("{path}.{name}"), "").unwrap();
            while !["a", "b", "c", "d"].iter().all(|name| Path::new(&format!("{path}.{name}")).exists()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            match journal.append(fence, vec![entry("start", name)]).await {
                Ok(_) => {}
                Err(JournalError::Fenced) => panic!("fenced"),
                Err(error) => panic!("{error:?}"),
            }
        });
        return;
    }
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let drivers = ["a", "b", "c", "d"].map(|name| {
        let role = format!("{}|{name}", path.display());
        process(TEST, &role).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let mut winners = 0;
    for driver in drivers {
        let output = driver.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || error.contains("fenced"), "{error}");
        winners += usize::from(output.status.success());
    }
    assert_eq!(winners, 1);
    assert_eq!(block_on(open(&path).load()).unwrap().len(), 1);
}
