//! The questions to a memory, and its answers.

use std::sync::Arc;

use attache_core::Message;

use crate::memory::mark::Mark;
use crate::memory::marks::Marks;
use crate::memory::past::Past;
use crate::memory::summary::Summarise;

/// Decides what the model is shown of a conversation, before each model call.
///
/// The history is never changed: a memory shows a part of it. Where it cannot tell that part from the history alone, it
/// makes a [`Mark`], which the run records and which stands in the history from then on: a run that is resumed and the
/// next run of the conversation are shown the same. It then looks again.
///
/// [`MessageWindow`](crate::MessageWindow), [`TokenWindow`](crate::TokenWindow) and
/// [`Compaction`](crate::Compaction) are memories; [`AgentBuilder::memory`](crate::AgentBuilder::memory) takes one.
///
/// ```
/// use attache_agent::{Agent, Look, Marks, Memory, Past};
///
/// /// Shows the newest question alone.
/// struct Forgetful;
///
/// impl Memory for Forgetful {
///     fn look(&self, past: &Past<'_>, _: &mut Marks) -> Look {
///         Look::Show { messages: past.history[past.task..].to_vec(), evicted: 0 }
///     }
/// }
/// # let model = attache_testkit::ScriptedModel::new([]);
/// let agent = Agent::builder(model).memory(Forgetful).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Memory: Send + Sync + 'static {
    /// Looks at the conversation. The answer is a function of `past` and of this memory's settings: a run that is
    /// resumed asks again. `marks` belong to one run and may be empty at any look; they save work.
    fn look(&self, past: &Past<'_>, marks: &mut Marks) -> Look;

    /// The messages whose tokens it wants the model's API to count before it decides; `None` where its own count is good
    /// enough, as by default. Asked before the first reply of a run; what was counted comes back as
    /// [`Past::counted`].
    fn asks_for_count(&self, past: &Past<'_>, marks: &mut Marks) -> Option<Vec<Arc<Message>>> {
        let _ = (past, marks);
        None
    }

    /// The length from which on, in characters, it may clear old results; `None` if it never does.
    fn clears_above(&self) -> Option<usize> {
        None
    }
}

/// The answer of a memory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Look {
    /// The model is shown these messages.
    Show {
        /// The messages.
        messages: Vec<Arc<Message>>,
        /// The number of messages that have left since the last look.
        evicted: usize,
    },
    /// The mark is recorded, and the memory looks again.
    Move(Box<Mark>),
    /// A summary is made, its mark is recorded, and the memory looks again.
    Summarise(Box<Summarise>),
}

pub(super) fn shown((messages, evicted): (Vec<Arc<Message>>, usize)) -> Look {
    Look::Show { messages, evicted }
}
