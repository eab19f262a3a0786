//! The end of a call: a result, a question, or a task that is left to itself, as the state of the remote task says.

use attache_core::ToolError;
use attache_core::tool::Deferred;
use tokio::time::Instant;

use super::agent::A2aAgent;
use super::follow::{CancelGuard, Line};
use super::gather::Gathered;
use super::handle::A2aHandle;
use super::link::Known;
use super::listing::{MESSAGE, TASK};
use super::output::{A2aBlock, A2aContent, A2aOutput};
use super::request::Ask;
use super::results::Reader;
use super::update::{A2aQuestion, A2aUpdate};
use crate::config::{A2aQuestions, cut};
use crate::wire::{A2aState, Content, Message, Task};

/// Longer questions are cut.
const LONGEST_QUESTION: usize = 4_000;
/// Longer names of files in a question are cut, and more are counted.
const LONGEST_NAME: usize = 100;
const MOST_NAMES: usize = 10;

impl A2aAgent {
    /// The state of a task, for callers that go on with it.
    pub(super) fn update(&self, gathered: Gathered) -> Result<A2aUpdate, ToolError> {
        let reader = Reader::new(self.config());
        Ok(match gathered {
            Gathered { message: Some(message), .. } => A2aUpdate::Done(Box::new(reader.message(message))),
            Gathered { task: Some(task), .. } if task.state.is_final() => {
                A2aUpdate::Done(Box::new(reader.task(task)))
            }
            Gathered { task: Some(task), .. } if task.state.is_waiting() => {
                A2aUpdate::Asks(self.question(&task))
            }
            Gathered { task: Some(_), .. } => A2aUpdate::Working,
            Gathered { .. } => return Err(self.config().failed("answers with nothing")),
        })
    }

    fn question(&self, task: &Task) -> A2aQuestion {
        let needs_auth = task.state == A2aState::AuthRequired;
        let said = task.said.as_ref().map(Message::words).unwrap_or_default();
        let said = cut(&self.config().redactor().given_only().redact(&said), LONGEST_QUESTION);
        let text = match (needs_auth, said.trim().is_empty()) {
            (false, false) => said,
            (false, true) => {
                format!("The agent {:?} asks for more, and does not say what.", self.config().alias)
            }
            (true, false) => format!("The agent {:?} needs authorisation: {said}", self.config().alias),
            (true, true) => format!("The agent {:?} needs authorisation.", self.config().alias),
        };
        A2aQuestion { text: format!("{text}{}", self.files(task)), needs_auth }
    }

    /// A line on the files that the task has given so far, which stand in its result.
    fn files(&self, task: &Task) -> String {
        let redactor = self.config().redactor().given_only();
        let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
        let names: Vec<String> = parts
            .chain(task.said.iter().flat_map(|said| &said.parts))
            .filter(|part| matches!(part.content, Content::Bytes(_) | Content::Url(_)) || part.is_text_file())
            .map(|part| part.name.as_deref().or(part.media_type.as_deref()).unwrap_or("a file"))
            .map(|name| cut(&redactor.redact(name), LONGEST_NAME).replace('\n', " "))
            .collect();
        let (shown, more) = names.split_at(names.len().min(MOST_NAMES));
        match (shown, more.len()) {
            ([], _) => String::new(),
            (shown, 0) => format!("\nFiles so far: {}", shown.join(", ")),
            (shown, more) => format!("\nFiles so far: {}, and {more} more", shown.join(", ")),
        }
    }

    /// The result of a call, as far as the task has come.
    pub(super) async fn concluded(
        &self,
        known: &Known,
        gathered: Gathered,
        guard: &mut CancelGuard,
    ) -> Result<A2aOutput, ToolError> {
        let reader = Reader::new(self.config());
        let task = match gathered {
            Gathered { message: Some(message), .. } => {
                guard.let_go();
                let output = reader.message(message);
                return Ok(A2aOutput { shows_ids: self.config().conversations, ..output });
            }
            Gathered { task: Some(task), .. } => task,
            Gathered { .. } => return Err(self.config().failed("answers with nothing")),
        };
        if task.state.is_final() {
            guard.let_go();
            return Ok(A2aOutput { shows_ids: self.config().conversations, ..reader.task(task) });
        }
        if !task.state.is_waiting() {
            return self.left(known, task, guard).await;
        }
        guard.let_go();
        if self.config().questions == A2aQuestions::User {
            let mut asked = Deferred::ask(self.question(&task).text);
            asked.handle = Some(self.handle_of(&task).to_string());
            return Ok(self.deferred(&task, asked));
        }
        let mut output = A2aOutput { shows_ids: true, ..reader.task(task) };
        let note = format!(
            "The agent asks, and waits for the answer. Call this tool again with `{TASK}`, with the answer as \
             `{MESSAGE}`."
        );
        let content = A2aContent::Note(note);
        output.content.push(A2aBlock { artifact: None, description: None, content });
        Ok(output)
    }

    /// A task that is still worked on when the call may wait no longer.
    async fn left(&self, known: &Known, task: Task, guard: &mut CancelGuard) -> Result<A2aOutput, ToolError> {
        if !self.config().defers {
            return Err(self.config().late("did not finish in time; its task is cancelled"));
        }
        if let Some(push) = self.config().push.as_ref().filter(|_| known.card.push_notifications) {
            let line = Line { config: self.config(), known };
            let token = push.token(&self.config().alias, &task.id);
            let end = Instant::now() + self.config().limits.request;
            let set = Ask::SetPush { task: &task.id, url: push.url(), token: &token };
            match line.ask(set, end).await.and_then(|answer| answer.result().map(drop)) {
                // It may have come to its end before it knew where to tell of that.
                Ok(()) => {
                    let mut gathered = Gathered::default();
                    let looked = line.look(&task.id, end).await.and_then(|event| gathered.apply(event));
                    if looked.is_ok() && gathered.is_settled() {
                        return Box::pin(self.concluded(known, gathered, guard)).await;
                    }
                }
                Err(failure) => {
                    let error = failure.told(self.config(), true);
                    tracing::warn!(agent = self.config().alias, %error, "no notifications will come of a task");
                }
            }
        }
        guard.let_go();
        let deferred = Deferred::to(self.handle_of(&task).to_string());
        Ok(self.deferred(&task, deferred))
    }

    fn handle_of(&self, task: &Task) -> A2aHandle {
        A2aHandle::new(self.config().alias.clone(), task.id.clone(), task.context.clone())
    }

    fn deferred(&self, task: &Task, mut deferred: Deferred) -> A2aOutput {
        deferred.lifetime = self.config().lifetime;
        A2aOutput {
            state: Some(task.state),
            task: Some(task.id.clone()),
            context: task.context.clone(),
            deferred: Some(Box::new(deferred)),
            ..A2aOutput::default()
        }
    }
}
