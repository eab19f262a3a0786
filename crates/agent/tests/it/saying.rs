//! Something said to a run about to end: it is read, or whoever said it learns that it was not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use attache_agent::{
    Agent, Control, EndReason, Entry, EntryKind, Fence, HookContext, HookError, Journal, JournalError, Key,
    MemoryJournal, ReplyVerdict, RunHook, RunInput, SubmitError, say, tool_fn,
};
use attache_core::{AssistantMessage, BoxFuture};
use attache_testkit::{ScriptedModel, Turn};
use tokio::sync::Notify;

/// A journal that takes the end of a run only once `said`.
struct Gate {
    inner: MemoryJournal,
    /// The run has looked for the last time.
    ends: Notify,
    said: Notify,
}

/// The same journal as somebody elsewhere sees it. It tells once it was looked at behind a delivery.
struct Elsewhere(Arc<Gate>, AtomicBool);

impl Journal for Gate {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.inner.load()
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        self.inner.claim(entries)
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            if entries.iter().any(|entry| matches!(entry.kind, EntryKind::Ended(_))) {
                self.ends.notify_one();
                self.said.notified().await;
            }
            self.inner.append(fence, entries).await
        })
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        self.inner.deliver(entry)
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.inner.wait(key, until)
    }
}

impl Journal for Elsewhere {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let entries = self.0.inner.load().await;
            if self.1.load(Ordering::SeqCst) {
                self.0.said.notify_one();
            }
            entries
        })
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        self.0.claim(entries)
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.0.append(fence, entries)
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        self.1.store(true, Ordering::SeqCst);
        self.0.deliver(entry)
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.0.wait(key, until)
    }
}

// C38
#[tokio::test(start_paused = true)]
async fn whoever_comes_between_the_last_look_of_a_run_and_its_end_learns_that_it_has_ended() {
    let model = ScriptedModel::new([Turn::text("Done.")]);
    let agent = Agent::builder(model.clone()).build().unwrap();
    let gate = Arc::new(Gate { inner: MemoryJournal::new(), ends: Notify::new(), said: Notify::new() });
    let run = agent.run_in(Arc::clone(&gate) as Arc<dyn Journal>, RunInput::from("Go."));
    let elsewhere = Elsewhere(Arc::clone(&gate), AtomicBool::new(false));
    let late = async {
        gate.ends.notified().await;
        say(&elsewhere, "wait").await
    };
    let (outcome, said) = tokio::join!(run.outcome(), late);
    assert_eq!(outcome.unwrap().text, "Done.");
    assert!(matches!(said, Err(SubmitError::ChatLoopClosed)), "{said:?}");
    assert_eq!(model.requests().len(), 1, "nobody read it");
}

// C38
#[tokio::test]
async fn a_message_that_was_taken_before_a_run_is_cancelled_comes_back_unread() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let (told, control) = (Arc::clone(&journal), Arc::new(OnceLock::<Control>::new()));
    let cancelled = Arc::clone(&control);
    let look = tool_fn("look", "", move || {
        let (told, cancelled) = (Arc::clone(&told), Arc::clone(&cancelled));
        async move {
            say(&*told, "by the way").await.unwrap();
            cancelled.get().unwrap().cancel();
            Ok::<_, attache_core::ToolError>("seen")
        }
    });
    let turns = [Turn::call("look", serde_json::json!({})), Turn::text("Never said.")];
    let agent = Agent::builder(ScriptedModel::new(turns).unverified()).tool(look).build().unwrap();
    let run = agent.run_in(Arc::clone(&journal), RunInput::from("Go."));
    control.set(run.control()).ok().unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Cancelled);
    assert!(format!("{:?}", outcome.unread).contains("by the way"), "{:?}", outcome.unread);
    let kept = attache_agent::Run::replay(&journal.load().await.unwrap()).unwrap().outcome();
    assert_eq!(kept.unread, outcome.unread);
}

/// A hook that leaves a word for the run while it looks at a reply, and cancels the run.
struct Interjects(Arc<dyn Journal>, Arc<OnceLock<Control>>);

impl RunHook for Interjects {
    fn after_model<'a>(
        &'a self,
        _: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        Box::pin(async move {
            say(&*self.0, "by the way").await.unwrap();
            self.1.get().unwrap().cancel();
            Ok(ReplyVerdict::Keep)
        })
    }
}

// C38
#[tokio::test]
async fn a_message_that_was_taken_before_an_answer_behind_which_the_run_is_cancelled_comes_back_unread() {
    let (journal, control): (Arc<dyn Journal>, _) =
        (Arc::new(MemoryJournal::new()), Arc::new(OnceLock::new()));
    let hook = Interjects(Arc::clone(&journal), Arc::clone(&control));
    let agent = Agent::builder(ScriptedModel::new([Turn::text("Done.")])).hook(hook).build().unwrap();
    let run = agent.run_in(Arc::clone(&journal), RunInput::from("Go."));
    control.set(run.control()).ok().unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Cancelled, "Done."));
    assert!(format!("{:?}", outcome.unread).contains("by the way"), "{:?}", outcome.unread);
    let kept = attache_agent::Run::replay(&journal.load().await.unwrap()).unwrap().outcome();
    assert_eq!(kept.unread, outcome.unread);
}
