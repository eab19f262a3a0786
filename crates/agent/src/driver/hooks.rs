//! Asks the hooks of a run, and records what they decide.

use attache_core::{AssistantMessage, Message};
use std::pin::pin;
use std::sync::Arc;

use crate::driver::Driver;
use crate::driver::delivered::tell;
use crate::driver::interrupt::Interrupt;
use crate::driver::stop::{Fault, Stop};
use crate::event::EventKind;
use crate::hooks::{HookContext, InputVerdict, ReplyVerdict};
use crate::log::{Entry, EntryKind, HookStop, Hooked, Key, ToolOutcome};
use crate::run::PendingCall;

/// Calls that the hooks have seen: those to make, what is told of the others, and the one that ends the run.
pub(super) type Seen = (Vec<PendingCall>, Vec<EventKind>, Option<ToolOutcome>);

impl Driver {
    /// The run as hooks see it.
    fn hook_context(&self) -> HookContext<'_> {
        HookContext {
            run_id: self.run.id(),
            steps: self.run.steps(),
            principal: self.setup.principal.as_deref(),
            history: self.run.history(),
        }
    }

    /// True if a hook that fails refuses.
    fn fails_closed(&self) -> bool {
        self.toolbox.has_effects()
    }

    /// The input as the hooks leave it, and the entry that ends the run, if they do.
    pub(super) async fn hook_input(
        &self,
        run_id: &str,
        input: Vec<Arc<Message>>,
    ) -> (Vec<Arc<Message>>, Option<Entry>) {
        let context = HookContext { run_id, ..self.hook_context() };
        let (input, verdict) = self.setup.hooks.input(input, &context, self.fails_closed()).await;
        let stop = match verdict {
            InputVerdict::Pass | InputVerdict::Rewrite(_) => return (input, None),
            InputVerdict::Block(text) => HookStop::Block(text),
            InputVerdict::Trip(why) => HookStop::Trip(why),
        };
        (input, Some(Entry::new(Key::hook("input"), EntryKind::Hooked(Hooked::Input(stop)))))
    }

    /// Asks the hooks before a step. Warns if a document that they add is in memory only.
    pub(super) async fn hook_step(&mut self, step: u32) -> Result<Option<EventKind>, Fault> {
        let added = self.setup.hooks.ask(self.run.history(), &self.hook_context(), self.fails_closed()).await;
        let mut warning = None;
        let hooked = match added {
            Some(added) => {
                let kept = crate::store_documents::keep_of_messages(&*self.setup.store, &added).await;
                warning = self.unless_kept(kept)?;
                Hooked::Ask(added)
            }
            None => Hooked::Tripped("a check could not be made".to_owned()),
        };
        self.record(Key::hook_model(step), EntryKind::Hooked(hooked)).await?;
        Ok(warning)
    }

    /// The verdict about a reply, which is recorded with it. Behind the last step nothing is asked again.
    pub(super) async fn hook_reply(&self, reply: &AssistantMessage) -> Entry {
        let verdict = self.setup.hooks.reply(reply, &self.hook_context(), self.fails_closed()).await;
        let hooked = match verdict {
            ReplyVerdict::Keep => Hooked::Kept,
            // The fold asks again behind calls of tools that end runs, since logs of older programs hold the further steps.
            ReplyVerdict::Retry(_) if self.run.is_landing() => Hooked::Kept,
            ReplyVerdict::Retry(text) => Hooked::Retry(text),
            ReplyVerdict::Block(text) => Hooked::Reply(HookStop::Block(text)),
            ReplyVerdict::Trip(why) => Hooked::Reply(HookStop::Trip(why)),
        };
        Entry::new(Key::hook_reply(self.run.steps().saturating_add(1)), EntryKind::Hooked(hooked))
    }

    /// Asks the hooks about calls that they have not seen.
    pub(super) async fn hook_calls(
        &mut self,
        interrupt: &mut Interrupt,
        batch: Vec<PendingCall>,
    ) -> Result<Seen, Stop> {
        let closed = self.fails_closed();
        let (mut made, mut entries) = (Vec::with_capacity(batch.len()), Vec::new());
        let mut tripped = None;
        for mut pending in batch {
            let is_seen = pending.begun.is_some() || self.run.is_call_seen(&pending.call.id);
            // A call that cannot be made is answered without them.
            if is_seen || self.judge(&pending).is_err() {
                made.push(pending);
                continue;
            }
            let asking = async {
                Ok::<_, Fault>(self.setup.hooks.call(&pending.call, &self.hook_context(), closed).await)
            };
            let verdict = interrupt.attempt(Box::pin(asking)).await?;
            let arguments = match verdict.settled(&pending.call) {
                Ok(arguments) => arguments,
                Err(outcome) => {
                    let outcome = self.refused(&pending, *outcome);
                    if outcome.disposition.ends_run() {
                        tripped = Some(outcome);
                        break;
                    }
                    entries.extend(self.in_place_of_delivered(&outcome));
                    entries.push(Entry::new(pending.key.clone(), EntryKind::ToolOutcome(outcome)));
                    continue;
                }
            };
            if let Some(arguments) = &arguments {
                pending.call.arguments = attache_core::Arguments::new(arguments.to_string());
            }
            let key = Key::hook_call(&pending.call.id, self.run.edits(&pending.call.id));
            let hooked = Hooked::Call { call_id: pending.call.id.clone(), arguments };
            entries.push(Entry::new(key, EntryKind::Hooked(hooked)));
            made.push(pending);
        }
        let mut events = Vec::new();
        if !entries.is_empty() {
            let mut recorded = interrupt.attempt(pin!(self.record_all(entries))).await?;
            tell(&mut recorded);
            events.extend(recorded.iter().filter_map(super::calls::finished_event));
        }
        if tripped.is_some() {
            // Nothing starts any more.
            made.clear();
        }
        Ok((made, events, tripped))
    }
}
