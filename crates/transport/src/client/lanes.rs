//! Several HTTP/2 connections a host. A server allows so many calls on a connection, and what is beyond them would wait
//! for the end of others, or be refused. (RFC 9113, 5.1.2)

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Uri;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The maximum number of calls on one connection, whatever the server allows: one slow network path would hold up all
/// of them.
const MOST_CALLS: usize = 100;
/// The maximum number of connections to one host, and the maximum number of hosts that are known at a time.
const MOST_LANES: usize = 4096;
const MOST_ORIGINS: usize = 1024;

/// The hosts that were spoken to over TLS.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins(Arc<Mutex<HashMap<String, Arc<Origin>>>>);

impl Origins {
    /// The host of a URL, if it is one of TLS.
    pub(super) fn of(&self, target: &Uri) -> Option<Arc<Origin>> {
        let authority = target.authority().filter(|_| target.scheme_str() == Some("https"))?.as_str();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(origin) = known.get(authority) {
            return Some(Arc::clone(origin));
        }
        if known.len() >= MOST_ORIGINS {
            known.retain(|_, origin| Arc::strong_count(origin) > 1);
        }
        Some(Arc::clone(known.entry(authority.to_owned()).or_default()))
    }
}

/// One host.
#[derive(Debug, Default)]
pub(super) struct Origin {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    protocol: Protocol,
    /// The number of calls on each lane. A lane is one connection.
    calls: Vec<usize>,
    /// The number of calls that the server allows on a connection, once it has said so.
    allowed: Option<usize>,
    /// The first connection can be shared.
    stands: bool,
}

/// The protocol that the host speaks.
#[derive(Debug, Default, PartialEq)]
enum Protocol {
    #[default]
    Unknown,
    /// The first call finds out.
    Asked,
    /// Each call has a connection of its own.
    Http1,
    Http2,
}

impl Origin {
    /// A place for a call: on a connection where the server has room for it. While the first call finds out what the
    /// host speaks, the others wait for it, but no longer than `patience`.
    pub(super) async fn place(self: &Arc<Self>, patience: Duration) -> Place {
        // A time too far away to be told is a year.
        let end = Instant::now() + patience.min(Duration::from_secs(365 * 24 * 3600));
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(place) = self.free_place() {
                return place;
            }
            if timeout_at(end, changed).await.is_err() {
                return self.enter(&mut self.lock(), 0, false);
            }
        }
    }

    fn free_place(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.lock();
        match state.protocol {
            Protocol::Unknown => {
                state.protocol = Protocol::Asked;
                state.stands = false;
                Some(self.enter(&mut state, 0, true))
            }
            Protocol::Asked => None,
            Protocol::Http1 => Some(self.enter(&mut state, 0, false)),
            Protocol::Http2 => {
                let allowed = state.allowed.unwrap_or(MOST_CALLS);
                let free = state.calls.iter().position(|calls| *calls < allowed);
                let fewest = || {
                    let lanes = state.calls.iter().enumerate();
                    lanes.min_by_key(|(_, calls)| **calls).map_or(0, |(lane, _)| lane)
                };
                let new = || (state.calls.len() < MOST_LANES).then_some(state.calls.len());
                let lane = free.or_else(new).unwrap_or_else(fewest);
                Some(self.enter(&mut state, lane, false))
            }
        }
    }

    fn enter(self: &Arc<Self>, state: &mut State, lane: usize, leads: bool) -> Place {
        if state.calls.len() <= lane {
            state.calls.resize(lane + 1, 0);
        }
        if let Some(calls) = state.calls.get_mut(lane) {
            *calls += 1;
        }
        Place { origin: Arc::clone(self), lane, leads }
    }

    /// The server has said how many calls it allows on a connection; `None` where it sets no limit.
    pub(super) fn allows(&self, calls: Option<usize>) {
        let mut state = self.lock();
        state.allowed = Some(calls.unwrap_or(MOST_CALLS).clamp(1, MOST_CALLS));
        self.settle(state);
    }

    /// The first call has a connection, which others can share if it is one of HTTP/2.
    fn stands(&self, is_http2: bool) {
        let mut state = self.lock();
        if is_http2 {
            state.stands = true;
        } else if state.protocol == Protocol::Asked {
            state.protocol = Protocol::Http1;
        }
        self.settle(state);
    }

    /// Tells those who wait what is known.
    fn settle(&self, mut state: MutexGuard<'_, State>) {
        if state.protocol == Protocol::Asked && state.stands && state.allowed.is_some() {
            state.protocol = Protocol::Http2;
        }
        let is_known = state.protocol != Protocol::Asked;
        drop(state);
        if is_known {
            self.changed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a call, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    origin: Arc<Origin>,
    lane: usize,
    leads: bool,
}

impl Place {
    /// The connection, by number.
    pub(super) fn lane(&self) -> usize {
        self.lane
    }

    /// True of the first call, which finds out what the host speaks.
    pub(super) fn leads(&self) -> bool {
        self.leads
    }

    /// Tells that the first call has a connection.
    pub(super) fn stands(&self, is_http2: bool) {
        self.origin.stands(is_http2);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.origin.lock();
        if let Some(calls) = state.calls.get_mut(self.lane) {
            *calls = calls.saturating_sub(1);
        }
        if self.leads && state.protocol == Protocol::Asked {
            // It failed, and another has to find out.
            state.protocol = Protocol::Unknown;
        }
        self.origin.settle(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    async fn lanes(origin: &Arc<Origin>, count: usize) -> Vec<Place> {
        let mut places = Vec::new();
        for _ in 0..count {
            places.push(origin.place(PATIENCE).await);
        }
        places
    }

    fn numbers(places: &[Place]) -> Vec<usize> {
        places.iter().map(Place::lane).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn calls_spread_over_connections_before_the_limit_is_passed() {
        let origin = Arc::new(Origin::default());
        let first = origin.place(PATIENCE).await;
        assert!(first.leads());
        first.stands(true);
        origin.allows(Some(2));
        let mut more = lanes(&origin, 4).await;
        assert_eq!(numbers(&more), [0, 1, 1, 2]);
        drop(first);
        more.remove(1);
        assert_eq!(numbers(&lanes(&origin, 3).await), [0, 1, 2], "places that are free are taken first");
    }

    #[tokio::test(start_paused = true)]
    async fn others_wait_until_the_first_knows_and_no_longer_than_they_may() {
        let origin = Arc::new(Origin::default());
        let first = origin.place(PATIENCE).await;
        let start = Instant::now();
        let second = origin.place(PATIENCE).await;
        assert_eq!((second.lane(), second.leads(), start.elapsed()), (0, false, PATIENCE));
        // Where the first fails, another leads.
        let waiting = tokio::spawn({
            let origin = Arc::clone(&origin);
            async move { origin.place(PATIENCE).await }
        });
        tokio::task::yield_now().await;
        drop(first);
        let third = waiting.await.unwrap();
        assert!(third.leads());
        third.stands(false);
        assert_eq!(numbers(&lanes(&origin, 3).await), [0, 0, 0], "HTTP/1.1 has a connection for each call");
    }

    #[test]
    fn hosts_are_known_apart_and_only_over_tls() {
        let origins = Origins::default();
        let of = |url: &'static str| origins.of(&Uri::from_static(url));
        assert!(of("http://a/").is_none());
        let a = of("https://a/x").unwrap();
        assert!(Arc::ptr_eq(&a, &of("https://a/y").unwrap()));
        assert!(!Arc::ptr_eq(&a, &of("https://a:444/").unwrap()));
    }
}
