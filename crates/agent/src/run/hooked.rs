//! The verdicts of hooks, folded in.

use std::sync::Arc;

use attache_core::{Arguments, Message, ToolCall, ToolCallId};

use crate::log::{HookStop, Hooked};
use crate::outcome::EndReason;
use crate::run::fold::{ending, notice};
use crate::run::{Phase, Run};

impl Run {
    pub(super) fn take_hooked(&mut self, hooked: &Hooked) -> Result<(), &'static str> {
        match (hooked, &self.phase) {
            (Hooked::Input(stop), Phase::Model { .. }) if self.step == 0 => self.stop(stop),
            (Hooked::Ask(added), Phase::Model { .. }) => {
                let step = self.step.saturating_add(1);
                self.hooked.get_or_insert_default().asked = step;
                // Their ids are those that an uncut run has.
                let added: Vec<_> =
                    added.iter().map(|message| (**message).clone().with_id(self.mint()).shared()).collect();
                self.hear(added.into_iter());
            }
            (Hooked::Tripped(why), Phase::Model { .. }) => self.stop(&HookStop::Trip(why.clone())),
            (Hooked::Kept, _) => {}
            (Hooked::Retry(text), _) => self.again(text),
            (Hooked::Reply(stop), _) => {
                let stop = stop.clone();
                let had_calls = self.close_open("not executed: the run was ended by a check");
                if !had_calls && matches!(stop, HookStop::Block(_)) {
                    self.history.pop_if(|last| matches!(&**last, Message::Assistant(_)));
                }
                self.stop(&stop);
            }
            (Hooked::Call { call_id, arguments }, Phase::Calls(calls)) => {
                if calls.iter().all(|call| call.id != *call_id) {
                    return Err("it belongs to no call of the last reply");
                }
                if let Some(arguments) = arguments {
                    let change = |call: &ToolCall| {
                        let mut call = call.clone();
                        if call.id == *call_id {
                            call.arguments = Arguments::new(arguments.to_string());
                        }
                        call
                    };
                    self.phase = Phase::Calls(calls.iter().map(change).collect());
                }
                self.hooked.get_or_insert_default().calls.push((call_id.clone(), arguments.is_some()));
            }
            _ => return Err("the run was at another point"),
        }
        Ok(())
    }

    /// True if the hooks have seen the conversation as it is before a step.
    pub(crate) fn is_hooked(&self, step: u32) -> bool {
        self.hooked.as_ref().is_some_and(|hooked| hooked.asked == step)
    }

    /// Says whether the hooks let a call be made, and whether they changed it; `None` if they were not asked.
    pub(crate) fn hooked_call(&self, call: &ToolCallId) -> Option<bool> {
        let hooked = self.hooked.as_ref()?;
        hooked.calls.iter().find(|(id, _)| id == call).map(|(_, changed)| *changed)
    }

    /// Forgets the verdicts about calls of a round that is over.
    pub(super) fn forget_hooked(&mut self) {
        if let Some(hooked) = &mut self.hooked {
            hooked.calls.clear();
        }
    }

    fn again(&mut self, text: &str) {
        // Behind the last step nothing is asked again.
        if matches!(self.phase, Phase::Ending { open: false, .. } | Phase::Ended(_)) {
            return;
        }
        self.close_open("not executed: the reply is to be made again");
        let id = self.mint();
        self.push(notice(text).with_id(id));
        self.phase = self.before_model();
    }

    /// Closes the calls of the last reply, if there are some.
    fn close_open(&mut self, text: &str) -> bool {
        let Phase::Calls(calls) = &self.phase else { return false };
        let calls = Arc::clone(calls);
        self.calls.truncate(self.calls.len().saturating_sub(calls.len()));
        self.close(&calls, text);
        true
    }

    fn stop(&mut self, stop: &HookStop) {
        self.text.clear();
        match stop {
            HookStop::Block(text) => {
                self.text.clone_from(text);
                let id = self.mint();
                self.push(Message::assistant(text.as_str()).with_id(id));
            }
            HookStop::Trip(why) => self.detail = Some(why.clone()),
        }
        self.phase = ending(EndReason::GuardrailTripped);
    }
}
