//! Putting connections back. The pool has a task that waits until a connection is free again, and starts it when the
//! head of an answer is there. The reader of the body comes to its end before any task can notice, so that the next
//! request of the same run finds the connection.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use attache_core::BoxFuture;
use hyper::rt::Executor;

use super::under_way::UnderWay;

/// The time for which a connection that is put back in the background counts as one that comes, and the same where the
/// body is read: what still waits then is hardly a connection, but the task that evicts idle ones.
const COMING: Duration = Duration::from_secs(1);
const COMING_SOON: Duration = Duration::from_millis(5);

type Task = BoxFuture<'static, ()>;

thread_local! {
    /// The last task that was started while a request is polled on this thread; `None` outside of that.
    static HELD: RefCell<Option<Option<Task>>> = const { RefCell::new(None) };
}

/// Starts tasks as tokio does, and holds back the last one while a request is polled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tasks;

impl Executor<Pin<Box<dyn Future<Output = ()> + Send>>> for Tasks {
    fn execute(&self, task: Task) {
        let earlier = HELD.with_borrow_mut(|held| match held {
            Some(held) => held.replace(task),
            None => Some(task),
        });
        start(earlier);
    }
}

fn start(task: Option<Task>) {
    // Without a runtime there is nothing to put back to.
    if let (Some(task), Ok(runtime)) = (task, tokio::runtime::Handle::try_current()) {
        runtime.spawn(task);
    }
}

/// Polls with tasks held back, whatever held them before.
fn hold<T>(poll: impl FnOnce() -> T) -> (T, Option<Task>) {
    /// Undoes it, also where the poll panics.
    struct Before(Option<Option<Task>>);
    impl Drop for Before {
        fn drop(&mut self) {
            start(HELD.replace(self.0.take()).flatten());
        }
    }
    let before = Before(HELD.replace(Some(None)));
    let polled = poll();
    let held = HELD.with_borrow_mut(|held| held.as_mut().and_then(Option::take));
    drop(before);
    (polled, held)
}

/// The output of a request, and the task that it started in the end.
pub(super) async fn holding<F: Future>(request: F) -> (F::Output, Option<Idle>) {
    let mut request = pin!(request);
    poll_fn(|context| {
        let (polled, held) = hold(|| request.as_mut().poll(context));
        match polled {
            Poll::Ready(output) => {
                Poll::Ready((output, held.map(|task| Idle { task: Mutex::new(Some(task)), coming: COMING })))
            }
            Poll::Pending => {
                start(held);
                Poll::Pending
            }
        }
    })
    .await
}

/// The task that puts a connection back once it is free, or evicts idle ones. Dropped, it goes on in the background.
/// (The mutex is never locked: it makes the task one that threads can share.)
pub(super) struct Idle {
    task: Mutex<Option<Task>>,
    /// The time for which it counts as a connection that comes.
    coming: Duration,
}

impl Idle {
    /// Puts the connection back at once if it is free, and in the background otherwise.
    pub(super) fn put_back(mut self, context: &mut Context<'_>) {
        self.coming = COMING_SOON;
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner);
        if task.as_mut().is_some_and(|task| task.as_mut().poll(context).is_ready()) {
            *task = None;
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(mut task), Ok(runtime)) = (task, tokio::runtime::Handle::try_current()) else { return };
        let (coming, patience) = (UnderWay::begin(), self.coming);
        runtime.spawn(async move {
            // The task that evicts idle connections lasts as long as the pool, and nobody waits for it.
            let back = tokio::time::timeout(patience, task.as_mut()).await;
            drop(coming);
            if back.is_err() {
                task.await;
            }
        });
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idle").finish_non_exhaustive()
    }
}
