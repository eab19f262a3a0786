//! Replies that say nothing.

use std::sync::Arc;

use attache_core::Message;

use crate::limits::EmptyReply;
use crate::outcome::EndReason;
use crate::run::fold::{ending, notice};
use crate::run::{Phase, Run};

impl Run {
    /// The phase behind a reply with neither words, a picture nor calls.
    pub(super) fn empty(&mut self, landing: Option<EndReason>) -> Phase {
        match self.limits.empty_reply {
            EmptyReply::Accept => self.held_answer("", landing),
            EmptyReply::Nudge(times) if self.nudges < times && landing.is_none() => self.nudge(),
            EmptyReply::Nudge(_) | EmptyReply::Error => {
                self.detail = Some(match self.reasoning.trim().is_empty() {
                    true => "the model answered with neither text nor calls".to_owned(),
                    false => "the model answered with nothing but reasoning".to_owned(),
                });
                ending(EndReason::EmptyResponse)
            }
        }
    }

    fn nudge(&mut self) -> Phase {
        self.nudges += 1;
        let id = self.mint();
        self.push(notice("Your last reply was empty. Answer, or call a tool.").with_id(id));
        self.before_model()
    }

    /// Goes on as older programs did behind a picture without words: they took it for an empty reply and asked again, so
    /// that their logs hold a further step.
    pub(super) fn go_on_behind_picture(&mut self) {
        let is_picture = |message: &Arc<Message>| match &**message {
            Message::Assistant(reply) => reply.documents().next().is_some() && reply.text().trim().is_empty(),
            _ => false,
        };
        if matches!(self.phase, Phase::Ending { open: true, .. })
            && self.history.last().is_some_and(is_picture)
        {
            self.phase = self.nudge();
        }
    }
}
