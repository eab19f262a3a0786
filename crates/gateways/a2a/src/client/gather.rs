//! Puts a task together from the events that tell of it.

use crate::client::failure::Failure;
use crate::wire::{A2aState, Artifact, Content, Event, Message, Part, Past, Task};

/// The most artifacts of a task, and the most pieces of one.
const MOST: usize = 10_000;

/// The answer so far: a message, or a task.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) message: Option<Message>,
    pub(crate) task: Option<Task>,
}

impl Gathered {
    /// The id of the task, once it is known.
    pub(crate) fn id(&self) -> Option<&str> {
        self.task.as_ref().map(|task| &*task.id)
    }

    /// True if there is nothing to wait for any more: an answer, an end, or a question.
    pub(crate) fn is_settled(&self) -> bool {
        let state = self.task.as_ref().map(|task| task.state);
        self.message.is_some() || state.is_some_and(|state| state.is_final() || state.is_waiting())
    }

    /// True if the task has come to its end.
    pub(crate) fn is_final(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.state.is_final())
    }

    /// Notes that pieces of the task may be missing.
    pub(crate) fn is_partial(&mut self) {
        if let Some(task) = &mut self.task {
            task.is_partial = true;
        }
    }

    /// Takes an event in. Those of other tasks are none of ours.
    pub(crate) fn apply(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Message(message) => self.message = Some(message),
            Event::Task(task) => self.snapshot(task),
            Event::Status { task, context, state, said, .. } => {
                let Some(task) = self.task(&task, context) else { return Ok(()) };
                task.state = state;
                if let Some(before) = std::mem::replace(&mut task.said, said)
                    && task.history.len() < MOST
                {
                    task.history.push(Past::Message(before));
                }
            }
            Event::Artifact { task, context, artifact, appends } => {
                let Some(task) = self.task(&task, context) else { return Ok(()) };
                return add(task, artifact, appends);
            }
        }
        Ok(())
    }

    /// A task as it is now. Streamed content that it does not repeat stays, and so does an end, where a store is behind.
    fn snapshot(&mut self, mut task: Task) {
        if let Some(mut known) = self.task.take() {
            if known.id != task.id {
                self.task = Some(known);
                return;
            }
            let is_same = |one: &str, other: &str| !one.is_empty() && one == other;
            let kept = known.artifacts.into_iter().filter(|artifact| {
                let is_repeated = |other: &Artifact| is_same(&other.id, &artifact.id) || other == artifact;
                !task.artifacts.iter().any(|other| is_repeated(other) || begins(artifact, other))
            });
            let kept: Vec<Artifact> = kept.collect();
            task.artifacts.extend(kept);
            task.context = task.context.or(known.context);
            if known.state.is_final() && !task.state.is_final() {
                task.state = known.state;
                // Its words are those of an earlier state.
                let earlier = std::mem::replace(&mut task.said, known.said.take());
                known.history.extend(earlier.map(Past::Message));
            } else if task.said.is_none() && known.state == task.state {
                task.said = known.said;
            } else if let Some(said) = known.said {
                known.history.push(Past::Message(said));
            }
            let kept = known.history.into_iter().filter(|past| {
                let is_repeated = |other: &Past| match (other, past) {
                    (Past::Message(other), Past::Message(past)) => {
                        is_same(&other.id, &past.id) || other == past
                    }
                    (other, past) => other == past,
                };
                !task.history.iter().any(is_repeated)
            });
            let kept: Vec<Past> = kept.take(MOST.saturating_sub(task.history.len())).collect();
            task.history.extend(kept);
        }
        self.task = Some(task);
    }

    fn task(&mut self, id: &str, context: Option<String>) -> Option<&mut Task> {
        let task = self.task.get_or_insert_with(|| Task {
            id: id.to_owned(),
            context,
            state: A2aState::Submitted,
            ..Task::default()
        });
        (task.id == id).then_some(task)
    }
}

fn add(task: &mut Task, artifact: Artifact, appends: bool) -> Result<(), Failure> {
    let count = task.artifacts.len();
    // Those without an id are each their own; one that goes on belongs to the last.
    let is_known = |known: &&mut Artifact| known.id == artifact.id && (appends || !artifact.id.is_empty());
    match task.artifacts.iter_mut().rev().find(is_known) {
        Some(known) if appends => {
            known.name = artifact.name.or(known.name.take());
            known.description = artifact.description.or(known.description.take());
            known.parts.extend(artifact.parts);
            join_texts(&mut known.parts);
            if known.parts.len() > MOST {
                return Err(Failure::Malformed("more pieces of an artifact than are read"));
            }
        }
        Some(known) => *known = artifact,
        None if count >= MOST => return Err(Failure::Malformed("more artifacts than are read")),
        None => task.artifacts.push(artifact),
    }
    Ok(())
}

/// True if an artifact without an id is nothing but the beginning of another one's text: its stream was cut.
fn begins(artifact: &Artifact, other: &Artifact) -> bool {
    let text = |artifact: &Artifact| -> String {
        let texts = artifact.parts.iter().map_while(|part| match &part.content {
            Content::Text(text) => Some(&**text),
            _ => None,
        });
        texts.collect()
    };
    let is_text = artifact.parts.iter().all(|part| matches!(part.content, Content::Text(_)));
    artifact.id.is_empty() && is_text && text(other).starts_with(&text(artifact))
}

/// The pieces of an artifact's text are one text: it comes in chunks, streamed or not.
pub(crate) fn join_texts(parts: &mut Vec<Part>) {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
    for part in std::mem::take(parts) {
        let is_alike = |last: &Part| last.name == part.name && last.media_type == part.media_type;
        match (joined.last_mut(), &part.content) {
            (Some(last), Content::Text(more)) if is_alike(last) => match &mut last.content {
                Content::Text(text) => text.push_str(more),
                _ => joined.push(part),
            },
            _ => joined.push(part),
        }
    }
    *parts = joined;
}
