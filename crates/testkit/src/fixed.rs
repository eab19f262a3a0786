//! Reproducible ids and times in tests.

use std::pin::pin;

use attache_core::fresh::{Entered, Source};

/// Counted ids and a fixed time, for the thread that created it, until it is dropped. Snapshots of an agent then need
/// no redactions.
///
/// Documents, messages, calls and runs are counted separately, each from 1: the first document is
/// `00000001-0000-4000-8000-000000000000`, and labels show `00000001`. The time is 2026-01-01T00:00:00Z. Timeouts still
/// work, since they are not measured with that clock; only a real time that a caller passes to a journal to wait for is
/// then in the future.
///
/// Two tests that run in parallel get the same ids, each on its thread, so they need separate stores.
///
/// Each test has its own thread, so parallel tests do not affect each other's ids. A run executes on the thread that
/// polls it, including blocking tools. Work that is spawned as a separate task, or runs on other threads, uses
/// randomness and the real clock, unless it is wrapped in [`around`](Self::around). Create it first, before the
/// documents and messages of the test.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_core::Document;
/// use attache_testkit::{Fixed, TestModel};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let _fixed = Fixed::new();
/// let find = tool_fn("find", "Finds the lease.", || {
///     Ok(Document::inline("rent: 900").with_file_name("lease.txt"))
/// });
/// let model = TestModel::new();
/// Agent::builder(model.clone()).tool(find).build()?.run("What is the rent?").outcome().await?;
/// // In a test of your own: insta::assert_snapshot!(model.asked().transcript());
/// assert!(model.asked().transcript().contains(r#"document-short-id="00000001""#));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "ids are fixed until this is dropped"]
pub struct Fixed {
    source: Source,
    _entered: Entered,
}

impl Default for Fixed {
    fn default() -> Self {
        Self::new()
    }
}

impl Fixed {
    /// Fixes ids and time on this thread.
    pub fn new() -> Self {
        let source = Source::fixed();
        let _entered = source.enter();
        Self { source, _entered }
    }

    /// Gives a spawned future these ids and this time, on whichever thread it is polled. The runtime decides in which
    /// order tasks request ids.
    pub fn around<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let source = self.source.clone();
        async move {
            let mut future = pin!(future);
            std::future::poll_fn(|context| {
                let _entered = source.enter();
                future.as_mut().poll(context)
            })
            .await
        }
    }
}
