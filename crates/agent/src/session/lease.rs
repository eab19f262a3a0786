//! The lease of a session, for as long as a run has it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_core::{StoreError, fresh};

use super::clock::{Clock, length};
use super::error::SessionError;
use super::id::SessionId;
use super::records::Take;
use super::store::SessionStore;

/// The lease of a session. It is given up when this is dropped.
pub(super) struct Lease {
    store: Arc<dyn SessionStore>,
    session: SessionId,
    holder: Arc<str>,
    clock: Clock,
    length: Duration,
    pub(super) fence: u64,
    /// False if the session had no run when it was taken.
    pub(super) has_runs: bool,
    is_released: AtomicBool,
}

impl Lease {
    /// Takes the lease, for a run that begins or the last one.
    pub(super) async fn take(
        store: Arc<dyn SessionStore>,
        session: &SessionId,
        principal: &str,
        run: Option<&str>,
        clock: Clock,
        length: Duration,
    ) -> Result<Self, SessionError> {
        let session = session.clone();
        let (holder, is_released) = (fresh::uuid(), AtomicBool::new(false));
        // It is there before it is taken, so that it is given up however far that came.
        let mut lease = Self { store, session, holder, clock, length, fence: 0, has_runs: true, is_released };
        let (now, until) = (lease.clock.now(), lease.until());
        let take = Take { session: &lease.session, principal, run, holder: &lease.holder, now, until };
        let taken = lease.store.take(take).await;
        match taken {
            Ok(taken) => {
                (lease.fence, lease.has_runs) = (taken.fence, taken.has_runs);
                Ok(lease)
            }
            Err(error) => {
                let is_settled = !matches!(error, SessionError::Journal(crate::JournalError::Store(_)));
                lease.is_released.store(is_settled, Ordering::Release);
                Err(error)
            }
        }
    }

    /// The end of the lease if it is held on from now.
    pub(super) fn until(&self) -> u64 {
        self.clock.now().saturating_add(length(self.length))
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// It was let go with something else.
    pub(super) fn released(&self) {
        self.is_released.store(true, Ordering::Release);
    }

    /// Lets it go, unless that was done. `None` leaves as it was until when the session must not expire.
    pub(super) async fn release(&self, kept_until: Option<u64>) -> Result<(), StoreError> {
        if !self.is_released.load(Ordering::Acquire) {
            self.store.release(&self.session, self.fence, kept_until).await?;
            self.released();
        }
        Ok(())
    }

    /// Holds it on while this is polled; comes back when it is lost or let go.
    pub(super) async fn hold(&self) {
        loop {
            tokio::time::sleep(self.length / 3).await;
            if self.is_released.load(Ordering::Acquire) {
                return;
            }
            match self.store.renew(&self.session, self.fence, self.until()).await {
                Ok(true) => {}
                Ok(false) => return,
                // The next time may do; an append under a lease that somebody else took is refused.
                Err(error) => {
                    tracing::warn!(session = %self.session, %error, "the lease could not be renewed");
                }
            }
        }
    }

    /// Gives it up, unless it was let go.
    pub(super) fn give_up(&self) {
        if !self.is_released.swap(true, Ordering::AcqRel) {
            self.store.abandon(&self.session, &self.holder);
        }
    }

    pub(super) fn is_released(&self) -> bool {
        self.is_released.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("session", &self.session)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.give_up();
    }
}
