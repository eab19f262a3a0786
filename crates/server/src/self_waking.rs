//! A connection that is polled again at once where it wakes itself.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// The polls in a row after which others get their turn.
const IN_A_ROW: usize = 8;

/// Polls a future again at once if it was woken while it was polled.
///
/// hyper polls the answer to a request in the task of its connection, and an answer that reads the body of the request
/// wakes that task. The scheduler takes a task that was woken so for one that steps back: it goes behind the others, and
/// another thread is woken to look for it.
pub(crate) struct SelfWaking<F> {
    future: F,
    waking: Arc<Waking>,
    waker: Waker,
}

#[derive(Default)]
struct Waking {
    task: AtomicWaker,
    is_polled: AtomicBool,
    is_woken: AtomicBool,
}

impl<F: Future + Unpin> SelfWaking<F> {
    pub(crate) fn new(future: F) -> Self {
        let waking = Arc::<Waking>::default();
        let waker = Waker::from(Arc::clone(&waking));
        Self { future, waking, waker }
    }
}

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        // The poll looks whether it was woken after it has said that it polls no more.
        if !self.is_polled.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

impl<F: Future + Unpin> Future for SelfWaking<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        this.waking.task.register(context.waker());
        for _ in 0..IN_A_ROW {
            this.waking.is_woken.store(false, Ordering::SeqCst);
            this.waking.is_polled.store(true, Ordering::SeqCst);
            let polled = Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.waker));
            this.waking.is_polled.store(false, Ordering::SeqCst);
            if polled.is_ready() || !this.waking.is_woken.load(Ordering::SeqCst) {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Task {
        fn woken(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// A future that is ready when it has woken itself so often.
    fn wakes_itself(times: usize) -> impl Future<Output = ()> + Unpin {
        let mut left = times;
        poll_fn(move |context| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn a_future_that_wakes_itself_goes_on_in_the_same_poll() {
        let task = Arc::<Task>::default();
        let waker = Waker::from(Arc::clone(&task));
        let mut future = SelfWaking::new(wakes_itself(3));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_ready());
        assert_eq!(task.woken(), 0);
    }

    #[test]
    fn a_future_that_wakes_itself_for_ever_lets_others_have_their_turn() {
        let task = Arc::<Task>::default();
        let waker = Waker::from(Arc::clone(&task));
        let mut future = SelfWaking::new(wakes_itself(usize::MAX));
        for turns in 1..4 {
            assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(task.woken(), turns);
        }
    }

    #[test]
    fn a_future_that_another_one_wakes_wakes_its_task() {
        let task = Arc::<Task>::default();
        let waker = Waker::from(Arc::clone(&task));
        let mut polls = 0;
        let mut future = SelfWaking::new(poll_fn(|_| {
            polls += 1;
            if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
        let inside = future.waker.clone();
        std::thread::spawn(move || inside.wake()).join().unwrap();
        assert_eq!(task.woken(), 1);
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
