//! Contains the panics of those who look on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// One who looks on. After a panic it is told nothing more.
pub(super) struct Guarded<T> {
    observer: Option<T>,
    has_failed: AtomicBool,
}

/// Calls one who looks on; `None` if it panics.
pub(super) fn contained<R>(call: impl FnOnce() -> R) -> Option<R> {
    let outcome = catch_unwind(AssertUnwindSafe(call));
    if outcome.is_err() {
        tracing::error!("an observer panicked, and looks on no longer");
    }
    outcome.ok()
}

impl<T> Guarded<T> {
    pub(super) fn new(observer: T) -> Self {
        Self { observer: Some(observer), has_failed: AtomicBool::new(false) }
    }

    pub(super) fn tell<R>(&self, tell: impl FnOnce(&T) -> R) -> Option<R> {
        let observer = self.observer.as_ref().filter(|_| !self.has_failed.load(Ordering::Relaxed))?;
        let told = contained(|| tell(observer));
        if told.is_none() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        told
    }

    pub(super) fn tell_mut<R>(&mut self, tell: impl FnOnce(&mut T) -> R) -> Option<R> {
        let observer = self.observer.as_mut().filter(|_| !self.has_failed.load(Ordering::Relaxed))?;
        let told = contained(|| tell(observer));
        if told.is_none() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        told
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if let Some(observer) = self.observer.take() {
            contained(|| drop(observer));
        }
    }
}

/// The things that observers have set for one poll. The last is put back first.
pub(super) struct Entered(Vec<Box<dyn Any>>);

impl Entered {
    pub(super) fn new(entered: impl Iterator<Item = Option<Box<dyn Any>>>) -> Self {
        Self(entered.flatten().collect())
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        while let Some(entered) = self.0.pop() {
            contained(|| drop(entered));
        }
    }
}
