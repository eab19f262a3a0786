//! Holds answers to the schema of the value that the run is asked for.

use attache_core::ToolCall;

use crate::outcome::EndReason;
use crate::output::Output;
use crate::run::Run;

impl Run {
    /// The value that the run is asked for.
    pub(crate) fn output(&self) -> Option<&Output> {
        self.output.as_deref()
    }

    /// True if this is the tool that takes the final answer, which nobody runs.
    pub(crate) fn is_output(&self, name: &str) -> bool {
        self.output.as_ref().is_some_and(|output| output.is_tool(name))
    }

    /// True if the last reply gave the final answer.
    pub(crate) fn has_answered(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.is_given())
    }

    /// Forgets what an earlier reply gave.
    pub(super) fn ask_again(&mut self) {
        if let Some(output) = &mut self.output {
            output.structured = None;
        }
    }

    /// Answers the calls that give the final answer. Says whether all calls are answered then.
    pub(super) fn take_output(&mut self, calls: &[ToolCall]) -> bool {
        let Some(output) = &mut self.output else { return false };
        let outcomes = output.take_calls(calls);
        if let Some(Ok(value)) = &output.structured {
            self.text = value.to_string();
        }
        for outcome in outcomes {
            self.outcomes.insert(outcome.call_id.clone(), outcome);
        }
        calls.iter().all(|call| self.outcomes.contains_key(&call.id))
    }

    /// The end of a run whose round of calls gave the final answer, or one answer too many that does not fit.
    pub(super) fn end_of_output(&mut self) -> Option<EndReason> {
        let output = self.output.as_mut()?;
        if output.is_given() {
            return Some(EndReason::Answer);
        }
        output.structured.as_ref()?;
        if !output.try_again() {
            return Some(EndReason::InvalidAnswer);
        }
        output.structured = None;
        None
    }

    /// Reads an answer's text. Where it is no value, says what to tell the model if it may try again, or `None` if it may
    /// not.
    pub(super) fn read_output(&mut self, text: &str, is_last: bool) -> Result<(), Option<String>> {
        let Some(output) = &mut self.output else { return Ok(()) };
        output.read_text(text);
        if output.is_given() {
            return Ok(());
        }
        if is_last || !output.try_again() {
            return Err(None);
        }
        let hint = output.hint();
        output.structured = None;
        Err(Some(hint))
    }
}
