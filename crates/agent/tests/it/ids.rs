//! Ids of runs and of calls. Those of calls come from providers, and some use one twice.

use std::sync::{Arc, Mutex};

use crate::common::Counter;
use crate::common::kit::{all, counting, end, results, told};
use crate::common::model::Says;
use attache_agent::{
    Agent, Compaction, EmptyReply, EndReason, Event, EventKind, HookContext, HookError, LogEvents,
    MemoryJournal, ReplyVerdict, Run, RunHook, RunInput, is_read, tool_fn,
};
use attache_core::repair::repair;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, BoxFuture, Effect, ErrorKind, Message, Role, ToolCall,
    ToolCallId, ToolContext, ToolError, Usage,
};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use serde_json::json;

/// A call of that provider, which numbers the calls of each reply anew, or does not number them.
fn call(n: i64) -> AssistantPart {
    let call = ToolCall::new("t", Arguments::new(format!("{{\"n\":{n}}}")));
    AssistantPart::ToolCall(call.with_id(ToolCallId::parse("call_0").unwrap()))
}

fn says(parts: Vec<AssistantPart>) -> AssistantMessage {
    AssistantMessage::new(parts.into_iter().map(Some))
}

fn done() -> AssistantMessage {
    AssistantMessage::new([AssistantPart::text("done")])
}

fn agent(replies: Vec<AssistantMessage>, ran: &Counter) -> Agent {
    Agent::builder(Says::new(replies)).tool(counting("t", Effect::SideEffect, ran)).build().unwrap()
}

/// Each call has its own result, and the ids are told apart.
fn assert_paired(messages: &[Arc<Message>], texts: &[&str]) {
    assert_eq!(told(messages), texts);
    let mut ids: Vec<String> = results(messages).iter().map(|result| result.call_id.to_string()).collect();
    let calls = messages.iter().flat_map(|message| match &**message {
        Message::Assistant(reply) => reply.tool_calls().map(|call| call.id.to_string()).collect(),
        _ => Vec::new(),
    });
    assert_eq!(calls.collect::<Vec<_>>(), ids);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), texts.len());
    assert!(repair(messages).repairs.is_empty(), "every provider takes it");
}

#[tokio::test]
async fn equal_call_ids_in_one_reply_are_told_apart() {
    let (ran, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let replies = vec![says(vec![call(1), call(2)]), done()];
    let outcome = agent(replies, &ran).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, ran.get()), (&EndReason::Answer, 2));
    assert_paired(&outcome.messages, &["1", "2"]);
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
}

#[tokio::test]
async fn call_ids_of_earlier_rounds_are_told_apart() {
    let (ran, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let replies = vec![says(vec![call(1)]), says(vec![call(2)]), says(vec![call(3), call(4)]), done()];
    let outcome = agent(replies, &ran).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, ran.get()), (&EndReason::Answer, 4));
    assert_paired(&outcome.messages, &["1", "2", "3", "4"]);
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
}

#[tokio::test]
async fn call_ids_of_earlier_turns_are_told_apart() {
    let ran = Counter::default();
    let agent = agent(vec![says(vec![call(1)]), done(), says(vec![call(2)]), done()], &ran);
    let first = agent.run("one").outcome().await.unwrap();
    let input = RunInput::from("two").with_history(first.messages);
    let second = agent.run(input).outcome().await.unwrap();
    assert_eq!(ran.get(), 2);
    assert_paired(&second.messages, &["1", "2"]);
}

/// A call that was cut off is closed and not counted, and its id is used all the same.
#[tokio::test]
async fn call_ids_of_calls_that_were_cut_off_are_told_apart() {
    let ran = Counter::default();
    let cut = ToolCall::new("t", Arguments::new("{\"n\":")).with_id(ToolCallId::parse("call_0").unwrap());
    let replies = vec![says(vec![AssistantPart::ToolCall(cut)]), says(vec![call(2)]), done()];
    let outcome = agent(replies, &ran).run("go").outcome().await.unwrap();
    assert_eq!(ran.get(), 1);
    let told = told(&outcome.messages);
    assert_paired(&outcome.messages, &[&told[0], "2"]);
}

/// Its events, its tools, its outcome and its log name the run alike, and count its steps alike.
#[tokio::test]
async fn a_run_tells_its_id_and_its_steps_wherever_it_speaks() {
    let seen = Arc::new(Mutex::new(Vec::<(Option<String>, u32)>::new()));
    let tool = {
        let seen = Arc::clone(&seen);
        tool_fn("t", "", move |context: ToolContext| {
            seen.lock().unwrap().push((context.run_id.clone(), context.step));
            async { Ok::<_, ToolError>("ok") }
        })
    };
    let usage = Usage::new(7, 2);
    let turns = [Turn::call("t", "{}"), Turn::call("t", "{}"), Turn::text("done")];
    let model = ScriptedModel::new(turns.map(|turn| turn.costing(usage.clone())));
    let journal = Arc::new(MemoryJournal::new());
    let agent = Agent::builder(model).tool(tool).build().unwrap();
    let mut run = agent.run_in(journal.clone(), RunInput::from("go").with_run_id("invoice 17"));
    let events = all(&mut run).await;
    let named =
        |event: &Event| matches!(&event.kind, EventKind::RunStarted { run_id } if run_id == "invoice 17");
    assert!(named(&events[0]), "{:?}", events[0]);
    let steps: Vec<u32> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::StepFinished { .. }))
        .map(|event| event.step)
        .collect();
    assert_eq!(steps, [1, 2, 3]);
    let id = Some("invoice 17".to_owned());
    assert_eq!(*seen.lock().unwrap(), [(id.clone(), 1), (id, 2)]);
    let outcome = end(&events);
    assert_eq!((&*outcome.run_id, outcome.steps), ("invoice 17", 3));
    let log = Run::replay(&journal.entries()).unwrap();
    assert_eq!((log.id(), log.steps()), ("invoice 17", 3));
    assert_eq!((log.usage().input_tokens, log.usage().output_tokens), (Some(21), Some(6)));
}

/// The ids under which replies are announced.
fn announced(events: &[Event]) -> Vec<String> {
    let announced = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepStarted { reply, .. } => Some(reply.to_string()),
        _ => None,
    });
    announced.collect()
}

/// The ids of the replies in a conversation.
fn replied(messages: &[Arc<Message>]) -> Vec<String> {
    let replies = messages.iter().filter(|message| message.role() == Role::Assistant);
    replies.map(|message| message.id().to_string()).collect()
}

// A36: whoever shows a reply while it is written knows the message that it becomes.
#[tokio::test]
async fn a_reply_is_announced_by_the_id_that_it_has_in_the_conversation() {
    // Results, a hint and words of the loop have ids, too.
    let turns = [Turn::call("look", json!({})), Turn::empty(), Turn::text("It is 900.")];
    let look = tool_fn("look", "", || Ok("seen"));
    let journal = Arc::new(MemoryJournal::new());
    let agent =
        Agent::builder(ScriptedModel::new(turns).unverified()).tool(look).empty_reply(EmptyReply::Nudge(1));
    let agent = agent.build().unwrap();
    let events = all(&mut agent.run_in(journal.clone(), "Look.")).await;
    let [first, _, last] = &announced(&events)[..] else { panic!("{events:?}") };
    assert_eq!(replied(&end(&events).messages), [first.clone(), last.clone()]);
    // Somebody who reads the log knows the same.
    let mut told = LogEvents::new();
    let entries = journal.entries();
    let read: Vec<Event> = entries.iter().flat_map(|entry| told.take(entry).unwrap()).collect();
    assert_eq!(announced(&read), announced(&events));
    // Words that are said in a step have its number, whoever tells them.
    let said = |events: &[Event]| -> Vec<(u32, String)> {
        let said = events.iter().filter_map(|event| match &event.kind {
            EventKind::StepStarted { reply, .. } => Some((event.step, reply.to_string())),
            EventKind::Content(_) => Some((event.step, "says something".to_owned())),
            EventKind::StepFinished { finish_reason, .. } => Some((event.step, finish_reason.to_string())),
            _ => None,
        });
        let mut said: Vec<_> = said.collect();
        said.dedup();
        said
    };
    assert_eq!(said(&read), said(&events));
}

/// Judges each reply but the last.
struct Again;

impl RunHook for Again {
    fn after_model<'a>(
        &'a self,
        reply: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        let verdict = match &*reply.text() {
            "draft" => ReplyVerdict::Retry("Say more.".to_owned()),
            "leak" => ReplyVerdict::Trip("a leak".to_owned()),
            _ => ReplyVerdict::Keep,
        };
        Box::pin(async move { Ok(verdict) })
    }
}

// Whoever shows the text of a reply hears that it does not count, and by the log the same; later readers do not see it.
#[tokio::test]
async fn a_reply_that_does_not_count_is_named() {
    for (turns, withdrawn, read) in [
        (vec!["draft", "kept"], vec![0], vec!["kept"]),
        (vec!["draft", "leak"], vec![0, 1], vec![]),
        (vec!["kept"], vec![], vec!["kept"]),
    ] {
        let journal = Arc::new(MemoryJournal::new());
        let model = ScriptedModel::new(turns.into_iter().map(Turn::text)).unverified();
        let agent = Agent::builder(model).hook(Again).build().unwrap();
        let events = all(&mut agent.run_in(journal.clone(), "Go.")).await;
        let mut log = LogEvents::new();
        let told: Vec<Event> = journal.entries().iter().flat_map(|entry| log.take(entry).unwrap()).collect();
        for events in [&events, &told] {
            let announced = announced(events);
            let taken_back = events.iter().filter_map(|event| match &event.kind {
                EventKind::ReplyWithdrawn { reply } => Some(reply.to_string()),
                _ => None,
            });
            let expected: Vec<_> = withdrawn.iter().map(|at: &usize| announced[*at].clone()).collect();
            assert_eq!(taken_back.collect::<Vec<_>>(), expected);
        }
        let messages = &end(&events).messages;
        let shown =
            messages.iter().filter(|message| is_read(message)).filter_map(|message| match &**message {
                Message::Assistant(reply) => Some(reply.text()),
                _ => None,
            });
        assert_eq!(shown.collect::<Vec<_>>(), read);
    }
}

// The same where the conversation became too long while the model was asked: the summary takes the next id.
#[tokio::test]
async fn a_reply_behind_a_summary_is_announced_anew() {
    let model = FunctionModel::new(|request, number| match number {
        0 => Turn::empty().then_error(ErrorKind::ContextTooLong),
        1 => Turn::text("They talked."),
        _ => Turn::text(&format!("{} messages", request.messages.len())),
    });
    let agent = Agent::builder(model).memory(Compaction::new()).build().unwrap();
    let history = (0..8).flat_map(|n| {
        [Message::user(format!("old {n}")).shared(), Message::assistant("word ".repeat(2_000)).shared()]
    });
    let events = all(&mut agent.run(RunInput::from("now").with_history(history))).await;
    let outcome = end(&events);
    assert_eq!(outcome.reason, EndReason::Answer);
    assert_eq!(announced(&events).last(), replied(&outcome.messages).last());
}
