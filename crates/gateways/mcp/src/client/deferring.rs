//! Calls that are tasks, and those of them that outlive their calls.

use attache_core::tool::Deferred;
use attache_core::{BoxFuture, ToolError, ToolErrorKind};
use rmcp::model::{InputRequest, InputRequests};
use serde_json::Value;
use tokio::time::Instant;

use super::calling::{Followed, Talk};
use super::config::Door;
use super::eliciting::Elicitation;
use super::output::McpOutput;
use super::remote_server::McpServer;
use super::task::{CancelGuard, McpUpdate, Place, Seen, State};

impl McpServer {
    /// Looks at the task of a deferred call, by its handle, in any process. It waits for nothing but the server's answer.
    ///
    /// # Errors
    /// If the handle is of another server, the server does not answer, or it does not know the task.
    pub async fn poll(&self, handle: &str) -> Result<McpUpdate, ToolError> {
        self.poll_boxed(handle).await
    }

    /// Answers what the task of a deferred call asks, by its handle. One that does not fit the question is a refusal.
    ///
    /// # Errors
    /// As for [`poll`](Self::poll), and if the task asks nothing.
    pub async fn answer(&self, handle: &str, answer: impl Into<Value>) -> Result<(), ToolError> {
        self.answer_boxed(handle, answer.into()).await
    }

    /// Cancels the task of a deferred call. The server may finish it all the same. That of a child process is gone with the
    /// process, which is not started for it.
    ///
    /// # Errors
    /// As for [`poll`](Self::poll).
    pub async fn cancel(&self, handle: &str) -> Result<(), ToolError> {
        self.cancel_boxed(handle).await
    }
}

/// Borders, behind which the work is compiled once: see ADR 0053.
impl McpServer {
    fn poll_boxed<'a>(&'a self, handle: &'a str) -> BoxFuture<'a, Result<McpUpdate, ToolError>> {
        Box::pin(async move {
            let place = self.place(handle)?;
            let mut talk = self.talk();
            let seen = talk.look(&place).await?;
            match seen.state {
                State::Working => Ok(McpUpdate::Working(seen.said)),
                State::Asks(ref asked) => match self.question(asked) {
                    Some((_, question)) if !place.is_old => {
                        Ok(McpUpdate::Asks(Box::new(question.question(Some(handle.to_owned())))))
                    }
                    // The older protocol asks over the connection of the call, and there is none any more.
                    _ => {
                        let cancelled = talk.cancel(&place).await;
                        if let Err(error) = cancelled {
                            tracing::debug!(server = self.config.alias, %error, "a task could not be cancelled");
                        }
                        let alias = &self.config.alias;
                        let text = format!(
                            "the server {alias:?} asks for an input that nobody can give once its call is deferred; its task is cancelled"
                        );
                        Ok(McpUpdate::Done(Box::new(McpOutput::failed(text))))
                    }
                },
                _ => {
                    let output = match talk.result(&place, seen).await {
                        Ok(result) => self.read_result(&place.tool, result)?,
                        // The result may be there at the next look.
                        Err(error)
                            if matches!(
                                error.kind(),
                                ToolErrorKind::Unavailable | ToolErrorKind::Timeout
                            ) =>
                        {
                            return Err(error);
                        }
                        Err(error) => McpOutput::failed(error.for_model()),
                    };
                    Ok(McpUpdate::Done(Box::new(output)))
                }
            }
        })
    }

    fn answer_boxed<'a>(&'a self, handle: &'a str, answer: Value) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let place = self.place(handle)?;
            let mut talk = self.talk();
            let State::Asks(asked) = talk.look(&place).await?.state else {
                return Err(ToolError::new("the task asks nothing"));
            };
            let Some((name, question)) = self.question(&asked) else {
                return Err(ToolError::new("the task asks nothing that people can answer"));
            };
            let answer = serde_json::to_value(question.answered(answer))?;
            talk.reply(&place, name, answer).await
        })
    }

    fn cancel_boxed<'a>(&'a self, handle: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let place = self.place(handle)?;
            if matches!(self.config.door, Door::Command(_)) && self.link.standing().await.is_none() {
                return Ok(());
            }
            self.talk().cancel(&place).await
        })
    }

    fn place(&self, handle: &str) -> Result<Place, ToolError> {
        let place: Option<Place> = handle.parse().ok();
        place
            .filter(|place| place.alias == self.config.alias)
            .ok_or_else(|| ToolError::new(format!("{:?} has no such task", self.config.name)))
    }

    fn talk(&self) -> Talk<'_> {
        Talk::new(&self.config, &self.link, Instant::now() + self.config.limits.call, None)
    }

    /// The first question that people can answer, with its name.
    fn question(&self, asked: &InputRequests) -> Option<(String, Elicitation)> {
        asked.iter().find_map(|(name, asked)| match asked {
            InputRequest::Elicitation(asked) if self.config.elicitation => {
                Some((name.clone(), Elicitation::new(&self.config, &asked.params)?))
            }
            _ => None,
        })
    }

    /// The output of a call that is a task.
    pub(crate) async fn followed(
        &self,
        place: Place,
        seen: Seen,
        talk: &mut Talk<'_>,
    ) -> Result<McpOutput, ToolError> {
        let mut guard = CancelGuard::new(&self.config, &self.link, &place.id);
        match talk.follow(&place, seen).await {
            Ok(Followed::Done(result)) => {
                guard.let_go();
                self.read_result(&place.tool, result)
            }
            Ok(Followed::Working) if self.config.defers => {
                guard.let_go();
                let mut deferred = Deferred::to(place.to_string());
                deferred.lifetime = self.config.lifetime;
                Ok(McpOutput { deferred: Some(Box::new(deferred)), ..McpOutput::default() })
            }
            Ok(Followed::Working) => Err(self.config.late("did not finish in time; its task is cancelled")),
            Err(error) => {
                if talk.is_put_off {
                    guard.let_go();
                }
                Err(error)
            }
        }
    }
}
