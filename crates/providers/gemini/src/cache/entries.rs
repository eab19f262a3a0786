//! The caches that are known to be kept at the provider. Shared by the clones of a codec.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use attache_core::{ErrorKind, ProviderError};

use crate::error::Result;

/// The identity of a prefix: its content, model, address and credentials.
pub(crate) type Key = [u8; 32];

/// The maximum number of prefixes that are remembered. One that is forgotten ends at the provider by itself.
const MOST: usize = 64;
/// A cache that is about to end is not used: the request that names it has a way to go.
const MARGIN: Duration = Duration::from_secs(30);
/// How long a failure that may pass is taken for one that does not.
const PAUSE: Duration = Duration::from_secs(60);

/// Prefixes by key, the last used one behind the others.
#[derive(Debug, Default)]
pub(crate) struct Caches(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    key: Key,
    known: Known,
}

#[derive(Debug)]
enum Known {
    /// Somebody is at it.
    Making,
    Kept {
        name: String,
        ends: Instant,
        doubt: Option<Doubt>,
    },
    /// The provider does not keep it, and why; asked again after that time.
    Refused {
        why: String,
        until: Instant,
    },
}

/// The doubt that a failed request casts on the cache that it may have named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    Gone,
    Unfit,
}

/// The step to take about a prefix before a request.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// It is kept.
    Use,
    /// It is not, and that is all right.
    Leave,
    Make(Making<'a>),
    Extend {
        name: String,
    },
    /// The API must be asked if it is still there.
    Look {
        name: String,
    },
    /// It is there and of no use.
    Drop {
        name: String,
    },
}

/// The right to have a prefix kept. Dropped, it leaves the right to the next.
#[derive(Debug)]
pub(super) struct Making<'a> {
    caches: &'a Caches,
    key: Key,
}

impl Caches {
    /// The step to take about the prefix `key` that shall be kept for `ttl`.
    pub(super) fn next_step(&self, key: Key, ttl: Duration, may_make: bool, now: Instant) -> Step<'_> {
        let mut entries = self.entries();
        // The last used one stands last.
        let known = entries.iter().position(|entry| entry.key == key).map(|at| entries.remove(at).known);
        let (known, step) = match known {
            Some(Known::Making) => (Some(Known::Making), Step::Leave),
            Some(Known::Refused { why, until }) if until > now => {
                (Some(Known::Refused { why, until }), Step::Leave)
            }
            Some(Known::Kept { name, ends, doubt }) if ends > now + MARGIN => {
                let step = match doubt {
                    Some(Doubt::Gone) => Step::Look { name: name.clone() },
                    Some(Doubt::Unfit) => Step::Drop { name: name.clone() },
                    None if ends - now < ttl / 2 => Step::Extend { name: name.clone() },
                    None => Step::Use,
                };
                (Some(Known::Kept { name, ends, doubt }), step)
            }
            _ if may_make => (Some(Known::Making), Step::Make(Making { caches: self, key })),
            _ => (None, Step::Leave),
        };
        if let Some(known) = known {
            if entries.len() >= MOST {
                entries.remove(0);
            }
            entries.push(Entry { key, known });
        }
        drop(entries);
        step
    }

    /// The name under which a prefix is kept, if it is.
    ///
    /// # Errors
    /// Why the provider does not keep it.
    pub(super) fn name_of(&self, key: &Key) -> Result<Option<String>, String> {
        match self.entries().iter().find(|entry| entry.key == *key).map(|entry| &entry.known) {
            Some(Known::Kept { name, doubt: None, .. }) => Ok(Some(name.clone())),
            Some(Known::Refused { why, .. }) => Err(why.clone()),
            _ => Ok(None),
        }
    }

    /// True if preparing the request again may mend `error`: it may be due to what the request named.
    pub(crate) fn recovers(&self, error: &ProviderError) -> bool {
        let cast = match error.kind() {
            ErrorKind::NotFound | ErrorKind::Permission => Doubt::Gone,
            ErrorKind::InvalidRequest | ErrorKind::InvalidHistory | ErrorKind::Unsupported
                if error.message().to_ascii_lowercase().contains("cache") =>
            {
                Doubt::Unfit
            }
            _ => return false,
        };
        let mut any = false;
        for entry in self.entries().iter_mut() {
            if let Known::Kept { doubt, .. } = &mut entry.known {
                *doubt = Some(cast);
                any = true;
            }
        }
        any
    }

    /// A prefix is kept, from now on for `ttl` if that is given.
    pub(super) fn confirm(&self, key: &Key, ttl: Option<Duration>, now: Instant) {
        if let Some(Entry { known: Known::Kept { ends, doubt, .. }, .. }) =
            self.entries().iter_mut().find(|entry| entry.key == *key)
        {
            *doubt = None;
            if let Some(ttl) = ttl {
                *ends = now + ttl;
            }
        }
    }

    /// A prefix is no longer kept.
    pub(super) fn forget(&self, key: &Key) {
        self.entries().retain(|entry| entry.key != *key);
    }

    /// A prefix cannot be kept, and need not be tried again for `time`.
    pub(super) fn refuse(&self, key: Key, why: impl Into<String>, time: Duration, now: Instant) {
        if let Some(entry) = self.entries().iter_mut().find(|entry| entry.key == key) {
            entry.known = Known::Refused { why: why.into(), until: now + time };
        }
    }

    /// The names of all that is kept, which is forgotten.
    pub(super) fn take_all(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.entries().retain_mut(|entry| match &mut entry.known {
            Known::Kept { name, .. } => {
                names.push(std::mem::take(name));
                false
            }
            _ => true,
        });
        names
    }

    /// Lets all that is kept end then.
    #[cfg(test)]
    pub(super) fn end_at(&self, then: Instant) {
        for entry in self.entries().iter_mut() {
            if let Known::Kept { ends, .. } = &mut entry.known {
                *ends = then;
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Making<'_> {
    /// It is done: the prefix is kept under a name, or it is not.
    pub(super) fn settle(self, made: Result<String>, ttl: Duration, now: Instant) {
        match made {
            Ok(name) => {
                if let Some(entry) = self.caches.entries().iter_mut().find(|entry| entry.key == self.key) {
                    entry.known = Known::Kept { name, ends: now + ttl, doubt: None };
                }
            }
            Err(error) => {
                let time = if error.is_retryable() { PAUSE } else { LASTING };
                self.caches.refuse(self.key, error.message(), time, now);
            }
        }
    }
}

/// How long a prefix that the provider refused is not tried again.
const LASTING: Duration = Duration::from_secs(3_600);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.caches.entries().retain(|entry| entry.key != self.key || !matches!(entry.known, Known::Making));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [1; 32];
    const TTL: Duration = Duration::from_secs(300);

    fn kept(now: Instant) -> Caches {
        let caches = Caches::default();
        match caches.next_step(KEY, TTL, true, now) {
            Step::Make(making) => making.settle(Ok("cachedContents/a".to_owned()), TTL, now),
            other => panic!("{other:?}"),
        }
        caches
    }

    // P29
    #[test]
    fn what_is_kept_is_used_extended_and_made_anew() {
        let now = Instant::now();
        let caches = kept(now);
        let step = |seconds| {
            let step = caches.next_step(KEY, TTL, false, now + Duration::from_secs(seconds));
            format!("{step:?}")
        };
        assert_eq!(caches.name_of(&KEY).unwrap().as_deref(), Some("cachedContents/a"));
        assert_eq!(step(100), "Use");
        assert!(step(200).starts_with("Extend"));
        caches.confirm(&KEY, Some(TTL), now + Duration::from_secs(200));
        assert_eq!(step(200), "Use");
        assert_eq!(step(480), "Leave", "it is about to end, and none may be made");
        assert_eq!(caches.name_of(&KEY), Ok(None));
    }

    #[test]
    fn a_failure_casts_doubt_on_what_was_used() {
        let now = Instant::now();
        let caches = kept(now);
        assert!(!caches.recovers(&ProviderError::new(ErrorKind::InvalidRequest, "something else")));
        assert!(caches.recovers(&ProviderError::new(ErrorKind::Permission, "CachedContent not found")));
        assert_eq!(caches.name_of(&KEY), Ok(None));
        assert!(matches!(caches.next_step(KEY, TTL, true, now), Step::Look { .. }));
        caches.confirm(&KEY, None, now);
        assert!(matches!(caches.next_step(KEY, TTL, true, now), Step::Use));
        let unfit = ProviderError::new(ErrorKind::InvalidRequest, "CachedContent can not be used with this");
        assert!(caches.recovers(&unfit));
        assert!(matches!(caches.next_step(KEY, TTL, true, now), Step::Drop { .. }));
        caches.refuse(KEY, "no", TTL, now);
        assert!(!caches.recovers(&unfit), "nothing is kept any more");
        assert_eq!(caches.name_of(&KEY), Err("no".to_owned()));
    }

    #[test]
    fn one_at_a_time_and_none_for_ever() {
        let now = Instant::now();
        let caches = Caches::default();
        let making = caches.next_step(KEY, TTL, true, now);
        assert!(matches!(caches.next_step(KEY, TTL, true, now), Step::Leave));
        drop(making);
        let Step::Make(making) = caches.next_step(KEY, TTL, true, now) else {
            panic!("the right was not given back")
        };
        making.settle(Err(ProviderError::new(ErrorKind::Overloaded, "busy")), TTL, now);
        assert!(matches!(caches.next_step(KEY, TTL, true, now), Step::Leave));
        assert!(matches!(caches.next_step(KEY, TTL, true, now + PAUSE), Step::Make(_)));
    }

    #[test]
    fn only_so_many_are_remembered() {
        let now = Instant::now();
        let caches = kept(now);
        for number in 2..200_u8 {
            let Step::Make(making) = caches.next_step([number; 32], TTL, true, now) else {
                panic!("{number}")
            };
            making.settle(Ok(format!("cachedContents/{number}")), TTL, now);
        }
        assert_eq!(caches.name_of(&KEY), Ok(None));
        assert_eq!(caches.take_all().len(), MOST);
        assert!(caches.take_all().is_empty());
    }
}
