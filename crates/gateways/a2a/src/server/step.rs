//! How far a run has come that is driven here.

use attache_agent::EventKind;
use attache_core::ToolCallId;
use attache_core::tool::Progress;
use tokio::sync::watch;

use super::error::Refusal;

/// The state of a run that is driven here.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Starting,
    Working,
    /// It waits for people, and goes on by itself once they have answered.
    Asking,
    /// It stopped: what came of it is in its log.
    Over,
    /// It did not begin.
    Refused(Refusal),
}

impl Step {
    pub(crate) fn has_stopped(&self) -> bool {
        matches!(self, Self::Over | Self::Refused(_))
    }

    /// True if there is something to tell its caller: it stopped, or asks.
    pub(crate) fn is_to_tell(&self) -> bool {
        self.has_stopped() || matches!(self, Self::Asking)
    }
}

/// Waits until a run that is driven here stops or asks anew; false where nobody drives it.
pub(crate) async fn news(step: Option<watch::Receiver<Step>>) -> bool {
    let Some(mut step) = step else { return false };
    while step.changed().await.is_ok() {
        if step.borrow_and_update().is_to_tell() {
            return true;
        }
    }
    false
}

/// The questions of a run that people have not answered yet, each with its call, also those of the runs inside of it.
#[derive(Debug, Default)]
pub(crate) struct Questions(Vec<(String, ToolCallId)>);

impl Questions {
    /// Takes an event, and tells how far the run has come by it. Each change is told, so that whoever has seen one question
    /// hears of the next.
    pub(crate) fn hear(&mut self, event: &EventKind, step: &watch::Sender<Step>) {
        let mut event = event;
        while let EventKind::Nested { event: inside, .. } = event {
            event = &inside.kind;
        }
        let before = self.0.len();
        match event {
            EventKind::ApprovalRequested(request) => self.ask(&request.id, &request.call.id),
            EventKind::ApprovalDecided(decided) => self.0.retain(|(question, _)| *question != decided.id),
            EventKind::CallDeferred(request) if request.deferred.prompt.is_some() => {
                self.ask(request.call.id.as_str(), &request.call.id);
            }
            EventKind::ToolFinished { result, .. } => self.0.retain(|(_, call)| *call != result.call_id),
            _ => {}
        }
        let has_changed = self.0.len() != before;
        step.send_if_modified(|step| {
            let is_new = has_changed || matches!(step, Step::Starting);
            if is_new {
                *step = if self.0.is_empty() { Step::Working } else { Step::Asking };
            }
            is_new
        });
    }

    fn ask(&mut self, question: &str, call: &ToolCallId) {
        if self.0.iter().all(|(known, _)| known != question) {
            self.0.push((question.to_owned(), call.clone()));
        }
    }
}

/// The progress of the calls of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Come {
    /// The number of the newest word.
    pub(crate) word: u64,
    /// The newest progress of a call under way.
    pub(crate) newest: Option<(ToolCallId, Progress)>,
}

impl Come {
    pub(crate) fn hear(&mut self, call: ToolCallId, progress: Progress) {
        self.word += 1;
        self.newest = Some((call, progress));
    }

    /// Forgets what a call said that has ended. True if there was something.
    pub(crate) fn end(&mut self, call: &ToolCallId) -> bool {
        self.newest.take_if(|(of, _)| of == call).is_some()
    }
}

#[cfg(test)]
mod tests {
    use attache_core::ToolCallId;
    use attache_core::tool::Progress;

    use super::Come;

    #[test]
    fn the_end_of_a_call_leaves_the_progress_of_another() {
        let (one, other) = (ToolCallId::new(), ToolCallId::new());
        let mut come = Come::default();
        come.hear(one.clone(), Progress::new(1.0));
        come.hear(other.clone(), Progress::new(2.0));
        assert!(!come.end(&one));
        assert_eq!((come.word, come.newest.clone()), (2, Some((other.clone(), Progress::new(2.0)))));
        assert!(come.end(&other) && come.newest.is_none() && !come.end(&other));
    }
}
