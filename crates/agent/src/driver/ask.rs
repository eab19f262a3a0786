//! Asks the model: window, routing, request, and the reply as it streams.

use std::sync::Arc;

use async_stream::stream;
use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, Completion, ErrorKind, Message, ProviderError, StreamChunk,
    ToolChoice, UserOrigin,
};
use attache_documents::{Routing, gather, route};
use futures_core::Stream;

use crate::driver::interrupt::Interrupt;
use crate::driver::{Driver, Fault, Stop};
use crate::entry::{EntryKind, Key, Reply, SyntheticMessage};
use crate::event::{Event, EventKind};
use crate::run::Action;
use crate::tools::Toolbox;

/// The events of one model call; at most one `Err`, which comes last.
pub(super) fn ask<'a>(
    driver: &'a mut Driver,
    interrupt: &'a mut Interrupt,
    key: Key,
    step: u32,
    landing: bool,
) -> impl Stream<Item = Result<Event, Stop>> + Send + 'a {
    stream! {
        match driver.recorded(&key).await {
            Ok(None) => {}
            Ok(Some(_)) => return,
            Err(fault) => {
                yield Err(fault.into());
                return;
            }
        }
        let prepared = match interrupt.guard(prepare(driver, step, landing)).await {
            Ok(prepared) => prepared.map_err(Stop::from),
            Err(interrupted) => Err(Stop::Interrupted(interrupted, String::new())),
        };
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
        let kind = EventKind::StepStarted { model: driver.agent.0.model.id().to_owned() };
        yield Ok(driver.event(kind));

        let mut chunks = driver.agent.0.model.stream(request);
        let mut said = String::new();
        let completion = loop {
            let next = std::future::poll_fn(|context| chunks.as_mut().poll_next(context));
            match interrupt.guard(next).await {
                Err(interrupted) => {
                    yield Err(Stop::Interrupted(interrupted, said));
                    return;
                }
                Ok(Some(Ok(StreamChunk::Content(text)))) => {
                    said.push_str(&text);
                    yield Ok(driver.event(EventKind::Content(text)));
                }
                Ok(Some(Ok(StreamChunk::Thinking(text)))) => yield Ok(driver.event(EventKind::Thinking(text))),
                Ok(Some(Ok(StreamChunk::ToolCallDelta { id, name, arguments_delta, .. }))) => {
                    let name = name.map(|name| driver.toolbox.streamed(&name).to_owned());
                    yield Ok(driver.event(EventKind::ToolCallDelta { id, name, arguments_delta }));
                }
                Ok(Some(Ok(StreamChunk::Done(completion)))) => break *completion,
                // A kind of chunk that is newer than this loop has nothing for it.
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => {
                    yield Err(Stop::Fault(Fault::Provider(error), said));
                    return;
                }
                Ok(None) => {
                    let error = ProviderError::new(ErrorKind::StreamCut, "the reply ended without its last chunk");
                    yield Err(Stop::Fault(Fault::Provider(error), said));
                    return;
                }
            }
        };
        // The connection goes back to its pool before the tools run.
        drop(chunks);
        let Completion { mut message, finish_reason, raw_finish_reason, usage, model, degradations, .. } = completion;
        name_tools(&mut message, &driver.toolbox);
        let calls: Vec<_> = message.tool_calls().cloned().collect();
        for degradation in &degradations {
            let message = format!("{}: {}", degradation.option, degradation.note);
            yield Ok(driver.event(EventKind::Warning { code: "degraded", message }));
        }
        let requested = (!calls.is_empty()).then(|| EventKind::ToolCallsRequested { calls, content: message.text() });
        let finished = EventKind::StepFinished { finish_reason: finish_reason.clone(), usage: usage.clone() };
        let message = Message::Assistant(message).shared();
        let reply = Reply { message, finish_reason, raw_finish_reason, usage, model, degradations };
        if let Err(fault) = driver.record(key, EntryKind::Reply(reply)).await {
            yield Err(fault.into());
            return;
        }
        // Calls of a reply that was refused or cut, or came when tools are off, are closed; nobody may run them.
        let requested = match driver.run.next() {
            Action::AnswerCalls { calls } => {
                let waiting = calls.into_iter().filter(|pending| driver.waits_for_caller(pending));
                driver.control.expect(waiting);
                requested
            }
            _ => requested.map(|_| EventKind::Warning {
                code: "calls_not_executed",
                message: "the calls of this reply are not executed".to_owned(),
            }),
        };
        for kind in requested.into_iter().chain([finished]) {
            yield Ok(driver.event(kind));
        }
    }
}

/// Gives each call the name of the tool that it means, before anybody looks at it: the log, the caller and later
/// requests then speak of one tool.
fn name_tools(message: &mut AssistantMessage, toolbox: &Toolbox) {
    for part in &mut message.parts {
        if let AssistantPart::ToolCall(call) = part {
            let name = toolbox.canonical(&call.name);
            if name != call.name {
                call.name = name.to_owned();
            }
        }
    }
}

/// Window, materials, routing: the request, and what to tell about how it came about.
async fn prepare(
    driver: &mut Driver,
    step: u32,
    landing: bool,
) -> Result<(ChatRequest, Vec<EventKind>), Fault> {
    let agent = Arc::clone(&driver.agent.0);
    let capabilities = agent.model.capabilities();
    let mut events = Vec::new();
    let messages = match &agent.window {
        None => driver.run.history().to_vec(),
        Some(window) => {
            let seen = window.advance(driver.run.history(), &mut driver.window);
            if seen.evicted > 0 {
                driver.library.forget_unseen(&seen.messages);
                events.push(EventKind::WindowMoved { evicted: seen.evicted });
            }
            seen.messages
        }
    };
    let messages = driver.library.shorten(messages, agent.timing.max_result_chars);
    let materials = &mut driver.library.materials;
    let (store, fetcher) = (&*agent.store, agent.fetcher.as_deref());
    gather(materials, &messages, capabilities, &agent.routing, store, fetcher, &agent.converters).await;
    driver.shelf.catch_up(driver.run.history());
    driver.shelf.add_inside(materials);
    let Routing { messages, report, .. } =
        route(&messages, capabilities, &driver.toolbox.set, materials, &agent.routing)?;
    record_synthetic(driver, &messages, capabilities.fingerprint()).await?;
    let told = driver.library.reported.as_ref().is_some_and(|told| told.decisions == report.decisions);
    if !report.decisions.is_empty() && !told {
        let report = Arc::new(report);
        let before = driver.library.reported.as_deref();
        let documents = before.map(|before| report.left_out_since(before)).unwrap_or_default();
        if !documents.is_empty() {
            events.push(EventKind::DocumentsLeftOut { documents });
        }
        driver.library.reported = Some(Arc::clone(&report));
        events.push(EventKind::DocumentsRouted(report));
    }
    let choice = match (landing, step) {
        (true, _) => ToolChoice::None,
        (false, 1) => agent.tool_choice.clone(),
        (false, _) => ToolChoice::Auto,
    };
    let mut request = ChatRequest::new(messages)
        .with_tools(Arc::clone(&driver.toolbox.set))
        .with_tool_choice(choice)
        .with_options(agent.options.clone())
        .with_transcript(driver.transcript.clone());
    request.whole = agent.whole;
    Ok((request, events))
}

/// Records synthetic messages as they are sent, each right behind its results.
async fn record_synthetic(
    driver: &mut Driver,
    routed: &[Arc<Message>],
    fingerprint: u64,
) -> Result<(), Fault> {
    for pair in routed.windows(2) {
        let [anchor, message] = pair else { continue };
        let Message::User(user) = &**message else { continue };
        if user.origin != UserOrigin::ToolCallDocuments {
            continue;
        }
        let stamp = fingerprint ^ message.stamp();
        let key = Key::documents(anchor.id(), stamp);
        if driver.library.is_recorded(&key) || driver.recorded(&key).await?.is_some() {
            continue;
        }
        // The log keeps what was shown as the message's parts.
        let mut shown = user.clone();
        if let Some(routed) = shown.routed.take() {
            shown.parts = routed.content;
        }
        let synthetic = SyntheticMessage {
            anchor: anchor.id().clone(),
            message: Message::User(shown).shared(),
            fingerprint,
        };
        driver.record(key.clone(), EntryKind::Documents(synthetic)).await?;
        driver.library.mark_recorded(key);
    }
    Ok(())
}
