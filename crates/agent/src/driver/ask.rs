//! Asks the model, and hands on its reply as it streams.

use std::pin::pin;

use async_stream::stream;
use attache_core::{
    AssistantMessage, Completion, ErrorKind, FinishReason, Message, MessageId, ProviderError, StoreError,
    StoreErrorKind, StreamChunk, Usage,
};
use futures_core::Stream;

use crate::driver::Driver;
use crate::driver::interrupt::Interrupt;
use crate::driver::stop::{Fault, Stop};
use crate::event::{Event, EventKind};
use crate::log::{Entry, EntryKind, Failed, Key, Reply};
use crate::outcome::EndReason;
use crate::output::{Partial, Piece};
use crate::price::Money;
use crate::store_documents::keep_of_reply;

/// The events of one model call; at most one `Err`, which comes last.
pub(super) fn ask<'a>(
    driver: &'a mut Driver,
    interrupt: &'a mut Interrupt,
    key: Key,
    step: u32,
    landing: bool,
) -> impl Stream<Item = Result<Event, Stop>> + Send + 'a {
    stream! {
        if driver.offers.is_some() {
            match interrupt.attempt(Box::pin(driver.offer())).await {
                Ok(events) => {
                    for kind in events {
                        yield Ok(driver.event(kind));
                    }
                }
                Err(stop) => {
                    yield Err(stop);
                    return;
                }
            }
        }
        let prepared = interrupt.attempt(pin!(driver.prepare(step, landing))).await;
        let (request, events) = match prepared {
            Ok(prepared) => prepared,
            Err(stop) => {
                yield Err(stop);
                return;
            }
        };
        for kind in events {
            yield Ok(driver.event(kind));
        }
        let mut reply = driver.run.next_id();
        let started = |driver: &Driver, reply: &MessageId| EventKind::StepStarted {
            model: driver.setup.model.id().to_owned(),
            reply: reply.clone(),
        };
        let kind = started(driver, &reply);
        yield Ok(driver.event(kind));

        let mut relieved = false;
        // The refusal of a request that was too long, after attempts whose tokens its provider counted.
        let mut refused: Option<ProviderError> = None;
        driver.note_citable(&request);
        let mut chunks = driver.stream(&driver.setup.model, *request);
        let mut said = String::new();
        let mut partial = driver.run.output().map(|output| Box::new(Partial::new(&output.spec)));
        let ended: Result<Box<Completion>, ProviderError> = loop {
            let next = std::future::poll_fn(|context| chunks.as_mut().poll_next(context));
            match interrupt.guard(next).await {
                Err(interrupted) => {
                    if let Some(refused) = refused.take() {
                        break Err(refused);
                    }
                    yield Err(Stop::Interrupted(interrupted, said));
                    return;
                }
                Ok(Some(Ok(StreamChunk::Content(text)))) => {
                    said.push_str(&text);
                    let value = partial.as_mut().and_then(|partial| partial.content(&text));
                    yield Ok(driver.event(EventKind::Content(text)));
                    if let Some(value) = value {
                        yield Ok(driver.event(EventKind::PartialValue(value)));
                    }
                }
                Ok(Some(Ok(StreamChunk::Thinking(text)))) => yield Ok(driver.event(EventKind::Thinking(text))),
                Ok(Some(Ok(StreamChunk::ToolCallDelta { slot, id, name, arguments_delta, .. }))) => {
                    let name = name.map(|name| driver.toolbox.streamed(&name).to_owned());
                    let piece = match &mut partial {
                        Some(partial) => partial.call(slot, name, arguments_delta),
                        None => Piece::Other(name, arguments_delta),
                    };
                    let kind = match piece {
                        Piece::Other(name, arguments_delta) => Some(EventKind::ToolCallDelta { id, name, arguments_delta }),
                        Piece::Answer(value) => value.map(EventKind::PartialValue),
                    };
                    if let Some(kind) = kind {
                        yield Ok(driver.event(kind));
                    }
                }
                Ok(Some(Ok(StreamChunk::Citation(citation)))) => {
                    if let Some(kind) = driver.cited(*citation) {
                        yield Ok(driver.event(kind));
                    }
                }
                Ok(Some(Ok(StreamChunk::Done(completion)))) => break Ok(completion),
                // A kind of chunk that is newer than this loop has nothing for it.
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => {
                    let is_full = error.kind() == ErrorKind::ContextTooLong && said.is_empty();
                    if is_full && !std::mem::replace(&mut relieved, true) {
                        match interrupt.attempt(Box::pin(driver.prepare_shorter(step, landing))).await {
                            Ok((request, events)) => {
                                for kind in events {
                                    yield Ok(driver.event(kind));
                                }
                                if let Some(request) = request {
                                    // A decision of the memory has taken the id.
                                    if driver.run.next_id() != reply {
                                        reply = driver.run.next_id();
                                        let kind = started(driver, &reply);
                                        yield Ok(driver.event(kind));
                                    }
                                    refused = Some(error).filter(|error| error.usage().is_some());
                                    driver.note_citable(&request);
                                    chunks = driver.stream(&driver.setup.model, *request);
                                    continue;
                                }
                            }
                            Err(stop) => {
                                if error.usage().is_some() {
                                    if matches!(stop, Stop::Interrupted(..)) {
                                        break Err(error);
                                    }
                                    let failed = driver.failed(interrupt, error, String::new(), None, None);
                                    if let Some(told) = Box::pin(failed).await.0 {
                                        yield Ok(driver.event(*told));
                                    }
                                }
                                yield Err(stop);
                                return;
                            }
                        }
                    }
                    break Err(error);
                }
                Ok(None) => {
                    let message = "the reply ended without its last chunk";
                    break Err(ProviderError::new(ErrorKind::StreamCut, message));
                }
            }
        };
        // The connection goes back to its pool before the tools run.
        drop(chunks);
        let mut completion = match replied(ended) {
            Ok(completion) => completion,
            Err((error, cut)) => {
                let (told, stop) = Box::pin(driver.failed(interrupt, error, said, cut, refused)).await;
                if let Some(told) = told {
                    yield Ok(driver.event(*told));
                }
                yield Err(stop);
                return;
            }
        };
        driver.toolbox.name_calls(&mut completion.message, |id| driver.run.knows_call(id));
        for kind in driver.notes_of_reply(&completion.degradations, &mut completion.message.citations) {
            yield Ok(driver.event(kind));
        }
        let model = completion.model.as_deref();
        let mut cost = driver.cost_of(model, &completion.usage, &completion.usage_by_model);
        if let Some((usage, before)) = refused.as_ref().and_then(|refused| driver.spent_on(refused)) {
            cost = both(cost, before);
            completion.add_earlier(usage);
        }
        if let Some(warning) = driver.warn_of_cost(cost) {
            yield Ok(driver.event(warning));
        }
        // Those of earlier attempts do not count the answer's own.
        let own = completion.answered.as_deref().unwrap_or(&completion.usage);
        let is_counted = own.input_tokens.is_some();
        let is_guessed = driver.run.limits().limit_tokens() || driver.counts_outside();
        if is_guessed && !is_counted && !driver.warned_of_usage {
            driver.warned_of_usage = true;
            let message = "the provider reports no usage, so the token limit is held by a guess".to_owned();
            yield Ok(driver.event(EventKind::Warning { code: "usage_unknown", message }));
        }
        let hooked = match driver.setup.hooks.is_empty() {
            true => None,
            false => {
                // The reply was paid for: an interruption waits for the verdict, unless that takes long.
                let asking = async { Ok::<_, Fault>(Box::new(driver.hook_reply(&completion.message).await)) };
                match interrupt.complete(Box::pin(asking)).await {
                    Ok(hooked) => Some(hooked),
                    Err(mut stop) => {
                        if let Stop::Interrupted(_, text) | Stop::Fault(_, text) = &mut stop {
                            *text = said;
                        }
                        yield Err(stop);
                        return;
                    }
                }
            }
        };
        if completion.message.documents().next().is_some()
            && let Some(warning) = Box::pin(driver.keep_made(interrupt, &completion.message)).await
        {
            yield Ok(driver.event(*warning));
        }
        // The reply is whole, and was paid for.
        let guessed = driver.run.guessed();
        let Replied { mut entries, requested, finished, spent } = driver.replied(key, *completion, cost);
        entries.extend(hooked.map(|hooked| *hooked));
        let again = (!driver.recorder.place().is_volatile()).then(|| entries.clone());
        let recorded = interrupt.complete(pin!(driver.record_all(entries))).await;
        let is_withdrawn = match recorded {
            Ok(stand) => driver.is_withdrawn(&stand),
            Err(mut stop) => {
                if let Stop::Interrupted(_, text) | Stop::Fault(_, text) = &mut stop {
                    *text = said;
                }
                if let Stop::Interrupted(..) = stop {
                    driver.unconfirmed.extend(again.into_iter().flatten());
                }
                yield Err(stop);
                return;
            }
        };
        if let Some(usage) = spent {
            let guessed = driver.run.guessed().saturating_sub(guessed);
            driver.settle(&usage, cost, guessed);
        }
        if is_withdrawn {
            yield Ok(driver.event(EventKind::ReplyWithdrawn { reply }));
        } else {
            for made in driver.run.made_in(&reply) {
                yield Ok(driver.event(EventKind::Made(Box::new(made))));
            }
        }
        // Calls that nobody will run are not announced; the tokens were paid for.
        if let Err(stop) = interrupt.check().await {
            yield Ok(driver.event(finished));
            yield Err(stop);
            return;
        }
        // Calls of a reply that was refused or cut, or came when tools are off, are closed; nobody may run them.
        let requested = match driver.run.awaits_results() {
            true => {
                driver.expect_answers();
                requested
            }
            false => requested.map(|_| EventKind::Warning {
                code: "calls_not_executed",
                message: "the calls of this reply are not executed".to_owned(),
            }),
        };
        if let Some(kind) = requested {
            yield Ok(driver.event(kind));
        }
        yield Ok(driver.event(finished));
    }
}

/// A reply on its way into the log, and what is told of it once it is there.
struct Replied {
    entries: Vec<Entry>,
    requested: Option<EventKind>,
    finished: EventKind,
    /// Set if spending is counted elsewhere too.
    spent: Option<Usage>,
}

/// Two costs, unknown if one of them is.
fn both(cost: Option<Money>, other: Option<Money>) -> Option<Money> {
    Some(cost?.plus(other?))
}

/// The reply. Or why there is none, with one that its provider ended with an error.
fn replied(
    ended: Result<Box<Completion>, ProviderError>,
) -> Result<Box<Completion>, (ProviderError, Option<Box<Completion>>)> {
    let completion = ended.map_err(|error| (error, None))?;
    match completion.finish_reason {
        FinishReason::Error => {
            let message = "the provider ended the reply with an error";
            let error = ProviderError::new(ErrorKind::Api, message).with_usage(&completion.usage);
            Err((error.with_usage_by_model(completion.usage_by_model.clone()), Some(completion)))
        }
        _ => Ok(completion),
    }
}

impl Driver {
    /// Stops where the model did not answer, where its provider ended the reply `cut`, or where the run was interrupted behind
    /// a request that was too long, and says what that cost, if it is known, also of a request that was `refused` before. The
    /// log tells it to those who read it alone; one that does not take it in time holds nobody up.
    async fn failed(
        &mut self,
        interrupt: &mut Interrupt,
        mut error: ProviderError,
        said: String,
        cut: Option<Box<Completion>>,
        refused: Option<ProviderError>,
    ) -> (Option<Box<EventKind>>, Stop) {
        let interrupted = interrupt.came();
        let (mut usage, model, parts, response) = match cut.map(|cut| *cut) {
            Some(Completion { usage, model, usage_by_model, response, .. }) => {
                (Some(usage), model, usage_by_model, response)
            }
            None => (error.usage().cloned(), None, error.usage_of_models(self.setup.model.id()), None),
        };
        // Nobody can have the tokens back.
        let mut cost = usage.as_ref().and_then(|usage| self.cost_of(model.as_deref(), usage, &parts));
        if let Some(refused) = &refused
            && let Some((tokens, before)) = self.spent_on(refused)
        {
            cost = if usage.is_some() { both(cost, before) } else { before };
            usage.get_or_insert_default().add(tokens);
            error = error.with_earlier(refused, self.setup.model.id());
        }
        usage.iter().for_each(|usage| self.settle(usage, cost, 0));
        let reason = EndReason::provider(&error);
        if reason.is_failure() {
            let failed = Failed { reason, message: error.to_string(), usage: usage.clone(), cost };
            let kind = EntryKind::Failed(Box::new(failed));
            let entry = Entry::new(Key::failed(self.run.failures()), kind);
            let recorded = interrupt.in_time(self.record_all(vec![entry.clone()])).await;
            if !matches!(recorded, Some(Ok(_))) {
                tracing::warn!(run = self.run.id(), "the failure of a model could not be recorded");
                // One that was recorded is applied already, and refused.
                let _ = self.run.apply(&entry);
            }
        }
        let told = usage.map(|usage| {
            Box::new(EventKind::StepFinished { finish_reason: FinishReason::Error, usage, response })
        });
        let stop = match interrupted {
            Some(interrupted) => Stop::Interrupted(interrupted, said),
            None => Stop::Fault(error.into(), said),
        };
        (told, stop)
    }

    /// The tokens of a request that failed, where its provider counted them, and their cost, where it is known.
    fn spent_on<'e>(&self, error: &'e ProviderError) -> Option<(&'e Usage, Option<Money>)> {
        let (usage, parts) = (error.usage()?, error.usage_of_models(self.setup.model.id()));
        Some((usage, self.cost_of(None, usage, &parts)))
    }

    /// Puts the documents that the model made into the store, before the log mentions them. A reply that was paid for
    /// counts as a result does: it is recorded all the same, and this process still holds what the store did not take.
    async fn keep_made(
        &mut self,
        interrupt: &mut Interrupt,
        reply: &AssistantMessage,
    ) -> Option<Box<EventKind>> {
        let keeping = async { Ok::<_, Fault>(keep_of_reply(&*self.setup.store, reply).await) };
        let kept = interrupt.complete(Box::pin(keeping)).await;
        self.warn_of_loss(reply.documents());
        let error = match kept {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error,
            Err(_) => {
                let problem = "the store did not answer before the run was interrupted";
                StoreError::new(StoreErrorKind::Unavailable, problem)
            }
        };
        Some(self.hold(reply.documents(), &error))
    }

    /// True if the verdict of the hooks among these entries takes the reply back.
    pub(super) fn is_withdrawn(&self, stand: &[Entry]) -> bool {
        stand.iter().any(|entry| match &entry.kind {
            EntryKind::Hooked(verdict) => self.run.is_withdrawn(verdict),
            _ => false,
        })
    }

    fn replied(&mut self, key: Key, completion: Completion, cost: Option<Money>) -> Replied {
        let Completion {
            message,
            finish_reason,
            raw_finish_reason,
            usage,
            answered,
            model,
            degradations,
            response,
            ..
        } = completion;
        let mut calls = Vec::with_capacity(message.tool_calls().count());
        calls.extend(message.tool_calls().filter(|call| !self.run.is_output(&call.name)).cloned());
        let requested =
            (!calls.is_empty()).then(|| EventKind::ToolCallsRequested { calls, content: message.text() });
        let finished =
            EventKind::StepFinished { finish_reason: finish_reason.clone(), usage: usage.clone(), response };
        let spent = (self.budget.is_some() || self.scope.is_some()).then(|| usage.clone());
        let own = answered.as_deref().unwrap_or(&usage);
        let is_guessed = own.input_tokens.is_none() && self.counts_outside();
        let guessed = if is_guessed { self.run.guess(&message) } else { 0 };
        let message = Message::Assistant(message).shared();
        let reply = Reply {
            message,
            finish_reason,
            raw_finish_reason,
            usage,
            answered,
            cost,
            model,
            guessed,
            degradations,
        };
        let mut entries = Vec::with_capacity(1);
        // Nobody reads a log that nobody keeps.
        if !self.recorder.place().is_volatile()
            && let Some(routed) = self.library.unrecorded()
        {
            let step = self.run.steps().saturating_add(1);
            entries.push(Entry::new(Key::routed(step), EntryKind::Routed(routed)));
        }
        entries.push(Entry::new(key, EntryKind::Reply(reply)));
        Replied { entries, requested, finished, spent }
    }
}
