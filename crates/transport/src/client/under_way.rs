//! Requests and connections that are under way, so that a request waits a turn for a connection instead of opening one.

use std::sync::atomic::{AtomicUsize, Ordering};

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A request waits for its answer, the rest of a body is read in the background, or a connection is put back.
#[derive(Debug)]
pub(super) struct UnderWay;

impl UnderWay {
    pub(super) fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::Relaxed);
        Self
    }

    /// True if something is: a request that gives the tasks behind it a turn first may find a connection. With nothing
    /// under way, as between the steps of a lone run, a turn would cost a look at the network and bring nothing.
    pub(super) fn any() -> bool {
        UNDER_WAY.load(Ordering::Relaxed) > 0
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}
