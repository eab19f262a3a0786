//! The source of new ids and of the time: randomness and the clock or, in tests that request it, counters and a fixed
//! time. For crates that create ids or read the clock.
//!
//! A program uses randomness and the clock. Another source exists only with the feature `fixed`, which
//! `attache-testkit` enables; it is used on the thread that has [entered](Source::enter) it until the guard is dropped.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::SystemTime;

use uuid::Uuid;

#[cfg(feature = "fixed")]
pub(crate) use fixed::{Kind, next};

/// The source of the current thread, which can be passed to another thread.
#[derive(Clone, Debug, Default)]
pub struct Source {
    #[cfg(feature = "fixed")]
    counts: Option<Arc<fixed::Counts>>,
}

/// Keeps a source active on the thread. If there are several, the newest one is used, in whichever order they are
/// dropped.
#[derive(Debug)]
#[must_use = "the source serves until this is dropped"]
pub struct Entered {
    #[cfg(feature = "fixed")]
    number: u64,
    /// A source that a thread entered is left on that thread.
    thread: PhantomData<*const ()>,
}

/// The current time.
pub fn now() -> SystemTime {
    #[cfg(feature = "fixed")]
    if fixed::is_on() {
        return fixed::time();
    }
    SystemTime::now()
}

/// A new UUID as text, for ids that must not be guessable.
pub fn uuid() -> Arc<str> {
    #[cfg(feature = "fixed")]
    if let Some(number) = next(Kind::Run) {
        return fixed::uuid(number);
    }
    text(Uuid::new_v4())
}

pub(crate) fn document() -> Arc<str> {
    #[cfg(feature = "fixed")]
    if let Some(number) = next(Kind::Document) {
        return fixed::uuid(number);
    }
    text(Uuid::new_v4())
}

pub(crate) fn text(uuid: Uuid) -> Arc<str> {
    let mut buffer = [0u8; uuid::fmt::Hyphenated::LENGTH];
    Arc::from(&*uuid.hyphenated().encode_lower(&mut buffer))
}

impl Source {
    /// The source of this thread.
    pub fn current() -> Self {
        Self {
            #[cfg(feature = "fixed")]
            counts: fixed::current(),
        }
    }

    /// Makes this source active on the thread until the guard is dropped. This also works for the source of randomness
    /// and the clock, to override another one.
    pub fn enter(&self) -> Entered {
        Entered {
            #[cfg(feature = "fixed")]
            number: fixed::enter(self.counts.clone()),
            thread: PhantomData,
        }
    }
}

#[cfg(feature = "fixed")]
impl Source {
    /// Creates a source of counters, each starting at 1, and the first second of 2026 as the time.
    pub fn fixed() -> Self {
        Self { counts: Some(Arc::default()) }
    }
}

#[cfg(feature = "fixed")]
impl Drop for Entered {
    fn drop(&mut self) {
        fixed::leave(self.number);
    }
}

#[cfg(feature = "fixed")]
mod fixed {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, SystemTime};

    /// 2026-01-01T00:00:00Z.
    pub(super) fn time() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
    }

    /// The ids that are counted apart.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Kind {
        Document,
        Message,
        Call,
        Run,
    }

    #[derive(Debug, Default)]
    pub(super) struct Counts([AtomicU32; 4]);

    type Source = Option<Arc<Counts>>;

    thread_local! {
        /// The sources that serve the thread, each with the number of its guard; the last one serves.
        static SOURCES: RefCell<Vec<(u64, Source)>> = const { RefCell::new(Vec::new()) };
    }

    fn with_current<T>(look: impl FnOnce(Option<&Arc<Counts>>) -> T) -> T {
        SOURCES.with_borrow(|sources| look(sources.last().and_then(|(_, source)| source.as_ref())))
    }

    /// The next number of a kind, where the thread has a source of counts.
    pub(crate) fn next(kind: Kind) -> Option<u32> {
        with_current(|counts| {
            let count = counts?.0.get(kind as usize)?;
            Some(count.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
        })
    }

    pub(super) fn is_on() -> bool {
        with_current(|counts| counts.is_some())
    }

    pub(super) fn current() -> Option<Arc<Counts>> {
        with_current(|counts| counts.cloned())
    }

    pub(super) fn enter(source: Source) -> u64 {
        SOURCES.with_borrow_mut(|sources| {
            let number = sources.last().map_or(0, |(last, _)| last + 1);
            sources.push((number, source));
            number
        })
    }

    pub(super) fn leave(number: u64) {
        SOURCES.with_borrow_mut(|sources| sources.retain(|(known, _)| *known != number));
    }

    /// A UUID of the form that random ones have, with the number where labels show it.
    pub(super) fn uuid(number: u32) -> Arc<str> {
        Arc::from(format!("{number:08x}-0000-4000-8000-000000000000"))
    }
}
