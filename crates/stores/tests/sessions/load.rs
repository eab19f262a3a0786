//! Many sessions at once.

use std::time::{Duration, Instant};

use futures_util::future::{Either, join_all, select};

use crate::kit::{agent, questions, sessions};
use crate::place::Place;

/// The memory of this process in bytes, where the system tells it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

// A86
pub(crate) async fn two_hundred_sessions_at_once_take_bounded_memory_and_block_nobody(place: Place) {
    let sessions = sessions(&place, agent()).await;
    let before = memory();
    let work = join_all((0..200).map(|number| {
        let sessions = sessions.clone();
        async move {
            let session = sessions.open("ann", Some(&format!("s{number}"))).await.unwrap();
            for round in 0..3 {
                let question = format!("{number}.{round} {}", "word ".repeat(200));
                let outcome = session.run(question).outcome().await.unwrap();
                assert_eq!(questions(&outcome.messages).len(), round + 1);
            }
        }
    }));
    let beat = async {
        let mut longest = Duration::ZERO;
        loop {
            let began = Instant::now();
            tokio::time::sleep(Duration::from_millis(10)).await;
            longest = longest.max(began.elapsed());
            assert!(longest < Duration::from_secs(5), "the executor stood still for {longest:?}");
        }
    };
    match select(Box::pin(work), Box::pin(beat)).await {
        Either::Left(_) => {}
        Either::Right(((), _)) => unreachable!(),
    }
    // A session in memory holds its 600 kB; the rest is for the tests beside this one.
    if let (Some(before), Some(after)) = (before, memory()) {
        let grown = after.saturating_sub(before);
        assert!(grown < 400 << 20, "the memory has grown by {grown} bytes");
    }
    assert_eq!(sessions.count("ann").await.unwrap(), 200);
}
