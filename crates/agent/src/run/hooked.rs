//! The verdicts of hooks, folded in.

use std::sync::Arc;

use attache_core::{Arguments, Message, ToolCall, ToolCallId, ToolResult};

use crate::input::WITHDRAWN;
use crate::log::{HookStop, Hooked, Key};
use crate::outcome::EndReason;
use crate::run::fold::{ending, notice};
use crate::run::pending::SeenCall;
use crate::run::{Phase, Run};

impl Run {
    /// `replied` is where the last reply stands in the history, if no entry came since.
    pub(super) fn take_hooked(
        &mut self,
        key: &Key,
        hooked: &Hooked,
        replied: Option<usize>,
    ) -> Result<(), &'static str> {
        if *key != self.hook_key(hooked) {
            return Err("the hooks were asked at another point");
        }
        if matches!(hooked, Hooked::Kept | Hooked::Retry(_) | Hooked::Reply(_)) && replied.is_none() {
            return Err("no reply came just before");
        }
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
            (Hooked::Retry(text), _) => self.again(text, replied),
            (Hooked::Reply(stop), _) => {
                let stop = stop.clone();
                self.close_open("not executed: the run was ended by a check");
                if let (HookStop::Block(_), Some(replied)) = (&stop, replied) {
                    // Neither the reply stays nor what was told of it.
                    if let Some(Message::Assistant(reply)) = self.history.get(replied).map(|reply| &**reply) {
                        self.calls.retain(|call| reply.tool_calls().all(|made| made.id != call.id));
                    }
                    self.history.truncate(replied);
                }
                self.withdraw(replied);
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
                let seen = SeenCall {
                    id: call_id.clone(),
                    is_changed: arguments.is_some(),
                    edits: self.edits(call_id),
                };
                self.hooked.get_or_insert_default().calls.push(seen);
            }
            (Hooked::Result { call_id, result }, Phase::Calls(_)) => {
                if !self.is_open(call_id) || self.has_hooked_result(call_id) {
                    return Err("no result of the call is waited for");
                }
                let results = &mut self.hooked.get_or_insert_default().results;
                results.push((call_id.clone(), result.clone()));
            }
            _ => return Err("the run was at another point"),
        }
        Ok(())
    }

    /// True if the hooks have seen the conversation as it is before a step.
    pub(crate) fn is_hooked(&self, step: u32) -> bool {
        self.hooked.as_ref().is_some_and(|hooked| hooked.asked == step)
    }

    /// True if the hooks let a call be made with the arguments that it has by now.
    pub(crate) fn is_call_seen(&self, call: &ToolCallId) -> bool {
        self.seen_call(call).is_some_and(|seen| seen.edits == self.edits(call))
    }

    /// True if the hooks changed the arguments of a call.
    pub(crate) fn is_rewritten(&self, call: &ToolCallId) -> bool {
        let calls = self.hooked.iter().flat_map(|hooked| &hooked.calls);
        calls.filter(|seen| seen.id == *call).any(|seen| seen.is_changed)
    }

    /// True if the hooks changed the arguments that a person had changed last: nobody has approved those.
    pub(crate) fn is_edit_rewritten(&self, call: &ToolCallId) -> bool {
        let is_last = |seen: &SeenCall| seen.is_changed && seen.edits == self.edits(call);
        self.is_changed(call) && self.seen_call(call).is_some_and(is_last)
    }

    fn seen_call(&self, call: &ToolCallId) -> Option<&SeenCall> {
        self.hooked.as_ref()?.calls.iter().rev().find(|seen| seen.id == *call)
    }

    /// The verdict of the hooks about a result that came from elsewhere, if they saw it and changed it.
    pub(super) fn hooked_result(&self, call: &ToolCallId) -> Option<&ToolResult> {
        let results = &self.hooked.as_ref()?.results;
        results.iter().find(|(id, _)| id == call)?.1.as_deref()
    }

    /// True if the hooks saw the result of a call that came from elsewhere.
    pub(crate) fn has_hooked_result(&self, call: &ToolCallId) -> bool {
        self.hooked.as_ref().is_some_and(|hooked| hooked.results.iter().any(|(id, _)| id == call))
    }

    /// Forgets the verdicts about calls of a round that is over.
    pub(super) fn forget_hooked(&mut self) {
        if let Some(hooked) = &mut self.hooked {
            hooked.calls.clear();
            hooked.results.clear();
        }
    }

    fn again(&mut self, text: &str, replied: Option<usize>) {
        // Behind the last step nothing is asked again.
        if matches!(self.phase, Phase::Ending { open: false, .. } | Phase::Ended(_)) {
            return;
        }
        self.close_open("not executed: the reply is to be made again");
        self.withdraw(replied);
        self.text.clear();
        self.ask_again();
        let id = self.mint();
        let said = notice(text).with_id(id);
        match self.phase {
            // The next step is told of already.
            Phase::Model { .. } => {
                self.hear(std::iter::once(said.shared()));
                self.phase = self.before_model_in_silence();
            }
            _ => {
                self.push(said);
                self.phase = self.before_model();
            }
        }
    }

    /// Marks the last reply and the results of its calls, so that nobody shows them: the model alone reads them from now on.
    fn withdraw(&mut self, replied: Option<usize>) {
        let from = replied.unwrap_or(self.history.len());
        for message in self.history.iter_mut().skip(from) {
            let metadata = match Arc::make_mut(message) {
                Message::Assistant(message) => &mut message.metadata,
                Message::ToolResults(message) => &mut message.metadata,
                _ => continue,
            };
            *metadata = std::mem::take(metadata).with(WITHDRAWN, true);
        }
    }

    /// True if this verdict, which was just taken, is that the last reply does not count.
    pub(crate) fn is_withdrawn(&self, verdict: &Hooked) -> bool {
        match verdict {
            Hooked::Reply(_) => true,
            // Behind the last step the reply stays.
            Hooked::Retry(_) => matches!(self.phase, Phase::Model { .. }),
            _ => false,
        }
    }

    /// The key of the hooks' verdict at this point.
    fn hook_key(&self, hooked: &Hooked) -> Key {
        match hooked {
            Hooked::Input(_) => Key::hook("input"),
            Hooked::Ask(_) | Hooked::Tripped(_) => Key::hook_model(self.step.saturating_add(1)),
            Hooked::Kept | Hooked::Retry(_) | Hooked::Reply(_) => Key::hook_reply(self.step),
            Hooked::Call { call_id, .. } => Key::hook_call(call_id, self.edits(call_id)),
            Hooked::Result { call_id, .. } => Key::hook_result(call_id),
        }
    }

    /// Closes the calls of the last reply, if there are some.
    fn close_open(&mut self, text: &str) {
        let Phase::Calls(calls) = &self.phase else { return };
        let calls = Arc::clone(calls);
        self.calls.truncate(self.calls.len().saturating_sub(calls.len()));
        self.tallies.uncount(&calls);
        self.close(&calls, text);
    }

    fn stop(&mut self, stop: &HookStop) {
        self.text.clear();
        self.ask_again();
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
