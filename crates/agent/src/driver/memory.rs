//! Does what the memory decides, before the model is asked.

use std::sync::Arc;

use attache_core::{ChatRequest, Message, ModelHandle, ModelUsage, ToolSet, Usage};

use crate::driver::Driver;
use crate::driver::stop::Fault;
use crate::event::EventKind;
use crate::log::{Compacted, EntryKind, Key};
use crate::memory::look::Look;
use crate::memory::mark::Mark;
use crate::memory::past::Past;
use crate::memory::summary::Summarise;
use crate::price::Cost;
use crate::run::{Run, Spent};
use crate::setup::Setup;

/// Decisions before one model call. A memory of ours makes two at most: a summary that fails, and what is left then.
const MAX_DECISIONS: u32 = 4;

impl Driver {
    /// Asks the memory. `is_full` says that the provider has refused the request as too long.
    pub(super) fn look(&mut self, is_full: bool) -> Look {
        let Some(memory) = &self.setup.memory else {
            return Look::Show { messages: self.run.history().to_vec(), evicted: 0 };
        };
        let past = past(&self.setup, &self.run, &self.toolbox.set, is_full);
        memory.look(&past, &mut self.marks)
    }

    /// The messages that the memory wants counted before it decides, if it does.
    pub(super) fn messages_to_count(&mut self) -> Option<Vec<Arc<Message>>> {
        let memory = self.setup.memory.as_ref()?;
        if self.run.read_tokens().is_some() || self.run.counted().is_some() {
            return None;
        }
        memory.asks_for_count(&past(&self.setup, &self.run, &self.toolbox.set, false), &mut self.marks)
    }

    /// The messages that the memory shows.
    pub(super) fn shown(
        &mut self,
        messages: Vec<Arc<Message>>,
        evicted: usize,
        events: &mut Vec<EventKind>,
    ) -> Vec<Arc<Message>> {
        if evicted > 0 {
            self.library.forget_unseen(&messages);
            events.push(EventKind::WindowMoved { evicted });
        }
        messages
    }

    /// Does what the memory decides until it shows messages.
    pub(super) async fn remember(
        &mut self,
        mut decision: Look,
        events: &mut Vec<EventKind>,
    ) -> Result<Vec<Arc<Message>>, Fault> {
        for _ in 0..MAX_DECISIONS {
            if !self.decide(decision, events).await? {
                break;
            }
            decision = self.look(false);
            if let Look::Show { messages, evicted } = decision {
                self.library.forget_unseen(&messages);
                return Ok(self.shown(messages, evicted, events));
            }
        }
        tracing::error!(run = self.run.id(), "the memory decides without end; all is shown");
        Ok(self.run.history().to_vec())
    }

    /// The request once more, which the provider has refused as too long; none if the memory makes it no shorter.
    pub(super) async fn prepare_shorter(
        &mut self,
        step: u32,
        landing: bool,
    ) -> Result<(Option<Box<ChatRequest>>, Vec<EventKind>), Fault> {
        let mut events = Vec::new();
        for _ in 0..MAX_DECISIONS {
            let decision = self.look(true);
            let before = self.run.history().len();
            if !self.decide(decision, &mut events).await? {
                break;
            }
            if self.run.history().len() > before {
                let (request, more) = self.prepare(step, landing).await?;
                events.extend(more);
                return Ok((Some(request), events));
            }
        }
        Ok((None, events))
    }

    /// Records a decision. Says whether there was one.
    async fn decide(&mut self, decision: Look, events: &mut Vec<EventKind>) -> Result<bool, Fault> {
        let compacted = match decision {
            Look::Show { .. } => return Ok(false),
            Look::Move(mark) => {
                let clears = mark.clears.is_some();
                let compacted = recorded(*mark);
                if clears {
                    let (tokens, usage) = (compacted.tokens, Usage::default());
                    events.push(EventKind::Compacted { tokens, summarised: false, usage });
                }
                compacted
            }
            Look::Summarise(order) => {
                let compacted = self.summarise(&order).await;
                let (tokens, usage) = (compacted.tokens, compacted.usage.clone());
                events.push(match &compacted.failure {
                    None => EventKind::Compacted { tokens, summarised: true, usage },
                    Some(failure) => EventKind::Warning {
                        code: "compaction_failed",
                        message: format!("the conversation could not be summarised: {failure}"),
                    },
                });
                compacted
            }
        };
        if let (Some(scope), Some(spent)) = (&self.scope, Spent::beside(&compacted)) {
            scope.shared().report(&spent);
        }
        self.record(Key::memory(self.run.decisions()), EntryKind::Compacted(compacted)).await?;
        self.library.catch_up(&self.run);
        Ok(true)
    }

    /// Has the summary written, in as many requests as it takes.
    async fn summarise(&self, order: &Summarise) -> Compacted {
        let model = order.model.as_ref().unwrap_or(&self.setup.model);
        let mut usage = Usage::default();
        let mut cost: Option<Cost> = None;
        let mut spend = |answered: Option<&str>, used: &Usage, parts: &[ModelUsage]| {
            usage.add(used);
            cost.get_or_insert_default().add(self.spend_beside(model.id(), answered, used, parts));
        };
        let made = async {
            let mut summary = order.earlier.clone();
            for piece in order.pieces()? {
                let request = order.request(&piece, summary.as_deref(), model);
                let asked =
                    tokio::time::timeout(order.timeout, ModelHandle::collect(self.stream(model, request)))
                        .await;
                let completion = match asked {
                    Ok(Ok(completion)) => completion,
                    Ok(Err(error)) => {
                        let lost = error.usage().into_iter();
                        lost.for_each(|lost| spend(None, lost, &error.usage_of_models(model.id())));
                        return Err(error.to_string());
                    }
                    Err(_) => return Err("the model took too long".to_owned()),
                };
                spend(completion.model.as_deref(), &completion.usage, &completion.usage_by_model);
                summary = Some(order.written(&completion)?);
            }
            order.finished(summary.as_deref().unwrap_or_default())
        };
        let made: Result<Mark, String> = made.await;
        let (mark, failure) = match made {
            Ok(mark) => (Some(mark.into_message().shared()), None),
            Err(failure) => (None, Some(failure)),
        };
        Compacted {
            mark,
            failure,
            tokens: order.mark.tokens,
            usage,
            // A cost of which a part is unknown is unknown.
            cost: cost.filter(|cost| cost.is_complete()).map(|cost| cost.known),
            model: Some(model.id().to_owned()),
        }
    }
}

/// The conversation as the memory looks at it.
fn past<'a>(setup: &'a Setup, run: &'a Run, tools: &'a Arc<ToolSet>, is_full: bool) -> Past<'a> {
    Past {
        history: run.history(),
        task: run.task(),
        tools,
        capabilities: setup.model.capabilities(),
        result_chars: run.limits().max_result_chars,
        reader: setup.routing.read_tool.as_deref(),
        read_tokens: run.read_tokens(),
        counted: run.counted().and_then(|(until, tokens)| Some((until, tokens?))),
        failed_at: run.summary_failed_at(),
        is_full,
    }
}

fn recorded(mark: Mark) -> Compacted {
    let tokens = mark.tokens;
    Compacted {
        mark: Some(mark.into_message().shared()),
        failure: None,
        tokens,
        usage: Usage::default(),
        cost: None,
        model: None,
    }
}
