//! The moments at which a process may be told to stand still, so that it can be killed just there.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::kept::{Kept, Store};

pub(crate) const STOPPED: &str = "stopped: ";
pub(crate) const WAITS: &str = "waits for an approval";
/// The number of moments that a process has counted, at its end.
pub(crate) const COUNTED: &str = "moments counted: ";
/// A moment behind a write that its caller does not know of yet; the length that the log had before follows.
pub(crate) const WRITTEN: &str = "written after ";

const ORDER: &str = "ATTACHE_CRASH_ORDER";

/// The task of a process.
pub(crate) struct Order {
    pub(crate) kept: Kept,
    pub(crate) scenario: u64,
    /// True if it waits for who is outside; else it ends and another process goes on.
    pub(crate) is_patient: bool,
}

static MOMENT: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicU64 = AtomicU64::new(u64::MAX);

pub(crate) fn give_order(command: &mut Command, kept: &Kept, scenario: u64, moment: u64, is_patient: bool) {
    let (store, folder) = (kept.store.name(), kept.folder().display());
    let order = format!("{moment} {scenario} {is_patient} {store} {folder}");
    command.env(ORDER, order);
}

/// The order of this process, if it has one.
pub(crate) fn order() -> Option<Order> {
    let text = std::env::var(ORDER).ok()?;
    let mut words = text.splitn(5, ' ');
    STOP.store(words.next().unwrap().parse().unwrap(), Ordering::SeqCst);
    let scenario = words.next().unwrap().parse().unwrap();
    let is_patient = words.next().unwrap().parse().unwrap();
    let store = Store::named(words.next().unwrap());
    let kept = Kept::known(store, Path::new(words.next().unwrap()));
    Some(Order { scenario, is_patient, kept })
}

pub(crate) fn counted() -> u64 {
    MOMENT.load(Ordering::SeqCst)
}

/// Counts a moment, and stands still for ever if it is the one.
pub(crate) fn moment(name: &str) {
    if MOMENT.fetch_add(1, Ordering::SeqCst) == STOP.load(Ordering::SeqCst) {
        say(&format!("{STOPPED}{name}"));
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}
