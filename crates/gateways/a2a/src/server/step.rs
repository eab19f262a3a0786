//! How far a run has come that is driven here.

use attache_core::ToolCallId;
use attache_core::tool::Progress;

use super::error::Refusal;

/// The state of a run that is driven here.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Starting,
    Working,
    /// It stopped: what came of it is in its log.
    Over,
    /// It did not begin.
    Refused(Refusal),
}

impl Step {
    pub(crate) fn has_stopped(&self) -> bool {
        matches!(self, Self::Over | Self::Refused(_))
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
