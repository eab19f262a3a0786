//! Puts a task together from the events that tell of it.

use std::collections::HashSet;
use std::hash::Hash;

use crate::client::failure::Failure;
use crate::wire::{A2aState, Artifact, Content, Event, Message, Part, Past, Task};

/// The maximum number of artifacts of a task, and the maximum number of pieces of one.
const MOST: usize = 10_000;

/// The answer so far: a message, or a task.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) message: Option<Message>,
    pub(crate) task: Option<Task>,
}

impl Gathered {
    /// A task of which no more is known than that the agent may work on it.
    pub(crate) fn working(id: String, context: Option<String>) -> Self {
        let task = Task { id, context, state: A2aState::Working, ..Task::default() };
        Self { message: None, task: Some(task) }
    }

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
                let before = std::mem::replace(&mut task.said, said).map(Past::Message);
                task.is_cut |= add_some(&mut task.history, before.into_iter().collect());
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
            let kept = unrepeated(known.artifacts, &task.artifacts, |artifact| &artifact.id);
            let kept = without_beginnings(kept, &task.artifacts);
            task.is_partial |= known.is_partial | add_some(&mut task.artifacts, kept);
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
            let kept = unrepeated(known.history, &task.history, |past| match past {
                Past::Message(message) => &message.id,
                Past::Artifact(_) => "",
            });
            task.is_cut |= known.is_cut | add_some(&mut task.history, kept);
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

/// The known items that a snapshot does not tell again, neither by their ids nor as they are. Each item is looked at once:
/// an agent may tell thousands, time and again.
fn unrepeated<T: Eq + Hash>(mut known: Vec<T>, told: &[T], id: fn(&T) -> &str) -> Vec<T> {
    let ids: HashSet<&str> = told.iter().map(id).filter(|id| !id.is_empty()).collect();
    let same: HashSet<&T> = told.iter().collect();
    known.retain(|known| !ids.contains(id(known)) && !same.contains(known));
    known
}

/// The artifacts but those without an id that are nothing but the beginning of another one's text: their stream was cut.
fn without_beginnings(mut known: Vec<Artifact>, told: &[Artifact]) -> Vec<Artifact> {
    fn texts(artifact: &Artifact) -> impl Iterator<Item = &str> {
        artifact.parts.iter().map_while(|part| match &part.content {
            Content::Text(text) => Some(&**text),
            _ => None,
        })
    }
    let may_begin = |known: &Artifact| known.id.is_empty() && texts(known).count() == known.parts.len();
    if !known.iter().any(may_begin) {
        return known;
    }
    let mut whole: Vec<String> = told.iter().map(|artifact| texts(artifact).collect()).collect();
    whole.sort_unstable();
    known.retain(|known| {
        let text: String = texts(known).collect();
        let at = whole.partition_point(|told| *told < text);
        !may_begin(known) || !whole.get(at).is_some_and(|told| told.starts_with(&text))
    });
    known
}

/// Adds as many as are read. True if there were more.
fn add_some<T>(items: &mut Vec<T>, mut more: Vec<T>) -> bool {
    let room = MOST.saturating_sub(items.len());
    let is_cut = more.len() > room;
    more.truncate(room);
    items.append(&mut more);
    is_cut
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
