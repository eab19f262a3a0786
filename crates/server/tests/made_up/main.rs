//! Requests that schemathesis makes up from the description of the routes, against a server as a process of its own: with a
//! key, sessions in SQLite, and an agent whose tools ask, return documents and tell how far they are.
//!
//! With `ATTACHE_ROUTE_SECONDS` they go on for that long, in rounds that begin with other seeds, and the memory and the files
//! that the server holds behind the first round and behind the last one are compared.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a broken expectation is a failed test"
)]

mod agent;
#[cfg(target_os = "linux")]
mod node;

/// The process of the server. Without an order it does nothing.
#[test]
fn node() {
    if let Some(folder) = std::env::var_os(agent::FOLDER) {
        agent::serve(folder.as_ref());
    }
}

/// The memory and files of the server are read from `/proc`.
#[cfg(target_os = "linux")]
#[test]
fn no_request_that_anybody_makes_up_breaks_a_route() {
    use std::time::Duration;

    let node = node::Node::start();
    let Some(seconds) = std::env::var("ATTACHE_ROUTE_SECONDS").ok() else {
        let (good, said) = node.ask(1, &["--max-examples", "8"], Duration::from_secs(300));
        assert!(good, "{said}");
        node.settle();
        assert!(node.answered() > 200.0, "{said}");
        return;
    };
    let seconds: u64 = seconds.parse().expect("a number of seconds");
    let rounds = (seconds / 300).max(2);
    let round = seconds / rounds;
    let mut held = Vec::new();
    let mut broken = Vec::new();
    for seed in 1..=rounds {
        let time = round.to_string();
        let asked = node.ask(seed, &["--max-time", &time], Duration::from_secs(round + 300));
        if !asked.0 {
            println!("{}", asked.1);
            broken.push(seed);
        }
        node.settle();
        held.push(node.held());
        println!("round {seed}: {} answers in all, held: {:?}", node.answered(), held.last().unwrap());
    }
    println!("{}", node.counted());
    assert!(broken.is_empty(), "of the rounds {broken:?} it says more above");
    let (first, last) = (held[0], held[held.len() - 1]);
    assert!(last.files <= first.files + 8, "{held:?}");
    assert!(last.memory <= first.memory + first.memory / 4 + (16 << 20), "{held:?}");
}
