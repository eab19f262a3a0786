//! Questions of an agent in the midst of a call, which people answer.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use attache_core::tool::{Deferred, Unanswered};
use attache_core::{ToolContext, ToolError, fresh};
use attache_transport::{percent_decoded, percent_encoded};
use serde_json::Value;

use super::handle::{A2aHandle, A2aHandleError};
use super::output::A2aOutput;
use super::results::OURS;
use crate::config::Config;
use crate::wire::Draft;

/// A question at which a call stops, as the log has it: the handle of its task, its number, and its text, so that the same
/// is asked again once there is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) handle: A2aHandle,
    number: u32,
    text: String,
}

impl Stop {
    /// The question that a call would end with; `before` were asked already.
    pub(crate) fn of(output: &A2aOutput, before: u32) -> Option<Self> {
        let deferred = output.deferred.as_deref()?;
        let handle = deferred.handle.as_deref()?.parse().ok()?;
        Some(Self { handle, number: before.saturating_add(1), text: deferred.prompt.clone()? })
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The result of a call that ends with the question, since it has nobody to ask.
    pub(crate) fn into_output(self, lifetime: Option<Duration>) -> A2aOutput {
        let mut asked = Deferred::ask(self.text);
        (asked.handle, asked.lifetime) = (Some(self.handle.to_string()), lifetime);
        A2aOutput {
            task: Some(self.handle.task().to_owned()),
            context: self.handle.context().map(str::to_owned),
            deferred: Some(Box::new(asked)),
            ..A2aOutput::default()
        }
    }

    /// Asks the people behind the call. `None` if nobody is there.
    pub(crate) async fn ask(&self, config: &Config, context: &ToolContext) -> Result<Option<Draft>, Unasked> {
        let mut question = Deferred::ask(self.text.clone());
        (question.handle, question.lifetime) = (Some(self.to_string()), config.lifetime);
        let error = |why: &Unanswered| config.unavailable(&format!("asks, and {why}"));
        match context.ask(question).await {
            Ok(Value::String(answer)) => Ok(Some(answering(&self.handle, answer))),
            Ok(answer) => Ok(Some(answering(&self.handle, answer.to_string()))),
            Err(Unanswered::Nobody) => Ok(None),
            Err(why @ Unanswered::Later) => Err(Unasked { error: error(&why), waits: true }),
            Err(why) => Err(Unasked { error: error(&why), waits: false }),
        }
    }
}

/// A question that is not answered now.
pub(crate) struct Unasked {
    pub(crate) error: ToolError,
    /// True if it is answered later.
    pub(crate) waits: bool,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}:{}", self.handle, self.number, percent_encoded(self.text.as_bytes()))
    }
}

impl FromStr for Stop {
    type Err = A2aHandleError;

    fn from_str(text: &str) -> Result<Self, A2aHandleError> {
        let (_, question) = text.split_once('#').ok_or(A2aHandleError)?;
        let (number, asked) = question.split_once(':').ok_or(A2aHandleError)?;
        let asked = String::from_utf8(percent_decoded(asked)).map_err(|_| A2aHandleError)?;
        Ok(Self { handle: text.parse()?, number: number.parse().map_err(|_| A2aHandleError)?, text: asked })
    }
}

/// The message that answers what the agent asks in a task.
pub(crate) fn answering(handle: &A2aHandle, answer: String) -> Draft {
    Draft {
        id: format!("{OURS}{}", fresh::uuid()),
        text: answer,
        task: Some(handle.task().to_owned()),
        context: handle.context().map(str::to_owned),
        ..Draft::default()
    }
}
