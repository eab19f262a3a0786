//! A server over SQLite that is killed again and again, and the clients that come back to it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::client::{Watch, start};
use crate::node::Order;
use crate::process::Node;
use crate::script::text;

/// Servers that are killed beside each other.
const LANES: u64 = 4;
/// Clients of each.
const CLIENTS: usize = 2;
const PLAN: &str = "pay look pay look";
const LEASE: Duration = Duration::from_millis(400);

#[test]
fn a_server_killed_in_the_middle_of_runs_loses_and_repeats_nothing() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("ATTACHE_KILLS").unwrap_or(100);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("ATTACHE_KILL_SEED").unwrap_or(since_1970.as_secs());
    println!("ATTACHE_KILL_SEED={seed} ATTACHE_KILLS={kills} server");
    let since = Instant::now();
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| std::thread::spawn(move || kill_lane(seed.wrapping_add(lane), kills.div_ceil(LANES))))
        .collect();
    // Each lane ends its node itself: one that fails must not end the test before the others have.
    let lanes: Vec<_> = lanes.into_iter().map(std::thread::JoinHandle::join).collect();
    let mut found = Found::default();
    for lane in lanes {
        let of_lane = lane.unwrap();
        found.runs += of_lane.runs;
        found.came_back += of_lane.came_back;
        found.effects += of_lane.effects;
    }
    println!("{kills} kills, {found:?}, {:.1?}", since.elapsed());
    // The test must not pass because nothing happened.
    assert!(found.runs >= kills / 10 && found.came_back >= kills / 2 && found.effects > 0, "{found:?}");
}

#[derive(Debug, Default)]
struct Found {
    /// Runs that came to their end.
    runs: u64,
    /// The times that a client came back to a run.
    came_back: u64,
    effects: usize,
}

/// Kills a server that many times, while its clients follow their runs.
fn kill_lane(seed: u64, kills: u64) -> Found {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("sessions.db").display().to_string();
    let order = Order { store, lease: LEASE, effects: folder.path().join("effects") };
    let mut node = Node::start(&order);
    let address = Arc::new(Mutex::new(node.address));
    let over = Arc::new(AtomicBool::new(false));
    let (ended, came_back) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (address, over) = (Arc::clone(&address), Arc::clone(&over));
            let (ended, came_back) = (Arc::clone(&ended), Arc::clone(&came_back));
            std::thread::spawn(move || {
                for turn in 0.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let tag = format!("c{client}t{turn}");
                    came_back.fetch_add(run(&tag, || *address.lock().unwrap()), Ordering::Relaxed);
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut state = seed;
    for _ in 0..kills {
        // A step of a linear congruential generator, by Knuth's numbers.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(600 + (state >> 33) % 600));
        node.kill();
        node = Node::start(&order);
        *address.lock().unwrap() = node.address;
    }
    over.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().unwrap());
    let effects = std::fs::read_to_string(&order.effects).unwrap_or_default();
    let mut calls: Vec<_> = effects.lines().filter_map(|line| line.split(' ').next()).collect();
    calls.sort_unstable();
    let count = calls.len();
    calls.dedup();
    assert_eq!(calls.len(), count, "no effect is repeated:\n{effects}");
    Found {
        runs: ended.load(Ordering::Relaxed),
        came_back: came_back.load(Ordering::Relaxed),
        effects: count,
    }
}

/// Follows a run to its end, and yields how often the client came back to it.
fn run(tag: &str, address: impl Fn() -> std::net::SocketAddr) -> u64 {
    let mut tries = 0;
    let run = loop {
        // A request that was cut may have begun a run; nobody follows that one.
        let body = json!({"message": format!("{tag}x{tries}: {PLAN}")});
        match start(address(), &format!("{tag}x{tries}"), &body) {
            Ok(run) => break run,
            Err(_) => tries += 1,
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let tag = format!("{tag}x{tries}");
    let mut watch = Watch::new(&run);
    watch.follow(&address, |watch| watch.end.is_some());
    let steps = PLAN.split(' ').count();
    let end = watch.end.as_ref().unwrap();
    assert_eq!((&end["type"], &end["reason"]), (&json!("finished"), &json!("answer")), "{watch:?}");
    let whole: String = (0..=steps).map(|step| text(&tag, step)).collect();
    assert_eq!(watch.text(), whole, "{:?}", watch.kinds);
    assert_eq!(end["text"], text(&tag, steps).as_str());
    assert_eq!(watch.calls.len(), steps, "{:?}", watch.calls);
    assert!(watch.calls.values().all(|call| call.is_finished), "{:?}", watch.calls);
    u64::from(watch.connections - 1)
}
